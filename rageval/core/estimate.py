"""What may be claimed of a mean or of a difference, from all that is known of it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from rageval.core.basis import UNSTATED, Basis
from rageval.core.remark import Remark


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value with its interval, and what it is based on.

    With two `sides`, `low` and `high` are the ends of one interval of this `level`. With one, each of them is
    a bound of this level by itself. They are NaN where there is no interval, or none was asked for. The value
    is of `queries`; `undefined` others have none. Judgements are missing in `missing` of the queries, and
    `bounds` are the ends of the value, whatever they are.

    Where human labels correct a judge, the value is the corrected one, or NaN for `reasons`. `judged` is then
    the judge's own value, which is for a column "judge" alone, `labels` counts the labeled queries, and
    `gain` says how many would tell as much without a judge. `reasons` may also doubt a value.

    >>> estimate = Estimate(0.8, 0.7, 0.9, bounds=(0.6, 0.85), missing=3)
    >>> estimate.meets(lambda value: value >= 0.6), estimate.meets(lambda value: value >= 0.7)
    (True, False)
    >>> Estimate(reasons=(Remark("any_value"),)).meets(lambda value: value >= 0)
    False
    """

    value: float = math.nan
    low: float = math.nan
    high: float = math.nan
    level: float = 0.95
    sides: Literal[1, 2] = 2
    queries: int = 0
    undefined: int = 0
    missing: int = 0
    bounds: tuple[float, float] | None = None
    basis: Basis = UNSTATED
    judged: float | None = None
    labels: int | None = None
    gain: float | None = None
    reasons: tuple[Remark, ...] = ()

    @property
    def is_defined(self) -> bool:
        """Whether there is a value."""
        return self.value == self.value

    @property
    def is_corrected(self) -> bool:
        """Whether labels correct a judge, or were passed for this and cannot."""
        return self.judged is not None

    def meets(self, holds: Callable[[float], bool]) -> bool:
        """Return whether a limit holds for the value, whatever the missing judgements are."""
        return self.is_defined and all(map(holds, (self.value, *(self.bounds or ()))))
