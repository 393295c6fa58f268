"""Files that somebody has already, taken over after they were read."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path
from tempfile import mkdtemp

from rageval.datasets import _home
from rageval.datasets.catalogue import Benchmark, Source, Spec, found
from rageval.datasets.loading import own, reader_of
from rageval.errors import InputError, OutputError, UsageError
from rageval.files.writing import put

_READ_THROUGH = ("questions", "qrels", "nuggets", "judgements")


def import_files(
    dataset: str, paths: Sequence[str | Path], *, role: str | None = None, limits: Sequence[str] = ()
) -> dict[str, list[Path]]:
    """Copy files into the home of the data sets, where they count as those of this id.

    Each is read before it is taken. If anything is wrong, what was there before stays.

    Parameters
    ----------
    dataset
        The id.
    paths
        Files, or folders that stand for the files in them that the data set is known to have.
    role
        What the files are, if their names are not those of the data set.
    limits
        Words such as `"record=128M"`.

    Returns
    -------
    dict
        The copies by role.
    """
    benchmark, spec = found(dataset)
    by_role = _by_role(spec, [Path(path) for path in paths], role)
    folder = _home.folder_of(spec.folder)
    # Read through where they are staged: only files that can be read take the place of what was there.
    with _home.locked(folder), _beside(folder) as staged:
        kept = {
            name: [_copied(path, source, staged) for path, source in files] for name, files in by_role.items()
        }
        _read_through(
            benchmark,
            spec,
            {name: [staged / file.name for file in files] for name, files in kept.items()},
            limits,
        )
        for name, files in kept.items():
            for file in files:
                put(staged / file.name, folder / file.name)
            _home.keep(folder, name, files)
    return {name: [folder / file.name for file in files] for name, files in kept.items()}


def _by_role(
    spec: Spec, paths: Sequence[Path], role: str | None
) -> dict[str, list[tuple[Path, Source | None]]]:
    """Return which file is what, in the order in which a data set's files belong together."""
    if role is not None and role not in spec.roles:
        raise UsageError(f"--as {role}: {spec.id} has {', '.join(spec.roles)}")
    found: dict[str, list[tuple[Path, Source | None]]] = {}
    for path in paths:
        if not os.path.exists(path):
            raise InputError(f"{path}: no such file")
        if os.path.isdir(path):
            for name, files in _in_folder(spec, path, role).items():
                found.setdefault(name, []).extend(files)
            continue
        source = next((known for known in spec.files if _is_called(path, known)), None)
        name = role or (source.role if source else _only_role(spec, path))
        found.setdefault(name, []).append((path, source if source and source.role == name else None))
    for files in found.values():
        files.sort(key=lambda pair: (spec.files.index(pair[1]) if pair[1] else 0, pair[0].name))
    for name, files in found.items():
        _refuse_incomplete(spec, name, files)
    return found


def _in_folder(spec: Spec, folder: Path, role: str | None) -> dict[str, list[tuple[Path, Source | None]]]:
    found: dict[str, list[tuple[Path, Source | None]]] = {}
    for source in spec.files:
        if role in (None, source.role):
            places = [folder, folder / source.folder] if source.folder else [folder]
            files = [file for place in places if place.is_dir() for file in sorted(place.iterdir())]
            matching = [(file, source) for file in files if file.is_file() and _is_called(file, source)]
            if matching:
                found.setdefault(source.role, []).extend(matching)
    if not found:
        names = ", ".join(source.name or source.match for source in spec.files if source.is_published)
        if not names:
            roles = " or --as ".join(spec.roles)
            raise InputError(
                f"{folder}: what the files of {spec.id} are called is not known; name them, --as {roles}"
            )
        raise InputError(f"{folder}: expected {names}, found none of them")
    return found


def _is_called(path: Path, source: Source) -> bool:
    return path.name == source.name if source.name else fnmatchcase(path.name, source.match)


def _only_role(spec: Spec, path: Path) -> str:
    if len(spec.roles) == 1:
        return spec.roles[0]
    raise UsageError(f"{path}: which part of {spec.id} is it? say --as {' or --as '.join(spec.roles)}")


def _refuse_incomplete(spec: Spec, role: str, files: list[tuple[Path, Source | None]]) -> None:
    """Parts of a file that was cut make sense together only."""
    wanted = [source for source in spec.files if source.role == role]
    given = [source for _, source in files if source]
    if len(wanted) > 1 and given and len(given) < len(wanted):
        lost = ", ".join(source.name for source in wanted if source not in given)
        raise InputError(f"{spec.id}: expected {len(wanted)} files, found {len(given)}; lacking: {lost}")


def _copied(path: Path, source: Source | None, staged: Path) -> _home.KeptFile:
    name = _home.plain(path.name, str(path))
    if (staged / name).exists():
        raise UsageError(f"{path}: a second file of this name; expected different names")
    try:
        shutil.copyfile(path, staged / name)
    except OSError as error:
        raise OutputError(f"{path}: cannot be copied to {staged}: {error.strerror}") from error
    kept = _home.measured(staged / name)
    if source and source.sha256 and kept.sha256 != source.sha256:
        raise InputError(
            f"{path}: sha256 {kept.sha256}, expected {source.sha256}; the file was not taken, and what was"
            " there before is kept (a file of another form needs another name)"
        )
    return kept


def _read_through(
    benchmark: Benchmark, spec: Spec, files: dict[str, list[Path]], limits: Sequence[str]
) -> None:
    """Read all that the files hold, of documents the first: what cannot be read is not taken."""
    reader = reader_of(benchmark)
    dataset = own(benchmark, spec, lambda role: files[role], limits)
    for what in reader.read:
        if reader.role.get(what, what) not in files or what not in spec.holds:
            continue
        read = getattr(dataset, what)()
        count = (
            sum(1 for _ in read)
            if what in _READ_THROUGH
            else sum(1 for _ in zip(read, range(1), strict=False))
        )
        if not count:
            raise InputError(
                f"{spec.id}: expected {what}, found none in {files[reader.role.get(what, what)][0]}"
            )


@contextmanager
def _beside(folder: Path) -> Iterator[Path]:
    """Make a folder on the same disk, and remove it afterwards."""
    try:
        staged = Path(mkdtemp(prefix=".importing-", dir=_home.made(folder)))
    except OSError as error:
        raise OutputError(f"{folder}: cannot be written to: {error.strerror}") from error
    try:
        yield staged
    finally:
        shutil.rmtree(staged, ignore_errors=True)
