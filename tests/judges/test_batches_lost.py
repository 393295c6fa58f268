"""Batches whose reply never came: each is paid once, whatever was lost on the way and whoever was killed."""

from __future__ import annotations

import asyncio
import os
import signal
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from fair_judge import fair, write_lines
from llm_server import Asked, LlmServer, Saying, usual
from rageval.errors import BudgetReached, JudgeFailed
from rageval.judges.base import Lost, Reply, Request, Usage
from rageval.judges.batches import ask_in_batches
from rageval.judges.budget import Budget
from rageval.judges.models import model_named
from rageval.judges.store import INTENDED, OPEN, Store
from test_bad_input import Outcome, command
from test_batching import FAST, Provider, asked
from test_judge_command import ANSWERS, QUESTIONS
from test_judge_ending import started

pytestmark = pytest.mark.slow

CALLS = 4
MODELS = ("openai:m", "anthropic:m")
LOST = {
    "reset": Saying(cut=0),
    "cut": Saying(body={"id": "batch_1"}, cut=5),
    "504": Saying(504, "<html>Gateway Time-out</html>"),
    "500": Saying(500, {"error": {"message": "sorry"}}),
    "408": Saying(408, ""),
    "garbage": Saying(body="<html>"),
    "nothing": Saying(body={}),
}


@pytest.fixture(autouse=True)
def _files(place: Path) -> None:
    write_lines(questions=QUESTIONS, answers=ANSWERS)


def words(model: str, *more: str) -> tuple[str, ...]:
    crag = ("judge", "crag-auto", "answers", "--questions", "questions", "--canaries", "0")
    return (*crag, "--judge", model, "--batch", "--poll-every", "0.01", *more)


def judged(model: str, *more: str) -> Outcome:
    return command(*words(model, "-o", "judged", *more))


def assert_paid_once(server: LlmServer) -> None:
    assert len(server.batches.ids) == 1
    assert len(server.batched) == CALLS
    assert not [batch for batch in stored() if batch.state in (INTENDED, OPEN)]
    assert not [name for name in server.batches.files if server.batches.is_of_requests(name)]


def stored() -> list[Any]:
    with Store() as store:
        return store.batches.all()


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("how", LOST)
def test_a_batch_whose_reply_is_lost_is_found_and_not_bought_again(
    server: LlmServer, model: str, how: str
) -> None:
    server.batches.lost.append(LOST[how])
    outcome = judged(model)
    assert outcome.code == 0, outcome
    assert "checking whether a batch of 4 requests was accepted" in outcome.err
    assert_paid_once(server)


@pytest.mark.parametrize("model", MODELS)
def test_a_batch_that_was_not_accepted_is_handed_over_again(server: LlmServer, model: str) -> None:
    server.say(*[server.otherwise] * (model == "openai:m"), Saying(504, ""))
    assert judged(model).code == 0
    assert_paid_once(server)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("status", [429, 503])
def test_a_batch_that_is_put_off_is_not_looked_for(server: LlmServer, model: str, status: int) -> None:
    away = Saying(status, {"error": {"message": "later"}}, {"retry-after": "0.01"})
    server.say(*[server.otherwise] * (model == "openai:m"), away)
    assert judged(model).code == 0
    assert not [
        request for request in server.requests if request.method == "GET" and request.path.endswith("batches")
    ]
    assert len(server.batches.ids) == 1


def test_a_server_that_keeps_no_tags_is_asked_for_the_file(server: LlmServer) -> None:
    server.batches.keeps_metadata = False
    server.batches.lost.append(Saying(504, ""))
    assert judged("openai:m").code == 0
    assert_paid_once(server)


@pytest.mark.nightly
@pytest.mark.parametrize("model", MODELS)
def test_who_is_killed_before_the_reply_comes_has_bought_once(server: LlmServer, model: str) -> None:
    server.batches.lost.append(killing := Killing())
    killing.start(*words(model))
    assert [batch.state for batch in stored()] == [INTENDED]
    assert judged(model).code == 0
    assert_paid_once(server)


@pytest.mark.slow
def test_who_is_killed_before_the_batch_is_made_leaves_no_file_behind(server: LlmServer) -> None:
    killing = Killing()
    server.say(server.otherwise, killing)
    killing.start(*words("openai:m"))
    assert len(server.batches.files) == 1
    assert judged("openai:m").code == 0
    assert_paid_once(server)


class Killing:
    """An answer that kills who asks, and never comes."""

    def start(self, *arguments: str) -> None:
        with started(*arguments) as process:
            self.process = process
            assert process.wait(120) == -signal.SIGKILL

    def __call__(self, asked: Asked) -> Saying:
        while not hasattr(self, "process"):
            pass
        self.process.kill()
        self.process.wait()
        return Saying(cut=0)


