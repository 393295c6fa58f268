"""A turn of a conversation: what else is known of a query that is one."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

CONVERSATION, TURN = "conversation_id", "turn"  # the fields of queries that are turns


class ConversationTurn(NamedTuple):
    """The conversation of a query, and its place there as it is written; "" where nothing says it."""

    conversation: str
    place: str = ""


def clusters_by_conversation(
    queries: Collection[str], conversations: Mapping[str, str]
) -> dict[str, str] | None:
    """Return the conversation of every query as its cluster; None where each would be one of its own.

    Turns of one conversation depend on each other: taken as independent, means look surer than they are.

    >>> clusters_by_conversation(["a", "b", "c"], {"a": "1", "b": "1"})
    {'a': '1', 'b': '1', 'c': 'c'}
    >>> clusters_by_conversation(["a", "b"], {"a": "1", "b": "2"})
    """
    if not conversations:
        return None
    # A query of no conversation is one of its own.
    clusters = {query: conversations.get(query, query) for query in queries}
    return clusters if len({*clusters.values()}) < len(clusters) else None
