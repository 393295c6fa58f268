"""The greedy ideal ranking of alpha-nDCG and its kin, for all queries in lockstep over the ranks.

At each rank the document of largest gain is taken, ties by document id descending. Documents that
support the same nuggets are one *type*: they gain the same, now and for ever, so only types compete.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rageval.tables.ids import Int
from rageval.tables.qrels import Qrels

Float = NDArray[np.float64]
_LAST = np.iinfo(np.int64).max


def gains_of(row: Int, seen: Int, n_rows: int, alpha: float) -> Float:
    """Σ over the nuggets of each row of (1−α)^seen, summed so that equal multisets give equal bits.

    The terms are taken from the histogram of counts, Σ_c h_c (1−α)^c with c ascending: an order that
    depends on nothing but the multiset of counts, so that rounding can never decide a tie.

    >>> gains_of(np.array([0, 0, 1]), np.array([0, 1, 1]), 2, 0.5)
    array([1.5, 0.5])
    """
    if not len(row):
        return np.zeros(n_rows)
    width = int(seen.max()) + 1
    key = np.sort(row * width + seen)
    first = np.flatnonzero(np.diff(key, prepend=-1))
    times = np.diff(first, append=len(key))
    value = times * ((1.0 - alpha) ** np.arange(width))[key[first] % width]
    return np.bincount(key[first] // width, value, n_rows)


class GreedyIdeal:
    """Gains of the greedy ideal ranking, rank by rank, as deep as anybody has asked for yet."""

    def __init__(self, qrels: Qrels, pair_begin: Int, pair_nugget: Int, alpha: float) -> None:
        self._alpha = alpha
        self._n_queries = len(qrels.queries)
        self._types = _Types(qrels, pair_begin, pair_nugget)
        self._gain = gains_of(
            self._types.pair_type, np.zeros(len(self._types.pair_type), np.int64), len(self._types.query), alpha
        )
        self._seen = np.zeros(len(self._types.pair_type), np.int64)
        self._columns: list[tuple[Int, Float]] = []
        self._live = np.arange(len(self._types.query))

    def gains(self, k: int | None) -> tuple[Int, Int, Float]:
        """(query, rank, gain) of the ideal documents in the top k, by rank."""
        while len(self._live) and (k is None or len(self._columns) < k):
            self._columns.append(self._next_rank())
        columns = self._columns[:k]
        if not columns:
            return np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0)
        rank = np.repeat(np.arange(1, len(columns) + 1), [len(query) for query, _ in columns])
        return np.concatenate([q for q, _ in columns]), rank, np.concatenate([g for _, g in columns])

    def _next_rank(self) -> tuple[Int, Float]:
        types, live = self._types, self._live
        query, gain = types.query[live], self._gain[live]
        begin = np.flatnonzero(np.diff(query, prepend=-1))
        best = np.maximum.reduceat(gain, begin)
        size = np.diff(begin, append=len(live))
        place = np.where(gain == np.repeat(best, size), types.next_place[live], _LAST)
        chosen_place = np.minimum.reduceat(place, begin)
        chosen = live[place == np.repeat(chosen_place, size)]
        self._count_in(chosen)
        self._live = live[types.advance(chosen)[live]]
        return query[begin], best

    def _count_in(self, chosen: Int) -> None:
        """The chosen types' nuggets were seen once more: every type with such a nugget gains less."""
        types = self._types
        nuggets = types.nuggets(chosen)
        pairs = _spread(types.nugget_begin, nuggets, types.pairs_by_nugget)
        self._seen[pairs] += 1
        touched = np.unique(types.pair_type[pairs])
        pairs = _spread(types.begin, touched)
        row = np.repeat(np.arange(len(touched)), np.diff(types.begin)[touched])
        self._gain[touched] = gains_of(row, self._seen[pairs], len(touched), self._alpha)


class _Types:
    """Documents of one query that support the same nuggets, as one; sorted by query.

    `next_place` is where the type's next document stands in the order that breaks ties.
    """

    def __init__(self, qrels: Qrels, pair_begin: Int, pair_nugget: Int) -> None:
        count = np.diff(pair_begin)
        docs = qrels.doc_order[count[qrels.doc_order] > 0]  # by query descending, then id descending
        docs = docs[np.argsort(qrels.doc_query[docs], kind="stable")]
        kind = _nugget_sets(docs, pair_begin, pair_nugget)
        order = np.lexsort((np.arange(len(docs)), kind))  # types numbered by their first document
        first = np.flatnonzero(np.diff(kind[order], prepend=-1))
        by_query = np.argsort(order[first], kind="stable")
        self._places = order  # places of the documents, type after type
        self._at = first[by_query]
        self._stop = np.append(first[1:], len(order))[by_query]
        example = docs[order[self._at]]
        self.query = qrels.doc_query[example].astype(np.int64)
        self.begin = np.concatenate(([0], np.cumsum(count[example])))
        self.pair_nugget = pair_nugget[_spread(pair_begin, example)].astype(np.int64)
        self.pair_type = np.repeat(np.arange(len(example)), count[example])
        self.pairs_by_nugget = np.argsort(self.pair_nugget, kind="stable")
        self.nugget_begin = np.searchsorted(
            self.pair_nugget[self.pairs_by_nugget], np.arange(len(qrels.nugget_query) + 1)
        )
        self.next_place = self._places[self._at] if len(docs) else np.zeros(0, np.int64)

    def nuggets(self, types: Int) -> Int:
        return self.pair_nugget[_spread(self.begin, types)]

    def advance(self, types: Int) -> NDArray[np.bool_]:
        """Take one document of each of these types; returns which types still have any."""
        self._at[types] += 1
        left = self._at < self._stop
        more = types[left[types]]
        self.next_place[more] = self._places[self._at[more]]
        return left


def _nugget_sets(docs: Int, pair_begin: Int, pair_nugget: Int) -> Int:
    """A number for each document, equal where the sets of nuggets are equal."""
    count = pair_begin[docs + 1] - pair_begin[docs]
    number = pair_nugget[pair_begin[docs]].astype(np.int64)
    n_nuggets = int(pair_nugget.max(initial=0)) + 1
    for at in range(1, int(count.max(initial=0))):
        rows = np.flatnonzero(count > at)
        extended = number[rows] * n_nuggets + pair_nugget[pair_begin[docs[rows]] + at]
        distinct = np.unique(extended, return_inverse=True)[1]
        number[rows] = distinct + (int(number.max()) + 1)
    return number


def _spread(begin: Int, which: Int, values: Int | None = None) -> Int:
    """The positions (or values) begin[i] … begin[i+1]−1 of each i in `which`, one after another."""
    count = begin[which + 1] - begin[which]
    ends = np.cumsum(count)
    position = np.arange(ends[-1] if len(ends) else 0) + np.repeat(begin[which] - (ends - count), count)
    return position if values is None else values[position]
