"""Asking many requests at once: what is asked, when, how often, and what is left when it has to stop."""

from __future__ import annotations

import asyncio
import random
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from patient_loop import now, unhurried_  # noqa: F401  (a fixture)
from rageval.errors import BudgetReached, JudgeFailed, OutputError, UsageError
from rageval.judges.asking import CallGate, JobProgress, Patience, ask_all
from rageval.judges.base import Fatal, Lost, Mark, Reply, Request, Transient, Usage
from rageval.judges.budget import Budget
from rageval.judges.store import Store
from rageval.testing import ScriptedModel

HASTY = Patience(first_pause=0.002, longest_pause=0.05, away=0.1)
PATIENT = Patience(tries=4, deadline=5, first_pause=0.002)
Said = Callable[[Request], Any]


def asked(count: int, start: int = 0) -> list[tuple[int, Request]]:
    return [
        (number, Request("Judge.", f"Text {number}.", {"type": "object"}))
        for number in range(start, start + count)
    ]


def late(say: Said = lambda request: request.user, seconds: float = 0.002) -> Said:
    """A model that takes its time, each call another."""

    async def answer(request: Request) -> Any:
        await asyncio.sleep(random.uniform(0, 2 * seconds))
        return say(request)

    return answer


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "store.sqlite") as opened:
        yield opened


def ends(error: type[Exception], requests: Any, model: ScriptedModel, store: Store, **how: Any) -> list[Any]:
    """The replies before the job ends with this error; `error` says what the store holds for a way on."""
    replies = []
    with pytest.raises(error) as caught:
        replies.extend(ask_all(requests, model, store, **{"patience": HASTY, **how}))
    if error is JudgeFailed:
        assert caught.value.exit_code == 3
        assert store.path in str(caught.value)
    assert store.stats()["claims"] == 0
    return replies


@pytest.mark.parametrize("most", [None, 3])
def test_who_was_let_in_and_makes_no_call_has_used_no_leave(store: Store, most: int | None) -> None:
    """All begin at once; the first is sent away, and the others wait without a call."""
    outcomes: Iterator[Any] = iter([Transient("429", retry_after=0.01, throttled=True)])
    model = ScriptedModel(lambda request: next(outcomes, request.user))
    budget = Budget(max_calls=most)
    how: dict[str, Any] = {"concurrency": 8, "budget": budget}
    if most is None:
        replies = list(ask_all(asked(8), model, store, patience=HASTY, **how))
        assert [reply.text for _, reply in replies] == [request.user for _, request in asked(8)]
    else:
        ends(BudgetReached, asked(8), model, store, **how)
    assert budget.calls == model.calls == (most or 9)


@pytest.mark.slow
def test_replies_come_in_the_order_of_the_requests_and_each_question_is_asked_once(store: Store) -> None:
    model = ScriptedModel(late())
    questions = [(number + copy, request) for number, request in asked(300) for copy in (0, 1000)]
    shown = StringIO()
    progress = JobProgress(stream=shown)
    replies = list(ask_all(questions, model, store, concurrency=32, progress=progress))
    assert [(number, reply.text) for number, reply in replies] == [
        (number, request.user) for number, request in questions
    ]
    assert model.calls == 300
    assert "300/300 answered" in shown.getvalue().splitlines()[-1]  # the same question twice is one
    repeat = list(ask_all(iter(questions), model, store, budget=Budget(max_calls=0)))
    assert repeat == replies
    assert model.calls == 300


def test_a_reply_is_stored_before_it_is_seen_and_each_call_has_its_own_fence(store: Store) -> None:
    requests = [(number, Request.of(("s",), (Mark(), f" {number} ", Mark()), {})) for number in range(50)]
    model = ScriptedModel(late())
    with Store(store.path, read_only=True) as other:
        for number, reply in ask_all(requests, model, store):
            assert other.get(requests[number][1].key(model.name, model.endpoint)) == reply
        assert {stored.request.user for stored in other.rows()} == {asked.user for _, asked in requests}
    assert len({request.user.split()[0] for request in model.requests}) == 50


