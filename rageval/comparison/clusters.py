"""Which queries depend on each other: decided here for all intervals and tests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from rageval.core.turn import CONVERSATION, clusters_by_conversation
from rageval.errors import UsageError
from rageval.scoring.scores import Score

if TYPE_CHECKING:
    from rageval.comparison.results import Clusters, Settings
    from rageval.scoring.gold import Draw


def clusters_with_labels(
    clusters: Clusters | None, of_labels: Iterable[Draw], queries: Iterable[str]
) -> Clusters | None:
    """Return the clusters that were chosen, else those of the plan that drew labels, if it drew whole ones.

    A plan that drew whole clusters makes queries of one depend on each other.
    """
    by_plan: Mapping[str, str] = next(filter(None, (draw.clusters for draw in of_labels)), {})
    if by_plan and clusters == "none":
        raise UsageError(
            "these labels are of a plan that drew whole clusters, so queries are dependent; leave out"
            " --cluster none"
        )
    if clusters is not None or not by_plan:
        return clusters
    return {query: by_plan.get(query, query) for query in queries}


def clusters_among(scores: Sequence[Score], settings: Settings | None = None) -> Mapping[str, str] | None:
    """Return the cluster of every query: what the settings say, or the plan of labels; or its conversation.

    None without.
    """
    queries = {query for score in scores for query in score.query_ids}
    draws = [score.people.draw for score in scores if score.people is not None]
    chosen = clusters_with_labels(settings.clusters if settings is not None else None, draws, queries)
    if chosen is not None:
        return None if chosen == "none" else chosen
    conversations: dict[str, str] = {}
    for score in scores:
        conversations.update(score.conversations)
    return clusters_by_conversation(queries, conversations)


def named_clusters(scores: Sequence[Score]) -> str:
    """Return what the clusters are that nobody chose: those of the plan of labels, or conversations."""
    plans = (score.people.draw.plan for score in scores if score.people is not None)
    return next((plan.clustered_by for plan in plans if plan is not None and plan.clusters), CONVERSATION)
