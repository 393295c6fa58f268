"""A judge's mean, corrected by the people who judged some of the same queries.

Prediction-powered inference (Angelopoulos et al., Science 2023; power-tuned, 2023). With a judge's values f
on N queries that people did not judge, f and people's values Y on n that they did:
    θ = λ·mean_N(f) + mean_n(Y − λf)        λ = Cov(Y, f) / ((1 + n/N) Var f), kept within 0 … 1
    Var θ = λ²·Var(f)/N + Var(Y − λf)/n
A useless judge gets λ = 0, which leaves the mean of what people said. The n queries must be drawn at random.

Shares of labels: double sampling (Tenenbein, JASA 1970). With the judge's share q_i of each label i on all M
queries, and the share p_i of these that people call so, seen on the n_i that both judged:
    share = Σ q_i·p_i       Var = Σ q_i²·p_i(1 − p_i)/n_i + (Σ q_i·p_i² − share²)/M
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Float = NDArray[np.float64]
Values = Mapping[str, float]


class Estimate(NamedTuple):
    """A mean as the judge has it, as people have it where they looked, and as corrected, with intervals.

    `weight` is λ, how much the judge's values count; NaN for shares of labels. `unseen` is the share of
    queries whose label by the judge nobody checked, by which the interval is widened on either side.
    """

    judge: float
    people: float
    people_low: float
    people_high: float
    value: float
    low: float
    high: float
    queries: int
    checked: int
    weight: float
    unseen: float = 0.0


def corrected_mean(judge: Values, people: Values, level: float = 0.95) -> Estimate:
    """The mean of a measure, from the judge's value of every query and people's of some.

    >>> judge = {"a": 1.0, "b": 0.0, "c": 1.0, "d": 0.0, "e": 1.0, "f": 1.0}
    >>> found = corrected_mean(judge, {"a": 1.0, "b": 0.0, "c": 0.5})
    >>> round(found.people, 4), round(found.value, 4), round(found.judge, 4)
    (0.5, 0.5, 0.6667)
    """
    checked = sorted(query for query in people if query in judge)
    others = sorted(judge.keys() - set(checked))
    said = np.array([people[query] for query in checked])
    there = np.array([judge[query] for query in checked])
    elsewhere = np.array([judge[query] for query in others])
    weight = _weight(said, there, elsewhere)
    rest = said - weight * there
    value = _mean(rest) + (weight * _mean(elsewhere) if len(elsewhere) else 0.0)
    spread = _variance(rest) / max(len(rest), 1)
    if weight:
        spread += weight**2 * _variance(np.concatenate((there, elsewhere))) / len(elsewhere)
    reach = _quantile(len(checked), level)
    alone = reach * math.sqrt(_variance(said) / max(len(said), 1))
    both = np.concatenate((there, elsewhere))
    return Estimate(
        _mean(both),
        _mean(said),
        _mean(said) - alone,
        _mean(said) + alone,
        value,
        value - reach * math.sqrt(spread),
        value + reach * math.sqrt(spread),
        len(both),
        len(checked),
        weight,
    )


def _weight(said: Float, there: Float, elsewhere: Float) -> float:
    """λ: how much the judge's values help."""
    if len(said) < 2 or not len(elsewhere):
        return 0.0
    spread = _variance(np.concatenate((there, elsewhere)))
    if not spread:
        return 0.0
    together = float(((said - said.mean()) * (there - there.mean())).sum()) / (len(said) - 1)
    return min(max(together / ((1 + len(said) / len(elsewhere)) * spread), 0.0), 1.0)


def corrected_share(
    judge: Mapping[str, str], people: Mapping[str, str], labels: Collection[str], level: float = 0.95
) -> Estimate:
    """The share of queries that people would give one of these labels.

    >>> judge = {"a": "perfect", "b": "incorrect", "c": "perfect", "d": "perfect"}
    >>> corrected_share(judge, {"a": "perfect", "b": "incorrect"}, ["perfect"]).value
    0.75
    """
    checked = [query for query in people if query in judge]
    so = np.array([people[query] in labels for query in checked], np.float64)
    share, spread, square, unseen = 0.0, 0.0, 0.0, 0.0
    for label in sorted(set(judge.values())):
        weight = sum(said == label for said in judge.values()) / len(judge)
        here = so[[judge[query] == label for query in checked]] if checked else so
        if not len(here):
            unseen += weight
        chance = _mean(here if len(here) else so)
        smooth = (here.sum() + 0.5) / (len(here) + 1)  # three of three is not certainty
        share += weight * chance
        square += weight * chance**2
        spread += weight**2 * float(smooth * (1 - smooth)) / max(len(here), 1)
    spread += max(square - share**2, 0.0) / len(judge)
    reach = _quantile(len(checked), level)
    alone = reach * math.sqrt(_variance(so) / max(len(so), 1))
    low, high = share - reach * math.sqrt(spread) - unseen, share + reach * math.sqrt(spread) + unseen
    return Estimate(
        sum(said in labels for said in judge.values()) / len(judge),
        _mean(so),
        _mean(so) - alone,
        _mean(so) + alone,
        share,
        max(low, 0.0),
        min(high, 1.0),
        len(judge),
        len(checked),
        math.nan,
        unseen,
    )


def _quantile(number: int, level: float) -> float:
    from scipy.special import stdtrit

    return float(stdtrit(number - 1, (1 + level) / 2)) if number > 1 else math.nan


def _mean(values: Float) -> float:
    return math.fsum(values.tolist()) / len(values) if len(values) else math.nan


def _variance(values: Float) -> float:
    return float(np.var(values, ddof=1)) if len(values) > 1 else 0.0
