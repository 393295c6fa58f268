"""Small files that are read whole (rubrics, prompts, prices, manifests), and the files that they name.

They are opened in one place, so that none of them can be a device or a pipe that never ends, or larger than
such a file is. What a shell makes of `<(…)` is a pipe, too, and is read.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path, PurePosixPath, PureWindowsPath

from rageval.errors import InputError, Place
from rageval.files.kinds import NO_DATA, kind_of, wrong_kind
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
            raise InputError(
                at=Place(shown),
                problem=f"cannot be read as {what}: it is a pipe or a device",
                expected="a file",
            )
        with open(name, "rb") as stream:
            yield stream
    except InputError:
        raise
    except (OSError, ValueError) as error:  # a name with a zero byte is a ValueError
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise InputError(at=Place(shown), problem=f"cannot be read as {what}: {reason}") from None


def digest_of(path: str | os.PathLike[str], what: str) -> str:
    """Return the sha256 of a file; `InputError` if it cannot be read as what it is."""
    with opened_file(path, what) as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def open_regular(path: str | os.PathLike[str]) -> BufferedReader:
    """Open a regular file that was looked at before; `OSError` if a link or a pipe took its place."""
    # Neither followed nor waited for. None of these flags is on every system.
    flags = os.O_RDONLY
    for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY"):
        flags |= getattr(os, name, 0)
    descriptor = os.open(path, flags)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "is not a file")
    return open(descriptor, "rb")


def read_whole(path: str | os.PathLike[str], what: str, most: int = WHOLE) -> bytes:
    """Return the content of a small file; `InputError` where it has more than `most` bytes."""
    with opened_file(path, what) as stream:
        content = stream.read(most + 1)
    if len(content) > most:
        raise InputError(
            at=Place(visible(os.fspath(path))),
            problem=f"cannot be read as {what}: it has more than {most:,} bytes",
        )
    return content


def text_of_whole(path: str | os.PathLike[str], what: str, most: int = WHOLE) -> str:
    """Return the text of a small file; `InputError` where it is not UTF-8."""
    content = read_whole(path, what, most)
    try:
        # As files of text are read: every line ends in \n.
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        kind = kind_of(path)  # an archive or a picture is no text in another encoding
        if kind in NO_DATA:
            raise wrong_kind(path, kind, what) from None
        line = content.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"cannot be read as {what}: {error}",
            at=Place(visible(os.fspath(path)), line),
            remedy="convert it (iconv -t UTF-8)",
        ) from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


# Files that a file names: the one place where such a name becomes a path.
#
# A policy, a rubric or a manifest comes with data, and data are not trusted. So a name in it is a
# `NamedInFile`, which only `resolve_sibling_path` turns into a path: of a regular file in the folder of the
# file that names it, or below.

# Code, and what usually holds secrets: a name in a file never needs them.
_NEVER = (
    *(".py", ".pyc", ".pyd", ".so", ".dll", ".dylib", ".pth", ".sh", ".bat", ".cmd", ".ps1", ".exe"),
    *(".env", ".pem", ".key", ".netrc", ".pickle", ".pkl"),
)
_LONGEST = 1024  # characters of a name


@dataclass(frozen=True, slots=True)
class NamedInFile:
    """The name of a file as another file says it; `where` is the place, with a line, where it says it."""

    name: str
    file: str
    where: Place | None = None

    def __str__(self) -> str:
        """Return the name as a message may show it."""
        return visible(self.name)[:200]

    @property
    def place(self) -> Place:
        """The name as a place in the file that says it."""
        return (self.where or Place(visible(self.file))).below(str(self))


def resolve_sibling_path(named: NamedInFile) -> Path:
    """Return the path that a name in a file stands for.

    Parameters
    ----------
    named
        The name, and the file that says it.

    Returns
    -------
    Path
        A regular file in the folder of the file that names it, or below; or what does not exist there.

    Raises
    ------
    InputError
        The name is absolute, a URL or code, leads elsewhere, begins with a dot, or is a link or a device.

    Examples
    --------
    >>> resolve_sibling_path(NamedInFile("gold/base.jsonl", "project/rageval.toml")).as_posix()
    'project/gold/base.jsonl'
    >>> resolve_sibling_path(NamedInFile("../.env", "project/rubric.toml"))
    Traceback (most recent call last):
    rageval.errors.InputError: project/rubric.toml: ../.env: a name in a file cannot lead out of its folder...
    """
    problem = problem_of_name(named.name)
    if problem:
        raise _refused(named, problem)
    path = Path(named.file).parent
    parts = PurePosixPath(named.name.replace(os.sep, "/")).parts
    for number, part in enumerate(parts, 1):
        path /= part
        try:
            mode = os.lstat(path).st_mode
        except (FileNotFoundError, NotADirectoryError):
            return path.joinpath(*parts[number:])
        except (OSError, ValueError) as error:
            raise InputError(at=named.place, problem=f"cannot be accessed: {error}") from None
        # Each part by itself: a folder that is a link leads out as a file does.
        expected = stat.S_ISREG if number == len(parts) else stat.S_ISDIR
        if stat.S_ISLNK(mode):
            raise _refused(named, f"{visible(part)} is a link")
        if not expected(mode):
            what = "a regular file" if number == len(parts) else "a folder"
            raise _refused(named, f"{visible(part)} is not {what}")
    return path


def read_named_file(named: NamedInFile, most: int) -> bytes:
    """Return the content of a file that a file names; `InputError` if it has more than `most` bytes."""
    path = resolve_sibling_path(named)
    try:
        # Looked at once more when it is open: a link may have taken its place.
        with open_regular(path) as stream:
            content = stream.read(most + 1)
    except OSError as error:
        raise InputError(at=named.place, problem=f"cannot be read: {error.strerror}") from None
    if len(content) > most:
        raise InputError(at=named.place, problem=f"has more than {most:,} bytes")
    return content


def problem_of_name(name: str) -> str:
    """Return what is wrong with a name in itself, whatever there is on disk."""
    parts = PureWindowsPath(name).parts  # knows both kinds of separators, and drives
    if not name.strip() or len(name) > _LONGEST or not name.isprintable() or name.startswith("-"):
        return "is not a file name"
    if "://" in name:
        return "a name in a file cannot be an address"
    # A colon names a drive or a stream of a file on Windows.
    if PureWindowsPath(name).anchor or ":" in name or name.startswith(("/", "~")):
        return "a name in a file cannot be absolute"
    if ".." in parts:
        return "a name in a file cannot lead out of its folder"
    if any(part.startswith(".") for part in parts):
        return "a name in a file cannot begin with a dot"
    if name.lower().endswith(_NEVER):
        return "a name in a file cannot be code or a key"
    return ""


def _refused(named: NamedInFile, why: str) -> InputError:
    return InputError(
        at=named.place,
        problem=why,
        expected=f"a regular file in the folder of {visible(named.file)}, or below it",
    )
