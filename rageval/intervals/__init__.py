"""How sure a mean is: bootstrap intervals over queries, the same ones wherever an interval is printed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

LEVEL = 0.95
SEED = 20130


def bootstrap(
    values: NDArray[np.float64], level: float = LEVEL, limits: tuple[float, float] | None = None
) -> tuple[float, float]:
    """The interval of the mean of the defined values; the same values, the same interval.

    >>> low, high = bootstrap(np.full(30, 0.5))  # not of width 0: others might differ
    >>> round(low, 2), round(high, 2)
    (0.4, 0.6)
    >>> low, high = bootstrap(np.arange(100.0))
    >>> 43 < low < 45 < 54 < high < 56
    True
    """
    from rageval.intervals.coarse import scale_of
    from rageval.intervals.resampling import intervals
    from rageval.intervals.samples import Sample

    known = values[~np.isnan(values)]
    if len(known) < 2:
        return float("nan"), float("nan")
    queries = tuple(map(str, range(len(known))))
    columns = Sample(queries, known[:, None], np.arange(len(known)))
    low, high = intervals(columns, level=level, seed=SEED, scale=scale_of(columns.values, limits))
    return float(low[0]), float(high[0])
