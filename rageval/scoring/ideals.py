"""The greedy ideal rankings of all queries at once, by the compiled part."""

from __future__ import annotations

from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rageval.tables.ids import Ids, Int

_DEEP = 2**31 - 1  # deeper than any ranking of one query


class _Found(NamedTuple):
    """The orders of all queries under one another, to some rank, and where each query's begin."""

    depth: int
    document: memoryview[int]
    begin: list[int]


class Ideals:
    """The order of each query's documents in its greedy ideal ranking, as deep as anybody has asked for yet.

    Documents of query q are documents[q] to documents[q + 1], their (nugget, grade) pairs pairs[d] to
    pairs[d + 1], by nugget.
    """

    def __init__(
        self,
        kernel: ModuleType,
        documents: Int,
        pairs: Int,
        nugget: NDArray[Any],
        grade: NDArray[Any],
        ids: Ids,
        listed: Int,
    ) -> None:
        self._orders = kernel.ideal_orders
        self._most = int(np.diff(documents).max(initial=0))
        self._listed = int(listed.max(initial=0))
        places = [np.ascontiguousarray(column, np.int64) for column in (documents, pairs)]
        judged = [np.ascontiguousarray(column, np.int32) for column in (nugget, grade)]
        names = ids.compact()
        self._columns = (*places, *judged, names.buffer, np.append(names.start, names.length.sum()))
        self._found: dict[tuple[float, int], _Found] = {}

    def order(self, query: int, k: int | None, alpha: float, rel: int) -> list[int]:
        """Return the documents of a query's greedy ideal ranking, to rank k or deeper."""
        found = self._found.get((alpha, rel))
        if found is None or found.depth < min(_DEEP if k is None else k, self._most):
            found = self._found[alpha, rel] = self._to(k, alpha, rel, 0 if found is None else found.depth)
        return found.document[found.begin[query] : found.begin[query + 1]].tolist()

    def _to(self, k: int | None, alpha: float, rel: int, before: int) -> _Found:
        """Find all orders to rank k, and at least twice as deep as before."""
        depth = self._most if k is None else min(max(k, 2 * before), self._most)
        stay = 1.0 - alpha
        worth = np.array([stay**seen for seen in range(depth)], np.float64)
        document, ends = self._orders(*self._columns, worth, self._listed, rel, depth)
        return _Found(depth, memoryview(document).cast("i"), [0, *memoryview(ends).cast("q")])
