"""A turn of a conversation: what else is known of a query that is one."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

CONVERSATION, TURN = "conversation_id", "turn"  # the fields of queries that are turns
BETWEEN = "<::>"  # a conversation and the number of a turn, in the id of a turn, as MT-RAG has it


class ConversationTurn(NamedTuple):
    """The conversation of a query, and its place there as it is written; "" where nothing says it."""

    conversation: str
    place: str = ""


def clusters_by_conversation(
    queries: Collection[str], conversations: Mapping[str, str]
) -> dict[str, str] | None:
    """Return the conversation of every query as its cluster; None where each would be one of its own.

    Turns of one conversation depend on each other: taken as independent, means look surer than they are. An
    id may hold its conversation.

    >>> clusters_by_conversation(["a", "b", "c"], {"a": "1", "b": "1"})
    {'a': '1', 'b': '1', 'c': 'c'}
    >>> clusters_by_conversation(["a", "b"], {"a": "1", "b": "2"})
    >>> clusters_by_conversation(["c<::>1", "c<::>2"], {})
    {'c<::>1': 'c', 'c<::>2': 'c'}
    """
    # A query of no conversation is one of its own.
    clusters = {query: conversations.get(query) or query.partition(BETWEEN)[0] for query in queries}
    return clusters if len({*clusters.values()}) < len(clusters) else None
