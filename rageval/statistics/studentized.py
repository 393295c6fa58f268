"""The studentized bootstrap of mean differences, which holds where differences are skewed.

A resample draws the U units (queries, or clusters of them) with replacement. Of a column with mean d, where
se is robust to clusters as for the column itself (`Sample.standard_error`):

    t*         (d* − d) / se(d*) of each resample,  t = d / se(d)
    interval   d − t*_(1 − a/2)·se … d − t*_(a/2)·se,  a = 1 − level         (Efron's bootstrap-t, 1982)
    p          2·min(P(t* ≥ t), P(t* ≤ t)), at least 2^(1 − w)               where the interval just reaches 0
    max-T      the largest |t*| of all columns, each in units of its own quantile on that side (2.5, 97.5 %);
               from the column that differs most down, as of flipped signs

w units have the sign of the mean: few of them are no proof, whatever resampling gives, as with all signs
flipped. A resample in which nothing varies is as far off as can be. Each side has a quantile of its own,
because those of a skewed sample differ: where few questions gain much, a resample with few of these has a
small mean and a small error.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rageval.statistics.bootstrap import _times
from rageval.statistics.samples import AT_ONCE, SLACK, Float, Int, Sample
from rageval.statistics.significance import step_down

_SIDE = 0.025  # of the quantiles in whose units columns are compared
_ROUNDED = 1e-9  # an error this small beside the column's own is rounding


class Studentized(NamedTuple):
    """Both ends and p of each column's mean; NaN ends where resamples give none.

    `is_least`: no resample is as far off, so that p is the smallest that so many resamples give.
    """

    low: Float
    high: Float
    p: Float
    is_least: NDArray[np.bool_]


class _Columns(NamedTuple):
    """What resamples need of columns: of each unit its part in the error of the mean, and its size."""

    residuals: Float
    sizes: Float
    error: Float

    def statistics(self, times: Float, part: slice | Int) -> Float:
        """Return t* of some columns in each resample (a row), given how often it draws each unit."""
        residuals, sizes = self.residuals[:, part], self.sizes[:, part]
        units = len(residuals)
        # Usually every unit has one value in every column: then two products of matrices do.
        if bool((sizes == 1).all()):
            gap = times @ residuals / units
            squares = times @ residuals**2 - units * gap**2
            error = np.sqrt(np.maximum(squares, 0.0) * (units / max(units - 1, 1))) / units
        else:
            # A resample without a single value gives NaN, which counts as far off.
            with np.errstate(invalid="ignore", divide="ignore"):
                number, there = times @ sizes, times @ (sizes > 0).astype(np.float64)
                gap = times @ residuals / number
                squares = times @ residuals**2 - 2 * gap * (times @ (residuals * sizes))
                squares += gap**2 * (times @ sizes**2)
                error = np.sqrt(np.maximum(squares, 0.0) * there / (there - 1)) / number
        is_alike = error <= _ROUNDED * self.error[part]
        with np.errstate(invalid="ignore", divide="ignore"):
            far = np.where(np.abs(gap) <= _ROUNDED * self.error[part], 0.0, np.sign(gap) * np.inf)
            statistics: Float = np.where(is_alike, far, gap / error)
        return statistics


def studentized(columns: Sample, level: float, resamples: int, seed: int) -> Studentized:
    """Return the interval and p of the mean of each column.

    >>> one = Sample(tuple("abcdef"), np.array([[1.0], [2.0], [2.0], [3.0], [4.0], [6.0]]), np.arange(6))
    >>> found = studentized(one, 0.9, 1000, 0)
    >>> bool(found.low[0] > 0), bool(found.p[0] < 0.1)
    (True, True)
    """
    parts, means = _columns_of(columns), columns.mean()
    low, high = np.full(len(means), np.nan), np.full(len(means), np.nan)
    p, is_least = _without_error(parts, means, resamples)
    times = _times(columns.units, resamples, seed)
    # Which of the ordered resamples are the ends: with p as it is counted, 0 is beyond an end if p is small.
    place = int((resamples + 1) * (1 - level) / 2 * (1 + SLACK))
    able = np.flatnonzero(parts.error > 0)
    for part in np.array_split(able, len(able) * resamples // AT_ONCE + 1):
        if not len(part):
            continue
        drawn = np.concatenate([parts.statistics(rows, part) for rows in _stretches(times, columns.units)])
        seen = means[part] / parts.error[part]
        slack = SLACK * np.abs(seen)
        # Written with ~ so that NaN, which is not below anything, counts as far off.
        count = np.minimum((~(drawn < seen - slack)).sum(axis=0), (~(drawn > seen + slack)).sum(axis=0))
        p[part], is_least[part] = np.minimum(2 * (count + 1) / (resamples + 1), 1.0), count == 0
        if place >= 1:
            drawn.sort(axis=0)
            low[part] = means[part] - drawn[resamples - place] * parts.error[part]
            high[part] = means[part] - drawn[place - 1] * parts.error[part]
    is_known = np.isfinite(low) & np.isfinite(high)
    low[~is_known] = high[~is_known] = np.nan
    won = ((columns.sums() * np.sign(means)) > SLACK).sum(axis=0)
    return Studentized(low, high, np.maximum(p, np.minimum(2.0 ** (1 - won), 1.0)), is_least)


def studentized_max_t(columns: Sample, resamples: int, seed: int) -> tuple[Float, NDArray[np.bool_]]:
    """Return the family-wise p of each column, and where no resample is as far off."""
    parts, means = _columns_of(columns), columns.mean()
    times = _times(columns.units, resamples, seed)
    able = np.flatnonzero(parts.error > 0)
    adjusted, is_least = _without_error(parts, means, resamples)
    if not len(able):
        return adjusted, is_least
    ends = np.empty((2, len(able)))
    place = max(int((resamples + 1) * _SIDE), 1)
    for part in np.array_split(np.arange(len(able)), len(able) * resamples // AT_ONCE + 1):
        rows = _stretches(times, columns.units)
        drawn = np.sort(np.concatenate([parts.statistics(row, able[part]) for row in rows]), axis=0)
        ends[:, part] = -drawn[place - 1], drawn[resamples - place]
    # Not below what a normal mean has: of a side that hardly varies no unit can be made.
    lower, upper = np.maximum(ends, 1.0)

    def in_units(statistics: Float) -> Float:
        with np.errstate(invalid="ignore"):
            units: Float = np.where(statistics < 0, -statistics / lower, statistics / upper)
        # Where a quantile is not finite, what is as far off as can be is as far as that quantile.
        units[np.isnan(units)] = 1.0
        return units

    seen = in_units(means[able] / parts.error[able])
    width = max(1, AT_ONCE // max(len(able), columns.units))
    stretches = (times[begin : begin + width].astype(np.float64) for begin in range(0, resamples, width))
    reached, number = step_down(
        seen * (1 - SLACK), (in_units(parts.statistics(rows, able)) for rows in stretches)
    )
    adjusted[able], is_least[able] = (reached + 1) / (number + 1), reached == 0
    return adjusted, is_least


def _without_error(parts: _Columns, means: Float, resamples: int) -> tuple[Float, NDArray[np.bool_]]:
    """Return p of columns in which nothing varies: no resample is as far off, unless all values are 0."""
    is_least = (parts.error == 0) & (np.abs(np.nan_to_num(means)) > 0)
    return np.where(is_least, 2 / (resamples + 1), 1.0), is_least


def _columns_of(columns: Sample) -> _Columns:
    sums, sizes, means = columns.sums(), columns.sizes(), columns.mean()
    error = np.nan_to_num(columns.standard_error(), nan=0.0)
    return _Columns(sums - sizes * np.nan_to_num(means), sizes, error)


def _stretches(times: NDArray[np.uint16], units: int) -> Iterator[Float]:
    """Yield how often units are drawn, as many resamples at once as memory is for."""
    width = max(1, AT_ONCE // max(units, 1))
    for begin in range(0, len(times), width):
        yield times[begin : begin + width].astype(np.float64)
