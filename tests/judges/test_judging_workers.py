"""What runs on the workers of a cluster and what stands for them here, without a cluster."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from rageval.judges import _cluster
from rageval.judges._cluster import Asker, Crew, WantedModel, Worker
from rageval.judges.base import OK, Fatal, Lost, Reply, Request, Transient, Usage
from rageval.testing import ScriptedModel
from rageval.version import __version__

KEY = "sk-of-the-workers-0123456789abcdef0123456789"


def asking(monkeypatch: pytest.MonkeyPatch, say: Callable[[Request], Any]) -> Asker:
    monkeypatch.setattr(_cluster, "model_named", lambda spec: ScriptedModel(say, spec))
    return Asker(WantedModel("scripted", "scripted", ""))


REQUEST = Request("Judge.", "Is it so?", {})


def test_a_model_that_blocks_does_not_silence_its_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_cluster, "PULSE", 0.05)
    go_on = threading.Event()

    async def taken() -> tuple[list[Any], list[Any]]:
        there = asking(monkeypatch, lambda request: "late" if go_on.wait(30) else "never")
        await there.give([(7, REQUEST)])
        before = await there.take()
        go_on.set()
        monkeypatch.setattr(_cluster, "PULSE", 30)
        after = await there.take()
        await there.stop()
        return before, after

    before, [(number, reply)] = asyncio.run(taken())
    assert (before, number, reply.text) == ([], 7, "late")


def test_an_asker_that_nobody_holds_leaves_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    others = set(threading.enumerate())  # of earlier tests, on their way out
    there = asking(monkeypatch, lambda request: "ok")
    (thread,) = (thread for thread in set(threading.enumerate()) - others if thread.name == "rageval-asking")
    del there
    thread.join(30)
    assert not thread.is_alive()


def test_what_comes_of_a_call_can_travel_and_holds_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_API_KEY", KEY)
    script = [
        Reply(OK, f"a {KEY}", usage=Usage(3, 4), sent={"mode": "text"}, dropped=("temperature",)),
        Transient(f"b {KEY}", 3.0, throttled=True),
        Fatal(f"c {KEY}"),
        KeyError(f"d {KEY}"),
    ]

    async def came() -> list[Any]:
        there = asking(monkeypatch, lambda request: script[request.sample])
        await there.give([(at, Request("", "", {}, sample=at)) for at in range(len(script))])
        found: list[Any] = []
        while len(found) < len(script):
            found += await there.take()
        await there.stop()
        return [outcome for _, outcome in sorted(found, key=lambda pair: pair[0])]

    reply, busy, fatal, bug = asyncio.run(came())
    assert reply == Reply(OK, "a ***", usage=Usage(3, 4), sent={"mode": "text"}, dropped=("temperature",))
    assert (str(busy), busy.retry_after, busy.throttled) == ("b ***", 3.0, True)
    assert (type(fatal), str(fatal)) == (Fatal, "c ***")
    assert type(bug) is RuntimeError
    assert "KeyError" in str(bug)
    assert KEY not in str(bug)


class Sent:
    """An asker whose outcomes are the test's to make."""

    def __init__(self, *outcomes: Any) -> None:
        self.outcomes = [*outcomes]
        self.given: list[int] = []

    async def give(self, lot: list[tuple[int, Request]]) -> None:
        self.given += [number for number, _ in lot]

    async def take(self) -> list[tuple[int, Any]]:
        while not self.given or not self.outcomes:
            await asyncio.sleep(0.001)
        return [(self.given.pop(0), self.outcomes.pop(0))]


def test_a_worker_whose_calls_fail_at_once_does_not_get_them_all() -> None:
    async def rests() -> list[bool]:
        worker = Worker("tcp://w", Sent(Transient("refused"), Reply(OK), Transient("429", throttled=True)))
        serving = asyncio.create_task(worker.serve())
        found = [worker.burden[0]]
        for _ in range(3):
            await asyncio.gather(worker.ask(REQUEST), return_exceptions=True)
            found.append(worker.burden[0])
        serving.cancel()
        return found

    assert asyncio.run(rests()) == [False, True, False, False]


class Hiring:
    """A client of a cluster whose worker cannot begin."""

    def __init__(self, error: Exception, there: bool) -> None:
        self.error, self.there = error, there

    async def run(self, *words: Any, **more: Any) -> dict[str, str]:
        return {"tcp://w": __version__}

    async def submit(self, *words: Any, **more: Any) -> Any:
        raise self.error

    async def nthreads(self) -> dict[str, int]:
        return {"tcp://w": 1} if self.there else {}


@pytest.mark.parametrize(
    ("error", "there", "ends"),
    [
        (RuntimeError("Worker holding Actor was lost"), False, False),
        (OSError("no answer for the moment"), True, False),
        (RuntimeError("cannot be unpacked here"), True, True),
    ],
)
def test_who_dies_before_it_begins_does_not_end_the_job(error: Exception, there: bool, ends: bool) -> None:
    async def engaged() -> Exception | None:
        some = Crew("tcp://c", WantedModel("scripted", "scripted", ""))
        some._client = Hiring(error, there)
        await some._engage("tcp://w")
        return some._trouble

    trouble = asyncio.run(engaged())
    assert (trouble is not None) == ends
    assert trouble is None or "the worker tcp://w: cannot be unpacked here" in str(trouble)


def test_calls_of_a_worker_that_is_gone_are_lost() -> None:
    async def asked() -> list[Any]:
        worker = Worker("tcp://w", Sent())
        calls = [asyncio.create_task(worker.ask(REQUEST)) for _ in range(2)]
        await asyncio.sleep(0)
        assert worker.busy_since is not None
        worker.lose("gone")
        return [*await asyncio.gather(*calls, return_exceptions=True), worker.busy_since]

    *lost, busy_since = asyncio.run(asked())
    assert [(type(error), str(error)) for error in lost] == [(Lost, "gone")] * 2
    assert busy_since is None


def test_a_worker_that_is_silent_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rageval.judges._cluster.SILENCE", 0.05)
    assert asyncio.run(_serve(Sent())) == "TimeoutError"


async def _serve(there: Sent) -> str:
    return await Worker("tcp://w", there).serve()
