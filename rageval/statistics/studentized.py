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
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rageval.statistics.bootstrap import _times
from rageval.statistics.samples import AT_ONCE, SLACK, Float, Int, Sample
from rageval.statistics.significance import step_down

_SIDE = 0.025  # of the quantiles in whose units columns are compared
_SMALL = 100.0  # times the error of a difference is that of what it is made of, at most
_KEPT = 2**24  # statistics that are kept: 128 MB
_ROUNDED = 1e-9  # an error this small beside the column's own is rounding


class Studentized(NamedTuple):
    """Both ends and p of each column's mean; NaN ends where resamples give none.

    `is_least`: no resample is as far off, so that p is the smallest that so many resamples give.
    """

    low: Float
    high: Float
    p: Float
    is_least: NDArray[np.bool_]


class Resamples:
    """The statistic of each column in each resample: drawn once for p, intervals and the family of all.

    >>> one = Sample(tuple("abcdef"), np.array([[1.0], [2.0], [2.0], [3.0], [4.0], [6.0]]), np.arange(6))
    >>> estimate = Resamples(one, 0.9, 1000, 0).alone()
    >>> bool(estimate.low[0] > 0), bool(estimate.p[0] < 0.1)
    (True, True)
    """

    def __init__(
        self,
        columns: Sample,
        level: float,
        resamples: int,
        seed: int,
        made_of: tuple[Sample, Int] | None = None,
    ) -> None:
        """Draw units; `made_of` are the columns and pairs of them that `columns` are the differences of."""
        sums = columns.sums()
        self.means, self.sizes = np.nan_to_num(columns.mean()), columns.sizes()
        self.residuals = sums - self.sizes * self.means
        self.error = np.nan_to_num(columns.standard_error(), nan=0.0)
        # As with all signs flipped, few units with the sign of the mean are no proof.
        self.floor = np.minimum(2.0 ** (1 - (sums * np.sign(self.means) > SLACK).sum(axis=0)), 1.0)
        # Where nothing varies, resamples say nothing.
        self.able = np.flatnonzero(self.error > 0)
        self.observed = np.divide(self.means, self.error, out=np.zeros(len(self.means)), where=self.error > 0)
        # Usually every unit has one value in every column: then two products of matrices do.
        self.are_alike = bool((self.sizes == 1).all())
        self._made_of = self._centered(*made_of) if made_of is not None and self.are_alike else None
        self.level, self.resamples = level, resamples
        self._times = _times(columns.units, resamples, seed)
        # Kept unless they are too many.
        self._kept: list[Float] | None = [] if len(self.able) * resamples <= _KEPT else None

    def alone(self) -> Studentized:
        """Return the interval and p of the mean of each column."""
        return self._of_columns[0]

    def together(self) -> tuple[Float, NDArray[np.bool_]]:
        """Return the family-wise p of each column, and where no resample is as far off."""
        adjusted, is_least = self._without_error()
        if not len(self.able):
            return adjusted, is_least
        # Not below what a normal mean has: of a side that hardly varies no unit can be made.
        lower, upper = np.maximum(self._of_columns[1][:, self.able], 1.0)

        def in_units(statistics: Float) -> Float:
            with np.errstate(invalid="ignore"):
                units: Float = np.where(statistics < 0, -statistics / lower, statistics / upper)
            # Where a quantile is not finite, what is as far off as can be is as far as that quantile.
            units[np.isnan(units)] = 1.0
            return units

        observed = in_units(self.observed[self.able])
        reached, number = step_down(observed * (1 - SLACK), map(in_units, self._by_resample()))
        adjusted[self.able], is_least[self.able] = (reached + 1) / (number + 1), reached == 0
        return adjusted, is_least

    @cached_property
    def _of_columns(self) -> tuple[Studentized, Float]:
        """What resamples say of each column alone; and its quantiles, a row a side, which are its units."""
        low, high = np.full(len(self.means), np.nan), np.full(len(self.means), np.nan)
        sides = np.full((2, len(self.means)), np.nan)
        p, is_least = self._without_error()
        # Which of the ordered resamples are the ends: with p as counted, 0 is beyond an end if p is small.
        place = int((self.resamples + 1) * (1 - self.level) / 2 * (1 + SLACK))
        side = max(int((self.resamples + 1) * _SIDE), 1)
        for part, drawn in self._by_column():
            observed = self.observed[part, None]
            slack = SLACK * np.abs(observed)
            # Written with ~ so that NaN, which is not below anything, counts as far off.
            upper, lower = ~(drawn < observed - slack), ~(drawn > observed + slack)
            count = np.minimum(upper.sum(axis=1), lower.sum(axis=1))
            p[part], is_least[part] = np.minimum(2 * (count + 1) / (self.resamples + 1), 1.0), count == 0
            places = {end for below in (place, side) if below for end in (below - 1, self.resamples - below)}
            ordered = np.partition(drawn, sorted(places), axis=1)
            sides[:, part] = -ordered[:, side - 1], ordered[:, self.resamples - side]
            if place:
                low[part] = self.means[part] - ordered[:, self.resamples - place] * self.error[part]
                high[part] = self.means[part] - ordered[:, place - 1] * self.error[part]
        is_known = np.isfinite(low) & np.isfinite(high)
        low[~is_known] = high[~is_known] = np.nan
        return Studentized(low, high, np.maximum(p, self.floor), is_least), sides

    def _by_column(self) -> Iterator[tuple[Int, Float]]:
        """Yield columns that vary, as many as memory is for, and t* of each (row) in all resamples."""
        parts = np.array_split(self.able, len(self.able) * self.resamples // AT_ONCE + 1)
        for part in filter(len, parts):
            # As many resamples at once as memory is for.
            drawn = [self._statistics(times, part) for times in self._stretches(len(self.residuals))]
            statistics = drawn[0] if len(drawn) == 1 else np.concatenate(drawn, axis=1)
            if self._kept is not None:
                self._kept.append(statistics)
            yield part, statistics

    def _by_resample(self) -> Iterator[Float]:
        """Yield t* of all columns that vary, some resamples (rows) at a time."""
        if self._kept is None:
            for times in self._stretches(max(len(self.residuals), len(self.able))):
                yield self._statistics(times, self.able).T
            return
        number = max(1, AT_ONCE // len(self.able))
        for begin in range(0, self.resamples, number):
            yield np.concatenate([part[:, begin : begin + number] for part in self._kept]).T

    def _centered(self, runs: Sample, pairs: Int) -> tuple[Float, Int] | None:
        """Return the residuals of what the columns are differences of, if these are not small beside them.

        A mean of differences is a difference of means: of 20 runs that are 20 products with resamples, and
        not 190. A small difference would have the rounding of what it is made of.
        """
        if len(self.able) and runs.standard_error().max() <= _SMALL * self.error[self.able].min():
            return runs.sums() - runs.mean(), pairs
        return None

    def _without_error(self) -> tuple[Float, NDArray[np.bool_]]:
        """Return p where nothing varies: no resample is as far off, unless all values are 0."""
        is_least = (self.error == 0) & (self.means != 0)
        return np.where(is_least, 2 / (self.resamples + 1), 1.0), is_least

    def _stretches(self, width: int) -> Iterator[Float]:
        """Yield how often each unit (row) is drawn, as many resamples at once as memory is for."""
        number = max(1, AT_ONCE // max(width, 1))
        for begin in range(0, self.resamples, number):
            yield self._times[begin : begin + number].astype(np.float64).T

    def _statistics(self, times: Float, part: Int) -> Float:
        residuals, sizes = self.residuals.T[part], self.sizes.T[part]
        units, tiny = residuals.shape[1], _ROUNDED * self.error[part, None]
        # A resample without a single value gives NaN, which counts as far off.
        with np.errstate(invalid="ignore", divide="ignore"):
            if self.are_alike:
                if self._made_of is None:
                    gap = residuals @ times / units
                else:
                    runs, pairs = self._made_of
                    means = runs.T @ times / units
                    gap = means[pairs[part, 0]] - means[pairs[part, 1]]
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
