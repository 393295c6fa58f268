"""Compressed content: what it begins with, and how it is unpacked."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from typing import IO, Any, cast

from rageval.errors import MissingPackage

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


def _gzip(raw: IO[bytes]) -> Any:
    import gzip

    return gzip.GzipFile(fileobj=raw, mode="rb")


def _bzip2(raw: IO[bytes]) -> Any:
    import bz2

    return bz2.BZ2File(raw)


def _xz(raw: IO[bytes]) -> Any:
    import lzma

    return lzma.LZMAFile(raw)


def _zstd(raw: IO[bytes]) -> Any:
    return zstandard().ZstdFile(raw)


_OPENERS: dict[str, Callable[[IO[bytes]], Any]] = {GZIP: _gzip, BZIP2: _bzip2, XZ: _xz, ZSTD: _zstd}
