"""How alike two rankings of systems are, and between what ranks a system may lie.

Of n systems with scores x (the truth) and y, the higher the better:
    τ_b      (concordant − discordant pairs) / √(pairs that x parts · pairs that y parts)
    ρ        Pearson's correlation of the ranks, mean ranks for equal scores
    τ_AP     2/m Σ_i C(i)/A(i) − 1 over the m systems with any above them by y: A(i) of these, of which C(i)
             are above i by x, too; a group of equal ones is passed over at once (Urbano and Marrero, 2017)
    τ_GAP    the same with gaps |x_j − x_i| for counts: 2/m Σ_i (gaps to those above i that x puts there, too)
             / (gaps to all above i) − 1, over the m systems with a gap above them (Gao and Oard, SIGIR 2015)
    RBO      p^n X_n/n + (1 − p)/p Σ_d p^d X_d/d, X_d: systems that are among the first d of both (Webber et
             al., TOIS 2010: the extrapolated one, of two rankings of the same systems)

The rank of a system is 1 + how many are better. An interval of it is made of the intervals of its differences
from every other one, which hold at once: between 1 + how many are surely better, and n − how many are surely
worse (Mogstad et al., 2024). Step by step: a system that is surely better could only be wrong by being worse,
so in its draws only that side counts from then on; the intervals become narrower, until none is added (Romano
and Wolf, 2005). To leave it out altogether would be to forget that its direction, too, was claimed.
Quantiles of bootstrapped ranks would be too narrow where systems are near to one another: a sample drawn from
a sample scatters around what was seen, not around what is true.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from rageval.statistics import LEVEL, SEED
from rageval.statistics.bootstrap import RESAMPLES, _means, _times, half_with_floor, is_coarse
from rageval.statistics.correction import FARTHEST, Corrected, at_once
from rageval.statistics.samples import Float, Int, Sample

RBO_P = 0.9
_ROUNDING = 1e-12
_ADDED = 0.1  # of the variance of resampled differences of τ_b, to the error of their mean
_WORK, _FEWEST = 2**26, 500  # differences that are drawn; draws at least, however many pairs there are
_IN_CACHE = 2**15  # numbers


def tau_b(one: Float, other: Float) -> float:
    """Return Kendall's τ_b of two lists of scores; NaN if one of them is constant.

    >>> tau_b(np.array([1.0, 2.0, 3.0]), np.array([1.0, 3.0, 2.0]))
    0.3333333333333333
    """
    return float(_taus(one[np.newaxis], other[np.newaxis])[0])


def _taus(one: Float, other: Float) -> Float:
    """Return τ_b of each row of scores with the same row of the other."""
    agreeing, parted, other_parted = (np.zeros(len(one)) for _ in range(3))
    for system in range(one.shape[1] - 1):
        # Every pair of systems once; not all at a time, which would fill the memory.
        first, second = (
            np.sign(side[:, system, np.newaxis] - side[:, system + 1 :]) for side in (one, other)
        )
        agreeing += (first * second).sum(axis=1)
        parted += np.count_nonzero(first, axis=1)
        other_parted += np.count_nonzero(second, axis=1)
    pairs = np.sqrt(parted * other_parted)
    taus: Float = np.divide(agreeing, pairs, out=np.full(len(one), math.nan), where=pairs > 0)
    return taus


class Nearer(NamedTuple):
    """How much higher τ_b of one estimate is than another's; NaN for an interval or a p that is not known."""

    difference: float
    low: float = math.nan
    high: float = math.nan
    p: float = math.nan


