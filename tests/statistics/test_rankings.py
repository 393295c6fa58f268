"""Correlations of rankings beside scipy and slow oracles; ranks are covered as often as promised."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from rageval.statistics.bootstrap import _means, _times, half_with_floor, is_coarse
from rageval.statistics.correction import Corrected, corrected
from rageval.statistics.rankings import (
    _draws,
    corrected_rank_intervals,
    pearson,
    rank_intervals,
    rbo,
    spearman,
    tau_ap,
    tau_b,
    tau_gap,
)
from rageval.statistics.samples import SLACK, Sample, settled, settled_columns

levels = st.integers(0, 5).map(float)
sides = st.integers(3, 9).flatmap(lambda n: st.tuples(*[st.lists(levels, min_size=n, max_size=n)] * 2))


def slow_tau_ap(truth: list[float], estimate: list[float]) -> float:
    """After the paper, a group of equal ones at a time: of all above a system, how many belong there?"""
    if len(set(truth)) == 1 or len(set(estimate)) == 1:
        return math.nan
    shares = []
    for own, score in zip(truth, estimate, strict=True):
        higher = [other for other, theirs in zip(truth, estimate, strict=True) if theirs > score]
        if higher:
            shares.append(sum(other > own for other in higher) / len(higher))
    return 2 * sum(shares) / len(shares) - 1


def slow_tau_gap(truth: list[float], estimate: list[float]) -> float:
    """After the paper, pair by pair: of the gaps to all above a system, the part in the right order."""
    shares = []
    for own, score in zip(truth, estimate, strict=True):
        gaps = [Fraction(other) - Fraction(own) for other, theirs in zip(truth, estimate, strict=True)
                 if theirs > score]  # fmt: skip
        if any(gaps):
            shares.append(sum(gap for gap in gaps if gap > 0) / sum(map(abs, gaps)))
    return 2 * float(sum(shares) / len(shares)) - 1 if shares else math.nan


@given(sides)
@settings(max_examples=80)
@pytest.mark.slow
def test_tau_gap_beside_the_oracle(both: tuple[list[float], list[float]]) -> None:
    one, other = map(np.array, both)
    assert tau_gap(one, other) == pytest.approx(slow_tau_gap(*both), abs=1e-12, nan_ok=True)
    assert tau_gap(7 * one, other) == pytest.approx(tau_gap(one, other), abs=1e-12, nan_ok=True)
    assert tau_gap(one, one) == pytest.approx(math.nan if len(set(both[0])) == 1 else 1.0, nan_ok=True)


@pytest.mark.parametrize(
    ("truth", "estimate", "expected"),
    [
        ([0.9, 0.5, 0.45, 0.2], [4, 3, 2, 1], 1.0),
        ([0.9, 0.5, 0.45, 0.2], [1, 2, 3, 4], -1.0),
        ([0.9, 0.5, 0.4], [3, 1, 2], 2 * (1 + 0.4 / 0.5) / 2 - 1),
        ([0.9, 0.5, 0.45, 0.2], [0.8, 0.5, 0.6, 0.1], 0.9259259),  # a near pair is swapped
        ([0.9, 0.5, 0.45, 0.2], [0.6, 0.8, 0.4, 0.1], 1 / 3),  # a far one
        ([0.9, 0.5, 0.4], [3, 1, 1], 1.0),  # nobody is above whoever is tied with it
        ([0.9, 0.9, 0.4], [1, 2, 0], 1.0),  # no gap, no error
        ([1, 2, 3], [5, 5, 5], math.nan),  # where autojudge-evaluate has 0
        ([5, 5, 5], [1, 2, 3], math.nan),
    ],
)
def test_tau_gap_by_hand(truth: list[float], estimate: list[float], expected: float) -> None:
    value = tau_gap(np.array(truth), np.array(estimate))
    assert value == pytest.approx(expected, abs=1e-7, nan_ok=True)


def slow_rbo(one: str, other: str, p: float) -> float:
    """With the two lists going on for ever at the overlap that they end with."""
    size, total = len(one), 0.0
    for depth in range(1, 3000):
        shared = len(set(one[:depth]) & set(other[:depth])) / min(depth, size)
        total += (1 - p) * p ** (depth - 1) * shared
    return total


@given(sides)
@settings(max_examples=80)
@pytest.mark.slow
def test_all_correlations_beside_scipy_and_the_oracle(both: tuple[list[float], list[float]]) -> None:
    one, other = map(np.array, both)
    constant = len(set(both[0])) == 1 or len(set(both[1])) == 1
    coefficients = [tau_b(one, other), spearman(one, other), pearson(one, other), tau_ap(one, other)]
    if constant:
        assert all(map(math.isnan, coefficients))
        return
    expected = [
        stats.kendalltau(one, other).statistic,
        stats.spearmanr(one, other).statistic,
        stats.pearsonr(one, other).statistic,
        slow_tau_ap(*both),
    ]
    assert coefficients == pytest.approx(expected, abs=1e-9)


@pytest.mark.slow
@given(st.permutations("abcdefg"), st.permutations("abcdefg"), st.sampled_from([0.5, 0.9]))
@settings(max_examples=30)
def test_rbo_goes_on_as_it_ends(one: list[str], other: list[str], p: float) -> None:
    assert rbo(one, other, p) == pytest.approx(slow_rbo("".join(one), "".join(other), p), abs=1e-9)


def test_the_order_of_systems_changes_nothing() -> None:
    one, other = np.array([0.9, 0.5, 0.5, 0.2, 0.1]), np.array([0.3, 0.8, 0.8, 0.3, 0.1])
    for places in ([4, 3, 2, 1, 0], [2, 0, 4, 1, 3]):
        assert tau_ap(one[places], other[places]) == tau_ap(one, other)
        assert tau_ap(other[places], one[places]) == tau_ap(other, one)
        assert tau_gap(one[places], other[places]) == pytest.approx(tau_gap(one, other), abs=1e-15)


def drawn(generator: np.random.Generator, truth: np.ndarray, topics: int) -> Sample:
    hard = generator.normal(0, 0.2, (topics, 1))  # what is hard is hard for all
    values = truth + hard + generator.normal(0, 0.1, (topics, len(truth)))
    return Sample(tuple(map(str, range(topics))), values, np.arange(topics))


@pytest.mark.slow
@pytest.mark.parametrize("gap", [0.0005, 0.02])
def test_ranks_are_covered_however_near_runs_are(gap: float) -> None:
    """Of runs a hair apart, and of runs that differ: at most 5 % of the intervals lack the rank."""
    generator = np.random.default_rng(1960)
    truth = gap * np.arange(10)[::-1]
    wrong = np.zeros(10)
    for seed in range(60):
        low, high = rank_intervals(drawn(generator, truth, 30), resamples=400, seed=seed)
        ranks = np.arange(10) + 1
        wrong += (ranks < low) | (high < ranks)
    assert wrong.mean() / 60 <= 0.05


def test_ranks_of_runs_far_apart_are_known_and_of_equal_ones_open() -> None:
    generator = np.random.default_rng(7)
    low, high = rank_intervals(drawn(generator, np.array([0.1, 0.9, 0.5]), 40))
    assert low.tolist() == high.tolist() == [3, 1, 2]
    same = np.tile(generator.random((20, 1)), 4)
    low, high = rank_intervals(Sample(tuple(map(str, range(20))), same, np.arange(20)))
    assert (low.tolist(), high.tolist()) == ([1] * 4, [4] * 4)


def test_one_topic_or_none_in_common_say_nothing_of_ranks() -> None:
    low, high = rank_intervals(Sample(("q",), np.array([[0.1, 0.9]]), np.arange(1)))
    assert (low.tolist(), high.tolist()) == ([1, 1], [2, 2])
    disjoint = np.array([[0.1, math.nan]] * 8 + [[math.nan, 0.9]] * 8)
    low, high = rank_intervals(Sample(tuple(map(str, range(16))), disjoint, np.arange(16)))
    assert (low.tolist(), high.tolist()) == ([1, 1], [2, 2])


def test_intervals_of_ranks_agree_with_one_another() -> None:
    """No two runs are each surely better than the other; a better mean never has a later least rank."""
    sample = drawn(np.random.default_rng(3), np.linspace(0, 0.1, 8), 25)
    low, high = rank_intervals(sample)
    means = sample.values.mean(axis=0)
    for one, other in combinations(range(8), 2):
        if means[one] > means[other]:
            assert low[one] <= high[other]


def slow_rank_intervals(columns: Sample, resamples: int, steps: int = 99) -> tuple[list[int], list[int]]:
    """As the definition says it: column by column, and pair by pair in both directions."""
    number = columns.values.shape[1]
    mean = columns.mean()
    drawn = _means(_times(columns.units, resamples, 0), columns.sums(), columns.sizes()) - mean
    low, high = [1] * number, [number] * number
    for index in range(number):
        better: set[int] = set()
        worse: set[int] = set()
        for _ in range(steps):
            halves = {}
            farthest = np.zeros(resamples)
            for other in set(range(number)) - {index}:
                noise = drawn[:, other] - drawn[:, index]
                spread = noise.std()
                if spread > 1e-12:
                    # Of whoever is known to be better, only seeming worse would be wrong, and vice versa.
                    sides = [] if other in better else [noise]
                    sides += [] if other in worse else [-noise]
                    for side in sides:
                        farthest = np.fmax(farthest, side / spread)
                    halves[other] = spread
                else:
                    halves[other] = spread if math.isnan(spread) else 0.0
            at_once = min(float(np.quantile(farthest, 0.95)), 8.0)
            neighbors: tuple[set[int], set[int]] = set(), set()
            for other, spread in halves.items():
                differences = columns.of(columns.values[:, [index]] - columns.values[:, [other]])
                units = int(differences.counts()[0])
                if units < 2:
                    continue
                edge = stats.t.ppf(stats.norm.cdf(at_once), units - 1)
                half = spread * math.sqrt(units / (units - 1)) * edge
                if is_coarse(differences)[0]:
                    span = max(1.0, float(np.abs(np.nan_to_num(differences.values)).max()))
                    half = max(half, float(half_with_floor(differences, 0.95, span)[0]))
                if mean[other] - mean[index] > half:
                    neighbors[0].add(other)
                if mean[other] - mean[index] < -half:
                    neighbors[1].add(other)
            if neighbors == (better, worse):
                break
            better, worse = neighbors
        low[index] += len(better)
        high[index] -= len(worse)
    return low, high


@pytest.mark.some(3)
@pytest.mark.parametrize("seed", range(6))
def test_ranks_are_what_each_pair_by_itself_gives(seed: int) -> None:
    generator = np.random.default_rng(seed)
    values = np.clip(drawn(generator, np.linspace(0.2, 0.8, 9), 30).values, 0, 1)
    values[:, 1] = values[:, 0]  # two that are alike
    values[:, 2] = values[:, 0]
    values[4, 2] += 0.1  # one that differs in one topic
    if seed % 2:
        values[:, 3] = np.nan
        values[generator.random((30, 9)) < 0.2] = np.nan
    if seed == 4:
        values = (values > 0.5).astype(float)
    sample = Sample(tuple(map(str, range(30))), values, np.arange(30))
    low, high = rank_intervals(sample, resamples=300, seed=0)
    assert (low.tolist(), high.tolist()) == slow_rank_intervals(sample, 300)


def differences_of(distance: float) -> dict[tuple[int, int], Corrected]:
    """Corrected differences of three columns, each so far above the next, by labels of half the queries."""
    drawn = np.random.default_rng(2).normal(0, 0.2, (120, 3)) - distance * np.arange(3)
    differences = {}
    for first, second in combinations(range(3), 2):
        gap = drawn[:, first] - drawn[:, second]
        differences[first, second] = corrected(
            gap + 0.1, {index: gap[index] for index in range(0, 120, 2)}, paired=True
        )
    return differences


def test_corrected_differences_give_ranks() -> None:
    far = differences_of(0.5)
    assert corrected_rank_intervals(3, far) == ([1, 2, 3], [1, 2, 3])
    assert corrected_rank_intervals(3, far, sign=-1.0) == ([3, 2, 1], [3, 2, 1])
    # Of a pair without a difference nothing is known, and nothing of a column in no pair.
    del far[0, 1]
    assert corrected_rank_intervals(3, far) == ([1, 1, 3], [2, 2, 3])
    assert corrected_rank_intervals(4, far) == ([1, 1, 3, 1], [3, 3, 4, 4])
    assert corrected_rank_intervals(3, differences_of(0.0)) == ([1, 1, 1], [3, 3, 3])
    assert corrected_rank_intervals(1, {}) == ([1], [1])


@pytest.mark.slow
def test_what_is_known_narrows_what_is_not() -> None:
    """Step by step more is known than at once, and never less."""
    narrower = 0
    for seed in range(6):
        sample = drawn(np.random.default_rng(seed), np.linspace(0.2, 0.5, 12), 30)
        low, high = rank_intervals(sample, resamples=300, seed=0)
        wide_low, wide_high = slow_rank_intervals(sample, 300, steps=1)
        assert (low >= wide_low).all()
        assert (high <= wide_high).all()
        narrower += int((high - low).sum()) < sum(wide_high) - sum(wide_low)
    assert narrower >= 3


def test_columns_are_settled_each_by_itself() -> None:
    generator = np.random.default_rng(5)
    values = generator.integers(0, 4, (40, 30)) / 3 + generator.choice([0.0, 1e-17, 4e-12, 3e-11], (40, 30))
    values[generator.random((40, 30)) < 0.1] = np.nan
    values[0, 0], values[1, 1], values[:, 2] = np.inf, -np.inf, np.nan
    values[:, 3] *= 1e9
    together = settled_columns(values)
    for index in range(30):
        np.testing.assert_array_equal(together[:, index], settled(values[:, index]))
        np.testing.assert_array_equal(together[:, index], slowly_settled(values[:, index]))
    assert settled_columns(np.zeros((0, 3))).shape == (0, 3)


def test_near_is_in_units_of_1_however_small_all_values_are() -> None:
    values = [0.25, 0.25 + 0.6e-11, 0.5, 0.5 + 1.5e-11]
    assert settled(np.array(values)).tolist() == [0.25, 0.25, 0.5, 0.5 + 1.5e-11]
    assert settled(np.array([0.6e-11, 1.5e-11 + 0.6e-11])).tolist() == [0.0, 1.5e-11 + 0.6e-11]


def slowly_settled(values: np.ndarray) -> list[float]:
    """A value at a time, from the smallest on: who is near to the one before is what that one is."""
    defined = sorted(value for value in values.tolist() if math.isfinite(value))
    near = SLACK * max(1.0, *map(abs, defined), 0.0) if defined else SLACK
    settled_values: dict[float, float] = {}
    first = before = -math.inf
    for value in defined:
        first = first if value - before <= near else value
        settled_values[value], before = (0.0 if abs(first) <= near else first), value
    return [settled_values.get(value, value) for value in values.tolist()]


def test_two_columns_that_are_clearly_apart_have_a_rank_each() -> None:
    values = np.array([[0.9, 0.1], [0.8, 0.2], [0.9, 0.2], [0.8, 0.1]] * 5)
    low, high = rank_intervals(Sample(tuple(map(str, range(20))), values, np.arange(20)))
    assert (low.tolist(), high.tolist()) == ([1, 2], [1, 2])


@pytest.mark.parametrize(
    ("columns", "draws"), [(183, 4000), (184, 3986), (518, 501), (519, 500), (9999, 500)]
)
def test_of_more_than_183_columns_fewer_draws_are_taken_and_500_at_least(columns: int, draws: int) -> None:
    assert _draws(columns, 4000) == draws
    assert _draws(columns, 100) == 100


def test_a_copy_of_a_column_has_its_ranks() -> None:
    """Two differences never scatter: nothing is divided by 0, and neither is better."""
    values = np.random.default_rng(3).normal(0, 1, (30, 3))
    columns = np.column_stack([values[:, 0] + 9, values[:, 1], values[:, 1], values[:, 2] - 9])
    low, high = rank_intervals(Sample(tuple(map(str, range(30))), columns, np.arange(30)))
    assert (low.tolist(), high.tolist()) == ([1, 2, 2, 4], [1, 3, 3, 4])


def test_the_mean_of_one_value_is_the_value() -> None:
    columns = Sample(("a", "b"), np.array([[2.0, 1.0], [np.nan, 3.0]]), np.arange(2))
    assert columns.mean().tolist() == [2.0, 2.0]
