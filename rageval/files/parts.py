"""Parts of a run's file that are read one without the other: of a text, of Zstandard frames, of Parquet."""

from __future__ import annotations

import io
import os
import struct
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, pairwise
from typing import IO, Any, Protocol, cast

from rageval.errors import InputError, Place
from rageval.files import columnar
from rageval.files._remote import Stamp
from rageval.files.opening import (
    BOM,
    CHUNK,
    COPY_AGAIN,
    LOOK,
    ZSTD,
    RowRange,
    Source,
    _is_bomb,
    _opened,
    _packing_of,
    _stamp_of,
    _unchanged,
    _zstandard,
    is_columnar,
    limits_of,
    name_of,
)
from rageval.files.trec import RUN, Reading

_HEAD = 2**16  # bytes in which the first row of a file is looked for
_FAR = 2**24  # a query with more bytes than this is not looked through for its end


@dataclass(frozen=True, slots=True)
class Grain:
    """How finely to cut: for so many workers, into parts of no fewer bytes, and about no more."""

    width: int
    smallest: int
    largest: int

    def parts_of(self, size: int) -> int:
        """Return into how many parts to cut: as many for each worker."""
        return min(self.width * max(1, -(-size // (self.width * self.largest))), size // self.smallest)


def _border(blocks: Iterable[bytes], start: int, reading: Reading, longest: int) -> int | None:
    """Return the first byte behind `start`, and behind at least one whole line, where another query begins.

    The blocks are the text from `start` on, and `longest` is how long a line may be.
    """
    rest, position, previous = b"", start, None
    first = True  # the line that `start` lies in, of which only a part is seen
    for block in blocks:
        # The last piece may be half a line: it waits for the next block.
        *lines, rest = (rest + block).split(b"\n")
        for line in lines:
            # The cut fell somewhere in this line; its first word may be half of one.
            is_comment = reading.comments == "skip" and line.startswith(b"#")
            # An id that holds a blank is cut short, so that two queries may be taken for one, but never one
            # for two.
            query = b"" if first or is_comment else (line.split(None, 1) or [b""])[0]
            # Two whole lines with different queries: the border lies between them.
            is_border = previous and query and query != previous
            # What would be no id at the beginning of a file begins no part either.
            if is_border and not line.startswith(BOM) and _packing_of(line) is None:
                return position
            previous, first = query or previous, False
            position += len(line) + 1
        # A query, or a line, that never ends: rather no cut than reading the file to its end to find one.
        if len(rest) > longest or position - start >= _FAR:
            return None
    return None


def _tabs_part(head: bytes, reading: Reading) -> bool | None:
    """Return what the first row says of the whole file, given how that begins; None if that shows no row."""
    whole = head[: head.rfind(b"\n") + 1].removeprefix(BOM)
    return RUN.first_is_tabbed(whole, reading.comments)


_SPAN_LOOK = 2**18  # bytes looked at in one go
_Path = str | os.PathLike[str]


@dataclass(frozen=True, slots=True)
class _Span:
    """A file from one byte to another, as it was when it was cut."""

    path: _Path
    begin: int
    end: int
    stamp: Stamp
    tabbed: bool = False

    def __str__(self) -> str:
        return f"{name_of(self.path)}, bytes {self.begin:,} to {self.end:,}"

    @contextmanager
    def opened(self, reading: Reading) -> Iterator[tuple[Source, Reading]]:
        """Yield what to read, and how; `FileChanged` if the file is another one before or after that."""
        with _span_opened(self) as stream:
            yield stream, reading._replace(tabbed=self.tabbed)


def _spans_of(raw: IO[bytes], path: _Path, stamp: Stamp, reading: Reading, grain: Grain) -> list[_Span]:
    """Return the file in spans; one that cannot be cut is a span as a whole."""
    size = stamp[0]
    count = grain.parts_of(size)
    raw.seek(0)
    tabbed = _tabs_part(raw.read(_HEAD), reading) if count > 1 else None
    cuts: list[int | None] = []
    longest = limits_of(path).line
    if tabbed is not None:
        for number in range(1, count):
            target = size * number // count
            raw.seek(target)
            cuts.append(_border(iter(partial(raw.read, _SPAN_LOOK), b""), target, reading, longest))
    # A long query may hold several of the places, which then have one border.
    ends = sorted({cut for cut in cuts if cut is not None} | {0, size})
    return [_Span(path, *two, stamp, bool(tabbed)) for two in pairwise(ends)]


@contextmanager
def _span_opened(span: _Span) -> Iterator[IO[bytes]]:
    """Yield the bytes of a span, if the file is still the one that was cut."""
    with _unchanged(span.path, span.stamp), _opened(span.path, span.end) as raw:
        yield cast("IO[bytes]", _Bounded(raw, span))


class _Bounded(io.RawIOBase):
    """A stream that ends where the span does."""

    def __init__(self, raw: IO[bytes], span: _Span) -> None:
        self._raw = raw
        self._rest = span.end - span.begin
        self.name, self.limits = name_of(span.path), limits_of(span.path)
        raw.seek(span.begin)

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        length = self._rest if size < 0 else min(size, self._rest)
        block = self._raw.read(length) if length else b""
        self._rest -= len(block)
        return block


_TABLE, _FOOTER = 0x184D2A5E, 0x8F92EAB1
_HEADER_SIZE, _FOOTER_SIZE = 8, 9
_CHECKSUMS, _RESERVED = 0x80, 0x7C  # bits of the table's descriptor
_BLOCK = 2**17  # packed bytes unpacked in one go


@dataclass(frozen=True, slots=True)
class _Frame:
    """Where a frame lies in the file, and its content in the whole content."""

    offset: int
    packed: int
    begin: int
    size: int

    @property
    def end(self) -> int:
        return self.begin + self.size


@dataclass(frozen=True, slots=True)
class _FrameSpan:
    """The content of a file from one byte to another, and the frames it lies in."""

    path: _Path
    frames: tuple[_Frame, ...]
    begin: int
    end: int
    stamp: Stamp
    tabbed: bool

    def __str__(self) -> str:
        return f"{name_of(self.path)}, unpacked bytes {self.begin:,} to {self.end:,}"

    @contextmanager
    def opened(self, reading: Reading) -> Iterator[tuple[Source, Reading]]:
        """Yield what to read, and how; `FileChanged` if the file is another one before or after that."""
        last = self.frames[-1]
        with _unchanged(self.path, self.stamp), _opened(self.path, last.offset + last.packed) as raw:
            stream = cast("IO[bytes]", _BlockStream(self._content(raw), self.path))
            yield stream, reading._replace(tabbed=self.tabbed)

    def _content(self, raw: IO[bytes]) -> Iterator[bytes]:
        """Yield what lies between begin and end. The part with the end of a frame unpacks it to its end."""
        for frame in self.frames:
            position = frame.begin
            for block in _unpacked(raw, frame, name_of(self.path)):
                # What of this block lies inside the part; empty before the part begins.
                part = block[max(0, self.begin - position) : max(0, self.end - position)]
                position += len(block)
                if part:
                    yield part
                # The rest of the frame is another part's, which unpacks it to its end and so checks it.
                if self.end <= position and self.end < frame.end:
                    return


def _frame_spans_of(
    raw: IO[bytes], path: _Path, stamp: Stamp, reading: Reading, grain: Grain
) -> list[_FrameSpan]:
    """Return the file in parts, of whole queries; none if it cannot be cut."""
    frames = _frames(raw, stamp[0])
    size = frames[-1].end if frames else 0
    count = grain.parts_of(size)
    limits = limits_of(path)
    swells = any(_is_bomb(frame.end, frame.offset + frame.packed, limits) for frame in frames)
    # What swells is left to the reader of whole files, which refuses it.
    if count < 2 or swells or size > limits.unpacked:
        return []
    tabbed = _tabs_part(_head(_content(raw, path, frames)), reading)
    if tabbed is None:
        return []
    starts = [frame.begin for frame in frames]
    # Unpacking can begin only where a frame does, so cuts are looked for from the beginning of one.
    firsts = {bisect_right(starts, size * index // count) - 1 for index in range(1, count)} - {0}
    longest = limits_of(path).line
    cuts = [
        _border(_content(raw, path, frames[index:]), starts[index], reading, longest)
        for index in sorted(firsts)
    ]
    ends = sorted({cut for cut in cuts if cut is not None} | {0, size})
    return [_FrameSpan(path, _around(frames, *two), *two, stamp, tabbed) for two in pairwise(ends)]


def _frames(raw: IO[bytes], size: int) -> list[_Frame]:
    """Return the frames that the seek table names; none without a table, or if it does not fit the file."""
    if size < _HEADER_SIZE + _FOOTER_SIZE:
        return []
    # The seek table is the last frame of the file, and is read from its end (zstd's contrib/seekable_format).
    count, descriptor, magic = struct.unpack("<IBI", _bytes(raw, size - _FOOTER_SIZE, _FOOTER_SIZE))
    entry = 12 if descriptor & _CHECKSUMS else 8
    length = count * entry + _FOOTER_SIZE
    if magic != _FOOTER or descriptor & _RESERVED or _HEADER_SIZE + length > size:
        return []
    table = _bytes(raw, size - length - _HEADER_SIZE, length + _HEADER_SIZE)
    if struct.unpack_from("<II", table) != (_TABLE, length):
        return []
    frames, offset, begin = [], 0, 0
    for place in range(_HEADER_SIZE, _HEADER_SIZE + count * entry, entry):
        packed, unpacked = struct.unpack_from("<II", table, place)
        frames.append(_Frame(offset, packed, begin, unpacked))
        offset, begin = offset + packed, begin + unpacked
    # Frames that do not fill the file are of another file, or a lie.
    return frames if offset + len(table) == size else []


def _bytes(raw: IO[bytes], offset: int, length: int) -> bytes:
    raw.seek(offset)
    return raw.read(length).ljust(length, b"\0")  # zeros if the file has become shorter: they fit nothing


def _around(frames: list[_Frame], begin: int, end: int) -> tuple[_Frame, ...]:
    """Return the frames of a part. Each frame is in one part at least, also where it holds nothing."""
    starts = [frame.begin for frame in frames]
    first = bisect_right(starts, begin) - 1 if begin else 0
    last = bisect_right(starts, end) - 1
    if frames[last].begin == end and end < frames[-1].end:
        last -= 1
    return tuple(frames[first : last + 1])


def _content(raw: IO[bytes], path: _Path, frames: list[_Frame]) -> Iterator[bytes]:
    for frame in frames:
        yield from _unpacked(raw, frame, name_of(path))


def _head(blocks: Iterator[bytes]) -> bytes:
    head = b""
    while len(head) < _HEAD and (block := next(blocks, None)) is not None:
        head += block
    return head


def _unpacked(raw: IO[bytes], frame: _Frame, name: str) -> Iterator[bytes]:
    """Yield the content of a frame; an error if the table does not tell the truth about it."""
    zstd = _zstandard()
    raw.seek(frame.offset)
    unpacker, left, size = zstd.ZstdDecompressor(), frame.packed, 0
    try:
        while not unpacker.eof:
            packed = raw.read(min(left, _BLOCK)) if unpacker.needs_input else b""
            left -= len(packed)
            # The frame ends before its content does; told below.
            if unpacker.needs_input and not packed:
                break
            block = unpacker.decompress(packed, CHUNK)
            size += len(block)
            # Stop at once: a table that understates a frame must not fill the memory.
            if size > frame.size:
                break
            yield block
    except zstd.ZstdError as error:
        raise InputError(
            at=Place(name), problem=f"is damaged, or its seek table is wrong: {error}", remedy=COPY_AGAIN
        ) from error
    if not unpacker.eof or unpacker.unused_data or left or size != frame.size:
        raise InputError(
            at=Place(name),
            problem=f"its seek table is wrong about the frame at byte {frame.offset:,}",
            remedy=COPY_AGAIN,
        )


class _BlockStream(io.RawIOBase):
    """Blocks of a file as a stream."""

    def __init__(self, blocks: Iterator[bytes], path: _Path) -> None:
        self._blocks, self._rest = blocks, b""
        self.name, self.limits = name_of(path), limits_of(path)

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        if not self._rest:
            self._rest = next(self._blocks, b"")
        # A read may give less than was asked for, as any raw stream's may.
        block, self._rest = (self._rest, b"") if size < 0 else (self._rest[:size], self._rest[size:])
        return block


_QUERY = columnar.RUN[0]


@dataclass(frozen=True, slots=True)
class _RowSpan:
    """A file from one row to another, counted from 0, as it was when it was cut."""

    path: _Path
    begin: int
    end: int
    stamp: Stamp

    def __str__(self) -> str:
        return f"{name_of(self.path)}, rows {self.begin + 1:,} to {self.end:,}"

    @contextmanager
    def opened(self, reading: Reading) -> Iterator[tuple[RowRange, Reading]]:
        """Yield what to read, and how; `FileChanged` if the file is another one before or after that."""
        with _unchanged(self.path, self.stamp):
            yield RowRange(self.path, range(self.begin, self.end)), reading


def _row_spans_of(path: _Path, stamp: Stamp, grain: Grain) -> list[_RowSpan]:
    """Return the file in parts, cut near where groups of rows begin."""
    with columnar._opened_table(path) as file:
        columnar._select_columns(file, path, columnar.RUN)
        groups = [file.metadata.row_group(index) for index in range(file.metadata.num_row_groups)]
        # By bytes of the columns that are read, not by rows: that is what reading costs.
        columns = ([group.column(index) for index in range(group.num_columns)] for group in groups)
        sizes_of_groups = (
            sum(column.total_uncompressed_size for column in some if column.path_in_schema in columnar.RUN)
            for some in columns
        )
        sizes = list(accumulate(sizes_of_groups, initial=0))
        begins = list(accumulate((group.num_rows for group in groups), initial=0))
        count = grain.parts_of(sizes[-1])
        targets = [sizes[-1] * index / count for index in range(1, count)]
        nearest = {min(range(len(sizes)), key=lambda index: abs(sizes[index] - size)) for size in targets}
        cuts = [_row_border(file, begins, group) for group in sorted(nearest - {0, len(groups)})]
    ends = sorted({cut for cut in cuts if cut is not None} | {0, begins[-1]})
    return [_RowSpan(path, *two, stamp) for two in pairwise(ends)]


def _row_border(file: Any, begins: list[int], group: int) -> int | None:
    """Return the first row of a group, or behind, that is of another query than the row before it."""
    from pyarrow import compute

    # The last query before the group: rows at its beginning that go on with it belong to the part before.
    *_, (_, queries) = _queries(file, begins, group - 1)
    previous = queries[-1]
    for index in range(group, len(begins) - 1):
        for begin, queries in _queries(file, begins, index):
            place = compute.not_equal(queries, previous).index(True).as_py()
            if place >= 0:
                return int(begin + place)
    return None


def _queries(file: Any, begins: list[int], group: int) -> Iterator[tuple[int, Any]]:
    """Yield the queries of a group's rows, batch by batch, and where each batch begins."""
    import pyarrow

    begin = begins[group]
    for batch in file.iter_batches(columnar.ROWS, row_groups=[group], columns=[_QUERY]):
        yield begin, batch.column(0).cast(pyarrow.large_string())
        begin += batch.num_rows


class FilePart(Protocol):
    """Some whole queries of a file; it prints as what to look at if it cannot be read."""

    def opened(self, reading: Reading) -> AbstractContextManager[tuple[Any, Reading]]:
        """Yield what to read, and how; `FileChanged` if the file is another one before or after that."""


def cut(path: _Path, reading: Reading, grain: Grain) -> Sequence[FilePart]:
    """Return all of the file in parts; fewer than two if it cannot be cut."""
    stamp = _stamp_of(path)
    if is_columnar(path):
        return _row_spans_of(path, stamp, grain)
    with _opened(path) as raw:
        packing = _packing_of(raw.read(LOOK))
        if packing == ZSTD:
            return _frame_spans_of(raw, path, stamp, reading, grain)
        return [] if packing else _spans_of(raw, path, stamp, reading, grain)
