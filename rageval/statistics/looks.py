"""Labels that are examined before all are there: what p a difference needs at each look."""

from __future__ import annotations

import math
from statistics import NormalDist

from rageval.statistics import LEVEL


def bound_at(seen: int, of: int, level: float = LEVEL) -> float:
    """Return the p below which a difference is found after this many labels, with any number of looks.

    O'Brien and Fleming's bound without fixed looks: 2Φ(−c√(of/seen)), c = Φ⁻¹(1 − (1 − level)/4). A sum
    without a difference crosses it at some time in 1 − level of cases at most.

    >>> [round(bound_at(seen, 200), 6) for seen in (50, 100, 200)]
    [7e-06, 0.001525, 0.025]
    """
    normal = NormalDist()
    return 2 * normal.cdf(normal.inv_cdf((1 - level) / 4) * math.sqrt(of / max(min(seen, of), 1)))
