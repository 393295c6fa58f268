"""Intervals where resampling knows too little: few values differ from the commonest one, or none does.

Where a hallucination was seen in none of 25 answers, every sample drawn from them has none either; that is
no proof that there are none. So
    values at the two ends of their scale      Wilson's interval (1927)
    else, fewer than 6 values that differ      at least mean ± t_{n−1} √(V + c·span²/n²)
with c so that where nothing differs the half width is about −ln(1 − level)·span/n: at 95 % three of n, the
rule of three. Neither leaves the scale. With clusters Wilson's does not hold; there, n counts clusters.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rageval.intervals.samples import Float, Int, Sample, standard_error

Limits = tuple[float, float]  # the least and the greatest value that a measure has
FEW = 6  # values that differ from the commonest


class Scale(NamedTuple):
    """The ends between which each column's values lie, as far as can be seen; `span` is how far a mean
    might be off if one query in one were: 1 where the ends are known."""

    low: Float
    high: Float
    span: Float


def scale_of(values: Float, limits: Limits | None = None) -> Scale:
    """Return where each column's values may lie: within the measure's own `limits`, where it says them.

    Otherwise 0 … 1 for a column that keeps to it, else −1 … 1, else no ends and as wide as its values and 0.
    """
    return _scale(*_extremes(values), limits)


def scale_of_differences(values: Float, pairs: Int, limits: Limits | None = None) -> Scale:
    """Return the same for differences of two columns each."""
    least, most = _extremes(values)
    first, second = pairs.T
    both = _scale(np.fmin(least[first], least[second]), np.fmax(most[first], most[second]), limits)
    return Scale(both.low - both.high, both.high - both.low, both.span)


def _extremes(values: Float) -> tuple[Float, Float]:
    known = ~np.isnan(values)
    least = np.min(values, axis=0, initial=np.inf, where=known)
    most = np.max(values, axis=0, initial=-np.inf, where=known)
    return least, most


def _scale(least: Float, most: Float, limits: Limits | None) -> Scale:
    if limits is not None:
        low, high = (np.full_like(least, limit) for limit in limits)
        return Scale(low, high, np.maximum((high - low) / 2, 1.0))
    known = (least >= -1) & (most <= 1)
    low = np.where(known, np.where(least >= 0, 0.0, -1.0), -np.inf)
    span = np.where(known, 1.0, np.maximum(most, 0.0) - np.minimum(least, 0.0))
    return Scale(low, np.where(known, 1.0, np.inf), span)


def differing(columns: Sample) -> Int:
    """How many units of each column differ from its commonest value."""
    means = columns.means()
    found = np.zeros(means.shape[1], np.int64)
    for at, column in enumerate(means.T):
        known = np.round(column[~np.isnan(column)], 12)
        found[at] = len(known) - np.unique(known, return_counts=True)[1].max(initial=0)
    return found


def is_coarse(columns: Sample) -> NDArray[np.bool_]:
    """Where most units have one and the same value, and fewer than 6 have another."""
    number = differing(columns)
    return (number < FEW) & (2 * number < columns.counts())


def mended(columns: Sample, low: Float, high: Float, level: float, scale: Scale) -> tuple[Float, Float]:
    """The intervals, wider where they would say more than is known."""
    low, high = low.copy(), high.copy()
    coarse, counts = is_coarse(columns) & (columns.counts() > 1), columns.counts()
    if coarse.any():
        means, half = columns.mean(), floor(columns, level, scale.span)
        low[coarse] = np.fmax(np.fmin(low, means - half), scale.low)[coarse]
        high[coarse] = np.fmin(np.fmax(high, means + half), scale.high)[coarse]
    are_alike = not columns.is_clustered and columns.wholes is None  # Wilson counts queries
    for at in np.flatnonzero(counts > 1).tolist() if are_alike else []:
        known = columns.values[~np.isnan(columns.values[:, at]), at]
        ends = _two_values(known, float(scale.low[at]), float(scale.high[at]))
        if ends is not None:
            shares = wilson(int((known == ends[1]).sum()), len(known), level)
            low[at], high[at] = (ends[0] + (ends[1] - ends[0]) * share for share in shares)
    return low, high


def _two_values(known: Float, low: float, high: float) -> tuple[float, float] | None:
    """The two values that there are; of values inside the scale only if both are seen often enough."""
    values, times = np.unique(known, return_counts=True)
    if set(values.tolist()) <= {low, high}:
        return low, high
    return (float(values[0]), float(values[1])) if len(values) == 2 and times.min() >= FEW else None


def floor(columns: Sample, level: float, span: Float | float = 1.0) -> Float:
    """Half the width that an interval of each column's mean has at least, where few values differ."""
    from scipy.special import stdtrit

    units = np.maximum(columns.counts(), 2)
    if columns.wholes is not None:  # so many equal wholes would tell as much (Kish)
        sizes = columns.sizes()
        units = np.clip(sizes.sum(axis=0) ** 2 / np.maximum((sizes**2).sum(axis=0), 1e-300), 2, units)
    error = np.sqrt(standard_error(columns) ** 2 + (least_error(1, level, 1.0) * span / units) ** 2)
    half: Float = stdtrit(units - 1, (1 + level) / 2) * error
    return half


def least_error(units: float, level: float, span: float = 1.0) -> float:
    """The standard error of a mean of values none of which differs: at 95 % √2.34·span/n."""
    return -math.log(1 - level) / NormalDist().inv_cdf((1 + level) / 2) * span / units


def wilson(count: int, number: int, level: float) -> tuple[float, float]:
    """Interval of a share, which holds its own where the share is near 0 or 1 (Wilson, 1927).

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
