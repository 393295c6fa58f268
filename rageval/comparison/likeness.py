"""Are two runs the same, or the same but for the order of equal scores?

Once scored, a run is known by what it holds of each judged query: how many documents, and how many judged
ones. Only where two runs are alike in that they are looked at again, document by document.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import combinations, pairwise

from rageval.comparison.results import IDENTICAL, TIES_ONLY
from rageval.scoring.ordering import Order
from rageval.scoring.runs import Run
from rageval.sources import RunSource


def absent(sources: Sequence[RunSource], queries: Collection[str]) -> dict[str, set[str]]:
    """The judged queries that each run, once scored, was found to say nothing of."""
    return {source.name: set(queries) - set(source.query_ids) for source in sources}


def alike(sources: Sequence[RunSource], orders: Sequence[Order] = (Order(),)) -> dict[frozenset[str], str]:
    """The pairs of runs that are `identical` in each of these orders, or differ in `ties only`."""
    found = {}
    for one, other in combinations(sources, 2):
        if one.outline == other.outline:
            likeness = likeness_of(one.run(), other.run(), orders)
            if likeness is not None:
                found[frozenset((one.name, other.name))] = likeness
    return found


def likeness_of(one: Run, other: Run, orders: Sequence[Order] = (Order(),)) -> str | None:
    """`identical`: the same documents in the same order; `ties only`: some order agrees with both.

    >>> first, second = (Run.from_dict({"q": docs}) for docs in ({"a": 1.0, "b": 1.0}, {"a": 2.0, "b": 1.0}))
    >>> likeness_of(first, second), likeness_of(first, first)
    ('ties only', 'identical')
    """
    if all(dict(one.ranked(order)) == dict(other.ranked(order)) for order in orders):
        return IDENTICAL
    if any(order.by_rank for order in orders):
        return None  # scores say nothing of the order
    scores = [_scores(run) for run in (one, other)]
    if scores[0].keys() != scores[1].keys():
        return None
    agree = all(_agree(scores[0][query], scores[1][query]) for query in scores[0])
    return TIES_ONLY if agree else None


def _scores(run: Run) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    for query, doc, score in run:
        found.setdefault(query, {})[doc] = score
    return found


def _agree(one: dict[str, float], other: dict[str, float]) -> bool:
    """Whether no two documents stand one way round here and the other way round there."""
    if one.keys() != other.keys():
        return False
    ordered = sorted(one, key=lambda doc: (one[doc], other[doc]))
    scores = [other[doc] for doc in ordered]
    return all(low <= high for low, high in pairwise(scores))
