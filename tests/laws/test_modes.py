"""On a machine that others use: nothing kept is theirs to write, nothing for a while theirs to read.

Every command is run with a umask that takes nothing away. Stores, caches and locks may then not be writable
for others, stores not even readable, and what lies in the folder of temporary files only for its owner. No
port is open to other computers. Files that the user names are as the umask says.
"""

from __future__ import annotations

import ast
import os
import stat
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import rageval
from apart import ended, of_line
from datasets_samples import put_freshstack
from datasets_server import serving
from rageval.datasets.download import _PartialFile
from rageval.datasets.home import locked, make_folder, write_small
from rageval.judges.base import Reply, Request
from rageval.judges.store import Store
from sources import nodes
from test_odd_words import LINES, _odd  # noqa: F401
from test_outputs import _files, _server  # noqa: F401

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="only POSIX has these modes")
SOURCE = Path(rageval.__file__).parent
OTHERS_READ, OTHERS_WRITE = 0o077, 0o022
NOT_HERE = {"label page serve", "datasets fetch", "demo", "init"}  # wait, download, or write where they are


@pytest.fixture(name="lax", autouse=True)
def _lax() -> Any:
    before = os.umask(0)
    yield
    os.umask(before)


def watched(words: list[str], temporary: str, faults: Path) -> int:
    """Run a line, and write down what is made in the folder of temporary files that others may read."""
    opened = os.open
    faults_seen: list[str] = []

    def watching(path: Any, flags: int, mode: int = 0o777, **more: Any) -> int:
        if flags & os.O_CREAT and os.path.dirname(os.fsdecode(path)) == temporary and mode & OTHERS_READ:
            faults_seen.append(f"{path} with {mode:o}")
        return opened(path, flags, mode, **more)

    def hear(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "os.mkdir" and os.path.dirname(os.fsdecode(arguments[0])) == temporary:
            if arguments[1] & OTHERS_READ:
                faults_seen.append(f"{arguments[0]} with {arguments[1]:o}")
        elif event == "open" and isinstance(arguments[0], str | bytes) and isinstance(arguments[1], str):
            in_it = os.path.dirname(os.fsdecode(arguments[0])) == temporary
            if in_it and set(arguments[1]) & set("wxa") and not os.path.exists(arguments[0]):
                faults_seen.append(f"{arguments[0]} by open")
        elif event == "socket.bind" and arguments[1][0] not in ("127.0.0.1", "::1"):
            faults_seen.append(f"port at {arguments[1]}")

    os.open = watching
    sys.addaudithook(hear)
    try:
        return of_line(words)
    finally:
        faults.write_text("\n".join(faults_seen))


def open_to_others(folder: Path, forbidden: int) -> list[str]:
    """Everything below a folder, and the folder, that has one of these rights."""
    every = [folder, *folder.rglob("*")] if folder.exists() else []
    return [
        f"{path} {stat.S_IMODE(path.lstat().st_mode):o}"
        for path in every
        if not path.is_symlink() and path.lstat().st_mode & forbidden
    ]


@pytest.mark.slow
@pytest.mark.some(4)
@pytest.mark.parametrize("name", [name for name in LINES if name not in NOT_HERE])
def test_nothing_kept_is_for_others(
    name: str, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    places = {key: outside / key for key in ("TMPDIR", "XDG_CACHE_HOME", "IR_DATASETS_HOME", "HOME")}
    for key, path in places.items():
        monkeypatch.setenv(key, str(path))
    places["TMPDIR"].mkdir(mode=0o700)
    monkeypatch.setattr("tempfile.tempdir", str(places["TMPDIR"]))
    monkeypatch.setenv("RAGEVAL_STORE", str(outside / "new/folders/store.sqlite"))
    faults = outside / "faults"
    words = [word for word in LINES[name] if word != "--dry-run"]
    done = ended(partial(watched, words, str(places["TMPDIR"]), faults), outside / "log")
    assert done.code in range(6), done.output
    assert faults.read_text() == ""
    assert open_to_others(outside / "new", OTHERS_READ) == []
    for key in ("XDG_CACHE_HOME", "IR_DATASETS_HOME", "HOME"):
        assert open_to_others(places[key], OTHERS_WRITE) == []


def test_a_store_in_new_folders_is_for_its_owner(tmp_path: Path) -> None:
    with Store(tmp_path / "new/folders/store.sqlite") as store:
        asked = Request("Judge.", "this", {"type": "object"})
        store.put(asked.key("m", "here"), asked, Reply("ok", "{}"), "m", "here")
        assert open_to_others(tmp_path / "new", OTHERS_READ) == []
    assert open_to_others(tmp_path / "new", OTHERS_READ) == []


def test_what_is_kept_of_datasets_is_not_for_others_to_write(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "home/rageval/set")
    write_small(folder / "files.json", b"{}")
    with locked(folder), _PartialFile(folder / "part"):
        assert len(list(folder.iterdir())) == 3
        assert open_to_others(tmp_path / "home", OTHERS_WRITE) == []


@pytest.mark.slow
def test_what_is_fetched_is_not_for_others_to_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyarrow")
    monkeypatch.setenv("IR_DATASETS_HOME", str(tmp_path / "new/home"))
    with serving() as server:
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        put_freshstack(server)
        assert of_line(["datasets", "fetch", "freshstack/langchain/oct-2024", "--allow-http"]) == 0
    assert len(open_to_others(tmp_path / "new", 0o777)) > 5
    assert open_to_others(tmp_path / "new", OTHERS_WRITE) == []


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644])
def test_what_replaces_a_private_file_is_private_from_the_beginning(tmp_path: Path, mode: int) -> None:
    from rageval.files.writing import whole_file

    path = tmp_path / "file"
    path.write_text("before")
    path.chmod(mode)
    opened: list[int] = []
    make: Callable[..., int] = os.open

    def watching(name: Any, flags: int, asked: int = 0o777, **more: Any) -> int:
        if flags & os.O_CREAT:
            opened.append(asked)
        return make(name, flags, asked, **more)

    os.open = watching  # type: ignore[assignment]
    try:
        with whole_file(path) as stream:
            stream.write(b"after")
    finally:
        os.open = make
    assert opened == [0o600]
    assert stat.S_IMODE(path.stat().st_mode) == mode


@pytest.mark.slow
def test_only_these_modules_make_files_by_another_way() -> None:
    """A module that makes temporary files, folders or ports is known here, and looked at above."""
    writers = set()
    names = {"mkstemp", "NamedTemporaryFile", "mktemp", "ThreadingHTTPServer", "HTTPServer", "mkdir"}
    for path in SOURCE.rglob("*.py"):
        for node in nodes(path):
            called = node.func if isinstance(node, ast.Call) else None
            name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
            if name in names:
                writers.add((path.relative_to(SOURCE).as_posix(), name))
    assert writers == {
        ("files/writing.py", "mkdir"),
        ("pytest_gates.py", "mkdir"),  # pytest's own cache
        ("track/bundle.py", "mkdir"),  # within a temporary folder
    }
