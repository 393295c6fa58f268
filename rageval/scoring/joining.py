"""A run meets the judgements: which retrieved documents are judged, and at which ranks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from rageval.scoring.judged import Hits, Judged, Judgements
from rageval.tables.blocks import RunBlock, stretches
from rageval.tables.ids import Bool, Int, keyed, same
from rageval.tables.names import Names
from rageval.tables.qrels import EVERYTHING, Qrels
from rageval.tables.ranking import View, rank_rows, single

NOT_ASKED = -1
NOT_KEPT, NOT_JUDGED = -1, -2


@dataclass(slots=True)
class Notes:
    """What a reader should be told of a run beside its scores.

    `judged` is how many documents are judged of those retrieved for each query of the judgements, at whatever
    rank and grade; -1 where the run says nothing of the query.
    """

    queries_in_run: int = 0
    queries_only_in_run: int = 0
    queries_missing: int = 0
    queries_without_relevant: int = 0
    rows: int = 0
    rank_conflicts: int = 0
    retrieved: int = 0  # documents, of the queries that are judged
    shown: int = 0  # of these the ones down to the deepest cut-off, and how many of them are judged
    shown_judged: int = 0
    judged: Int = field(default_factory=lambda: np.zeros(0, np.int64), compare=False)
    tied_at: Counter[int] = field(default_factory=Counter)
    read_here: str = ""  # how it could not be read, and why, where this process had to

    @property
    def nothing_relevant(self) -> bool:
        """Whether no query of the judgements has anything that is relevant."""
        return 0 < self.queries_without_relevant == len(self.judged)


def join(
    blocks: Iterable[RunBlock],
    run_queries: Names,
    judgements: Judgements,
    view: View,
    cutoffs: tuple[int, ...] = (),
    deepest: int | None = None,
) -> tuple[Judged, Notes]:
    """Rank the blocks (of whole queries) and look their documents up among the judged ones.

    Hits below rank `deepest` are forgotten at once: no measure will ask for them.
    """
    qrels = judgements.qrels
    codes = _Codes(run_queries, qrels)
    retrieved = np.zeros(len(qrels.queries), np.int64)
    notes = Notes(judged=np.full(len(qrels.queries), NOT_ASKED))
    parts = [_empty()]
    for block in blocks:
        begin = stretches(block.query)
        query = codes.of(block.query[begin])
        notes.rows += len(block)
        notes.queries_in_run += len(begin)
        notes.queries_only_in_run += int((query < 0).sum())
        length = np.diff(begin, append=len(block))
        known = _lookup(block, np.repeat(query, length), qrels)
        _count(known, query, length, notes)
        if deepest is not None and not view.judged_only and not view.order.by_rank:
            known = known.within(~_out_of_reach(block, begin, length, deepest))
        hits = _block_hits(block, known, qrels, view, cutoffs, notes)
        if cutoffs:
            notes.shown += int(np.minimum(length[query >= 0], _top_of(cutoffs, view)).sum())
        retrieved[query[query >= 0]] = length[query >= 0]
        parts.append(hits if deepest is None or view.judged_only else _top(hits, deepest))
    notes.queries_missing = len(qrels.queries) - (notes.queries_in_run - notes.queries_only_in_run)
    hits = Hits(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
    return _judged(judgements, hits, retrieved, view), notes


class _Known(NamedTuple):
    """Judged rows of a block: the row, its query, and which judged document it is (-1: it is not kept).

    A document whose judgements are not kept is known by the hash of its id alone; it is only counted.
    """

    row: Int
    query: Int
    doc: Int

    def within(self, wanted: Bool) -> _Known:
        """Those among the wanted rows of the block."""
        kept = wanted[self.row]
        return _Known(*(column[kept] for column in self))


def _lookup(block: RunBlock, query: Int, qrels: Qrels) -> _Known:
    """The rows whose document is judged for their query."""
    if (query >= 0).all():
        row, doc = qrels.doc_index.find(keyed(block.hashed, query))
    else:
        candidates = np.flatnonzero(query >= 0)
        row, doc = qrels.doc_index.find(keyed(block.hashed[candidates], query[candidates]))
        row = candidates[row]
    kept = np.flatnonzero(doc < len(qrels.doc_query))
    equal = qrels.doc_query[doc[kept]] == query[row[kept]]
    equal &= same(block.doc.take(row[kept]), qrels.doc_ids.take(doc[kept]))
    found = np.full(len(block), NOT_JUDGED)
    found[row[doc >= len(qrels.doc_query)]] = NOT_KEPT
    found[row[kept[equal]]] = doc[kept[equal]]
    row = np.flatnonzero(found != NOT_JUDGED)
    return _Known(row, query[row], found[row])


def _count(known: _Known, query: Int, length: Int, notes: Notes) -> None:
    """Count what is judged of each query of a block."""
    common = query[query >= 0]
    notes.retrieved += int(length[query >= 0].sum())
    notes.judged[common] = np.bincount(known.query, minlength=len(notes.judged))[common]


def _top_of(cutoffs: tuple[int, ...], view: View) -> int:
    return min(max(cutoffs), view.depth or max(cutoffs))


def _block_hits(
    block: RunBlock, known: _Known, qrels: Qrels, view: View, cutoffs: tuple[int, ...], notes: Notes
) -> Hits:
    """The documents among the judged rows whose judgements are kept, by query and rank."""
    ranked = rank_rows(block, known.row, view.order, cutoffs)
    notes.rank_conflicts += ranked.rank_conflicts
    notes.tied_at.update(ranked.tied_at)
    if cutoffs:
        notes.shown_judged += int((ranked.rank <= _top_of(cutoffs, view)).sum())
    kept = known.doc != NOT_KEPT
    hits = Hits(known.query[kept], ranked.rank[kept], known.doc[kept])
    same_query = hits.query[1:] == hits.query[:-1]
    if (same_query & (hits.rank[1:] < hits.rank[:-1])).any():
        by_rank = np.lexsort((hits.rank, hits.query))
        hits = Hits(*(column[by_rank] for column in hits))
    return hits


def _out_of_reach(block: RunBlock, begin: Int, length: Int, deepest: int) -> Bool:
    """Rows that stand below the deepest rank anybody asks for, whatever the rule for ties."""
    score = block.score
    deep = np.flatnonzero(length > deepest)
    out = np.zeros(len(block), bool)
    if not len(deep):
        return out
    same_query = block.query[1:] == block.query[:-1]
    if (same_query & (score[1:] > score[:-1])).any():
        return out  # not sorted by score as it stands: no short cut
    last_in = np.repeat(score[begin[deep] + (deepest - 1)], length[deep])
    rows = np.repeat(begin[deep] - (np.cumsum(length[deep]) - length[deep]), length[deep]) + np.arange(
        len(last_in)
    )
    out[rows] = single(score[rows]) < single(last_in)
    return out


def _judged(judgements: Judgements, hits: Hits, retrieved: Int, view: View) -> Judged:
    if view.floor != EVERYTHING:
        kept = judgements.qrels.doc_grade[hits.doc] >= view.floor
        hits = Hits(*(column[kept] for column in hits))
    if view.judged_only:
        new = (
            np.concatenate(([True], hits.query[1:] != hits.query[:-1]))
            if len(hits.query)
            else np.zeros(0, bool)
        )
        begin = np.flatnonzero(new)
        length = np.diff(begin, append=len(hits.query))
        rank = np.arange(1, len(hits.query) + 1) - np.repeat(begin, length)
        hits = hits._replace(rank=rank)
        retrieved = np.bincount(hits.query, minlength=len(retrieved))
    if view.depth is not None:
        hits = _top(hits, view.depth)
        retrieved = np.minimum(retrieved, view.depth)
    return Judged(judgements, hits, retrieved)


def _top(hits: Hits, k: int) -> Hits:
    return Hits(*(column[hits.rank <= k] for column in hits))


class _Codes:
    """The qrels' code of each of the run's query codes; -1 for a query that is not judged."""

    def __init__(self, run_queries: Names, qrels: Qrels) -> None:
        self._run_queries = run_queries
        self._qrels = qrels
        self._code = np.zeros(0, np.int64)

    def of(self, query: Int) -> Int:
        if len(self._code) < len(self._run_queries):
            names = self._run_queries.to_bytes()[len(self._code) :]
            more = np.fromiter(map(self._qrels.queries.find, names), np.int64, len(names))
            self._code = np.concatenate((self._code, more))
        return self._code[query]


def _empty() -> Hits:
    nothing = np.zeros(0, np.int64)
    return Hits(nothing, nothing, nothing)
