"""Documents of equal score: which groups of them a query has, and which judged documents are in each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rageval.tables.blocks import RunBlock, stretches
from rageval.tables.judged import Hits
from rageval.tables.names import Names
from rageval.tables.qrels import Qrels


class Group(NamedTuple):
    """Documents that share their score: `before` stand above them; `docs` are those that are judged."""

    before: int
    size: int
    docs: tuple[int, ...]

    def inside(self, k: int | None) -> int:
        """How many of its places are in the top k."""
        return self.size if k is None else min(max(k - self.before, 0), self.size)


@dataclass(frozen=True, slots=True)
class Tied:
    """The queries that have ties with a judged document in them, each with all its groups, singles too."""

    groups: dict[int, list[Group]]
    depth: int | None = None

    def top(self, k: int | None) -> int | None:
        """The cut-off, not below the depth to which rankings count."""
        return self.depth if k is None else k if self.depth is None else min(k, self.depth)


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
    ranks: dict[int, list[tuple[int, int]]], hits: Hits, judged_only: bool = False, depth: int | None = None
) -> Tied:
    """The groups of every query that has ties; `hits` are all judged documents, whatever their rank."""
    groups: dict[int, list[Group]] = {}
    for query, several in ranks.items():
        at = slice(*np.searchsorted(hits.query, [query, query + 1]).tolist())
        docs = dict(zip(hits.rank[at].tolist(), hits.doc[at].tolist(), strict=True))
        found = []
        for before, size in several:
            inside = [docs.pop(rank) for rank in range(before + 1, before + size + 1) if rank in docs]
            if inside:
                found.append(Group(before, size, tuple(inside)))
        if found:
            found += [Group(rank - 1, 1, (doc,)) for rank, doc in docs.items()]
            groups[query] = _condensed(sorted(found)) if judged_only else sorted(found)
    return Tied(groups, depth)


def _condensed(groups: list[Group]) -> list[Group]:
    """The groups without what nobody judged."""
    found, before = [], 0
    for group in groups:
        found.append(Group(before, len(group.docs), group.docs))
        before += len(group.docs)
    return found
