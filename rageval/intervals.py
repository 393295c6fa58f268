"""How sure a mean is: bootstrap intervals over queries."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

RESAMPLES = 2000
LEVEL = 0.95
SEED = 20130
_AT_ONCE = 2**22  # resampled values in memory


def bootstrap(
    values: NDArray[np.float64], resamples: int = RESAMPLES, level: float = LEVEL
) -> tuple[float, float]:
    """Percentile interval of the mean, queries drawn with replacement; the same values, the same interval.

    >>> bootstrap(np.array([0.5, 0.5, 0.5]))
    (0.5, 0.5)
    >>> low, high = bootstrap(np.arange(100.0))
    >>> 43 < low < 45 < 54 < high < 56
    True
    """
    values = values[~np.isnan(values)]
    number = len(values)
    if number < 2:
        return float("nan"), float("nan")
    generator = np.random.default_rng(SEED)
    stretch = max(1, _AT_ONCE // number)
    means = [
        values[generator.integers(0, number, (min(stretch, resamples - done), number))].mean(axis=1)
        for done in range(0, resamples, stretch)
    ]
    low, high = np.quantile(np.concatenate(means), [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)