def test_what_fails_for_the_moment_is_tried_again_and_in_the_end_given_up(
    store: Store, unhurried: None
) -> None:
    tries: Counter[str] = Counter()

    def say(request: Request) -> Any:
        tries[request.user] += 1
        if request.user == "Text 3." or (tries[request.user] <= 2 and request.user.endswith("7.")):
            return Transient("m: 500: sorry")
        return request.user

    model = ScriptedModel(late(say))
    replies = dict(ask_all(asked(20), model, store, concurrency=4, patience=PATIENT))
    assert [number for number, reply in replies.items() if reply.status != "ok"] == [3]
    assert (replies[3].status, replies[3].detail) == ("error", "m: 500: sorry")
    assert {text: count for text, count in tries.items() if count > 1} == {
        "Text 3.": 4,
        "Text 7.": 3,
        "Text 17.": 3,
    }
    list(ask_all(asked(20), model, store, patience=PATIENT))
    assert tries["Text 3."] == 8, "an error is not stored: the next job asks again, and for nothing else"
    assert sum(tries.values()) == 17 + 2 * 3 + 8


def test_what_does_not_end_is_ended(store: Store, unhurried: None) -> None:
    async def say(request: Request) -> str:
        await asyncio.sleep(0 if request.user != "Text 1." else 3000)
        return "ok"

    replies = dict(ask_all(asked(3), ScriptedModel(say), store, patience=PATIENT))
    assert [replies[number].status for number in range(3)] == ["ok", "error", "ok"]
    assert "no answer within 5 seconds" in replies[1].detail


def test_a_failure_of_one_call_holds_no_other_up(store: Store, unhurried: None) -> None:
    slow = Patience(first_pause=30)
    times: list[float] = []

    def say(request: Request) -> Any:
        times.append(now())
        return Transient("503") if len(times) == 1 else "ok"

    replies = list(ask_all(asked(100), ScriptedModel(late(say, 0.001)), store, patience=slow))
    assert all(reply.status == "ok" for _, reply in replies)
    assert len([time for time in times if time < times[0] + 20]) == 100, "only the failed call waits"


@pytest.mark.slow
def test_one_word_to_wait_stops_everybody_and_then_a_single_call_looks(store: Store, unhurried: None) -> None:
    started: list[float] = []
    refusals: list[float] = []

    async def say(request: Request) -> Any:
        started.append(now())
        sent_away = len(started) == 20
        await asyncio.sleep(0.02)
        if not sent_away:
            return "ok"
        refusals.append(now())
        return Transient("429", retry_after=30, throttled=True)

    list(ask_all(asked(60), ScriptedModel(say), store, concurrency=8))
    after = sorted(time for time in started if time > refusals[0])
    assert after[0] >= refusals[0] + 29
    assert after[1] >= after[0] + 0.02, "the others wait for the one that looks"
    assert len(started) == 61


def test_who_was_let_in_before_a_refusal_came_back_looks_again(store: Store, unhurried: None) -> None:
    started: list[float] = []

    def say(request: Request) -> Any:
        started.append(now())
        return Transient("429", retry_after=20, throttled=True) if len(started) == 1 else "ok"

    list(ask_all(asked(8), ScriptedModel(say), store, concurrency=8))
    assert len(started) == 9
    assert started[1] >= started[0] + 19, "all eight were inside when the first one was refused"


@pytest.mark.slow
def test_calls_that_are_lost_on_the_way_hold_no_other_up_and_may_have_cost_the_most(
    store: Store, unhurried: None
) -> None:
    tries: Counter[str] = Counter()
    times: list[float] = []

    def say(request: Request) -> Any:
        tries[request.user] += 1
        times.append(now())
        return Lost("worker gone") if tries[request.user] == 1 and len(tries) <= 20 else "ok"

    budget, slow = Budget(max_calls=120), Patience(first_pause=50)
    replies = list(ask_all(asked(100), ScriptedModel(late(say, 0.001)), store, patience=slow, budget=budget))
    assert all(reply.status == "ok" for _, reply in replies)
    assert (budget.calls, sum(tries.values())) == (120, 120)
    assert len([time for time in times if time < times[0] + 30]) == 100, "only the lost ones wait"


