"""Whether two judges rank systems alike, and what a judge leans on besides quality.

It may lean on long answers, on its own family of models; on where an answer was shown: see `positions`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from rageval.scoring.scores import mean
from rageval.statistics.rankings import tau_ap, tau_b

_FAMILIES = {
    "claude": r"claude|anthropic",
    "command": r"command-?r|cohere",
    "deepseek": r"deepseek",
    "gemini": r"gemini|gemma|google",
    "gpt": r"gpt|openai|chatgpt|\bo[134]\b",
    "llama": r"llama",
    "mistral": r"mistral|mixtral|ministral",
    "phi": r"\bphi-?\d",
    "qwen": r"qwen|qwq",
}


def length_leaning(
    errors: Mapping[tuple[str, str], float], lengths: Mapping[tuple[str, str], float]
) -> float:
    """Return Kendall's τ_b of how much too well answers were judged and how long they are, or NaN."""
    known = [key for key in errors if key in lengths]
    columns = (np.array([column[key] for key in known], np.float64) for column in (errors, lengths))
    return tau_b(*columns)


def _families_of(name: str) -> set[str]:
    """Return the families of models that a name speaks of.

    >>> _families_of("anthropic:claude-sonnet"), _families_of("baseline-bm25")
    ({'claude'}, set())
    """
    return {family for family, words in _FAMILIES.items() if re.search(words, name.lower())}


def kin(judges: Iterable[str], systems: Iterable[str]) -> list[str]:
    """Return systems that bear the name of a judge's family: a judge tends to prefer its own kind."""
    own = set().union(*map(_families_of, judges))
    return [system for system in systems if _families_of(system) & own]


Values = Mapping[str, Mapping[str, float]]  # system -> query -> value


class RankedAlike(NamedTuple):
    """Kendall's τ_b and τ_AP of the systems' means; the mean τ_b over the queries where it is defined."""

    systems: int
    tau_b: float
    tau_ap: float
    tau_per_topic: float
    topics: int


def ranked_alike(judged: Values, gold: Values) -> RankedAlike:
    """Return how far two judges agree on which systems are better."""
    systems = sorted(judged.keys() & gold.keys())
    mine, theirs = (np.array([mean(values[name].values()) for name in systems]) for values in (judged, gold))
    known = ~(np.isnan(mine) | np.isnan(theirs))
    mine, theirs = mine[known], theirs[known]
    if len(mine) < 2:
        return RankedAlike(len(mine), math.nan, math.nan, math.nan, 0)
    of_topics = [tau for tau in _by_topic(judged, gold, systems) if not math.isnan(tau)]
    return RankedAlike(len(mine), tau_b(mine, theirs), tau_ap(theirs, mine), mean(of_topics), len(of_topics))


def mean_grades(judgements: Iterable[tuple[str, str, float]]) -> Values:
    """Return the mean grade of every system and query, from (query, system, grade)."""
    grades: dict[str, dict[str, list[float]]] = {}
    for query, system, grade in judgements:
        grades.setdefault(system, {}).setdefault(query, []).append(grade)
    return {
        system: {query: mean(found) for query, found in queries.items()} for system, queries in grades.items()
    }


def scored(measure: str, judgements: Iterable[Mapping[str, Any]], nuggets: Any = None) -> Values:
    """Return the values of a measure, turned so that high is good; what is missing is left out."""
    from rageval.scoring.answers import scored as scored_answers

    found = scored_answers(measure, list(judgements), nuggets=nuggets, on_missing="skip")
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
