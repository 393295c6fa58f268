"""Judgements that are replayed belong to the texts that were judged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import rageval
from commands import run_command, write_jsonl

_GOLD = [
    {"query_id": f"q{number}", "question": f"Where is {number}?", "answer": "Oslo"} for number in range(3)
]
_ANSWERS = [
    {"query_id": f"q{number}", "run_id": "r", "answer": "In Oslo." if number else "In Rome."}
    for number in range(3)
]


def _replay(tmp_path: Path, answers: Any, gold: Any, judged: Any) -> Any:
    words = [write_jsonl(tmp_path / "answers.jsonl", answers)]
    words += ["--questions", write_jsonl(tmp_path / "questions.jsonl", gold)]
    words += ["--judge", f"frozen:{write_jsonl(tmp_path / 'judged.jsonl', judged)}"]
    return run_command("judge", "crag", *words)


@pytest.mark.parametrize("judge", ["contains", "exact", "number"])
def test_old_verdicts_are_not_replayed_for_new_texts(tmp_path: Path, judge: str) -> None:
    judged = list(rageval.judge("crag", _ANSWERS, judge, questions=_GOLD))
    replay = _replay(tmp_path, _ANSWERS, _GOLD, judged)
    assert replay.exit_code == 0
    assert [json.loads(line) for line in replay.stdout.splitlines()] == judged
    assert "judged_sha" not in replay.stderr
    other = [*_ANSWERS[:1], {**_ANSWERS[1], "answer": "In Rome."}, *_ANSWERS[2:]]
    for answers, gold in (
        (other, _GOLD),
        (_ANSWERS, [_GOLD[0], {**_GOLD[1], "answer": "Rome"}, _GOLD[2]]),
    ):
        refused = _replay(tmp_path, answers, gold, judged)
        assert refused.exit_code == 2
        assert "query q1" in refused.stderr


def test_judgements_that_say_no_texts_are_replayed_with_a_remark(tmp_path: Path) -> None:
    judged = [dict(row) for row in rageval.judge("crag", _ANSWERS, "contains", questions=_GOLD)]
    for row in judged:
        del row["judged_sha"]
    replayed = _replay(tmp_path, _ANSWERS, _GOLD, judged)
    assert replayed.exit_code == 0
    assert "have no digests of what was judged" in replayed.stderr
    with pytest.warns(UserWarning, match="have no digests of what was judged"):
        rageval.judge("crag", _ANSWERS, f"frozen:{tmp_path / 'judged.jsonl'}", questions=_GOLD)
