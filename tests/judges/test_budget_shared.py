"""Limits that hold whatever a server reports, and over all that ask at the same time on one store."""

from __future__ import annotations

import json
import math
import multiprocessing
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fair_judge import SENTINEL, fair
from llm_server import Asked, LlmServer, Saying
from rageval.errors import BudgetReached, UsageError
from rageval.judges.asking import ask_all
from rageval.judges.base import Reply, Request, Transient, Unreachable, Usage
from rageval.judges.budget import Budget, _parse_prices, _price_of, _upper_cost, _upper_usage, cost
from rageval.judges.store import PATIENCE, Store
from rageval.testing import ScriptedModel
from test_bad_input import assert_refused, command
from test_judge_command import QUESTIONS

PRICED = "paid:m"
REQUEST = Request("Judge.", "Is it so?", {"type": "object"}, max_tokens=100)
RAGEVAL = (sys.executable, "-m", "rageval")


def requests(count: int) -> list[tuple[int, Request]]:
    return [(number, Request("s", f"{number:06}", {}, max_tokens=100)) for number in range(count)]


@pytest.fixture(autouse=True)
def _prices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("prices.toml").write_text(
        '[models]\n"paid:m" = { input = 10, output = 1000 }\n"openai:paid" = { input = 1, output = 10 }\n'
    )
    monkeypatch.setenv("RAGEVAL_PRICES", str(tmp_path / "prices.toml"))
    monkeypatch.setenv("RAGEVAL_STORE", str(tmp_path / "store.sqlite"))
    monkeypatch.setenv("OPENAI_API_KEY", SENTINEL)


@pytest.fixture
def store() -> Iterator[Store]:
    with Store() as opened:
        yield opened


def recorded(store: Store) -> list[tuple[int, float, float]]:
    with store.reading() as connection:
        return connection.execute("SELECT calls, spent, held FROM spending").fetchall()


def test_what_calls_cost_is_recorded_at_the_end_of_a_turn_for_all_of_them(store: Store) -> None:
    notices: list[None] = []
    budget, other = Budget(max_calls=3), Budget(max_calls=4)
    budget.open(store, lambda: notices.append(None))
    with budget.turn():
        leave = [budget.reserve(REQUEST, PRICED) for _ in range(3)]
        assert recorded(store) == [(0, 0.0, 0.0)]
    most = _upper_cost(REQUEST, PRICED) or 0.0
    assert recorded(store) == [(3, 0.0, pytest.approx(3 * most))]
    other.open(store)
    assert other.reserve(REQUEST, PRICED) is not None
    with pytest.raises(BudgetReached, match="3 of them by other jobs"):
        other.reserve(REQUEST, PRICED)
    # Outside a turn only what is to come is asked for; what waits is in the next turn, or at the end.
    assert notices == []
    first, second, _ = leave
    assert first is not None
    assert second is not None
    budget.withdraw(first, PRICED)
    budget.settle(second, Usage(output=10), PRICED)
    assert notices == [None, None]
    assert budget.calls == 2
    assert (3, 0.0, pytest.approx(3 * most)) in recorded(store)
    with budget.turn():
        pass
    assert (2, pytest.approx(0.01), pytest.approx(most)) in recorded(store)
    budget.close()
    other.close()


@pytest.mark.slow
@pytest.mark.parametrize(
    "usage", [Usage(), Usage(input=20), Usage(output=3), Usage(input=20, cached=20), Usage(reasoning=5)]
)
def test_what_is_not_reported_costs_the_most_it_can(store: Store, usage: Usage) -> None:
    model = ScriptedModel(lambda request: Reply("ok", "r", usage=usage), PRICED)
    budget = Budget(max_cost=1.0)
    with pytest.raises(BudgetReached):
        list(ask_all(requests(400), model, store, budget=budget, concurrency=4))
    tokens = _upper_usage(requests(1)[0][1])
    most = cost(
        Usage(usage.input or math.ceil(1.25 * tokens.input), usage.output or 100, usage.cached), PRICED
    )
    assert budget.spent == pytest.approx(model.calls * (most or 0.0))
    assert 0.85 <= budget.spent <= 1.0
    assert budget.guessed == model.calls


@pytest.mark.slow
def test_a_call_that_never_left_costs_nothing_and_one_that_may_have_costs_the_most(store: Store) -> None:
    outcomes = [Unreachable("no server"), Transient("504"), Transient("429", 0.0, throttled=True)]

    def say(request: Request) -> Any:
        return outcomes[model.calls - 2] if 2 <= model.calls <= 4 else Reply("ok", "r", usage=Usage(1, 1))

    model, budget = ScriptedModel(say, PRICED), Budget()
    list(ask_all(requests(2), model, store, budget=budget, concurrency=1))
    most = _upper_cost(requests(1)[0][1], PRICED) or 0.0
    assert budget.spent == pytest.approx(most + 2 * (cost(Usage(1, 1), PRICED) or 0.0))


