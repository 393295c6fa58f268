"""Labels that are looked at before all are there: when a claim may be made, and what is told until then."""

from __future__ import annotations

import json
import math
from pathlib import Path
from statistics import NormalDist
from types import SimpleNamespace
from typing import Any

import pytest

from commands import run_checked, write_jsonl
from rageval.files.plans import LabelPlan, read_plan
from rageval.scoring.gold import Draw
from rageval.statistics.correction import corrected
from rageval.statistics.looks import bound_at
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


@pytest.mark.some(5)
@pytest.mark.parametrize("number", [20, 33, 40, 61, 79, 80])
def test_each_look_holds_p_against_its_own_bound(
    tmp_path: Path, judged: Path, plan: LabelPlan, number: int
) -> None:
    pair = compared(judged, labeled(tmp_path, plan, number))
    bound = bound_at(number, LABELS)
    gaps = [(2.0 if index % 4 == 0 else 0.0) - (2.0 if index % 20 == 1 else 0.0) for index in range(number)]
    zeros = [0.0] * QUERIES
    look = 0.95 if number < LABELS else None
    p = corrected(zeros, dict(enumerate(gaps)), paired=True, span=1.0, look=look).p
    assert (pair["labels"], pair["p"]) == (number, pytest.approx(p))
    assert pair["verdict"] == ("higher" if p < bound else "undecided")
    assert f"{number} of 80 queries of the plan are labeled (p < {bound:.2g})" in why(pair)


def test_the_bound_is_that_of_a_sum_that_is_always_looked_at() -> None:
    # 2Φ(−c√(n/k)) with 4(1 − Φ(c)) = α: at the end half of α, and at each look less.
    assert bound_at(200, 200) == pytest.approx(0.025)
    assert bound_at(200, 200, 0.9) == pytest.approx(0.05)
    assert bound_at(300, 200) == bound_at(200, 200)
    assert bound_at(50, 200) == pytest.approx(2 * NormalDist().cdf(-2 * 2.241402727604947))
    bounds = [bound_at(k, 200) for k in range(1, 201)]
    assert bounds == sorted(bounds)
    # A random walk of 200 fair steps of ±1 crosses it seldom: all its ways are counted.
    edge = -NormalDist().inv_cdf(bounds[99] / 2) * math.sqrt(100)  # of the sum: the same at each look
    assert edge == pytest.approx(-NormalDist().inv_cdf(bounds[49] / 2) * math.sqrt(50))
    sum_so_far, crossed = {0: 1.0}, 0.0
    for _ in range(200):
        step: dict[int, float] = {}
        for place, chance in sum_so_far.items():
            for to in (place - 1, place + 1):
                step[to] = step.get(to, 0.0) + chance / 2
        crossed += math.fsum(chance for place, chance in step.items() if abs(place) > edge)
        sum_so_far = {place: chance for place, chance in step.items() if abs(place) <= edge}
    assert 0.03 < crossed < 0.05


def test_what_would_be_clear_without_looks_is_not_yet(tmp_path: Path, judged: Path, plan: LabelPlan) -> None:
    pair = compared(judged, labeled(tmp_path, plan, 40))
    assert bound_at(40, LABELS) < pair["p"] < 0.05
    assert pair["verdict"] == "undecided"
    assert why(pair).endswith("go on")
    assert "ours against theirs: crag_score: 40 of 80 queries of the plan are labeled" in pair["said"]
    labels = tmp_path / "labels.jsonl"
    labels.write_text(labels.read_text().replace(plan.sha, ""))
    once = ("compare", judged, "-m", "crag_score", "--gold", labels, "--gold-chosen", "uniform")
    result = run_checked(*once, "--format", "json")
    assert json.loads(result.stdout)["pairs"][0]["verdict"] in ("higher", "lower")


@pytest.mark.slow
def test_it_stops_when_it_is_clear_and_at_the_end(tmp_path: Path, judged: Path, plan: LabelPlan) -> None:
    pair = compared(judged, labeled(tmp_path, plan, 30, lost=1))
    assert (pair["verdict"], pair["p"] < bound_at(30, LABELS)) == ("higher", True)
    assert why(pair).endswith("stop, it is clear")
    pair = compared(judged, labeled(tmp_path, plan, 80, lost=19))
    assert pair["verdict"] == "undecided"
    assert why(pair).endswith("stop, it stays undecided")


@pytest.mark.slow
@pytest.mark.parametrize(("number", "less", "counted"), [(7, 0, 7), (19, 0, 19), (20, 1, 19)])
def test_before_there_are_enough_nothing_is_said(
    tmp_path: Path, judged: Path, plan: LabelPlan, number: int, less: int, counted: int
) -> None:
    pair = compared(judged, labeled(tmp_path, plan, number, lost=1, less=less))
    assert pair["verdict"] == "refused"
    assert f"labels for {counted} of both (≥ 20 needed)" in why(pair)


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


@pytest.mark.slow
@pytest.mark.parametrize("number", [40, 61, 80])
def test_intervals_of_a_beginning_hold_at_every_look(
    tmp_path: Path, judged: Path, plan: LabelPlan, number: int
) -> None:
    """Of the difference, and of each system's mean: by the bound of this look, until all labels are there."""
    labels = labeled(tmp_path, plan, number)
    labels_by_answer = {
        (row["query_id"], row["run_id"]): row["label"]
        for row in map(json.loads, labels.read_text().splitlines())
    }
    worth = {"perfect": 1.0, "incorrect": -1.0}
    ours, theirs = (
        [worth[labels_by_answer[query, name]] for query in plan.order[:number]] for name in ("ours", "theirs")
    )
    how: dict[str, Any] = {"look": 1 - bound_at(number, LABELS) if number < LABELS else None}
    gaps = {index: mine - yours for index, (mine, yours) in enumerate(zip(ours, theirs, strict=True))}
    pair = corrected([0.0] * QUERIES, gaps, paired=True, within=(-2, 2), **how)
    compared_pair = compared(judged, labels)
    assert (compared_pair["low"], compared_pair["high"]) == pytest.approx((pair.low, pair.high))
    mean = corrected([1.0] * QUERIES, dict(enumerate(ours)), paired=False, span=2.0, within=(-1, 1), **how)
    words = ("--gold", labels, "--gold-chosen", tmp_path / "ask.jsonl", "--format", "json")
    result = run_checked("label", "correct", judged, "-m", "crag_score", *words)
    (row,) = (row for row in json.loads(result.stdout)["results"] if row["run"] == "ours")
    assert (row["low"], row["high"]) == pytest.approx((mean.low, mean.high))
    is_said = f"{number} of 80 queries of the plan are labeled: intervals are wider" in result.stderr
    assert is_said == (number < LABELS)


def test_the_first_labels_of_a_long_plan_leave_nothing_out() -> None:
    """2Φ(−2.24√50) is nothing beside 1, and the interval is as wide as there are values."""
    plan: Any = SimpleNamespace(asked=range(1000))
    level = Draw(plan=plan, labeled=20).look_level(0.95)
    gaps = {index: index % 2 / 2 for index in range(20)}
    correction = corrected([0.5] * 1000, gaps, paired=True, within=(-1, 1), look=level)
    assert level is not None
    assert level < 1
    assert (correction.low, correction.high) == (-1, 1)


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
