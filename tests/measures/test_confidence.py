"""Confidence and the cost of correct answers: slow oracles, ties, repeats, other orders, and claims.

The oracles are loops over answers and fractions, written from the definitions. Resampled differences are
tested by their rates: two systems that are alike differ in a twentieth of the cases.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import groupby, permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rageval
from commands import run_checked, run_command
from rageval.comparison import Comparison, compare
from rageval.errors import MeasureError, MissingJudgements, UsageError
from rageval.measures.parsing import parse_measure
from rageval.measures.together import Outcomes
from rageval.pages.page import read_report
from rageval.scoring.answers import evaluate_all, read_judgements
from rageval.scoring.rules import Rules
from rageval.scoring.scores import Score
from rageval.statistics.bootstrap import ends_of, p_of_resamples

DATA = Path(__file__).parents[2] / "examples/data/confidence"
NAMES = ("brier", "calibration_error", "selective", "cost_per_correct")
Case = Sequence[tuple[float, int, float]]  # confidence, right, cost


def drawn(seed: int, number: int | None = None, levels: int = 5) -> Case:
    """Answers of few confidences, so that many tie."""
    rng = random.Random(seed)
    size = rng.randint(1, 12) if number is None else number
    return [(rng.randint(0, levels) / levels, rng.randint(0, 1), rng.randint(0, 9) / 4) for _ in range(size)]


def evaluated(names: str, systems: Mapping[str, Case], **options: Any) -> rageval.ScoresTable:
    rows = [(run, f"q{place:03}", *one) for run, case in systems.items() for place, one in enumerate(case)]
    judged = [
        {"query_id": query, "run_id": run, "label": "accurate" if right else "incorrect", "rubric": "crag"}
        for run, query, _, right, _ in rows
    ]
    answers = [
        {"query_id": query, "run_id": run, "answer": "x", "confidence": confidence, "cost": cost}
        for run, query, confidence, _, cost in rows
    ]
    return rageval.evaluate_answers(names, judged, answers=answers, **options)


def score(name: str, case: Case, **options: Any) -> Score:
    return evaluated(name, {"r": case}, **options)["r"].scores[0]


def bins_of(case: Case, bin_size: int) -> list[list[tuple[float, int, float]]]:
    """The bins by their definition: a tie stands where its first answer does, and the last takes the rest."""
    ordered = sorted(case)
    bins: list[list[tuple[float, int, float]]] = [[] for _ in range(max(len(ordered) // bin_size, 1))]
    place = 0
    for _, tied in groupby(ordered, key=lambda one: one[0]):
        members = list(tied)
        bins[min(place // bin_size, len(bins) - 1)] += members
        place += len(members)
    return [one for one in bins if one]


def oracle(name: str, case: Case, bin_size: int = 100, norm: int = 2, coverage: float = 0.5) -> float:
    total = Fraction(0)
    exact = [(Fraction(c), Fraction(y), Fraction(cost)) for c, y, cost in case]
    if name == "brier":
        return float(sum((c - y) ** 2 for c, y, _ in exact) / len(exact))
    if name == "cost_per_correct":
        right = sum(y for _, y, _ in exact)
        return float(sum(cost for *_, cost in exact) / right) if right else math.nan
    if name == "selective":
        among = Fraction(coverage) * len(exact)
        orders = list(permutations(exact)) if len(exact) < 7 else [tuple(exact)]
        values = []
        for order in orders:  # every order of ties, once sorted
            ordered = sorted(order, key=lambda one: -one[0])
            parts = [min(max(among - place, Fraction(0)), Fraction(1)) for place in range(len(ordered))]
            values.append(sum(part * y for part, (_, y, _) in zip(parts, ordered, strict=True)) / among)
        return float(sum(values) / len(values))
    for members in bins_of(case, bin_size):
        size = len(members)
        share = Fraction(sum(y for _, y, _ in members), size)
        mean = sum(Fraction(c) for c, *_ in members) / size
        total += Fraction(size, len(case)) * abs(share - mean) ** norm
    return float(total) ** (1 / norm)


@pytest.mark.parametrize("seed", range(40))
def test_a_measure_is_its_oracle(seed: int) -> None:
    case = drawn(seed)
    for name in ("brier", "cost_per_correct"):
        assert score(name, case).value == pytest.approx(oracle(name, case), abs=1e-12, nan_ok=True)
    for bin_size, norm in ((2, 1), (2, 2), (3, 3), (5, 2), (100, 2)):
        ours = score(f"calibration_error(bin_size={bin_size},norm={norm})", case).value
        assert ours == pytest.approx(oracle("calibration_error", case, bin_size, norm), abs=1e-9)
    if len(case) < 7:
        for coverage in (0.25, 0.5, 0.8, 1.0):
            ours = score(f"selective(coverage={coverage})", case).value
            assert ours == pytest.approx(oracle("selective", case, coverage=coverage), abs=1e-12)


@pytest.mark.parametrize(
    "name", [*NAMES, "calibration_error(bin_size=3,debiased=true)", "selective(coverage=0.3)"]
)
def test_the_order_of_the_file_changes_nothing(name: str) -> None:
    case = drawn(3, 11)
    values = {score(name, random.Random(seed).sample(case, len(case))).value for seed in range(10)}
    assert max(values) - min(values) < 1e-12


def test_debiased_subtracts_the_variance_of_a_bin() -> None:
    case = [(0.5, right, 0.0) for right in (1, 1, 1, 0)]
    assert score("calibration_error", case).value == pytest.approx(0.25)
    expected = math.sqrt(0.25**2 - 0.75 * 0.25 / 3)
    assert score("calibration_error(debiased=true)", case).value == pytest.approx(expected, abs=1e-9)
    # A bin of one has no variance, and a sum below 0 is 0.
    assert score("calibration_error(debiased=true)", case[:1]).value == pytest.approx(0.5)
    assert score("calibration_error(debiased=true)", [(0.5, 1, 0.0), (0.5, 0, 0.0)]).value == 0
    for wrong in ("debiased=true,norm=1", "debiased=true,rule=browsecomp-plus"):
        with pytest.raises(MeasureError, match="debiased=true needs norm=2"):
            score(f"calibration_error({wrong})", case)


def quirk(case: Case, bin_size: int) -> float:
    """The script of BrowseComp-Plus, as it stands: `range(len(bins) - 1)` leaves out the last bin."""
    order = sorted(range(len(case)), key=lambda place: case[place][0])
    bins = [[place * bin_size, (place + 1) * bin_size] for place in range(len(case) // bin_size)]
    bins[-1] = [bins[-1][0], len(case)]
    error = 0.0
    for number in range(len(bins) - 1):
        members = [case[place] for place in order[bins[number][0] : bins[number][1]]]
        gap = sum(y for _, y, _ in members) / len(members) - sum(c for c, *_ in members) / len(members)
        error += len(members) / len(case) * gap**2
    return 100 * math.sqrt(error)


def vector() -> Case:
    """250 answers that are sure where they are wrong: the last bin has all of the error."""
    rng = random.Random(12)
    sure = [round(0.2 + 0.795 * number / 249, 4) for number in range(250)]
    case = [(c, int(rng.random() < (c if c < 0.52 else 0.35)), 0.0) for c in sure]
    return rng.sample(case, len(case))


def test_browsecomp_plus_leaves_out_its_last_bin() -> None:
    case = vector()
    theirs = score("calibration_error", case, compat="browsecomp-plus")
    assert theirs.value == pytest.approx(quirk(case, 100), abs=1e-9) == pytest.approx(2.0212, abs=1e-4)
    assert 100 * score("calibration_error", case).value == pytest.approx(33.9209, abs=1e-4)
    assert str(theirs.measure) == "calibration_error(rule=browsecomp_plus)"
    assert "|rule:browsecomp_plus|" in theirs.signature
    assert theirs.signature.endswith(f"|compat:browsecomp-plus|v:{rageval.__version__}")
    # It depends on the order of ties.
    tied = [(0.5, 1, 0.0)] * 2 + [(0.5, 0, 0.0)] * 2 + [(0.9, 1, 0.0)] * 2
    name = "calibration_error(bin_size=2,rule=browsecomp-plus)"
    for order in (tied, tied[::-1]):
        assert score(name, order).value == pytest.approx(quirk(order, 2))
    assert score(name, tied).value != score(name, [tied[1], tied[2], *tied])
    # Fewer answers than a bin have no value there.
    assert math.isnan(score(name, tied[:1]).value)


def test_repeats_count_as_one_answer() -> None:
    judged, answers = [], []
    for repeat, (confidence, right, cost) in enumerate([(0.9, 1, 2.0), (0.5, 0, 4.0)]):
        place = {"query_id": "q", "run_id": "r", "repeat": repeat}
        judged.append(place | {"label": "accurate" if right else "incorrect"})
        answers.append(place | {"answer": "x", "confidence": confidence, "cost": cost})
    place = {"query_id": "p", "run_id": "r"}
    for repeat in range(2):
        judged.append(place | {"repeat": repeat, "label": "accurate"})
        answers.append(place | {"repeat": repeat, "answer": "x", "confidence": 0.7, "cost": 1.0})
    scores = rageval.evaluate_answers(", ".join(NAMES), judged, answers=answers)["r"]
    assert scores["cost_per_correct"].value == pytest.approx((3 + 1) / 1.5)
    assert scores["calibration_error"].value == pytest.approx(abs(1.5 / 2 - 0.7))
    assert scores["brier"].value == pytest.approx(((0.01 + 0.25) / 2 + 0.09) / 2)
    # The surest half of two questions: the first answer to q, of half a weight, and half a question of p.
    assert scores["selective"].value == 1.0


def test_several_judges_count_alike() -> None:
    judged = [
        {"query_id": "q", "run_id": "r", "judge": judge, "label": label}
        for judge, label in (("a", "accurate"), ("b", "incorrect"))
    ]
    answers = [{"query_id": "q", "run_id": "r", "answer": "x", "confidence": 0.75, "cost": 3.0}]
    scores = rageval.evaluate_answers("cost_per_correct, calibration_error", judged, answers=answers)["r"]
    assert scores["cost_per_correct"].value == pytest.approx(6)
    assert scores["calibration_error"].value == pytest.approx(0.25)


def test_what_is_missing_is_counted() -> None:
    judged = [{"query_id": q, "run_id": "r", "label": "accurate", "rubric": "crag"} for q in "abc"]
    answers = [{"query_id": query, "run_id": "r", "answer": "x"} for query in "abc"]
    answers[0] |= {"confidence": 0.5, "cost": 1.0}
    for name in NAMES:
        one = rageval.evaluate_answers(name, judged, answers=answers)["r"].scores[0]
        assert (one.queries, one.undefined) == (1, 2)
    failed = [*judged[:2], {"query_id": "c", "run_id": "r", "status": "error", "rubric": "crag"}]
    stated = [one | {"confidence": 0.5, "cost": 1.0} for one in answers]
    with pytest.raises(MissingJudgements, match=r"selective needs .* between 0\.0000 and 1\.0000"):
        rageval.evaluate_answers("selective", failed, answers=stated)
    skipped = rageval.evaluate_answers(
        "selective, cost_per_correct", failed, answers=stated, on_missing="skip"
    )["r"]
    assert [(one.queries, one.missing) for one in skipped.scores] == [(2, 1), (2, 1)]
    assert skipped["selective"].bounds == (0.0, 1.0)


def test_nothing_correct_has_no_cost_and_a_wrong_answer_adds_its_cost() -> None:
    case = [(0.5, 1, 2.0), (0.5, 0, 3.0)]
    one = score("cost_per_correct", case)
    assert (one.value, one.queries, one.undefined) == (5.0, 2, 0)
    assert math.isnan(one.by_query["q001"])
    assert math.isnan(score("cost_per_correct", case[1:]).value)
    assert isinstance(one.numbers[1], Outcomes)


def systems(number: int, seed: int, boast: float = 0.0, price: float = 1.0) -> dict[str, Case]:
    """Two systems of the same questions, of which the second boasts and is dearer."""
    rng = random.Random(seed)
    cases: dict[str, list[tuple[float, int, float]]] = {"a": [], "b": []}
    for _ in range(number):
        chance = rng.uniform(0.2, 0.9)
        for run, more, dear in (("a", 0.0, 1.0), ("b", boast, price)):
            sure = chance + more * (1 - chance)
            cases[run].append((round(sure, 2), int(rng.random() < chance), dear * rng.uniform(0.5, 1.5)))
    return dict(cases)


def compared(name: str, cases: Mapping[str, Case], **options: Any) -> Comparison:
    table = evaluated(name, cases)
    settings = rageval.comparison.Settings(baseline="a", resamples=400, **options)
    return compare(list(table.values()), settings)


@pytest.mark.parametrize(
    ("name", "verdict"),
    [("cost_per_correct", "worse"), ("calibration_error(bin_size=30)", "worse"), ("selective", "undecided")],
)
def test_differences_are_tested_by_a_paired_bootstrap(name: str, verdict: str) -> None:
    comparison = compared(name, systems(150, 2, boast=0.7, price=2.0))
    (pair,) = comparison.pairs
    assert pair.test == "bootstrap"
    assert str(pair.verdict).startswith(verdict)
    cells = {cell.run: cell for cell in comparison.cells}
    assert pair.difference == pytest.approx(cells["b"].value - cells["a"].value)
    assert all(cell.low <= cell.value <= cell.high for cell in cells.values())
    assert (pair.low <= 0 <= pair.high) == (pair.p > 0.05)
    assert any(remark.code == "resampled_differences" for remark in comparison.remarks)


def test_the_same_answers_are_identical_and_few_decide_nothing() -> None:
    case = systems(40, 1)["a"]
    (pair,) = compared("calibration_error", {"a": case, "b": case}).pairs
    assert str(pair.verdict).startswith("identical")
    few = systems(9, 3, price=50.0)
    (pair,) = compared("cost_per_correct", few).pairs
    assert pair.verdict == "undecided"
    assert pair.reasons[0].code == "few_independent_questions"


def test_clusters_are_drawn_together() -> None:
    cases = systems(120, 4, price=1.3)
    alone = compared("cost_per_correct", cases).pairs[0]
    clusters = {f"q{number:03}": str(number // 2) for number in range(120)}
    # Each question twice, in one cluster with its copy: as many clusters as before, and the same interval.
    twice = {run: [one for one in case for _ in range(2)] for run, case in cases.items()}
    doubled = {f"q{number:03}": str(number // 2) for number in range(240)}
    together = compared("cost_per_correct", twice, clusters=doubled).pairs[0]
    assert together.difference == pytest.approx(alone.difference)
    assert together.high - together.low == pytest.approx(alone.high - alone.low, rel=0.15)
    assert compared("cost_per_correct", twice).pairs[0].high - together.high < 0
    (pair,) = compared(
        "cost_per_correct", {run: case[:18] for run, case in cases.items()}, clusters=clusters
    ).pairs
    assert pair.reasons[0].code == "few_clusters"


@pytest.mark.parametrize("units", [10, 40, 500])
@pytest.mark.parametrize("shift", [-0.3, 0.1, 1.5, 3.0])
def test_p_and_interval_agree(units: int, shift: float) -> None:
    values = np.random.default_rng(5).normal(shift, 1, 4000)
    for level in (0.9, 0.95, 0.99):
        low, high = ends_of(values, level, units)
        assert (low <= 0 <= high) == (p_of_resamples(values, units) > 1 - level)


def test_what_does_not_fit_is_refused() -> None:
    results = list(evaluated("cost_per_correct, selective", systems(40, 5)).values())
    with pytest.raises(UsageError, match="cost_per_correct has no value of a single query"):
        rageval.compare(results, against="cost_per_correct")


def test_norms_and_rules_without_an_interval_are_not_compared() -> None:
    for name in ("calibration_error(norm=1)", "calibration_error(rule=browsecomp-plus)"):
        with pytest.raises(MeasureError, match="has no test"):
            compared(name, systems(120, 5))


def test_a_gate_takes_what_single_answers_have() -> None:
    words = (DATA / "judged.jsonl", "--answers", DATA / "answers.jsonl", "--system", "bold")
    result = run_command("gate", *words, "-m", "cost_per_correct", "--baseline", "x", "--margin", "1")
    assert result.exit_code == 2
    run_checked("gate", *words, "-m", "brier,cost", "--save-baseline", "base.jsonl")
    ours = (*words[:3], "--system", "modest", "--baseline", "base.jsonl")
    run_checked("gate", *ours, "-m", "brier,cost", "--margin", "0.1", "--margin", "cost=5%")
    run_checked("gate", *words, "-m", "cost_per_correct", "--save-baseline", "joint.jsonl")
    refused = run_command(
        "gate", *words, "-m", "cost_per_correct", "--baseline", "joint.jsonl", "--margin", "1"
    )
    assert "computed from all questions together" in refused.stderr


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_the_bundled_systems() -> None:
    words = ("compare", DATA / "judged.jsonl", "--answers", DATA / "answers.jsonl", "--format", "json")
    result = json.loads(run_checked(*words, "-m", "cost_per_correct,calibration_error,selective").stdout)
    verdicts = {pair["measure"]: pair["better_run"] for pair in result["pairs"]}
    assert verdicts == {"cost_per_correct": "modest", "calibration_error": "modest", "selective": None}


@pytest.mark.parametrize(
    ("better", "worse"), [((0.9, 1), (0.9, 0)), ((0.1, 0), (0.8, 0)), ((1.0, 1), (0.6, 1))]
)
def test_brier_falls_as_answers_get_better(better: tuple[float, int], worse: tuple[float, int]) -> None:
    ours, theirs = (score("brier", [(*one, 1.0), (0.5, 1, 1.0)]).value for one in (better, worse))
    assert ours < theirs
    assert parse_measure("brier").better == "lower"


def test_a_report_has_the_bins_of_confidence() -> None:
    words = (DATA / "judged.jsonl", "--answers", DATA / "answers.jsonl", "-m", "accuracy", "-o", "page.html")
    run_checked("report", *words)
    report = read_report("page.html")
    assert {bins["run"] for bins in report["reliability"]} == {"modest", "bold"}
    table = read_judgements([DATA / "judged.jsonl"], answers=[DATA / "answers.jsonl"])
    for bins in report["reliability"]:
        (scores,) = evaluate_all([parse_measure("calibration_error(bin_size=20)")], table, Rules())[
            table.runs[bins["run"]] :
        ][:1]
        gaps = [
            n / 200 * (y - c) ** 2
            for n, y, c in zip(*map(bins.get, ("answers", "value", "confidence")), strict=True)
        ]
        assert math.sqrt(sum(gaps)) == pytest.approx(scores.scores[0].value)
        assert all(
            low <= y <= high for low, y, high in zip(*map(bins.get, ("low", "value", "high")), strict=True)
        )
        assert bins["confidence"] == sorted(bins["confidence"])
    page = Path("page.html").read_text()
    assert 'id="reliability-chart"' in page
    assert "Numbers: modest" in page
    run_checked("report", DATA / "judged.jsonl", "-m", "accuracy", "-o", "plain.html")
    assert "reliability" not in read_report("plain.html")
    assert 'id="reliability-chart"' not in Path("plain.html").read_text()


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["cost_per_correct", "calibration_error(bin_size=25)", "selective"])
@pytest.mark.parametrize("boast", [0.0, 0.5])
def test_systems_that_are_alike_differ_in_a_twentieth_of_cases(name: str, boast: float) -> None:
    wrong = 0
    for seed in range(400):
        cases = systems(100, seed, boast=boast)
        other = systems(100, seed + 10_000, boast=boast)
        alike = {"a": cases["b"], "b": other["b"]}
        wrong += compared(name, alike).pairs[0].p <= 0.05
    assert wrong / 400 < 0.05 + 3 * math.sqrt(0.05 * 0.95 / 400)


@pytest.mark.nightly
@pytest.mark.parametrize("boast", [0.0, 0.2, 0.6])
def test_the_interval_of_a_calibration_error_has_the_error(boast: float) -> None:
    name = "calibration_error(bin_size=50)"
    truth = score(name.replace("50", "25000"), systems(100_000, 1, boast=boast)["b"]).value
    inside = 0
    for seed in range(200):
        table = evaluated(name, systems(200, seed + 5, boast=boast))
        low, high = rageval.comparison.intervals.bootstrap_of(table["b"].scores[0])
        inside += low <= truth + 0.003 and truth - 0.003 <= high
    assert inside / 200 > 0.9
