"""The best ranking there is for alpha-nDCG: greedy is not always it, a mixed-integer programme is.

Documents that support the same nuggets are one type. x_{t,i} ∈ {0,1} puts type t at rank i; y_{n,i,c} ∈ [0,1]
says that rank i is the (c+1)-th to support nugget n:
    maximise    Σ (1−α)^c · y_{n,i,c} / log2(1+i)
    subject to  Σ_t x_{t,i} ≤ 1    Σ_i x_{t,i} ≤ n_t    Σ_c y_{n,i,c} ≤ Σ_{t∋n} x_{t,i}    Σ_i y_{n,i,c} ≤ 1
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rageval.errors import MeasureError
from rageval.tables.ideal import gains_of
from rageval.tables.ids import Int
from rageval.tables.qrels import Qrels
from rageval.text import visible

Float = NDArray[np.float64]
Types = dict[tuple[int, ...], int]  # set of nuggets -> how many documents support just these
SECONDS = 60.0  # a query
_SCALE = 2.0**20  # the solver stops 1e-6 below the optimum, which is nothing in these units
_SLACK = 1e-9


def exact_sums(
    qrels: Qrels, pair_begin: Int, pair_nugget: Int, alpha: float, k: int | None, greedy: Float
) -> Float:
    """The discounted gain of the best ranking of each query; `greedy` is that of the greedy one."""
    best = greedy.copy()
    names = qrels.query_ids
    for query, types in _types_by_query(qrels, pair_begin, pair_nugget):
        depth = min(sum(types.values()), k or sum(types.values()))
        if not _may_be_beaten(types, depth, alpha, float(greedy[query])):
            continue
        order = best_order(types, depth, alpha)
        if order is None:
            raise MeasureError(
                f"query {visible(names[query])!r}: no best ranking was proved within {SECONDS:g} s at depth"
                f" {depth:,}; choose a smaller cut-off, or ideal=greedy"
            )
        best[query] = max(best[query], gain_sum(order, alpha))
    return best


def _types_by_query(qrels: Qrels, pair_begin: Int, pair_nugget: Int) -> Iterator[tuple[int, Types]]:
    """The types of each query's documents, in an order that knows no names."""
    counts: dict[int, Counter[tuple[int, ...]]] = {}
    supporting = np.flatnonzero(np.diff(pair_begin))
    for doc, query in zip(supporting.tolist(), qrels.doc_query[supporting].tolist(), strict=True):
        nuggets = tuple(pair_nugget[pair_begin[doc] : pair_begin[doc + 1]].tolist())
        counts.setdefault(query, Counter())[nuggets] += 1
    for query, types in counts.items():
        yield query, dict(sorted(types.items()))


def _may_be_beaten(types: Types, depth: int, alpha: float, greedy: float) -> bool:
    """Whether a better ranking than the greedy one is conceivable.

    It is not at depth 1, where nothing is worth less the second time, or where no document supports two
    nuggets; nor where greedy reaches the bound at which every nugget has the first ranks for itself.
    """
    if depth == 1 or alpha == 0 or max(map(len, types)) == 1:
        return False
    times = Counter(nugget for nuggets, count in types.items() for nugget in nuggets for _ in range(count))
    discount, worth = _discount(depth), (1 - alpha) ** np.arange(float(depth))
    bound = sum(float((discount * worth)[:count].sum()) for count in times.values())
    return greedy < bound - _SLACK


def best_order(types: Types, depth: int, alpha: float) -> list[tuple[int, ...]] | None:
    """The nugget sets of a best ranking, rank by rank; None if the time was not enough.

    >>> sorted(best_order({(1, 2): 1, (1, 3): 1, (3, 4): 1}, 2, 0.5))
    [(1, 2), (3, 4)]
    """
    from scipy.optimize import Bounds, milp

    sets = list(types)
    worth, constraints = _programme(types, depth, alpha)
    whole = np.zeros(len(worth))
    whole[: len(sets) * depth] = 1
    found = milp(
        -_SCALE * worth,
        integrality=whole,
        bounds=Bounds(0, 1),
        constraints=constraints,
        options={"mip_rel_gap": 0.0, "time_limit": SECONDS},
    )
    if found.status != 0:
        return None
    placed = np.rint(found.x[: len(sets) * depth]).reshape(len(sets), depth)
    return [sets[int(np.argmax(column))] for column in placed.T if column.any()]


def _programme(types: Types, depth: int, alpha: float) -> tuple[Float, Any]:
    """What each variable is worth, and the constraints: first all x by type and rank, then all y."""
    from scipy.optimize import LinearConstraint
    from scipy.sparse import csr_array

    rows: list[tuple[int, int, float]] = []
    most: list[float] = []

    def constrain(terms: list[tuple[int, float]], at_most: float) -> None:
        rows.extend((len(most), column, factor) for column, factor in terms)
        most.append(at_most)

    sets, discount = list(types), _discount(depth)
    worth = [0.0] * (len(sets) * depth)
    for rank in range(depth):
        constrain([(t * depth + rank, 1.0) for t in range(len(sets))], 1.0)
    for t, nuggets in enumerate(sets):
        constrain([(t * depth + rank, 1.0) for rank in range(depth)], float(types[nuggets]))
    for nugget in sorted({nugget for nuggets in sets for nugget in nuggets}):
        having = [t for t, nuggets in enumerate(sets) if nugget in nuggets]
        levels = min(depth, sum(types[sets[t]] for t in having)) if alpha < 1 else 1
        first = len(worth)
        worth += [(1 - alpha) ** c * float(discount[rank]) for rank in range(depth) for c in range(levels)]
        for rank in range(depth):
            here = [(first + rank * levels + c, 1.0) for c in range(levels)]
            constrain([*here, *((t * depth + rank, -1.0) for t in having)], 0.0)
        for c in range(levels):
            constrain([(first + rank * levels + c, 1.0) for rank in range(depth)], 1.0)
    row, column, factor = zip(*rows, strict=True)
    matrix = csr_array((factor, (row, column)), shape=(len(most), len(worth)))
    return np.array(worth), LinearConstraint(matrix, -np.inf, np.array(most))


def gain_sum(order: Sequence[tuple[int, ...]], alpha: float) -> float:
    """The discounted gain of documents with these nugget sets, added up as for a run."""
    seen: Counter[int] = Counter()
    row, times = [], []
    for rank, nuggets in enumerate(order):
        row += [rank] * len(nuggets)
        times += [seen[nugget] for nugget in nuggets]
        seen.update(nuggets)
    gain = gains_of(np.array(row, np.int64), np.array(times, np.int64), len(order), alpha)
    return float(np.bincount(np.zeros(len(order), np.int64), gain * _discount(len(order)))[0])


def _discount(depth: int) -> Float:
    weight: Float = 1.0 / np.log2(np.arange(2.0, depth + 2))
    return weight