@pytest.mark.slow
def test_a_storm_of_refusals_costs_few_calls(store: Store, unhurried: None) -> None:
    start: list[float] = []

    def say(request: Request) -> Any:
        start.append(now())
        waits = random.choice((None, 0.0, 5, -1.0, float("nan"), 1e9))
        return Transient("429", waits, throttled=True) if now() < start[0] + 50 else request.user

    model = ScriptedModel(late(say))
    replies = list(ask_all(asked(300), model, store, concurrency=32, patience=Patience(longest_pause=10)))
    assert all(reply.status == "ok" for _, reply in replies)
    assert model.calls <= 1.2 * 300


def test_no_more_than_allowed_are_under_way(store: Store) -> None:
    now, most = 0, 0

    async def say(request: Request) -> str:
        nonlocal now, most
        now += 1
        most = max(most, now)
        await asyncio.sleep(0.002)
        now -= 1
        return "ok"

    list(ask_all(asked(60), ScriptedModel(say), store, concurrency=7))
    assert most == 7


def test_the_gate_narrows_once_for_all_who_were_inside_and_widens_again() -> None:
    async def through() -> list[int]:
        gate = CallGate(16, first_pause=0.001, longest_pause=0.001)
        widths = []
        for _ in range(2):
            entered = [await gate.__aenter__() for _ in range(gate.width)]
            for start in entered:
                gate.narrow(start, None, throttled=True)
                await gate.__aexit__()
            async with gate as start:
                widths.append(gate.width)
                gate.widen(start)
            widths.append(gate.width)
        for _ in range(200):
            async with gate as start:
                gate.widen(start)
        return [*widths, gate.width]

    assert asyncio.run(through()) == [1, 8, 1, 4, 16]


def test_no_quota_ends_the_job_and_what_was_under_way_is_kept(store: Store) -> None:
    broke = [True]

    async def say(request: Request) -> Any:
        if broke[0] and model.calls > 40:
            return Fatal("insufficient_quota: see the billing page")
        await asyncio.sleep(0.01)
        return request.user

    model = ScriptedModel(say)
    ends(JudgeFailed, asked(200), model, store, concurrency=10)
    assert model.calls <= 50
    assert store.stats()["replies"] == 40, "what had been sent before was waited for and stored"
    broke[0] = False
    before = model.calls
    assert len(list(ask_all(asked(200), model, store))) == 200
    assert model.calls - before == 160


@pytest.mark.slow
def test_a_provider_that_goes_away_ends_the_job(store: Store) -> None:
    going = ScriptedModel(
        late(lambda request: Transient("m: connection refused") if going.calls >= 100 else request.user)
    )
    replies = ends(JudgeFailed, asked(2000), going, store, concurrency=16)
    kept = store.stats()["replies"]
    assert 100 - 16 <= kept < 100
    assert len(replies) <= kept
    assert going.calls < 150, "a model that is gone is not asked 2,000 times"
    back = ScriptedModel(late())
    assert len(list(ask_all(asked(2000), back, store))) == 2000
    assert back.calls == 2000 - kept


def test_the_limit_of_calls_is_kept(store: Store) -> None:
    model = ScriptedModel(late())
    ends(BudgetReached, asked(100), model, store, budget=Budget(max_calls=30))
    assert model.calls == store.stats()["replies"] == 30
    assert len(list(ask_all(asked(30), model, store, budget=Budget(max_calls=0)))) == 30
    assert len(list(ask_all(asked(100), model, store, budget=Budget(max_calls=70)))) == 100
    assert model.calls == 100


