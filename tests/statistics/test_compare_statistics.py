"""The numbers under a comparison: against all sign patterns, against scipy, and by simulation."""

from __future__ import annotations

import math
from itertools import combinations, product

import numpy as np
import pytest
from scipy import stats

from rageval.statistics import power
from rageval.statistics.bootstrap import _bca_quantile, intervals
from rageval.statistics.samples import Float, Sample
from rageval.statistics.significance import (
    _exact_sign_flip,
    holm,
    max_t,
    sign_flip,
    t_test,
)

ONE_PAIR = np.array([[0, 1]])


def column(values: Float, unit: Float | None = None) -> Sample:
    number = len(values)
    units = np.arange(number) if unit is None else np.asarray(unit)
    return Sample(tuple(map(str, range(number))), np.asarray(values, np.float64).reshape(number, -1), units)


def brute_sign_flip(differences: Float) -> float:
    sums = [abs(sum(s * d for s, d in zip(signs, differences, strict=True)))
            for signs in product((1, -1), repeat=len(differences))]  # fmt: skip
    return float(np.mean([total >= abs(sum(differences)) - 1e-12 for total in sums]))


@pytest.mark.parametrize("seed", range(30))
def test_the_exact_test_counts_all_sign_patterns(seed: int) -> None:
    rng = np.random.default_rng(seed)
    number = int(rng.integers(1, 11))
    drawn = rng.integers(-3, 4, number) / 4 if seed % 2 else rng.normal(0.3, 1, number)
    assert _exact_sign_flip(drawn) == pytest.approx(brute_sign_flip(drawn), abs=1e-15)
    assert _exact_sign_flip(drawn) > 0


@pytest.mark.parametrize("seed", range(5))
def test_pairs_of_columns_are_compared_and_small_samples_exactly(seed: int) -> None:
    values = np.random.default_rng(seed).normal((0.2, 0.1, 0), 1, (9, 3))
    pairs = np.array([[0, 1], [2, 0], [1, 2]])
    exact = [brute_sign_flip(values[:, one] - values[:, other]) for one, other in pairs.tolist()]
    assert sign_flip(values, pairs).p == pytest.approx(exact, abs=1e-15)


def test_however_many_differences_are_zero_p_is_one() -> None:
    """Up to 30 queries exactly, beyond by no more than what is drawn; two or more make it a mid-p."""
    rng = np.random.default_rng(5)
    drawn = rng.normal(0.4, 1, 12)
    for more, error in ((1, 0.0), (2, 0.0), (18, 0.0), (40, 0.01)):
        padded = np.column_stack((np.concatenate((drawn, np.zeros(more))), np.zeros(12 + more)))
        assert sign_flip(padded, ONE_PAIR).p[0] == pytest.approx(_exact_sign_flip(drawn, more > 1), abs=error)