def unreported(asked: Asked) -> Saying:
    """A server that says nothing of tokens."""
    answer = fair(asked)
    return Saying(body={key: value for key, value in answer.body.items() if key != "usage"})


def many_answers(count: int) -> None:
    rows = [
        {"query_id": "q1", "run_id": f"run-{number}", "answer": f"It is Paris, or {number}."}
        for number in range(count)
    ]
    Path("answers").write_text("".join(json.dumps(row) + "\n" for row in rows))
    # The question that they answer: any other that is asked would be missing.
    asked = [row for row in QUESTIONS if row["query_id"] == "q1"]
    Path("questions").write_text("".join(json.dumps(row) + "\n" for row in asked))


CRAG = ("judge", "crag-auto", "answers", "--questions", "questions", "--judge", "openai:paid", "--quiet")


@pytest.mark.slow
@pytest.mark.parametrize("how", [(), ("--batch", "--poll-every", "0.01")])
def test_a_server_that_reports_no_usage_cannot_spend_more_than_allowed(
    how: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    many_answers(60)
    with LlmServer(unreported) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.openai)
        outcome = command(*CRAG, "--canaries", "0", "--max-cost", "0.1", *how)
        paid = len(server.batched) * 0.5 if how else len(server.requests)
    assert outcome.code == 4
    assert "the limit of $0.1 is reached: $0.0" in outcome.err
    assert 0.05 <= paid * 1024 * 10 / 1e6 <= 0.1, "each call may have written as much as it was allowed to"


@pytest.mark.slow
def test_processes_on_one_store_keep_a_limit_together(monkeypatch: pytest.MonkeyPatch) -> None:
    many_answers(60)
    together = threading.Barrier(2)

    def say(asked: Asked) -> Saying:
        if not together.broken and len(server.requests) <= 2:
            together.wait(60)  # so that they do work at the same time
        return unreported(asked)

    with LlmServer(say) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.openai)
        words = (*CRAG, "--max-cost", "0.3", "--concurrency", "1", "--canaries", "0")
        running = [subprocess.Popen([*RAGEVAL, *words], stderr=subprocess.PIPE, text=True) for _ in range(2)]
        errors = [process.communicate(timeout=120)[1] for process in running]
    assert [process.returncode for process in running] == [4, 4]
    assert all("by other jobs on the same store" in text for text in errors)
    assert 0.2 <= len(server.requests) * 1024 * 10 / 1e6 <= 0.3


@pytest.mark.parametrize("limit", ["max_cost", "max_calls"])
def test_jobs_at_the_same_time_count_one_another_and_later_ones_do_not(limit: str) -> None:
    most = _upper_cost(REQUEST, PRICED) or 0.0
    limits: dict[str, Any] = {limit: 3 * most * 1.0001 if limit == "max_cost" else 3}
    with Store() as here, Store() as there:
        one, other = Budget(**limits), Budget(**limits)
        one.open(here)
        assert one.reserve(REQUEST, PRICED)
        other.open(there)
        for _ in range(2):
            reservation = other.reserve(REQUEST, PRICED)
            assert reservation is not None
            other.settle(reservation, None, PRICED)
        with pytest.raises(BudgetReached, match="by other jobs on the same store"):
            other.reserve(REQUEST, PRICED)
        other.close()
        with pytest.raises(BudgetReached) if limit == "max_calls" else pytest.raises(AssertionError):
            assert one.reserve(REQUEST, PRICED), "its own call under way may yet cost less"
        one.close()
        later = Budget(**limits)
        later.open(there)
        assert later.reserve(REQUEST, PRICED), "nobody is at work any more: a new account"


def test_a_share_keeps_to_its_own_part(store: Store) -> None:
    one, part = Budget(max_calls=1), Budget(max_calls=1, alone=True)
    one.open(store)
    assert one.reserve(REQUEST, PRICED)
    part.open(store)
    assert part.reserve(REQUEST, PRICED)


def reserving(path: str, pipe: Any) -> None:
    budget = Budget()
    budget.open(Store(path))
    for _ in range(3):
        budget.reserve(REQUEST, PRICED)
    pipe.send("reserved")
    pipe.recv()


