"""One small case each of what judging decides on the way, worked out by hand."""

from __future__ import annotations

import os
import stat
import sys
import tomllib
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from rageval.cli import main
from rageval.judges import rubric, rubric_named
from rageval.judges.asking import JobTally, line
from rageval.judges.base import Request
from rageval.judges.foreign import python_template
from rageval.judges.panel import _canary_target
from rageval.judges.store import Store, default_path
from rageval.judges.verdicts import Verdict

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


def test_the_line_of_a_job_names_the_three_commonest_troubles() -> None:
    troubles = Counter({"busy": 4, "timeout": 3, "lost": 2, "odd": 1})
    tally = JobTally(total=40, answered=30, troubles=troubles)
    assert line(tally, 0.0) == "30/40 answered, tried again: 4 busy, 3 timeout, 2 lost"


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


def test_only_the_best_label_ends_a_search_among_gold_answers() -> None:
    graded = rubric_named("crag-auto")
    for label, is_best in (("accurate", True), ("missing", False), ("incorrect", False)):
        assert graded.is_best(Verdict("", grade=graded.file.labels[label], label=label)) == is_best
