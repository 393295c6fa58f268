"""Documents of equal score: which groups of them a query has, and which judged documents are in each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from rageval.measures.ranking import Ranking
from rageval.measures.ties import Group, TiedRanking
from rageval.scoring.ordering import Documents
from rageval.scoring.qrels import Qrels


def tied_ranks(queries: Iterable[Documents], qrels: Qrels) -> dict[int, list[tuple[int, int]]]:
    """(before, size) of the groups of two or more, for the judged queries that have any."""
    ranks = ((qrels.find(found.query), _ranks(found.scores)) for found in queries)
    return {query: several for query, several in ranks if query >= 0 and several}


def _ranks(scores: Sequence[float]) -> list[tuple[int, int]]:
    found, before = [], 0
    for _, equal in groupby(sorted(scores, reverse=True)):
        size = len(list(equal))
        if size > 1:
            found.append((before, size))
        before += size
    return found


def tied(
    ranks: dict[int, list[tuple[int, int]]],
    everything: Sequence[Ranking],
    seen: Sequence[Ranking],
    judged_only: bool = False,
    depth: int | None = None,
) -> dict[int, TiedRanking]:
    """Return the rankings with ties that hold a judged document, by number of the query.

    `everything` are rankings with all judged documents, whatever their rank, `seen` those that count.
    """
    found = {}
    for query, several in ranks.items():
        docs = dict(zip(everything[query].ranks, everything[query].documents, strict=True))
        groups = []
        for before, size in several:
            inside = [docs.pop(rank) for rank in range(before + 1, before + size + 1) if rank in docs]
            if inside:
                groups.append(Group(before, size, tuple(inside)))
        if groups:
            groups = sorted([*groups, *(Group(rank - 1, 1, (doc,)) for rank, doc in docs.items())])
            found[query] = TiedRanking(seen[query], _condensed(groups) if judged_only else groups, depth)
    return found


def _condensed(groups: list[Group]) -> list[Group]:
    """Return the groups without what nobody judged."""
    found, before = [], 0
    for group in groups:
        found.append(Group(before, len(group.documents), group.documents))
        before += len(group.documents)
    return found
