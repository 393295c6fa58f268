"""Runs and judgements as Parquet, read batch by batch, and values of queries written to it.

The columns bear the names that ir_measures gives the fields: `query_id`, `doc_id` and `score`; or `query_id`,
`doc_id`, `relevance` and perhaps a nugget, under one of the names in `files/objects.py`. Others are not read.
Where text files have lines, errors name rows, counted from 1.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any

from rageval.errors import InputError, MissingPackage, Place
from rageval.files.objects import NUGGET_COLUMNS, nugget_column, unread
from rageval.files.opening import (
    COPY_AGAIN,
    Limits,
    RowRange,
    Source,
    _opened,
    limits_of,
    name_of,
    refuse_bombs,
    size_of,
)
from rageval.files.synonyms import is_answered
from rageval.files.trec import QrelsRows, RunRows
from rageval.files.writing import whole_file
from rageval.text import AROUND

if TYPE_CHECKING:
    from pathlib import Path

_AROUND = AROUND.encode()
RUN = ("query_id", "doc_id", "score")
_QRELS = ("query_id", "doc_id", "relevance")
_OF_KINDS = {"run": RUN, "qrels": _QRELS}
_JUDGED, _VERDICT = {"query_id", "run_id"}, {"label", "grade"}  # columns of judged answers
_STEPS, _OF_STEPS = {"query_id", "kind"}, {"docs", "step", "tool"}  # columns of steps
_INDEX = "__index_level_"  # pandas' numbers of rows
ROWS = 2**16  # of a batch
_PLAIN_ROWS = 2**8  # which may hold whole texts
_CELLS = 2**22  # of a batch


def kind_of_columns(source: Source) -> str:
    """Return the kind of a table by its columns: `run`, `qrels`, `answer rows`, …, or `table`."""
    with _opened_table(source) as file:
        names = list(file.schema_arrow.names)
    # Further columns are allowed: tools add their own.
    is_judged = set(names) >= _JUDGED and not _VERDICT.isdisjoint(names)
    is_steps = set(names) >= _STEPS and not _OF_STEPS.isdisjoint(names)
    if is_steps:
        return "step columns"
    otherwise = "judged columns" if is_judged else "answer rows" if is_answered(names) else "table"
    return next((kind for kind, columns in _OF_KINDS.items() if set(names).issuperset(columns)), otherwise)


def unlike_ours(source: Source) -> InputError:
    """Return the error for a table that holds neither runs nor judgements."""
    with _opened_table(source) as file:
        names = file.schema_arrow.names
    return _unlike(source, f"{', '.join(RUN)} (a run) or {', '.join(_QRELS)} (judgements)", names)


def run_rows(source: Source | RowRange) -> Iterator[RunRows]:
    """Read the rows of a run, or some of them, a stretch a batch."""
    rows = None
    if isinstance(source, RowRange):
        source, rows = source
    for batch in _batches(source, RUN, (), rows):
        query, doc = batch.ids("query_id"), batch.ids("doc_id")
        yield RunRows(batch.source, batch.lines, query, doc, batch.numbers("score"))


def qrels_rows(source: Source) -> Iterator[QrelsRows]:
    """Read the rows of judgements, a stretch a batch."""
    for batch in _batches(source, _QRELS, NUGGET_COLUMNS):
        query, doc = batch.ids("query_id"), batch.ids("doc_id")
        grades = batch.grades(limits_of(source).grade)
        yield QrelsRows(batch.source, batch.lines, query, doc, batch.nuggets(), grades)


def columns_of_qrels(source: Source) -> tuple[str | None, tuple[str, ...]]:
    """Return which column of judgements names the nugget, and those that are not read."""
    with _opened_table(source) as file:
        names = list(file.schema_arrow.names)
    nugget = nugget_column(names)
    others = unread(names, (*_QRELS, nugget or ""))
    return nugget, tuple(name for name in others if not name.startswith(_INDEX))


def plain_rows(source: Source) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (number, row) of all rows, whatever their columns: texts, numbers, lists."""
    name, number, total, limits = name_of(source), 0, 0, limits_of(source)
    with _opened_table(source, as_dictionaries=True) as file:
        # Each batch of a file brings a dictionary of all texts so far, so batches are few, and are cut here.
        most = max(_PLAIN_ROWS, min(ROWS, _CELLS // max(file.metadata.num_columns, 1)))
        stretches = (
            batch.slice(begin, _PLAIN_ROWS)
            for batch in file.iter_batches(batch_size=most)
            for begin in range(0, batch.num_rows, _PLAIN_ROWS)
        )
        for batch in stretches:
            size = _bytes_of(batch)
            total += size
            refuse_bombs(name, total, size_of(source), limits)
            # Rows of much text one by one, so that only one is written out at a time.
            step = batch.num_rows if size <= limits.record else 1
            for start in range(0, batch.num_rows, step):
                for row in _dicts(batch.slice(start, step), Place(name, number + 1), limits):
                    # Rows have no lines; their number, from 1, is what messages name.
                    number += 1
                    yield number, row


def _dicts(rows: Any, where: Place, limits: Limits) -> list[dict[str, Any]]:
    if _bytes_of(rows) > limits.record:
        raise InputError(
            at=where,
            problem=f"a row of more than {limits.record:,} bytes",
            remedy="raise the limit with --limit record=…",
        )
    try:
        records: list[dict[str, Any]] = rows.to_pylist()
    except UnicodeDecodeError as error:
        raise InputError(
            at=where, problem=f"text of this row, or of one after it, is not UTF-8: {error}"
        ) from None
    return records


def _bytes_of(values: Any) -> int:
    """Return how many bytes values take once each text is written out, however often it is shared."""
    import pyarrow
    from pyarrow import compute

    kind = getattr(values, "type", None)
    if kind is None:
        return sum(_bytes_of(column) for column in values.columns)
    if pyarrow.types.is_dictionary(kind):
        return int(compute.sum(_lengths_of(values)).as_py() or 0)
    if pyarrow.types.is_list(kind) or pyarrow.types.is_large_list(kind):
        return 8 * len(values) + _bytes_of(values.flatten())
    if pyarrow.types.is_struct(kind):
        return 8 * len(values) + sum(map(_bytes_of, values.flatten()))
    return int(values.nbytes)


def write_values(path: Path, tables: Iterable[dict[str, Sequence[Any]]]) -> None:
    """Write columns of values to a Parquet file, a group of rows a table."""
    pyarrow, parquet = _engine(str(path))
    with whole_file(path) as stream:
        writer = None
        try:
            for columns in tables:
                # The first table decides what columns the file has.
                table = pyarrow.table(columns)
                writer = writer or parquet.ParquetWriter(stream, table.schema)
                writer.write_table(table)
        finally:
            if writer is not None:
                writer.close()


@contextmanager
def table_written(
    path: Path, columns: Mapping[str, str]
) -> Iterator[Callable[[Sequence[Mapping[str, Any]]], None]]:
    """Yield what writes rows to a Parquet file, a group of rows a call; a cell that a row lacks is null.

    `columns` are the names with what their cells hold: `text`, `texts`, `number`, `whole`, or `messages`
    (of a chat: role and content). The file has them all, also if it has no row.
    """
    pyarrow, parquet = _engine(str(path))
    text = pyarrow.string()
    kinds = {
        "text": text,
        "texts": pyarrow.list_(text),
        "number": pyarrow.float64(),
        "whole": pyarrow.int64(),
        "messages": pyarrow.list_(pyarrow.struct([("role", text), ("content", text)])),
    }
    schema = pyarrow.schema([(name, kinds[kind]) for name, kind in columns.items()])
    with whole_file(path) as stream, parquet.ParquetWriter(stream, schema) as writer:

        def write_rows(rows: Sequence[Mapping[str, Any]]) -> None:
            if rows:
                writer.write_table(pyarrow.Table.from_pylist([*map(dict, rows)], schema))

        yield write_rows


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
        from pyarrow import compute

        column = self._whole(name)
        # Ids that are all digits are written as numbers by pandas.
        if pyarrow.types.is_integer(column.type):
            column = column.cast(pyarrow.large_string())
        text = column.type.value_type if pyarrow.types.is_dictionary(column.type) else column.type
        if not (pyarrow.types.is_string(text) or pyarrow.types.is_large_string(text)):
            raise self._wrong(0, name, "text or whole numbers (ids are strings: cast the column)", column)
        length = f"1 to {self._limits.id:,} bytes (see --limit id=…)"
        # Before ids are written out row by row: one of a gigabyte would be copied for each of its rows.
        is_long = compute.greater(_lengths_of(column), self._limits.id)
        if (too_long := compute.index(is_long, value=True).as_py()) >= 0:
            raise self._wrong(too_long, name, length, column)
        column = column.cast(pyarrow.large_string())
        try:
            # Parquet does not check that text is UTF-8.
            column.validate(full=True)
        except pyarrow.ArrowInvalid as error:
            raise InputError(at=Place(self.source, inside=name), problem=f"{error}") from None
        encoded: list[bytes] = column.cast(pyarrow.large_binary()).to_pylist()
        # One look at all of them; which one it is is found only when there is a fault.
        if not all(encoded):
            raise self._wrong(encoded.index(b""), name, length, column)
        if [word.strip(_AROUND) for word in encoded] != encoded:
            bad = next(row for row, word in enumerate(encoded) if word.strip(_AROUND) != word)
            raise self._wrong(bad, name, "an id without blanks around it", column)
        return encoded

    def nuggets(self) -> list[bytes]:
        """Return the column that names the nugget, `0` everywhere if there is none, or nothing in it."""
        name = nugget_column(self._batch.schema.names)
        if name is None or self._batch.column(name).null_count == self._batch.num_rows:
            return [b"0"] * self._batch.num_rows
        return self.ids(name)

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
            bad = next(row for row, number in enumerate(numbers) if not math.isfinite(number))
            raise self._wrong(bad, name, "a finite number", column)
        return numbers

    def grades(self, largest: int) -> list[int | float]:
        """Return the column of grades: numbers within the limit, whole ones as such."""
        numbers = self.numbers("relevance")
        for row, number in enumerate(numbers):
            if abs(number) > largest:
                expected = f"a number from -{largest:,} to {largest:,}"
                raise self._wrong(row, "relevance", expected, self._whole("relevance"))
        return [int(number) if number.is_integer() else number for number in numbers]

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
            at=Place(self.source, self._first + row), expected=f"{expected} as {name}", found=f"{value!r:.80}"
        )


def _batches(
    source: Source,
    columns: Sequence[str],
    others: Sequence[str],
    rows: range | None = None,
) -> Iterator[_RowBatch]:
    # Texts as dictionaries: one that is far too long is seen before it is written out in each row.
    with _opened_table(source, as_dictionaries=True) as file:
        names = _select_columns(file, source, columns, others)
        rows = range(file.metadata.num_rows) if rows is None else rows
        if not rows:
            raise InputError(
                at=Place(name_of(source)), problem="is empty", expected=f"rows of {', '.join(columns)}"
            )
        groups, begin = _groups(file.metadata, rows)
        for batch in file.iter_batches(ROWS, row_groups=groups, columns=names):
            # Groups of rows are read whole; of the first and last only some rows are this part's.
            asked = batch.slice(max(rows.start - begin, 0), max(rows.stop - max(begin, rows.start), 0))
            if asked.num_rows:
                yield _RowBatch(name_of(source), asked, max(begin, rows.start) + 1, limits_of(source))
            begin += batch.num_rows


def _groups(metadata: Any, rows: range) -> tuple[list[int], int]:
    """Return the groups that these rows lie in, and where the first of them begins."""
    counts = [metadata.row_group(number).num_rows for number in range(metadata.num_row_groups)]
    begins = list(accumulate(counts, initial=0))
    groups = [
        number for number, two in enumerate(pairwise(begins)) if two[0] < rows.stop and rows.start < two[1]
    ]
    return groups, begins[groups[0]]


def _select_columns(
    file: Any, source: Source, columns: Sequence[str], others: Sequence[str] = ()
) -> list[str]:
    """Return the columns to be read, which have to be there, and the first of the others that is."""
    names = file.schema_arrow.names
    if not set(columns) <= set(names):
        raise _unlike(source, ", ".join(columns), names)
    selected = [*columns, *[name for name in others if name in names][:1]]
    twice = [name for name in selected if names.count(name) > 1]
    if twice:
        raise InputError(
            at=Place(name_of(source)),
            problem=f"has {names.count(twice[0])} columns {twice[0]}",
            expected="one",
        )
    return selected


@contextmanager
def _opened_table(source: Source, as_dictionaries: bool = False) -> Iterator[Any]:
    """Open a Parquet file; nothing is fetched that is not asked for, and its errors are said as ours.

    With `as_dictionaries` a text that stands in many rows is held once, as the file has it.
    """
    pyarrow, parquet = _engine(name_of(source))
    limits = limits_of(source)
    with _opened(str(source), until=0) as raw:
        try:
            metadata = parquet.read_metadata(pyarrow.PythonFile(raw, mode="r"))
            refuse_columns(name_of(source), metadata.num_columns, limits)
            for number in range(metadata.num_row_groups):
                group = metadata.row_group(number)
                columns = [group.column(index) for index in range(group.num_columns)]
                # Equal values are stored once, with how often they stand there: their number tells what they
                # take.
                total = sum(max(column.total_uncompressed_size, 8 * column.num_values) for column in columns)
                refuse_bombs(name_of(source), total, raw.seek(0, os.SEEK_END), limits)
            texts = None
            if as_dictionaries:
                # The columns of text, also those within lists.
                columns = [metadata.schema.column(index) for index in range(metadata.num_columns)]
                columns = [column for column in columns if column.physical_type == "BYTE_ARRAY"]
                texts = [column.path for column in columns if column.logical_type.type != "DECIMAL"]
            data = pyarrow.PythonFile(raw, mode="r")
            with parquet.ParquetFile(data, metadata=metadata, read_dictionary=texts) as file:
                yield file
        except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
            raise InputError(
                at=Place(name_of(source)),
                problem=f"is damaged or not a Parquet file: {str(error).strip().rstrip('.'):.200}",
                remedy=COPY_AGAIN,
            ) from error


def refuse_columns(name: str, number: int, limits: Limits) -> None:
    """Raise `InputError` if a table has more columns than the limit."""
    if number > limits.columns:
        raise InputError(
            at=Place(name),
            expected=f"a table of at most {limits.columns:,} columns",
            found=f"{number:,}",
            remedy="raise the limit with --limit columns=…",
        )


def _lengths_of(texts: Any) -> Any:
    """Return how many bytes each text of a column has."""
    import pyarrow
    from pyarrow import compute

    if not pyarrow.types.is_dictionary(texts.type):
        return compute.binary_length(texts.cast(pyarrow.large_binary(), safe=False))
    # Of a long file a dictionary holds far more than the texts of these few rows: only those are looked at.
    used = texts.indices.dictionary_encode()
    return compute.take(_lengths_of(texts.dictionary.take(used.dictionary)), used.indices)


def _engine(name: str) -> tuple[Any, Any]:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise MissingPackage("pyarrow", f"{name} (a Parquet file)", extra="parquet") from None
    return pyarrow, parquet


def _unlike(source: Source, expected: str, names: Sequence[str]) -> InputError:
    return InputError(
        at=Place(name_of(source)), expected=f"the columns {expected}", found=", ".join(names) or "none"
    )