def nearer(truth: Float, one: Float, other: Float, resamples: int = 1000) -> Nearer:
    """Test whether one estimate ranks systems more like the truth than another, by τ_b of the means.

    All three are tables of the same topics (rows) and systems. Topics are drawn for all three at once. Tested
    is the mean of the difference over the draws: a difference of coefficients jumps where two systems change
    places, so its scatter over draws is no standard error. The mean does not jump. Its error is that of the
    infinitesimal jackknife (Efron, JASA 2014), with ψ_t = cov(how often topic t is drawn, difference):

        V = T/(T − 1) Σ ψ_t² + v/10,    degrees of freedom (Σ ψ_t²)² / Σ ψ_t⁴ − 1

    which are fewer where few topics decide. v is the variance of the draws. A tenth of it is added, because
    of few runs Σ ψ_t² is too small (`benchmarks/nearer.py`). The interval reaches as far beyond the mean and
    beyond the difference of the tables; where these lie on either side of 0, nothing is shown.

    A permutation test, which exchanges the two estimates topic by topic, would test whether they are alike in
    everything: it finds a difference in up to 44 % of cases between judges that make other errors but rank
    equally well.

    >>> truth = np.random.default_rng(1).random((40, 6)) + np.arange(6) / 6
    >>> noise = np.random.default_rng(2).normal(size=(40, 6))
    >>> comparison = nearer(truth, truth + noise / 9, noise)
    >>> comparison.difference > 0, comparison.p < 0.05
    (True, True)
    """
    sides = (truth, one, other)
    seen = [side.mean(axis=0) for side in sides]
    difference = tau_b(seen[0], seen[1]) - tau_b(seen[0], seen[2])
    topics = len(truth)
    times = _times(topics, resamples, SEED).astype(np.float64)
    # A column at a time: equal systems must stay equal to the last bit.
    drawn = [np.stack([times @ column / topics for column in side.T.copy()], axis=1) for side in sides]
    differences = _taus(drawn[0], drawn[1]) - _taus(drawn[0], drawn[2])
    defined = ~np.isnan(differences)
    if math.isnan(difference) or defined.sum() <= resamples / 2:
        return Nearer(difference)
    times, differences = times[defined], differences[defined]
    mean = float(differences.mean())
    parts = (differences - mean) @ (times - 1) / len(differences)
    squares = parts * parts
    error = math.sqrt(topics / (topics - 1) * float(squares.sum()) + _ADDED * float(differences.var()))
    if error <= _ROUNDING:
        return Nearer(difference)  # no sample of topics says how far it may be off
    from scipy.special import stdtr, stdtrit

    freedom = max(float(squares.sum() ** 2 / (squares * squares).sum()) - 1, 1.0)
    half = float(stdtrit(freedom, (1 + LEVEL) / 2)) * error
    low, high = min(mean, difference) - half, max(mean, difference) + half
    p = 2 * float(stdtr(freedom, -abs(mean) / error)) if mean * difference > 0 else 1.0
    return Nearer(difference, max(low, -2.0), min(high, 2.0), p)


def tau_ap(truth: Float, estimate: Float) -> float:
    """Return τ_AP (Yilmaz et al., SIGIR 2008): τ in which errors near the top of the estimate cost more.

    Systems tied in the estimate are skipped together, so that their order changes nothing. NaN if the
    estimate, or the truth, is constant.

    >>> tau_ap(np.array([3.0, 2.0, 1.0]), np.array([3.0, 2.0, 1.0]))
    1.0
    """
    if _is_constant(truth):
        return math.nan
    # For each system, the share of those above it that belong there.
    right = []
    for system, score in enumerate(estimate):
        higher = truth[estimate > score]
        if len(higher):
            right.append(float((higher > truth[system]).mean()))
    return 2 * float(np.mean(right)) - 1 if right else math.nan


def tau_gap(truth: Float, estimate: Float) -> float:
    """Return τ_GAP (Gao and Oard, SIGIR 2015): τ_AP in which errors cost as much as the true scores differ.

    Systems tied in the estimate are skipped together, as in `tau_ap`; those tied in the truth have no gap.
    NaN if the estimate, or the truth, is constant.

    >>> truth = np.array([0.90, 0.50, 0.45, 0.20])
    >>> near, far = np.array([0.8, 0.5, 0.6, 0.1]), np.array([0.6, 0.8, 0.4, 0.1])
    >>> round(tau_gap(truth, near), 4), round(tau_gap(truth, far), 4)
    (0.9259, 0.3333)
    """
    right = []
    for system, score in enumerate(estimate):
        gaps = truth[estimate > score] - truth[system]
        whole = float(np.abs(gaps).sum())
        if whole:
            right.append(float(gaps[gaps > 0].sum()) / whole)
    return 2 * float(np.mean(right)) - 1 if right else math.nan


def pearson(one: Float, other: Float) -> float:
    """Return Pearson's correlation; NaN if one of them is constant.

    >>> round(pearson(np.array([1.0, 2.0, 3.0]), np.array([2.0, 4.0, 6.5])), 6)
    0.997949
    """
    if _is_constant(one) or _is_constant(other):
        return math.nan
    first, second = one - one.mean(), other - other.mean()
    whole = math.sqrt(float(first @ first)) * math.sqrt(float(second @ second))
    # Rounding can carry a perfect correlation beyond 1, which no reader expects.
    return min(1.0, max(-1.0, float(first @ second) / whole)) if whole else math.nan


