"""Bootstrap intervals of many means at once: every run, and every difference, from the same draws.

The middle 95 % of the means of queries drawn with replacement are moved for the bias and the skewness of the
mean (BCa; Efron, JASA 1987). With few queries they are too narrow, because a drawn sample varies less than a
fresh one. The quantiles are therefore those that would give Student's interval for normal values (Hesterberg,
The American Statistician 2015): a' = Φ(−√(n/(n−1)) · t_{1−a, n−1}).

Resampling knows too little where few values differ from the commonest one: where a hallucination
was seen in none of 25 answers, every sample drawn from them has none either; that is no proof that there are
none. So
    values at the two ends of their scale      Wilson's interval (1927)
    else, fewer than 6 values that differ      at least mean ± t_{n−1} √(V + c·span²/n²)
with c so that where nothing differs the half width is about −ln(1 − level)·span/n: at 95 % three of n, the
rule of three. Neither leaves the scale. With clusters Wilson's does not hold; there, n counts clusters.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import chain
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rageval.statistics import LEVEL
from rageval.statistics.samples import AT_ONCE, SLACK, Float, Int, Sample, settled, settled_columns

Limits = tuple[float, float]  # the least and the greatest value that a measure has
FEW = 6  # values that differ from the commonest
RESAMPLES = 4000
_KEPT = 2**26  # numbers of draws that are kept for the next measure: 128 MB
_LEAST = 1e-12  # so that a quantile is finite


class _Intervals(NamedTuple):
    """Both ends for each column, NaN where there are fewer than two units."""

    low: Float
    high: Float


def intervals(
    columns: Sample,
    level: float = LEVEL,
    resamples: int = RESAMPLES,
    seed: int = 0,
    scale: Ranges | None = None,
) -> _Intervals:
    """Return bootstrap intervals of each column's mean; widened where few values differ.

    `scale` is the range of the values, if they do not show it.

    >>> low, high = intervals(Sample(("a", "b", "c"), np.array([[0.0], [0.0], [0.0]]), np.arange(3)))
    >>> float(low[0]), round(float(high[0]), 2)
    (0.0, 0.56)
    """
    resampled = _resampled(columns, level, resamples, seed)
    return _Intervals(*_widen_coarse(columns, *resampled, level, scale or ranges_of(columns.values)))


def _resampled(columns: Sample, level: float, resamples: int, seed: int) -> _Intervals:
    """Return what resampling alone gives."""
    sums, sizes = columns.sums(), columns.sizes()
    units = (sizes > 0).sum(axis=0)
    number = units.astype(np.float64)
    if columns.is_clustered:  # few long clusters tell less than as many equal ones (Kish)
        number = np.clip(sizes.sum(axis=0) ** 2 / np.maximum((sizes**2).sum(axis=0), 1e-300), 2, number)
    lows, highs = np.full(len(units), np.nan), np.full(len(units), np.nan)
    # The same draws serve every column: columns that are compared differ then by their values alone.
    times = _times(len(sums), resamples, seed)
    # Only so many columns at a time as their draws fit into memory.
    width = max(1, AT_ONCE // resamples)
    for begin in range(0, len(units), width):
        part = slice(begin, begin + width)
        drawn = np.sort(_means(times, sums[:, part], sizes[:, part]), axis=0)
        # Few units: the plain percentiles are too narrow, so read further out.
        ends = [
            _bca_quantile(end, drawn, sums[:, part], sizes[:, part]) for end in expanded(level, number[part])
        ]
        lows[part], highs[part] = (_quantiles(drawn, end) for end in ends)
    # Of one unit every draw is the same, which would look like certainty.
    lows[units < 2] = highs[units < 2] = np.nan
    return _Intervals(lows, highs)


def resampled_means(columns: Sample, resamples: int, seed: int) -> Float:
    """Return the mean of each column in each resample, a row a resample; equal seeds draw the same units."""
    sums, sizes = columns.sums(), columns.sizes()
    return _means(_times(len(sums), resamples, seed), sums, sizes)


def resampled(statistic: Callable[[Float], Float], units: int, rows: int, resamples: int, seed: int) -> Float:
    """Return a function of how often each unit is drawn, for every resample; `rows` is what it takes of each.

    >>> resampled(lambda times: times[:, 0], 3, 3, 2, 0).tolist()  # as `draws` has it
    [0.0, 3.0]
    """
    times = _times(units, resamples, seed)
    stretch = max(1, AT_ONCE // max(rows, 1))
    parts = [times[begin : begin + stretch] for begin in range(0, resamples, stretch)]
    return np.concatenate([statistic(part.astype(np.float64)) for part in parts])


def p_of_resamples(differences: Float, units: int) -> float:
    """Return the two-sided p of no difference: the risk at which the interval by `ends_of` reaches 0.

    >>> differences = np.linspace(-0.02, 0.98, 1001)
    >>> p = p_of_resamples(differences, 50)
    >>> low, _ = ends_of(differences, 1 - p, 50)
    >>> round(p, 2), bool(abs(low) < 1e-3)
    (0.05, True)
    """
    from scipy.special import ndtri, stdtr

    # Differences of 0 count half on each side, and a share of 0 is half a draw.
    below = float((differences < 0).mean() + (differences == 0).mean() / 2)
    tail = max(min(below, 1 - below), 0.5 / len(differences))
    number = max(units, 2)
    return min(1.0, 2 * float(stdtr(number - 1, ndtri(tail) * math.sqrt((number - 1) / number))))


def draws(units: int, resamples: int, seed: int) -> Iterator[Int]:
    """Yield the units of each resample: as many as there are, drawn with replacement.

    >>> [sorted(units.tolist()) for units in draws(3, 2, 0)]
    [[1, 1, 2], [0, 0, 0]]
    """
    return chain.from_iterable(_generate_draws(units, resamples, seed))


def _generate_draws(units: int, resamples: int, seed: int) -> Iterator[Int]:
    """Yield the same, many draws at once, a row a draw: as many as memory is for."""
    generator = np.random.default_rng(seed)
    stretch = max(1, AT_ONCE // max(units, 1))
    for begin in range(0, resamples, stretch):
        yield generator.integers(0, units, (min(stretch, resamples - begin), units))


def _times(units: int, resamples: int, seed: int) -> NDArray[np.uint16]:
    """Return how often each unit is drawn, a row a draw; runs, pairs and all measures share the draws."""
    counted = _draw_counts if units * resamples <= _KEPT else _draw_counts.__wrapped__
    return counted(units, resamples, seed)


@lru_cache(maxsize=1)
def _draw_counts(units: int, resamples: int, seed: int) -> NDArray[np.uint16]:
    times = np.empty((resamples, units), np.uint16)
    begin = 0
    for drawn in _generate_draws(units, resamples, seed):
        rows = len(drawn)
        # One bincount counts all rows at once: each row's numbers are shifted into a range of their own.
        picked = drawn + units * np.arange(rows)[:, None]
        times[begin : begin + rows] = np.bincount(picked.ravel(), minlength=rows * units).reshape(rows, units)
        begin += rows
    return times


def _means(times: NDArray[np.uint16], sums: Float, sizes: Float) -> Float:
    """Return the mean of each column in each draw; the same draws for every column."""
    means = np.empty((len(times), sums.shape[1]))
    # Usually all columns are defined on the same units, and one column of counts serves all.
    alike = bool((sizes == sizes[:, :1]).all())
    whole = sums.sum(axis=0) / np.maximum(sizes.sum(axis=0), 1)
    stretch = max(1, AT_ONCE // max(len(sums), 1))
    for begin in range(0, len(times), stretch):
        drawn = times[begin : begin + stretch].astype(np.float64)
        # A mean over drawn units is a product of matrices: how often each was drawn times what it holds.
        number = np.broadcast_to(drawn @ (sizes[:, :1] if alike else sizes), (len(drawn), sums.shape[1]))
        # a draw without any defined value says nothing; it stands for the mean itself
        out = np.broadcast_to(whole, number.shape).copy()
        means[begin : begin + stretch] = np.divide(drawn @ sums, number, out=out, where=number > 0)
    return means


def expanded(level: float, units: Float | Int) -> list[Float]:
    """Return the quantiles of resampled estimates to read off, widened for few units.

    >>> [round(float(end[0]), 4) for end in expanded(0.95, np.array([10]))]
    [0.0086, 0.9914]
    """
    from scipy.special import ndtr, stdtrit

    # The percentile of the normal that Student's t would read, times √(n/(n−1)) for the bootstrap's variance,
    # which divides by n (Hesterberg, 2015: the expanded percentile interval).
    number = np.maximum(units, 2).astype(np.float64)
    low = ndtr(np.sqrt(number / (number - 1)) * stdtrit(number - 1, (1 - level) / 2))
    low = np.maximum(low, _LEAST)
    return [low, 1 - low]


def ends_of(drawn: Float, level: float, units: int) -> tuple[Float, Float]:
    """Return both ends of the interval of an estimate (or of several, a column each) from its resamples.

    >>> [round(float(end), 3) for end in ends_of(np.arange(101.0), 0.95, 10**6)]
    [2.5, 97.5]
    """
    levels = [float(end[0]) for end in expanded(level, np.array([units]))]
    low, high = np.quantile(drawn, levels, axis=0)
    return low, high


def _bca_quantile(end: Float, drawn: Float, sums: Float, sizes: Float) -> Float:
    """Return BCa's quantile: Φ(z0 + (z0 + z)/(1 − a(z0 + z))), a from the jackknife over units."""
    from scipy.special import ndtr, ndtri

    total, number = sums.sum(axis=0), sizes.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = total / number
        # Jackknife: the mean without each unit in turn, for all columns at once.
        without = (total - sums) / (number - sizes)
        deviations = without.sum(axis=0) / len(without) - without
        skew = (deviations**3).sum(axis=0) / (6 * (deviations**2).sum(axis=0) ** 1.5)
    # Nothing varies, or one unit holds all: no skew that could be corrected for.
    skew = np.where(np.isfinite(skew), skew, 0.0)
    # Sums of the same numbers in another order may differ in the last bits, and still tie.
    slack = SLACK * (np.abs(mean) + 1)
    below = (drawn < mean - slack).mean(axis=0)
    # Draws equal to the mean count half, or values of few levels would seem biased.
    level = below + (np.abs(drawn - mean) <= slack).mean(axis=0) / 2
    # If all draws lie on one side, take half a draw for the other: the normal quantile of 0 is not finite.
    bias = ndtri(np.clip(level, 0.5 / len(drawn), 1 - 0.5 / len(drawn)))
    z = bias + ndtri(end)
    adjusted: Float = ndtr(bias + z / (1 - skew * z))
    return adjusted


