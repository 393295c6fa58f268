"""Documents of equal score: which groups of them a query has, and which judged documents are in each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from rageval.measures.ranking import Ranking
from rageval.measures.ties import Group, TiedRanking
from rageval.tables.blocks import RunBlock, stretches
from rageval.tables.names import Names
from rageval.tables.qrels import Qrels


def tied_ranks(blocks: Iterable[RunBlock], queries: Names, qrels: Qrels) -> dict[int, list[tuple[int, int]]]:
    """(before, size) of the groups of two or more, for the judged queries that have any."""
    found: dict[int, list[tuple[int, int]]] = {}
    for block in blocks:
        begin = stretches(block.query).tolist()
        names = queries.to_bytes()
        for first, last in zip(begin, [*begin[1:], len(block)], strict=True):
            query = qrels.queries.find(names[int(block.query[first])])
            ranks = _ranks(block.score[first:last]) if query >= 0 else []
            if ranks:
                found[query] = ranks
    return found


def _ranks(score: NDArray[np.float64]) -> list[tuple[int, int]]:
    ordered = np.sort(score)[::-1]
    begin = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    size = np.diff(begin, append=len(ordered))
    several = np.flatnonzero(size > 1)
    return list(zip(begin[several].tolist(), size[several].tolist(), strict=True))


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
