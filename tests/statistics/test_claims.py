"""What people's labels let be said, simulated where it is known: one cell a row of benchmarks/claims.py.

300 replays a cell, so a share of .95 is known to ± .03; and an example worked by hand.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rageval.statistics import correction

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
if not BENCHMARKS.is_dir():
    pytest.skip("the benchmarks are not here", allow_module_level=True)
sys.path.append(str(BENCHMARKS))
import claims  # noqa: E402
import worlds  # noqa: E402

REPLAYS = 300


@pytest.mark.slow
@pytest.mark.some(5)
@pytest.mark.parametrize(
    ("world", "judge", "labels"),
    [
        ("binary", "good", 30),
        ("binary", "contrary", 100),
        ("crag", "biased", 50),
        ("crag", "perfect", 30),
        ("ratio", "noisy", 200),
    ],
)
def test_intervals_hold_the_truth_19_times_of_20(world: str, judge: str, labels: int) -> None:
    coverage = claims.simulated(world, judge, labels, REPLAYS)
    assert coverage.coverage == pytest.approx(0.95, abs=0.03)


@pytest.mark.slow
def test_intervals_of_the_set_hold_its_mean() -> None:
    for judge in ("good", "biased"):
        coverage = claims.simulated("binary", judge, 100, REPLAYS, population="set")
        assert coverage.coverage == pytest.approx(0.95, abs=0.03)
        assert coverage.width < 0.99 * claims.simulated("binary", judge, 100, REPLAYS).width


@pytest.mark.slow
@pytest.mark.some(3)
@pytest.mark.parametrize(("world", "judge"), [("binary", "biased"), ("crag", "good"), ("ratio", "contrary")])
def test_nothing_is_claimed_where_nothing_differs(world: str, judge: str) -> None:
    assert claims.simulated(world, judge, 50, REPLAYS, delta=0.0).claimed <= 0.05 + 0.03


@pytest.mark.slow
@pytest.mark.parametrize("judge", ["perfect", "good"])
def test_systems_that_seldom_differ_are_not_called_alike(judge: str) -> None:
    for world in worlds.SELDOM:
        assert claims.simulated(world, judge, 50, REPLAYS, delta=0.0, span=1.0).coverage >= 0.94
    assert claims.simulated("three", "perfect", 50, REPLAYS, delta=0.02, span=1.0).coverage >= 0.94


CELLS: dict[str, tuple[str, float, float]] = {  # of a row: the cell, and between what its mean has to lie
    "means": ("coverage of one system's mean (.96, .6)", 0.92, 1.0),
    "families": ("anything claimed of 9 equal systems, Holm", 0.0, 0.08),
    "clusters": ("labels in clusters, scattered", 0.92, 0.98),
    "unequal": ("4 × as many labels where the judge sees a difference, weighted", 0.92, 0.98),
    "looks": ("claimed at any of 19 looks", 0.0, 0.08),
    "plans": ("plans that attain ≤ 1.1 of the width", 0.85, 1.0),
    "differ": ("labels only where answers differ, variance against anywhere", 0.0, 0.25),
    "lenient": ("winners of 20 contests of equals, 60 labels of 200", 0.0, 1.0),
}


@pytest.mark.nightly
@pytest.mark.parametrize("row", CELLS)
def test_a_cell_of_each_other_row(row: str) -> None:
    """The first cell of each; families, which are nine estimates, with a hundred replays."""
    name, low, high = CELLS[row]
    cell = next(cell for cell in claims.ROWS[row](100 if row == "families" else REPLAYS) if cell.row == name)
    assert low <= sum(cell.values) / len(cell.values) <= high


def test_the_judge_alone_claims_winners_of_equals() -> None:
    *_, alone = claims.lenient(1)
    assert alone.row == "winners of 20 contests of equals, by the judge alone"
    assert alone.values[0] >= 15


def by_hand() -> bool:
    """The example of twelve labels of 120, with and without the floor."""
    judge = (1, 0, 0.5, -1, 0.5, 0, 1, 0, 1, -0.5, -1, 0)
    people = dict(enumerate((1, 0, 0, -1, 1, 0, 0.5, 0, 1, 0, -1, 0)))
    judged = [*judge, *[(0.05 * 120 - sum(judge)) / 108] * 108]
    halves = [0.23730134, 0.35905326]
    for span, half in zip((0.0, 1.0), halves, strict=True):
        by_the_formula = correction.corrected(judged, people, paired=True, fewest=12, span=span)
        if (
            abs(by_the_formula.value - 0.06011236) > 1e-8
            or abs((by_the_formula.high - by_the_formula.low) / 2 - half) > 1e-8
        ):
            return False
    return True


def lenient() -> bool:
    """A judge who favours one of two equal systems."""
    cell = claims.simulated("binary", "biased", 50, REPLAYS, delta=0.0, estimate=correction.corrected)
    return bool(0.92 <= cell.coverage <= 0.98 and cell.claimed <= 0.08)


def few() -> bool:
    """Systems that differ in 3 of 100 queries."""
    options: dict[str, Any] = {"delta": 0.02, "span": 1.0, "estimate": correction.corrected}
    return bool(claims.simulated("three", "perfect", 30, REPLAYS, **options).coverage >= 0.94)


def clusters() -> bool:
    """Two labels a cluster."""
    cell = next(claims.in_clusters(REPLAYS, correction.corrected))
    return 0.92 <= sum(cell.values) / len(cell.values) <= 0.98


@pytest.mark.slow
@pytest.mark.parametrize("check", [by_hand, lenient, few, clusters], ids=lambda check: check.__name__)
def test_the_estimator_passes(check: Callable[[], bool]) -> None:
    assert check()


@pytest.mark.slow
def test_the_correction_is_not_dropped_where_labels_are_a_chance_draw() -> None:
    """θ follows the judge's mean of all; without b(ē − ē_L) it would be people's, and its error theirs."""
    drawn = worlds.binary(np.random.default_rng(0), (REPLAYS, 1000), 0.08, "good")
    corrected_pairs = claims.estimated(drawn, 100)
    own = np.std([pair.value for pair in corrected_pairs])
    assert own < 0.8 * np.std([pair.people for pair in corrected_pairs])
