"""A judge's mean, corrected by the people who judged some of the same queries.

Prediction-powered inference (Angelopoulos et al., Science 2023; power-tuned, 2023). With a judge's values f
on N queries that people did not judge, f and people's values Y on n that they did:
    θ = λ·mean_N(f) + mean_n(Y − λf)        λ = Cov(Y, f) / ((1 + n/N) Var f), kept within 0 … 1
    Var θ = λ²·Var(f)/N + Var(Y − λf)/n
A useless judge gets λ = 0, which leaves the mean of what people said. The n queries must be drawn at random.

Where people judged a part of an answer's nuggets, Y and f are the values on that part, r is its share of the
answer (0 where they judged none of it), F the judge's value on the whole, and with weights a = r / mean(r)
    θ = λ·mean(F) + mean(a·(Y − λf))        λ least in variance, kept within 0 … 1
    Var θ = Σ ψ²/Q² · n/(n − 2)             ψ = λ(F − mean F) + a·(Y − λf − mean(a·(Y − λf)))
over all Q queries, with n = (Σa)²/Σa². So an answer counts by how much of it was judged, which is right if
nuggets were drawn at random from all of them, or whole answers were. If something was judged of every answer,
a = 1, which is right however many nuggets of each were drawn.

Shares of labels: double sampling (Tenenbein, JASA 1970). With the judge's share q_i of each label i on all M
queries, and the share p_i of these that people call so, seen on the n_i that both judged:
    share = Σ q_i·p_i       Var = Σ q_i²·p_i(1 − p_i)/n_i + (Σ q_i·p_i² − share²)/M
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import NamedTuple

import numpy as np

from rageval.statistics.bootstrap import FEW, Limits, differing, least_error, mended, ranges_of
from rageval.statistics.samples import Float, Sample

Values = Mapping[str, float]


class Estimate(NamedTuple):
    """A mean as the judge has it, as people have it where they looked, and as corrected, with intervals.

    `weight` is λ, how much the judge's values count; NaN for shares of labels. `unseen` is the share of
    queries whose label by the judge nobody checked, by which the interval is widened on either side;
    `labels` of the `of` judgements that the measure rests on are people's;
    `coarse`: fewer than 6 of people's values differ from the commonest one, or from the judge's.
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
    coarse: bool = False
    labels: int = 0
    of: int = 0


def corrected_mean(
    judge: Values, people: Values, level: float = 0.95, limits: Limits | None = None
) -> Estimate:
    """Return the mean of a measure, from the judge's value of every query and people's of some.

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
    is_coarse = _is_coarse(said, there if weight else None)
    both = np.concatenate((there, elsewhere))
    alone = _alone(said, level, limits)
    low, high = _ends(
        value, spread, np.concatenate((said, both)), len(checked), level, is_coarse, limits=limits
    )
    return Estimate(
        _mean(both),
        _mean(said),
        *alone,
        value,
        *((low, high) if weight else alone),
        len(both),
        len(checked),
        weight,
        coarse=is_coarse,
    )


def corrected_from_parts(
    judge: Values,
    there: Values,
    people: Values,
    share: Values,
    labels: int,
    level: float = 0.95,
    limits: Limits | None = None,
) -> Estimate:
    """Return the mean of a measure of which people judged a `share` of each answer, with `labels` in all.

    On that share `people` have people's values, and `there` the judge's.

    >>> whole, share = {"a": 0.5, "b": 1.0, "c": 0.0, "d": 0.5}, {"a": 0.5, "b": 0.5, "c": 0.5}
    >>> here = {"a": 0.0, "b": 1.0, "c": 0.0}
    >>> round(corrected_from_parts(whole, here, here, share, 6).value, 4)  # λ = 1: 0.5 + 0
    0.5
    """
    checked = sorted(query for query in share if query in judge)
    whole = np.array([judge[query] for query in [*checked, *sorted(judge.keys() - set(checked))]])
    part = np.zeros((3, len(whole)))
    part[:, : len(checked)] = [[values[query] for query in checked] for values in (share, people, there)]
    weight = _counting(part[0])
    said, here = part[1:]
    total = max(len(whole), 1)
    mean, mean_here = (float((weight * column).sum()) / total for column in (said, here))
    error, help_ = weight * (said - mean), whole - whole.mean() - weight * (here - mean_here)
    factor = _factor(error, help_)
    value = factor * float(whole.mean()) + mean - factor * mean_here
    number = float(weight.sum() ** 2 / (weight**2).sum())
    said, here = said[: len(checked)], here[: len(checked)]

    def ends(found: float, column: Float, beside: Float | None) -> tuple[float, float]:
        free = number - 1 - (beside is not None)
        spread = float((column**2).sum()) / total**2 * number / free if free > 0 else math.nan
        seen = np.concatenate((said, whole))
        return _ends(found, spread, seen, free + 1, level, _is_coarse(said, beside), labels, limits)

    beside = here if factor else None
    return Estimate(
        _mean(whole),
        mean,
        *ends(mean, error, None),
        value,
        *ends(value, error + factor * help_, beside),
        len(whole),
        len(checked),
        factor,
        coarse=_is_coarse(said, beside),
        labels=labels,
    )


def _counting(share: Float) -> Float:
    """Return how much each answer counts: as much of it as was judged; alike if something of each was."""
    if (share > 0).all():
        return np.ones(len(share))
    weights: Float = share / share.mean()
    return weights


def _factor(error: Float, help_: Float) -> float:
    """Return λ: how much the judge's values help."""
    square = float((help_**2).sum())
    return min(max(-float((error * help_).sum()) / square, 0.0), 1.0) if square else 0.0


