"""Small files that are read whole: rubrics, prompts, prices, lists of teams, manifests.

They are opened in one place, so that none of them can be a device or a pipe that never ends, or larger than
such a file is. What a shell makes of `<(…)` is a pipe, too, and is read.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader

from rageval.errors import InputError
from rageval.text import visible

WHOLE = 16 * 2**20  # bytes
_OF_SHELLS = ("/dev/fd/", "/proc/self/fd/")  # where <(…) of a shell stands


@contextmanager
def opened_file(path: str | os.PathLike[str], what: str) -> Iterator[BufferedReader]:
    """Open a regular file, or what a shell makes of `<(…)`; `InputError` for anything else."""
    name = os.fspath(path)
    shown = visible(name)
    try:
        mode = os.stat(name).st_mode
        # Looked at before it is opened: to open a pipe waits for whoever writes to it.
        is_of_shell = stat.S_ISFIFO(mode) and name.startswith(_OF_SHELLS)
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode) or is_of_shell):
            raise InputError(f"{shown}: cannot be read as {what}: it is a pipe or a device, expected a file")
        with open(name, "rb") as stream:
            yield stream
    except (OSError, ValueError) as error:  # a name with a zero byte is a ValueError
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise InputError(f"{shown}: cannot be read as {what}: {reason}") from None


def open_regular(path: str | os.PathLike[str]) -> BufferedReader:
    """Open a regular file that was looked at before; `OSError` if a link or a pipe took its place."""
    # Neither followed nor waited for. None of these flags is on every system.
    flags = os.O_RDONLY
    for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY"):
        flags |= getattr(os, name, 0)
    descriptor = os.open(path, flags)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "is no file")
    return open(descriptor, "rb")


def read_whole(path: str | os.PathLike[str], what: str, most: int = WHOLE) -> bytes:
    """Return the content of a small file; `InputError` where it has more than `most` bytes."""
    with opened_file(path, what) as stream:
        content = stream.read(most + 1)
    if len(content) > most:
        raise InputError(
            f"{visible(os.fspath(path))}: cannot be read as {what}: it has more than {most:,} bytes"
        )
    return content


def text_of_whole(path: str | os.PathLike[str], what: str, most: int = WHOLE) -> str:
    """Return the text of a small file; `InputError` where it is not UTF-8."""
    try:
        # As files of text are read: every line ends in \n.
        text = read_whole(path, what, most).decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{visible(os.fspath(path))}: cannot be read as {what}: {error}") from None
    return text.replace("\r\n", "\n").replace("\r", "\n")