def _quantiles(ordered: Float, level: Float) -> Float:
    """Return a quantile of its own for each column, between neighbours where it falls between."""
    # np.quantile takes the same levels for all columns; here each column has its own.
    place = np.clip(level, 0.0, 1.0) * (len(ordered) - 1)
    lower = np.floor(place).astype(np.int64)
    upper = np.minimum(lower + 1, len(ordered) - 1)
    column = np.arange(ordered.shape[1])
    share = place - lower
    low, high = ordered[lower, column], ordered[upper, column]
    interpolated: Float = low + share * (high - low)
    return interpolated


class Ranges(NamedTuple):
    """The ends between which each column's values lie, as far as can be seen.

    `span` is how far a mean might be off if one query in one were: 1 where the ends are known.
    """

    low: Float
    high: Float
    span: Float


def ranges_of(values: Float, limits: Limits | None = None) -> Ranges:
    """Return where each column's values may lie: within the measure's own `limits`, where it says them.

    Otherwise 0 … 1 for a column that keeps to it, else −1 … 1, else no ends and as wide as its values and 0.
    """
    return _scale(*_extremes(values), limits)


def ranges_of_differences(values: Float, pairs: Int, limits: Limits | None = None) -> Ranges:
    """Return the same for differences of two columns each."""
    least, most = _extremes(values)
    first, second = pairs.T
    both = _scale(np.fmin(least[first], least[second]), np.fmax(most[first], most[second]), limits)
    return Ranges(both.low - both.high, both.high - both.low, both.span)


