"""Whether two judges rank systems alike: over all queries, and query by query."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from rageval.statistics.agreement import tau_ap, tau_b

Values = Mapping[str, Mapping[str, float]]  # system -> query -> value


class Alike(NamedTuple):
    """Kendall's τ_b and τ_AP of the systems' means; the mean τ_b over the queries where it is defined."""

    systems: int
    tau_b: float
    tau_ap: float
    tau_per_topic: float
    topics: int


def ranked_alike(judged: Values, gold: Values) -> Alike:
    """How far two judges agree on which systems are better."""
    systems = sorted(judged.keys() & gold.keys())
    mine, theirs = (np.array([_mean(values[name].values()) for name in systems]) for values in (judged, gold))
    known = ~(np.isnan(mine) | np.isnan(theirs))
    mine, theirs = mine[known], theirs[known]
    if len(mine) < 2:
        return Alike(len(mine), math.nan, math.nan, math.nan, 0)
    of_topics = [tau for tau in _by_topic(judged, gold, systems) if not math.isnan(tau)]
    return Alike(len(mine), tau_b(mine, theirs), tau_ap(theirs, mine), _mean(of_topics), len(of_topics))


def mean_grades(judgements: Iterable[tuple[str, str, float]]) -> Values:
    """The mean grade of every system and query, from (query, system, grade)."""
    grades: dict[str, dict[str, list[float]]] = {}
    for query, system, grade in judgements:
        grades.setdefault(system, {}).setdefault(query, []).append(grade)
    return {
        system: {query: _mean(found) for query, found in queries.items()}
        for system, queries in grades.items()
    }


def scored(measure: str, judgements: Iterable[Mapping[str, Any]], nuggets: Any = None) -> Values:
    """The values of a measure, turned so that high is good; what is missing is left out."""
    from rageval.answers import evaluate_answers

    found = evaluate_answers(measure, list(judgements), nuggets=nuggets, on_missing="skip")
    turned = {}
    for run, scores in found.items():
        score = next(iter(scores.values()))
        sign = -1.0 if score.measure.better == "lower" else 1.0
        turned[run] = {query: sign * value for query, value in score.by_query.items()}
    return turned


def _by_topic(judged: Values, gold: Values, systems: list[str]) -> Iterable[float]:
    for query in dict.fromkeys(query for name in systems for query in judged[name]):
        values = [
            (judged[name][query], gold[name][query])
            for name in systems
            if query in judged[name] and query in gold[name]
        ]
        table = np.array(values, np.float64).reshape(-1, 2)
        table = table[~np.isnan(table).any(axis=1)]
        yield tau_b(table[:, 0], table[:, 1]) if len(table) > 1 else math.nan


def _mean(values: Iterable[float]) -> float:
    known = [value for value in values if not math.isnan(value)]
    return math.fsum(known) / len(known) if known else math.nan