@pytest.mark.slow
def test_what_a_killed_process_had_under_way_counts_as_long_as_somebody_works_who_saw_it(
    store: Store,
) -> None:
    here, there = multiprocessing.get_context("spawn").Pipe()
    process = multiprocessing.get_context("spawn").Process(target=reserving, args=(store.path, there))
    process.start()
    here.recv()
    witness = Budget(max_calls=4)
    witness.open(store)
    process.kill()
    process.join()
    assert witness.reserve(REQUEST, PRICED)
    with pytest.raises(BudgetReached, match="3 of them by other jobs"):
        witness.reserve(REQUEST, PRICED)
    witness.close()
    later = Budget(max_calls=1)
    later.open(store)
    assert later.reserve(REQUEST, PRICED)


@pytest.mark.parametrize("is_alive", [True, False])
def test_a_job_of_another_machine_counts_unless_it_had_ended_without_a_word(
    is_alive: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    with monkeypatch.context() as patch:
        patch.setattr("rageval.judges.store.place", lambda: "elsewhere 1")
        there = Store(clock=lambda: now[0])
    away = Budget()
    away.open(there)
    away.reserve(REQUEST, PRICED)
    with there, Store(there.path, clock=lambda: now[0]) as here:
        budget = Budget(max_calls=1)
        budget.open(here)
        assert budget.reserve(REQUEST, PRICED) is None, "it may have ended long ago"
        now[0] += PATIENCE - 1
        if is_alive:
            there.beat()
        else:
            assert budget.reserve(REQUEST, PRICED) is None
        now[0] += 2
        if is_alive:
            with pytest.raises(BudgetReached, match="1 of them by other jobs"):
                budget.reserve(REQUEST, PRICED)
        else:
            assert budget.reserve(REQUEST, PRICED)


@given(st.lists(st.tuples(st.integers(0, 3), st.booleans(), st.floats(0, 1)), max_size=40))
def test_no_order_of_calls_of_several_jobs_exceeds_the_limit(steps: list[tuple[int, bool, float]]) -> None:
    """Four jobs at once; each step reserves for one or settles its oldest call at a part of the most."""
    most = _upper_cost(REQUEST, "openai:gpt-4o-mini") or 0.0
    limit = 5 * most * (1 + 1e-9)
    with Store(":memory:") as store:
        jobs = [Budget(max_cost=limit) for _ in range(4)]
        under_way: list[list[Any]] = [[] for _ in jobs]
        for job in jobs:
            job.open(store)
        for number, settles, part in steps:
            if settles and under_way[number]:
                usage = Usage(input=1, output=1 + int(part * 99))
                jobs[number].settle(under_way[number].pop(0), usage, "openai:gpt-4o-mini")
            else:
                try:
                    reservation = jobs[number].reserve(REQUEST, "openai:gpt-4o-mini")
                except BudgetReached:
                    continue
                under_way[number] += [reservation] if reservation else []
            promised = sum(job.spent for job in jobs) + most * sum(map(len, under_way))
            assert promised <= limit * (1 + 1e-6)


@pytest.mark.slow
def test_a_server_of_ones_own_is_free_once_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    many_answers(3)
    with LlmServer(fair) as server:
        words = ("judge", "crag-auto", "answers", "--questions", "questions", "--quiet", "-o", "judged")
        mine = ("--judge", f"openai:mine@{server.openai}", "--max-cost", "0.5")
        assert_refused(
            command(*words, *mine), "no price is known for 'openai:mine'", "--price 0 for your own server"
        )
        assert server.requests == []
        assert command(*words, *mine, "--price", "0").code == 0
        assert command(*words, *mine, "--price", f"openai:mine@{server.openai}=0,0", "--refresh").code == 0
        assert command(*words, *mine, "--price", "9999999", "--refresh").code == 4
        dry = command(*words[:5], *mine, "--price", "0", "--dry-run")
        assert "at most 0.00 USD" in dry.out


def test_prices_that_are_stated() -> None:
    stated = _parse_prices(["0", "openai:mine=1,4", "openai:gpt-4o=7"])
    assert [_price_of(model, stated) for model in ("openai:mine", "openai:unheard")] == [
        stated["openai:mine"],
        stated[""],
    ]
    price = _price_of("openai:gpt-4o-mini", stated)
    assert price is not None
    assert price.input > 0, "what is in the table does not become free by the way"
    assert (_price_of("openai:gpt-4o", stated) or stated[""]).output == 7
    for wrong in ("", "free", "m=", "-1", "1,2,3", "nan", "inf", "m=0,x"):
        with pytest.raises(UsageError, match="expected \\[MODEL=\\]INPUT"):
            _parse_prices([wrong])
