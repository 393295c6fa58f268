"""TREC runs and (nugget) qrels: files in, blocks of columns out, everything checked on the way."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rageval.errors import InputError, UsageError
from rageval.files.limits import DEFAULT, Limits
from rageval.files.lines import QRELS, RUN, Kind, first_is_tabbed, read_lines, refuse_bom
from rageval.files.opening import Source, chunks, name_of
from rageval.files.tokens import Fields, tokenise
from rageval.tables import numbers
from rageval.tables.blocks import QrelsBlock, RunBlock
from rageval.tables.ids import PADDING, Ids, hashes, numeric_keys
from rageval.tables.names import Names

COMMENTS = ("error", "skip", "data")
_UTF8_BOM = b"\xef\xbb\xbf"
_UTF16_BOMS = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True, slots=True)
class Reading:
    """How to read: what a line that begins with `#` is, and the limits.

    `tabbed`: whether fields are parted by tabs in lines that can be read both ways; unless it is known, the
    first row of the file says so.
    """

    comments: str = "error"
    limits: Limits = DEFAULT
    tabbed: bool | None = None

    def __post_init__(self) -> None:
        if self.comments not in COMMENTS:
            raise UsageError(f"comments={self.comments!r}: expected one of {', '.join(COMMENTS)}")


PLAIN = Reading()


@dataclass(frozen=True, slots=True)
class _Table:
    """The lines of one chunk cut into fields, and the one column of numbers, read."""

    source: str
    buffer: NDArray[np.uint8]
    fields: Fields
    first_line: int
    number: NDArray[Any]

    def column(self, at: int) -> Ids:
        return _column(self.buffer, self.fields, at)

    @property
    def line(self) -> NDArray[np.int64]:
        return self.fields.line + self.first_line


def run_blocks(source: Source, queries: Names, reading: Reading = PLAIN) -> Iterator[RunBlock]:
    """The rows of a run, a block a chunk; query ids get codes in `queries`."""
    for table in _tables(source, RUN, reading):
        query, doc = queries.codes(table.column(0)), table.column(2)
        rank = numeric_keys(table.column(3))
        yield RunBlock(table.source, query, table.line, doc, hashes(doc), table.number, rank)


def qrels_blocks(
    source: Source, queries: Names, nuggets: Names, reading: Reading = PLAIN
) -> Iterator[QrelsBlock]:
    """The rows of a judgement file, a block a chunk; query and nugget ids get codes."""
    for table in _tables(source, QRELS, reading):
        query, nugget, doc = queries.codes(table.column(0)), nuggets.codes(table.column(1)), table.column(2)
        yield QrelsBlock(table.source, query, table.line, doc, hashes(doc), nugget, table.number)


def _tables(source: Source, kind: Kind, reading: Reading) -> Iterator[_Table]:
    name = name_of(source)
    line = 1
    rows = 0
    for text in chunks(source, reading.limits):
        if line == 1:
            text = _without_bom(text, name)
        refuse_bom(text, name, line)
        text = _with_newlines(text)
        if reading.tabbed is None:
            reading = replace(reading, tabbed=first_is_tabbed(text, kind.width, reading.comments))
        table = _table(text, kind, name, line, reading)
        line += table.fields.lines
        if len(table.number):
            rows += len(table.number)
            yield table
    if not rows:
        raise InputError(
            f"{name}: is empty, expected lines of {kind.width} columns ({' '.join(kind.columns)})"
        )


def _table(text: bytes, kind: Kind, name: str, line: int, reading: Reading) -> _Table:
    buffer = np.frombuffer(text + PADDING, np.uint8)
    fields = tokenise(text, kind.width)
    number = None
    if fields is not None and _within_limits(fields, kind, reading.limits):
        number = _numbers(buffer, fields, kind, reading.limits)
    if fields is None or number is None:
        tabbed = bool(reading.tabbed)
        fields = read_lines(text, kind, name, line, reading.comments, reading.limits, tabbed)
        number = _numbers(buffer, fields, kind, reading.limits)
    if number is None:
        raise RuntimeError(f"{name}: the two ways of reading numbers differ")
    return _Table(name, buffer, fields, line, number)


def _numbers(buffer: NDArray[np.uint8], fields: Fields, kind: Kind, limits: Limits) -> NDArray[Any] | None:
    column = _column(buffer, fields, kind.number)
    return numbers.scores(column) if kind is RUN else numbers.grades(column, limits.grade)


def _column(buffer: NDArray[np.uint8], fields: Fields, at: int) -> Ids:
    start = fields.start[:, at]
    return Ids(buffer, start, fields.end[:, at] - start)


def _within_limits(fields: Fields, kind: Kind, limits: Limits) -> bool:
    start, end = fields.start, fields.end
    longest_line = int((end[:, -1] - start[:, 0]).max(initial=0))
    return longest_line <= limits.id or (
        longest_line <= limits.line
        and all(int((end[:, at] - start[:, at]).max(initial=0)) <= limits.id for at in kind.ids)
    )


def _without_bom(text: bytes, name: str) -> bytes:
    if text.startswith(_UTF16_BOMS):
        raise InputError(
            f"{name}:1: the file is UTF-16, expected UTF-8; convert it: iconv -f UTF-16 -t UTF-8"
        )
    return text.removeprefix(_UTF8_BOM)


def _with_newlines(text: bytes) -> bytes:
    """Lines that all end in one newline byte, as text from every system should."""
    if not text.endswith(b"\n"):
        text += b"\n"
    return text.replace(b"\r\n", b"\n") if b"\r" in text else text