def test_the_limit_of_money_is_kept(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prices = tmp_path / "prices.toml"
    prices.write_text('[models]\n"paid:m" = { input = 0, output = 1000 }')
    monkeypatch.setenv("RAGEVAL_PRICES", str(prices))
    requests = [
        (number, Request("s", str(number), {}, max_tokens=100)) for number in range(200)
    ]  # at most 10 cents each
    model = ScriptedModel(late(lambda request: Reply("ok", "r", usage=Usage(5, 50))), name="paid:m")
    budget = Budget(max_cost=2.0)
    ends(BudgetReached, requests, model, store, budget=budget, concurrency=16)
    assert 1.85 <= budget.spent <= 2.0, "used up to what one more call might cost, and never exceeded"
    assert model.calls == store.stats()["replies"] == round(budget.spent / 0.05)
    with pytest.raises(UsageError, match="no price is known for 'unpriced:m'"):
        ask_all(requests, ScriptedModel([], name="unpriced:m"), store, budget=Budget(max_cost=1))


def test_refresh_asks_again_but_not_twice_in_one_job(store: Store) -> None:
    model = ScriptedModel(lambda request: str(model.calls))
    before = list(ask_all(asked(20), model, store, concurrency=1))
    budget = Budget()
    for _ in range(2):
        refreshed = list(
            ask_all(asked(20) + asked(20), model, store, refresh=True, budget=budget, concurrency=1)
        )
    assert model.calls == 40
    assert {reply.text for _, reply in before}.isdisjoint(reply.text for _, reply in refreshed)
    assert dict(ask_all(asked(20), model, store)) == dict(refreshed)


def test_it_works_where_a_loop_is_running(store: Store) -> None:
    async def notebook() -> int:
        return len(list(ask_all(asked(20), ScriptedModel(late()), store)))

    assert asyncio.run(notebook()) == 20


def test_who_leaves_early_leaves_no_claim_and_no_thread(store: Store) -> None:
    model = ScriptedModel(late())
    replies = ask_all(asked(5000), model, store)
    for _ in range(10):
        next(replies)
    replies.close()  # type: ignore[attr-defined]
    assert store.stats()["claims"] == 0
    assert model.calls < 2000
    assert not [thread for thread in threading.enumerate() if thread.name == "rageval-judging"]


def test_a_budget_outlives_a_job_that_was_left_while_it_ended(store: Store) -> None:
    class SlowToLeave(ScriptedModel):
        async def aclose(self) -> None:
            left.set()
            await asyncio.sleep(60)

    left, budget = threading.Event(), Budget(max_calls=100)
    replies = ask_all(asked(5), SlowToLeave(late()), store, budget=budget)
    next(replies)
    assert left.wait(60)
    replies.close()  # type: ignore[attr-defined]
    second = list(ask_all(asked(5, start=5), ScriptedModel(late()), store, budget=budget))
    assert (len(second), budget.calls) == (5, 10)


def test_who_waits_for_money_hears_of_all_that_is_settled(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unhurried: None
) -> None:
    """Also of what is settled while the budget is looked at: else a second passes without a call."""
    prices = tmp_path / "prices.toml"
    prices.write_text('[models]\n"paid:m" = { input = 0, output = 1000 }')
    monkeypatch.setenv("RAGEVAL_PRICES", str(prices))
    budget, calls = Budget(max_cost=0.205), iter(range(3))
    started: list[float] = []

    async def answer(request: Request) -> Reply:
        started.append(now())
        call = next(calls)
        if call == 0:
            await asyncio.sleep(0.01)
        while call == 1 and not budget.spent:
            await asyncio.sleep(0)  # its answer comes right after the first one is settled
        return Reply("ok", "r", usage=Usage(5, 50))

    requests = [
        (number, Request("s", str(number), {}, max_tokens=100)) for number in range(3)
    ]  # at most 10 cents each
    model = ScriptedModel(answer, name="paid:m")
    assert len(list(ask_all(requests, model, store, budget=budget, concurrency=3))) == 3
    assert started[-1] - started[0] < 0.9


def test_errors_that_are_bugs_stay_what_they_are(store: Store) -> None:
    def broken() -> Iterator[tuple[int, Request]]:
        yield from asked(3)
        raise ZeroDivisionError

    ends(ZeroDivisionError, broken(), ScriptedModel(late()), store)
    ends(KeyError, asked(3, start=50), ScriptedModel(late(lambda request: KeyError())), store)
    ends(asyncio.CancelledError, asked(3, start=90), ScriptedModel(late(_cancel)), store)  # type: ignore[arg-type]


def _cancel(request: Request) -> None:
    raise asyncio.CancelledError


def test_only_what_is_stored_can_be_had_from_a_store_that_is_only_read(store: Store) -> None:
    model = ScriptedModel(lambda request: request.user)
    list(ask_all(asked(5), model, store))
    with Store(store.path, read_only=True) as other:
        assert len(list(ask_all(asked(5), model, other))) == 5
        with pytest.raises(OutputError, match="opened read-only"):
            list(ask_all(asked(6), model, other))
    assert model.calls == 5


@pytest.mark.slow
def test_two_jobs_at_once_pay_once_for_each_question(store: Store) -> None:
    model = ScriptedModel(late())
    outcomes: list[list[Any]] = []

    def work() -> None:
        with Store(store.path) as own:
            outcomes.append(list(ask_all(asked(200), model, own, concurrency=8)))

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outcomes[0] == outcomes[1] == outcomes[2]
    assert model.calls == 200


# A job in the background of a shell ignores Ctrl-C, and so would what it starts.
INTERRUPTED = """
import asyncio, signal, sys
from rageval.judges.base import Request
from rageval.testing import ScriptedModel
from rageval.judges.asking import ask_all
from rageval.judges.store import Store

async def say(request):
    await asyncio.sleep(0.01)
    return request.user

signal.signal(signal.SIGINT, signal.default_int_handler)
requests = [(at, Request("Judge.", f"Text {at}.", {"type": "object"})) for at in range(100_000)]
try:
    with Store(sys.argv[1]) as store:
        for number, reply in ask_all(requests, ScriptedModel(say), store):
            print(number, flush=True)
except KeyboardInterrupt:
    sys.exit(130)
"""


@pytest.mark.slow
def test_ctrl_c_leaves_a_store_to_go_on_with(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    with subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED, path], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        for _ in range(50):
            process.stdout.readline()
        process.send_signal(signal.SIGINT)
        seen = process.stdout.read().splitlines()
    assert process.returncode == 130
    with Store(path) as store:
        stats = store.stats()
        assert stats["claims"] == 0
        assert stats["replies"] >= 50 + len(seen)
        model = ScriptedModel(late())
        assert len(list(ask_all(asked(stats["replies"] + 50), model, store))) == stats["replies"] + 50
        assert model.calls <= 50 + 16, "at most what was under way is asked again"


@pytest.mark.parametrize(
    "bad",
    [
        Reply("ok", "x", sent={"seed": {1, 2}}),
        Reply("ok", "x", latency="soon"),  # type: ignore[arg-type]
        Reply("ok", "x", usage=Usage("five", 1)),  # type: ignore[arg-type]
        {"status": "ok", "text": "x"},
    ],
    ids=["a set", "text for a number", "tokens as text", "no reply"],
)
def test_a_reply_of_a_plugin_that_no_store_can_hold_takes_no_others_with_it(
    store: Store, bad: object
) -> None:
    """All of them come at the same moment, and are stored in one transaction."""
    ready = asyncio.Event()

    async def reply(request: Request) -> object:
        if request.user == "Text 7.":
            ready.set()
            return bad
        await ready.wait()
        return Reply("ok", "yes", usage=Usage(5, 1))

    model = ScriptedModel(reply, "plugin:m")  # type: ignore[arg-type]
    with pytest.raises(JudgeFailed, match=r"plugin:m: (a reply cannot be stored|expected a Reply)"):
        list(ask_all(asked(8), model, store))
    assert store.stats()["replies"] == 7
