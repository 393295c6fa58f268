"""Read the files of a benchmark, whichever form they have: parquet, JSON lines, or one JSON array."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import msgspec

from rageval.errors import InputError, MissingPackage, Place
from rageval.files.jsonl import in_memory, read_records
from rageval.files.opening import COPY_AGAIN, File, Source, head, limits_of, with_limits
from rageval.records import Question

Read = Callable[[Sequence[File]], Iterator[Any]]


@dataclass(frozen=True)
class Reader:
    """How the files of a benchmark are read.

    `read` makes of the files of a role questions, documents, qrels or nuggets; `role` says which role that is
    where it is not of the same name. `document` and `query` are the types for ir_datasets, `as_query` makes
    one of a question; `question_of` is the question that a document belongs to, where each has its own.
    """

    read: Mapping[str, Read]
    role: Mapping[str, str] = field(default_factory=dict)
    document: type[Any] | None = None
    query: type[Any] | None = None
    as_query: Callable[[Question], Any] | None = None
    question_of: Callable[[Any], str] | None = None


_Record = TypeVar("_Record")
_Row = dict[str, Any]
_PARQUET = b"PAR1"
_BATCH = 16  # rows: even the longest texts then fit the memory
# Bytes that a file may unpack to, however small it is: short files of equal rows pack well.
_LENIENT = 64 * 2**20


def lines(path: File, columns: Sequence[str], mended: Callable[[_Row], _Row] | None = None) -> Source:
    """Return a small file as JSON lines; `mended` makes a row what the readers of JSON lines know."""
    if _is_parquet(path):
        # Told by content: what is called .json may be parquet, and the other way round.
        rows: Iterator[Any] = _parquet_rows(path, columns)
    elif head(path, limits_of(path).record).lstrip().startswith(b"["):
        # An array is read whole, so the whole file is one record.
        limits = limits_of(path)
        if os.path.getsize(path) > limits.record:
            raise InputError(
                at=Place(str(path)),
                problem=f"one JSON array of more than {limits.record:,} bytes",
                expected="JSON lines (jq -c '.[]'), or raise the limit with --limit record=…",
            )
        with path.opened() as stream:
            content = stream.read()
        try:
            records: list[Any] = msgspec.json.decode(content, type=list[Any])
        except (ValueError, RecursionError) as error:
            raise InputError(
                at=Place(str(path)), expected="a JSON array of records", cause=str(error)
            ) from None
        rows = iter(records)
    elif mended is None:
        return path
    else:
        rows = (row for _, row in read_records(path, _Row, "records"))
    source: Source = with_limits(in_memory(map(mended, rows) if mended else rows, str(path)), limits_of(path))
    return source


def records(path: File, form: type[_Record], columns: Sequence[str], expected: str) -> Iterator[_Record]:
    """Yield the rows of a large file as records of a form, one at a time."""
    if not _is_parquet(path):
        source = lines(path, columns)
        for _, record in read_records(source, form, expected):
            yield record
        return
    for number, row in enumerate(_parquet_rows(path, columns), 1):
        try:
            yield msgspec.convert(row, form)
        except msgspec.ValidationError as error:
            raise InputError(at=Place(str(path), number), expected=expected, cause=str(error)) from None


def _parquet_rows(path: File, columns: Sequence[str]) -> Iterator[_Row]:
    """Yield the rows of a parquet file, with those of the columns that it has (all, if none is named)."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise MissingPackage(
            "pyarrow", f"{os.path.basename(path)} (a parquet file)", extra="datasets"
        ) from None
    try:
        with parquet.ParquetFile(path) as file:
            groups = range(file.metadata.num_row_groups)
            # What the file says of itself, before a byte is unpacked.
            _refuse_bombs(path, sum(file.metadata.row_group(index).total_byte_size for index in groups))
            # A column that is not there is left to whoever reads the row to miss by name.
            named = [name for name in columns if name in file.schema_arrow.names] or None
            total = 0
            for batch in file.iter_batches(batch_size=_BATCH, columns=named):
                total += batch.nbytes  # may be far more than the file says: equal texts are kept once in it
                _refuse_bombs(path, total)
                yield from batch.to_pylist()
    except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
        raise InputError(
            at=Place(str(path)),
            problem=f"is damaged or not a Parquet file: {str(error).strip().rstrip('.'):.200}",
            remedy=COPY_AGAIN,
        ) from None


def _refuse_bombs(path: File, total: int) -> None:
    limits = limits_of(path)
    if total > limits.unpacked or total > max(_LENIENT, limits.ratio * os.path.getsize(path)):
        raise InputError(
            at=Place(str(path)),
            problem=f"unpacks to {total:,} bytes (a decompression bomb?)",
            remedy="raise it with --limit ratio=… or unpacked=…",
        )


def _is_parquet(path: File) -> bool:
    try:
        with open(path, "rb") as stream:
            return stream.read(4) == _PARQUET
    except OSError as error:
        raise InputError(at=Place(str(path)), problem=f"cannot be opened: {error.strerror}") from None
