"""Tests of differences, and what becomes of their p-values where there are many.

Randomization assumes nothing but that, if two runs were alike, their names might as well be swapped:

sign flip      T = |Σ_u s_u D_u| with a random sign for each query's (or cluster's) difference D_u
               up to 30 queries exact, over all 2^n signs; else p = (b + 1)/(m + 1), b of m draws at least as
               large as what was seen. Where p is small, more draws, as many as the number of comparisons asks
               for; where none of these reaches what was seen, the smaller of 1/(m + 1) and Chernoff's bound
                   P(T ≥ seen) ≤ 2 min_θ Π_u (1 + exp(−2θ D_u))/2        (Σ D_u > 0, θ ≥ 0)
mid-p          where two units or more tie (D_u = 0), a sum as large as what was seen counts half:
                   p = max(P(T > seen) + P(T = seen)/2, 2^(1−w)), w of the D_u with the sign of their sum
               so p is not smaller than that of w differences, all with one sign. Of differences −1, 0 and 1
               this is McNemar's mid-p
max-T          all pairs' signs flipped together, and the largest |Σ_u s_u D_u| / √Σ_u D_u² of all pairs
               compared with that of the pair that differs most; of all others with the next, and so on down

The sign flip counts the sets S of queries with Σ_{u∈S} D_u ≤ 0 (twice, for both sides). If every D_u grows or
stays, such sets only become fewer. So p does not grow, as long as all pairs are tested in the same way on the
same draws: which way is decided by the number of queries, never by the pair. Each factor of Chernoff's bound
falls with D_u, too. The mid-p is what p would be if one of the ties were the smallest of wins: its sets are
those with a sum below 0 and those with 0 or less, by half each, and only become fewer, too.

Were nothing to tie, the number of differences would be fixed and few values of p possible; the mid-p would be
below .05 in up to .077 of cases. With two ties it is in .052 at most, of 5 to 200 units with any chance to
differ (tests/statistics/test_mid_p.py adds them up). That is on average over how many differ: of 16 it still
is in .077, of most other numbers in less than .05. On drawn patterns p may grow by the error of drawing
where a pair loses its second tie. Student's t is for people who are asked for it.

Each test returns the direction of its own statistic with its p; a verdict has that direction or none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rageval.statistics import LEVEL
from rageval.statistics.samples import AT_ONCE, Float, Int, Sample, settled_columns

_EXACT = 30  # queries or clusters; two halves of 2^15 sums
DRAWS = 10_000
_SLACK = 1e-9  # two sums of the same numbers in another order are the same sum
_SMALL = 100  # p below a hundredth is looked at again
_HITS = 20  # draws that reach what was seen, where p is just small enough: p is known to within a quarter
_WORK = 2 * 10**8  # differences that are drawn again, at most
_TIES = 2  # so many make the mid-p hold its level
_TINY = float(np.finfo(np.float64).tiny)  # a p-value is never 0
_SKEWED, _MANY = 2.0, 200  # with more units, skewness matters little


class Significance(NamedTuple):
    """p of each pair; `at_floor`: no smaller one could have been found, from so many `draws` (0: exact).

    `direction` is the sign of the test's statistic, first − second; 0 where it is neither.
    """

    p: Float
    at_floor: NDArray[np.bool_]
    draws: Int
    direction: Int


def sign_flip(
    sums: Float,
    pairs: Int,
    draws: int = DRAWS,
    seed: int = 0,
    level: float = LEVEL,
    units: Int | None = None,
    settled: Float | None = None,
) -> Significance:
    """Return the two-sided p for each pair of columns of `sums`, the sums of values over independent units.

    `level` says which p matter once they are adjusted for all pairs: 1 − level, divided by the pairs. `units`
    is how many units of each pair have a value, if not all: only these can tie. `settled` are the differences
    without those by rounding, if they are there already.

    >>> sums = np.array([[1.0, 0.0], [2.0, 0.0], [3.0, 0.0]])
    >>> sign_flip(sums, np.array([[0, 1]])).p.tolist()      # 2 of the 8 signs are as far from 0
    [0.25]
    """
    # Beyond this, all sign patterns are too many even when halves are met in the middle.
    if len(sums) > _EXACT:
        reached = _Reached.of_sums(sums, pairs, units, settled)
        for far in _drawn_gaps(sums, pairs, draws, seed):
            reached.count_draws(far)
        return _drawn_sign_flip(sums, pairs, reached, draws, seed, 1 - level)
    unit_counts = np.full(len(pairs), len(sums)) if units is None else units
    p, least = np.ones(len(pairs)), np.full(len(pairs), -1.0)  # no floor where nothing differs
    for part in _column_parts(np.arange(len(pairs)), len(sums)):
        columns = _settled(sums, pairs, part, settled)
        for pair, column in zip(part.tolist(), columns.T, strict=True):
            # A difference of 0 is the same under both signs: leaving it out changes no share.
            difference = column[column != 0]
            if len(difference):
                is_mid = unit_counts[pair] - len(difference) >= _TIES
                p[pair], least[pair] = _exact_sign_flip(difference, is_mid), 2.0 ** (1 - len(difference))
    return Significance(p, p <= least, np.zeros(len(pairs), np.int64), _directions(sums, pairs))


def sign_flip_and_max_t(
    sums: Float,
    pairs: Int,
    draws: int = DRAWS,
    seed: int = 0,
    level: float = LEVEL,
    units: Int | None = None,
    settled: Float | None = None,
) -> tuple[Significance, Significance]:
    """Return what `sign_flip` and `max_t` return; the same signs are drawn once, for both."""
    if len(sums) <= _EXACT:
        return sign_flip(sums, pairs, draws, seed, level, units, settled), max_t(sums, pairs, draws, seed)
    reached = _Reached.of_sums(sums, pairs, units, settled)
    family = _drawn_max_t(sums, pairs, reached.counted(_drawn_gaps(sums, pairs, draws, seed)))
    return _drawn_sign_flip(sums, pairs, reached, draws, seed, 1 - level), family


def _directions(sums: Float, pairs: Int) -> Int:
    """Return which of each two columns has the larger sum: 1 the first, −1 the second; 0 but for rounding."""
    differences = sums[:, pairs[:, 0]] - sums[:, pairs[:, 1]]
    total, size = differences.sum(axis=0), np.abs(differences).sum(axis=0)
    return np.where(np.abs(total) <= _SLACK * size, 0, np.sign(total)).astype(np.int64)


def _exact_sign_flip(difference: Float, is_mid: bool = False) -> float:
    """Return the share of all sign patterns whose sum is at least as far from 0, meeting in the middle.

    A pattern's sum is as large as the sum that was seen if what it turns round sums to 0 or less; what sums
    to 0 counts half if `is_mid`.
    """
    # Turn it so that the sum is positive: the test is two-sided, and one tail can be counted.
    difference = difference * np.sign(difference.sum())
    slack = _SLACK * np.abs(difference).sum() / 2
    # The sum is 0 but for rounding: every pattern is as far away.
    if difference.sum() <= 2 * slack:
        return 1.0
    half = len(difference) // 2
    # 2·2^15 sums instead of 2^30: for each subset of the left half, a search in the sorted right half counts
    # the subsets that complete it to a sum of 0 or less.
    left, right = (np.sort(_sums_of_sets(part)) for part in (difference[:half], difference[half:]))
    # Compared with slack on the side of counting: rounding may make p larger, never smaller.
    few = float(np.searchsorted(right, slack - left, side="right").sum())
    if is_mid:
        below = float(np.searchsorted(right, -slack - left, side="left").sum())
        # Any of the losses together sum to 0 or less: as many sets as that count whole.
        few = max((few + below) / 2, 2.0 ** (difference < 0).sum())
    return min(2 * few / (len(left) * len(right)), 1.0)


def _sums_of_sets(numbers: Float) -> Float:
    sums = np.zeros(1)
    for number in numbers.tolist():
        sums = np.concatenate((sums, sums + number))
    return sums


def _drawn_sign_flip(
    sums: Float, pairs: Int, reached: _Reached, draws: int, seed: int, risk: float
) -> Significance:
    """Draw again and more often where p is small; bound p where no draw tells.

    Each step is only taken where the one before gave a p below some edge, and never leads above that edge:
    so p stays valid, and in order.
    """
    count = reached.times()
    # +1: the pattern that was seen is one of the patterns, so p is never 0.
    p, number, bound = (count + 1) / (draws + 1), np.full(len(pairs), draws), np.ones(len(pairs))
    small = np.flatnonzero(count <= draws // _SMALL)
    for part in _column_parts(small, len(sums)):
        bound[part] = _chernoff(sums[:, pairs[part, 0]] - sums[:, pairs[part, 1]])
    # So many draws that a p just small enough for all pairs together would still be hit about 20 times.
    target = int(_HITS * len(pairs) / risk)
    open_ = small[bound[small] >= 1 / target]  # elsewhere it is plain without more draws
    # As many draws as are wanted, if that does not take too long.
    more_draws = min(target, _WORK // max(len(open_) + sums.size // 16, 1))
    if len(open_) and more_draws > draws:
        # Only the runs that are still open take part, or the second round would cost as much a draw as the
        # first, whose draws are the first ones of the second.
        columns, chosen = np.unique(pairs[open_], return_inverse=True)
        rest = reached.only(open_)
        for far in _drawn_gaps(sums[:, columns], chosen.reshape(-1, 2), more_draws, seed, draws):
            rest.count_draws(far)
        count[open_] += rest.times()
        # Not above what led here: a second look must not make p larger than one that had no second look.
        edge = (draws // _SMALL + 2) / (draws + 1)
        p[open_], number[open_] = np.minimum((count[open_] + 1) / (more_draws + 1), edge), more_draws
    unseen = (count == 0) | (bound < 1 / target)
    # Both are valid upper bounds where no draw reached the sum; take the smaller.
    p[unseen] = np.minimum(p, bound)[unseen]
    return Significance(np.maximum(p, reached.floor), unseen, number, _directions(sums, pairs))


class _Reached:
    """Counts in how many draws each pair's sum of differences is as far from 0 as the one that was seen.

    As far is at least `least`; a sum beyond `most` is farther. If `is_halved`, a draw that is exactly as far
    counts half. `floor` is the least p that ties allow.
    """

    def __init__(self, least: Float, most: Float, is_halved: NDArray[np.bool_], floor: Float) -> None:
        self.floor = floor
        self._least, self._most, self._is_halved = least, most, is_halved
        self._halved = np.flatnonzero(is_halved)
        self._count, self._beyond = np.zeros(len(least)), np.zeros(len(self._halved))

    @classmethod
    def of_sums(cls, sums: Float, pairs: Int, units: Int | None, settled: Float | None) -> _Reached:
        """Return counts of no draw yet; `units` and `settled` are as `sign_flip` has them."""
        unit_counts = np.full(len(pairs), len(sums)) if units is None else units
        is_mid, floor = np.zeros(len(pairs), bool), np.zeros(len(pairs))
        total, size = np.empty(len(pairs)), np.empty(len(pairs))
        for part in _column_parts(np.arange(len(pairs)), len(sums)):
            gaps = sums[:, pairs[part, 0]] - sums[:, pairs[part, 1]]
            total[part], size[part] = np.abs(gaps.sum(axis=0)), np.abs(gaps).sum(axis=0)
            columns = _settled(sums, pairs, part, settled)
            is_mid[part] = unit_counts[part] - (columns != 0).sum(axis=0) >= _TIES
            wins = (columns * np.sign(columns.sum(axis=0)) > 0).sum(axis=0)
            floor[part] = np.where(is_mid[part], np.minimum(2.0 ** (1 - wins), 1.0), 0.0)
        # A sum of the same numbers in another order counts as equal. Of a sum of 0 every draw is as far off.
        slack = _SLACK * size
        return cls(total - slack, total + slack, is_mid & (total > slack), floor)

    def only(self, chosen: Int) -> _Reached:
        """Return counts of some pairs, of no draw yet."""
        return _Reached(self._least[chosen], self._most[chosen], self._is_halved[chosen], self.floor[chosen])

    def count_draws(self, far: Float) -> None:
        """Count draws (rows) by how far the sum of each pair is from 0."""
        self._count += (far >= self._least).sum(axis=0)
        self._beyond += (far[:, self._halved] > self._most[self._halved]).sum(axis=0)

    def counted(self, drawn: Iterable[Float]) -> Iterator[Float]:
        """Yield the same draws, and count them."""
        for far in drawn:
            self.count_draws(far)
            yield far

    def times(self) -> Float:
        """Return in how many of the counted draws each sum was reached."""
        times = self._count.copy()
        times[self._halved] = (times[self._halved] + self._beyond) / 2
        return times


def _drawn_gaps(sums: Float, pairs: Int, draws: int, seed: int, begin: int = 0) -> Iterator[Float]:
    """Yield how far from 0 the sum of each pair's differences is, a row a draw, from number `begin` on."""
    first, second = pairs.T
    for signs in _signs(len(sums), draws, seed, max(len(pairs), len(sums)), begin):
        flipped = signs @ sums
        yield np.abs(flipped[:, first] - flipped[:, second])


