"""The greedy ideal ranking of alpha-nDCG and its kin, for all queries in lockstep over the ranks.

At each rank the document of largest gain is taken, ties by document id descending. Documents that
support the same nuggets are one *type*: they gain the same, now and for ever, so only types compete.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rageval.tables.ids import Int, numbered
from rageval.tables.qrels import Qrels

Float = NDArray[np.float64]
_LAST = np.iinfo(np.int64).max
_EXACT_BITS = 40  # of the 53 a float has; the others are for as many nuggets as a query may have


def gains_of(row: Int, seen: Int, n_rows: int, alpha: float) -> Float:
    """Σ over the nuggets of each row of (1−α)^seen, summed so that equal multisets give equal bits.

    The terms are taken from the histogram of counts, Σ_c h_c (1−α)^c with c ascending: an order that
    depends on nothing but the multiset of counts, so that rounding can never decide a tie. Where 1−α is
    a power of two and the counts are small every partial sum is exact, and any order will do.

    >>> gains_of(np.array([0, 0, 1]), np.array([0, 1, 1]), 2, 0.5)
    array([1.5, 0.5])
    """
    if not len(row):
        return np.zeros(n_rows)
    width = int(seen.max()) + 1
    worth: Float = (1.0 - alpha) ** np.arange(float(width))
    if width * -math.log2(worth[1] if width > 1 and worth[1] else 1.0) < _EXACT_BITS and _is_power_of_two(
        1.0 - alpha
    ):
        return _summed(row, worth[seen], n_rows)
    key = np.sort(row * width + seen)
    first = np.flatnonzero(np.diff(key, prepend=-1))
    times = np.diff(first, append=len(key))
    return _summed(key[first] // width, times * worth[key[first] % width], n_rows)


def _summed(row: Int, value: Float, n_rows: int) -> Float:
    return np.bincount(row, value, n_rows).astype(np.float64, copy=False)


def _is_power_of_two(number: float) -> bool:
    return math.frexp(number)[0] in (0.0, 0.5)


class GreedyIdeal:
    """Gains of the greedy ideal ranking, rank by rank, as deep as anybody has asked for yet."""

    def __init__(self, qrels: Qrels, pair_begin: Int, pair_nugget: Int, alpha: float) -> None:
        self._alpha = alpha
        self._types = _types(qrels, pair_begin, pair_nugget)
        self._seen = np.zeros(len(qrels.nugget_query), np.int64)
        self._columns: list[tuple[Int, Float]] = []

    def gains(self, k: int | None) -> tuple[Int, Int, Float]:
        """(query, rank, gain) of the ideal documents in the top k, by rank."""
        while len(self._types.query) and (k is None or len(self._columns) < k):
            self._columns.append(self._next_rank())
        columns = self._columns[:k]
        if not columns:
            return np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0)
        rank = np.repeat(np.arange(1, len(columns) + 1), [len(query) for query, _ in columns])
        return np.concatenate([q for q, _ in columns]), rank, np.concatenate([g for _, g in columns])

    def _next_rank(self) -> tuple[Int, Float]:
        types = self._types
        gain = gains_of(types.pair_type, self._seen[types.pair_nugget], len(types.query), self._alpha)
        begin = np.flatnonzero(np.diff(types.query, prepend=-1))
        size = np.diff(begin, append=len(types.query))
        best = np.maximum.reduceat(gain, begin)
        place = np.where(gain == np.repeat(best, size), types.places[types.at], _LAST)
        chosen = np.flatnonzero(place == np.repeat(np.minimum.reduceat(place, begin), size))
        self._seen[types.pair_nugget[_spread(types.begin, chosen)]] += 1
        types.at[chosen] += 1
        self._types = types.without_exhausted()
        return types.query[begin], best


class _Types(NamedTuple):
    """Documents of one query that support the same nuggets, as one; sorted by query.

    `places` are where documents stand in the order that breaks ties, type after type; a type's documents
    from `at` to `stop` are not taken yet.
    """

    query: Int
    places: Int
    at: Int
    stop: Int
    begin: Int  # of the type's pairs
    pair_type: Int
    pair_nugget: Int

    def without_exhausted(self) -> _Types:
        """The types that have documents left; the arrays are made anew when that pays."""
        left = self.at < self.stop
        if left.all():
            return self
        types = np.flatnonzero(left)
        count = np.diff(self.begin)[types]
        begin = np.concatenate(([0], np.cumsum(count)))
        pair_type = np.repeat(np.arange(len(types)), count)
        nugget = self.pair_nugget[_spread(self.begin, types)]
        return _Types(
            self.query[types], self.places, self.at[types], self.stop[types], begin, pair_type, nugget
        )


def _types(qrels: Qrels, pair_begin: Int, pair_nugget: Int) -> _Types:
    count = np.diff(pair_begin)
    docs = qrels.doc_order[count[qrels.doc_order] > 0]
    kind = _nugget_sets(docs, pair_begin, pair_nugget)
    places = np.argsort(kind, kind="stable")  # within a type in the order that breaks ties
    first = np.flatnonzero(np.diff(kind[places], prepend=-1))
    query = qrels.doc_query[docs[places[first]]]
    by_query = np.argsort(query, kind="stable")
    example = docs[places[first[by_query]]]
    begin = np.concatenate(([0], np.cumsum(count[example])))
    return _Types(
        query[by_query].astype(np.int64),
        places,
        first[by_query],
        np.append(first[1:], len(places))[by_query],
        begin,
        np.repeat(np.arange(len(example)), count[example]),
        pair_nugget[_spread(pair_begin, example)].astype(np.int64),
    )


def _nugget_sets(docs: Int, pair_begin: Int, pair_nugget: Int) -> Int:
    """A number for each document, equal where the sets of nuggets are equal."""
    count = pair_begin[docs + 1] - pair_begin[docs]
    number = pair_nugget[pair_begin[docs]].astype(np.int64)
    n_nuggets = int(pair_nugget.max(initial=0)) + 1
    for at in range(1, int(count.max(initial=0))):
        rows = np.flatnonzero(count > at)
        extended = number[rows] * n_nuggets + pair_nugget[pair_begin[docs[rows]] + at]
        number[rows] = numbered(extended) + (int(number.max()) + 1)
    return number


def _spread(begin: Int, which: Int) -> Int:
    """The positions begin[i] … begin[i+1]−1 of each i in `which`, one after another."""
    count = begin[which + 1] - begin[which]
    ends = np.cumsum(count)
    position: Int = np.arange(ends[-1] if len(ends) else 0)
    position += np.repeat(begin[which] - (ends - count), count)
    return position
