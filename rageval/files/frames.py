"""Parts of a Zstandard file whose frames can be found: one that ends with a seek table.

The table (https://github.com/facebook/zstd, contrib/seekable_format) says how long every frame is, packed and
unpacked. It is believed only as far as reading confirms it: frames that are not as it says are an error, and
then the file is read as a whole, without the table.
"""

from __future__ import annotations

import io
import struct
from bisect import bisect_right
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import IO, cast

from rageval.errors import InputError
from rageval.files.borders import HEAD, Grain, border, tabs_part
from rageval.files.limits import Limits
from rageval.files.opening import CHUNK, Source, is_bomb, name_of, opened, unchanged
from rageval.files.packing import zstandard
from rageval.files.remote import Stamp
from rageval.files.spans import Path
from rageval.files.trec import Reading

_TABLE, _FOOTER = 0x184D2A5E, 0x8F92EAB1
_HEADER_SIZE, _FOOTER_SIZE = 8, 9
_CHECKSUMS, _RESERVED = 0x80, 0x7C  # bits of the table's descriptor
_BLOCK = 2**17  # packed bytes unpacked in one go


@dataclass(frozen=True, slots=True)
class Frame:
    """Where a frame lies in the file, and its content in the whole content."""

    at: int
    packed: int
    begin: int
    size: int

    @property
    def end(self) -> int:
        return self.begin + self.size


@dataclass(frozen=True, slots=True)
class FrameSpan:
    """The content of a file from one byte to another, and the frames it lies in."""

    path: Path
    frames: tuple[Frame, ...]
    begin: int
    end: int
    stamp: Stamp
    tabbed: bool

    def __str__(self) -> str:
        return f"{name_of(self.path)}, unpacked bytes {self.begin:,} to {self.end:,}"

    @contextmanager
    def opened(self, reading: Reading) -> Iterator[tuple[Source, Reading]]:
        """What to read, and how; `FileChanged` if the file is another one before or after it was read."""
        last = self.frames[-1]
        with unchanged(self.path, self.stamp), opened(self.path, last.at + last.packed) as raw:
            stream = cast("IO[bytes]", _Stream(self._content(raw), name_of(self.path)))
            yield stream, reading._replace(tabbed=self.tabbed)

    def _content(self, raw: IO[bytes]) -> Iterator[bytes]:
        """What lies between begin and end. The part that holds the end of a frame unpacks it to its end."""
        for frame in self.frames:
            at = frame.begin
            for block in _unpacked(raw, frame, name_of(self.path)):
                part = block[max(0, self.begin - at) : max(0, self.end - at)]
                at += len(block)
                if part:
                    yield part
                if self.end <= at and self.end < frame.end:
                    return


def frame_spans_of(
    raw: IO[bytes], path: Path, stamp: Stamp, reading: Reading, grain: Grain
) -> list[FrameSpan]:
    """The file in parts, of whole queries; none if it cannot be cut."""
    frames = _frames(raw, stamp[0])
    size = frames[-1].end if frames else 0
    count = grain.parts_of(size)
    if count < 2 or _is_suspicious(frames, reading.limits):
        return []
    tabbed = tabs_part(_head(_content(raw, path, frames)), reading)
    if tabbed is None:
        return []
    starts = [frame.begin for frame in frames]
    firsts = {bisect_right(starts, size * at // count) - 1 for at in range(1, count)} - {0}
    cuts = [border(_content(raw, path, frames[at:]), starts[at], reading) for at in sorted(firsts)]
    ends = sorted({cut for cut in cuts if cut is not None} | {0, size})
    return [FrameSpan(path, _around(frames, *two), *two, stamp, tabbed) for two in pairwise(ends)]


def _frames(raw: IO[bytes], size: int) -> list[Frame]:
    """The frames that the seek table names; none if there is no table, or one that does not fit the file."""
    if size < _HEADER_SIZE + _FOOTER_SIZE:
        return []
    count, descriptor, magic = struct.unpack("<IBI", _bytes(raw, size - _FOOTER_SIZE, _FOOTER_SIZE))
    entry = 12 if descriptor & _CHECKSUMS else 8
    length = count * entry + _FOOTER_SIZE
    if magic != _FOOTER or descriptor & _RESERVED or _HEADER_SIZE + length > size:
        return []
    table = _bytes(raw, size - length - _HEADER_SIZE, length + _HEADER_SIZE)
    if struct.unpack_from("<II", table) != (_TABLE, length):
        return []
    frames, at, begin = [], 0, 0
    for place in range(_HEADER_SIZE, _HEADER_SIZE + count * entry, entry):
        packed, unpacked = struct.unpack_from("<II", table, place)
        frames.append(Frame(at, packed, begin, unpacked))
        at, begin = at + packed, begin + unpacked
    return frames if at + len(table) == size else []


def _bytes(raw: IO[bytes], at: int, length: int) -> bytes:
    raw.seek(at)
    return raw.read(length).ljust(length, b"\0")  # zeros if the file has become shorter: they fit nothing


def _is_suspicious(frames: list[Frame], limits: Limits) -> bool:
    """Whether to leave it to the reader of whole files, which refuses what swells."""
    swells = any(is_bomb(frame.end, frame.at + frame.packed, limits) for frame in frames)
    return swells or frames[-1].end > limits.unpacked


def _around(frames: list[Frame], begin: int, end: int) -> tuple[Frame, ...]:
    """The frames of a part. Each frame of the file is in one part at least, also where it holds nothing."""
    starts = [frame.begin for frame in frames]
    first = bisect_right(starts, begin) - 1 if begin else 0
    last = bisect_right(starts, end) - 1
    if frames[last].begin == end and end < frames[-1].end:
        last -= 1
    return tuple(frames[first : last + 1])


def _content(raw: IO[bytes], path: Path, frames: list[Frame]) -> Iterator[bytes]:
    for frame in frames:
        yield from _unpacked(raw, frame, name_of(path))


def _head(blocks: Iterator[bytes]) -> bytes:
    head = b""
    while len(head) < HEAD and (block := next(blocks, None)) is not None:
        head += block
    return head


def _unpacked(raw: IO[bytes], frame: Frame, name: str) -> Iterator[bytes]:
    """The content of a frame; an error if the table does not tell the truth about it."""
    zstd = zstandard()
    raw.seek(frame.at)
    unpacker, left, size = zstd.ZstdDecompressor(), frame.packed, 0
    try:
        while not unpacker.eof:
            packed = raw.read(min(left, _BLOCK)) if unpacker.needs_input else b""
            left -= len(packed)
            if unpacker.needs_input and not packed:
                break
            block = unpacker.decompress(packed, CHUNK)
            size += len(block)
            if size > frame.size:
                break
            yield block
    except zstd.ZstdError as error:
        raise InputError(f"{name}: is damaged, or its seek table is wrong: {error}") from error
    if not unpacker.eof or unpacker.unused_data or left or size != frame.size:
        raise InputError(f"{name}: its seek table is wrong about the frame at byte {frame.at:,}")


class _Stream(io.RawIOBase):
    """Blocks as a stream."""

    def __init__(self, blocks: Iterator[bytes], name: str) -> None:
        self._blocks, self._rest = blocks, b""
        self.name = name

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        if not self._rest:
            self._rest = next(self._blocks, b"")
        block, self._rest = (self._rest, b"") if size < 0 else (self._rest[:size], self._rest[size:])
        return block
