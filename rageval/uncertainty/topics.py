"""A query's judgements as plain Python holds them, for looking at what-ifs one query at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from rageval.tables.qrels import Qrels
from rageval.tables.ranked import ranked_documents
from rageval.tables.ranking import Order
from rageval.tables.run import Run

Rankings = Mapping[str, Sequence[str]]


@dataclass(slots=True)
class Topic:
    """One query: its nuggets by number, what each document supports, and which documents are judged."""

    nuggets: list[int] = field(default_factory=list)
    supports: dict[str, frozenset[int]] = field(default_factory=dict)
    judged: set[str] = field(default_factory=set)

    @property
    def relevant(self) -> int:
        """How many documents support something."""
        return len(self.supports)

    @property
    def attainable(self) -> int:
        """How many nuggets some document supports."""
        return len(frozenset().union(*self.supports.values()))

    def supporting(self, nugget: int) -> int:
        """How many documents support this nugget."""
        return sum(nugget in found for found in self.supports.values())


def topics(qrels: Qrels, rel: int = 1) -> dict[str, Topic]:
    """Every query's judgements at a grade `rel`."""
    names, docs = qrels.query_ids, qrels.doc_ids.to_str()
    found = {name: Topic() for name in names}
    for nugget, query in enumerate(qrels.nugget_query.tolist()):
        found[names[query]].nuggets.append(nugget)
    of_doc = [names[query] for query in qrels.doc_query.tolist()]
    for doc, query in zip(docs, of_doc, strict=True):
        found[query].judged.add(doc)
    pairs = np.flatnonzero(qrels.pair_grade >= rel)
    for doc, nugget in zip(qrels.pair_doc[pairs].tolist(), qrels.pair_nugget[pairs].tolist(), strict=True):
        topic = found[of_doc[doc]]
        topic.supports[docs[doc]] = topic.supports.get(docs[doc], frozenset()) | {nugget}
    return found


def rankings(run: Run, order: Order, depth: int | None = None) -> dict[str, list[str]]:
    """The documents of every query, best first."""
    return {query: docs[:depth] for query, docs in ranked_documents(run, order)}