def _signs(units: int, draws: int, seed: int, width: int, begin: int = 0) -> Iterator[Float]:
    """Yield random signs, a row a draw; the same for all pairs, whatever is compared."""
    stretch = max(1, AT_ONCE // max(width, 1))
    for done in range(begin, draws, stretch):
        bits = _bits(units, seed, done, min(stretch, draws - done))
        signs = np.unpackbits(bits, axis=1, count=units).view(np.int8)
        yield (2 * signs - 1).astype(np.float64)


@lru_cache(maxsize=128)  # 32 MB
def _bits(units: int, seed: int, begin: int, rows: int) -> NDArray[np.uint8]:
    """Return the signs of some draws as bits, which the measures that are tested in turn share."""
    stream = np.random.PCG64(seed).advance(begin * units)  # each number is one step of the generator
    return np.packbits(np.random.Generator(stream).random((rows, units)) >= 0.5, axis=1)


def _settled(sums: Float, pairs: Int, part: Int, settled: Float | None) -> Float:
    if settled is not None:
        return settled[:, part]
    return settled_columns(sums[:, pairs[part, 0]] - sums[:, pairs[part, 1]])


def _column_parts(columns: Int, rows: int) -> list[Int]:
    """Return columns, as many at once as memory is for."""
    return np.array_split(columns, len(columns) * rows // AT_ONCE + 1)


def _chernoff(differences: Float) -> Float:
    """Return for each column a two-sided p that is never below that of all sign patterns.

    >>> float(_chernoff(np.ones((50, 1)))[0]) == 2 / 2**50
    True
    """
    total = differences.sum(axis=0)
    # In units of the largest difference, so that one range of θ suits every column.
    turned = differences * np.sign(total) / np.maximum(np.abs(differences).max(axis=0), _TINY)
    low, high = np.full(len(total), -20.0), np.full(len(total), 60.0)  # of log2 θ
    for _ in range(32):  # the logarithm of the product is convex in θ
        # Bisection on log2 θ, all columns at once: where the derivative is negative the minimum lies higher.
        middle = (low + high) / 2
        falls = (turned / (1 + np.exp(np.minimum(2 * 2**middle * turned, 700)))).sum(axis=0) > 0
        low, high = np.where(falls, middle, low), np.where(falls, high, middle)
    logs = np.logaddexp2(0, -2 * 2**low * turned / np.log(2)) - 1  # a difference of 0 gives log2(2) − 1
    return np.where(total == 0, 1.0, np.clip(2 * 2 ** logs.sum(axis=0), _TINY, 1.0))


def max_t(sums: Float, pairs: Int, draws: int = DRAWS, seed: int = 0) -> Significance:
    """Return family-wise p of each pair: all signs flipped together, differences in units of their size.

    Assumes that without differences all of them together might as well have the other sign; runs may differ
    in how much they vary, and resemble one another as they like.
    """
    # All patterns are fewer than the draws: count them all.
    if len(sums) <= _EXACT and 2 ** (len(sums) - 1) <= draws:
        # The bits of 0, 1, 2, … are the patterns; a pattern and its negative are equally far from 0, so the
        # sign of the last unit stays.
        turned = np.arange(2 ** max(len(sums) - 1, 0))[:, None] >> np.arange(len(sums))[None] & 1
        flipped = np.where(turned == 1, -1.0, 1.0) @ sums
        all_patterns = [np.abs(flipped[:, pairs[:, 0]] - flipped[:, pairs[:, 1]])]
        return _drawn_max_t(sums, pairs, all_patterns, is_exact=True)
    return _drawn_max_t(sums, pairs, _drawn_gaps(sums, pairs, draws, seed))


def _drawn_max_t(sums: Float, pairs: Int, drawn: Iterable[Float], *, is_exact: bool = False) -> Significance:
    """Return p from how far the sum of each pair's differences is from 0 in each draw, or in all patterns."""
    gaps = sums[:, pairs[:, 0]] - sums[:, pairs[:, 1]]
    total, slack = np.abs(gaps.sum(axis=0)), _SLACK * np.abs(gaps).sum(axis=0)
    # |Σd|/√Σd² is t but for a monotone map, and √Σd² is the same under every pattern of signs.
    size = np.sqrt((gaps**2).sum(axis=0))
    per = np.divide(1.0, size, out=np.zeros(len(size)), where=size > 0)
    reached, number = step_down(np.maximum(total - slack, 0) * per, (far * per for far in drawn))
    p = reached / number if is_exact else (reached + 1) / (number + 1)
    at_floor = p <= 1 / (number + (not is_exact))
    number_drawn = np.full(len(pairs), 0 if is_exact else number)
    return Significance(p, at_floor, number_drawn, _directions(sums, pairs))


def step_down(seen: Float, drawn: Iterable[Float]) -> tuple[Int, int]:
    """Return in how many draws (rows) each statistic is reached by the largest of those not above it.

    Beside the largest all are looked at, beside the next all but that one, and so on (Westfall and Young);
    none is reached less often than a larger one. Also returns how many draws there are.

    >>> step_down(np.array([1.0, 3.0]), [np.array([[2.0, 0.0], [0.0, 4.0], [0.5, 0.5]])])
    (array([1, 1]), 3)
    """
    order = np.argsort(-seen, kind="stable")
    ranked = seen[order]
    # What differs by rounding alone is equal, and equal ones are looked at together.
    is_next = np.r_[True, ranked[1:] < ranked[:-1] * (1 - 2 * _SLACK)]
    first = np.maximum.accumulate(np.where(is_next, np.arange(len(seen)), 0))
    counts, number = np.zeros(len(seen), np.int64), 0
    for rows in drawn:
        largest = np.maximum.accumulate(rows[:, order[::-1]], axis=1)[:, ::-1]
        counts += (largest[:, first] >= ranked).sum(axis=0)
        number += len(rows)
    reached = np.empty_like(counts)
    reached[order] = np.maximum.accumulate(counts)
    return reached, number


def t_test(differences: Sample) -> Significance:
    """Return the two-sided p of each column's mean by Student's t; NaN where all differences are the same."""
    from scipy.special import stdtr

    sums, sizes = differences.sums(), differences.sizes()
    mean = sums.sum(axis=0) / np.maximum(sizes.sum(axis=0), 1)
    error = differences.standard_error()
    freedom = np.maximum((sizes > 0).sum(axis=0) - 1, 1)
    with np.errstate(invalid="ignore", divide="ignore"):
        p = 2 * stdtr(freedom, -np.abs(mean / error))
    # Without any variance t says nothing; unless the mean is 0, too, where nothing differs.
    p = np.where(error > 0, np.maximum(p, _TINY), np.nan)
    p[(mean == 0) & (error == 0)] = 1.0
    # A formula: nothing was drawn, and p has no floor.
    nothing = np.zeros(len(p), np.int64)
    return Significance(p, np.zeros(len(p), bool), nothing, np.sign(mean).astype(np.int64))


def skewness(differences: Float) -> float:
    """Return the third moment in standard deviations; 0 where nothing varies.

    >>> round(skewness(np.array([9.0] + [-1.0] * 9)), 2)
    2.67
    """
    deviations = differences - differences.mean() if len(differences) else differences
    spread = float((deviations**2).mean()) if len(deviations) else 0.0
    return float((deviations**3).mean()) / spread**1.5 if spread > 1e-24 else 0.0


def is_skewed(differences: Float) -> bool:
    """Return whether a few large differences oppose many small ones.

    Sign flips assume symmetry, and Student's t underestimates rare large values. Differences of 0 do not
    affect the shape. Of many units the mean is near to normal anyway.
    """
    return len(differences) < _MANY and abs(skewness(differences[differences != 0])) > _SKEWED


def holm(p: Float) -> Float:
    """Return Holm's step-down adjustment: p_(i) · (m − i + 1), never falling, at most 1; NaN stays apart.

    >>> holm(np.array([0.01, 0.04, 0.03])).tolist()
    [0.03, 0.06, 0.06]
    """
    adjusted = np.full(len(p), np.nan)
    defined = np.flatnonzero(~np.isnan(p))
    order = defined[np.argsort(p[defined], kind="stable")]
    steps = p[order] * np.arange(len(order), 0, -1)
    # Step down: no p may be smaller after adjustment than one that was smaller before it.
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted
