"""Files that a file names: the one place where such a name becomes a path.

A policy, a rubric or a manifest comes with data, and data are not trusted. So a name in it is a
`NamedInFile`, which only `beside` turns into a path: of a regular file in the folder of the file that names
it, or below.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath

from rageval.errors import InputError
from rageval.files.whole import open_regular
from rageval.text import visible

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
    where: str = ""

    def __str__(self) -> str:
        """Return the name as a message may show it."""
        return visible(self.name)[:200]


def beside(named: NamedInFile) -> Path:
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
    >>> beside(NamedInFile("gold/base.jsonl", "project/rageval.toml")).as_posix()
    'project/gold/base.jsonl'
    >>> beside(NamedInFile("../.env", "project/rubric.toml"))
    Traceback (most recent call last):
    rageval.errors.InputError: project/rubric.toml: ../.env: a name in a file cannot lead out of its folder...
    """
    problem = _problem_of_name(named.name)
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
            raise InputError(f"{_place(named)}: cannot be looked at: {error}") from None
        # Each part by itself: a folder that is a link leads out as a file does.
        expected = stat.S_ISREG if number == len(parts) else stat.S_ISDIR
        if stat.S_ISLNK(mode):
            raise _refused(named, f"{visible(part)} is a link")
        if not expected(mode):
            what = "a regular file" if number == len(parts) else "a folder"
            raise _refused(named, f"{visible(part)} is not {what}")
    return path


def read_beside(named: NamedInFile, most: int) -> bytes:
    """Return the content of a file that a file names; `InputError` if it has more than `most` bytes."""
    path = beside(named)
    try:
        with open_regular(path) as stream:
            content = stream.read(most + 1)
    except OSError as error:
        raise InputError(f"{_place(named)}: cannot be read: {error.strerror}") from None
    if len(content) > most:
        raise InputError(f"{_place(named)}: has more than {most:,} bytes")
    return content


def _problem_of_name(name: str) -> str:
    """Return what is wrong with a name in itself, whatever there is on disk."""
    parts = PureWindowsPath(name).parts  # knows both kinds of separators, and drives
    if not name.strip() or len(name) > _LONGEST or not name.isprintable() or name.startswith("-"):
        return "is no name of a file"
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


def _place(named: NamedInFile) -> str:
    return f"{visible(named.where or named.file)}: {named}"


def _refused(named: NamedInFile, why: str) -> InputError:
    return InputError(
        f"{_place(named)}: {why}; expected a regular file in the folder of {visible(named.file)}, or below it"
    )
