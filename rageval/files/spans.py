"""Parts of a text file, from byte to byte."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import IO, cast

from rageval.files.borders import HEAD, Grain, border, tabs_part
from rageval.files.opening import Source, name_of, opened, unchanged
from rageval.files.remote import Stamp
from rageval.files.trec import Reading

_LOOK = 2**18  # bytes looked at in one go
Path = str | os.PathLike[str]


@dataclass(frozen=True, slots=True)
class Span:
    """A file from one byte to another, as it was when it was cut."""

    path: Path
    begin: int
    end: int
    stamp: Stamp
    tabbed: bool = False

    def __str__(self) -> str:
        return f"{name_of(self.path)}, bytes {self.begin:,} to {self.end:,}"

    @contextmanager
    def opened(self, reading: Reading) -> Iterator[tuple[Source, Reading]]:
        """What to read, and how; `FileChanged` if the file is another one before or after it was read."""
        with span_opened(self) as stream:
            yield stream, reading._replace(tabbed=self.tabbed)


def spans_of(raw: IO[bytes], path: Path, stamp: Stamp, reading: Reading, grain: Grain) -> list[Span]:
    """The file in spans; one that cannot be cut is a span as a whole."""
    size = stamp[0]
    count = grain.parts_of(size)
    raw.seek(0)
    tabbed = tabs_part(raw.read(HEAD), reading) if count > 1 else None
    cuts = []
    if tabbed is not None:
        cuts = [
            border(_blocks(raw, size * at // count), size * at // count, reading) for at in range(1, count)
        ]
    ends = sorted({cut for cut in cuts if cut is not None} | {0, size})
    return [Span(path, *two, stamp, bool(tabbed)) for two in pairwise(ends)]


@contextmanager
def span_opened(span: Span) -> Iterator[IO[bytes]]:
    """The bytes of a span, if the file is still the one that was cut."""
    with unchanged(span.path, span.stamp), opened(span.path, span.end) as raw:
        yield cast("IO[bytes]", _Bounded(raw, span))


def _blocks(raw: IO[bytes], at: int) -> Iterator[bytes]:
    raw.seek(at)
    return iter(partial(raw.read, _LOOK), b"")


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
