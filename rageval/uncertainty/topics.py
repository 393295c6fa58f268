"""The documents of a run, query by query, for looking at what-ifs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rageval.tables.ranked import ranked_documents
from rageval.tables.ranking import Order
from rageval.tables.run import Run

Rankings = Mapping[str, Sequence[str]]


def rankings(run: Run, order: Order, depth: int | None = None) -> dict[str, list[str]]:
    """Return the documents of every query, best first."""
    return {query: docs[:depth] for query, docs in ranked_documents(run, order)}
