"""How values change along an order within clusters, such as over the turns of conversations."""

from __future__ import annotations

import math

import numpy as np

from rageval.statistics import LEVEL
from rageval.statistics.samples import FEWEST_CLUSTERS, SLACK, Float, Int


def slope_within(
    places: Float, values: Float, unit: Int, level: float = LEVEL
) -> tuple[float, float, float, int]:
    """Return the slope of values over places within units, its interval, and how many units tell of it.

    β = Σ (x − x̄_c)(y − ȳ_c) / Σ (x − x̄_c)² over all values y at places x of the units c: each unit has a
    level of its own, so that long units do not look like late places. The interval is Student's, with the
    error of a jackknife that leaves out one unit at a time, and as many degrees of freedom as equal units
    would have that weigh the same: long ones weigh much. There is none from fewer than ten units, or where
    all have the same slope.

    >>> unit = np.repeat(np.arange(12), 2)
    >>> slope, low, high, units = slope_within(np.tile([1.0, 2.0], 12), unit + np.tile([0.0, -0.5], 12), unit)
    >>> slope, math.isnan(low), units
    (-0.5, True, 12)
    """
    is_defined = ~(np.isnan(places) | np.isnan(values))
    _, unit = np.unique(unit[is_defined], return_inverse=True)
    x, y = places[is_defined], values[is_defined]
    size = np.bincount(unit).astype(np.float64)
    x = x - (np.bincount(unit, x) / size)[unit]
    y = y - (np.bincount(unit, y) / size)[unit]
    products, squares = np.bincount(unit, x * y), np.bincount(unit, x * x)
    # A unit of one place says nothing.
    products, squares = products[squares > 0], squares[squares > 0]
    number, whole = len(squares), float(squares.sum())
    if not number:
        return math.nan, math.nan, math.nan, 0
    slope = float(products.sum()) / whole
    if number < FEWEST_CLUSTERS:
        return slope, math.nan, math.nan, number
    without = (products.sum() - products) / (whole - squares)
    error = math.sqrt((number - 1) / number * float(((without - without.mean()) ** 2).sum()))
    if error <= SLACK:
        return slope, math.nan, math.nan, number
    from scipy.special import stdtrit

    freedom = max(whole**2 / float((squares**2).sum()) - 1, 1.0)
    half = float(stdtrit(freedom, (1 + level) / 2)) * error
    return slope, slope - half, slope + half, number
