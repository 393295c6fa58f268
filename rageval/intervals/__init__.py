"""How sure a mean is: bootstrap intervals over queries, the same ones wherever an interval is printed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rageval.measures.parsing import AnyMeasure

LEVEL = 0.95
SEED = 20130


def bootstrap(measure: AnyMeasure, values: Sequence[float], level: float = LEVEL) -> tuple[float, float]:
    """Return the interval of what the defined values become; the same values, the same interval.

    There is one for means and for pooled shares; sums, and what a function makes of a list, have none (NaN).

    >>> from rageval.measures import recall
    >>> low, high = bootstrap(recall, [0.5] * 30)  # not of width 0: others might differ
    >>> round(low, 2), round(high, 2)
    (0.4, 0.6)
    """
    import numpy as np

    from rageval.intervals.coarse import scale_of
    from rageval.intervals.resampling import intervals
    from rageval.intervals.samples import has_interval, sample_of

    known = [value for value in values if value == value]
    if len(known) < 2 or not has_interval(measure):
        return float("nan"), float("nan")
    queries = tuple(map(str, range(len(known))))
    columns = sample_of(measure, queries, [known], np.arange(len(known)))
    low, high = intervals(columns, level=level, seed=SEED, scale=scale_of(columns.values, measure.limits))
    return float(low[0]), float(high[0])
