"""Scores by what is known of the queries: a row a domain, a question type, …."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from rageval.comparison.intervals import bootstrap
from rageval.scoring.scores import Score, combined

FEW = 20  # queries; an interval from fewer says little


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
    """Return one slice for each value of the field, in the order of the values."""
    found = []
    for name, values in sorted(score.numbers_by(groups).items()):
        low, high = bootstrap(score.measure, values)
        known = sum(value == value for value in values)
        value = combined(score.measure, values)
        found.append(Slice(field, name, value, low, high, known, len(values) - known))
    return found
