"""The files of a dataset: kept under the home of ir_datasets, complete or not there at all, or else fetched.

What a folder holds is said by its `files.json`, written last; a file that it does not name does not count.
"""

from __future__ import annotations

import hashlib
import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from rageval.datasets.catalogue import Benchmark, KeptFile, Source, Spec, find, find_listed, plain
from rageval.errors import InputError, OutputError, Place, UsageError
from rageval.files.writing import lock, unlock, whole_file

if TYPE_CHECKING:
    from rageval.datasets.download import Transport


_MANIFEST = "files.json"
ACCEPTED = "licence-accepted"


_Manifest = dict[str, list[KeptFile]]  # by role


def _home() -> Path:
    """Return the folder that ir_datasets keeps its data in; ours are in a folder of their own in it."""
    given = os.environ.get("IR_DATASETS_HOME")
    return (Path(given) if given else Path.home() / ".ir_datasets") / "rageval"


def folder_of(name: str) -> Path:
    """Return the folder of a dataset; a name that would lead elsewhere is refused."""
    return _home().joinpath(*(plain(part, name) for part in name.split("/")))


def manifest_of(folder: Path) -> _Manifest:
    """Return what the folder holds; empty if nothing."""
    path = folder / _MANIFEST
    try:
        return msgspec.json.decode(path.read_bytes(), type=_Manifest)
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise InputError(
            at=Place(str(path)), problem=f"cannot be read ({error})", remedy="remove it and fetch again"
        ) from None


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


