"""Processes that are killed, or work on the same store: nothing is lost, and nothing is paid for twice."""

from __future__ import annotations

import os
import random
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from rageval.judges.store import Store

pytestmark = pytest.mark.slow

JUDGEMENTS, AT_A_TIME = 2000, 16
KILLS = 25 if os.environ.get("HYPOTHESIS_PROFILE") == "nightly" else 8

# Calls are counted where no crash can reach them: in a file that is appended to before the reply is made.
JOB = """
import asyncio, hashlib, os, sys
from rageval.judges.base import Request
from rageval.testing import ScriptedModel
from rageval.judges.asking import ask_all
from rageval.judges.store import Store

store, log, output, count, delay = sys.argv[1:]
calls = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

async def say(request):
    os.write(calls, request.user.encode() + b"\\n")
    await asyncio.sleep(float(delay))
    return hashlib.sha256(request.user.encode()).hexdigest()

requests = [(at, Request("Judge.", str(at), {"type": "object"})) for at in range(int(count))]
with Store(store) as kept, open(output, "wb", buffering=0) as lines:
    for number, reply in ask_all(requests, ScriptedModel(say), kept, concurrency=AT_A_TIME):
        lines.write(f"{number} {reply.text}\\n".encode())
""".replace("AT_A_TIME", str(AT_A_TIME))


class Job:
    """Processes on one store in one folder."""

    def __init__(self, folder: Path, count: int = JUDGEMENTS, delay: float = 0.002) -> None:
        folder.mkdir()
        self.store, self.log = folder / "store.sqlite", folder / "calls.log"
        self.output = folder / "output.txt"
        self.count, self.delay = count, delay

    def start(self, output: Path | None = None) -> subprocess.Popen[bytes]:
        arguments = [self.store, self.log, output or self.output, self.count, self.delay]
        return subprocess.Popen([sys.executable, "-c", JOB, *map(str, arguments)])

    def run(self) -> bytes:
        with self.start() as process:
            assert process.wait(60) == 0
        return self.output.read_bytes()

    def calls(self) -> list[int]:
        return list(map(int, self.log.read_bytes().split())) if self.log.exists() else []

    def acknowledged(self) -> set[int]:
        """What the caller has seen: whole lines only."""
        lines = self.output.read_bytes().split(b"\n")[:-1] if self.output.exists() else []
        return {int(line.split()[0]) for line in lines}

    def stored(self) -> set[int]:
        """What a crash may not take away."""
        with closing(sqlite3.connect(self.store)) as connection:
            tables = connection.execute("SELECT count(*) FROM sqlite_master WHERE name = 'replies'")
            if not tables.fetchone()[0]:
                return set()
            rows = connection.execute("SELECT json_extract(request, '$.user') FROM replies").fetchall()
        return {int(user) for (user,) in rows}

    def killed_after(self, calls: int, seconds: float) -> None:
        """Start, and kill after so many more calls or so many seconds."""
        calls += len(self.calls())
        deadline = time.monotonic() + seconds
        killed(self.start(), lambda: len(self.calls()) >= calls or time.monotonic() > deadline)


def killed(process: subprocess.Popen[bytes], until: Callable[[], bool]) -> None:
    """Kill it as soon as something is so."""
    with process:
        while not until() and process.poll() is None:
            time.sleep(0.0005)
        process.kill()


@pytest.mark.nightly
def test_kills_lose_nothing_and_ask_for_nothing_twice(tmp_path: Path) -> None:
    dice = random.Random(7)
    undisturbed = Job(tmp_path / "undisturbed", delay=0.0).run()
    job = Job(tmp_path / "killed", delay=0.015)
    stored: set[int] = set()
    for kill in range(KILLS):
        before = len(job.calls())
        if kill % 5 == 0:  # while it starts, or soon after
            job.killed_after(calls=JUDGEMENTS, seconds=dice.uniform(0, 0.25))
        else:
            job.killed_after(calls=dice.randrange(1, JUDGEMENTS // KILLS), seconds=30)
        assert not stored.intersection(job.calls()[before:]), "what was stored is not asked again"
        assert stored | job.acknowledged() <= job.stored(), "what was seen is stored"
        stored = job.stored()
    assert JUDGEMENTS / 5 < len(stored) < JUDGEMENTS, "the kills came while there was work"
    before = len(job.calls())
    assert job.run() == undisturbed
    assert not stored.intersection(job.calls()[before:])
    asked = Counter(job.calls())
    assert set(asked) == set(range(JUDGEMENTS))
    assert sum(asked.values()) - JUDGEMENTS <= KILLS * AT_A_TIME, "at most what was under way at each kill"
    with closing(sqlite3.connect(job.store)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    with Store(job.store, read_only=True) as store:
        stats = store.stats()
    assert (stats["replies"], stats["damaged"], stats["claims"]) == (JUDGEMENTS, 0, 0)


def test_two_processes_on_one_store_pay_once_for_each_question(tmp_path: Path) -> None:
    job = Job(tmp_path / "shared", count=400, delay=0.01)
    outputs = [tmp_path / f"output-{number}" for number in range(2)]
    processes = [job.start(output) for output in outputs]
    for process in processes:
        with process:
            assert process.wait(60) == 0
    assert sorted(job.calls()) == list(range(400))
    assert outputs[0].read_bytes() == outputs[1].read_bytes()
    assert outputs[0].read_bytes().count(b"\n") == 400


@pytest.mark.parametrize("alive", [True, False])
def test_who_waits_for_a_process_that_is_killed_takes_over_its_claims(tmp_path: Path, alive: bool) -> None:
    slow, quick = Job(tmp_path / "slow", count=8, delay=60), Job(tmp_path / "quick", count=8)
    quick.store = slow.store
    first = slow.start()
    while len(slow.calls()) < 8:
        time.sleep(0.005)
    if alive:  # the second one waits, and asks nobody, until the first one dies
        second = quick.start()
        time.sleep(0.6)
        assert second.poll() is None
        assert not quick.calls()
        killed(first, lambda: True)
        with second:
            assert second.wait(10) == 0
    else:
        killed(first, lambda: True)
        quick.run()
    assert sorted(quick.calls()) == list(range(8))
