"""A judge whose replies cannot be read: the job stops, what was paid is stored, and it can be mended."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

import rageval
from rageval.errors import JudgeFailed
from rageval.judges import Settings, gathered, judged_by, rubric_named
from rageval.judges.base import ENDED, Reply, Request
from rageval.judges.judge import IN_A_ROW
from rageval.judges.material import Material
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
def test_shards_stop_as_well(store: Path) -> None:
    for shard in ("1/2", "2/2"):
        model = ScriptedModel(lambda request: NOISE)
        with pytest.raises(JudgeFailed, match="items in a row"):
            asked(model, store, shard=shard, concurrency=2)
        assert model.calls <= IN_A_ROW * TRIES + 1


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
