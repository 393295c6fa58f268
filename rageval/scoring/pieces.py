"""A run joined piece by piece, wherever the pieces are read, and put together to what one reading gives.

A piece holds whole queries. What comes of it is not a mean and not even a value, but what the values are
computed from: a row a retrieved document that is judged, a length a query, counts that add up. Putting pieces
together is putting rows under one another, so no split can change a digit.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rageval.scoring.joining import NOT_ASKED, Notes, join
from rageval.scoring.judged import Hits, Judged, Judgements
from rageval.tables.blocks import RunBlock, Scattered
from rageval.tables.ids import Int
from rageval.tables.names import Names
from rageval.tables.ranking import View


@dataclass(frozen=True, slots=True)
class Piece:
    """What a stretch of whole queries holds: its queries in their order, hits, lengths of rankings, notes."""

    queries: list[bytes]
    hits: Hits
    ranked: Int  # the judged queries that this piece ranks documents for
    length: Int
    asked: Int  # the judged queries that are in this piece
    judged: Int  # how many of the documents of each are judged
    notes: Notes


@dataclass(frozen=True, slots=True)
class Joining:
    """How blocks of a run meet the judgements; a function that can be sent to where a piece is read."""

    judgements: Judgements
    view: View
    cutoffs: tuple[int, ...] = ()
    deepest: int | None = None

    def __call__(self, queries: Names, blocks: Iterator[RunBlock]) -> tuple[Judged, Notes]:
        """All of a run at once."""
        return join(blocks, queries, self.judgements, self.view, self.cutoffs, self.deepest)

    def for_workers(self) -> Joining:
        """The same, without what measures have computed from the judgements."""
        return replace(self, judgements=Judgements(self.judgements.qrels))

    def piece(self, queries: Names, blocks: Iterator[RunBlock]) -> Piece:
        """A part of a run."""
        judged, notes = self(queries, blocks)
        ranked = np.flatnonzero(judged.retrieved)
        asked = np.flatnonzero(notes.judged != NOT_ASKED)
        counts, notes = notes.judged[asked], replace(notes, judged=np.zeros(0, np.int64))
        length = judged.retrieved[ranked]
        return Piece(queries.to_bytes(), judged.all_hits, ranked, length, asked, counts, notes)

    def together(self, pieces: Sequence[Piece]) -> tuple[Judged, Notes]:
        """The whole, from its pieces in their order."""
        total = len(self.judgements.qrels.queries)
        retrieved = np.zeros(total, np.int64)
        for piece in pieces:
            retrieved[piece.ranked] = piece.length
        columns = zip(*(piece.hits for piece in pieces), strict=True)
        notes = _added([piece.notes for piece in pieces], total)
        for piece in pieces:
            notes.judged[piece.asked] = piece.judged
        return Judged(self.judgements, Hits(*map(np.concatenate, columns)), retrieved), notes


def queries_of(pieces: Iterable[Piece]) -> Names:
    """The queries of the whole; `Scattered` if one of them lies in two pieces."""
    queries = Names()
    for piece in pieces:
        before = len(queries)
        for name in piece.queries:
            queries.code(name)
        if len(queries) != before + len(piece.queries):
            raise Scattered
    return queries


def _added(parts: list[Notes], total: int) -> Notes:
    """The notes of the whole. What only the whole can know is counted anew: the queries that are missing."""
    notes = Notes(judged=np.full(total, NOT_ASKED))
    for part in parts:
        notes.queries_in_run += part.queries_in_run
        notes.queries_only_in_run += part.queries_only_in_run
        notes.rows += part.rows
        notes.rank_conflicts += part.rank_conflicts
        notes.retrieved += part.retrieved
        notes.shown += part.shown
        notes.shown_judged += part.shown_judged
        notes.tied_at.update(part.tied_at)
    notes.queries_missing = total - (notes.queries_in_run - notes.queries_only_in_run)
    return notes
