"""Files that are written before it is known what they will be called, or whether they will stay."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from rageval.files.writing import (
    _begun,
    _descriptor,
    _explained,
    _look,
    _put,
    _synced,
    _take_mode,
    whole_file,
)

_NAME = "unnamed"
_HELD = 2**18  # bytes that are not yet written


class UnnamedFile:
    """A file that is written before it is known what it will be called; it lies in the folder all the while.

    It is for its owner only until it has a name.
    """

    def __init__(self, folder: Path) -> None:
        target = folder / _NAME
        with _explained(folder):
            self.path, raw = _begun(target, None, 0o666)
            with raw:
                self._mode = stat.S_IMODE(os.fstat(raw.fileno()).st_mode)
                _take_mode(raw, None, 0o600)
        self._parts: list[bytes] = []
        self._size = 0
        self._digest = sha256()

    @property
    def digest(self) -> str:
        """The sha256 of what was written."""
        self._flush()
        return self._digest.hexdigest()

    def write(self, data: bytes) -> None:
        """Write bytes behind the others."""
        self._parts.append(data)
        self._size += len(data)
        if self._size > _HELD:
            self._flush()

    def _flush(self) -> None:
        # Opened each time: a log may have more runs than a process may have files open.
        data = b"".join(self._parts)
        self._parts, self._size = [], 0
        self._digest.update(data)
        with _explained(self.path), self.path.open("ab", buffering=0) as stream:
            stream.write(data)

    def lines(self) -> Iterator[str]:
        """Yield the lines, without their ends."""
        self._flush()
        with self.path.open(encoding="utf-8", newline="\n") as stream:
            for line in stream:
                yield line.removesuffix("\n")

    def name_as(self, path: Path) -> None:
        """Give the file its name; what is there and no ordinary file is written to."""
        self._flush()
        present = _look(path)
        if _descriptor(path) is not None or (present and not stat.S_ISREG(present.st_mode)):
            from shutil import copyfileobj

            with whole_file(path) as stream, self.path.open("rb") as written:
                copyfileobj(written, stream)
            return
        with _explained(path):
            target = type(path)(os.path.realpath(path))
            if present is not None:
                os.close(os.open(target, os.O_WRONLY))  # what is protected may not be replaced either
            with self.path.open("rb+", buffering=0) as raw:
                _take_mode(raw, present, self._mode)
                _synced(raw.fileno())
            _put(self.path, target, present)

    def discard(self) -> None:
        """Remove the file if it has no name yet."""
        with suppress(OSError):
            self.path.unlink()
