"""Scores by what is known of the queries: a row a domain, a question type, …; and means over such groups."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from rageval.errors import InputError
from rageval.intervals import bootstrap
from rageval.names import suggestion
from rageval.scores import Score, combined
from rageval.text import visible

FEW = 20  # queries; an interval from fewer says little
Facts = Mapping[str, Mapping[str, str]]  # query -> field -> value


class Slice(NamedTuple):
    """A measure's value over the queries of one kind, with its 95 % bootstrap interval.

    It rests on the `queries` where the measure is defined; on the `undefined` ones it is not.
    """

    field: str
    name: str
    value: float
    low: float
    high: float
    queries: int
    undefined: int = 0

    @property
    def is_small(self) -> bool:
        """Whether it rests on too few queries to say much."""
        return self.queries < FEW


def slices(score: Score, field: str, groups: Mapping[str, str]) -> list[Slice]:
    """One slice for each value of the field, in the order of the values."""
    found = []
    for name, values in sorted(score.numbers_by(groups).items()):
        low, high = bootstrap(score.measure, values)
        known = sum(value == value for value in values)
        value = combined(score.measure, values)
        found.append(Slice(field, name, value, low, high, known, len(values) - known))
    return found


def groups_by(
    facts: Facts, field: str, queries: Iterable[str], source: str, fields: Sequence[str]
) -> dict[str, str]:
    """The value of the field for every query; `InputError` names the fields there are."""
    if not any(field in known for known in facts.values()):
        raise InputError(
            f"{source}: nothing is known of {field!r};"
            f" expected one of {', '.join(map(visible, fields)) or 'none'}" + suggestion(field, fields)
        )
    queries = list(queries)
    lost = [query for query in queries if field not in facts.get(query, {})]
    if lost:
        raise InputError(
            f"{source}: says nothing of {field} for {len(lost):,} of {len(queries):,} queries, such as"
            f" {visible(lost[0])!r}; expected it for each (queries there: {_some(facts)})"
        )
    return {query: facts[query][field] for query in queries}


def checked_weights(weights: Mapping[str, float], groups: Mapping[str, str], source: str) -> dict[str, float]:
    """Weights that sum to 1, one for every group there is."""
    total = math.fsum(weights.values())
    if not abs(total - 1) <= 1e-6 or not min(weights.values(), default=-1.0) >= 0:
        raise InputError(f"{source}: expected weights from 0 that sum to 1, found a sum of {total:g}")
    there = set(groups.values())
    lost = sorted(there - set(weights)) + sorted(name for name in set(weights) - there if weights[name])
    if lost:
        raise InputError(
            f"{source}: {visible(lost[0])!r} has"
            f" {'no weight' if lost[0] in there else 'a weight but no query'};"
            f" expected a weight for each of {', '.join(map(visible, sorted(there)))}"
        )
    return dict(weights)


def _some(facts: Facts, number: int = 3) -> str:
    names: Sequence[str] = [visible(query) for query in list(facts)[:number]]
    return ", ".join(names) + (", …" if len(facts) > number else "")
