"""Bytes out of a path, standard input or an open file, unpacked, in chunks that end at a line end."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any, cast

from rageval.errors import InputError
from rageval.files import remote
from rageval.files.keeping import Kept, taken
from rageval.files.limits import DEFAULT, Limits
from rageval.files.packing import GZIP, LOOK, packing_of, unpacked
from rageval.files.remote import Stamp, is_remote

CHUNK = 2**20  # fits the processor's cache with all that is computed from it
STDIN = "-"
_BOM = b"\xef\xbb\xbf"
Source = str | os.PathLike[str] | IO[bytes] | Kept

_LENIENT = 64 * 2**20  # small files may unpack at any ratio: long runs of equal lines are no attack


class FileChanged(InputError):
    """A file is not what it was when the work began."""


def name_of(source: Source) -> str:
    """What error messages call this source."""
    if isinstance(source, str | os.PathLike):
        return "<stdin>" if source == STDIN else str(source)
    name = str(getattr(source, "name", "<stream>"))
    return "<stdin>" if source is getattr(sys.stdin, "buffer", None) else name


def can_read_again(source: Source) -> bool:
    """Whether the source can be opened a second time from its beginning."""
    if is_remote(source) or isinstance(source, Kept):
        return True
    return isinstance(source, str | os.PathLike) and source != STDIN and os.path.isfile(source)


def kept(source: Source) -> Source:
    """The source; if it is a stream, one that can be read again."""
    if source == STDIN:
        return Kept(sys.stdin.buffer, name_of(source))
    if isinstance(source, str | os.PathLike | Kept | io.TextIOBase):
        return source
    return Kept(source, name_of(source))


def size_of(source: Source) -> int:
    """The bytes of a source that was read."""
    return len(source) if isinstance(source, Kept) else stamp_of(cast("str", source))[0]


def is_packed(source: Source) -> bool:
    """Whether the content is compressed."""
    with _opened(source, name_of(source)) as raw:
        return packing_of(taken(raw, LOOK, name_of(source))) is not None


def chunks(source: Source, limits: Limits = DEFAULT, size: int = CHUNK) -> Iterator[bytes]:
    """The unpacked content, cut only behind line ends; the last chunk may lack its line end."""
    name = name_of(source)
    with _opened(source, name) as raw:
        rest: list[bytes] = []  # pieces of a line that is not yet whole
        for block in _unpacked(raw, name, limits, size):
            cut = block.rfind(b"\n") + 1
            if not cut:
                rest.append(block)
                if sum(map(len, rest)) > limits.line:
                    yield b"".join(rest)  # the reader reports the line as too long, with its number
                    return
                continue
            yield b"".join([*rest, block[:cut]])
            rest = [block[cut:]]
        if any(rest):
            yield b"".join(rest)


def head(source: Source, limits: Limits = DEFAULT, size: int = 2**16) -> bytes:
    """The first lines, for telling one kind of file from another."""
    return next(chunks(source, limits, size), b"")


def start_of_stream(stream: Any) -> bytes:
    """What an open stream begins with, unpacked, without taking it away; nothing if that cannot be told."""
    start: bytes = stream.peek(2**16) if hasattr(stream, "peek") else b""
    packing = packing_of(start)
    if packing == GZIP:
        import zlib

        try:
            return zlib.decompressobj(wbits=31).decompress(start)
        except zlib.error:  # told in full when it is read
            return b""
    return b"" if packing else start


def start_of(source: Source, limits: Limits = DEFAULT) -> bytes:
    """What a source begins with, as far as that can be told without taking it away."""
    if can_read_again(source):
        return head(source, limits.for_records()).removeprefix(_BOM)
    stream: Any = source
    if not hasattr(stream, "peek") and hasattr(stream, "seekable") and stream.seekable():
        at = stream.tell()
        start = stream.read(2**16)
        stream.seek(at)
        return bytes(start).removeprefix(_BOM) if isinstance(start, bytes) else b""
    return start_of_stream(stream).removeprefix(_BOM) if hasattr(stream, "peek") else b""


@contextmanager
def opened(path: str | os.PathLike[str], until: int | None = None) -> Iterator[IO[bytes]]:
    """A file, as it lies there, to be read anywhere in it; if it lies far away, up to `until`."""
    if is_remote(path):
        far = remote.RemoteFile(str(path), until)
        yield cast("IO[bytes]", far)
        refuse_changes(path, far.stamp)
        return
    with _explained(path):
        stream = open(path, "rb", buffering=0)  # noqa: SIM115
    with stream:
        yield cast("IO[bytes]", stream)


def stamp_of(path: str | os.PathLike[str]) -> Stamp:
    """The size of a file, and what else tells one version of it from another."""
    if is_remote(path):
        return remote.stamp_of(str(path))
    with _explained(path):
        found = os.stat(path)
    return found.st_size, found.st_mtime_ns


def refuse_changes(path: str | os.PathLike[str], stamp: Stamp) -> None:
    """`FileChanged` if the file is not what it was."""
    if stamp_of(path) != stamp:
        raise FileChanged(f"{name_of(path)}: changed while it was scored; score it again when it is complete")


@contextmanager
def unchanged(path: str | os.PathLike[str], stamp: Stamp) -> Iterator[None]:
    """`FileChanged` if the file is another one before or after what is done meanwhile, even if that fails."""
    refuse_changes(path, stamp)
    try:
        yield
    except InputError:
        refuse_changes(path, stamp)
        raise
    refuse_changes(path, stamp)


@contextmanager
def _explained(path: str | os.PathLike[str]) -> Iterator[None]:
    """The errors of opening a file, said as ours."""
    name = name_of(path)
    try:
        yield
    except FileNotFoundError:
        raise InputError(f"{name}: no such file") from None
    except IsADirectoryError:
        raise InputError(f"{name}: is a directory, expected a file") from None
    except OSError as error:
        raise InputError(f"{name}: cannot be opened: {error.strerror}") from error


@contextmanager
def _opened(source: Source, name: str) -> Iterator[IO[bytes]]:
    if source == STDIN:
        yield sys.stdin.buffer
    elif isinstance(source, str | os.PathLike):
        with opened(source) as stream:
            yield stream
    elif isinstance(source, Kept):
        yield cast("IO[bytes]", source.opened())
    elif isinstance(source, io.TextIOBase):
        raise InputError(f"{name}: is open in text mode, expected a file opened with mode 'rb'")
    else:
        yield source


def _unpacked(raw: IO[bytes], name: str, limits: Limits, size: int) -> Iterator[bytes]:
    """Blocks of the content; a compressed stream that breaks or swells is refused."""
    counted = _Counted(raw, name)
    packing = packing_of(counted.peek(LOOK))
    stream = unpacked(cast("IO[bytes]", counted), packing) if packing else counted
    total = 0
    while True:
        try:
            block = stream.read(size)
        except InputError:
            raise
        except MemoryError:
            raise
        except Exception as error:  # each of the decompressors has its own errors
            raise InputError(
                f"{name}: breaks off or is damaged after {total:,} unpacked bytes: {error}"
            ) from error
        if not block:
            return
        total += len(block)
        if stream is not counted:
            _refuse_bombs(name, total, counted.count, limits)
        yield block


def _refuse_bombs(name: str, total: int, packed: int, limits: Limits) -> None:
    if total > limits.unpacked:
        raise InputError(
            f"{name}: unpacks to more than {limits.unpacked:,} bytes; raise it with --limit unpacked=…"
        )
    if is_bomb(total, packed, limits):
        raise InputError(
            f"{name}: unpacks to more than {limits.ratio} times its size (a decompression bomb?);"
            " raise it with --limit ratio=…"
        )


def is_bomb(total: int, packed: int, limits: Limits) -> bool:
    """Whether this is more than so many bytes may unpack to."""
    return total > _LENIENT and total > limits.ratio * packed


class _Counted(io.RawIOBase):
    """A raw stream that knows how many bytes were taken from it, and can be looked into first."""

    def __init__(self, raw: IO[bytes], name: str) -> None:
        self._raw, self._name = raw, name
        self._ahead = b""
        self.count = 0

    def peek(self, size: int) -> bytes:
        while len(self._ahead) < size:
            more = taken(self._raw, size - len(self._ahead), self._name)
            if not more:
                break
            self._ahead += more
        return self._ahead

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        block, self._ahead = (self._ahead, b"") if size < 0 else (self._ahead[:size], self._ahead[size:])
        if size < 0 or len(block) < size:
            block += taken(self._raw, size - len(block) if size >= 0 else -1, self._name)
        self.count += len(block)
        return block

    def readinto(self, target: Any) -> int:
        block = self.read(len(target))
        target[: len(block)] = block
        return len(block)
