"""A run meets the judgements: which retrieved documents are judged, and at which ranks.

A run is joined whole or in pieces of whole queries, wherever these are read. What comes of a piece is not a
mean and not even a value, but what the values are computed from: a rank and a number for each judged
document, counts that add up. Putting pieces together is putting rows under one another, so no split can
change a digit.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import compress
from typing import NamedTuple

from rageval.files.opening import Source, limits_of, name_of
from rageval.files.trec import RUN, Reading, Text
from rageval.kernel import kernel
from rageval.measures.ranking import Ranking, Topic
from rageval.scoring.qrels import NOT_JUDGED, Qrels, _fed, _owned
from rageval.scoring.runs import (
    EVERYTHING,
    Documents,
    Order,
    Scattered,
    View,
    _contradicts,
)

_NOT_ASKED = -1


class Piece(NamedTuple):
    """What a stretch of whole queries holds: its queries, and where judged documents stand in their rankings.

    `asked` are the numbers of the judged queries; a row each have `length`, how many documents are ranked,
    and `judged`, how many of these are, at whatever rank and grade. Documents whose judgements are kept stand
    from hits[i] to hits[i + 1], by `rank`, `doc` being their numbers.
    """

    queries: list[bytes]
    asked: Sequence[int]
    length: Sequence[int]
    judged: Sequence[int]
    hits: Sequence[int]
    rank: array[int]
    doc: array[int]
    rows: int
    rank_conflicts: int
    shown: int  # documents down to the deepest cut-off, and how many of them are judged
    shown_judged: int
    tied_at: Sequence[int]  # a count a cut-off


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
    shown: int = 0
    shown_judged: int = 0
    judged: list[int] = field(default_factory=list, compare=False)
    tied_at: Counter[int] = field(default_factory=Counter)
    read_here: str = ""  # how it could not be read, and why, where this process had to

    @property
    def nothing_relevant(self) -> bool:
        """Whether no query of the judgements has anything that is relevant."""
        return 0 < self.queries_without_relevant == len(self.judged)


class Joined(NamedTuple):
    """A run met with judgements: a ranking for each judged query, and what should be said of it."""

    queries: list[bytes]
    lengths: dict[int, int]  # how many documents it holds for each judged query
    rankings: list[Ranking]
    notes: Notes


class Joining(NamedTuple):
    """How a run meets the judgements; it can be sent to where a piece is read.

    Hits below rank `deepest` are forgotten at once: no measure will ask for them.
    """

    qrels: Qrels
    view: View
    cutoffs: tuple[int, ...] = ()
    deepest: int | None = None

    def piece(self, queries: Iterable[Documents]) -> Piece:
        """Join whole queries, one after the other."""
        names: list[bytes] = []
        # Arrays, not lists: a piece is sent between processes, and a number takes 4 or 8 bytes instead of 28.
        asked, rank, doc, length, judged, hits = (array(kind) for kind in "iiiqqq")
        tied: Counter[int] = Counter()
        rows = conflicts = shown_judged = 0
        # Hits of query i stand from hits[i] to hits[i + 1], so there is one border more than queries.
        hits.append(0)
        for found in queries:
            names.append(found.query)
            rows += len(found.docs)
            order = found.ranked(self.view.order)
            conflicts += _contradicts(found, order)
            tied.update(cutoff for cutoff in self.cutoffs if order.tied_at(cutoff))
            query = self.qrels.find(found.query)
            # Counted above, for the remarks; not scored.
            if query < 0:
                continue
            # All documents of a query in one call, as the compiled part takes them.
            numbers = self.qrels.numbers(query, list(map(found.docs.__getitem__, order.rows)))
            unjudged = numbers.count(NOT_JUDGED)
            asked.append(query)
            length.append(len(numbers))
            judged.append(len(numbers) - unjudged)
            top = numbers[: self._top]
            shown_judged += len(top) - top.count(NOT_JUDGED)
            # Most documents of a deep run are unjudged: only judged ones are kept, with their ranks.
            if unjudged < len(numbers):
                kept = [(at, number) for at, number in enumerate(numbers[: self.deepest], 1) if number >= 0]
                rank.extend([at for at, _ in kept])
                doc.extend([number for _, number in kept])
            hits.append(len(rank))
        counts = array("q", [tied[cutoff] for cutoff in self.cutoffs])
        return Piece(
            names,
            asked,
            length,
            judged,
            hits,
            rank,
            doc,
            rows,
            conflicts,
            self._shown(length),
            shown_judged,
            counts,
        )

    def compiled(self, texts: Iterable[Text], source: Source, reading: Reading) -> Piece | None:
        """Join a run's text by the compiled reader; None if there is none, or what only the plain one reads.

        `InputError` for the lines at which it stopped, if one is wrong; `Scattered` if a query comes again.
        """
        judged = self.qrels.compiled() if self._is_usual else None
        if judged is None or kernel is None:
            return None
        texts, reading = RUN.told_apart(texts, reading)
        limits, deepest = limits_of(source), -1 if self.deepest is None else self.deepest
        cutoffs = array("i", self.cutoffs)
        handle = kernel.join_new(judged, deepest, cutoffs, limits.id, limits.line, bool(reading.tabbed))
        if not _fed(kernel.join_feed, handle, texts, RUN, source, reading):
            return None
        piece = Piece._make(_owned(kernel.join_end(handle)))
        if not piece.rows:
            raise RUN.empty(name_of(source))
        return piece._replace(shown=self._shown(piece.length))

    @property
    def _is_usual(self) -> bool:
        """Whether the compiled reader knows what is asked for."""
        depth = self.view.depth
        return self.view.order == Order() and (depth is None or depth >= max(self.cutoffs, default=0))

    @property
    def _top(self) -> int:
        """The deepest rank that is looked at for holes."""
        return min(max(self.cutoffs, default=0), self.view.depth or 2**31)

    def _shown(self, length: Iterable[int]) -> int:
        top = self._top
        return sum(min(number, top) for number in length)

    def together(self, pieces: Sequence[Piece]) -> Joined:
        """Return the whole, from its pieces in their order; `Scattered` if a query lies in two of them."""
        topics = self.qrels.topics
        ranked: dict[int, Ranking] = {}
        notes = Notes(judged=[_NOT_ASKED] * len(topics))
        names: dict[bytes, None] = {}
        lengths: dict[int, int] = {}
        for piece in pieces:
            _add(notes, piece, self.cutoffs)
            names.update(dict.fromkeys(piece.queries))
            lengths.update(zip(piece.asked, piece.length, strict=True))
            rows = zip(piece.asked, piece.length, piece.judged, piece.hits, piece.hits[1:], strict=False)
            for query, length, judged, first, last in rows:
                notes.judged[query] = judged
                ranks, docs = piece.rank[first:last].tolist(), piece.doc[first:last].tolist()
                ranked[query] = self._seen(topics[query], ranks, docs, length)
        # Two pieces hold the same query: its rows lie apart, and neither ranking is whole.
        if len(names) < notes.queries_in_run:
            raise Scattered
        notes.queries_missing = len(topics) - (notes.queries_in_run - notes.queries_only_in_run)
        # A judged query that the run lacks has an empty ranking, and scores 0.
        rankings = [ranked.get(query) or Ranking(topic, (), (), 0) for query, topic in enumerate(topics)]
        return Joined(list(names), lengths, rankings, notes)

    def _seen(self, topic: Topic, ranks: list[int], documents: list[int], retrieved: int) -> Ranking:
        """Return what the view shows of a ranking."""
        view = self.view
        if view.floor != EVERYTHING:
            judged = [topic.grade(document) >= view.floor for document in documents]
            ranks, documents = list(compress(ranks, judged)), list(compress(documents, judged))
        # Taken out before the depth is applied, so that the depth counts judged documents.
        if view.judged_only:
            ranks, retrieved = list(range(1, len(documents) + 1)), len(documents)
        if view.depth is not None:
            # Ranks are in order, so the documents to a depth are a prefix.
            inside = bisect_right(ranks, view.depth)
            ranks, documents, retrieved = ranks[:inside], documents[:inside], min(retrieved, view.depth)
        return Ranking(topic, ranks, documents, retrieved)


def _add(notes: Notes, piece: Piece, cutoffs: Sequence[int]) -> None:
    notes.queries_in_run += len(piece.queries)
    notes.queries_only_in_run += len(piece.queries) - len(piece.asked)
    notes.rows += piece.rows
    notes.rank_conflicts += piece.rank_conflicts
    notes.retrieved += sum(piece.length)
    notes.shown += piece.shown
    notes.shown_judged += piece.shown_judged
    notes.tied_at.update(dict(zip(cutoffs, piece.tied_at, strict=True)))