def _extremes(values: Float) -> tuple[Float, Float]:
    is_defined = ~np.isnan(values)
    least = np.min(values, axis=0, initial=np.inf, where=is_defined)
    most = np.max(values, axis=0, initial=-np.inf, where=is_defined)
    return least, most


def _scale(least: Float, most: Float, limits: Limits | None) -> Ranges:
    if limits is not None:
        low, high = (np.full_like(least, limit) for limit in limits)
        span = np.maximum((high - low) / 2, 1.0)
        seen = np.fmax(most, 0.0) - np.fmin(least, 0.0)  # of a scale without an end, no more is known
        return Ranges(low, high, np.where(np.isfinite(span), span, np.fmax(seen, 1.0)))
    # Values within 0 and 1, or −1 and 1, are taken to be of a scale that ends there.
    is_unit = (least >= -1) & (most <= 1)
    low = np.where(is_unit, np.where(least >= 0, 0.0, -1.0), -np.inf)
    span = np.where(is_unit, 1.0, np.maximum(most, 0.0) - np.minimum(least, 0.0))
    return Ranges(low, np.where(is_unit, 1.0, np.inf), span)


def few_differ(differ: Int | int, units: Int | int) -> NDArray[np.bool_]:
    """Return where so few units differ from the most common value that the spread of the values is unknown.

    Fewer than 6, and fewer than half: 3 of 5 ordinary values are not few.

    >>> [bool(few_differ(*each)) for each in ((5, 11), (5, 10), (6, 100))]
    [True, False, False]
    """
    return (np.asarray(differ) < FEW) & (2 * np.asarray(differ) < np.asarray(units))


