"""Labels that are looked at before all are there: when a claim may be made, and what is told until then."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from commands import run_checked, write_jsonl
from rageval.files.plans import LabelPlan, read_plan
from reasons import why

QUERIES, LABELS = 120, 80
LabelsByAnswer = dict[tuple[str, str], str]


def rows(labels_by_answer: LabelsByAnswer, **more: str) -> list[dict[str, Any]]:
    return [
        {"query_id": query, "run_id": name, "label": label, "rubric": "crag", **more}
        for (query, name), label in labels_by_answer.items()
    ]


@pytest.fixture
def judged(tmp_path: Path) -> Path:
    """A judge who finds both alike."""
    labels_by_answer = {
        (f"q{index:03d}", name): "perfect" for index in range(QUERIES) for name in ("ours", "theirs")
    }
    return Path(write_jsonl(tmp_path / "judged.jsonl", rows(labels_by_answer, judge="openai:m")))


@pytest.fixture
def plan(tmp_path: Path, judged: Path) -> LabelPlan:
    words = ("--decide", "ours>theirs", "-m", "crag_score", "-n", LABELS)
    run_checked("label", "plan", judged, *words, "-o", tmp_path / "ask.jsonl")
    return read_plan(str(tmp_path / "ask.jsonl"))


def labeled(tmp_path: Path, plan: LabelPlan, number: int, lost: int = 4, less: int = 0) -> Path:
    """What people said of the first queries: ours is better in one of so many, theirs in one of 20."""
    labels_by_answer: LabelsByAnswer = {}
    for index, query in enumerate(plan.order[:number]):
        ours = "incorrect" if index % 20 == 1 else "perfect"
        theirs = "incorrect" if index % lost == 0 else "perfect"
        labels_by_answer |= {(query, "ours"): ours, (query, "theirs"): theirs}
    label_rows = rows(labels_by_answer, judge="person:kim", plan=plan.sha)
    return Path(write_jsonl(tmp_path / "labels.jsonl", label_rows[: len(label_rows) - less]))


def compared(judged: Path, labels: Path, *more: str) -> dict[str, Any]:
    words = ("--gold", labels, "--gold-chosen", labels.parent / "ask.jsonl", "--all-pairs", *more)
    result = run_checked("compare", judged, "-m", "crag_score", *words, "--format", "json")
    pair: dict[str, Any] = json.loads(result.stdout)["pairs"][0]
    return {**pair, "said": result.stderr}


def test_a_prefix_of_any_plan_has_its_own_bound(tmp_path: Path, judged: Path) -> None:
    run_checked("label", "plan", judged, "-n", LABELS, "-m", "crag_score", "-o", tmp_path / "ask.jsonl")
    plan = read_plan(str(tmp_path / "ask.jsonl"))
    pair = compared(judged, labeled(tmp_path, plan, 40))
    assert (pair["verdict"], pair["p"] < 0.05) == ("undecided", True)
    assert "40 of 80 queries of the plan are labeled" in why(pair)


def test_a_plan_decides_by_the_measure_it_names_and_no_other(
    tmp_path: Path, judged: Path, plan: LabelPlan
) -> None:
    labels = labeled(tmp_path, plan, 80)
    words = ("--gold", labels, "--gold-chosen", tmp_path / "ask.jsonl", "--format", "json")
    result = run_checked("compare", judged, "-m", "crag_score,hallucination", *words)
    verdicts = {pair["measure"]: (pair["verdict"], why(pair)) for pair in json.loads(result.stdout)["pairs"]}
    assert verdicts["crag_score"][0] == "higher" or verdicts["crag_score"][0] == "lower"
    (other,) = (pair for name, pair in verdicts.items() if name != "crag_score")
    assert other == ("refused", "the plan decides only by crag_score")


def test_labels_that_cannot_be_told_count_as_labeled(tmp_path: Path, judged: Path, plan: LabelPlan) -> None:
    labels = labeled(tmp_path, plan, 60)
    rows = [json.loads(line) for line in labels.read_text().splitlines()]
    rows[10] = {key: value for key, value in rows[10].items() if key != "label"} | {"status": "refused"}
    write_jsonl(labels, rows)
    pair = compared(judged, labels)
    assert pair["labels"] == 59
    assert "60 of 80 queries of the plan are labeled" in why(pair)


def test_the_arena_reads_a_beginning_by_its_bound(tmp_path: Path) -> None:
    def battle(index: int, judge: str, **more: str) -> list[dict[str, Any]]:
        sides = (("ours", "win"), ("theirs", "loss")) if index % 3 else (("ours", "loss"), ("theirs", "win"))
        place = {"query_id": f"q{index:03d}", "rubric": "pairwise", "aspect": "ours | theirs", "judge": judge}
        return [{**place, "run_id": name, "label": label, **more} for name, label in sides]

    judged = write_jsonl(
        tmp_path / "judged.jsonl", [row for index in range(100) for row in battle(index, "openai:m")]
    )
    words = ("--decide", "ours>theirs", "-m", "win_rate", "-n", 80, "-o", tmp_path / "ask.jsonl")
    run_checked("label", "plan", judged, *words)
    plan = read_plan(str(tmp_path / "ask.jsonl"))
    labels = [row for query in plan.order for row in battle(int(query[1:]), "person:kim", plan=plan.sha)]
    words = ("arena", judged, "--gold-chosen", tmp_path / "ask.jsonl", "--gold")
    result = run_checked(*words, write_jsonl(tmp_path / "some.jsonl", labels[:120]), "--format", "json")
    assert "60 of 80 queries of the plan are labeled: intervals are wider" in result.stderr
    whole = run_checked(*words, write_jsonl(tmp_path / "all.jsonl", labels), "--format", "json")
    assert "queries of the plan are labeled" not in whole.stderr
    some, every = (json.loads(arena_result.stdout)[0] for arena_result in (result, whole))
    assert some["high"] - some["low"] > 1.2 * (every["high"] - every["low"])
