"""The site of a bundle: pages of the leaderboard, and one that recomputes it in the reader's browser."""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import shutil
import zipfile
from base64 import b64encode
from collections.abc import Callable, Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.parse import urlsplit
from urllib.request import urlopen

from rageval.errors import InputError, OutputError, UsageError
from rageval.files.folders import refuse_others, require_folder
from rageval.files.nuggets import read_nuggets
from rageval.files.questions import read_questions
from rageval.files.scores import read_leaderboard
from rageval.files.whole import read_whole
from rageval.files.writing import make_folder, whole_file, write_lines
from rageval.pages.page import recompute_page, size_of
from rageval.text import visible
from rageval.track.bundle import Bundle, opened_bundle
from rageval.track.evaluations import record_files
from rageval.track.leaderboard import read_standings
from rageval.track.plan import DoneStages
from rageval.track.publication import ARCHIVE, LeaderboardPages
from rageval.track.submissions import Submission, read_submissions
from rageval.track.values import STANDINGS, TABLE, VALUES
from rageval.version import __version__

PAGE = "recompute.html"
_PACKAGE = "rageval.zip"
_FOLDER = "./pyodide/"
_RECORDS = "every_eval_ever"
_MODULES = ("pyodide.mjs", "pyodide.asm.mjs")  # the first one is imported by the page
_LOCK = "pyodide-lock.json"
_OTHERS = ("pyodide.asm.wasm", "python_stdlib.zip", _LOCK)
_NEEDED = "msgspec"  # numpy is not: claims are recomputed on one's own computer
_LARGEST = 200 * 2**20  # bytes of a file of the runtime
_SECONDS = 60
_NOT_PACKED = ("__pycache__", "assets", "demo", "sources")
_PACKED = (".py", ".toml", ".json", ".bib", ".txt")
_FETCH = (
    "pip download msgspec --no-deps --only-binary :all: --python-version 3.14"
    " --platform pyemscripten_2026_0_wasm32 -d {}"
)
_Say = Callable[[str], None]


def publish(path: Path, folder: Path, pyodide: str | None, say: _Say = lambda line: None) -> list[str]:
    """Write the site of a bundle.

    Parameters
    ----------
    path
        The bundle.
    folder
        Folder for the site: a new folder, or the site of a bundle.
    pyodide
        The runtime for recomputing in a reader's browser: a folder, which is copied, or a URL. None: none.
    say
        Called with remarks.

    Returns
    -------
    list of str
        The names of the files.
    """
    require_folder(folder)
    if os.path.realpath(path).startswith(os.path.realpath(folder) + os.sep):
        raise UsageError(f"{visible(str(path))}: is read from, expected another folder to write to")
    # Not asked of the path itself, which raises where a name is too long for the system.
    if not os.path.isfile(folder / PAGE):
        refuse_others(folder, (), "a new folder, or the site of a board")
    make_folder(folder)
    with opened_bundle(path) as bundle:
        size = size_of(path.stat().st_size)
        command = [
            f"pip install rageval=={__version__}",
            f"rageval board verify {ARCHIVE} \\",
            f"    --sha256 {bundle.sha256}",
        ]
        runtime, copied, origin = _runtime(pyodide, say)
        package = _package() if runtime else b""
        record = {
            "title": bundle.manifest.title,
            "command": command,
            "sha256": bundle.sha256,
            "version": __version__,
            "size": size,
            "weight": size_of(sum(runtime.get("sizes", ())) + len(package)),
        }
        runtime.pop("sizes", None)
        downloads = [
            {"href": ARCHIVE, "what": f"everything, {size}"},
            {"href": TABLE, "what": "the leaderboard, for a spreadsheet"},
            {"href": STANDINGS, "what": "the leaderboard, every digit"},
            {"href": VALUES, "what": "the value of every topic"},
        ]
        check = {"size": size, "command": command, "downloads": downloads}
        pages = _shown(bundle).pages(_submissions(bundle), check)
        if runtime:
            runtime["files"].append({"href": _PACKAGE, "integrity": _integrity(package)})
            runtime["packages"].append(_PACKAGE)
        pages[PAGE] = recompute_page(record, runtime, origin)
        for name, text in pages.items():
            write_lines(folder / name, [text])
        written = list(pages)
        content: dict[str, bytes | Path] = {ARCHIVE: path, **copied}
        content |= {name: bundle.path(name) for name in (TABLE, STANDINGS, VALUES)}
        content |= {_PACKAGE: package} if runtime else {}
        content |= {f"{_RECORDS}/{name}": data for name, data in record_files(bundle).items()}
        for name, source in content.items():
            _put(folder / name, source)
            written.append(name)
    # What an earlier bundle had, and this one has not, is removed.
    DoneStages(folder).keep("site", bundle.sha256, written)
    return written


def _put(place: Path, source: bytes | Path) -> None:
    make_folder(place.parent)
    with whole_file(place) as stream:
        if isinstance(source, bytes):
            stream.write(source)
        else:
            with source.open("rb") as content:
                shutil.copyfileobj(content, stream)


