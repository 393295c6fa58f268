"""The values of several runs on the same queries, and the units that were drawn independently."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Float = NDArray[np.float64]
Int = NDArray[np.int64]
# Two values that lie this near to one another differ by rounding only. Rounding adds less than 1e-12 to a
# value; two values, each a difference of two, may be four times that apart.
SLACK = 1e-11
AT_ONCE = 2**21  # numbers in memory
FEWEST_CLUSTERS = 10  # with which anything is decided


def settled(values: Float) -> Float:
    """Return values in which differences by rounding only are removed, and values near 0 are 0.

    Everything that ranks, signs or counts values uses settled ones.

    >>> settled(np.array([0.1 + 0.2, 0.3, 0.5, 1e-17])).tolist()
    [0.3, 0.3, 0.5, 0.0]
    """
    return settled_columns(values.reshape(-1, 1)).reshape(values.shape)


def settled_columns(values: Float) -> Float:
    """Return the same for each column by itself.

    >>> settled_columns(np.array([[0.1 + 0.2, 1e-9], [0.3, 1e6]])).tolist()
    [[0.3, 0.0], [0.3, 1000000.0]]
    """
    # Transposed, so that a column is in one piece of memory: sorting takes most of the time.
    columns = values.T.copy()
    is_finite = np.isfinite(columns)
    # What is no number goes last, and stays as it was.
    numbers = np.where(is_finite, columns, np.inf)
    order = np.argsort(numbers, axis=1)
    ordered = np.take_along_axis(numbers, order, axis=1)
    near = SLACK * np.maximum(1.0, np.abs(np.where(is_finite, columns, 0.0)).max(axis=1, initial=0.0))
    near = near[:, None]
    # A stretch of neighbors, each near to the one before, is one value: its smallest.
    begins = np.zeros(columns.shape, np.int64)
    with np.errstate(invalid="ignore"):
        begins[:, 1:] = np.where(np.diff(ordered, axis=1) > near, np.arange(1, len(values)), 0)
    ordered = np.take_along_axis(ordered, np.maximum.accumulate(begins, axis=1), axis=1)
    ordered[np.abs(ordered) <= near] = 0.0
    np.put_along_axis(numbers, order, ordered, axis=1)
    return np.where(is_finite, numbers, columns).T.copy()


def in_proportion(sizes: Sequence[float], number: int) -> list[float]:
    """Return chances to be drawn that are in proportion to sizes, none above 1, and add up to a number.

    >>> in_proportion([1.0, 1.0, 2.0, 16.0], 2), in_proportion([1.0, 2.0], 2)
    ([0.25, 0.25, 0.5, 1.0], [1.0, 1.0])
    """
    order = sorted(range(len(sizes)), key=lambda index: -sizes[index])
    rest = math.fsum(sizes)
    certain = 0
    # The largest are drawn for certain, and the others share what is left.
    while certain < number and sizes[order[certain]] * (number - certain) >= rest:
        rest = math.fsum(sizes[index] for index in order[certain + 1 :])
        certain += 1
    chances = [1.0] * len(sizes)
    for index in order[certain:]:
        chances[index] = sizes[index] * (number - certain) / rest
    return chances


@dataclass(frozen=True)
class Sample:
    """Values by query (rows, by id) and run (columns), NaN where undefined.

    `unit` numbers what was drawn independently: the queries themselves, or clusters of them. Of shares that
    are pooled, `wholes` say how much each value counts (0: it is undefined); the mean is Σ parts / Σ wholes.
    """

    queries: tuple[str, ...]
    values: Float
    unit: Int
    wholes: Float | None = None

    @cached_property
    def units(self) -> int:
        """How many independent units there are."""
        return int(self.unit.max(initial=-1)) + 1

    @property
    def is_clustered(self) -> bool:
        """Whether some unit holds several queries."""
        return self.units < len(self.queries)

    @property
    def is_complete(self) -> bool:
        """Whether every run has a value for every query."""
        return not bool(np.isnan(self.values).any())

    def of(self, columns: Float) -> Sample:
        """Return the same queries with other columns of values."""
        return Sample(self.queries, columns, self.unit)

    def sums(self) -> Float:
        """Return the sum of each unit's defined values, in each column; of pooled shares, of their parts."""
        values = np.where(np.isnan(self.values), 0.0, self.values)
        return self._by_unit(values if self.wholes is None else values * self.wholes)

    def sizes(self) -> Float:
        """Return how many defined values each unit has, in each column; of pooled shares, Σ wholes."""
        counted = (~np.isnan(self.values)).astype(np.float64) if self.wholes is None else self.wholes
        return self._by_unit(counted)

    def counts(self) -> Int:
        """Return how many units have a value in each column."""
        units: Int = (self.sizes() > 0).sum(axis=0)
        return units

    def means(self) -> Float:
        """Return the mean of each unit in each column, NaN where it has no value."""
        sizes = self.sizes()
        means: Float = np.divide(self.sums(), sizes, out=np.full(sizes.shape, np.nan), where=sizes > 0)
        return means

    def mean(self) -> Float:
        """Return the mean over all queries of each column, NaN where it has no value."""
        number = self.sizes().sum(axis=0)
        total, nothing = self.sums().sum(axis=0), np.full(len(number), np.nan)
        mean: Float = np.divide(total, number, out=nothing, where=number > 0)
        return mean

    def standard_error(self) -> Float:
        """Return the standard error of the mean of each column; robust to clusters where there are any.

        se² = C/(C−1) · Σ_c (S_c − n_c·d̄)² / n² over C clusters with sums S_c of n_c of the n values, which is
        the usual s²/n where every query is a cluster of its own.

        >>> import math
        >>> alone = Sample(("a", "b", "c"), np.array([[1.0], [2.0], [6.0]]), np.arange(3))
        >>> math.isclose(alone.standard_error()[0], math.sqrt(7 / 3))
        True
        """
        sums, sizes = self.sums(), self.sizes()
        number, there = sizes.sum(axis=0), (sizes > 0).sum(axis=0)
        with np.errstate(invalid="ignore", divide="ignore"):
            residual = sums - sizes * (sums.sum(axis=0) / number)
            spread = np.sqrt(there / (there - 1) * (residual**2).sum(axis=0)) / number
        error: Float = np.where(there > 1, spread, np.nan)
        # values that are all alike leave a residual of rounding errors
        scale = np.abs(sums).sum(axis=0) / np.maximum(number, 1)
        error[error <= SLACK * scale] = 0.0
        return error

    def cohens_d(self) -> Float:
        """Return each column's effect size: the mean of differences in their standard deviations (d_z).

        0.2 is called small, 0.5 medium, 0.8 large. NaN where all differences are the same and not 0.
        """
        effects = []
        for column in self.values.T:
            defined = column[~np.isnan(column)]
            spread = float(np.std(defined, ddof=1)) if len(defined) > 1 else math.nan
            mean = float(defined.mean()) if len(defined) else math.nan
            if mean == 0:
                effects.append(0.0)
            else:
                effects.append(mean / spread if spread > SLACK * abs(mean) else math.nan)
        return np.array(effects)

    def _by_unit(self, columns: Float) -> Float:
        if not self.is_clustered:
            return columns[np.argsort(self.unit)]
        total = np.zeros((self.units, columns.shape[1]))
        np.add.at(total, self.unit, columns)
        return total
