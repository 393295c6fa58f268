"""Files that lie on other machines, read through fsspec in ranges of bytes: what is wanted, and no more.

Only what `opening.is_remote` finds to be remote ever comes here.
"""

from __future__ import annotations

import io
import time
from typing import Any

from rageval.errors import InputError, MissingPackage, Place, missing_file

Stamp = tuple[int, *tuple[str | int, ...]]  # bytes, and what tells one version from another
LEAST, _MOST = 2**16, 2**23  # bytes of one request
_TRIES = 5
_PAUSE = 0.2  # seconds before the second try; twice as many before the third, …
_VERSIONS = (
    "ETag",
    "etag",
    "generation",
    "blob_id",
    "LastModified",
    "Last-Modified",
    "last_modified",
    "mtime",
)
_DRIVERS = {"s3": "s3fs", "gs": "gcsfs", "hf": "huggingface_hub", "http": "aiohttp", "https": "aiohttp"}


def stamp_of(url: str) -> Stamp:
    """Return the size of a file, and what its server says of its version."""
    files, path = _found(url)
    files.invalidate_cache()
    info = _tried(url, lambda: files.info(path))
    if info.get("size") is None:
        raise InputError(
            at=Place(url), problem="the server does not report its size", remedy="download it first"
        )
    return int(info["size"]), *(str(info[name]) for name in _VERSIONS if info.get(name))


class RemoteFile(io.RawIOBase):
    """A file on another machine, open for reading.

    Reads that follow one another fetch more and more ahead, but nothing behind `until`.
    """

    def __init__(self, url: str, until: int | None = None) -> None:
        self.name = url
        self._files, self._path = _found(url)
        self.stamp = stamp_of(url)
        self._size = self.stamp[0]
        self._until = self._size if until is None else until
        self._ahead = LEAST if until is None else _MOST
        self._position = self._begin = 0
        self._block = b""

    def readable(self) -> bool:
        """Tell that it can be read."""
        return True

    def seekable(self) -> bool:
        """Tell that any place can be read next."""
        return True

    def tell(self) -> int:
        """Return the place that is read next."""
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move to a place; nothing is fetched before it is read."""
        self._position = (
            offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        )
        return self._position

    def read(self, size: int = -1) -> bytes:
        """Return so many bytes, or all that are left; fetch what is not there yet."""
        end = self._size if size < 0 else min(self._position + size, self._size)
        parts = []
        while self._position < end:
            here = self._position - self._begin
            if not 0 <= here < len(self._block):
                self._fetch(end - self._position)
                here = 0
            part = self._block[here : here + end - self._position]
            self._position += len(part)
            parts.append(part)
        return b"".join(parts)

    def _fetch(self, length: int) -> None:
        # Reads that follow one another fetch twice as much each time: few requests for a scan, few bytes for
        # a look.
        follows = self._position == self._begin + len(self._block)
        self._ahead = min(2 * self._ahead, _MOST) if follows and self._position else self._ahead
        last = max(
            min(self._position + self._ahead, self._until),
            min(self._position + min(length, _MOST), self._size),
        )
        begin, count = self._position, last - self._position
        block = _tried(self.name, lambda: self._files.cat_file(self._path, start=begin, end=last))
        # A server that knows no ranges sends the beginning of the file, which would be taken for this place.
        if len(block) > count:
            raise InputError(
                at=Place(self.name), problem="the server cannot send parts of it", remedy="download it first"
            )
        if not block:
            raise InputError(
                at=Place(self.name),
                problem=f"ends after {begin:,} of {self._size:,} bytes",
                remedy="download it first",
            )
        self._block, self._begin = block, begin


def _found(url: str) -> tuple[Any, str]:
    """Return the file system a URL belongs to, and what the file is called there."""
    scheme = url.partition("://")[0]
    try:
        from fsspec.core import url_to_fs

        files, path = url_to_fs(url)
    except ImportError as error:
        # Each kind of address needs a package of its own, which fsspec imports only now.
        if (error.name or "").startswith("fsspec"):
            raise MissingPackage("fsspec", f"{scheme}://", extra="remote") from None
        raise MissingPackage(_DRIVERS[scheme], f"{scheme}://") from None
    except ValueError as error:
        raise InputError(at=Place(url), problem=str(error)) from None
    return files, path


def _tried(url: str, ask: Any) -> Any:
    """Return what the server says, asked again where the connection broke."""
    attempt = 0
    while True:
        try:
            return ask()
        except Exception as error:  # each kind of file system has its own errors
            reason = error.__cause__ or error  # some call everything a file that is not there
            status = int(getattr(reason, "status", 0) or 0)
            attempt += 1
            if isinstance(reason, FileNotFoundError | IsADirectoryError) or status == 404:
                raise missing_file(url) from None
            # The server has said no, rather than nothing: to ask again is of no use.
            is_refused = 400 <= status < 500 and status not in (408, 429)
            if attempt == _TRIES or is_refused or isinstance(reason, PermissionError):
                raise InputError(at=Place(url), problem=f"cannot be read: {reason!s:.200}") from error
            time.sleep(_PAUSE * 2 ** (attempt - 1))