def is_coarse(columns: Sample) -> NDArray[np.bool_]:
    """Return where most units share one value, and few have another."""
    means = columns.means()
    # Values that differ in the last bits only are the same value.
    ordered = np.sort(settled_columns(means), axis=0)  # NaN last
    number, place = (~np.isnan(means)).sum(axis=0), np.arange(len(means))[:, None]
    # In sorted columns equal values stand together: the longest such stretch is the commonest value.
    begins = np.zeros(means.shape, np.int64)
    begins[1:] = np.where(ordered[1:] != ordered[:-1], place[1:], 0)
    alike = np.where(place < number, place - np.maximum.accumulate(begins, axis=0) + 1, 0)
    return few_differ(number - alike.max(axis=0, initial=0), columns.counts())


def _widen_coarse(
    columns: Sample, low: Float, high: Float, level: float, scale: Ranges
) -> tuple[Float, Float]:
    """Return the intervals, wider where they would say more than is known."""
    low, high = low.copy(), high.copy()
    coarse, counts = is_coarse(columns) & (columns.counts() > 1), columns.counts()
    if coarse.any():
        means, half = columns.mean(), half_with_floor(columns, level, scale.span)
        # Never narrower than the bootstrap's own interval, never beyond the ends of the scale.
        low[coarse] = np.fmax(np.fmin(low, means - half), scale.low)[coarse]
        high[coarse] = np.fmin(np.fmax(high, means + half), scale.high)[coarse]
    are_alike = not columns.is_clustered and columns.wholes is None  # Wilson counts queries
    for column in np.flatnonzero(counts > 1).tolist() if are_alike else []:
        defined = columns.values[~np.isnan(columns.values[:, column]), column]
        # The two values that there are; of values inside the scale only if both are seen often enough.
        seen, times = np.unique(defined, return_counts=True)
        ends = float(scale.low[column]), float(scale.high[column])
        if not set(seen.tolist()) <= set(ends):
            if len(seen) != 2 or times.min() < FEW:
                continue
            ends = float(seen[0]), float(seen[1])
        # A value that is one of two is a share of one of them: Wilson's interval, mapped onto the two.
        shares = wilson(int((defined == ends[1]).sum()), len(defined), level)
        low[column], high[column] = (ends[0] + (ends[1] - ends[0]) * share for share in shares)
    return low, high


