"""A judge whose replies cannot be read: the job stops, what was paid is stored, and it can be mended."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

import rageval
from rageval.errors import JudgeFailed, UsageError
from rageval.judges import Settings, gathered, judged_by, rubric_named
from rageval.judges.base import ENDED, Reply, Request
from rageval.judges.judge import IN_A_ROW
from rageval.judges.material import Material
from rageval.judges.panel import claims_by, nuggets_by
from rageval.judges.store import Store
from rageval.testing import ScriptedModel
from test_bad_input import command

ITEMS = 126
TRIES = 3
NOISE = "I would say that this is *quite* right, \x1b[31mall in all."
GOOD = json.dumps({"evidence": "", "reason": "no", "label": "incorrect"})
ANSWERS = [
    {"query_id": f"q{number:03}", "run_id": "ours", "answer": f"answer {number:03}."}
    for number in range(ITEMS)
]
GOLD = [
    {"query_id": f"q{number:03}", "question": f"Where is {number}?", "answer": "Oslo"}
    for number in range(ITEMS)
]
Say = Callable[[Request], "Reply | str"]


class Batches(ScriptedModel):
    """The same model, which takes batches; every batch has ended when it is looked at."""

    batch_limit = 50_000

    def __init__(self, say: Say) -> None:
        super().__init__(say)
        self.sizes: list[int] = []
        self._batches: dict[str, Sequence[tuple[str, Request]]] = {}

    async def submit(self, requests: Sequence[tuple[str, Request]]) -> str:
        self.sizes.append(len(requests))
        self._batches[name := f"{id(self)}-{len(self._batches)}"] = tuple(requests)
        return name

    async def state(self, batch: str) -> str:
        return ENDED

    async def results(self, batch: str) -> AsyncIterator[tuple[str, Reply]]:
        for key, request in self._batches[batch]:
            yield key, await self.ask(request)


def asked(model: Any, store: Path, answers: Any = None, **options: Any) -> Any:
    answers = ANSWERS if answers is None else answers
    options = {"canaries": 0, **options}
    return rageval.judge("crag", answers, model, questions=GOLD, store=str(store), **options)


def material_in(folder: Path) -> Material:
    for name, rows in (("answers", ANSWERS), ("questions", GOLD)):
        (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    return gathered([str(folder / "answers")], questions=str(folder / "questions"))


def stored(store: Path) -> int:
    with Store(store, read_only=True) as opened:
        return int(opened.stats()["replies"])


def number_in(request: Request) -> int:
    return int(request.user.partition("answer ")[2][:3])


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "store.sqlite"


def test_all_canaries_unreadable_end_the_job_before_it_begins(store: Path) -> None:
    model = ScriptedModel(lambda request: NOISE)
    with pytest.raises(JudgeFailed) as failed:
        asked(model, store, canaries=6)
    assert model.calls == 6 * TRIES == stored(store)
    message = str(failed.value)
    assert "no reply about any of 6 canaries" in message
    assert "most often: expected one JSON object and nothing else" in message
    assert "I would say that this is *quite* right, \\x1b[31mall" in message
    assert failed.value.exit_code == 3
    # The same command asks nothing, and says the same.
    second = ScriptedModel(lambda request: NOISE)
    with pytest.raises(JudgeFailed, match="6 canaries"):
        asked(second, store, canaries=6)
    assert second.calls == 0


@pytest.mark.some(2)
@pytest.mark.parametrize("concurrency", [1, 16])
def test_a_run_at_the_start_ends_a_job_without_canaries(store: Path, concurrency: int) -> None:
    model = ScriptedModel(lambda request: NOISE)
    with pytest.raises(JudgeFailed, match=f"no reply about {IN_A_ROW} items in a row could be read"):
        asked(model, store, concurrency=concurrency)
    # What was under way when the run was long enough is paid for, too.
    assert IN_A_ROW * TRIES <= model.calls <= IN_A_ROW * TRIES + concurrency - 1
    assert stored(store) == model.calls


@pytest.mark.slow
def test_a_run_later_counts_as_well(store: Path) -> None:
    model = ScriptedModel(lambda request: GOOD if number_in(request) < 60 else NOISE)
    with pytest.raises(JudgeFailed, match="items in a row"):
        asked(model, store, concurrency=4)
    assert model.calls <= 60 + IN_A_ROW * TRIES + 3
    assert stored(store) == model.calls


@pytest.mark.slow
def test_a_judge_that_has_to_be_told_is_let_on(store: Path) -> None:
    """Its first reply is never any use, its second always is."""
    model = ScriptedModel(lambda request: GOOD if "could not be used" in request.user else NOISE)
    judged = asked(model, store)
    assert model.calls == 2 * ITEMS
    assert {row["status"] for row in judged} == {"ok"}


@pytest.mark.slow
def test_unreadable_replies_here_and_there_stop_nothing(store: Path) -> None:
    model = ScriptedModel(lambda request: NOISE if number_in(request) % 4 else GOOD)
    judged = asked(model, store)
    assert sum(row["status"] == "invalid" for row in judged) == sum(number % 4 > 0 for number in range(ITEMS))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*answered")  # each of these runs answers one question
def test_what_is_alike_has_one_reply_and_is_no_run(store: Path) -> None:
    alike = [{**ANSWERS[0], "run_id": f"run{number}"} for number in range(2 * IN_A_ROW)]
    model = ScriptedModel(lambda request: GOOD if number_in(request) else NOISE)
    judged = asked(model, store, [*alike, *ANSWERS[1:50]])
    assert sum(row["status"] == "invalid" for row in judged) == 2 * IN_A_ROW


@pytest.mark.slow
@pytest.mark.some(3)
@pytest.mark.parametrize("status", ["refused", "filtered", "error"])
def test_a_reply_that_is_refused_or_failed_is_in_no_run(store: Path, status: str) -> None:
    """Nor does it end one."""
    model = ScriptedModel(lambda request: NOISE if number_in(request) % 2 else Reply(status))
    with pytest.raises(JudgeFailed, match=f"{IN_A_ROW} items in a row"):
        asked(model, store, concurrency=1)
    model = ScriptedModel(lambda request: Reply(status))
    assert {row["status"] for row in asked(model, store.with_name("other"), canaries=6)} == {status}


def test_replies_that_are_cut_off_are_no_more_use(store: Path) -> None:
    model = ScriptedModel(lambda request: Reply("truncated", "I would"))
    with pytest.raises(JudgeFailed, match=r"canaries.*most often: cut off"):
        asked(model, store, canaries=6)
    assert model.calls == 6 * 2  # the second time with more room


@pytest.mark.slow
def test_batches_hand_over_few_before_a_reply_could_be_read(store: Path) -> None:
    model = Batches(lambda request: NOISE)
    with pytest.raises(JudgeFailed, match="items in a row"):
        asked(model, store, batch=True, poll_every=0.01)
    assert model.sizes == [IN_A_ROW] * TRIES
    assert stored(store) == IN_A_ROW * TRIES
    model = Batches(lambda request: NOISE)
    with pytest.raises(JudgeFailed, match="canaries"):
        asked(model, store, batch=True, poll_every=0.01, canaries=6)
    assert model.sizes == [6] * TRIES
    model = Batches(lambda request: GOOD)
    assert asked(model, store.with_name("new"), batch=True, poll_every=0.01, canaries=0)
    assert model.sizes == [IN_A_ROW, ITEMS - IN_A_ROW]
    model = Batches(lambda request: GOOD)
    assert asked(model, store.with_name("newer"), batch=True, poll_every=0.01, canaries=6)
    assert model.sizes == [6, ITEMS]


@pytest.mark.slow
def test_a_batch_that_is_no_use_is_not_bought_three_times(store: Path) -> None:
    """The canaries could be read, all else cannot: its second tries are probed before all are bought."""
    model = Batches(
        lambda request: NOISE if '"answer 0' in request.user or '"answer 1' in request.user else GOOD
    )
    with pytest.raises(JudgeFailed, match="items in a row"):
        asked(model, store, batch=True, poll_every=0.01, canaries=6)
    assert model.sizes == [6, ITEMS, IN_A_ROW, IN_A_ROW]


@pytest.mark.slow
def test_shards_stop_as_well(store: Path) -> None:
    for shard in ("1/2", "2/2"):
        model = ScriptedModel(lambda request: NOISE)
        with pytest.raises(JudgeFailed, match="items in a row"):
            asked(model, store, shard=shard, concurrency=2)
        assert model.calls <= IN_A_ROW * TRIES + 1


@pytest.mark.slow
@pytest.mark.parametrize("name", ["nuggetize", "claims"])
def test_what_writes_lists_stops_as_well(store: Path, name: str) -> None:
    model = ScriptedModel(lambda request: NOISE)
    material = material_in(store.parent)
    by = nuggets_by if name == "nuggetize" else claims_by
    with pytest.raises(JudgeFailed, match="items in a row"):
        by(model, rubric_named(name), material, Settings(store=str(store), concurrency=1))
    assert model.calls == IN_A_ROW * TRIES


def test_a_source_that_grades_what_cannot_be_read_grades_no_noise(store: Path) -> None:
    """With --compat crag a reply that cannot be read is "incorrect": a whole job of them is no result."""
    material = material_in(store.parent)
    settings = Settings(store=str(store), concurrency=1)
    model = ScriptedModel(lambda request: NOISE)
    with pytest.raises(JudgeFailed, match="canaries"):
        list(judged_by([model], rubric_named("crag-auto").counting("crag"), material, settings))


class Moody:
    """A judge that cannot be read at first for some, and is mended later."""

    def __init__(self, bad: Callable[[int], bool], status: str = "invalid") -> None:
        self.bad, self.status, self.is_mended = bad, status, False
        self.model = ScriptedModel(self.say)

    def say(self, request: Request) -> Reply | str:
        if self.is_mended or not self.bad(number_in(request)):
            return GOOD
        return NOISE if self.status == "invalid" else Reply(self.status, "", "no")


@pytest.mark.slow
@pytest.mark.some(4)
@pytest.mark.parametrize("status", ["invalid", "truncated", "refused", "filtered"])
def test_retry_buys_what_failed_so_and_nothing_else(store: Path, status: str) -> None:
    moody = Moody(lambda number: number % 10 == 0, status)
    bad = len(range(0, ITEMS, 10))
    first = asked(moody.model, store)
    assert sum(row["status"] == status for row in first) == bad
    calls = moody.model.calls
    moody.is_mended = True
    assert asked(moody.model, store) == first
    others = [name for name in ("invalid", "truncated", "refused", "filtered") if name != status]
    assert asked(moody.model, store, retry=others) == first
    assert moody.model.calls == calls
    retried = asked(moody.model, store, retry=status, max_calls=bad)
    assert {row["status"] for row in retried} == {"ok"}
    assert moody.model.calls == calls + bad
    # And with nothing left to try again, nothing is bought.
    assert asked(moody.model, store, retry=status, max_calls=0) == retried
    assert asked(moody.model, store, max_calls=0) == retried


def test_what_was_bought_just_now_is_not_tried_again(store: Path) -> None:
    moody = Moody(lambda number: number % 10 == 0)
    asked(moody.model, store, retry="invalid")
    assert moody.model.calls == ITEMS + 2 * len(range(0, ITEMS, 10))


@pytest.mark.slow
def test_a_judge_that_was_stopped_goes_on_once_it_is_mended(store: Path) -> None:
    moody = Moody(lambda number: True)
    with pytest.raises(JudgeFailed):
        asked(moody.model, store, concurrency=1)
    calls = moody.model.calls
    with pytest.raises(JudgeFailed, match="items in a row"):
        asked(moody.model, store, concurrency=1, retry="invalid")
    assert moody.model.calls == 2 * calls
    calls = moody.model.calls
    moody.is_mended = True
    judged = asked(moody.model, store, concurrency=1, retry="invalid")
    assert {row["status"] for row in judged} == {"ok"}
    assert moody.model.calls == calls + ITEMS


@pytest.mark.slow
def test_retry_in_batches(store: Path) -> None:
    moody = Moody(lambda number: number % 10 == 0)
    model = Batches(moody.say)
    how: dict[str, Any] = {"batch": True, "poll_every": 0.01}
    asked(model, store, **how)
    moody.is_mended, before = True, len(model.sizes)
    judged = asked(model, store, **how, retry="invalid")
    assert {row["status"] for row in judged} == {"ok"}
    assert model.sizes[before:] == [len(range(0, ITEMS, 10))]


@pytest.mark.slow
@pytest.mark.parametrize("retry", ["error", "invalid,errors", "", ","])
def test_only_what_is_stored_and_failed_can_be_tried_again(store: Path, retry: str) -> None:
    model = ScriptedModel(lambda request: GOOD)
    if not retry:
        assert asked(model, store, retry=retry)
        return
    with pytest.raises(UsageError, match="expected invalid, truncated, refused, filtered"):
        asked(model, store, retry=retry)
    with pytest.raises(UsageError, match="refresh"):
        asked(model, store, retry="invalid", refresh=True)
    assert not model.calls


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """The command, with models that are called `mine:` and made here."""
    monkeypatch.chdir(tmp_path)
    for name, rows in (("answers", ANSWERS), ("questions", GOLD)):
        Path(name).write_text("".join(json.dumps(row) + "\n" for row in rows))

    def run(say: Say, *more: object) -> Any:
        model = ScriptedModel(say)
        monkeypatch.setattr("rageval.judges.panel.model_named", lambda spec, **options: model)
        words = ("judge", "crag", "answers", "--questions", "questions", "--judge", "mine:m")
        outcome = command(*words, "--store", "store", "-o", "judged", *more)
        return model.calls, outcome

    return run


@pytest.mark.slow
def test_the_command_ends_with_3_and_says_why(job: Callable[..., Any]) -> None:
    calls, outcome = job(lambda request: NOISE)
    assert (calls, outcome.code, outcome.out) == (18, 3, "")
    assert "6/6 answered" in outcome.err
    assert "judged," not in outcome.err
    assert "no reply about any of 6 canaries" in outcome.err
    assert "--retry invalid" in outcome.err
    assert not Path("judged").exists()
    calls, outcome = job(lambda request: GOOD, "--retry", "invalid")
    assert (calls, outcome.code) == (6 + ITEMS, 0), outcome.err
    assert job(lambda request: GOOD, "--retry", "invalid")[0] == 0
    calls, outcome = job(lambda request: GOOD, "--retry", "wrong")
    assert (calls, outcome.code) == (0, 2)