def spearman(one: Float, other: Float) -> float:
    """Return Spearman's ρ, equal scores with their mean rank; NaN if one of them is constant.

    >>> round(spearman(np.array([1.0, 2.0, 9.0]), np.array([1.0, 3.0, 2.0])), 12)
    0.5
    """
    return pearson(_mean_ranks(one), _mean_ranks(other))


def _mean_ranks(scores: Float) -> Float:
    ordered = np.sort(scores)
    lower, not_higher = (np.searchsorted(ordered, scores, side) for side in ("left", "right"))
    ranks: Float = lower + (not_higher - lower) / 2
    return ranks


def _is_constant(scores: Float) -> bool:
    return not len(scores) or bool((scores == scores[0]).all())


def rbo(one: Sequence[str], other: Sequence[str], p: float = RBO_P) -> float:
    """Return the extrapolated rank-biased overlap of two rankings of the same systems, the best first.

    >>> rbo("abc", "abc"), round(rbo("ab", "ba"), 12)
    (1.0, 0.9)
    """
    top_of_one: set[str] = set()
    top_of_other: set[str] = set()
    weighted_sum = overlap = 0.0
    for depth, (system_of_one, system_of_other) in enumerate(zip(one, other, strict=True), 1):
        top_of_one.add(system_of_one)
        top_of_other.add(system_of_other)
        overlap = len(top_of_one & top_of_other) / depth
        weighted_sum += p**depth * overlap
    # Extrapolated: below the last rank the overlap is taken to stay as it is there.
    return p ** len(one) * overlap + (1 - p) / p * weighted_sum


def rank_intervals(columns: Sample, resamples: int = RESAMPLES, seed: int = SEED) -> tuple[Int, Int]:
    """Return the interval of ranks of each column, by its mean: the highest has rank 1.

    One resample of topics serves all columns. For each column the differences from all others are bounded at
    once, so that its rank is within its interval in 95 % of cases, however close the others are. Every draw
    compares every pair: with more than about 180 columns there are fewer draws, at least 500.

    >>> values = np.array([[0.9, 0.1, 0.1], [0.8, 0.2, 0.1], [0.9, 0.1, 0.2], [0.8, 0.2, 0.2]] * 3)
    >>> low, high = rank_intervals(Sample(tuple("abcdefghijkl"), values, np.arange(12)))
    >>> low.tolist(), high.tolist()
    ([1, 2, 2], [1, 3, 3])
    """
    number = columns.values.shape[1]
    low, high = np.ones(number, np.int64), np.full(number, number, np.int64)
    if number < 2:
        return low, high
    mean = columns.mean()
    draws = _draws(number, resamples)
    # All columns by the same draws: topics that are hard for one system are so for the others.
    drawn = (_means(_times(columns.units, draws, seed), columns.sums(), columns.sizes()) - mean).T.copy()
    spread, farthest = _noise(drawn)
    units, floor = _common_units(columns)
    for column in range(number):
        side, off = np.zeros(number), farthest[column]
        while True:
            far = min(float(np.quantile(off, LEVEL)), FARTHEST)
            half = _half_widths(spread[column], far, units[column], floor[column])
            # What is not known (a run without a value, one topic in common) is neither better nor worse.
            known_side = np.where(np.abs(mean - mean[column]) > half, np.sign(mean - mean[column]), 0.0)
            if (known_side == side).all():
                break
            side = known_side
            off = _noise_of(drawn, column, spread[column], side)
        # Each system that is surely better pushes its best rank down by one, each that is worse its worst up.
        low[column] += int((side > 0).sum())
        high[column] -= int((side < 0).sum())
    return low, high


