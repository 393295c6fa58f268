"""The mean of a measure over all orders of documents that share their score, in closed form.

In a group of g documents after `before` others, of which m are marked (relevant, or supporting a nugget),
every place is as likely for each. With s places in the top k:
    none of the marked in the top k      C(g−m, s) / C(g, s)
    all of them                          C(g−m, s−m) / C(g, s)
    the first of them at place r         C(g−r, m−1) / C(g, m)
    gain of a nugget at place r          m/g · (1−α)^seen · E[(1−α)^H],  H ~ Hypergeometric(g−1, m−1, r−1)
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import comb
from typing import Any

import numpy as np

from rageval.tables.ids import Int
from rageval.tables.judged import Float, Hits, Judged
from rageval.uncertainty.groups import Group, Tied

Marked = Collection[int]


@dataclass(frozen=True, slots=True)
class Query:
    """One query with ties, at a cut-off."""

    number: int
    groups: list[Group]
    k: int | None  # as the measure has it
    top: int | None  # as far as the ranking counts
    judged: Judged
    rel: int

    def marks(self, marked: Marked) -> list[tuple[Group, int]]:
        """How many documents of each group are marked."""
        return [(group, sum(doc in marked for doc in group.docs)) for group in self.groups]

    def none_inside(self, marked: Marked) -> float:
        """The chance that no marked document is in the top k."""
        chance = 1.0
        for group, m in self.marks(marked):
            s = group.inside(self.top)
            chance *= comb(group.size - m, s) / comb(group.size, s)
        return chance

    def all_inside(self, marked: Marked) -> float:
        """The chance that every marked document is in the top k."""
        chance, found = 1.0, 0
        for group, m in self.marks(marked):
            s = group.inside(self.top)
            chance *= comb(group.size - m, s - m) / comb(group.size, s) if s >= m else 0.0
            found += m
        return chance if found == len(marked) else 0.0

    def count_inside(self, marked: Marked) -> float:
        """How many marked documents are in the top k, on average."""
        return sum(m * group.inside(self.top) / group.size for group, m in self.marks(marked))

    def first_place(self, marked: Marked) -> float:
        """The mean of 1/rank of the first marked document, 0 below the top k."""
        for group, m in self.marks(marked):
            if m:
                places = range(1, min(group.inside(self.top), group.size - m + 1) + 1)
                ways = comb(group.size, m)
                return sum(comb(group.size - r, m - 1) / ways / (group.before + r) for r in places)
        return 0.0

    def precisions(self, marked: Marked) -> float:
        """The mean of Σ precision at the rank of each marked document in the top k."""
        total, seen = 0.0, 0
        for group, m in self.marks(marked):
            if m:
                others = (m - 1) / (group.size - 1) if group.size > 1 else 0.0
                places = range(1, group.inside(self.top) + 1)
                total += (
                    sum((1 + seen + (r - 1) * others) / (group.before + r) for r in places) * m / group.size
                )
            seen += m
        return total

    def supporting(self) -> dict[int, set[int]]:
        """The documents of the ranking that support each nugget."""
        found: dict[int, set[int]] = {}
        for group in self.groups:
            for doc in group.docs:
                for nugget in nuggets_of(self.judged, doc, self.rel):
                    found.setdefault(nugget, set()).add(doc)
        return found

    def relevant(self) -> set[int]:
        """The relevant documents of the query, retrieved or not."""
        docs = self.documents
        return set(docs[self.judged.relevant(self.rel).nuggets_of_doc[docs] > 0].tolist())

    @property
    def documents(self) -> Int:
        """The judged documents of the query."""
        order, begin = self.judged.judgements.keep("documents by query", lambda: _by_query(self.judged))
        found: Int = order[begin[self.number] : begin[self.number + 1]]
        return found

    @property
    def attainable(self) -> int:
        """How many nuggets some document supports."""
        return int(self.judged.relevant(self.rel).attainable[self.number])

    @property
    def retrieved(self) -> int:
        """The length of the ranking."""
        return int(self.judged.retrieved[self.number])


def _by_query(judged: Judged) -> tuple[Int, Int]:
    """The judged documents sorted by query, and where each query's begin."""
    order = np.argsort(judged.qrels.doc_query, kind="stable")
    return order, np.searchsorted(judged.qrels.doc_query[order], np.arange(judged.n_queries + 1))


def nuggets_of(judged: Judged, doc: int, rel: int) -> tuple[int, ...]:
    """The nuggets that a document supports."""
    relevant = judged.relevant(rel)
    return tuple(relevant.pair_nugget[relevant.pair_begin[doc] : relevant.pair_begin[doc + 1]].tolist())


def _share(value: float, total: float) -> float:
    return value / total if total > 0 else 0.0


def _coverage(query: Query, parameters: Mapping[str, Any]) -> float:
    found = sum(1 - query.none_inside(docs) for docs in query.supporting().values())
    listed = parameters.get("denominator") == "listed"
    return _share(found, int(query.judged.qrels.nuggets_listed[query.number]) if listed else query.attainable)


def _map_ia(query: Query, parameters: Mapping[str, Any]) -> float:
    of_nugget = query.judged.relevant(query.rel).docs_of_nugget
    found = sum(query.precisions(docs) / of_nugget[nugget] for nugget, docs in query.supporting().items())
    return _share(found, query.attainable)


def _p_ia(query: Query, parameters: Mapping[str, Any]) -> float:
    found = sum(map(query.count_inside, query.supporting().values()))
    return _share(found, query.attainable * (query.k or query.retrieved))