def make_folder(folder: Path) -> Path:
    """Return the folder, made if it is not there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(
            f"{folder}: cannot be created ({error.strerror}); keep datasets elsewhere with IR_DATASETS_HOME=…"
        ) from error
    return folder


@contextmanager
def locked(folder: Path, waiting: Any = None) -> Iterator[None]:
    """Only one process at a time; `waiting` is called once if another has the lock.

    The lock goes with the process that holds it, even when that is killed.
    """
    try:
        stream = (make_folder(folder) / ".lock").open("ab")
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


def fetch(
    dataset: str,
    roles: Sequence[str] | None = None,
    *,
    accept_license: bool = False,
    again: bool = False,
    allow_http: bool = False,
) -> None:
    """Download the missing files of a dataset.

    Parameters
    ----------
    dataset
        Its id.
    roles
        Download only files with these roles, such as `queries` or `qrels`.
    accept_license
        Accept the terms. A dataset with terms is fetched only after they were accepted once.
    again
        Download existing files again.
    allow_http
        Allow unencrypted addresses.
    """
    benchmark, spec = find_listed(dataset)
    for role in roles if roles is not None else spec.roles:
        files_of(benchmark, spec, role, accept_license=accept_license, again=again, allow_http=allow_http)


def files_of(
    benchmark: Benchmark,
    spec: Spec,
    role: str,
    *,
    accept_license: bool = False,
    again: bool = False,
    allow_http: bool = False,
) -> list[Path]:
    """Return the files of a role, and fetch what is not there: one process does so, others wait for it."""
    folder = folder_of(spec.folder)
    paths = kept_paths(folder, role)
    if paths is not None and not again:
        return paths
    sources = [source for source in spec.files if source.role == role]
    if not sources:
        raise InputError(
            at=Place(spec.id),
            problem=f"its {role} are not published",
            expected=f"one of {', '.join(spec.roles)}",
        )
    if not all(source.is_published for source in sources):
        raise InputError(
            at=Place(spec.id),
            problem=f"no address is known for its {role}",
            remedy=f"get them from its publishers ({benchmark.homepage}) and run rageval datasets"
            f" import {spec.id} PATH --as {role}",
        )
    _require_acceptance(benchmark, spec, accept_license)
    with locked(folder, lambda: _say(f"{spec.id}: waiting for another process that fetches it")):
        # Whoever had the lock may have fetched it meanwhile.
        paths = kept_paths(folder, role)
        if paths is None or again:
            from rageval.datasets.download import (
                Transport,
                shards,  # and what speaks HTTP: only here is it needed
            )

            transport = Transport(allow_http=True) if allow_http else Transport()
            try:
                files = [
                    file
                    for source in sources
                    for file in (shards(source, transport) if source.repo else [source])
                ]
                kept = [_fetch_file(file, folder, transport, again=again) for file in files]
            except InputError as error:
                raise InputError.joined([*error.problems, _not_fetched_error(spec, role)]) from None
            keep(folder, role, kept)
            paths = [folder / file.name for file in kept]
    return paths


def _fetch_file(file: Source, folder: Path, transport: Transport, *, again: bool) -> KeptFile:
    """Download a file, unless an interrupted fetch left it complete; with `again`, always."""
    target = folder / plain(file.name, file.name)
    # The size is compared first, as it costs nothing.
    if not again and file.sha256 and target.is_file() and target.stat().st_size == file.size:
        kept = measured(target)
        if kept.sha256 == file.sha256:
            return kept
    from rageval.datasets.download import download

    watch = _DownloadProgress(file.name)
    try:
        return download(file.urls, target, transport, size=file.size, sha256=file.sha256, watch=watch)
    finally:
        watch.close()


def _require_acceptance(benchmark: Benchmark, spec: Spec, accepted_now: bool) -> None:
    if not benchmark.terms or is_accepted(benchmark):
        return
    if not accepted_now:
        raise UsageError(
            f"{spec.id}: has terms that must be accepted before it is fetched:\n{benchmark.terms}\n"
            f"To accept them: rageval datasets fetch {spec.id} --accept-license"
        )
    folder = make_folder(folder_of(benchmark.name))
    write_small(folder / ACCEPTED, benchmark.terms.strip().encode() + b"\n")


def is_accepted(benchmark: Benchmark) -> bool:
    """Tell whether the terms were accepted on this machine."""
    return (folder_of(benchmark.name) / ACCEPTED).is_file()


def place_of(spec: Spec) -> Path:
    """Return the folder that the files of a dataset are in, or would be."""
    return folder_of(spec.folder)


def size_on_disk(spec: Spec) -> int:
    """Return how many bytes of a dataset are here."""
    kept = manifest_of(place_of(spec))
    return sum(file.size for files in kept.values() for file in files)


def is_on_disk(dataset: str) -> bool:
    """Tell whether all files of the dataset are there."""
    pair = find(dataset)
    if pair is None:
        return False
    folder = folder_of(pair[1].folder)
    return all(kept_paths(folder, role) is not None for role in pair[1].roles)


def _not_fetched_error(spec: Spec, role: str) -> InputError:
    names = [source.name or f"{source.folder}/{source.match}" for source in spec.files if source.role == role]
    return InputError(
        f"its {role} could not be fetched",
        at=Place(spec.id),
        remedy=f"take {', '.join(names)} from another machine and run rageval datasets import {spec.id} PATH",
    )


def _say(message: str) -> None:
    if sys.stderr is not None:
        print(f"rageval: {message}", file=sys.stderr, flush=True)


_OFTEN, _SELDOM = 0.2, 30.0


class _DownloadProgress:
    """Told of every block that arrives; says something on standard error when it is time to."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._on_terminal = sys.stderr is not None and sys.stderr.isatty()
        self._last = time.monotonic()
        self._width = 0

    def __call__(self, done: int, total: int | None) -> None:
        """Note how far the download is, and say so when it is time to."""
        now = time.monotonic()
        if sys.stderr is None or now - self._last < (_OFTEN if self._on_terminal else _SELDOM):
            return
        self._last = now
        text = f"rageval: {self.name}: {amount(done)}" + (f" of {amount(total)}" if total else "")
        # A line of a terminal is written over; a log gets one now and then.
        if self._on_terminal:
            print(f"\r{text:<{self._width}}", end="", file=sys.stderr, flush=True)
            self._width = len(text)
        else:
            print(text, file=sys.stderr, flush=True)

    def close(self) -> None:
        """Leave the terminal as it was."""
        if self._width and sys.stderr is not None:
            print("\r" + " " * self._width, end="\r", file=sys.stderr, flush=True)


def amount(size: int) -> str:
    """Bytes for people.

    >>> amount(739_384_484)
    '739.4 MB'
    """
    value, unit = float(size), "B"
    for larger in ("kB", "MB", "GB", "TB"):
        if value < 1000:
            break
        value, unit = value / 1000, larger
    return f"{size} B" if unit == "B" else f"{value:.1f} {unit}"
