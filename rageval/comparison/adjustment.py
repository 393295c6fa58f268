"""Many comparisons at once: the chance of one false alarm among all of them is kept where it should be."""

from __future__ import annotations

import numpy as np

from rageval.intervals.samples import Float


def holm(p: Float) -> Float:
    """Holm's step-down adjustment: p_(i) · (m − i + 1), never falling, at most 1; NaN stays NaN and apart.

    >>> holm(np.array([0.01, 0.04, 0.03])).tolist()
    [0.03, 0.06, 0.06]
    """
    adjusted = np.full(len(p), np.nan)
    known = np.flatnonzero(~np.isnan(p))
    order = known[np.argsort(p[known], kind="stable")]
    steps = p[order] * np.arange(len(order), 0, -1)
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted
