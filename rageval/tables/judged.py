"""A run joined with judgements: all that a measure gets to see.

Every column is over *hits*, the retrieved documents that are judged, sorted by query and rank; queries,
documents and nuggets are small numbers over all queries at once, so that a measure is a few lines of
numpy and scores ten thousand queries as fast as one.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from rageval.tables.ideal import GreedyIdeal, gains_of
from rageval.tables.ids import Int
from rageval.tables.qrels import Qrels

Float = NDArray[np.float64]
Value = TypeVar("Value")


class Hits(NamedTuple):
    """Retrieved documents, by query and rank."""

    query: Int
    rank: Int
    doc: Int


class Finds(NamedTuple):
    """Nuggets in retrieved documents, by query and rank. `hit` numbers the document among the hits;
    `seen` says how many documents ranked above support the nugget, too."""

    query: Int
    rank: Int
    nugget: Int
    hit: Int
    seen: Int


class Relevant:
    """The judgements that count at a grade `rel`, and what a measure needs of them; kept for all runs."""

    def __init__(self, qrels: Qrels, rel: int) -> None:
        self.qrels = qrels
        pairs = np.flatnonzero(qrels.pair_grade >= rel)
        doc, nugget = qrels.pair_doc[pairs], qrels.pair_nugget[pairs]
        if ((nugget[1:] <= nugget[:-1]) & (doc[1:] == doc[:-1])).any():
            nugget = nugget[np.lexsort((nugget, doc))]  # sorted within each document
        self.pair_nugget = nugget
        self.nuggets_of_doc = np.bincount(doc, minlength=len(qrels.doc_query))
        self.pair_begin = np.concatenate(([0], np.cumsum(self.nuggets_of_doc)))
        self.n_queries = len(qrels.queries)
        self.docs = np.bincount(qrels.doc_query[self.nuggets_of_doc > 0], minlength=self.n_queries)
        self.docs_of_nugget = np.bincount(self.pair_nugget, minlength=len(qrels.nugget_query))
        self.attainable = np.bincount(qrels.nugget_query[self.docs_of_nugget > 0], minlength=self.n_queries)
        self._ideals: dict[float, GreedyIdeal] = {}

    def ideal(self, alpha: float) -> GreedyIdeal:
        """The greedy ideal ranking for this alpha, extended as deep as it is asked for."""
        if alpha not in self._ideals:
            self._ideals[alpha] = GreedyIdeal(self.qrels, self.pair_begin, self.pair_nugget, alpha)
        return self._ideals[alpha]


class Judgements:
    """The qrels side of an evaluation, prepared once for any number of runs."""

    def __init__(self, qrels: Qrels) -> None:
        self.qrels = qrels
        self._relevant: dict[int, Relevant] = {}
        self._kept: dict[Any, Any] = {}

    def relevant(self, rel: int) -> Relevant:
        """The judgements of at least this grade."""
        if rel not in self._relevant:
            self._relevant[rel] = Relevant(self.qrels, rel)
        return self._relevant[rel]

    def keep(self, key: Any, make: Any) -> Any:
        """A value computed from the judgements alone, once."""
        if key not in self._kept:
            self._kept[key] = make()
        return self._kept[key]


class Judged:
    """What one run retrieved of what is judged.

    A measure takes one of these and returns an array with a value a query, in the order of
    `qrels.query_ids`. `sum` adds up a value a hit over each query.
    """

    def __init__(self, judgements: Judgements, hits: Hits, retrieved: Int) -> None:
        self.judgements = judgements
        self.qrels = judgements.qrels
        self.n_queries = len(self.qrels.queries)
        self.all_hits = hits
        self.retrieved = retrieved
        self._kept: dict[Any, Any] = {}

    def hits(self, k: int | None = None, rel: int | None = 1) -> Hits:
        """Retrieved relevant documents in the top k; with `rel=None` all judged ones."""
        hits = self._relevant_hits(rel)
        return hits if k is None else Hits(*(column[hits.rank <= k] for column in hits))

    def finds(self, k: int | None = None, rel: int = 1) -> Finds:
        """Supported nuggets of the documents in the top k, one row a document and nugget."""
        finds: Finds = self._keep(("finds", rel), lambda: self._all_finds(rel))
        return finds if k is None else Finds(*(column[finds.rank <= k] for column in finds))

    def relevant(self, rel: int = 1) -> Relevant:
        """The judgements that count at this grade."""
        return self.judgements.relevant(rel)

    def gains(self, alpha: float, rel: int = 1) -> tuple[Hits, Float]:
        """Relevant hits and the novelty-discounted gain of each: Σ over its nuggets of (1−α)^seen."""
        hits = self._relevant_hits(rel)
        finds = self.finds(rel=rel)
        gain: Float = self._keep(
            ("gains", alpha, rel), lambda: gains_of(finds.hit, finds.seen, len(hits.query), alpha)
        )
        return hits, gain

    def sum(self, query: Int, value: Float | Int | None = None) -> Float:
        """Add up a value a row (1 without) over each query."""
        return np.bincount(query, value, self.n_queries).astype(np.float64)

    @cached_property
    def depth(self) -> int:
        """The length of the longest ranking."""
        return int(self.retrieved.max(initial=0))

    def _relevant_hits(self, rel: int | None) -> Hits:
        if rel is None:
            return self.all_hits
        hits: Hits = self._keep(("hits", rel), lambda: self._select_hits(rel))
        return hits

    def _select_hits(self, rel: int) -> Hits:
        rows = self.relevant(rel).nuggets_of_doc[self.all_hits.doc] > 0
        return Hits(*(column[rows] for column in self.all_hits))

    def _all_finds(self, rel: int) -> Finds:
        hits, relevant = self._relevant_hits(rel), self.relevant(rel)
        count = relevant.nuggets_of_doc[hits.doc]
        hit = np.repeat(np.arange(len(count)), count)
        offset = np.arange(len(hit)) - np.repeat(np.cumsum(count) - count, count)
        nugget = relevant.pair_nugget[relevant.pair_begin[hits.doc][hit] + offset].astype(np.int64)
        return Finds(hits.query[hit], hits.rank[hit], nugget, hit, earlier(nugget))

    def _keep(self, key: Any, make: Any) -> Any:
        if key not in self._kept:
            self._kept[key] = make()
        return self._kept[key]


def earlier(group: Int) -> Int:
    """For each row: how many rows above it belong to the same group."""
    order = np.argsort(group, kind="stable")
    new = np.flatnonzero(np.diff(group[order], prepend=-1))
    seen = np.empty(len(group), np.int64)
    seen[order] = np.arange(len(group)) - np.repeat(new, np.diff(new, append=len(group)))
    return seen
