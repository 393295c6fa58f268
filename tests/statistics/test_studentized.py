"""The studentized bootstrap against itself written out, and how often it is wrong."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest

from rageval.comparison.difference_tests import (
    fitting_test,
    intervals_of_differences,
    significance_alone,
    significance_of_pairs,
)
from rageval.comparison.results import Settings
from rageval.statistics.bootstrap import draws
from rageval.statistics.samples import Float, Sample
from rageval.statistics.studentized import Resamples

RESAMPLES = 199


def sample_of(rng: np.random.Generator, columns: int = 2) -> Sample:
    """Values of some queries, a few lacking, in clusters or not."""
    queries = int(rng.integers(12, 30))
    values = rng.exponential(1, (queries, columns)) - 0.6
    values[rng.random(values.shape) < 0.1] = math.nan
    unit = np.arange(queries) if rng.random() < 0.5 else np.arange(queries) // 3
    return Sample(tuple(map(str, range(queries))), values, unit)


def error_of(units: list[list[float]]) -> tuple[float, float]:
    """The mean of what units hold, and its standard error."""
    values = [value for unit in units for value in unit]
    mean = math.fsum(values) / len(values)
    there = [unit for unit in units if unit]
    squares = math.fsum(math.fsum(value - mean for value in unit) ** 2 for unit in there)
    return mean, math.sqrt(len(there) / (len(there) - 1) * squares) / len(values)


def written_out(sample: Sample, column: int, level: float) -> tuple[float, float, float]:
    units: list[list[float]] = [[] for _ in range(sample.units)]
    for unit, value in zip(sample.unit.tolist(), sample.values[:, column].tolist(), strict=True):
        units[unit] += [value] if value == value else []
    mean, error = error_of(units)
    statistics = []
    for drawn in draws(sample.units, RESAMPLES, 7):
        drawn_mean, drawn_error = error_of([units[unit] for unit in drawn.tolist()])
        statistics.append((drawn_mean - mean) / drawn_error)
    reached = (sum(sign * t >= sign * mean / error for t in statistics) for sign in (1, -1))
    place = round((RESAMPLES + 1) * (1 - level) / 2)
    ordered = sorted(statistics)
    p = 2 * (min(reached) + 1) / (RESAMPLES + 1)
    won = sum(math.fsum(unit) * mean > 0 for unit in units)
    p = max(min(p, 1.0), min(2.0 ** (1 - won), 1.0))
    return mean - ordered[RESAMPLES - place] * error, mean - ordered[place - 1] * error, p


def test_it_is_what_is_written() -> None:
    for seed in range(30):
        sample = sample_of(np.random.default_rng(seed))
        ours = Resamples(sample, 0.9, RESAMPLES, 7).alone()
        for column in range(2):
            theirs = written_out(sample, column, 0.9)
            assert (ours.low[column], ours.high[column], ours.p[column]) == pytest.approx(theirs)


def test_p_is_small_where_the_interval_leaves_zero() -> None:
    sides = set()
    for seed in range(200):
        sample = sample_of(np.random.default_rng(seed), 1)
        for level in (0.8, 0.95):
            low, high, p, _ = (values[0] for values in Resamples(sample, level, 999, seed).alone())
            leaves, won = not low <= 0 <= high, int((sample.sums() > 0).sum())
            sides.add(leaves)
            # Where few gain, resampling may be sure, and p is not small.
            few = 2.0 ** (1 - min(won, sample.units - won)) > 1 - level
            assert few or leaves == (p <= 1 - level + 1e-12), (seed, level)
    assert sides == {True, False}


def test_among_others_p_is_larger_and_where_all_are_the_same_that_of_one() -> None:
    settings = Settings(resamples=499, draws=499)
    for seed in range(20):
        rng = np.random.default_rng(seed)
        values = rng.random((30, 1)) + rng.exponential(0.3, (30, 4)) + 0.1 * np.arange(4)
        sample = Sample(tuple(map(str, range(30))), values, np.arange(30))
        pairs = np.array(list(combinations(range(4), 2)))
        alone, together, _ = significance_of_pairs("studentized", sample, pairs, settings, has_family=True)
        assert together is not None
        by_itself = significance_alone("studentized", sample, pairs, settings)
        assert all((of_all == of_one).all() for of_all, of_one in zip(alone, by_itself, strict=True))
        assert (together.p >= alone.p - 3 * np.sqrt(alone.p / 499)).all()
        same = Sample(sample.queries, np.repeat(values[:, :1], 3, axis=1), sample.unit)
        one, _ = Resamples(same.of(same.values[:, :1]), 0.95, 499, 0).together()
        three, _ = Resamples(same, 0.95, 499, 0).together()
        assert three.tolist() == [one[0]] * 3


def test_the_test_fits_the_values() -> None:
    def fitting(values: list[list[float]], **how: str) -> str:
        columns = np.array(values).T
        sample = Sample(tuple(map(str, range(len(columns)))), columns, np.arange(len(columns)))
        return fitting_test(sample, Settings(**how))  # type: ignore[arg-type]

    three, four = [[0.0, 0.5, 1.0], [1.0, 0.5, math.nan]], [[0.0, 0.5, 1.0], [1.0, 0.5, -1.0]]
    assert (fitting(three), fitting(four)) == ("randomization", "studentized")
    assert (fitting(four, test="t"), fitting(four, test="randomization")) == ("t", "randomization")


def test_a_few_wins_are_no_proof_whatever_resampling_gives() -> None:
    """Of fifty, four gain much, and the others hardly differ or not at all: alone p is 2^(1 - 4)."""
    values = np.zeros((50, 1))
    values[:4, 0] = 0.8, 0.9, 0.9, 1.0
    columns = Sample(tuple(map(str, range(50))), values, np.arange(50))
    assert Resamples(columns, 0.95, 4000, 0).alone().p[0] == 1 / 8


def verdicts(values: Float) -> float:
    """The share of columns of differences that have a verdict."""
    columns = np.column_stack((values, np.zeros(len(values))))
    sample = Sample(tuple(map(str, range(len(values)))), columns, np.arange(len(values)))
    pairs = np.stack((np.arange(values.shape[1]), np.full(values.shape[1], values.shape[1])), axis=1)
    settings = Settings(draws=499, resamples=999)
    p = significance_alone(fitting_test(sample, settings), sample, pairs, settings).p
    low, high = intervals_of_differences(sample, pairs, None, settings)
    return float(((p <= 0.05) & ~((low <= 0) & (high >= 0))).mean())


@pytest.mark.slow
def test_verdicts_are_seldom_false_of_skewed_values_and_often_right() -> None:
    """The rates of benchmarks/README.md, within three errors of 600 draws; flips alone have .14 and .39."""
    rng = np.random.default_rng(3)
    lognormal = (np.exp(rng.normal(size=(20, 600))) - math.exp(0.5)) / 8
    assert verdicts(lognormal) <= 0.079 + 3 * 0.011
    gains = np.where(rng.random((50, 600)) < 0.1, 0.9, 0.0) - 0.09 + rng.normal(0, 0.05, (50, 600))
    assert verdicts(gains) <= 0.05
    assert verdicts(gains + 0.1) >= 0.93
    # Long tails on both sides, few that differ: resamples alone have .09.
    seldom = np.where(rng.random((50, 600)) < 0.2, rng.normal(0, 0.3, (50, 600)), 0.0)
    assert verdicts(seldom) <= 0.05 + 3 * 0.009
