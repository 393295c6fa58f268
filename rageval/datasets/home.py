"""The files of a dataset: they are kept in the folder of ir_datasets, and fetched if they are missing.

`files.json` in a folder lists its complete files. It is written last, and files that it does not list do not
count.
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
from rageval.files.writing import lock, make_kept_folder, opener_of, unlock, whole_file

if TYPE_CHECKING:
    from rageval.datasets.download import Transport


# Others may use what is kept, and may not change it, whatever the umask says.
_FOLDER_MODE, MODE = 0o755, 0o644
_MANIFEST = "files.json"
ACCEPTED = "licence-accepted"


_Manifest = dict[str, list[KeptFile]]  # by role


def _home() -> Path:
    """Return the folder for datasets of rageval, which is in that of ir_datasets."""
    given = os.environ.get("IR_DATASETS_HOME")
    return (Path(given) if given else Path.home() / ".ir_datasets") / "rageval"


def folder_of(name: str) -> Path:
    """Return the folder of a dataset; refuse a name that leads to another place."""
    return _home().joinpath(*(plain(part, name) for part in name.split("/")))


def manifest_of(folder: Path) -> _Manifest:
    """Return the complete files of a folder, by role."""
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
    """Return the files of this role in order; None if one is missing or incomplete."""
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
    """List the files of this role as complete."""
    # Written last: after an interruption, the files of this role do not count.
    manifest = manifest_of(folder) | {role: list(files)}
    write_small(folder / _MANIFEST, msgspec.json.format(msgspec.json.encode(manifest, order="sorted")))


def size_and_digest_of(path: Path) -> KeptFile:
    """Return the name, size and SHA-256 of a file."""
    digest = hashlib.sha256()
    size = 0
    with path.open("rb") as stream:
        while block := stream.read(2**20):
            digest.update(block)
            size += len(block)
    return KeptFile(path.name, size, digest.hexdigest())


def write_small(path: Path, content: bytes) -> None:
    """Write a small file atomically."""
    with whole_file(path, MODE) as stream:
        stream.write(content)


def make_folder(folder: Path) -> Path:
    """Create a folder if it is missing, and return it."""
    try:
        make_kept_folder(folder, _FOLDER_MODE)
    except OSError as error:
        raise OutputError(
            f"{folder}: cannot be created ({error.strerror}); keep datasets elsewhere with IR_DATASETS_HOME=…"
        ) from error
    return folder


@contextmanager
def locked(folder: Path, waiting: Any = None) -> Iterator[None]:
    """Lock a folder, so that only one process changes it; `waiting` is called once if another has the lock.

    The lock ends with the process that holds it, even if that is killed.
    """
    try:
        stream = open(make_folder(folder) / ".lock", "ab", opener=opener_of(MODE))  # noqa: SIM115
    except OSError as error:
        raise OutputError(f"{folder}: cannot be written to: {error.strerror}") from error
    with stream:
        # Tried without waiting first, to report that this process waits.
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
    """Return the files of a role; fetch missing ones, one process at a time."""
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
        # The process that had the lock may have fetched them.
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
        kept = size_and_digest_of(target)
        if kept.sha256 == file.sha256:
            return kept
    from rageval.datasets.download import download

    progress = _DownloadProgress(file.name)
    try:
        return download(file.urls, target, transport, size=file.size, sha256=file.sha256, watch=progress)
    finally:
        progress.close()


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
    """Return whether the terms were accepted on this machine."""
    return (folder_of(benchmark.name) / ACCEPTED).is_file()


def place_of(spec: Spec) -> Path:
    """Return the folder for the files of a dataset."""
    return folder_of(spec.folder)


def size_on_disk(spec: Spec) -> int:
    """Return how many bytes of a dataset are on this machine."""
    kept = manifest_of(place_of(spec))
    return sum(file.size for files in kept.values() for file in files)


def is_on_disk(dataset: str) -> bool:
    """Return whether all files of the dataset are on this machine."""
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


_TERMINAL_SECONDS, _LOG_SECONDS = 0.2, 30.0  # between two lines of progress


class _DownloadProgress:
    """Print the progress of a download to standard error, at most once in an interval."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._on_terminal = sys.stderr is not None and sys.stderr.isatty()
        self._last = time.monotonic()
        self._width = 0

    def __call__(self, done: int, total: int | None) -> None:
        """Print the progress, unless it was printed a moment ago."""
        now = time.monotonic()
        if sys.stderr is None or now - self._last < (
            _TERMINAL_SECONDS if self._on_terminal else _LOG_SECONDS
        ):
            return
        self._last = now
        text = f"rageval: {self.name}: {amount(done)}" + (f" of {amount(total)}" if total else "")
        # On a terminal the line is overwritten; a log gets a new line at long intervals.
        if self._on_terminal:
            print(f"\r{text:<{self._width}}", end="", file=sys.stderr, flush=True)
            self._width = len(text)
        else:
            print(text, file=sys.stderr, flush=True)

    def close(self) -> None:
        """Clear the line on the terminal."""
        if self._width and sys.stderr is not None:
            print("\r" + " " * self._width, end="\r", file=sys.stderr, flush=True)


def amount(size: int) -> str:
    """Return a number of bytes with a unit.

    >>> amount(739_384_484)
    '739.4 MB'
    """
    value, unit = float(size), "B"
    for larger in ("kB", "MB", "GB", "TB"):
        if value < 1000:
            break
        value, unit = value / 1000, larger
    return f"{size} B" if unit == "B" else f"{value:.1f} {unit}"