@pytest.mark.some(5)
@pytest.mark.parametrize("seed", range(5))
def test_the_drawn_test_agrees_with_scipy(seed: int) -> None:
    values = np.random.default_rng(seed).normal((0.1, 0), 0.6, (40, 2))
    draws = 20_000
    ours = sign_flip(values, ONE_PAIR, draws, seed).p[0]
    theirs = stats.permutation_test(
        (values[:, 0], values[:, 1]),
        lambda x, y, axis: np.mean(x - y, axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=draws,
        rng=seed,
    ).pvalue
    assert ours == pytest.approx(theirs, abs=5 * math.sqrt(0.5 * ours * (1 - ours) / draws) + 1e-3)


def test_p_is_never_0_and_never_above_1() -> None:
    values = np.column_stack((np.linspace(1, 2, 200), np.zeros(200)))
    assert sign_flip(values, ONE_PAIR, 999, 1).p[0] == 2 / 2**200  # of Chernoff's bound
    assert sign_flip(np.repeat(values, 10, axis=0), ONE_PAIR, 999, 1).p[0] > 0
    assert max_t(values, ONE_PAIR, 999, 1).p[0] == 1 / 1000
    for test in (sign_flip, max_t):
        assert test(np.ones((50, 2)), ONE_PAIR).p[0] == test(np.ones((5, 2)), ONE_PAIR).p[0] == 1
    assert t_test(column(np.linspace(1, 1 + 1e-6, 5000))).p[0] > 0


def test_the_t_test_is_scipys() -> None:
    drawn = np.random.default_rng(3).normal(0.1, 1, (60, 5))
    assert t_test(column(drawn)).p == pytest.approx(stats.ttest_1samp(drawn, 0).pvalue, rel=1e-9)
    assert column(drawn).standard_error() == pytest.approx(stats.sem(drawn))
    assert column(drawn).cohens_d() == pytest.approx(drawn.mean(axis=0) / drawn.std(axis=0, ddof=1))


def test_undefined_values_are_left_out_of_every_number() -> None:
    drawn = np.random.default_rng(4).normal(0.2, 1, 30)
    with_gaps = np.concatenate((drawn, np.full(9, np.nan)))
    assert t_test(column(with_gaps)).p == pytest.approx(t_test(column(drawn)).p)
    assert column(with_gaps).standard_error() == pytest.approx(column(drawn).standard_error())
    assert column(with_gaps).cohens_d() == pytest.approx(column(drawn).cohens_d())


def test_equal_differences_leave_t_without_an_answer() -> None:
    same = np.full(20, 0.1)
    assert np.isnan(t_test(column(same)).p).all()
    assert np.isnan(column(same).cohens_d()).all()
    assert t_test(column(np.zeros(20))).p[0] == 1


def test_holm_is_as_by_hand() -> None:
    assert holm(np.array([0.01, 0.04, 0.03, 0.005])).tolist() == [0.03, 0.06, 0.06, 0.02]
    assert holm(np.array([0.6, 0.7])).tolist() == [1.0, 1.0]
    kept = holm(np.array([0.02, np.nan, 0.02]))
    assert kept[[0, 2]].tolist() == [0.04, 0.04]
    assert np.isnan(kept[1])


@pytest.mark.parametrize(("shift", "units"), [(0.2, 199), (0.3, 90), (0.5, 34), (0.8, 15), (1.0, 10)])
def test_needed_queries_are_those_of_the_tables(shift: float, units: int) -> None:
    """As G*Power and statsmodels have them for a paired t-test, 5 % two-sided, power 0.8."""
    assert power.needed(shift, 1 / math.sqrt(50), 50) == units
    assert power._power_of(shift, units) >= 0.8 > power._power_of(shift, units - 1)
    assert power.detectable(1 / math.sqrt(units), units) <= shift
    assert power.detectable(1 / math.sqrt(units - 1), units - 1) > shift


@pytest.mark.parametrize("units", [2, 5, 50, 10**5, 10**6])
def test_without_a_difference_power_is_the_level(units: int) -> None:
    assert power._power_of(0.0, units) == pytest.approx(0.05, abs=1e-9)
    assert power._power_of(0.0, units, 0.8) == pytest.approx(0.2, abs=1e-9)


def test_needed_is_the_first_that_is_enough() -> None:
    """From 2 upwards, whichever side the search begins on."""
    for shift in (0.04, 0.15, 0.7, 1.5, 3.0, 9.0, 40.0):
        units = power.needed(shift, 0.1, 100)
        assert units is not None
        assert power._power_of(shift, units) >= 0.8
        assert units == 2 or power._power_of(shift, units - 1) < 0.8


@pytest.mark.parametrize(("beyond", "level", "chance"), [(7.55, 0.95, 0.446395), (8.0, 0.9, 0.789239)])
def test_power_of_two_units_where_scipy_does_not_know_the_far_end(
    beyond: float, level: float, chance: float
) -> None:
    """∫ 2φ(s) Φ(beyond − edge·s) ds over s > 0; the other end adds less than 1e-13."""
    assert power._power_of(beyond / math.sqrt(2), 2, level) == pytest.approx(chance, abs=1e-6)


@pytest.mark.parametrize("level", [0.95, 0.999])
def test_every_unit_adds_power_and_makes_smaller_differences_detectable(level: float) -> None:
    for shift in (0.9, 1.8, 2.3, 3.4, 5.5):
        assert (np.diff([power._power_of(shift, units, level) for units in range(2, 40)]) > -1e-12).all()
    # Of one standard deviation of a unit, in units of their own error.
    detectable = [power.detectable(1 / math.sqrt(units), units, level) for units in range(2, 20)]
    assert (np.diff(detectable) < 0).all()
    for units, shift in zip(range(2, 20), detectable, strict=True):
        assert power.needed(shift * (1 + 1e-9), 1 / math.sqrt(50), 50, level) == units


def test_power_is_what_simulation_finds() -> None:
    rng = np.random.default_rng(8)
    drawn = rng.normal(0.5, 1, (25, 4000))
    power_found = (t_test(column(drawn)).p <= 0.05).mean()
    assert power_found == pytest.approx(power._power_of(0.5, 25), abs=4 * math.sqrt(0.25 / 4000))


def test_hopeless_and_degenerate_power() -> None:
    assert power.needed(0.0, 0.1, 50) is None
    assert power.needed(1e-9, 1.0, 50) is None
    assert power.needed(0.1, 0.0, 50) == 2
    assert power.needed(0.1, math.nan, 1) is None
    assert math.isnan(power.detectable(math.nan, 1))


DRAWN = {
    "normal": lambda rng, shape: rng.normal(0, 1, shape),
    "skewed": lambda rng, shape: rng.exponential(1, shape) - 1,
    "of_three_values": lambda rng, shape: rng.choice([-1.0, 0.0, 0.5], shape, p=[0.2, 0.4, 0.4]),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", DRAWN)
def test_intervals_hold_the_truth_as_often_as_they_say(name: str) -> None:
    """40 queries, 2,000 times: within binomial error; of skewed values a little less often, as is known."""
    times = 2000
    values = DRAWN[name](np.random.default_rng(11), (40, times))
    low, high = intervals(column(values), 0.95, 1000, 1)
    coverage = ((low <= 0) & (high >= 0)).mean()
    error = 3 * math.sqrt(0.95 * 0.05 / times)
    allowed = 0.025 if name == "skewed" else error
    assert 0.95 - allowed <= coverage <= 0.95 + error


@pytest.mark.slow
def test_narrow_samples_get_wider_intervals_than_the_plain_bootstrap() -> None:
    """Without the correction of the quantiles, 10 normal values hold the truth in about 90 % only."""
    values = np.random.default_rng(12).normal(0, 1, (10, 2000))
    low, high = intervals(column(values), 0.95, 1000, 1)
    coverage = ((low <= 0) & (high >= 0)).mean()
    drawn = values[np.random.default_rng(1).integers(0, 10, (1000, 10))].mean(axis=1)
    plain = np.quantile(drawn, [0.025, 0.975], axis=0)
    assert ((plain[0] <= 0) & (plain[1] >= 0)).mean() < 0.925 < 0.935 < coverage < 0.965


@pytest.mark.slow
def test_bca_is_scipys_but_for_the_draws() -> None:
    values = np.random.default_rng(2).exponential(1, 400)
    low, high = intervals(column(values), 0.95, 20_000, 1)
    theirs = stats.bootstrap((values,), np.mean, method="BCa", n_resamples=20_000, rng=1).confidence_interval
    assert (low[0], high[0]) == pytest.approx((theirs.low, theirs.high), abs=0.01)


@pytest.mark.parametrize(("gap", "below"), [(5e-12, 3 / 8), (1.5e-11, 3 / 4)])
def test_draws_that_differ_from_the_mean_by_rounding_count_half_as_below_it(gap: float, below: float) -> None:
    """Three of four draws; without skewness BCa moves the median by twice the share's normal quantile."""
    drawn = np.array([[-gap], [-gap], [-gap], [1.0]])
    moved = _bca_quantile(np.array([0.5]), drawn, np.array([[-1.0], [1.0]]), np.ones((2, 1)))
    assert moved[0] == pytest.approx(stats.norm.cdf(2 * stats.norm.ppf(below)))


def test_intervals_end_at_the_outermost_means_that_were_drawn() -> None:
    values = np.random.default_rng(6).random((30, 2))
    low, high = intervals(column(values), 1 - 1e-12, 100, 1)
    picked = np.random.default_rng(1).integers(0, 30, (100, 30))
    means = values[picked].mean(axis=1)
    assert low == pytest.approx(means.min(axis=0))
    assert high == pytest.approx(means.max(axis=0))


def test_two_queries_are_enough_for_a_number_and_one_is_not() -> None:
    assert power.detectable(0.1, 2) > 0
    assert power.needed(0.5, 0.1, 2) is not None
    two, one = (intervals(column(np.linspace(0, 1, number))) for number in (2, 1))
    assert two.low[0] < two.high[0]
    assert np.isnan([one.low[0], one.high[0]]).all()


def clustered(rng: np.random.Generator, times: int) -> tuple[Float, Float]:
    """30 clusters of 1 to 8 queries that share half of their variance."""
    sizes = rng.integers(1, 9, 30)
    unit = np.repeat(np.arange(30), sizes)
    return rng.normal(0, 1, (30, times))[unit] + rng.normal(0, 1, (len(unit), times)), unit


@pytest.mark.nightly
def test_clusters_keep_intervals_and_tests_honest() -> None:
    times = 1500
    values, unit = clustered(np.random.default_rng(21), times)
    error = 3 * math.sqrt(0.95 * 0.05 / times)
    low, high = intervals(column(values, unit), 0.95, 600, 1)
    assert ((low <= 0) & (high >= 0)).mean() == pytest.approx(0.95, abs=error + 0.01)
    low, high = intervals(column(values), 0.95, 600, 1)
    assert ((low <= 0) & (high >= 0)).mean() < 0.85
    sums = np.column_stack((column(values, unit).sums(), np.zeros(30)))
    pairs = np.stack((np.arange(times), np.full(times, times)), axis=1)
    p = sign_flip(sums, pairs, 999, 1).p
    assert (p <= 0.05).mean() == pytest.approx(0.05, abs=error)
    assert (t_test(column(values, unit)).p <= 0.05).mean() == pytest.approx(0.05, abs=error + 0.01)
    assert (t_test(column(values)).p <= 0.05).mean() > 0.15


@pytest.mark.nightly
def test_no_difference_is_found_too_often_where_there_is_none() -> None:
    """False positives of the sign flip: 5 % for values of any shape that is alike in both runs."""
    times = 2000
    rng = np.random.default_rng(31)
    error = 3 * math.sqrt(0.05 * 0.95 / times)
    for name, draw in DRAWN.items():
        values = draw(rng, (30, times)) - draw(rng, (30, times))
        sums = np.column_stack((values, np.zeros(30)))
        p = sign_flip(sums, np.stack((np.arange(times), np.full(times, times)), axis=1), 999, 1).p
        rate = (p <= 0.05).mean()
        assert rate <= 0.05 + error
        assert rate >= (0.02 if name == "of_three_values" else 0.05 - error)  # few values tie, and are safe


@pytest.mark.slow
def test_family_wise_error_of_holm_and_max_t() -> None:
    """Six equal runs, 15 pairs: one false alarm at most in 5 % of the families; without adjusting in many."""
    times, runs = 300, 6
    pairs = np.array(list(combinations(range(runs), 2)))
    rng = np.random.default_rng(41)
    alarms = {"none": 0, "holm": 0, "max_t": 0}
    for _ in range(times):
        values = rng.exponential(1, (25, 1)) + rng.exponential(0.5, (25, runs))
        p = sign_flip(values, pairs, 400, 1).p
        alarms["none"] += bool((p <= 0.05).any())
        alarms["holm"] += bool((holm(p) <= 0.05).any())
        alarms["max_t"] += bool((max_t(values, pairs, 400, 1).p <= 0.05).any())
    error = 3 * math.sqrt(0.05 * 0.95 / times)
    assert alarms["none"] / times > 0.2
    assert alarms["holm"] / times <= 0.05 + error
    assert 0.05 - error <= alarms["max_t"] / times <= 0.05 + error
