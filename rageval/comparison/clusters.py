"""Which queries depend on each other: decided here for all intervals and tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rageval.core.turn import clusters_by_conversation
from rageval.scoring.scores import Score

if TYPE_CHECKING:
    from rageval.comparison.results import Settings


def clusters_among(scores: Sequence[Score], settings: Settings | None = None) -> Mapping[str, str] | None:
    """Return the cluster of every query: what the settings say, or else its conversation; None without."""
    if settings is not None and settings.clusters is not None:
        return settings.units
    conversations: dict[str, str] = {}
    for score in scores:
        conversations.update(score.conversations)
    queries = {query for score in scores for query in score.query_ids}
    return clusters_by_conversation(queries, conversations)
