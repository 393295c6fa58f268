"""Tests that assume nothing but that, if two runs were alike, their names might as well be swapped.

sign flip      T = |Σ_u s_u D_u| with a random sign for each query's (or cluster's) difference D_u
               p = (b + 1)/(m + 1), b of m draws at least as large as what was seen; never 0
               exact, over all 2^n signs, where at most 20 differences are not 0
max-T          the runs' values are shuffled within each query, and the largest difference of all pairs
               compared with each pair's: randomised Tukey HSD (Carterette, TOIS 2012)
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from rageval.intervals.samples import Float, Int

EXACT = 20  # differences; 2^20 signs
DRAWS = 10_000
_AT_ONCE = 2**21  # numbers in memory
_SLACK = 1e-9  # two sums of the same numbers in another order are the same sum


def sign_flip(sums: Float, pairs: Int, draws: int = DRAWS, seed: int = 0) -> Float:
    """Two-sided p for each pair of columns of `sums`, the sums of values over independent units.

    >>> sums = np.array([[1.0, 0.0], [2.0, 0.0], [3.0, 0.0]])
    >>> sign_flip(sums, np.array([[0, 1]])).tolist()      # 2 of the 8 signs are as far from 0
    [0.25]
    """
    p = np.ones(len(pairs))
    by_draws = []
    for at, (first, second) in enumerate(pairs.tolist()):
        difference = sums[:, first] - sums[:, second]
        difference = difference[difference != 0]
        if len(difference) <= EXACT:
            p[at] = exact_sign_flip(difference)
        else:
            by_draws.append(at)
    if by_draws:
        p[by_draws] = _drawn_sign_flip(sums, pairs[by_draws], draws, seed)
    return p


def exact_sign_flip(difference: Float) -> float:
    """The share of all sign patterns whose sum is at least as far from 0, meeting in the middle."""
    half = len(difference) // 2
    left, right = _all_sums(difference[:half]), np.sort(_all_sums(difference[half:]))
    least = abs(difference.sum()) - _SLACK * np.abs(difference).sum()
    if least <= 0:
        return 1.0
    above = len(right) - np.searchsorted(right, least - left, side="left")
    below = np.searchsorted(right, -least - left, side="right")
    return float(above.sum() + below.sum()) / (len(left) * len(right))


def _all_sums(numbers: Float) -> Float:
    sums = np.zeros(1)
    for number in numbers.tolist():
        sums = np.concatenate((sums + number, sums - number))
    return sums


def _drawn_sign_flip(sums: Float, pairs: Int, draws: int, seed: int) -> Float:
    first, second = pairs.T
    seen = np.abs((sums[:, first] - sums[:, second]).sum(axis=0))
    least = seen - _SLACK * np.abs(sums[:, first] - sums[:, second]).sum(axis=0)
    count = np.zeros(len(pairs))
    for signs in _signs(len(sums), draws, seed, max(len(pairs), len(sums))):
        flipped = signs @ sums
        for part in np.array_split(np.arange(len(pairs)), max(1, signs.shape[0] * len(pairs) // _AT_ONCE)):
            drawn = np.abs(flipped[:, first[part]] - flipped[:, second[part]])
            count[part] += (drawn >= least[part]).sum(axis=0)
    p: Float = (count + 1) / (draws + 1)
    return p


def _signs(units: int, draws: int, seed: int, width: int) -> Iterator[Float]:
    """Random signs, a row a draw; the same for all pairs, whatever is compared."""
    generator = np.random.default_rng(seed)
    stretch = max(1, _AT_ONCE // width)
    for done in range(0, draws, stretch):
        rows = min(stretch, draws - done)
        yield np.where(generator.random((rows, units)) < 0.5, -1.0, 1.0)


def max_t(
    tables: list[Float], pairs: Int, baseline: int | None = None, draws: int = DRAWS, seed: int = 0
) -> list[Float]:
    """Family-wise p of each pair, for each table of sums (units × runs).

    Without a baseline a draw's largest difference is the range of the shuffled means (Tukey); with one it
    is the largest distance from the baseline (Dunnett). The tables are shuffled alike, all at once.
    """
    stacked = np.stack(tables, axis=2)  # units × runs × tables
    number = stacked.shape[2]
    seen = np.abs(stacked.sum(axis=0)[pairs[:, 0]] - stacked.sum(axis=0)[pairs[:, 1]])
    slack = _SLACK * np.abs(stacked).sum(axis=0).max(axis=0)
    largest = np.concatenate([_largest(means, baseline) for means in _shuffled(stacked, draws, seed)])
    found = []
    for at in range(number):
        ordered = np.sort(largest[:, at])
        reached = draws - np.searchsorted(ordered, seen[:, at] - slack[at], side="left")
        found.append((reached + 1) / (draws + 1))
    return found


def _largest(sums: Float, baseline: int | None) -> Float:
    """The largest difference of each draw and table."""
    if baseline is None:
        spread: Float = sums.max(axis=1) - sums.min(axis=1)
        return spread
    distance: Float = np.abs(sums - sums[:, baseline : baseline + 1]).max(axis=1)
    return distance


def _shuffled(stacked: Float, draws: int, seed: int) -> Iterator[Float]:
    """The sums over units (draws × runs × tables) of values shuffled among the runs, unit by unit."""
    units, runs, number = stacked.shape
    generator = np.random.default_rng(seed)
    cells: NDArray[np.void] = np.ascontiguousarray(stacked).view(f"V{8 * number}")[:, :, 0]
    stretch = min(draws, max(1, _AT_ONCE // max(1, stacked.size)))
    for done in range(0, draws, stretch):
        rows = min(stretch, draws - done)
        shuffled = generator.permuted(np.tile(cells, (rows, 1)), axis=1)
        values = shuffled.view(np.float64).reshape(rows, units, runs, number)
        yield values.sum(axis=1)
