"""Votes of several judges: one name for a job, ties that a further judge breaks, labels without grades."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fair_judge import write_lines
from rageval.errors import UsageError
from rageval.judges.panel import Settings
from test_bad_input import command

QUESTIONS = [
    {"query_id": "q1", "question": "Where?", "answer": "Oslo"},
    {"query_id": "q2", "question": "Where is it?", "answer": "Oslo"},
]
ANSWERS = [
    {"query_id": "q1", "run_id": "s", "answer": "In Oslo"},
    {"query_id": "q2", "run_id": "s", "answer": "Oslo"},
]
JUDGE = ("judge", "crag", "a.jsonl", "--questions", "q.jsonl", "--judge", "contains", "--judge", "exact")


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_lines(**{"a.jsonl": ANSWERS})
    write_lines(**{"q.jsonl": QUESTIONS})


def voted() -> list[dict[str, object]]:
    return [json.loads(line) for line in Path("v.jsonl").read_text(encoding="utf-8").splitlines()]


def test_a_vote_has_one_name_where_nobody_differed_too() -> None:
    write_lines(**{"a.jsonl": ANSWERS[1:], "q.jsonl": QUESTIONS[1:]})
    assert command(*JUDGE, "--vote", "majority", "--tiebreak", "number", "-o", "v.jsonl").code == 0
    assert {row["judge"] for row in voted()} == {"majority:contains+exact,tiebreak:number"}


def test_there_is_no_tie_to_break_in_a_mean() -> None:
    outcome = command(*JUDGE, "--tiebreak", "number", "-o", "v.jsonl")
    assert outcome.code == 2
    assert "no ties to break" in outcome.err
    with pytest.raises(UsageError):
        Settings(tiebreak="number")


def test_the_median_of_labels_is_by_their_grades() -> None:
    outcome = command(*JUDGE, "--vote", "median", "-o", "v.jsonl", "-m", "crag_score")
    assert outcome.code == 0, outcome
    assert [row["label"] for row in voted()] == ["incorrect", "perfect"]  # the lower one of two