def _recall(query: Query, parameters: Mapping[str, Any]) -> float:
    relevant = query.relevant()
    return _share(query.count_inside(relevant), len(relevant))


def _p(query: Query, parameters: Mapping[str, Any]) -> float:
    return _share(query.count_inside(query.relevant()), query.k or query.retrieved)


def _success(query: Query, parameters: Mapping[str, Any]) -> float:
    return 1 - query.none_inside(query.relevant())


def _all_gold(query: Query, parameters: Mapping[str, Any]) -> float:
    relevant = query.relevant()
    return query.all_inside(relevant) if relevant else 0.0


def _rr(query: Query, parameters: Mapping[str, Any]) -> float:
    return query.first_place(query.relevant())


def _ap(query: Query, parameters: Mapping[str, Any]) -> float:
    relevant = query.relevant()
    return _share(query.precisions(relevant), len(relevant))


def _ndcg(query: Query, parameters: Mapping[str, Any]) -> float:
    def gain(grade: Any) -> Any:
        held = np.maximum(grade, 0).astype(np.float64)
        return held if parameters["dcg"] == "log2" else np.exp2(held) - 1

    qrels = query.judged.qrels
    ideal = -np.sort(-gain(qrels.doc_grade[query.documents]))[: query.k]
    found = 0.0
    for group in query.groups:
        discount = (1 / np.log2(np.arange(2.0, group.inside(query.top) + 2) + group.before)).sum()
        found += float(gain(qrels.doc_grade[list(group.docs)]).sum()) * float(discount) / group.size
    return _share(found, float((ideal / np.log2(np.arange(2.0, len(ideal) + 2))).sum()))


def _judged_inside(query: Query) -> tuple[float, int]:
    everything = {doc for group in query.groups for doc in group.docs}
    return query.count_inside(everything), min(query.retrieved, query.k or query.retrieved)


def _judged(query: Query, parameters: Mapping[str, Any]) -> float:
    return _share(*_judged_inside(query))


def _hole(query: Query, parameters: Mapping[str, Any]) -> float:
    inside, there = _judged_inside(query)
    return _share(there - inside, query.k or query.retrieved)


CLOSED: dict[str, Callable[[Query, Mapping[str, Any]], float]] = {
    "coverage": _coverage,
    "strec": _coverage,
    "map_ia": _map_ia,
    "p_ia": _p_ia,
    "recall": _recall,
    "p": _p,
    "success": _success,
    "all_gold": _all_gold,
    "rr": _rr,
    "ap": _ap,
    "ndcg": _ndcg,
    "judged": _judged,
    "hole": _hole,
}


class ExpectedGains(Judged):
    """The run with the mean gain of each rank in place of the gains of documents, where there are ties.

    A sum of gains times discounts is linear in the gains, so that every such measure gives its mean.
    """

    def __init__(self, judged: Judged, tied: Tied) -> None:
        super().__init__(judged.judgements, judged.all_hits, judged.retrieved)
        self._tied = tied

    def gains(self, alpha: float, rel: int = 1) -> tuple[Hits, Float]:
        hits, gain = super().gains(alpha, rel)
        untied = ~np.isin(hits.query, list(self._tied.groups))
        query, rank, more = _mean_gains(self, self._tied, alpha, rel)
        columns = (
            (hits.query[untied], query),
            (hits.rank[untied], rank),
            (hits.doc[untied], np.full_like(rank, -1)),
        )
        return Hits(*map(np.concatenate, columns)), np.concatenate((gain[untied], more))


def _mean_gains(judged: Judged, tied: Tied, alpha: float, rel: int) -> tuple[Int, Int, Float]:
    """(query, rank, mean gain) of the queries with ties."""
    queries, ranks, gains = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], [np.zeros(0)]
    for number, groups in tied.groups.items():
        seen: dict[int, int] = {}
        for group in groups:
            here: dict[int, int] = {}
            for doc in group.docs:
                for nugget in nuggets_of(judged, doc, rel):
                    here[nugget] = here.get(nugget, 0) + 1
            gain = np.zeros(group.size)
            for nugget, m in here.items():
                gain += (1 - alpha) ** seen.get(nugget, 0) * group_gains(group.size, m, alpha)
                seen[nugget] = seen.get(nugget, 0) + m
            inside = group.inside(tied.depth)
            queries.append(np.full(inside, number))
            ranks.append(group.before + 1 + np.arange(inside))
            gains.append(gain[:inside])
    return np.concatenate(queries), np.concatenate(ranks), np.concatenate(gains)


@lru_cache(maxsize=4096)
def group_gains(size: int, marked: int, alpha: float) -> Float:
    """The mean gain, place by place, of a nugget that `marked` of `size` tied documents support.

    >>> group_gains(2, 1, 0.5).tolist(), group_gains(2, 2, 0.5).tolist()
    ([0.5, 0.5], [1.0, 0.5])
    """
    decay, others = 1 - alpha, marked - 1
    gains = np.empty(size)
    chance = np.zeros(marked)  # of having drawn h of the others among the places above
    chance[0] = 1.0
    worth = decay ** np.arange(float(marked))
    drawn = np.arange(float(marked))
    for place in range(size):
        gains[place] = marked / size * float(chance @ worth)
        left = size - 1 - place
        if left > 0:
            another = np.maximum(others - drawn, 0.0) / left
            chance = chance * np.maximum(1 - another, 0.0) + np.concatenate(([0.0], (chance * another)[:-1]))
    gains.flags.writeable = False
    return gains
