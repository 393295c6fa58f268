"""Windows and macOS, as far as they can be had here: what they lack is taken away, what they add put in."""

from __future__ import annotations

import errno
import io
import json
import ntpath
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval import __main__ as program
from rageval.building.collection import setting_of
from rageval.cli import _output, main
from rageval.datasets import home
from rageval.errors import OutputError, UsageError
from rageval.files import writing
from rageval.files.opening import is_remote
from rageval.judges import store
from rageval.judges.models import model_named
from rageval.parallel import Forked, OnExecutor, processes
from rageval.policy import from_here
from rageval.spans.sources import Sources

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


@pytest.mark.some(3)
@pytest.mark.parametrize("words", [["measures", "alpha_ndcg"], ["compare", *SCORED], ["--help"]], ids=len)
def test_a_code_page_ends_no_command(words: list[str]) -> None:
    environment = os.environ | {"PYTHONIOENCODING": "cp1252", "COLUMNS": "80"}
    process = subprocess.run([sys.executable, "-m", "rageval", *words], env=environment, capture_output=True)
    assert (process.returncode, b"Traceback" in process.stderr) == (0, False), process.stderr
    assert process.stdout.decode("cp1252").strip()


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


def test_here_processes_are_forked() -> None:
    with processes(2) as engine:
        assert isinstance(engine, Forked) == (sys.platform == "linux")


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


NAMES = st.one_of(
    st.sampled_from(
        ["CON", "nul.txt", "a", "A", "a:b", "..", "", "e\u0301", "é", "COM1", "x/y", "x\\y", "a."]
    ),
    st.text(max_size=80),
)


@settings(max_examples=40)
@given(st.lists(NAMES, unique=True, max_size=12))
def test_every_system_takes_the_names_of_files(names: list[str]) -> None:
    files = writing.file_names(names)
    assert list(files) == names
    assert len({name.casefold() for name in files.values()}) == len(names)  # a disk may know no case
    for name in files.values():
        assert name
        assert not set(name) & set('<>:"/\\|?*')
        assert name.isascii()
        assert name.isprintable()
        assert name.strip(". ") == name
        assert not ntpath.isreserved(name) if hasattr(ntpath, "isreserved") else True
        assert name.partition(".")[0].lower() not in {"con", "prn", "aux", "nul", "com1", "lpt1"}


def test_runs_that_differ_in_case_alone_are_two_files(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    rows = [{"q": "who", "a": "me", "m": model, "p": ["d"]} for model in ("Ours", "ours", "con")]
    log.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8", newline="")
    where = "question=q,answer=a,run_id=m,context_ids=p"
    words = ["import", str(log), "--map", where, "-o", str(tmp_path / "out")]
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 0, result.output
    names = [path.name for path in (tmp_path / "out").iterdir() if path.suffix == ".trec"]
    assert len({name.casefold() for name in names}) == len(rows)


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


def test_a_mac_s_name_of_a_source_is_found(tmp_path: Path) -> None:
    (tmp_path / "cafe\u0301.txt").write_text("It rained.", encoding="utf-8", newline="")
    sources = Sources(str(tmp_path))
    assert sources.text("caf\u00e9").text == sources.text("cafe\u0301").text == "It rained."
    assert "caf\u00e9.txt" in sources


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


def test_a_frozen_judge_on_a_drive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    answers = EXAMPLES / "answers"
    words = ["judge", "crag-auto", str(answers / "crag.answers.jsonl")]
    words += ["--questions", str(answers / "crag.jsonl"), "--judge", r"frozen:C:\no.jsonl"]
    asked = CliRunner().invoke(main, words)
    assert asked.exit_code == 2
    assert r"C:\no.jsonl: no such file" in asked.output