def half_with_floor(columns: Sample, level: float, span: Float | float = 1.0) -> Float:
    """Return the minimum half-width of an interval of each column's mean, where few values differ."""
    from scipy.special import stdtrit

    units = np.maximum(columns.counts(), 2)
    # Pooled shares: a few large wholes tell less than as many small ones.
    if columns.wholes is not None:  # so many equal wholes would tell as much (Kish)
        sizes = columns.sizes()
        units = np.clip(sizes.sum(axis=0) ** 2 / np.maximum((sizes**2).sum(axis=0), 1e-300), 2, units)
    # The two errors are of different things, what was seen and what was not, and add as variances do.
    error = np.sqrt(columns.standard_error() ** 2 + (_least_error(1, level, 1.0) * span / units) ** 2)
    half: Float = stdtrit(units - 1, (1 + level) / 2) * error
    return half


def least_half(column: Sample, level: float) -> float:
    """Return the minimum half-width of an interval of one column's mean; 0 where enough differ."""
    # Of fewer units than have to differ half may differ and half not: too few to show how far values spread.
    if column.units >= FEW and not is_coarse(column)[0]:
        return 0.0
    return float(half_with_floor(column, level)[0])


def _least_error(units: float, level: float, span: float = 1.0) -> float:
    """Return the standard error of a mean of values none of which differs: at 95 % √2.34·span/n."""
    return -math.log(1 - level) / NormalDist().inv_cdf((1 + level) / 2) * span / units


def wilson(count: int, number: int, level: float) -> tuple[float, float]:
    """Return Wilson's interval of a share (1927), which also holds near 0 and 1.

    >>> low, high = wilson(10, 10, 0.95)
    >>> round(low, 4), high  # n / (n + z²)
    (0.7225, 1.0)
    """
    z = NormalDist().inv_cdf((1 + level) / 2)
    share, weight = count / number, z * z / number
    middle = (share + weight / 2) / (1 + weight)
    half = (share * (1 - share) * weight + weight * weight / 4) ** 0.5 / (1 + weight)
    return (
        0.0 if count == 0 else max(0.0, middle - half),
        1.0 if count == number else min(1.0, middle + half),
    )


def interval_of(
    statistic: Callable[[Float], Float], parts: Float, level: float, resamples: int, seed: int
) -> tuple[float, float]:
    """Return a percentile interval of a function of sums; `parts` has a row a unit, which is drawn.

    The function gets the sums of every draw, a row a part, and has values within −1 … 1; where it is not
    defined the draw says nothing. Where few units move it, the interval has the floor of a mean.

    >>> low, high = interval_of(lambda sums: sums[0] / sums[1], np.array([[1.0, 2.0]] * 9), 0.95, 100, 0)
    >>> round(float(low), 3), round(float(high), 3)
    (0.108, 0.892)
    """
    if len(parts) < 2:  # every draw is the same, which would look like certainty
        return math.nan, math.nan
    drawn = _times(len(parts), resamples, seed).astype(np.float64) @ parts
    total = parts.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        values = statistic(drawn.T)
        whole, without = float(statistic(total)), statistic((total - parts).T)
    values = values[np.isfinite(values)]
    if not len(values):
        return math.nan, math.nan
    low, high = map(float, ends_of(values, level, len(parts)))
    # What the value is without each unit says how far it leans on it, as the values of a mean do.
    influences = settled(np.where(np.isfinite(without), whole - without, 0.0)) * (len(parts) - 1)
    column = Sample(tuple(map(str, range(len(parts)))), (whole + influences)[:, None], np.arange(len(parts)))
    if half := least_half(column, level):
        low, high = max(min(low, whole - half), -1.0), min(max(high, whole + half), 1.0)
    return low, high


def least_errors(columns: Sample, level: float, span: Float | float = 1.0) -> Float:
    """Return the standard error of each column's mean; where nothing varies, that of the rule of three.

    >>> same = Sample(("a", "b", "c"), np.array([[0.1], [0.1], [0.1]]), np.arange(3))
    >>> round(float(least_errors(same, 0.95)[0]), 2)
    0.51
    """
    error, units = columns.standard_error(), columns.counts()
    least = _least_error(1, level, 1.0) * np.asarray(span) / np.maximum(units, 1)
    errors: Float = np.where((error == 0) & (units > 1), least, error)
    return errors
