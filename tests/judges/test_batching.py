"""Asking in batches: nothing is handed over twice, whatever a provider makes of a batch and whoever waits."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from rageval.errors import JudgeFailed, UsageError
from rageval.judges.asking import Patience, ask_all
from rageval.judges.base import ENDED, ERROR, WORKING, Fatal, Reply, Request, Transient, Usage
from rageval.judges.batches import ROUNDS, ask_in_batches
from rageval.judges.budget import Budget
from rageval.judges.store import OPEN, Store
from rageval.testing import ScriptedModel

FAST: dict[str, Any] = {"poll_every": 0.005, "patience": Patience(tries=4, first_pause=0.002)}
SLOW = 3  # looks before a batch has ended


def asked(count: int) -> list[tuple[int, Request]]:
    return [
        (number, Request("Judge.", f"Text {number}.", {"type": "object"}, max_tokens=100))
        for number in range(count)
    ]


class Provider:
    """A `BatchModel` whose batches are files in a folder, so that every process sees the same ones."""

    name, endpoint, batch_limit = "paid:m", "http://provider", 8

    def __init__(self, folder: Path, say: Callable[[str], Reply | None] | None = None, looks: int = SLOW):
        self.folder = folder
        self.say = say or (lambda text: Reply("ok", text, usage=Usage(5, 50)))
        self.looks: Counter[str] = Counter()
        self.looks_needed = looks
        self.failures: list[Exception] = []

    async def ask(self, request: Request) -> Reply:
        raise AssertionError("only batches are asked here")

    async def submit(self, requests: Sequence[tuple[str, Request]]) -> str:
        self._fail()
        assert 0 < len(requests) <= self.batch_limit
        batch = f"batch-{len(self.batches()):03}"
        (self.folder / batch).write_text(json.dumps([(key, request.user) for key, request in requests]))
        return batch

    async def state(self, batch: str) -> str:
        self._fail()
        self.looks[batch] += 1
        return ENDED if self.looks[batch] >= self.looks_needed else WORKING

    async def results(self, batch: str) -> AsyncIterator[tuple[str, Reply]]:
        items = json.loads((self.folder / batch).read_text())
        for key, text in random.sample(items, len(items)):
            await asyncio.sleep(0)
            self._fail()
            reply = self.say(text)
            if reply is not None:
                yield key, reply
        yield "0" * 64, Reply("ok", "of somebody else")

    def batches(self) -> list[str]:
        return sorted(path.name for path in self.folder.glob("batch-*"))

    def handed_over(self) -> Counter[str]:
        contents = (json.loads((self.folder / batch).read_text()) for batch in self.batches())
        return Counter(text for batch in contents for _, text in batch)

    def _fail(self) -> None:
        if self.failures:
            raise self.failures.pop()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "store.sqlite") as opened:
        yield opened
        assert opened.stats()["claims"] == 0


def texts(replies: Any) -> list[tuple[int, str]]:
    return [(number, reply.text) for number, reply in replies]


def test_results_in_any_order_come_in_the_order_of_the_requests(store: Store, tmp_path: Path) -> None:
    live = ScriptedModel(lambda request: request.user, Provider.name, Provider.endpoint)
    list(ask_all(asked(5), live, store))  # is in the store, whoever put it there
    provider = Provider(tmp_path)
    replies = list(ask_in_batches(asked(30) + asked(3), provider, store, **FAST))
    assert texts(replies) == [(number, f"Text {number}.") for number in [*range(30), *range(3)]]
    assert [len(batch.keys) for batch in store.batches.all()] == [8, 8, 8, 1]
    assert not store.batches.all(OPEN)
    assert set(provider.handed_over()) == {f"Text {number}." for number in range(5, 30)}
    assert texts(ask_in_batches(asked(30), provider, store, budget=Budget(max_calls=0), **FAST)) == texts(
        replies[:30]
    )


def test_of_several_results_of_one_request_the_first_reply_counts(store: Store, tmp_path: Path) -> None:
    class Repeating(Provider):
        async def results(self, batch: str) -> AsyncIterator[tuple[str, Reply]]:
            async for key, reply in super().results(batch):
                for result in (
                    Reply(ERROR, detail="no"),
                    reply,
                    Reply("ok", "other"),
                    Reply(ERROR, detail="late"),
                ):
                    yield key, result

    provider = Repeating(tmp_path)
    replies = list(ask_in_batches(asked(10), provider, store, **FAST))
    assert texts(replies) == [(number, f"Text {number}.") for number in range(10)]
    assert set(provider.handed_over().values()) == {1}
    assert texts(ask_in_batches(asked(10), provider, store, **FAST)) == texts(replies)


def test_what_fails_or_expires_goes_into_the_next_batch_and_in_the_end_is_given_up(
    store: Store, tmp_path: Path
) -> None:
    rounds: Counter[str] = Counter()

    def say(text: str) -> Reply | None:
        rounds[text] += 1
        number = int(text[5:-1])
        if number == 0:
            return Reply(ERROR, detail="bad request")
        if number % 3 == 0 and rounds[text] == 1:
            return Reply(ERROR, detail="expired") if number % 2 else None
        return Reply("refused" if number == 1 else "ok", text)

    provider = Provider(tmp_path, say)
    replies = dict(ask_in_batches(asked(20), provider, store, **FAST))
    assert (replies[0].status, replies[0].detail) == ("error", "bad request")
    assert [replies[number].status for number in range(1, 20)] == ["refused"] + ["ok"] * 18
    assert provider.handed_over() == Counter(
        {f"Text {number}.": 1 if number % 3 else ROUNDS if number == 0 else 2 for number in range(20)}
    )
    assert store.stats()["replies"] == 19, "an error is not stored: the next job asks again"


def test_troubles_on_the_way_are_tried_again_and_what_is_hopeless_ends_the_job(
    store: Store, tmp_path: Path
) -> None:
    provider = Provider(tmp_path)
    provider.failures = [Transient("502"), Transient("429", 0.01, throttled=True)]
    assert len(list(ask_in_batches(asked(8), provider, store, **FAST))) == 8
    assert len(provider.batches()) == 1
    provider.failures = [Fatal("no such model")]
    with pytest.raises(JudgeFailed, match=r"no such model .*store\.sqlite"):
        list(ask_in_batches(asked(9), provider, store, **FAST))
    provider.failures = [Transient("gone")] * 100
    with pytest.raises(JudgeFailed, match=r"gone \(after 4 tries"):
        list(ask_in_batches(asked(9), provider, store, **FAST))
    assert len(provider.batches()) == 1
    with pytest.raises(UsageError, match="takes no batches"):
        ask_in_batches(asked(1), ScriptedModel([]), store)  # type: ignore[arg-type]


def test_refresh_hands_over_once_more_what_is_stored(store: Store, tmp_path: Path) -> None:
    provider, budget = Provider(tmp_path), Budget()
    list(ask_in_batches(asked(8), provider, store, **FAST))
    provider.say = lambda text: Reply("ok", "new")
    for _ in range(2):
        replies = list(ask_in_batches(asked(8), provider, store, refresh=True, budget=budget, **FAST))
    assert {reply.text for _, reply in replies} == {"new"}
    assert len(provider.batches()) == 2


def test_two_that_wait_at_once_hand_over_once(store: Store, tmp_path: Path) -> None:
    results: list[Any] = []

    def work() -> None:
        with Store(store.path) as own:
            results.append(texts(ask_in_batches(asked(60), Provider(tmp_path), own, **FAST)))

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [[(number, f"Text {number}.") for number in range(60)]] * 3
    assert set(provider_counts(tmp_path).values()) == {1}


def provider_counts(folder: Path) -> Counter[str]:
    return Provider(folder).handed_over()


# A job in the background of a shell ignores Ctrl-C, and so would what it starts.
WAITING = """
import signal
import sys
from pathlib import Path
from rageval.judges.batches import ask_in_batches
from rageval.judges.asking import JobProgress
from rageval.judges.store import Store
from test_batching import Provider, asked
signal.signal(signal.SIGINT, signal.default_int_handler)
with Store(sys.argv[1]) as store:
    provider = Provider(Path(sys.argv[2]), looks=10**9)
    list(ask_in_batches(asked(30), provider, store, poll_every=0.01, progress=JobProgress()))
"""


@pytest.mark.slow
@pytest.mark.parametrize("how", [getattr(signal, "SIGKILL", 9), signal.SIGINT])
def test_a_batch_is_picked_up_by_a_later_process(tmp_path: Path, how: signal.Signals) -> None:
    path = tmp_path / "store.sqlite"
    command = [sys.executable, "-c", WAITING, path, tmp_path]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stderr is not None
        for _ in range(4):  # batches
            assert "requests; it continues" in process.stderr.readline()
        process.send_signal(how)
        process.stderr.read()
    with Store(path) as store:
        assert len(store.batches.all(OPEN)) == 4
        if how == signal.SIGINT:
            assert store.stats()["claims"] == 0
        provider = Provider(tmp_path)
        results = texts(ask_in_batches(asked(33), provider, store, **FAST))
        assert results == [(number, f"Text {number}.") for number in range(33)]
        assert provider.handed_over() == Counter(f"Text {number}." for number in range(33))
        assert not store.batches.all(OPEN)
