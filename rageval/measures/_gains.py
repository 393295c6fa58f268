"""The pieces that formulas of several families share: gains, discounts, shares, means."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Self

from rageval.errors import MeasureError

Nuggets = tuple[int, ...]
Gains = list[tuple[int, float]]  # (rank, gain), best first
Discount = Callable[[int], float]  # what a rank is worth


def gained(documents: Sequence[Nuggets], alpha: float, weights: Sequence[float] | None = None) -> list[float]:
    """Return what each document gains: (1−α)^c for each of its nuggets, c documents above supporting it, too.

    With weights, each nugget gains so many times as much.

    >>> gained([(1, 2), (2,), (2, 3)], alpha=0.5)
    [2.0, 0.5, 1.25]
    """
    # Powers are made once, to the next power of two above what is needed, so that the cache has few sizes.
    worth = novelties(2 ** len(documents).bit_length(), alpha)
    seen: dict[int, int] = {}
    gains = []
    for nuggets in documents:
        terms = []
        for nugget in nuggets:
            above = seen.get(nugget, 0)
            seen[nugget] = above + 1
            terms.append(worth[above] if weights is None else worth[above] * weights[nugget])
        # Summed exactly: whatever order nuggets stand in, equal gains have equal bits, and ties stay ties.
        gains.append(math.fsum(terms))
    return gains


def gain(nuggets: Nuggets, seen: Mapping[int, int], alpha: float, weight_of: Callable[[int], float]) -> float:
    """Return Σ weight · (1−α)^seen over the nuggets, exactly and rounded once: equal gains, equal bits."""
    return math.fsum([weight_of(n) * novelty(seen.get(n, 0), alpha) for n in nuggets])


def novelty(seen: int, alpha: float) -> float:
    """Return (1−α)^seen: what a nugget is worth that so many documents above support."""
    return (1.0 - alpha) ** seen


@lru_cache(maxsize=64)
def novelties(times: int, alpha: float) -> list[float]:
    """Return what a nugget is worth that was seen 0, 1, … times, so many numbers."""
    return [novelty(seen, alpha) for seen in range(times)]


def ratio(part: float, whole: float) -> float:
    """Return part / whole, and 0 where there is nothing to divide by."""
    return part / whole if whole > 0 else 0.0


def discounted(gains: Gains, discount: Callable[[int], float]) -> float:
    """Return Σ gain · discount(rank), the exact sum rounded once."""
    return math.fsum([gain * discount(rank) for rank, gain in gains])


@lru_cache(maxsize=10_000)
def logarithmic(rank: int) -> float:
    """Return 1/log2(1 + rank)."""
    return 1 / math.log2(1 + rank)


def reciprocal(rank: int) -> float:
    """Return 1/rank."""
    return 1 / rank


def geometric(beta: float) -> Callable[[int], float]:
    """Return the discount β^(rank − 1): of readers who go on to the next document with probability β."""
    return lambda rank: beta ** (rank - 1)


def graded_gains(documents: Iterable[tuple[int, int | float]], dcg: str) -> Gains:
    """Return (rank, gain) of (rank, grade): the grade itself, or 2^grade − 1 with `exp_log2`."""
    return [(rank, graded_gain(grade, dcg)) for rank, grade in documents]


def graded_gain(grade: int | float, dcg: str) -> float:
    """Return what a grade gains: itself, or 2^grade − 1 with `exp_log2`; nothing below 0."""
    return float(max(grade, 0)) if dcg == "log2" else 2.0 ** max(grade, 0) - 1


@lru_cache(maxsize=4096)
def always_there(depth: int, alpha: float, discount: Discount) -> float:
    """Return Σ (1−α)^(i−1) · discount(i): the gain of a nugget that every document supports."""
    terms = []
    worth = 1.0
    for rank in range(1, depth + 1):
        if not worth:
            break
        terms.append(worth * discount(rank))
        worth *= 1 - alpha
    return math.fsum(terms)


class Share(float):
    """A part of a whole: a number that remembers both, so that shares can be pooled over queries.

    It is 0 where there is nothing to divide by. A measure whose function is annotated with it, `-> Share`,
    has the option `over`: the mean of the queries' shares, or one share of all that the queries hold.

    >>> found = Share(3, 4)
    >>> found, found.part, found.whole, Share(0, 0)
    (0.75, 3, 4, 0.0)
    """

    __slots__ = ("part", "whole")
    part: float
    whole: float

    def __new__(cls, part: float, whole: float) -> Self:
        """Take both; `MeasureError` for a part of less than nothing."""
        if not (0 < whole < math.inf and math.isfinite(part)) and not part == whole == 0:
            raise MeasureError(f"Share({part!r:.80}, {whole!r:.80}): expected a number, and a whole above 0")
        share = super().__new__(cls, part / whole if whole else 0.0)
        share.part, share.whole = part, whole
        return share

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.part, self.whole)
