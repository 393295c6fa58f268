"""Margins: one of all measures or of one, in units or as a share of the baseline, whose noise counts."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rageval
from commands import run_command, write_jsonl
from rageval.comparison import compare
from rageval.comparison.gate import Decision, GateSettings
from rageval.comparison.margins import Margins
from rageval.errors import UsageError
from sides import gate_values, side

N = 60


def costs(mean: float, seed: int, spread: float = 0.4) -> list[float]:
    rng = random.Random(seed)
    return [mean * rng.uniform(1 - spread, 1 + spread) for _ in range(N)]


def decided(now: Sequence[float], before: Sequence[float], margin: Any, **more: Any) -> Decision:
    (decision,) = gate_values({"cost": now}, {"cost": before}, margin, **more).decisions
    return decision


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        *((0.03, "0.03"), ("0.03", "0.03"), ("10%", "10%"), ([0.03], "0.03"), (("7.5 %",), "7.5%")),
        ([0.03, "cost=10%"], "0.03,cost=10%"),
        ("accuracy=0.03,cost=10%", "crag_share=0.03,cost=10%"),
        (["crag_share(label=missing)=0.02", "0"], "0,crag_share(label=missing)=0.02"),
        (["cost=1", "cost=1"], "cost=1"),
    ],
)
def test_a_margin_prints_as_it_is_given(given: Any, shown: str) -> None:
    assert str(Margins.of(given)) == shown
    assert Margins.of(Margins.of(given)) == Margins.of(given)


@pytest.mark.parametrize(
    "wrong", ["", "wide", "-1", "nan", "inf", "cost=", "cost=x%", True, None, [0.1, "%"]]
)
def test_what_is_no_margin_is_refused(wrong: Any) -> None:
    with pytest.raises(UsageError, match=r"^margin=.*expected a number from 0, or a percentage"):
        Margins.of(wrong)


@pytest.mark.parametrize(
    ("margin", "message"),
    [
        (["seconds=1", 0.1], "margin: seconds is not gated; use one of cost, coverage"),
        (["no such measure=1", 0.1], "no such measure is not gated; use one of cost, coverage"),
        (["cost=1"], "there is none for coverage; give one without a name, .* or coverage=M"),
        ([1, 2], "all others: given twice, 1 and 2"),
        (["cost=1", "cost=10%"], "cost: given twice, 1 and 10%"),
    ],
)
def test_margins_that_do_not_fit_the_measures_are_refused(margin: Any, message: str) -> None:
    values = {"cost": costs(1, 0), "coverage": [0.5] * N}
    with pytest.raises(UsageError, match=message):
        gate_values(values, values, margin)


def test_a_share_of_what_may_be_negative_is_no_margin() -> None:
    values = {"crag_score": [0.5] * N}
    with pytest.raises(UsageError, match="crag_score=10%: its values may be below 0"):
        gate_values(values, values, "10%")


def test_each_measure_has_its_margin() -> None:
    noise = [0.01 * (-1) ** number for number in range(N)]
    before = {"cost": costs(1, 0), "coverage": [0.5 + one for one in noise]}
    now = {"cost": [cost * 1.05 for cost in before["cost"]], "coverage": [0.48 - one for one in noise]}
    ruled = {d.measure: d for d in gate_values(now, before, [0.05, "cost=10%"]).decisions}
    assert {name: d.verdict for name, d in ruled.items()} == {"cost": "ship", "coverage": "ship"}
    assert (ruled["coverage"].margin, ruled["coverage"].margin_share) == (0.05, None)
    assert ruled["cost"].margin == pytest.approx(0.1 * ruled["cost"].baseline)
    assert ruled["cost"].margin_share == pytest.approx(0.1)
    ruled = {d.measure: d for d in gate_values(now, before, ["coverage=0.05", "cost=2%"]).decisions}
    assert {name: d.verdict for name, d in ruled.items()} == {"cost": "block", "coverage": "ship"}


@pytest.mark.parametrize("factor", [0.8, 1.0, 1.04, 1.09, 1.15, 1.4])
@pytest.mark.parametrize("block", ["worse", "beyond-margin"])
def test_a_share_is_decided_as_the_difference_from_the_scaled_baseline(factor: float, block: Any) -> None:
    before = costs(1, 1)
    now = [cost * factor for cost in costs(1, 2)]
    decision = decided(now, before, "10%", block=block)
    # The same by `compare`, of values that nobody called a margin.
    scaled = [side({"cost": numbers}).scores for numbers in (now, [1.1 * cost for cost in before])]
    scaled = [
        rageval.Scores(name, scores.scores) for name, scores in zip(("now", "base"), scaled, strict=True)
    ]
    (pair,) = compare(scaled, GateSettings(0).comparison("base")).pairs
    ships, loses = pair.high < 0, pair.difference > 0
    surely = decision.low > 0 if block == "worse" else pair.low > 0
    expected = "ship" if ships else "block" if loses and surely else "inconclusive"
    assert decision.verdict == expected
    assert decision.difference == pytest.approx(float(np.mean(now) - np.mean(before)))


def test_the_noise_of_the_baseline_counts() -> None:
    # What 0.8 in units rules out, 80 % of a baseline that is known only so well does not.
    before = [1 + 0.9 * (-1) ** number for number in range(12)]
    now = [2.0 - cost for cost in before]
    share, units = decided(now, before, "80%"), decided(now, before, 0.8)
    assert share.margin == pytest.approx(units.margin)
    assert (units.low, units.high) == (share.low, share.high)
    assert (share.verdict, units.verdict) == ("inconclusive", "ship")


def test_slices_and_anchors_have_twice_the_margin() -> None:
    settings = GateSettings([0.03, "cost=10%"])
    assert str(settings.of_slices) == str(settings.of_anchor) == "0.06,cost=20%"
    assert str(GateSettings("10%", slice_margin="cost=5%,1").of_slices) == "1,cost=5%"
    before = costs(1, 3)
    groups = {f"q{number:03}": "ab"[number % 2] for number in range(N)}
    now = [cost * 1.15 for cost in before]
    report = gate_values({"cost": now}, {"cost": before}, "10%", slices={"s": groups})
    assert [d.verdict for d in report.decisions] == ["block", "ship", "ship"]
    assert [d.margin_share for d in report.decisions] == pytest.approx([0.1, 0.2, 0.2])
    assert "|margin:10%|slices:20%|" in report.signature


def test_the_same_answers_ship_by_any_share() -> None:
    before = side({"cost": costs(1, 3)}, same={f"q{number:03}": "x" for number in range(N)})
    for margin in ("0%", "10%"):
        report = gate_values(before, before, margin)
        assert report.verdict == "ship"
        assert ("zero_margin" in [remark.code for remark in report.remarks]) == (margin == "0%")


def write_answers(path: str, factor: float) -> None:
    rng = random.Random(5)
    rows = [
        {"query_id": f"q{number}", "run_id": "a", "answer": "x", "cost": factor * rng.uniform(0.5, 1.5),
         "seconds": rng.uniform(1, 2)}
        for number in range(N)
    ]  # fmt: skip
    write_jsonl(path, rows)


@pytest.fixture
def saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_answers("before.jsonl", 1)
    write_answers("now.jsonl", 1.05)
    run_command("gate", "before.jsonl", "-m", "cost,seconds", "--save-baseline", "base.jsonl")


GATE = ("gate", "now.jsonl", "-m", "cost,seconds", "--baseline", "base.jsonl")


@pytest.mark.usefixtures("saved")
@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("--margin", "10%"), 0),
        (("--margin", "2%"), 1),
        (("--margin", "0.1", "--margin", "cost=10%"), 0),
        (("--margin", "0.1", "--margin", "cost=2%"), 1),
        (("--margin", "cost=10%"), 2),
        (("--margin", "0.1", "--margin", "costs=2%"), 2),
        (("--margin", "0.1", "--margin", "0.2"), 2),
    ],
)
def test_the_command_takes_margins_by_name(words: Sequence[str], code: int) -> None:
    result = run_command(*GATE, *words)
    assert result.exit_code == code, result.output
    if code == 2:
        assert "rageval: margin: " in result.stderr


@pytest.mark.usefixtures("saved")
def test_a_policy_and_python_take_the_same() -> None:
    Path("rageval.toml").write_text('[gate]\nmargin = [0.1, "cost=2%"]\n')
    assert run_command(*GATE, "--json", "out.json").exit_code == 1
    saved_verdicts = {
        d["measure"]: d["margin_share"] for d in json.loads(Path("out.json").read_text())["decisions"]
    }
    assert saved_verdicts == {"cost": 0.02, "seconds": None}
    rows = [json.loads(line) for line in Path("now.jsonl").read_text().splitlines()]
    for margin, verdict in (("10%", "ship"), ([0.1, "cost=2%"], "block"), (0.5, "ship")):
        report = rageval.gate(rows, None, "cost, seconds", baseline="base.jsonl", margin=margin)
        assert report.verdict == verdict


@pytest.mark.nightly
def test_a_loss_of_the_margin_ships_in_a_twentieth_of_cases() -> None:
    """A ratio of means of exactly 1.1, with costs that vary more than they differ."""
    rng = np.random.default_rng(8)
    shipped = 0
    for _ in range(2000):
        base = rng.gamma(4, 1, N)
        now = 1.1 * base * rng.gamma(8, 1 / 8, N)
        shipped += decided(now.tolist(), base.tolist(), "10%", resamples=500).verdict == "ship"
    assert shipped / 2000 < 0.05 + 3 * math.sqrt(0.05 * 0.95 / 2000)
