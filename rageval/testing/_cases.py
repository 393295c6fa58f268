"""What laws are tried on, a `Case` of runs or of answers; and how laws are listed, and compare values."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol, Self, TypeVar

from rageval.measures.base import HIGHER, LOWER, NEITHER, Measure
from rageval.scoring.scores import Score

Law = Callable[[Measure, Any, random.Random], bool]  # True if it holds of the measure on the case
SLACK = 1e-12
K = 3
_Key = TypeVar("_Key")


class Case(Protocol):
    """Something small that a measure scores; `RunCase` and `AnswerCase` are the two kinds."""

    @classmethod
    def draw(cls, measure: Measure, rng: random.Random) -> Self:
        """Return a random case that has what the measure asks for."""

    def scores(self, measure: Measure, *others: Measure) -> Mapping[str, Score]:
        """Return each system's score; `others` are scored in the same call."""

    def values(self, measure: Measure, *others: Measure) -> Mapping[Any, float]:
        """Return each query's value, and inf where it is undefined."""

    def others(self) -> list[Measure]:
        """Return measures that see every judgement of the case."""

    def each_query(self) -> Iterator[Self]:
        """Yield the case with one query alone, for each that is scored."""

    def in_another_order(self, rng: random.Random) -> Self:
        """Return the same rows in another order."""

    def without_one(self) -> Iterator[Self]:
        """Yield the case without each of its parts."""

    def lines(self) -> list[str]:
        """Return lines of Python that make the case."""


def listed_in(table: dict[str, Law]) -> Callable[[Law], Law]:
    """Return a decorator that puts a law in a table, by its name."""

    def put(law: Law) -> Law:
        table[law.__name__] = law
        return law

    return put


def cut(measure: Measure) -> Measure:
    """Return the measure at a cut-off, if it takes one and has none yet."""
    return measure @ K if measure.takes_k and measure.k is None else measure


def comparable(values: Mapping[_Key, float]) -> dict[_Key, float]:
    """Return the values with inf for NaN, which equals nothing: dicts with it never compare as equal."""
    return {key: math.inf if value != value else value for key, value in values.items()}


def never_worse(measure: Measure, good: Mapping[Any, float], bad: Mapping[Any, float]) -> bool:
    """Return whether no value is worse, in the way that the measure declares, where both are defined."""
    sign = {HIGHER: 1, LOWER: -1, NEITHER: 0}[measure.better]
    pairs = [(good[key], bad[key]) for key in good if math.inf not in (good[key], bad[key])]
    return all(sign * (high - low) >= -SLACK for high, low in pairs)
