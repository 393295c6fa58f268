"""One small case each of what judging decides on the way, worked out by hand."""

from __future__ import annotations

import asyncio
import functools
import os
import sqlite3
import stat
import sys
import tomllib
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

from rageval.cli import main
from rageval.errors import TooFewLabels
from rageval.files.jsonl import in_memory
from rageval.judges import rubric, rubric_named, short
from rageval.judges.asking import CallGate, JobTally, backoff, keep_beating, line
from rageval.judges.base import FILTERED, OK, TRUNCATED, Reply, Request, Usage
from rageval.judges.foreign import Given, imported, python_template
from rageval.judges.judge import UnreadableRun, _read_reply
from rageval.judges.material import gathered, tasks
from rageval.judges.panel import Settings, _canary_target
from rageval.judges.store import BEAT, Claims, Store, default_path
from rageval.judges.verdicts import Invalid, Verdict, _repair_value

REQUEST = Request("Judge.", "Is it so?", {"type": "object"})


@pytest.mark.parametrize(
    ("text", "template"),
    [
        ('f"Rate {answer}."', "Rate {answer}."),
        ('f"{{0}} {answer}"', "{{0}} {answer}"),
        ('f"Rate {answer:>9}."', None),  # what is put in is formatted: a template has no place for that
        ('f"Rate {answer!r}."', None),
        ('f"Rate {answer.text}."', None),
    ],
)
def test_a_template_is_made_of_names_alone(text: str, template: str | None, tmp_path: Path) -> None:
    path = tmp_path / "prompt.py"
    path.write_text(f"def prompt(answer): return {text}\n")
    assert python_template(str(path), {"answer"}) == template


def test_what_is_asked_again_is_the_next_sample() -> None:
    rubric = rubric_named("crag")
    once = rubric.again(REQUEST)
    assert (once.sample, rubric.again(once).sample) == (1, 2)
    assert replace(once, sample=0, temperature=REQUEST.temperature) == REQUEST


def test_the_line_of_a_job_says_what_is_left_only_of_a_known_number() -> None:
    assert line(JobTally(total=0, answered=30), 10.0) == "30/? answered, 3.0/s"
    assert line(JobTally(total=40, answered=30), 10.0) == "30/40 answered, 3.0/s, 0:03 left"
    assert line(JobTally(total=40), 0.0) == "0/40 answered"


def test_the_line_of_a_job_names_the_three_commonest_troubles() -> None:
    troubles = Counter({"busy": 4, "timeout": 3, "lost": 2, "odd": 1})
    tally = JobTally(total=40, answered=30, troubles=troubles)
    assert line(tally, 0.0) == "30/40 answered, tried again: 4 busy, 3 timeout, 2 lost"


def test_a_gate_lets_in_one_more_once_about_as_many_calls_as_it_lets_in_went_well() -> None:
    """Of 8 calls half are left; 4, 4.25, 4.49, 4.71, 4.92 and 5.12 after a call each."""

    async def widths() -> list[int]:
        gate = CallGate(8, first_pause=0.0, longest_pause=0.0)
        gate.narrow(0.0, None, throttled=True)
        widths_so_far = []
        for _ in range(5):
            gate.widen(sys.float_info.max)
            widths_so_far.append(gate.width)
        return widths_so_far

    assert asyncio.run(widths()) == [4, 4, 4, 4, 5]


def test_who_no_longer_waits_for_a_turn_lets_nobody_in() -> None:
    async def inside() -> list[str]:
        gate, entered = CallGate(1), []

        async def call(name: str) -> None:
            async with gate:
                entered.append(name)
                await asyncio.Event().wait()

        calls = []
        for name in ("first", "second", "third"):
            calls.append(asyncio.create_task(call(name)))
            await asyncio.sleep(0)
        calls[1].cancel()
        await asyncio.wait([calls[1]])
        await asyncio.sleep(0)
        before = list(entered)
        calls[0].cancel()
        await asyncio.wait([calls[0]])
        await asyncio.sleep(0)
        calls[2].cancel()
        await asyncio.wait([calls[2]])
        return [*before, "|", *entered]

    assert asyncio.run(inside()) == ["first", "|", "first", "third"]


