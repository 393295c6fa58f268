"""The words for an estimate and its bounds."""

from __future__ import annotations

from rageval.core.estimate import Estimate


def name_bounds(level: float) -> tuple[str, str]:
    """Return what one-sided bounds of a level are called at the head of a table.

    >>> name_bounds(0.95)
    ('≥ (95%)', '≤ (95%)')
    """
    return f"≥ ({100 * level:.4g}%)", f"≤ ({100 * level:.4g}%)"


def describe_difference(estimate: Estimate) -> str:
    """Return a difference with its interval, or with its one-sided bounds, each of which holds by itself.

    A dash stands for a difference that nobody knows.

    >>> describe_difference(Estimate(0.25, 0.1, 0.4)), describe_difference(Estimate(0.25, 0.1, 0.4, sides=1))
    ('+0.2500 [+0.1000, +0.4000]', '+0.2500, ≥ +0.1000 (95%), ≤ +0.4000 (95%)')
    """
    if not estimate.is_defined:
        return "-"
    value, low, high = (f"{number:+.4f}" for number in (estimate.value, estimate.low, estimate.high))
    if estimate.sides == 2:
        return f"{value} [{low}, {high}]"
    level = f"({100 * estimate.level:.4g}%)"
    return f"{value}, ≥ {low} {level}, ≤ {high} {level}"
