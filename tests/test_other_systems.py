"""Windows and macOS, as far as they can be had here: what they lack is taken away, what they add put in."""

from __future__ import annotations

import errno
import io
import ntpath
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner

from rageval import __main__ as program
from rageval.building.collection import setting_of
from rageval.cli import _output, main
from rageval.datasets import home
from rageval.errors import OutputError, UsageError
from rageval.files import writing
from rageval.files.opening import is_remote
from rageval.judges import store
from rageval.judges.models import model_named
from rageval.parallel import OnExecutor, processes
from rageval.policy import from_here

EXAMPLES = Path(__file__).parents[1] / "examples" / "data"
RUNS = [str(EXAMPLES / "run.trec"), str(EXAMPLES / "baseline.trec")]
SCORED = [*RUNS, str(EXAMPLES / "qrels.nugget"), "coverage@20"]


@pytest.fixture(name="windows")
def windows_(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "win32")


@pytest.fixture(name="mac")
def mac_(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")


def printed(monkeypatch: pytest.MonkeyPatch, text: str) -> bytes:
    """What the program prints where Windows' code page and line ends are."""
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="cp1252", newline="\r\n"))
    program.set_output_encoding()
    print(text, flush=True)
    return raw.getvalue()


def test_what_is_printed_is_the_same_bytes_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTHONIOENCODING", raising=False)
    assert printed(monkeypatch, "α ≤ 1 → β") == "α ≤ 1 → β\n".encode()
    monkeypatch.setenv("PYTHONIOENCODING", "cp1252")  # somebody wants it so
    assert printed(monkeypatch, "α ≤ é") == b"\\u03b1 \\u2264 \xe9\n"
    monkeypatch.setattr(sys, "stdout", None)  # closed by whoever started it
    program.set_output_encoding()


class Broken(io.StringIO):
    def write(self, text: str) -> int:
        raise OSError(errno.EINVAL, "Invalid argument")  # what Windows says of a pipe nobody reads


def test_a_reader_that_has_seen_enough_is_no_error_on_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_output, "_mute", lambda: None)
    monkeypatch.setattr(sys, "stdout", Broken())
    with pytest.raises(OutputError, match="Invalid argument"):  # here it means something else
        _output.print_lines(["a"])
    monkeypatch.setattr(sys, "platform", "win32")
    _output.print_lines(["a"])


def test_a_new_file_that_somebody_looks_into_is_moved_when_they_are_done(
    windows: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    waits: list[float] = []
    monkeypatch.setattr(writing.time, "sleep", waits.append)
    move, looked_into = Path.replace, [2]

    def replace(part: Path, target: Path) -> Path:
        looked_into[0] -= 1
        if looked_into[0] >= 0:
            raise PermissionError(errno.EACCES, "Access is denied")
        return move(part, target)

    monkeypatch.setattr(Path, "replace", replace)
    writing.write_lines(tmp_path / "out", ["a"])
    assert ((tmp_path / "out").read_bytes(), len(waits)) == (b"a\n", 2)
    looked_into[0] = 1000
    with pytest.raises(OutputError, match="out: cannot be written: Access is denied"):
        writing.write_lines(tmp_path / "out", ["b"])
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("out", b"a\n")]


class Msvcrt:
    """Locks of bytes, as Windows has them: of a place in a file, refused while another handle has it."""

    LK_NBLCK, LK_UNLCK = 2, 0

    def __init__(self) -> None:
        self.locked_ranges: dict[tuple[int, int], int] = {}

    def locking(self, descriptor: int, mode: int, count: int) -> None:
        place = os.fstat(descriptor).st_ino, os.lseek(descriptor, 0, os.SEEK_CUR)
        if mode == self.LK_UNLCK:
            assert self.locked_ranges.pop(place) == descriptor
        elif self.locked_ranges.setdefault(place, descriptor) != descriptor:
            raise OSError(errno.EACCES, "Permission denied")


