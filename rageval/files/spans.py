"""Parts of a file, cut where rows of another query begin, and whether it is still the file it was."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import IO, cast

from rageval.errors import InputError
from rageval.files.opening import name_of, opened, refuse_changes, stamp_of
from rageval.files.packing import LOOK, packing_of
from rageval.files.remote import Stamp
from rageval.files.trec import Reading

_LOOK = 2**18  # bytes looked at in one go
_FAR = 2**24  # a query with more bytes than this is not looked through for its end
_BOM = b"\xef\xbb\xbf"
Path = str | os.PathLike[str]


@dataclass(frozen=True, slots=True)
class Span:
    """A file from one byte to another, as it was when it was cut."""

    path: Path
    begin: int
    end: int
    stamp: Stamp

    def __str__(self) -> str:
        return f"{name_of(self.path)}, bytes {self.begin:,} to {self.end:,}"


def spans_of(path: Path, reading: Reading, width: int, smallest: int, largest: int) -> list[Span]:
    """The file in spans of so many bytes, about: one for each of `width` workers, two, …

    One that cannot be cut is a span as a whole.
    """
    stamp = stamp_of(path)
    size = stamp[0]
    count = min(width * max(1, -(-size // (width * largest))), size // smallest)
    with opened(path) as raw:
        whole = count < 2 or packing_of(raw.read(LOOK)) is not None
        cuts = [] if whole else [_border(raw, size * at // count, reading) for at in range(1, count)]
    ends = sorted({cut for cut in cuts if cut is not None} | {0, size})
    return [Span(path, begin, end, stamp) for begin, end in pairwise(ends)]


@contextmanager
def span_opened(span: Span) -> Iterator[IO[bytes]]:
    """The bytes of a span; `FileChanged` if the file is another one before or after they were read."""
    refuse_changes(span.path, span.stamp)
    with opened(span.path, span.end) as raw:
        try:
            yield cast("IO[bytes]", _Bounded(raw, span))
        except InputError:
            refuse_changes(span.path, span.stamp)
            raise
    refuse_changes(span.path, span.stamp)


def _border(raw: IO[bytes], at: int, reading: Reading) -> int | None:
    """The first byte behind `at`, and behind at least one whole line, where another query begins."""
    raw.seek(at)
    rest, position, previous = b"", at, None
    first = True  # the line that `at` lies in, of which only a part is seen
    while position - at < _FAR:
        block = raw.read(_LOOK)
        if not block:
            return None
        *lines, rest = (rest + block).split(b"\n")
        for line in lines:
            query = b"" if first else _query(line, reading)
            if previous and query and query != previous and not _means_something(line):
                return position
            previous, first = query or previous, False
            position += len(line) + 1
        if len(rest) > reading.limits.line:
            return None
    return None


def _query(line: bytes, reading: Reading) -> bytes:
    """The first word of a line; nothing for a comment.

    An id that holds a blank is cut short, so that two queries may be taken for one, but never one for two.
    """
    if reading.comments == "skip" and line.startswith(b"#"):
        return b""
    words: Sequence[bytes] = line.split(None, 1)
    return words[0] if words else b""


def _means_something(line: bytes) -> bool:
    """Whether this would be no id at the beginning of a file; no part begins so."""
    return line.startswith(_BOM) or packing_of(line) is not None


class _Bounded(io.RawIOBase):
    """A stream that ends where the span does."""

    def __init__(self, raw: IO[bytes], span: Span) -> None:
        self._raw = raw
        self._rest = span.end - span.begin
        self.name = name_of(span.path)
        raw.seek(span.begin)

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        wanted = self._rest if size < 0 else min(size, self._rest)
        block = self._raw.read(wanted) if wanted else b""
        self._rest -= len(block)
        return block
