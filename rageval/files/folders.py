"""Folders of output: a folder belongs to the command that wrote it, and nothing else is removed from it."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from rageval.errors import OutputError, UsageError
from rageval.files.whole import digest_of
from rageval.files.writing import make_folder
from rageval.text import visible

_PART = "a file of the folder"


def require_folder(folder: Path) -> None:
    """Raise `UsageError` where a file stands in place of a folder of output."""
    # Not asked of the path itself, which raises where a name is too long for the system.
    if os.path.exists(folder) and not os.path.isdir(folder):
        raise UsageError(f"{visible(str(folder))}: is a file, expected a folder to write to")


def refuse_others(folder: Path, own: Collection[str], way: str) -> None:
    """Raise `UsageError` if the folder holds files that are not the command's own; `way` says what to do.

    Parameters
    ----------
    folder
        Where a command writes several files.
    own
        The names in the folder that the command wrote before.
    way
        What is expected instead, for the message.
    """
    try:
        names = os.listdir(folder) if os.path.isdir(folder) else []
    except OSError as error:
        shown = visible(str(folder))
        raise OutputError(f"{shown}: cannot be listed: {error.strerror or error}") from error
    if others := sorted(set(names) - set(own)):
        raise UsageError(
            f"{visible(str(folder))}: holds other files, such as {visible(others[0])}; expected {way}"
        )


@contextmanager
def filled_folder(folder: Path) -> Iterator[None]:
    """Make a folder that somebody fills; one that was not there goes again after an error, if it is empty."""
    is_new = not os.path.exists(folder)
    make_folder(folder)
    try:
        yield
    except BaseException:
        if is_new:
            with suppress(OSError):
                folder.rmdir()
        raise


def unchanged(folder: Path, files: object) -> list[str]:
    """Return which files that a manifest lists are still there as they were written.

    Whoever changed a file since owns it. A manifest is a file that anybody can edit, so names of anything
    but regular files directly in the folder are passed over.
    """
    names = []
    for name, sha256 in files.items() if isinstance(files, dict) else ():
        is_plain = isinstance(name, str) and name == os.path.basename(name) and "\0" not in name
        path = folder / str(name)
        is_file = is_plain and not os.path.islink(path) and os.path.isfile(path)
        if is_file and digest_of(path, _PART) == sha256:
            names.append(name)
    return names


def remove(folder: Path, names: Iterable[str]) -> None:
    """Remove files that a command wrote before, and does not write now."""
    for name in names:
        try:
            (folder / name).unlink(missing_ok=True)
        except OSError as error:
            shown = visible(str(folder / name))
            raise OutputError(f"{shown}: cannot be removed: {error.strerror or error}") from error
