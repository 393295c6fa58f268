"""Runs and judgements as Parquet, read batch by batch, and values of queries written to it.

The columns bear the names that ir_measures gives the fields: `query_id`, `doc_id` and `score`; or `query_id`,
`doc_id`, `relevance` and perhaps `iteration` (or `subtopic_id`, `nugget_id`). Others are not read. Where text
files have lines, errors name rows, counted from 1.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any

from rageval.errors import InputError, MissingPackage
from rageval.files.limits import Limits
from rageval.files.opening import RowRange, Source, _opened, name_of
from rageval.files.trec import PLAIN, QrelsRows, Reading, RunRows
from rageval.text import AROUND

if TYPE_CHECKING:
    from pathlib import Path

_AROUND = AROUND.encode()
RUN = ("query_id", "doc_id", "score")
_QRELS = ("query_id", "doc_id", "relevance")
_NUGGETS = ("iteration", "subtopic_id", "nugget_id")
ROWS = 2**16  # of a batch
_PLAIN_ROWS = 2**8  # which may hold whole texts


def kind_of_columns(source: Source) -> str:
    """Return `run` or `qrels`, by the columns."""
    with _opened_table(source) as file:
        names = file.schema_arrow.names
    for kind, columns in (("run", RUN), ("qrels", _QRELS)):
        # Further columns are allowed: tools add their own.
        if set(columns) <= set(names):
            return kind
    raise _unlike(source, f"{', '.join(RUN)} (a run) or {', '.join(_QRELS)} (judgements)", names)


def run_rows(source: Source | RowRange, reading: Reading = PLAIN) -> Iterator[RunRows]:
    """Read the rows of a run, or some of them, a stretch a batch."""
    rows = None
    if isinstance(source, RowRange):
        source, rows = source
    for batch in _batches(source, RUN, (), reading.limits, rows):
        query, doc = batch.ids("query_id"), batch.ids("doc_id")
        yield RunRows(batch.source, batch.lines, query, doc, batch.numbers("score"))


def qrels_rows(source: Source, reading: Reading = PLAIN) -> Iterator[QrelsRows]:
    """Read the rows of judgements, a stretch a batch."""
    for batch in _batches(source, _QRELS, _NUGGETS, reading.limits):
        query, doc = batch.ids("query_id"), batch.ids("doc_id")
        grades = batch.grades(reading.limits.grade)
        yield QrelsRows(batch.source, batch.lines, query, doc, batch.nuggets(), grades)


def plain_rows(source: Source) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (number, row) of all rows, whatever their columns: texts, numbers, lists."""
    with _opened_table(source) as file:
        number = 0
        for batch in file.iter_batches(batch_size=_PLAIN_ROWS):
            for row in batch.to_pylist():
                # Rows have no lines; their number, from 1, is what messages name.
                number += 1
                yield number, row


def write_values(path: Path, tables: Iterable[dict[str, Sequence[Any]]]) -> None:
    """Write columns of values to a Parquet file, a group of rows a table."""
    pyarrow, parquet = _engine(str(path))
    from rageval.files.writing import whole_file

    with whole_file(path) as stream:
        writer = None
        try:
            for columns in tables:
                table = pyarrow.table(columns)
                writer = writer or parquet.ParquetWriter(stream, table.schema)
                writer.write_table(table)
        finally:
            if writer is not None:
                writer.close()


