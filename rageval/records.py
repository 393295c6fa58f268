"""What a person holds in the hand: one retrieved document, one judgement.

The fields bear ir_measures' names, so its records and ours can be used for one another.
"""

from __future__ import annotations

from typing import NamedTuple


class ScoredDoc(NamedTuple):
    """One document a system retrieved for a query."""

    query_id: str
    doc_id: str
    score: float


class Qrel(NamedTuple):
    """One judgement: how well a document supports a nugget (`iteration`) of a query."""

    query_id: str
    doc_id: str
    relevance: int
    iteration: str = "0"
