"""A run joined with judgements: where the judged documents of each query stand in its ranking.

What a part of a run comes to is columns, hits and counts; what a measure sees of them is a `Ranking` a query.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property, partial
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from rageval.kernel import kernel
from rageval.measures.ranking import Ranking, Topic
from rageval.scoring.ideals import Ideals
from rageval.tables.ids import Int
from rageval.tables.qrels import Qrels

T = TypeVar("T")


class Hits(NamedTuple):
    """Retrieved documents that are judged, by query and rank."""

    query: Int
    rank: Int
    doc: Int


class Judgements:
    """The qrels side of an evaluation, prepared once for any number of runs."""

    def __init__(self, qrels: Qrels) -> None:
        self.qrels = qrels
        self._kept: dict[Any, Any] = {}

    def keep(self, key: Any, make: Callable[[], T]) -> T:
        """Return what `make` makes of the judgements alone, made once."""
        if key not in self._kept:
            self._kept[key] = make()
        kept: T = self._kept[key]
        return kept

    @cached_property
    def topics(self) -> list[Topic]:
        """The judgements of each query, in the order of the qrels."""
        qrels, docs = self.qrels, self._docs
        nugget_number = _numbered(qrels.nugget_query)
        place = np.empty(len(docs.order), np.int64)  # of each document among all, by query
        place[docs.order] = np.arange(len(docs.order))
        pair_place, pair_nugget = place[qrels.pair_doc], nugget_number[qrels.pair_nugget]
        listed = qrels.nuggets_listed
        by_place = np.argsort(pair_place * int(listed.max(initial=0)) + pair_nugget)
        nugget, grade = pair_nugget[by_place], qrels.pair_grade[by_place]
        begin = np.concatenate(([0], np.cumsum(np.bincount(pair_place, minlength=len(docs.order)))))
        ids = qrels.doc_ids.take(docs.order)
        ideals = Ideals(kernel, docs.begin, begin, nugget, grade, ids, listed) if kernel else None
        found = []
        for number, name in enumerate(qrels.query_ids):
            first, last = docs.begin[number], docs.begin[number + 1]
            pairs = slice(begin[first], begin[last])
            own = (begin[first : last + 1] - begin[first]).tolist()
            names = self._names(docs.order[first:last].tolist())
            order = partial(ideals.order, number) if ideals else None
            own_nugget, own_grade = nugget[pairs].tolist(), grade[pairs].tolist()
            found.append(Topic(int(listed[number]), own, own_nugget, own_grade, names, name, order))
        return found

    def numbers_of(self, doc: Int) -> Int:
        """The number that each judged document has in its topic."""
        return self._docs.number[doc]

    def relevant(self, rel: int) -> NDArray[np.bool_]:
        """Which queries have a relevant document."""
        qrels = self.qrels
        queries = qrels.doc_query[qrels.doc_grade >= rel]
        return np.bincount(queries, minlength=len(qrels.queries)) > 0

    @cached_property
    def _docs(self) -> _ByQuery:
        return _ByQuery.of(self.qrels.doc_query, len(self.qrels.queries))

    def _names(self, docs: list[int]) -> Callable[[], list[str]]:
        return lambda: list(map(self._ids.__getitem__, docs))

    @cached_property
    def _ids(self) -> list[str]:
        return self.qrels.doc_ids.to_str()

    def __getstate__(self) -> dict[str, Any]:
        return {"qrels": self.qrels, "_kept": {}}  # topics are made where they are needed


class _ByQuery(NamedTuple):
    """Documents sorted by query, where each query's begin, and the number of each within its query."""

    order: Int
    begin: Int
    number: Int

    @classmethod
    def of(cls, query: NDArray[Any], n_queries: int) -> _ByQuery:
        order = np.argsort(query, kind="stable")
        begin = np.searchsorted(query[order], np.arange(n_queries + 1))
        return cls(order, begin, _numbered(query))


def _numbered(group: NDArray[Any]) -> Int:
    """Number the rows of each group from 0."""
    order = np.argsort(group, kind="stable")
    ordered = group[order]
    new = np.flatnonzero(np.diff(ordered, prepend=-1))
    number = np.empty(len(group), np.int64)
    number[order] = np.arange(len(group)) - np.repeat(new, np.diff(new, append=len(group)))
    return number


class Judged:
    """What one run retrieved of what is judged: hits by query and rank, and how much was retrieved."""

    def __init__(self, judgements: Judgements, hits: Hits, retrieved: Int) -> None:
        self.judgements = judgements
        self.qrels = judgements.qrels
        self.all_hits = hits
        self.retrieved = retrieved

    @cached_property
    def rankings(self) -> list[Ranking]:
        """One ranking for each judged query, an empty one where the run has none."""
        hits = self.all_hits
        if (hits.query[1:] < hits.query[:-1]).any():  # the run has the queries in another order
            by_query = np.argsort(hits.query, kind="stable")
            hits = Hits(*(column[by_query] for column in hits))
        ranks, documents = hits.rank.tolist(), self.judgements.numbers_of(hits.doc).tolist()
        begin = np.searchsorted(hits.query, np.arange(len(self.retrieved) + 1)).tolist()
        return [
            Ranking(topic, ranks[first:last], documents[first:last], retrieved)
            for topic, retrieved, first, last in zip(
                self.judgements.topics, self.retrieved.tolist(), begin, begin[1:], strict=False
            )
        ]

    def __iter__(self) -> Iterator[Ranking]:
        return iter(self.rankings)
