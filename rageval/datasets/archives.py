"""Archives as streams: parts put together, unpacked with limits, and never written to disk."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, cast

from rageval.errors import InputError
from rageval.files.limits import Limits
from rageval.files.opening import BZIP2, unpacked

_CHUNK = 2**18
_LENIENT = 64 * 2**20


class Parts(io.RawIOBase):
    """Files one after the other as if they were one."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self.name = str(paths[0])
        self.count = 0
        self._rest = list(paths)
        self._stream: IO[bytes] | None = None

    def readable(self) -> bool:
        return True

    def readinto(self, target: Any) -> int:
        while self._stream is not None or self._rest:
            if self._stream is None:
                self._stream = self._rest.pop(0).open("rb")
            block = self._stream.read(len(target))
            if block:
                target[: len(block)] = block
                self.count += len(block)
                return len(block)
            self._stream.close()
            self._stream = None
        return 0

    def close(self) -> None:
        if self._stream is not None:
            self._stream.close()
        super().close()


@contextmanager
def joined(paths: Sequence[Path]) -> Iterator[Parts]:
    """The parts of a file as one stream."""
    try:
        with Parts(paths) as stream:
            yield stream
    except OSError as error:
        if isinstance(error, InputError) or error.filename is None:
            raise
        raise InputError(f"{error.filename}: cannot be read: {error.strerror}") from None


class _Unpacked:
    """What bz2 makes of a stream, refused when it swells beyond measure; all that tarfile needs of a file."""

    def __init__(self, packed: Parts, limits: Limits) -> None:
        self._packed, self._limits = packed, limits
        self._stream = unpacked(cast("IO[bytes]", packed), BZIP2)
        self._total = 0

    def read(self, size: int) -> bytes:
        blocks = []
        while size > 0:
            try:
                block = self._stream.read(min(size, _CHUNK))
            except (OSError, EOFError, ValueError) as error:
                raise InputError(
                    f"{self._packed.name}: breaks off or is damaged after {self._total:,} unpacked bytes:"
                    f" {error}"
                ) from error
            if not block:
                break
            self._total += len(block)
            size -= len(block)
            self._refuse_bombs()
            blocks.append(block)
        return b"".join(blocks)

    def _refuse_bombs(self) -> None:
        most = max(_LENIENT, self._limits.ratio * self._packed.count)
        if self._total > min(most, self._limits.unpacked):
            raise InputError(
                f"{self._packed.name}: unpacks to {self._total:,} bytes and more (a decompression bomb?);"
                " raise it with --limit ratio=… or unpacked=…"
            )


def members(packed: Parts, suffix: str, limits: Limits) -> Iterator[IO[bytes]]:
    """The files of a tar.bz2 whose names end so, as streams to be read in turn.

    Nothing is extracted, so where a member says it belongs does not matter.
    """
    found = False
    try:
        with tarfile.open(fileobj=cast("Any", _Unpacked(packed, limits)), mode="r|") as archive:
            for member in archive:
                name = member.name.rpartition("/")[2]
                if member.isreg() and name.endswith(suffix) and not name.startswith("."):
                    found = True
                    yield _member(archive, member, f"{packed.name}:{name}")
    except (tarfile.TarError, ValueError, OverflowError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{packed.name}: is damaged, or no tar.bz2: {error}") from None
    if not found:
        raise InputError(f"{packed.name}: expected a file *{suffix} in the archive, found none")


def _member(archive: tarfile.TarFile, member: tarfile.TarInfo, name: str) -> IO[bytes]:
    stream = archive.extractfile(member)
    if stream is None:
        raise InputError(f"{name}: expected a file, found {member.type!r}")
    return _Named(stream, name)


class _Named(io.BufferedReader):
    """A member that errors can name."""

    def __init__(self, stream: Any, name: str) -> None:
        super().__init__(stream)
        self._name = name

    @property
    def name(self) -> str:
        return self._name
