"""The slope over turns within conversations: its formula, and what it does not see."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path

import numpy as np
import pytest
from scipy.special import stdtrit

from commands import run_command, write_jsonl
from rageval.statistics.slopes import slope_within


def drawn(number: int, slope: float, seed: int = 0) -> tuple[list[float], list[float], list[int]]:
    rng = random.Random(seed)
    places, values, unit = [], [], []
    for talk in range(number):
        level, own = rng.gauss(0, 1), slope + rng.gauss(0, 0.05)
        for place in range(rng.randint(2, 7)):
            places.append(float(place))
            values.append(level + own * place + rng.gauss(0, 0.1))
            unit.append(talk)
    return places, values, unit


def test_it_is_least_squares_with_a_level_for_each_conversation() -> None:
    places, values, unit = drawn(15, -0.1)
    levels = np.array([[float(talk == of) for talk in range(15)] for of in unit])
    design = np.column_stack([places, levels])
    expected = np.linalg.lstsq(design, np.array(values), rcond=None)[0][0]
    slope, low, high, number = slope_within(*map(np.array, (places, values, unit)))
    assert slope == pytest.approx(expected, abs=1e-12)
    assert number == 15
    # The jackknife, one conversation at a time.
    without = []
    for out in range(15):
        kept = [index for index, talk in enumerate(unit) if talk != out]
        parts = (np.array([column[index] for index in kept]) for column in (places, values, unit))
        without.append(slope_within(*parts)[0])
    error = math.sqrt(14 / 15 * sum((one - sum(without) / 15) ** 2 for one in without))
    squares = [np.var([x for x, of in zip(places, unit, strict=True) if of == talk]) * unit.count(talk)
               for talk in range(15)]  # fmt: skip
    freedom = sum(squares) ** 2 / sum(square**2 for square in squares) - 1
    assert 5 < freedom < 14
    assert (high - low) / 2 == pytest.approx(stdtrit(freedom, 0.975) * error, rel=1e-9)


def test_long_conversations_are_no_late_turns() -> None:
    # Good conversations are long, and no turn is worse or better than another of the same.
    unit = np.repeat(np.arange(20), np.arange(2, 22))
    places = np.concatenate([np.arange(length) for length in range(2, 22)]).astype(float)
    slope, low, high, _ = slope_within(places, unit / 20.0, unit)
    assert slope == pytest.approx(0, abs=1e-12)
    assert math.isnan(low)
    assert math.isnan(high)


def test_few_conversations_have_no_interval() -> None:
    slope, low, _, number = slope_within(*map(np.array, drawn(9, 0.2)))
    assert number == 9
    assert slope == pytest.approx(0.2, abs=0.1)
    assert math.isnan(low)
    assert slope_within(np.ones(5), np.ones(5), np.arange(5))[3] == 0


@pytest.mark.nightly
def test_the_interval_holds_the_slope() -> None:
    for number in (10, 20, 60):
        holding = 0
        for seed in range(1000):
            _, low, high, _ = slope_within(*map(np.array, drawn(number, 0.1, seed)))
            holding += low <= 0.1 <= high
        assert holding >= 940, number


def test_score_by_turn_prints_the_slope(tmp_path: Path) -> None:
    places, values, unit = drawn(14, 0.1)
    rows = [
        {"query_id": f"{talk}-{place:g}", "run_id": "r", "conversation_id": str(talk), "turn": int(place) + 8,
         "aspect": "score", "grade": value}
        for place, value, talk in zip(places, values, unit, strict=True)
    ]  # fmt: skip
    judged = write_jsonl(tmp_path / "judged.jsonl", rows)
    words = (judged, "-m", "grade(low=-9,high=9)", "--by", "turn")
    printed = json.loads(run_command(*words, "--format", "json").stdout)["results"][0]["slices"]
    assert [one["name"] for one in printed] == ["8", "9", "10", "11", "12", "13", "14", "slope"]
    slope = printed[-1]
    expected = slope_within(*map(np.array, (places, values, unit)))
    assert [slope[name] for name in ("value", "low", "high")] == pytest.approx(expected[:3])
    alone = run_command(*words, "--cluster", "none").stdout
    assert "turn=8" in alone
    assert "slope" not in alone
    page = tmp_path / "page.html"
    assert run_command("report", *words, "-o", str(page)).exit_code == 0
    assert '"slope"' in page.read_text(encoding="utf-8")


def test_compare_by_turn_prints_the_slope_of_the_difference(tmp_path: Path) -> None:
    places, values, unit = drawn(14, 0.1)
    rows = [
        {"query_id": f"{talk}-{place:g}", "run_id": run, "conversation_id": str(talk), "turn": int(place),
         "aspect": "score", "grade": value * share}
        for place, value, talk in zip(places, values, unit, strict=True)
        for run, share in (("a", 1.0), ("b", 0.5))
    ]  # fmt: skip
    words = ("compare", write_jsonl(tmp_path / "judged.jsonl", rows), "-m", "grade(low=-9,high=9)")
    words = (*words, "--baseline", "b", "--by", "turn")
    printed = json.loads(run_command(*words, "--format", "json").stdout)
    slope = printed["slices"][-1]
    assert (slope["run"], slope["other"], slope["name"]) == ("a", "b", "slope")
    expected = slope_within(np.array(places), np.array(values) / 2, np.array(unit))
    assert [slope[name] for name in ("difference", "low", "high")] == pytest.approx(expected[:3])
    whole = next(pair for pair in printed["pairs"] if pair["run"] == "a")
    parts = [(one["difference"], one["queries"]) for one in printed["slices"][:-1]]
    total = sum(difference * number for difference, number in parts)
    assert total / sum(number for _, number in parts) == pytest.approx(whole["difference"])
    assert "slope" in run_command(*words).stdout
    head = run_command(*words, "--format", "csv").stdout.partition("\n")[0]
    assert head == "run,other,measure,field,name,difference,low,high,queries"
    assert "leave out -q" in run_command(*words, "-q").stderr