class _RowBatch:
    """Some rows, and which ones they are."""

    def __init__(self, source: str, batch: Any, first: int, limits: Limits) -> None:
        self.source, self._batch, self._first, self._limits = source, batch, first, limits

    @property
    def lines(self) -> range:
        return range(self._first, self._first + self._batch.num_rows)

    def ids(self, name: str) -> list[bytes]:
        """Return a column of text, as bytes."""
        import pyarrow

        column = self._whole(name)
        # Ids that are all digits are written as numbers by pandas.
        if pyarrow.types.is_integer(column.type):
            column = column.cast(pyarrow.large_string())
        text = column.type.value_type if pyarrow.types.is_dictionary(column.type) else column.type
        if not (pyarrow.types.is_string(text) or pyarrow.types.is_large_string(text)):
            raise self._wrong(0, name, "text or whole numbers (ids are strings: cast the column)", column)
        column = column.cast(pyarrow.large_string())
        try:
            # Parquet does not check that text is UTF-8.
            column.validate(full=True)
        except pyarrow.ArrowInvalid as error:
            raise InputError(f"{self.source}: {name}: {error}") from None
        encoded: list[bytes] = column.cast(pyarrow.large_binary()).to_pylist()
        longest = self._limits.id
        # One look at all of them; which one it is is found only when there is a fault.
        if not all(encoded) or len(max(encoded, key=len, default=b"")) > longest:
            bad = next(at for at, word in enumerate(encoded) if not 0 < len(word) <= longest)
            raise self._wrong(bad, name, f"1 to {longest:,} bytes (see --limit id=…)", column)
        if [word.strip(_AROUND) for word in encoded] != encoded:
            bad = next(at for at, word in enumerate(encoded) if word.strip(_AROUND) != word)
            raise self._wrong(bad, name, "an id without blanks around it", column)
        return encoded

    def nuggets(self) -> list[bytes]:
        """Return the column that names the nugget, `0` everywhere if there is none."""
        names = [name for name in _NUGGETS if name in self._batch.schema.names]
        return self.ids(names[-1]) if names else [b"0"] * self._batch.num_rows

    def numbers(self, name: str) -> list[float]:
        """Return a column of finite numbers."""
        import pyarrow

        column = self._whole(name)
        kinds = (pyarrow.types.is_integer, pyarrow.types.is_floating, pyarrow.types.is_decimal)
        if not any(is_kind(column.type) for is_kind in kinds):
            raise self._wrong(0, name, "numbers", column)
        # safe=False: whole numbers beyond 2^53 are rounded, as they are when read from text.
        numbers: list[float] = column.cast(pyarrow.float64(), safe=False).to_pylist()
        if not all(map(math.isfinite, numbers)):
            bad = next(at for at, number in enumerate(numbers) if not math.isfinite(number))
            raise self._wrong(bad, name, "a finite number", column)
        return numbers

    def grades(self, largest: int) -> list[int]:
        """Return the column of grades: whole numbers within the limit."""
        numbers = self.numbers("relevance")
        for at, number in enumerate(numbers):
            if not number.is_integer() or abs(number) > largest:
                expected = f"a whole number from -{largest:,} to {largest:,}"
                raise self._wrong(at, "relevance", expected, self._whole("relevance"))
        return list(map(int, numbers))

    def _whole(self, name: str) -> Any:
        """Return a column with a value in every row."""
        column = self._batch.column(name)
        if column.null_count:
            missing = column.is_null().to_pylist().index(True)
            raise self._wrong(missing, name, "a value in every row", column)
        return column

    def _wrong(self, row: int, name: str, expected: str, column: Any) -> InputError:
        value = column[row].as_py() if row < len(column) else None
        return InputError(
            f"{self.source}:{self._first + row}: expected {expected} as {name}, found {value!r:.80}"
        )


def _batches(
    source: Source,
    columns: Sequence[str],
    others: Sequence[str],
    limits: Limits,
    rows: range | None = None,
) -> Iterator[_RowBatch]:
    with _opened_table(source) as file:
        names = _wanted(file, source, columns, others)
        rows = range(file.metadata.num_rows) if rows is None else rows
        if not rows:
            raise InputError(f"{name_of(source)}: is empty, expected rows of {', '.join(columns)}")
        groups, begin = _groups(file.metadata, rows)
        for batch in file.iter_batches(ROWS, row_groups=groups, columns=names):
            # Groups of rows are read whole; of the first and last only some rows are this part's.
            asked = batch.slice(max(rows.start - begin, 0), max(rows.stop - max(begin, rows.start), 0))
            if asked.num_rows:
                yield _RowBatch(name_of(source), asked, max(begin, rows.start) + 1, limits)
            begin += batch.num_rows


def _groups(metadata: Any, rows: range) -> tuple[list[int], int]:
    """Return the groups that these rows lie in, and where the first of them begins."""
    counts = [metadata.row_group(at).num_rows for at in range(metadata.num_row_groups)]
    begins = list(accumulate(counts, initial=0))
    groups = [at for at, two in enumerate(pairwise(begins)) if two[0] < rows.stop and rows.start < two[1]]
    return groups, begins[groups[0]]


def _wanted(file: Any, source: Source, columns: Sequence[str], others: Sequence[str] = ()) -> list[str]:
    """Return the columns to be read, which have to be there, and those others that are."""
    names = file.schema_arrow.names
    if not set(columns) <= set(names):
        raise _unlike(source, ", ".join(columns), names)
    twice = [name for name in (*columns, *others) if names.count(name) > 1]
    if twice:
        raise InputError(f"{name_of(source)}: has {names.count(twice[0])} columns {twice[0]}, expected one")
    return [*columns, *(name for name in others if name in names)]


@contextmanager
def _opened_table(source: Source) -> Iterator[Any]:
    """Open a Parquet file; nothing is fetched that is not asked for, and its errors are said as ours."""
    pyarrow, parquet = _engine(name_of(source))
    with _opened(str(source), until=0) as raw:
        try:
            with parquet.ParquetFile(pyarrow.PythonFile(raw, mode="r")) as file:
                yield file
        except (pyarrow.ArrowException, OSError) as error:
            raise InputError(f"{name_of(source)}: is damaged, or no Parquet file: {error!s:.200}") from error


def _engine(name: str) -> tuple[Any, Any]:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise MissingPackage("pyarrow", f"{name} (a Parquet file)", extra="parquet") from None
    return pyarrow, parquet


def _unlike(source: Source, expected: str, names: Sequence[str]) -> InputError:
    return InputError(
        f"{name_of(source)}: expected the columns {expected}, found {', '.join(names) or 'none'}"
    )
