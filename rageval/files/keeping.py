"""A stream that can be read once, made one that can be read again."""

from __future__ import annotations

import io
from typing import IO, Any

from rageval.errors import InputError

_IN_MEMORY = 2**26


class Kept:
    """What was read of a stream is kept, in memory while it is little and in a temporary file then."""

    def __init__(self, stream: IO[bytes], name: str) -> None:
        self.name = name
        self._stream = stream
        import weakref
        from tempfile import SpooledTemporaryFile

        self._kept = SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115
        self._size = 0
        weakref.finalize(self, self._kept.close)

    def opened(self) -> io.RawIOBase:
        """The stream from its beginning."""
        return _Reader(self)

    def __len__(self) -> int:
        """The bytes read so far."""
        return self._size

    def read_at(self, at: int, size: int) -> bytes:
        """Bytes from a place that was reached before; the stream goes on behind the last."""
        self._kept.seek(at)
        if at < self._size:
            return self._kept.read(size)
        block = taken(self._stream, size, self.name)
        self._kept.write(block)
        self._size += len(block)
        return block


class _Reader(io.RawIOBase):
    def __init__(self, kept: Kept) -> None:
        self._kept, self._at = kept, 0

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        block = self._kept.read_at(self._at, size)
        self._at += len(block)
        return block


def taken(stream: Any, size: int, name: str) -> bytes:
    """Up to `size` bytes of whatever was handed over as a file; nothing at its end."""
    read = getattr(stream, "read", None)
    if not callable(read):
        raise InputError(f"{name}: expected a path or a file open in binary mode, found {stream!r:.80}")
    block = read(size)
    if block is None:  # a pipe that does not wait
        return b""
    if not isinstance(block, bytes | bytearray | memoryview):
        found = type(block).__name__
        raise InputError(f"{name}: expected bytes from read(), found {found}; open it with mode 'rb'")
    return bytes(block)
