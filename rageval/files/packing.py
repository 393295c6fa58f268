"""Compressed content: what it begins with, and how it is unpacked."""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Callable
from typing import IO, Any, cast

from rageval.errors import MissingPackage

_BLOCK = 2**17  # packed bytes read at a time
LOOK = 10  # bytes that tell
GZIP, BZIP2, XZ, ZSTD = "gzip", "bzip2", "xz", "zstd"
# bzip2 begins with letters, as an id may: what tells is that a block follows, or the end.
# A zstd file may begin with a frame to be skipped, as those of pzstd do.
_BEGINNINGS = {
    GZIP: re.compile(rb"\x1f\x8b"),
    BZIP2: re.compile(rb"BZh[1-9](?:\x31\x41\x59\x26\x53\x59|\x17\x72\x45\x38\x50\x90)"),
    XZ: re.compile(rb"\xfd7zXZ\x00"),
    ZSTD: re.compile(rb"(?:\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18)"),
}


def packing_of(start: bytes) -> str | None:
    """How content that begins like this is compressed, if it is."""
    return next((name for name, begins in _BEGINNINGS.items() if begins.match(start)), None)


def unpacked(raw: IO[bytes], packing: str) -> IO[bytes]:
    """The content, every member or frame of it."""
    return cast("IO[bytes]", _OPENERS[packing](raw))


def zstandard() -> Any:
    """The module that knows Zstandard."""
    try:
        if sys.version_info >= (3, 14):
            from compression import zstd
        else:
            from backports import zstd
    except ImportError:
        raise MissingPackage("backports.zstd", "a .zst file", extra="zst") from None
    return zstd


class Streams(io.RawIOBase):
    """Everything that streams one behind the other hold; what is damaged in any of them is an error.

    The files of the standard library take a damaged second stream for waste behind the first, and end there.
    """

    def __init__(self, raw: IO[bytes], begin: Callable[[], Any], padding: int = 0) -> None:
        self._raw, self._begin, self._padding = raw, begin, padding
        self._unpacker: Any = None
        self._rest = b""  # packed bytes behind the stream that ended
        self._padded = 0

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        blocks = []
        while size:
            block = self._block(size if size > 0 else _BLOCK)
            if not block:
                break
            blocks.append(block)
            size -= len(block) if size > 0 else 0
        return b"".join(blocks)

    def _block(self, size: int) -> bytes:
        """Some of the content; nothing at its end."""
        while True:
            if self._unpacker is None or self._unpacker.eof:
                packed = self._next_stream()
                if not packed:
                    return b""
            else:
                packed = self._raw.read(_BLOCK) if self._unpacker.needs_input else b""
                if self._unpacker.needs_input and not packed:
                    raise EOFError("the last stream breaks off")
            block: bytes = self._unpacker.decompress(packed, size)
            if self._unpacker.eof:
                self._rest = self._unpacker.unused_data
            if block:
                return block

    def _next_stream(self) -> bytes:
        """The first bytes of the next stream, with an unpacker for it."""
        packed = self._rest or self._raw.read(_BLOCK)
        self._rest = b""
        while self._padding and self._unpacker is not None and packed[:1] == b"\0":
            kept = packed.lstrip(b"\0")
            self._padded += len(packed) - len(kept)
            packed = kept or self._raw.read(_BLOCK)
        if self._padding and self._padded % self._padding:
            raise ValueError(f"{self._padded} zero bytes behind a stream, not a multiple of {self._padding}")
        self._padded = 0
        if packed:
            self._unpacker = self._begin()
        return packed


def _gzip(raw: IO[bytes]) -> Any:
    import gzip

    return gzip.GzipFile(fileobj=raw, mode="rb")  # this one tells what is damaged in any member


def _bzip2(raw: IO[bytes]) -> Any:
    import bz2

    return Streams(raw, bz2.BZ2Decompressor)


def _xz(raw: IO[bytes]) -> Any:
    import lzma

    return Streams(raw, lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ), padding=4)


def _zstd(raw: IO[bytes]) -> Any:
    return Streams(raw, zstandard().ZstdDecompressor)


_OPENERS: dict[str, Callable[[IO[bytes]], Any]] = {GZIP: _gzip, BZIP2: _bzip2, XZ: _xz, ZSTD: _zstd}