def corrected_rank_intervals(
    number: int,
    differences: Mapping[tuple[int, int], Corrected],
    sign: float = 1.0,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> tuple[list[int], list[int]]:
    """Return the interval of ranks of each column, by corrected differences, first less second.

    As of `rank_intervals`, a column's differences are bounded at once, step by step. A pair without a
    difference is neither better nor worse than the other. With a `sign` of -1 the lowest mean has rank 1.
    """
    low, high = [1] * number, [number] * number
    for column in range(number):
        pairs = [pair for pair in differences if column in pair]
        means, draws = [differences[pair] for pair in pairs], _draws(number, resamples)
        known_sides, sides = [0] * len(pairs), None
        while known_sides != sides:
            sides = known_sides
            ends = at_once(means, draws=draws, seed=seed, sides=sides)
            known_sides = [(least > 0) - (most < 0) for least, most in ends]
        for (first, _), side in zip(pairs, known_sides, strict=True):
            towards = (sign if column == first else -sign) * side
            low[column] += towards < 0
            high[column] -= towards > 0
    return low, high


def _draws(number: int, resamples: int) -> int:
    """Return how many draws are taken of so many columns, of which every pair is looked at."""
    return min(resamples, max(_FEWEST, _WORK // max(number * (number - 1) // 2, 1)))


def _noise(drawn: Float) -> tuple[Float, Float]:
    """Return how far the difference of each two columns scatters, and each column's farthest in each draw.

    `drawn` is by how much resampled means are off, a row a column; the farthest is the largest difference
    from any other column, in units of its own scatter.
    """
    number, draws = drawn.shape
    spread, farthest = np.zeros((number, number)), np.zeros_like(drawn)
    rows = max(1, _IN_CACHE // draws)
    for column in range(number):
        # Each pair once.
        for begin in range(column + 1, number, rows):
            part = slice(begin, min(begin + rows, number))
            noise = drawn[part] - drawn[column]
            middle = noise.mean(axis=1)
            error = np.sqrt(np.maximum(np.einsum("ij,ij->i", noise, noise) / draws - middle * middle, 0.0))
            # Differences that are all alike leave a spread of rounding errors.
            error[error <= _ROUNDING] = 0.0
            np.abs(noise, out=noise)
            noise *= np.divide(1.0, error, out=np.zeros_like(error), where=error > 0)[:, None]
            noise[~(error > 0)] = 0.0  # also where a column has no value, and so no mean
            np.maximum(farthest[part], noise, out=farthest[part])
            np.maximum(farthest[column], noise.max(axis=0), out=farthest[column])
            spread[column, part] = spread[part, column] = error
    return spread, farthest


def _noise_of(drawn: Float, column: int, spread: Float, side: Float) -> Float:
    """Return one column's farthest in each draw, on both sides, or against the `side` that is known."""
    farthest = np.zeros(drawn.shape[1])
    rows = max(1, _IN_CACHE // len(farthest))
    for group in (side == 0, side != 0):
        places = np.flatnonzero(group & (spread > 0))
        for begin in range(0, len(places), rows):
            part = places[begin : begin + rows]
            noise = drawn[part]
            noise -= drawn[column]
            noise *= (np.where(side[part] == 0, 1.0, -side[part]) / spread[part])[:, None]
            if not side[part[0]]:  # all of a part are known, or none
                np.abs(noise, out=noise)
            np.maximum(farthest, noise.max(axis=0), out=farthest)
    return farthest


def _common_units(columns: Sample) -> tuple[Int, Float]:
    """Return of each two columns how many units have both, and how wide an interval is at least: half of it.

    That is 0 where many differences are not alike.
    """
    number = columns.values.shape[1]
    units, floor = np.zeros((number, number), np.int64), np.zeros((number, number))
    for column in range(number - 1):
        others = np.arange(column + 1, number)
        differences = columns.of(columns.values[:, [column]] - columns.values[:, others])
        units[column, others] = units[others, column] = differences.counts()
        coarse = np.flatnonzero(is_coarse(differences))
        if len(coarse):
            few = columns.of(differences.values[:, coarse])
            # How far one topic might move each difference: 1 where the values keep to it, as scores do.
            magnitudes = np.abs(np.nan_to_num(few.values))
            least = half_with_floor(few, LEVEL, np.maximum(magnitudes.max(axis=0, initial=0.0), 1.0))
            floor[column, others[coarse]] = floor[others[coarse], column] = least
    return units, floor


def _half_widths(spread: Float, far: float, units: Int, floor: Float) -> Float:
    """Return half the widths of intervals of one column's differences from all, which hold at once."""
    from scipy.special import ndtr, stdtrit

    # As many errors as the normal would need, in Student's terms: few topics know their own error badly.
    # The bootstrap's own error divides by n instead of n − 1.
    counts, which = np.unique(np.maximum(units, 2), return_inverse=True)
    errors = np.sqrt(counts / (counts - 1)) * stdtrit(counts - 1, ndtr(far))
    half: Float = np.maximum(spread * errors[which], floor)
    # From one topic nothing can be told, and the rank may be any.
    half[units < 2] = np.inf
    return half
