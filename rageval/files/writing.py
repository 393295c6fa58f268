"""A file that is there whole or not at all: written beside its place and then moved into it."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from rageval.errors import OutputError, UsageError


def refuse_place(path: Path, *inputs: str | os.PathLike[str]) -> None:
    """A place that holds an input, or no ordinary file, is no place to write to."""
    try:
        found = path.stat()
    except OSError:
        return
    if not stat.S_ISREG(found.st_mode):
        raise UsageError(f"{path}: is no ordinary file, expected a place for a new one")
    for other in inputs:
        if os.path.exists(other) and os.path.samefile(path, other):
            raise UsageError(f"{path}: is read from, expected another place to write to")


@contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """A stream whose content appears under `path` when all of it is written."""
    beside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with beside.open("xb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        beside.replace(path)
    except OSError as error:
        raise OutputError(f"{path}: cannot be written: {error.strerror}") from error
    finally:
        with suppress(OSError):
            beside.unlink()
