"""Are two runs the same, or the same but for the order of equal scores?

While a run is scored its documents leave a fingerprint: the sum of their hashes over the queries. Only where
two runs have the same fingerprint are they looked at again, document by document.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import TypeVar

import numpy as np

from rageval.comparison.results import IDENTICAL, TIES_ONLY
from rageval.sources import RunSource
from rageval.tables.blocks import RunBlock, stretches
from rageval.tables.ids import hashes, ids_of, keyed
from rageval.tables.names import Names
from rageval.tables.ranked import ranked_documents
from rageval.tables.ranking import Order
from rageval.tables.run import Run

Result = TypeVar("Result")


@dataclass
class WatchedSource(RunSource):
    """A run that takes its own fingerprint while it is read."""

    fingerprint: int = 0

    @classmethod
    def of(cls, source: RunSource) -> WatchedSource:
        """The same run, watched."""
        return cls(source.name, source.table, source.path, source.reading, source.dedup)

    def each(self, use: Callable[[Names, Iterator[RunBlock]], Result]) -> Result:
        def watched(queries: Names, blocks: Iterator[RunBlock]) -> Result:
            self.fingerprint = 0
            return use(queries, self._marking(queries, blocks))

        return super().each(watched)

    def _marking(self, queries: Names, blocks: Iterator[RunBlock]) -> Iterator[RunBlock]:
        for block in blocks:
            begin = stretches(block.query)
            names = queries.to_str()
            of_query = hashes(ids_of(names[query] for query in block.query[begin].tolist()))
            each = np.repeat(of_query, np.diff(begin, append=len(block)))
            marks = keyed(block.hashed, each.view(np.int64))
            self.fingerprint = (self.fingerprint + int(marks.sum(dtype=np.uint64))) % 2**64
            yield block


def absent(sources: Sequence[RunSource], queries: Collection[str]) -> dict[str, set[str]]:
    """The judged queries that each run, once scored, was found to say nothing of."""
    return {source.name: set(queries) - set(source.queries.to_str()) for source in sources}


def alike(
    sources: Sequence[WatchedSource], orders: Sequence[Order] = (Order(),)
) -> dict[frozenset[str], str]:
    """The pairs of runs that are `identical` in each of these orders, or differ in `ties only`."""
    found = {}
    for one, other in combinations(sources, 2):
        if one.fingerprint == other.fingerprint:
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
    if all(dict(ranked_documents(one, order)) == dict(ranked_documents(other, order)) for order in orders):
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
