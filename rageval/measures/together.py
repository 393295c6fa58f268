"""Values that no single query has: all answers together make them, as a cost for each correct answer."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Self

if TYPE_CHECKING:
    from rageval.statistics.outcomes import Statistic

OutcomeRow = tuple[float, float, float]  # a number of an answer, whether it is right (1, 0), its weight


class Together(NamedTuple):
    """What makes the value of all answers, and what a bootstrap resamples; None if it cannot.

    The two differ where the value is biased: noise alone makes a calibration error, and resampling adds more.
    """

    value: Statistic
    resampled: Statistic | None


class Outcomes(float):
    """The answers to one query: as a number what they would be by themselves, NaN if that is undefined.

    A measure whose function is annotated with it, `-> Outcomes`, declares how all queries' outcomes become
    one value (`together`). Several answers of a query count as one: their weights add up to 1.

    >>> one = merged([Outcomes(2.0, [(2.0, 1.0, 1.0)]), Outcomes(math.nan, [(4.0, 0.0, 1.0)])])
    >>> one, one.rows
    (2.0, ((2.0, 1.0, 0.5), (4.0, 0.0, 0.5)))
    """

    __slots__ = ("rows",)
    rows: tuple[OutcomeRow, ...]

    def __new__(cls, alone: float, rows: Iterable[OutcomeRow]) -> Self:
        """Take the number that stands for the query, and its answers."""
        outcomes = super().__new__(cls, alone)
        outcomes.rows = tuple(rows)
        return outcomes

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (float(self), self.rows)


def merged(values: Sequence[float]) -> float:
    """Return the outcomes of several answers to a query, or of several judges, as one; NaN of none."""
    outcomes = [value for value in values if isinstance(value, Outcomes)]
    if len(outcomes) < 2:
        return outcomes[0] if outcomes else math.nan
    alone = [float(one) for one in outcomes if one == one]
    rows = ((number, right, weight / len(outcomes)) for one in outcomes for number, right, weight in one.rows)
    return Outcomes(math.fsum(alone) / len(alone) if alone else math.nan, rows)


def value_of_all(formula: Together, values: Iterable[float]) -> float:
    """Return the value that the outcomes of these queries have together; NaN without any."""
    rows = [row for value in values if isinstance(value, Outcomes) for row in value.rows]
    if not rows:
        return math.nan
    import numpy as np

    numbers, right, weights = np.array(rows, np.float64).T
    return float(formula.value(numbers, right, weights[None, :])[0])