@pytest.mark.parametrize(
    ("platform", "folder"),
    [("win32", "AppData/Local"), ("darwin", "Library/Caches"), ("linux", ".cache")],
)
def test_judgements_are_kept_where_a_system_has_its_caches(
    platform: str, folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("RAGEVAL_STORE", "LOCALAPPDATA", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    with monkeypatch.context() as there:
        there.setattr(sys, "platform", platform)
        path = default_path()
    assert path == tmp_path / folder / "rageval" / "judgements.sqlite"


@pytest.mark.parametrize("count", [0, 1, 2])
def test_where_nothing_but_what_cannot_be_read_came_back_that_is_all(count: int) -> None:
    run = UnreadableRun()
    for number in range(count):
        run.unreadable(number, f"key {number}", "found no JSON", "well", True)
    assert run.is_all == (count > 0)
    run.refused()
    assert not run.is_all


def test_the_text_of_a_rubric_of_a_plug_in_is_its_file_or_made_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = rubric.rubric_text("crag")
    (tmp_path / "theirs.toml").write_text(text, encoding="utf-8")
    offered = {"theirs": tmp_path / "theirs.toml", "made": rubric_named("crag")}
    monkeypatch.setattr(rubric, "plugin", lambda group, name: offered[name])
    assert rubric.rubric_text("theirs") == text
    generated = tomllib.loads(rubric.rubric_text("made"))
    assert generated["labels"] == tomllib.loads(text)["labels"]


def test_a_prompt_of_the_nuggetizer_is_asked_as_its_repository_asks(tmp_path: Path) -> None:
    path = tmp_path / "step.yaml"
    path.write_text(
        "method: nugget_scoring\nsystem_message: Label.\nprefix_user: |-\n  {nuggets}\n  Labels:\n"
    )
    settings = tomllib.loads(imported("nuggetizer", Given([str(path)])))
    # Without a fence, and again a little less certain where a reply cannot be read.
    assert (settings["unfenced"], settings["again"]) == (True, 0.2)
    assert settings["prompt"] == {"system": "Label.", "template": "{nuggets}\nLabels:"}


def test_a_prompt_of_ragtifier_is_asked_once(tmp_path: Path) -> None:
    path = tmp_path / "figure.txt"
    path.write_text("System Prompt\nWeigh it.\nQuery Prompt\n{question} {generated_answer}\n")
    settings = tomllib.loads(imported("ragtifier", Given([str(path)])))
    assert (settings["tries"], settings["temperature"]) == (1, 0.1)


def test_a_canary_asks_for_the_best_verdict_in_the_words_of_its_rubric() -> None:
    assert _canary_target(rubric_named("nugget-support")) == "the label support"
    assert _canary_target(rubric_named("liverag")) == "correctness 2, faithfulness 1"


@pytest.mark.skipif(os.name != "posix", reason="rights are of POSIX")
@pytest.mark.parametrize(("before", "after"), [(0o644, 0o600), (0o664, 0o664), (0o400, 0o400)])
def test_a_store_is_made_private_unless_a_group_may_write(before: int, after: int, tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    Store(path).close()
    path.chmod(before)
    if before == 0o400 and os.geteuid():
        pytest.skip("only root opens a file that may not be written")
    Store(path).close()
    assert stat.S_IMODE(path.stat().st_mode) == after


def test_a_reply_belongs_to_the_key_of_its_question(tmp_path: Path) -> None:
    path, other = tmp_path / "store.sqlite", replace(REQUEST, user="Is it not?")
    with Store(path) as store:
        for request in (REQUEST, other):
            store.put(request.key("m", "e"), request, Reply(OK, "yes"), "m", "e")
        assert len(list(store.export())) == 2
        assert store.damaged == 0
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE replies SET request = (SELECT request FROM replies LIMIT 1)")
    with Store(path) as store:
        assert len(list(store.export())) == 1
        assert store.damaged == 1


def test_an_owner_shows_at_once_that_it_lives_and_then_now_and_again(tmp_path: Path) -> None:
    Store(tmp_path / "store.sqlite").close()
    now = [100.0]
    with closing(sqlite3.connect(tmp_path / "store.sqlite")) as connection:
        claims = Claims(connection, lambda: now[0])
        beats = []
        for seconds in (0, BEAT / 2, BEAT / 2):
            now[0] += seconds
            claims.beat()
            beats.append(claims.beat_of(claims.owner))
    assert beats == [1, 1, 2]


def judged(reply: Reply) -> tuple[str, Request | None]:
    rubric = rubric_named("crag")
    answers = in_memory([{"query_id": "q", "run_id": "r", "answer": "In Oslo."}], "answers")
    questions = in_memory([{"query_id": "q", "question": "Where?", "answer": "Oslo"}], "questions")
    (task,) = tasks(rubric, gathered([answers], questions=questions))
    request = rubric.request(task.data, task.ids)
    outcome, retry = _read_reply(rubric, task, request, reply)
    return outcome.status, retry and replace(retry, max_tokens=retry.max_tokens // request.max_tokens)


def test_a_reply_that_was_cut_off_gets_twice_the_room_and_one_that_was_filtered_none() -> None:
    status, retry = judged(Reply(TRUNCATED, "{", usage=Usage(1, 1)))
    assert status == TRUNCATED
    assert retry is not None
    assert retry.max_tokens == 2
    assert judged(Reply(FILTERED, "")) == (FILTERED, None)


def test_a_forecast_counts_what_is_said_by_whom(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"query_id": "q", "run_id": "r", "answer": "In Oslo."}\n')
    (tmp_path / "q.jsonl").write_text('{"query_id": "q", "question": "Where?", "answer": "Oslo"}\n')
    words = ("judge", "crag", str(tmp_path / "a.jsonl"), "--questions", str(tmp_path / "q.jsonl"))
    result = CliRunner().invoke(main, [*words, "--judge", "openai:m", "--price", "1,1", "--dry-run"])
    forecast, _, shown = result.stdout.partition("The first call:\n\n")
    letters = len(shown.rstrip("\n")) - len("\n\n")
    assert f"1 calls per judge, about {letters // 4:,} tokens in" in forecast


def test_a_forecast_of_two_judges_says_what_the_dear_one_saves_as_gold(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"query_id": "q", "run_id": "r", "answer": "In Oslo."}\n')
    (tmp_path / "q.jsonl").write_text('{"query_id": "q", "question": "Where?", "answer": "Oslo"}\n')
    words = ["judge", "crag", str(tmp_path / "a.jsonl"), "--questions", str(tmp_path / "q.jsonl")]
    words += ["--judge", "openai:big", "--price", "openai:big=30", "--dry-run"]

    def estimate(*more: str) -> str:
        return CliRunner().invoke(main, [*words, *more]).stdout.partition("The first call:")[0]

    both = estimate("--judge", "openai:mini", "--price", "openai:mini=1")
    assert (
        "openai:big costs 30 times as much as openai:mini. As --gold for it, at the same width, 15% to 33%"
        " fewer of its calls are needed, which saves 6% to 23% of the money"
    ) in both
    near = estimate("--judge", "openai:mini", "--price", "openai:mini=10")
    assert "openai:big costs 3 times as much" in near
    assert "which saves 0% to 0% of the money" in near
    for other in ((), ("--judge", "openai:unknown"), ("--judge", "openai:mini", "--price", "openai:mini=0")):
        assert "As --gold" not in estimate(*other)


def test_a_source_that_does_not_look_reads_a_reply_that_was_cut_off_and_no_other() -> None:
    rubric = rubric_named("crag")
    unfenced: Any = SimpleNamespace(
        file=SimpleNamespace(unfenced=True, max_tokens=9), is_step=lambda data: True
    )
    assert rubric.file.unfenced is False
    task: Any = SimpleNamespace(data={})
    for status, taken in ((TRUNCATED, OK), (OK, OK), (FILTERED, FILTERED)):
        outcome, retry = _read_reply(unfenced, task, REQUEST, Reply(status, "perfect"))
        assert (outcome.status, retry) == (taken, None)


@pytest.mark.parametrize("wrapped", [lambda value: [value], lambda value: {"a": value}], ids=["list", "dict"])
def test_a_reply_is_nested_fifty_deep_at_most(wrapped: Callable[[Any], Any]) -> None:
    deep = functools.reduce(lambda value, _: wrapped(value), range(50), "x")
    assert _repair_value(deep) == deep
    with pytest.raises(Invalid, match="nested 50 deep at most"):
        _repair_value(wrapped(deep))


def test_one_try_after_another_waits_twice_as_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("random.uniform", lambda low, high: (low + high) / 2)
    assert [backoff(attempt, 0.5) for attempt in (1, 2, 4, 90)] == [0.5, 1.0, 4.0, 60.0]


def test_only_the_best_label_ends_a_search_among_gold_answers() -> None:
    graded = rubric_named("crag-auto")
    for label, is_best in (("accurate", True), ("missing", False), ("incorrect", False)):
        assert graded.is_best(Verdict("", grade=graded.file.labels[label], label=label)) == is_best


def test_who_says_nothing_gets_an_exact_judge_that_is_asked_at_once() -> None:
    fields = {field.name: field.default for field in msgspec.structs.fields(rubric.RubricFile)}
    assert fields["temperature"] == 0.0
    assert (Settings().batch, Settings().rebuy) == (False, False)


def test_thirty_labels_are_enough_to_fit_a_curve() -> None:
    rows = [[float(number % 2)] * len(short.FEATURES) for number in range(30)]
    right = [number % 2 == 0 for number in range(30)]
    groups = [str(number) for number in range(30)]
    assert short.cross_fit(rows, right, groups).labels == 30
    with pytest.raises(TooFewLabels, match="29 labels of answers, 15 of them right; expected 30 or more"):
        short.cross_fit(rows[:29], right[:29], groups[:29])


def test_a_job_shows_that_it_is_alive_until_it_is_canceled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waited: list[float] = []
    shown: list[int] = []
    beaten: list[int] = []

    async def sleep(seconds: float) -> None:
        waited.append(seconds)
        if len(waited) > 3:
            raise asyncio.CancelledError

    monkeypatch.setattr(asyncio, "sleep", sleep)
    store = SimpleNamespace(beat=lambda: beaten.append(1))
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(keep_beating(store, lambda: shown.append(1)))  # type: ignore[arg-type]
    assert (waited, len(shown), len(beaten)) == ([BEAT / 2] * 4, 3, 3)
