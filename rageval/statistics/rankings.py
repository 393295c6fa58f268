"""How alike two rankings of systems are, and between what ranks a system may lie.

Of n systems with scores x (the truth) and y, the higher the better:
    τ_b      (concordant − discordant pairs) / √(pairs that x parts · pairs that y parts)
    ρ        Pearson's correlation of the ranks, mean ranks for equal scores
    τ_AP     2/m Σ_i C(i)/A(i) − 1 over the m systems with any above them by y: A(i) of these, of which C(i)
             are above i by x, too; a group of equal ones is passed over at once (Urbano and Marrero, 2017)
    RBO      p^n X_n/n + (1 − p)/p Σ_d p^d X_d/d, X_d: systems that are among the first d of both (Webber et
             al., TOIS 2010: the extrapolated one, of two rankings of the same systems)

The rank of a system is 1 + how many are better. An interval of it is made of the intervals of its differences
from every other one, which hold at once: between 1 + how many are surely better, and n − how many are surely
worse (Mogstad et al., 2024). Quantiles of bootstrapped ranks would be too narrow where systems are near to
one another: a sample drawn from a sample scatters around what was seen, not around what is true.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from rageval.statistics import LEVEL, SEED
from rageval.statistics.bootstrap import RESAMPLES, _floor, _means, _times, is_coarse
from rageval.statistics.samples import Float, Int, Sample

RBO_P = 0.9
_ROUNDING = 1e-12
_FARTHEST = 8.0  # standard errors, so that a quantile is finite


def tau_b(one: Float, other: Float) -> float:
    """Return Kendall's τ_b of two lists of scores; NaN if one of them is constant.

    >>> tau_b(np.array([1.0, 2.0, 3.0]), np.array([1.0, 3.0, 2.0]))
    0.3333333333333333
    """
    # Every pair of systems once.
    i, j = np.triu_indices(len(one), 1)
    first, second = np.sign(one[i] - one[j]), np.sign(other[i] - other[j])
    ties = math.sqrt(float((first != 0).sum()) * float((second != 0).sum()))
    return float((first * second).sum()) / ties if ties else math.nan


def tau_ap(truth: Float, estimate: Float) -> float:
    """Return τ_AP (Yilmaz et al., SIGIR 2008): τ in which errors near the top of the estimate cost more.

    Systems that the estimate does not part are passed over at once, so that their order changes nothing.
    NaN if the estimate, or the truth, is constant.

    >>> tau_ap(np.array([3.0, 2.0, 1.0]), np.array([3.0, 2.0, 1.0]))
    1.0
    """
    if _is_constant(truth):
        return math.nan
    # For each system, the share of those above it that belong there.
    right = []
    for at, score in enumerate(estimate):
        above = truth[estimate > score]
        if len(above):
            right.append(float((above > truth[at]).mean()))
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
    others, own = scores[None], scores[:, None]
    ranks: Float = (others < own).sum(axis=1) + (others == own).sum(axis=1) / 2
    return ranks


def _is_constant(scores: Float) -> bool:
    return not len(scores) or bool((scores == scores[0]).all())


def rbo(one: Sequence[str], other: Sequence[str], p: float = RBO_P) -> float:
    """Return the extrapolated rank-biased overlap of two rankings of the same systems, the best first.

    >>> rbo("abc", "abc"), round(rbo("ab", "ba"), 12)
    (1.0, 0.9)
    """
    first: set[str] = set()
    second: set[str] = set()
    total = share = 0.0
    for depth, (left, right) in enumerate(zip(one, other, strict=True), 1):
        first.add(left)
        second.add(right)
        share = len(first & second) / depth
        total += p**depth * share
    # Extrapolated: below the last rank the overlap is taken to stay as it is there.
    return p ** len(one) * share + (1 - p) / p * total


def rank_intervals(
    columns: Sample, level: float = LEVEL, resamples: int = RESAMPLES, seed: int = SEED
) -> tuple[Int, Int]:
    """Return between what ranks each column lies, by its mean: the highest has rank 1.

    One resample of topics serves all columns. For each column the differences from all others are bounded at
    once, so that its rank lies within its interval with the probability `level`, however near others are.

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
    # All columns by the same draws: topics that are hard for one system are so for the others.
    drawn = _means(_times(columns.units, resamples, seed), columns.sums(), columns.sizes()) - mean
    for at in range(number):
        others = np.delete(np.arange(number), at)
        apart = columns.of(columns.values[:, [at]] - columns.values[:, others])
        half = _half_widths(apart, drawn[:, [at]] - drawn[:, others], level)
        # What is not known (a run without a value, one topic in common) is neither better nor worse.
        difference = mean[at] - mean[others]
        # Each system that is surely better pushes its best rank down by one, each that is worse its worst up.
        low[at] += int((difference < -half).sum())
        high[at] -= int((difference > half).sum())
    return low, high


def _half_widths(differences: Sample, noise: Float, level: float) -> Float:
    """Return half the widths of intervals of all differences, which hold at once.

    `noise` is by how much resampled differences are off, a row a draw.
    """
    from scipy.special import ndtr, stdtrit

    units = differences.counts()
    spread = noise.std(axis=0)
    # Differences that are all alike leave a spread of rounding errors.
    spread[spread <= _ROUNDING] = 0.0
    apart = np.divide(np.abs(noise), spread, out=np.zeros_like(noise), where=spread > 0)
    at_once = min(float(np.quantile(apart.max(axis=1), level)), _FARTHEST)
    # As many errors as the normal would need, in Student's terms: few topics know their own error badly.
    # The bootstrap's own error divides by n instead of n − 1.
    known = np.maximum(units, 2)
    half: Float = spread * np.sqrt(known / (known - 1)) * stdtrit(known - 1, ndtr(at_once))
    coarse = is_coarse(differences)
    if coarse.any():
        half[coarse] = np.maximum(half, _floor(differences, level, _span(differences)))[coarse]
    # From one topic nothing can be told, and the rank may be any.
    half[units < 2] = np.inf
    return half


def _span(differences: Sample) -> Float:
    """Return how far one topic might move each difference: 1 where the values keep to it, as scores do."""
    known = np.abs(np.nan_to_num(differences.values))
    span: Float = np.maximum(known.max(axis=0, initial=0.0), 1.0)
    return span