def _is_coarse(said: Float, there: Float | None) -> bool:
    """Return whether few of people's values differ from the commonest, or few from the judge's."""
    differ = [int(differing(_column(said))[0])]
    if there is not None:
        differ.append(int((said != there).sum()))
    return min(differ) < FEW and 2 * min(differ) < len(said)


def _ends(
    value: float,
    spread: float,
    values: Float,
    number: float,
    level: float,
    is_coarse: bool,
    labels: int | None = None,
    limits: Limits | None = None,
) -> tuple[float, float]:
    """Return the interval of a corrected mean; where few values tell, with a floor, and within their scale.

    The floor is that of so many `labels`, where they are not one an answer.
    """
    reach = _quantile(number, level)
    if not is_coarse:
        return value - reach * math.sqrt(spread), value + reach * math.sqrt(spread)
    scale = ranges_of(values[:, None], limits)
    half = reach * math.sqrt(spread + least_error(labels or number, level, float(scale.span[0])) ** 2)
    return max(value - half, min(float(scale.low[0]), value)), min(
        value + half, max(float(scale.high[0]), value)
    )


def _alone(said: Float, level: float, limits: Limits | None = None) -> tuple[float, float]:
    """Return the interval of people's mean: Student's, or Wilson's where there are two values."""
    if not len(said):
        return math.nan, math.nan
    reach = _quantile(len(said), level) * math.sqrt(_variance(said) / len(said))
    ends = np.array([_mean(said) - reach]), np.array([_mean(said) + reach])
    low, high = mended(_column(said), *ends, level, ranges_of(said[:, None], limits))
    return float(low[0]), float(high[0])


def _column(values: Float) -> Sample:
    return Sample(tuple(map(str, range(len(values)))), values[:, None], np.arange(len(values)))


def _weight(said: Float, there: Float, elsewhere: Float) -> float:
    """Return λ: how much the judge's values help."""
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
    """Return the share of queries that people would give one of these labels.

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
    reach, alone = _quantile(len(checked), level), _alone(so, level)
    low, high = share - reach * math.sqrt(spread) - unseen, share + reach * math.sqrt(spread) + unseen
    if len(set(judge.values())) == 1:  # who always says the same tells nothing apart
        low, high = alone
    return Estimate(
        sum(said in labels for said in judge.values()) / len(judge),
        _mean(so),
        *alone,
        share,
        float(np.maximum(low, 0.0)),
        float(np.minimum(high, 1.0)),
        len(judge),
        len(checked),
        math.nan,
        unseen,
        _is_coarse(so, None),
    )


def _quantile(number: float, level: float) -> float:
    from scipy.special import stdtrit

    return float(stdtrit(number - 1, (1 + level) / 2)) if number > 1 else math.nan


def _mean(values: Float) -> float:
    return math.fsum(values.tolist()) / len(values) if len(values) else math.nan


def _variance(values: Float) -> float:
    return float(np.var(values, ddof=1)) if len(values) > 1 else 0.0
