"""What a judgement says stands in its fields, never in the spelling of an id."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from rageval.comparison.arena import positions_in
from rageval.comparison.passport import read, records_of
from rageval.judges.base import Reply, Request, Usage
from rageval.judges.judge import Asked, JudgeClient, judge
from rageval.judges.material import Material
from rageval.judges.rubric import rubric_named
from rageval.records import Answer, Nugget, Question, Sentence

QUESTIONS = {"q1": Question("q1", "who?")}


def answers(*runs: str) -> list[Answer]:
    return [Answer("q1", run, (Sentence(f"It is {run}."),)) for run in runs]


def saying(label: str) -> JudgeClient:
    """A judge that says this of whatever it is shown."""

    def ask(requests: Asked, *_: object) -> Iterator[tuple[int, Reply]]:
        for number, request in requests:
            yield number, Reply("ok", json.dumps(reply(request)), usage=Usage(1, 1))

    def reply(request: Request) -> dict[str, Any]:
        if "verdicts" not in request.schema["properties"]:
            return {"evidence": "", "reason": "r", "label": label}
        ids = request.schema["properties"]["verdicts"]["items"]["properties"]["id"]["enum"]
        return {"verdicts": [{"id": name, "evidence": "", "label": label} for name in ids]}

    return JudgeClient("scripted:m", ask)


RUBRIC = """
unit = "nuggets"
kind = "labels"
sees = ["answer", "nuggets"]
[labels]
a = 1.0
b = 0.25
tie = 0.5
[prompt]
system = "s"
ask = "which?"
"""


@pytest.mark.parametrize("label", ["a", "b", "tie"])
@pytest.mark.parametrize("name", ["n | m", " | ", "ours | theirs", "n1"])
def test_a_nugget_called_like_a_comparison_is_none(label: str, name: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(RUBRIC)
    rubric = rubric_named(str(path))
    material = Material(answers("ours"), QUESTIONS, {"q1": [Nugget("q1", name, "It is.")]})
    (judgement,) = judge(rubric, material, saying(label))
    assert (judgement["aspect"], judgement["label"], judgement["grade"]) == (
        name,
        label,
        rubric.file.labels[label],
    )
    assert "shown" not in judgement


@pytest.mark.parametrize("runs", [("ours", "theirs"), ("a | b", "b"), ("x | x", "x"), (" | ", "|")])
def test_a_comparison_says_what_was_shown_in_which_order(runs: tuple[str, str]) -> None:
    judgements = list(judge(rubric_named("pairwise"), Material(answers(*runs), QUESTIONS), saying("a")))
    assert len(judgements) == 4
    for row in judgements:
        assert row["label"] == ("win" if row["run_id"] == row["shown"][0] else "loss")
        assert sorted(row["shown"]) == sorted(runs)
    assert pairs_in(judgements) == (1, 0.0, 1.0)


def pairs_in(judged: Iterable[Mapping[str, Any]]) -> tuple[float, ...] | None:
    positions = positions_in(judged)
    return positions and positions.pairs and positions.pairs[:3]


def lines(path: Path, **more: Any) -> Path:
    """A judge that prefers what is shown first, in both orders."""
    rows = [
        {"query_id": "q", "run_id": run, "aspect": " | ".join(shown), "label": label, **more}
        for shown in (("a", "b"), ("b", "a"))
        for run, label in zip(shown, ("win", "loss"), strict=True)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_files_of_0_1_name_it_in_the_aspect(tmp_path: Path) -> None:
    assert pairs_in(records_of(read(lines(tmp_path / "old")).items())) == (1, 0.0, 1.0)


def test_a_line_with_the_field_is_not_read_by_its_aspect(tmp_path: Path) -> None:
    assert pairs_in(records_of(read(lines(tmp_path / "new", shown=[])).items())) is None


def test_nuggets_are_no_comparisons_in_old_files_either(tmp_path: Path) -> None:
    assert pairs_in(records_of(read(lines(tmp_path / "nuggets", label="support")).items())) is None
