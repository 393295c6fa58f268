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


class _Columns:
    """What resamples need of columns: of each unit its part in the error of the mean, and its size."""

    def __init__(self, columns: Sample, resamples: int, seed: int) -> None:
        self.means, self.sizes = np.nan_to_num(columns.mean()), columns.sizes()
        self.residuals = columns.sums() - self.sizes * self.means
        self.error = np.nan_to_num(columns.standard_error(), nan=0.0)
        # Where nothing varies, resamples say nothing.
        self.able = np.flatnonzero(self.error > 0)
        self.observed = np.divide(self.means, self.error, out=np.zeros(len(self.means)), where=self.error > 0)
        # Usually every unit has one value in every column: then two products of matrices do.
        self.are_alike = bool((self.sizes == 1).all())
        self.resamples = resamples
        self._times = _times(columns.units, resamples, seed)

    def columns_at_once(self) -> list[Int]:
        """Return the columns that vary, as many at once as memory is for."""
        return np.array_split(self.able, len(self.able) * self.resamples // AT_ONCE + 1)

    def all_resamples(self, part: Int) -> Float:
        """Return t* of some columns (rows) in all resamples."""
        drawn = [self._statistics(times, part) for times in self._stretches(len(self.residuals))]
        return drawn[0] if len(drawn) == 1 else np.concatenate(drawn, axis=1)

    def by_resample(self) -> Iterator[Float]:
        """Yield t* of all columns that vary, some resamples (rows) at a time."""
        for times in self._stretches(max(len(self.residuals), len(self.able))):
            yield self._statistics(times, self.able).T

    def without_error(self) -> tuple[Float, NDArray[np.bool_]]:
        """Return p where nothing varies: no resample is as far off, unless all values are 0."""
        is_least = (self.error == 0) & (self.means != 0)
        return np.where(is_least, 2 / (self.resamples + 1), 1.0), is_least

    def _stretches(self, width: int) -> Iterator[Float]:
        """Yield how often each unit (row) is drawn, as many resamples at once as memory is for."""
        number = max(1, AT_ONCE // max(width, 1))
        for begin in range(0, self.resamples, number):
            yield self._times[begin : begin + number].T.astype(np.float64)

    def _statistics(self, times: Float, part: Int) -> Float:
        residuals, sizes = self.residuals.T[part], self.sizes.T[part]
        units, tiny = residuals.shape[1], _ROUNDED * self.error[part, None]
        # A resample without a single value gives NaN, which counts as far off.
        with np.errstate(invalid="ignore", divide="ignore"):
            if self.are_alike:
                gap = residuals @ times / units
                squares = residuals**2 @ times - units * gap**2
                scale = units / max(units - 1, 1) / units**2
            else:
                number, there = sizes @ times, (sizes > 0).astype(np.float64) @ times
                gap = residuals @ times / number
                squares = (
                    residuals**2 @ times - 2 * gap * (residuals * sizes @ times) + gap**2 * (sizes**2 @ times)
                )
                scale = there / (there - 1) / number**2
            error = np.sqrt(np.maximum(squares, 0.0) * scale)
            statistics: Float = gap / error
            is_alike = error <= tiny
            if is_alike.any():
                far = np.where(np.abs(gap) <= tiny, 0.0, np.sign(gap) * np.inf)
                statistics = np.where(is_alike, far, statistics)
        return statistics


def studentized(
    columns: Sample, level: float, resamples: int, seed: int, *, has_ends: bool = True
) -> Studentized:
    """Return the interval and p of the mean of each column; without ends it is faster.

    >>> one = Sample(tuple("abcdef"), np.array([[1.0], [2.0], [2.0], [3.0], [4.0], [6.0]]), np.arange(6))
    >>> estimate = studentized(one, 0.9, 1000, 0)
    >>> bool(estimate.low[0] > 0), bool(estimate.p[0] < 0.1)
    (True, True)
    """
    drawing = _Columns(columns, resamples, seed)
    means, error = drawing.means, drawing.error
    low, high = np.full(len(means), np.nan), np.full(len(means), np.nan)
    p, is_least = drawing.without_error()
    # Which of the ordered resamples are the ends: with p as it is counted, 0 is beyond an end if p is small.
    place = int((resamples + 1) * (1 - level) / 2 * (1 + SLACK))
    for part in filter(len, drawing.columns_at_once()):
        drawn, observed = drawing.all_resamples(part), drawing.observed[part, None]
        slack = SLACK * np.abs(observed)
        # Written with ~ so that NaN, which is not below anything, counts as far off.
        upper, lower = ~(drawn < observed - slack), ~(drawn > observed + slack)
        count = np.minimum(upper.sum(axis=1), lower.sum(axis=1))
        p[part], is_least[part] = np.minimum(2 * (count + 1) / (resamples + 1), 1.0), count == 0
        if has_ends and place >= 1:
            drawn.partition((place - 1, resamples - place), axis=1)
            low[part] = means[part] - drawn[:, resamples - place] * error[part]
            high[part] = means[part] - drawn[:, place - 1] * error[part]
    is_known = np.isfinite(low) & np.isfinite(high)
    low[~is_known] = high[~is_known] = np.nan
    won = ((columns.sums() * np.sign(means)) > SLACK).sum(axis=0)
    return Studentized(low, high, np.maximum(p, np.minimum(2.0 ** (1 - won), 1.0)), is_least)


def studentized_max_t(columns: Sample, resamples: int, seed: int) -> tuple[Float, NDArray[np.bool_]]:
    """Return the family-wise p of each column, and where no resample is as far off."""
    drawing = _Columns(columns, resamples, seed)
    adjusted, is_least = drawing.without_error()
    able, place = drawing.able, max(int((resamples + 1) * _SIDE), 1)
    if not len(able):
        return adjusted, is_least
    ends = np.empty((2, len(adjusted)))
    for part in drawing.columns_at_once():
        drawn = np.partition(drawing.all_resamples(part), (place - 1, resamples - place), axis=1)
        ends[:, part] = -drawn[:, place - 1], drawn[:, resamples - place]
    # Not below what a normal mean has: of a side that hardly varies no unit can be made.
    lower, upper = np.maximum(ends[:, able], 1.0)

    def in_units(statistics: Float) -> Float:
        with np.errstate(invalid="ignore"):
            units: Float = np.where(statistics < 0, -statistics / lower, statistics / upper)
        # Where a quantile is not finite, what is as far off as can be is as far as that quantile.
        units[np.isnan(units)] = 1.0
        return units

    observed = in_units(drawing.observed[able])
    reached, number = step_down(observed * (1 - SLACK), map(in_units, drawing.by_resample()))
    adjusted[able], is_least[able] = (reached + 1) / (number + 1), reached == 0
    return adjusted, is_least