@pytest.mark.nightly
@pytest.mark.parametrize("model", MODELS)
def test_who_is_told_to_end_before_the_reply_comes_has_bought_once(server: LlmServer, model: str) -> None:
    def hang(asked: Asked) -> Saying:
        os.kill(process.pid, signal.SIGTERM)
        return Saying(delay=3600)

    server.batches.lost.append(hang)
    with started(*words(model), "--quiet") as process:
        assert process.wait(120) == 130
    assert judged(model).code == 0
    assert_paid_once(server)


def handed_over_by_somebody_else(server: LlmServer, count: int, polls: int) -> None:
    """Another batch of the same size, whose requests have other keys."""
    server.batches.polls, server.default = polls, usual
    model: Any = model_named("anthropic:m")
    requests = [(f"{number:064x}", request) for number, request in asked(count)]
    asyncio.run(_submitted(model, requests))
    server.default = fair


async def _submitted(model: Any, requests: Sequence[tuple[str, Request]]) -> None:
    await model.submit(requests)
    await model.aclose()


@pytest.mark.parametrize("polls", [0, 6])
def test_without_a_tag_the_keys_tell_once_the_batch_has_ended(server: LlmServer, polls: int) -> None:
    """Three others of the same size, one of them still at work; until that is clear nothing is bought."""
    for others in (0, 0, polls):
        handed_over_by_somebody_else(server, CALLS, others)
    server.batches.polls = polls
    server.batches.lost.append(Saying(504, ""))
    outcome = judged("anthropic:m")
    assert outcome.code == 0, outcome
    assert ("may be it; this is known when it has ended (--rebuy does not wait" in outcome.err) == bool(polls)
    assert len(server.batches.ids) == 4
    assert len(server.batched) == 4 * CALLS


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
def test_nothing_is_bought_again_where_nobody_can_tell_unless_that_is_wanted(
    server: LlmServer, model: str
) -> None:
    server.batches.lost.append(Saying(504, ""))
    server.batches.lists = False
    for _ in range(2):
        outcome = judged(model, "--quiet")
        assert (outcome.code, outcome.err.count("\n")) == (3, 1)
        assert "the id of a batch of 4 requests was lost" in outcome.err
        assert "--rebuy" in outcome.err
        assert len(server.batches.ids) == 1
    assert judged(model, "--rebuy").code == 0
    assert len(server.batches.ids) == 2
    assert judged(model, "--rebuy").code == 0
    assert len(server.batches.ids) == 2


class Losing(Provider):
    """Accepts a batch and loses the reply."""

    async def submit(self, requests: Sequence[tuple[str, Request]]) -> str:
        batch = await super().submit(requests)
        raise Lost(f"the reply that names {batch} was lost")


@pytest.mark.slow
def test_a_model_that_cannot_look_is_not_asked_twice(tmp_path: Path) -> None:
    with Store(tmp_path / "s.sqlite") as store:
        for provider in (Losing(tmp_path), Provider(tmp_path)):
            with pytest.raises(
                JudgeFailed, match=r"does not look for batches; it is not sent twice.*--rebuy"
            ):
                list(ask_in_batches(asked(5), provider, store, **FAST))
        assert store.stats()["claims"] == 0
        assert len(list(ask_in_batches(asked(5), Provider(tmp_path), store, rebuy=True, **FAST))) == 5
    assert provider.handed_over() == Counter({f"Text {number}.": 2 for number in range(5)})


def test_what_was_handed_over_before_counts_against_the_budget(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prices = tmp_path / "prices.toml"
    prices.write_text('[models]\n"paid:m" = { input = 0, output = 1000 }')  # 5 cents each for half the price
    monkeypatch.setenv("RAGEVAL_PRICES", str(prices))
    provider = Provider(tmp_path, lambda text: Reply("ok", text, usage=Usage(5, 100)))
    with Store(tmp_path / "s.sqlite") as store:
        keys = [request.key(provider.name, provider.endpoint) for _, request in asked(8)]
        requests = [(key, request) for key, (_, request) in zip(keys, asked(8), strict=True)]
        store.batches.add(asyncio.run(provider.submit(requests)), "paid:m http://provider", keys)
        budget = Budget(max_cost=8 * 0.05 + 0.12)
        with pytest.raises(BudgetReached):
            list(ask_in_batches(asked(20), provider, store, budget=budget, **FAST))
        assert sum(provider.handed_over().values()) == 8 + 2
        assert budget.spent == pytest.approx(0.5)


def test_an_intent_is_written_before_the_provider_is_told(tmp_path: Path) -> None:
    seen: list[list[tuple[str, int]]] = []

    class Looking(Provider):
        async def submit(self, requests: Sequence[tuple[str, Request]]) -> str:
            with Store(store.path, read_only=True) as other:
                states = [(batch.state, len(batch.keys)) for batch in other.batches.all()]
            seen.append(states)
            return await super().submit(requests)

    with Store(tmp_path / "s.sqlite") as store:
        list(ask_in_batches(asked(5), Looking(tmp_path), store, **FAST))
        assert seen == [[(INTENDED, 5)]]
        assert [batch.state for batch in store.batches.all()] == ["done"]