def test_one_process_at_a_time_on_windows_too(
    windows: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    locks, locked = Msvcrt(), []
    monkeypatch.setitem(sys.modules, "msvcrt", locks)
    monkeypatch.setitem(sys.modules, "fcntl", None)
    first = home.locked(tmp_path)
    first.__enter__()
    tries = iter([lambda: None, lambda: first.__exit__(None, None, None)])
    monkeypatch.setattr(writing.time, "sleep", lambda seconds: next(tries)())
    with home.locked(tmp_path, lambda: locked.append("waiting")):
        assert len(locks.locked_ranges) == 1
    assert (locked, locks.locked_ranges, list(tries)) == (["waiting"], {}, [])


@pytest.mark.slow
def test_jobs_are_done_where_nothing_can_be_forked(monkeypatch: pytest.MonkeyPatch) -> None:
    alone = CliRunner().invoke(main, SCORED)
    monkeypatch.setattr("multiprocessing.get_all_start_methods", lambda: ["spawn"])
    monkeypatch.delattr("signal.SIGHUP")
    monkeypatch.delattr("signal.pthread_sigmask")
    monkeypatch.delattr("os.fork")
    together = CliRunner().invoke(main, [*SCORED, "--jobs", "2"])
    assert (together.exit_code, together.output) == (0, alone.output)


def test_a_mac_forks_nothing(mac: None) -> None:
    with processes(2) as engine:
        assert isinstance(engine, OnExecutor)
        assert engine.width == 2


@pytest.mark.parametrize(
    ("place", "far"),
    [
        (r"\\server\share\judged.sqlite", True),
        (r"\\?\UNC\server\share\judged.sqlite", True),
        (r"C:\Users\x\judged.sqlite", False),
        (r"\\?\C:\Users\x\judged.sqlite", False),
        (r"\\.\C:\x", False),
    ],
)
def test_a_share_is_known_on_windows(
    windows: None, monkeypatch: pytest.MonkeyPatch, place: str, far: bool
) -> None:
    monkeypatch.setattr(os.path, "realpath", lambda path: place)  # Windows resolves the letter of a drive
    assert store.on_network("Z:judged.sqlite") is far


def test_a_share_is_known_on_a_mac(mac: None, monkeypatch: pytest.MonkeyPatch) -> None:
    mounted = (
        b"/dev/disk3s1s1 on / (apfs, sealed, local, read-only, journaled)\n"
        b"//me@nas._smb._tcp.local/our%20data on /Volumes/our data (smbfs, nodev, nosuid, mounted by me)\n"
        b"nas:/export on /Volumes/export (nfs)\n"
    )
    monkeypatch.setattr(subprocess, "run", lambda *words, **options: SimpleNamespace(stdout=mounted))
    monkeypatch.setattr(os.path, "realpath", lambda path: path)
    assert store.on_network("/Volumes/our data/judged.sqlite")
    assert store.on_network("/Volumes/export/a/judged.sqlite")
    assert not store.on_network("/Users/me/judged.sqlite")

    def lacking(*words: Any, **options: Any) -> Any:
        raise FileNotFoundError

    monkeypatch.setattr(subprocess, "run", lacking)
    assert not store.on_network("/Volumes/export/judged.sqlite")


def test_a_folder_that_windows_says_is_not_permitted_is_called_a_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from rageval.files import opening

    def denied(*words: Any, **options: Any) -> Any:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(opening, "open", denied, raising=False)
    result = CliRunner().invoke(main, [str(tmp_path), *SCORED[1:]])
    assert result.exit_code == 2
    assert "is a directory; expected a file" in result.output + result.stderr


def test_paths_of_windows_are_paths(monkeypatch: pytest.MonkeyPatch) -> None:
    assert setting_of(r"C:\runs\a=b.trec") == ("question", r"C:\runs\a=b.trec")
    assert setting_of(r"answer=C:\runs\bm25.trec") == ("answer", r"C:\runs\bm25.trec")
    assert not is_remote(r"C:\runs\bm25.trec")
    assert not is_remote("C://runs/bm25.trec")
    with pytest.raises(UsageError, match="unknown provider"):
        model_named(r"C:\judged.jsonl")
    monkeypatch.setattr(os.path, "relpath", lambda path: ntpath.relpath(path, r"D:\here"))
    assert from_here(r"D:\here\policy\baseline") == r"policy\baseline"
    assert from_here(r"C:\there\baseline") == r"C:\there\baseline"  # no path leads from a drive to another
