"""A measure over all orders of equal scores: its mean, and between what values it lies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rageval.errors import MeasureError
from rageval.measures import builtin
from rageval.measures.base import Measure
from rageval.tables.judged import Float, Judged
from rageval.uncertainty.expected import CLOSED, ExpectedGains, Query
from rageval.uncertainty.groups import Tied
from rageval.uncertainty.orders import reordered


class Spread(NamedTuple):
    """Values by query; both ends are None where there are too many orders to look at all."""

    expected: Float
    lowest: Float | None
    highest: Float | None


def check_expected(measures: Sequence[object]) -> None:
    """`MeasureError` unless the mean over all orders is known in closed form for each."""
    for measure in measures:
        if not _is_known(measure):
            raise MeasureError(
                f"{measure}: its mean over the orders of equal scores is not known; choose another rule for"
                " ties than 'expected'"
            )


def _is_known(measure: object) -> bool:
    if not isinstance(measure, Measure):
        return False
    own = builtin().get(measure.name)
    if own is None or own.function is not measure.function:
        return False
    return measure.name in CLOSED or "alpha" in measure.declared


def spread(measure: Measure, judged: Judged, tied: Tied) -> Spread:
    """The mean over all orders, and both ends."""
    if not tied.groups:
        values = np.asarray(measure.compute(judged), np.float64)
        return Spread(values, values, values)
    extremes = [
        reordered(judged, tied, measure.name, measure.k, measure.parameters, best) for best in (False, True)
    ]
    ends = [None if found is None else np.asarray(measure.compute(found), np.float64) for found in extremes]
    return Spread(_expected(measure, judged, tied), ends[0], ends[1])


def _expected(measure: Measure, judged: Judged, tied: Tied) -> Float:
    if measure.name not in CLOSED:
        return np.asarray(measure.compute(ExpectedGains(judged, tied)), np.float64)
    values = np.array(measure.compute(judged), np.float64)
    rel = measure.rel if measure.rel is not None else 1
    for number, groups in tied.groups.items():
        query = Query(number, groups, measure.k, tied.top(measure.k), judged, rel)
        values[number] = CLOSED[measure.name](query, measure.parameters)
    return values
