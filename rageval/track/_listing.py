"""What lies in the folder of a track, looked at before anything is opened."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from rageval.errors import InputError
from rageval.files.opening import assigned
from rageval.files.whole import open_regular
from rageval.text import visible

_MEGABYTE = 10**6
_REPARSE_POINT = 0x400  # what Windows marks links and junctions with
_KINDS = (
    (stat.S_ISLNK, "a link", "the file itself"),
    (stat.S_ISFIFO, "a FIFO", "a file"),
    (stat.S_ISSOCK, "a socket", "a file"),
    (stat.S_ISCHR, "a device", "a file"),
    (stat.S_ISBLK, "a device", "a file"),
)


class EntryLimits(NamedTuple):
    """What one entry of a track may cost.

    Parameters
    ----------
    size
        Bytes of a file.
    seconds
        Seconds of processor time for reading it; each megabyte adds one more.
    memory
        Bytes of memory for reading it.
    """

    size: int = 2**30
    seconds: int = 60
    memory: int = 4 * 2**30

    def changed(self, assignments: tuple[str, ...]) -> EntryLimits:
        """Return the limits after `NAME=NUMBER` words, as typed on the command line (`size=4G`)."""
        return self._replace(**assigned(assignments, self._fields))

    def seconds_for(self, size: int) -> int:
        """Return how long a file of so many bytes may take."""
        return self.seconds + size // _MEGABYTE


class Entry(NamedTuple):
    """Something in the folder: its name from there, its size and digest, or why it is not opened."""

    name: str
    size: int = 0
    sha256: str = ""
    problem: str = ""


def entries_in(folder: Path, limits: EntryLimits) -> list[Entry]:
    """Return everything that was handed in, by name; what begins with a dot was not.

    Each is looked at before it is opened. Only files are opened, and no link is followed.
    """
    if not os.path.isdir(folder):  # of a name that is too long, too
        raise InputError(f"{visible(str(folder))}: no such folder; expected one of runs")
    found = sorted(_found(folder, limits))
    if not found:
        raise InputError(f"{visible(str(folder))}: holds no files, expected runs")
    return found


def _found(folder: Path, limits: EntryLimits) -> Iterator[Entry]:
    waiting = [""]
    while waiting:
        inside = waiting.pop()
        try:
            with os.scandir(folder / inside) as scan:
                names = [each.name for each in scan if not each.name.startswith(".")]
        except OSError as error:
            if not inside:
                raise InputError(f"{visible(str(folder))}: cannot be read: {error.strerror}") from None
            yield Entry(inside, problem=f"a folder that cannot be read: {error.strerror}")
            continue
        if inside and not names:
            yield Entry(inside, problem="a folder without files, expected a file")
        for each in names:
            name = f"{inside}/{each}" if inside else each
            if visible(each) != each:
                yield Entry(
                    visible(name),
                    problem="its name holds control characters, or bytes that are not UTF-8; rename it",
                )
                continue
            looked_at = _looked_at(folder / name, name, limits)
            if looked_at is None:
                waiting.append(name)
            else:
                yield looked_at


def _looked_at(path: Path, name: str, limits: EntryLimits) -> Entry | None:
    """Return what this is; None for a folder, whose files are entries of their own."""
    try:
        status = os.lstat(path)
        for is_kind, what, expected in _KINDS:
            if is_kind(status.st_mode) or (is_kind is stat.S_ISLNK and _is_reparsed(status)):
                return Entry(name, problem=f"is {what}, expected {expected}")
        if stat.S_ISDIR(status.st_mode):
            return None
        if status.st_size > limits.size:
            return Entry(
                name,
                status.st_size,
                problem=f"holds {status.st_size:,} bytes, at most {limits.size:,} are read (--limit size=…)",
            )
        with open_regular(path) as stream:
            return Entry(name, status.st_size, hashlib.file_digest(stream, "sha256").hexdigest())
    except OSError as error:
        return Entry(name, problem=f"cannot be opened: {error.strerror or error}")


def _is_reparsed(status: os.stat_result) -> bool:
    return bool(getattr(status, "st_file_attributes", 0) & _REPARSE_POINT)
