"""Means of people's values: alone, and of answers of which people judged a part only.

Where people judged a part of an answer's nuggets, d and e are people's and the judge's values on that part, r
is its share of the answer (0 where they judged none of it), F the judge's value on the whole, and with
weights a = r / mean(r)
    θ = d̄ + b(mean F − ē)           d̄ = mean(a·d), ē = mean(a·e), b least in variance
    V = Σ ψ²/N² · n/(n − 2)         ψ = a(d − d̄) + b(F − mean F − a(e − ē))
over all N queries, with n = (Σa)²/Σa². So an answer counts by how much of it was judged, which is right if
nuggets were drawn at random from all of them, or whole answers were. If something was judged of every answer,
a = 1, which is right however many nuggets of each were drawn.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from rageval.errors import TooFewLabels
from rageval.statistics.bootstrap import Limits, _differing, _least_error, _mended, few_differ, ranges_of
from rageval.statistics.correction import FEWEST, _reach
from rageval.statistics.samples import Float, Sample, settled

Values = Mapping[str, float]


class _Estimate(NamedTuple):
    """A mean with its interval, and how far people's values follow the judge's.

    `coarse`: fewer than 6 of people's values differ from the commonest one, or from the judge's.
    """

    value: float
    low: float
    high: float
    slope: float
    coarse: bool


def peoples_interval(said: Float, level: float = 0.95, limits: Limits | None = None) -> tuple[float, float]:
    """Return the interval of people's mean: Student's, or Wilson's where there are two values.

    >>> low, high = peoples_interval(np.array([0.0] * 30))
    >>> low, round(high, 4)
    (0.0, 0.1135)
    """
    if len(said) < 2:
        return math.nan, math.nan
    half = _reach(len(said) - 1, level) * float(np.std(said, ddof=1)) / math.sqrt(len(said))
    ends = np.array([said.mean() - half]), np.array([said.mean() + half])
    low, high = _mended(_column(said), *ends, level, ranges_of(said[:, None], limits))
    return float(low[0]), float(high[0])


def corrected_from_parts(
    judge: Values,
    there: Values,
    people: Values,
    share: Values,
    labels: int,
    level: float = 0.95,
    limits: Limits | None = None,
) -> tuple[_Estimate, _Estimate]:
    """Return people's mean and the corrected one, where people judged a `share` of each answer.

    There are so many `labels` in all. On that share `people` have people's values, and `there` the judge's.
    TooFewLabels if people looked at fewer than 20 answers.

    >>> whole = {str(at): at % 3 / 2 for at in range(60)}
    >>> there = {str(at): at % 3 / 2 for at in range(30)}
    >>> people = {str(at): at % 3 / 2 - 0.1 for at in range(30)}
    >>> found = corrected_from_parts(whole, there, people, dict.fromkeys(people, 0.5), 90)
    >>> round(found[1].value, 3), round(found[1].slope, 3)
    (0.4, 1.0)
    """
    checked = sorted(query for query in share if query in judge)
    if len(checked) < FEWEST:
        raise TooFewLabels(f"people judged {len(checked):,} of {len(judge):,} ({FEWEST} are needed)")
    whole = np.array([judge[query] for query in [*checked, *sorted(judge.keys() - set(checked))]])
    part = np.zeros((3, len(whole)))
    part[:, : len(checked)] = [[values[query] for query in checked] for values in (share, people, there)]
    weight = _counting(part[0])
    said, here = part[1:]
    total = len(whole)
    mean, mean_here = (float((weight * column).sum()) / total for column in (said, here))
    error, help_ = weight * (said - mean), whole - whole.mean() - weight * (here - mean_here)
    square = float((help_**2).sum())
    slope = -float((error * help_).sum()) / square if square else 0.0
    value = mean + slope * (float(whole.mean()) - mean_here)
    number = float(weight.sum() ** 2 / (weight**2).sum())
    seen = np.concatenate((said[: len(checked)], whole))

    def estimate(found: float, column: Float, beside: Float | None) -> _Estimate:
        free = number - 1 - (beside is not None)
        spread = float((column**2).sum()) / total**2 * number / free if free > 0 else math.nan
        is_coarse = _is_coarse(said[: len(checked)], beside)
        low, high = _ends(found, spread, seen, free, level, labels if is_coarse else 0, limits)
        return _Estimate(found, low, high, slope, is_coarse)

    return estimate(mean, error, None), estimate(value, error + slope * help_, here[: len(checked)])


def _counting(share: Float) -> Float:
    """Return how much each answer counts: as much of it as was judged; alike if something of each was."""
    if (share > 0).all():
        return np.ones(len(share))
    weights: Float = share / share.mean()
    return weights


def _is_coarse(said: Float, there: Float | None) -> bool:
    """Return whether few of people's values differ from the commonest, or few from the judge's."""
    differ = [int(_differing(_column(said))[0])]
    if there is not None:
        differ.append(int((settled(said - there) != 0).sum()))
    return bool(few_differ(min(differ), len(said)))


def _ends(
    value: float, spread: float, values: Float, free: float, level: float, labels: int, limits: Limits | None
) -> tuple[float, float]:
    """Return the interval of a corrected mean; with the floor of so many `labels`, and within their scale."""
    far = _reach(free, level) if free > 0 else math.nan
    if not labels:
        return value - far * math.sqrt(spread), value + far * math.sqrt(spread)
    scale = ranges_of(values[:, None], limits)
    half = far * math.sqrt(spread + _least_error(labels, level, float(scale.span[0])) ** 2)
    low, high = float(scale.low[0]), float(scale.high[0])
    return max(value - half, min(low, value)), min(value + half, max(high, value))


def _column(values: Float) -> Sample:
    return Sample(tuple(map(str, range(len(values)))), values[:, None], np.arange(len(values)))
