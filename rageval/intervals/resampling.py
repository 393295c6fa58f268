"""Bootstrap intervals of many means at once: every run, and every difference, from the same draws.

percentile   the middle 95 % of the means of queries drawn with replacement
bca          the same, moved for the bias and the skewness of the mean (Efron, JASA 1987)

With few queries both are too narrow, because a drawn sample varies less than a fresh one. The quantiles are
therefore those that would give Student's interval for normal values (Hesterberg, The American Statistician
2015): a' = Φ(−√(n/(n−1)) · t_{1−a, n−1}).

Measures of two values have Wilson's interval instead, and no interval is narrower than few values allow.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rageval.intervals.coarse import Scale, mended, scale_of
from rageval.intervals.samples import Float, Int, Sample

INTERVALS = ("bca", "percentile")
RESAMPLES = 4000
_AT_ONCE = 2**21
_LEAST = 1e-12  # so that a quantile is finite


class Intervals(NamedTuple):
    """Both ends for each column, NaN where there are fewer than two units."""

    low: Float
    high: Float


def intervals(
    columns: Sample,
    kind: str = "bca",
    level: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = 0,
    scale: Scale | None = None,
) -> Intervals:
    """Intervals of the mean of each column, units drawn with replacement; see `coarse` for few other values.

    `scale` is where the values lie, if that is not as they show.

    >>> low, high = intervals(Sample(("a", "b", "c"), np.array([[0.0], [0.0], [0.0]]), np.arange(3)))
    >>> float(low[0]), round(float(high[0]), 2)
    (0.0, 0.56)
    """
    found = resampled(columns, kind, level, resamples, seed)
    return Intervals(*mended(columns, *found, level, scale or scale_of(columns.values)))


def resampled(columns: Sample, kind: str, level: float, resamples: int, seed: int) -> Intervals:
    """What resampling alone gives."""
    sums, sizes = columns.sums(), columns.sizes()
    units = (sizes > 0).sum(axis=0)
    lows, highs = np.full(len(units), np.nan), np.full(len(units), np.nan)
    times = _times(len(sums), resamples, seed)
    width = max(1, _AT_ONCE // resamples)
    for begin in range(0, len(units), width):
        part = slice(begin, begin + width)
        drawn = np.sort(_means(times, sums[:, part], sizes[:, part]), axis=0)
        ends = _expanded(level, units[part])
        if kind == "bca":
            ends = [_moved(end, drawn, sums[:, part], sizes[:, part]) for end in ends]
        lows[part], highs[part] = (_quantiles(drawn, end) for end in ends)
    lows[units < 2] = highs[units < 2] = np.nan
    return Intervals(lows, highs)


def _times(units: int, resamples: int, seed: int) -> NDArray[np.uint16]:
    """How often each unit is drawn, a row a draw."""
    generator = np.random.default_rng(seed)
    times = np.empty((resamples, units), np.uint16)
    stretch = max(1, _AT_ONCE // max(units, 1))
    for begin in range(0, resamples, stretch):
        rows = min(stretch, resamples - begin)
        picked = generator.integers(0, units, (rows, units)) + units * np.arange(rows)[:, None]
        times[begin : begin + rows] = np.bincount(picked.ravel(), minlength=rows * units).reshape(rows, units)
    return times


def _means(times: NDArray[np.uint16], sums: Float, sizes: Float) -> Float:
    """The mean of each column in each draw; the same draws for every column."""
    means = np.empty((len(times), sums.shape[1]))
    alike = bool((sizes == sizes[:, :1]).all())
    whole = sums.sum(axis=0) / np.maximum(sizes.sum(axis=0), 1)
    stretch = max(1, _AT_ONCE // max(len(sums), 1))
    for begin in range(0, len(times), stretch):
        drawn = times[begin : begin + stretch].astype(np.float64)
        number = np.broadcast_to(drawn @ (sizes[:, :1] if alike else sizes), (len(drawn), sums.shape[1]))
        # a draw without any defined value says nothing; it stands for the mean itself
        out = np.broadcast_to(whole, number.shape).copy()
        means[begin : begin + stretch] = np.divide(drawn @ sums, number, out=out, where=number > 0)
    return means


def _expanded(level: float, units: Int) -> list[Float]:
    """The quantiles to read off, widened for few units."""
    from scipy.special import ndtr, stdtrit

    number = np.maximum(units, 2).astype(np.float64)
    low = ndtr(np.sqrt(number / (number - 1)) * stdtrit(number - 1, (1 - level) / 2))
    low = np.maximum(low, _LEAST)
    return [low, 1 - low]


def _moved(end: Float, drawn: Float, sums: Float, sizes: Float) -> Float:
    """BCa's quantile: Φ(z0 + (z0 + z)/(1 − a(z0 + z))), a from the jackknife over units."""
    from scipy.special import ndtr, ndtri

    total, number = sums.sum(axis=0), sizes.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = total / number
        without = (total - sums) / (number - sizes)
        apart = without.sum(axis=0) / len(without) - without
        skew = (apart**3).sum(axis=0) / (6 * (apart**2).sum(axis=0) ** 1.5)
    skew = np.where(np.isfinite(skew), skew, 0.0)
    slack = 1e-12 * (np.abs(mean) + 1)
    below = (drawn < mean - slack).mean(axis=0)
    level = below + (np.abs(drawn - mean) <= slack).mean(axis=0) / 2
    bias = ndtri(np.clip(level, 0.5 / len(drawn), 1 - 0.5 / len(drawn)))
    z = bias + ndtri(end)
    moved: Float = ndtr(bias + z / (1 - skew * z))
    return moved


def _quantiles(ordered: Float, level: Float) -> Float:
    """A quantile of its own for each column, between neighbours where it falls between."""
    place = np.clip(level, 0.0, 1.0) * (len(ordered) - 1)
    below = np.floor(place).astype(np.int64)
    above = np.minimum(below + 1, len(ordered) - 1)
    column = np.arange(ordered.shape[1])
    share = place - below
    low, high = ordered[below, column], ordered[above, column]
    between: Float = low + share * (high - low)
    return between
