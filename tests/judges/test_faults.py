"""A fault at every step: the n-th thing that a job does to its files or the network fails, or ends it.

Afterwards nothing that was acknowledged is lost, every output is whole or as it was, the same command ends
right, and no more was paid than the items and the calls that were under way. Steps are counted below
Python, at the C library, so that whatever writes is found: SQLite's pages and journals, too.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest

from fair_judge import fair
from llm_server import LlmServer
from rageval.judges.base import Reply, Request
from rageval.judges.store import Store

pytestmark = pytest.mark.slow

HERE = Path(__file__).parents[1] / "faults"
ROOT = Path(__file__).parents[2]
FULL, BROKEN, KILLED, TORN = range(4)  # as in the shim
MODES = {"full": FULL, "broken": BROKEN, "killed": KILLED, "torn": TORN}
DOCUMENTED = {0, 2, 3}
IN_FLIGHT = 1
ITEMS = 4
OLD = b"of an earlier run\n"
JUDGE = (
    *(
        *("judge", "crag-auto", "answers", "--questions", "gold", "--judge", "openai:m", "--canaries", "0"),
        "--quiet",
    ),
    *("--concurrency", str(IN_FLIGHT), "-o", "output"),
)
JOBS: dict[str, tuple[str, ...]] = {
    "judge": JUDGE,
    "batch": (*JUDGE, "--batch", "--poll-every", "0.01"),
    "export": ("store", "export", "--store", "filled.sqlite", "-o", "output"),
    "merge": ("store", "merge", "filled.sqlite", "-o", "all.sqlite"),
    "import": ("store", "import", "replies", "--store", "all.sqlite"),
    "report": ("report", "run", "qrels", "-m", "recall@5", "-o", "output"),
    "score": ("run", "qrels", "-m", "recall@5", "--values", "output.parquet"),
    "fuse": ("collection", "fuse", "run", "run", "-o", "output"),
}
ASKING = {"judge", "batch"}
PAGES = {
    "docs/promises.md": r"more than ([\d,]+) faults and kills",
    "CONTRIBUTING.md": r"more than ([\d,]+): the disk",
}
SAMPLE = 2  # steps of each job that fail in a quick run, in each way; others for each way


@dataclass
class Zygote:
    """The process that forks a child for each run."""

    process: subprocess.Popen[str]
    server: LlmServer

    def run(self, folder: Path, words: tuple[str, ...], step: int = 0, mode: int = BROKEN) -> dict[str, int]:
        environment = {
            "RAGEVAL_STORE": str(folder / "store.sqlite"),
            "OPENAI_API_KEY": "sk-" + "0" * 30,
            "OPENAI_BASE_URL": self.server.openai,
            "SOURCE_DATE_EPOCH": "0",
        }
        job = {"folder": str(folder), "environment": environment, "words": words, "step": step, "mode": mode}
        stdin, stdout = self.process.stdin, self.process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(json.dumps(job) + "\n")
        stdin.flush()
        output: dict[str, int] = json.loads(stdout.readline())
        return output


@pytest.fixture(scope="module", name="zygote")
def _zygote(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Zygote]:
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None or not sys.platform.startswith("linux"):
        pytest.skip("faults are injected with a C compiler, on Linux")
    shim = tmp_path_factory.mktemp("shim") / "shim.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", shim, HERE / "shim.c", "-ldl"], check=True)
    environment = os.environ | {"LD_PRELOAD": str(shim), "PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"}
    words = [sys.executable, str(HERE / "zygote.py")]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with LlmServer(fair) as server, subprocess.Popen(words, env=environment, **pipes) as process:
        yield Zygote(process, server)
        assert process.stdin is not None
        process.stdin.close()


@cache
def template() -> Path:
    """A folder that is filled once, because stores say when their replies were made."""
    place = Path(mkdtemp()) / "job"
    fill_anew(place)
    return place


def fill(folder: Path) -> None:
    """The files of all jobs, with an output of an earlier run."""
    shutil.copytree(template(), folder)


def fill_anew(folder: Path) -> None:
    folder.mkdir()
    answers = [
        {"query_id": f"q{number}", "run_id": "r", "answer": f"It is Paris, I think: {number}."}
        for number in range(ITEMS)
    ]
    gold = [
        {"query_id": f"q{number}", "question": f"Where is {number}?", "answer": "Lyon"}
        for number in range(ITEMS)
    ]
    for name, records in (("answers", answers), ("gold", gold)):
        (folder / name).write_text("".join(json.dumps(record) + "\n" for record in records))
    (folder / "run").write_text("".join(f"q{number} Q0 d{number} 1 {9 - number} r\n" for number in range(4)))
    (folder / "qrels").write_text("".join(f"q{number} n d{number} 1\n" for number in range(4)))
    for name in ("filled.sqlite", "all.sqlite"):
        with Store(folder / name) as store:
            for number in range(3 if name == "filled.sqlite" else 1):
                asked = Request("Judge.", f"this {number}", {"type": "object"})
                store.put(asked.key("m", "here"), asked, Reply("ok", '{"a": 1}'), "m", "here")
            if name == "filled.sqlite":
                (folder / "replies").write_text("\n".join(store.export()) + "\n")
    for name in ("output", "output.parquet"):
        (folder / name).write_bytes(OLD)


def outputs(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in ("output", "output.parquet")}


def replies(path: Path) -> set[tuple[str, str]]:
    """What a store holds, read past everything of ours."""
    if not path.exists():
        return set()
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'replies'").fetchone():
            return set()
        return set(connection.execute("SELECT key, reply FROM replies"))


def all_replies(folder: Path) -> set[tuple[str, str, str]]:
    names = ("store.sqlite", "filled.sqlite", "all.sqlite")
    return {(name, *row) for name in names for row in replies(folder / name)}


def leavings(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if path.name.endswith(".part")]


def paid(server: LlmServer) -> int:
    """What a provider would send a bill for: questions answered, live or in batches."""
    live = sum(asked.path.endswith("/chat/completions") for asked in server.requests)
    return live + len(server.batches.asked)


@dataclass
class Undisturbed:
    """A job without faults: what it gives, and how many steps it takes."""

    points: int
    outputs: dict[str, bytes]
    replies: set[tuple[str, str, str]]


@pytest.fixture(scope="module", name="undisturbed")
def _undisturbed(zygote: Zygote, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Undisturbed]:
    runs = {}
    for name, words in JOBS.items():
        folder = tmp_path_factory.mktemp("undisturbed") / "job"
        fill(folder)
        ended = zygote.run(folder, words)
        assert ended["code"] == 0, folder.with_suffix(".err").read_text()
        runs[name] = Undisturbed(ended["points"], outputs(folder), all_replies(folder))
    return runs


def disturbed(zygote: Zygote, folder: Path, name: str, step: int, mode: int, expected: Undisturbed) -> bool:
    """One fault, and all that must hold after it; whether there was one."""
    fill(folder)
    words = JOBS[name]
    place = f"{name}, step {step}"
    before, spent = all_replies(folder), paid(zygote.server)
    ended = zygote.run(folder, words, step, mode)
    stderr = folder.with_suffix(".err").read_text()
    assert "Traceback" not in stderr, f"{place}: {stderr}"
    kept, written = all_replies(folder), outputs(folder)
    assert before <= kept, f"{place}: what was stored is lost"
    for file, content in written.items():
        assert content in (OLD, expected.outputs[file]), f"{place}: {file} is torn"
    if ended["code"] >= 0:
        assert ended["code"] in DOCUMENTED, f"{place}: {ended}"
        assert not leavings(folder), f"{place}: something is left"
        assert ended["code"] or written == expected.outputs, f"{place}: ended well without a result"
        assert not ended["code"] or stderr.startswith("rageval: "), f"{place}: {stderr!r}"
    repeat = zygote.run(folder, words)
    stderr = folder.with_suffix(".err").read_text()
    assert repeat["code"] == 0, f"{place}, again: {stderr}"
    assert outputs(folder) == expected.outputs, f"{place}, again"
    replies = all_replies(folder)
    assert kept <= replies
    assert {row[:2] for row in replies} == {row[:2] for row in expected.replies}, f"{place}, again"
    if name in ASKING:
        assert paid(zygote.server) - spent <= ITEMS + (0 if name == "batch" else IN_FLIGHT), place
    shutil.rmtree(folder)
    return ended["code"] != 0


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", JOBS)
def test_a_fault_at_some_steps(
    zygote: Zygote, undisturbed: dict[str, Undisturbed], tmp_path: Path, name: str, mode: str
) -> None:
    expected = undisturbed[name]
    assert expected.points > SAMPLE, "the shim sees what the job does"
    every = expected.points // SAMPLE
    chosen = range(1 + MODES[mode] * every // len(MODES), expected.points + 1, every)
    faults = [disturbed(zygote, tmp_path / "job", name, step, MODES[mode], expected) for step in chosen]
    assert any(faults), "some fault was felt"


@pytest.mark.nightly
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", JOBS)
def test_a_fault_at_every_step(
    zygote: Zygote, undisturbed: dict[str, Undisturbed], tmp_path: Path, name: str, mode: str
) -> None:
    expected = undisturbed[name]
    steps = range(1, expected.points + 1)
    faults = [disturbed(zygote, tmp_path / "job", name, step, MODES[mode], expected) for step in steps]
    assert any(faults), "some fault was felt"


@pytest.mark.nightly
def test_the_readme_says_how_many_steps_there_are(undisturbed: dict[str, Undisturbed]) -> None:
    """About: a step more or less is nothing to correct a page for."""
    number = len(MODES) * sum(expected.points for expected in undisturbed.values())
    pages = ((Path(__file__).parents[2] / name).read_text(encoding="utf-8") for name in PAGES)
    for page, pattern in zip(pages, PAGES.values(), strict=True):
        (stated,) = (int(digits.replace(",", "")) for digits in re.findall(pattern, page))
        assert stated <= number < 1.25 * stated
