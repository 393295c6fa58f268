"""Where files are kept: under the home of ir_datasets, complete or not there at all.

What a folder holds is said by its `files.json`, written last; a file that it does not name does not count.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec

from rageval.errors import InputError, OutputError
from rageval.files.writing import lock, unlock, whole_file

_MANIFEST = "files.json"
ACCEPTED = "licence-accepted"
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


class KeptFile(msgspec.Struct, frozen=True):
    """A file that is there: what it is called, and what it was when it arrived."""

    name: str
    size: int
    sha256: str


_Manifest = dict[str, list[KeptFile]]  # by role


def _home() -> Path:
    """Return the folder that ir_datasets keeps its data in; ours are in a folder of their own in it."""
    given = os.environ.get("IR_DATASETS_HOME")
    return (Path(given) if given else Path.home() / ".ir_datasets") / "rageval"


def folder_of(name: str) -> Path:
    """Return the folder of a data set; a name that would lead elsewhere is refused."""
    return _home().joinpath(*(plain(part, name) for part in name.split("/")))


# Ids and names come from manifests and command lines: none may climb out of the folder.
def plain(part: str, whole: str) -> str:
    """Return a part of a path that can be nothing but a name."""
    if not _PLAIN.fullmatch(part):
        raise InputError(
            f"{whole!r}: expected names of letters, digits, '.', '_' and '-' that begin with a letter or a"
            f" digit, found {part[:80]!r}"
        )
    return part


def manifest_of(folder: Path) -> _Manifest:
    """Return what the folder holds; empty if nothing."""
    path = folder / _MANIFEST
    try:
        return msgspec.json.decode(path.read_bytes(), type=_Manifest)
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read ({error}); remove it and fetch again") from None


def kept_paths(folder: Path, role: str) -> list[Path] | None:
    """Return the files of this role, in order; None if they are not all there, and whole."""
    kept = manifest_of(folder).get(role)
    if not kept:
        return None
    paths = [folder / plain(file.name, file.name) for file in kept]
    whole = all(
        # The size tells a file that was cut off; to take the digest of gigabytes each time would take
        # minutes.
        path.is_file() and path.stat().st_size == file.size
        for path, file in zip(paths, kept, strict=True)
    )
    return paths if whole else None


def keep(folder: Path, role: str, files: Sequence[KeptFile]) -> None:
    """Let the files of this role count from now on."""
    # Written last of all: files without a line in it do not count, whatever broke off before.
    manifest = manifest_of(folder) | {role: list(files)}
    write_small(folder / _MANIFEST, msgspec.json.format(msgspec.json.encode(manifest, order="sorted")))


def measured(path: Path) -> KeptFile:
    """Return what a file is now."""
    digest = hashlib.sha256()
    size = 0
    with path.open("rb") as stream:
        while block := stream.read(2**20):
            digest.update(block)
            size += len(block)
    return KeptFile(path.name, size, digest.hexdigest())


def write_small(path: Path, content: bytes) -> None:
    """Write a small file, whole or not at all."""
    with whole_file(path) as stream:
        stream.write(content)


def made(folder: Path) -> Path:
    """Return the folder, made if it is not there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(
            f"{folder}: cannot be made ({error.strerror}); keep data sets elsewhere: IR_DATASETS_HOME=…"
        ) from error
    return folder


@contextmanager
def locked(folder: Path, waiting: Any = None) -> Iterator[None]:
    """Only one process at a time; `waiting` is called once if another has the lock.

    The lock goes with the process that holds it, even when that is killed.
    """
    try:
        stream = (made(folder) / ".lock").open("ab")
    except OSError as error:
        raise OutputError(f"{folder}: cannot be written to: {error.strerror}") from error
    with stream:
        # First without waiting, only to be able to say that we wait.
        if not lock(stream.fileno(), wait=False):
            if waiting is not None:
                waiting()
            lock(stream.fileno(), wait=True)
        try:
            yield
        finally:
            with suppress(OSError):
                unlock(stream.fileno())
