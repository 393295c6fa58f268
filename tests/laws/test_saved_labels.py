"""What `annotate --serve` saves is exactly what `score` reads: of each kind of plan, each label and grade."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from labeling import NAMES, lines, plan_of, written
from rageval import evaluate_answers
from rageval.errors import InputError, MissingJudgements, RagevalError
from rageval.files.plans import LabelPlan, read_plan
from rageval.pages.labels import LabelFile

pytestmark = pytest.mark.slow

NOTHING = "nothing"  # no such key in the record
GRADES = (NOTHING, 1, 0.5, 0, -1, 2, 7.5, "high", True)
LABELS = (NOTHING, "splendid", 1)
STATUSES = ("ok", "refused")
ODD = (
    *({"label": label} for label in (None, "", ["win"], {})),
    *({"label": NOTHING, "grade": grade} for grade in (None, 10**300, "1", [1], {}, -0.25)),
    *({"status": status} for status in (NOTHING, "fine", None, 1)),
)


def plan_of_grades(folder: Path) -> Path:
    lines(folder / "a.jsonl", ({"query_id": "q0000", "run_id": run, "answer": "So."} for run in NAMES))
    lines(folder / "q.jsonl", [{"query_id": "q0000", "question": "Why?", "answer": "So."}])
    rows = [
        {"query_id": "q0000", "run_id": run, "aspect": aspect, "grade": 1, "rubric": "liverag"}
        for run in NAMES
        for aspect in ("correctness", "faithfulness")
    ]
    lines(folder / "j.jsonl", rows)
    words = ["--answers", "a.jsonl", "--questions", "q.jsonl", "-n", "1", "-o", "p.jsonl"]
    return written(folder, "label", "plan", "j.jsonl", *words)


PLANS = {
    "crag": ("crag_score", lambda folder: plan_of(folder, 1)),
    "nugget-assignment": ("nugget_recall", lambda folder: plan_of(folder, 1, "nugget-assignment")),
    "pairwise": ("win_rate", lambda folder: plan_of(folder, 1, "pairwise")),
    "liverag": ("correctness", plan_of_grades),
}


def place_in(plan: LabelPlan) -> dict[str, Any]:
    """A place of the plan that the measure looks at, with what the page sends beside the label."""
    (query,) = plan.asked
    ask = next(ask for ask in query.asks if ask.aspect != "faithfulness")
    also = {name: getattr(ask, name) for name in ("importance", "weight", "sentences")}
    about: dict[str, Any] = {"query_id": query.query_id, "run_id": ask.run_id, "aspect": ask.aspect}
    if ask.pair is not None:
        about |= {"run_id": ask.pair[0], "aspect": " | ".join(ask.pair), "shown": list(ask.pair)}
    fields = {name: value for name, value in also.items() if value is not None}
    who = {"annotator": "kim", "judge": "person:kim", "plan": plan.sha, "rubric": plan.rubric}
    return {**about, "item_id": ask.item_id, **fields, **who, "order": 1, "seconds": 0.5}


def drawn(plan: LabelPlan) -> Iterator[dict[str, Any]]:
    place = place_in(plan)
    # Of grades a page gives no labels.
    labels = (NOTHING,) if plan.kind == "grades" else (*LABELS, *plan.labels)
    drawn_from = product(labels, GRADES, STATUSES)
    every = ({"label": label, "grade": grade, "status": status} for label, grade, status in drawn_from)
    for fields in (*every, *({"status": "ok", "label": labels[-1], **odd} for odd in ODD)):
        yield place | {key: value for key, value in fields.items() if value != NOTHING}


def is_read(file: Path, measure: str) -> bool:
    """Whether `score` reads the file, and a grade in it unless it was refused."""
    row = json.loads(file.read_text())
    try:
        scores = evaluate_answers(measure, str(file))
    except MissingJudgements:
        return row.get("status") == "refused"
    except RagevalError:
        return False
    (score,) = [result[measure] for result in scores.values()]
    return math.isfinite(score.value)


def refused(labels: LabelFile, record: dict[str, Any]) -> str | None:
    try:
        labels.change([record], [])
    except InputError as error:
        return str(error)
    return None


@pytest.mark.some(4)
@pytest.mark.parametrize("rubric", PLANS)
def test_what_is_saved_is_what_score_reads(tmp_path: Path, rubric: str) -> None:
    measure, make = PLANS[rubric]
    plan, alone = read_plan(str(make(tmp_path))), tmp_path / "alone.jsonl"
    saved, not_saved = 0, 0
    with LabelFile(tmp_path / "kim.jsonl", plan, "kim") as labels:
        for record in drawn(plan):
            alone.write_text(json.dumps(record) + "\n")
            # A page always says the status; score takes a row without one for ok.
            is_valid = record.get("status") is not None and is_read(alone, measure)
            problem = refused(labels, record)
            assert (problem is None) == is_valid, (record, problem)
            if is_valid:
                assert is_read(tmp_path / "kim.jsonl", measure)
                saved += 1
            else:
                not_saved += 1
    assert saved >= 4
    assert not_saved > 10