def _shown(bundle: Bundle) -> LeaderboardPages:
    manifest = bundle.manifest
    made = [("track", manifest.track), ("rageval", manifest.rageval), ("intervals", manifest.intervals)]
    made += [("rubric", said) for said in manifest.rubrics]
    made += [("judge", judge) for judge in manifest.judges]
    if manifest.labels:
        made.append(("human labels", f"chosen: {Path(manifest.labels_chosen).name or 'not said'}"))
    topics = bundle.paths.get(manifest.topics)
    nuggets = bundle.paths.get(manifest.nuggets)
    return LeaderboardPages(
        manifest.title,
        read_standings(bundle.path(STANDINGS)),
        read_leaderboard(str(bundle.path(VALUES))),
        made,
        texts={} if topics is None else {each.query_id: each.text for each in read_questions(str(topics))},
        nuggets=() if nuggets is None else read_nuggets(str(nuggets)),
        judged=[str(bundle.path(each.file)) for each in manifest.judgements],
    )


def _submissions(bundle: Bundle) -> list[Submission]:
    """Return what was handed in; of a bundle without a track the systems alone."""
    listed = bundle.paths.get("submissions.jsonl")
    if listed is not None:
        return read_submissions(listed)
    topics = len({row.query_id for row in read_leaderboard(str(bundle.path(VALUES)))} - {"all"})
    return [Submission(each.file, each.name, True, 0, 0, topics, "") for each in bundle.manifest.systems]


def _integrity(content: bytes) -> str:
    return f"sha384-{b64encode(hashlib.sha384(content).digest()).decode()}"


def _package() -> bytes:
    """Return this package as an archive, the same bytes for the same package."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, source in sorted(_parts(files("rageval"), "rageval")):
            archive.writestr(zipfile.ZipInfo(name), source.read_bytes(), zipfile.ZIP_DEFLATED)
    return out.getvalue()


def _parts(folder: Traversable, name: str) -> Iterator[tuple[str, Traversable]]:
    for each in folder.iterdir():
        inside = f"{name}/{each.name}"
        if each.is_dir():
            if each.name not in _NOT_PACKED:
                yield from _parts(each, inside)
        elif each.name.endswith(_PACKED):
            yield inside, each


def _runtime(source: str | None, say: _Say) -> tuple[dict[str, Any], dict[str, bytes | Path], str]:
    """Return what the page is to load, what is copied for it, and from which origin it loads."""
    if source is None:
        say(f"{PAGE} needs a runtime to recompute: pass one with --pyodide (npm install pyodide)")
        return {}, {}, ""
    is_address = "://" in source
    home = f"{source.rstrip('/')}/" if is_address else _FOLDER
    read = _reader(source)
    contents = {name: read(name) for name in (*_MODULES, *_OTHERS)}
    try:
        file = str(json.loads(contents[_LOCK])["packages"][_NEEDED]["file_name"])
    except (ValueError, KeyError, TypeError, RecursionError):
        raise InputError(f"{visible(source)}: {_LOCK}: expected packages with {_NEEDED}") from None
    wheel = file if is_address else _wheel(source, file)
    contents[wheel] = read(wheel)

    def told(name: str) -> dict[str, str]:
        return {"href": home + name, "integrity": _integrity(contents[name])}

    runtime: dict[str, Any] = {
        "home": home,
        "modules": [told(name) for name in _MODULES],
        "files": [told(name) for name in (*_OTHERS, wheel)],
        "packages": [home + wheel],
        "sizes": list(map(len, contents.values())),
    }
    copied: dict[str, bytes | Path] = {}
    if not is_address:
        copied = {home.removeprefix("./") + name: data for name, data in contents.items()}
    parts = urlsplit(source)
    return runtime, copied, f"{parts.scheme}://{parts.netloc}" if is_address else ""


def _wheel(folder: str, file: str) -> str:
    """Return the name of msgspec's wheel in the folder, of whatever version."""
    kind = file.partition("-")[2].partition("-")[2]  # of this Python, for this system
    found = sorted(path.name for path in Path(folder).glob(f"{_NEEDED}-*{kind}"))
    if not found:
        shown = visible(folder)
        raise InputError(
            f"{shown}: has no wheel of {_NEEDED}; fetch one into that folder: {_FETCH.format(shown)}"
        )
    return found[-1]


def _reader(source: str) -> Callable[[str], bytes]:
    """Return what reads a file of the runtime."""
    if "://" not in source:
        if not os.path.isfile(os.path.join(source, _MODULES[0])):
            raise InputError(
                f"{visible(source)}: has no {_MODULES[0]}; expected the npm package: npm install pyodide,"
                " then --pyodide node_modules/pyodide"
            )
        return lambda name: read_whole(Path(source) / name, "a part of Pyodide", _LARGEST)
    try:
        parts = urlsplit(source)
    except ValueError as error:
        raise UsageError(f"--pyodide {visible(source)}: is not a URL: {visible(str(error))}") from None
    is_here = parts.hostname in ("127.0.0.1", "localhost", "::1")
    if parts.scheme != "https" and not (parts.scheme == "http" and is_here):
        raise UsageError(
            f"--pyodide {visible(source)}: expected a folder, or a URL that begins with https://"
        )
    # It stands in the policy of a page.
    if not re.fullmatch(r"[\w.:\[\]-]+", parts.netloc):
        raise UsageError(f"--pyodide {visible(source)}: expected a URL without a user name or a key")

    def read(name: str) -> bytes:
        address = f"{source.rstrip('/')}/{name}"
        try:
            with urlopen(address, timeout=_SECONDS) as response:
                content: bytes = response.read(_LARGEST + 1)
        except (OSError, URLError, ValueError) as error:
            raise InputError(f"{visible(address)}: cannot be fetched: {visible(str(error))[:200]}") from None
        if len(content) > _LARGEST:
            raise OutputError(f"{visible(address)}: has more than {_LARGEST:,} bytes")
        return content

    return read
