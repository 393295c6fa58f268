"""The best ranking there is for alpha-nDCG: greedy is not always it, a mixed-integer program is.

Documents that support the same nuggets are one kind. x_{t,i} ∈ {0,1} puts kind t at rank i; y_{n,i,c} ∈ [0,1]
says that rank i is the (c+1)-th to support nugget n:
    maximise    Σ (1−α)^c · y_{n,i,c} / log2(1+i)
    subject to  Σ_t x_{t,i} ≤ 1    Σ_i x_{t,i} ≤ n_t    Σ_c y_{n,i,c} ≤ Σ_{t∋n} x_{t,i}    Σ_i y_{n,i,c} ≤ 1
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from rageval.errors import MeasureError
from rageval.measures.ranking import Gains, Nuggets, Topic, discounted, gained, logarithmic, novelty, ratio
from rageval.text import visible

_Kinds = Mapping[Nuggets, int]  # set of nuggets -> how many documents support just these
_Weight = Callable[[int], float]  # of a nugget
_NODES = 20_000  # of the search tree, a query: work is bounded by work, not by a clock
_VARIABLES = 60_000  # and what one node costs grows with these
_SCALE = 2.0**20  # the solver stops 1e-6 below the optimum, which is nothing in these units
_SLACK = 1e-9
_NO_GAP = 1e-12


def exact_ideal(topic: Topic, k: int | None, alpha: float, rel: int) -> Gains:
    """Return (rank, gain) of the best ranking of the query's documents, proved to be the best."""
    gains: Gains = topic.keep(("exact", k, alpha, rel), lambda: _best_gains(topic, k, alpha, rel))
    return gains


def gap_to_greedy(topic: Topic, k: int | None, alpha: float, rel: int) -> float:
    """Return by what share the best ranking there is beats the greedy one: 0 for nearly every query."""
    greedy = topic.ideal_sum(k, alpha, rel, logarithmic)
    best = discounted(exact_ideal(topic, k, alpha, rel), logarithmic)
    gap = ratio(best - greedy, greedy)
    return gap if gap > _NO_GAP else 0.0


def _best_gains(topic: Topic, k: int | None, alpha: float, rel: int) -> Gains:
    greedy = topic.ideal(k, alpha, rel)
    # Documents that support the same nuggets are interchangeable, so the programme places kinds, not
    # documents.
    kinds = {nuggets: len(places) for nuggets, places in sorted(topic.kinds(rel).items())}
    depth = min(sum(kinds.values()), k or sum(kinds.values()))
    if not kinds or not _may_be_beaten(kinds, depth, alpha, discounted(greedy, logarithmic), topic.weight_of):
        return greedy
    order = _best_order(kinds, depth, alpha, topic.query_id, topic.weight_of)
    exact = list(enumerate(gained(order, alpha, topic.weights), 1))
    # The solver stops within a tolerance; greedy may be better by less than that.
    return max(greedy, exact, key=lambda gains: discounted(gains, logarithmic))


def _may_be_beaten(kinds: _Kinds, depth: int, alpha: float, greedy: float, weight: _Weight) -> bool:
    """Return whether a better ranking than the greedy one is conceivable.

    It is not at depth 1, where nothing is worth less the second time, or where no document supports two
    nuggets; nor where greedy reaches the bound at which every nugget has the first ranks for itself.
    """
    if depth == 1 or alpha == 0 or max(map(len, kinds)) == 1:
        return False
    # No ranking gains more than if the documents of every nugget had the first ranks at the same time.
    bound = math.fsum(
        weight(nugget) * novelty(c, alpha) * logarithmic(1 + c)
        for nugget, count in _supporting(kinds).items()
        for c in range(min(count, depth))
    )
    return greedy < bound - _SLACK


def _supporting(kinds: _Kinds) -> Counter[int]:
    """Return how many documents support each nugget."""
    number: Counter[int] = Counter()
    for nuggets, count in kinds.items():
        number.update(dict.fromkeys(nuggets, count))
    return number


def _best_order(
    kinds: _Kinds, depth: int, alpha: float, query: str = "", weight: _Weight = lambda _: 1.0
) -> list[Nuggets]:
    """Return the nugget sets of a best ranking, rank by rank.

    >>> sorted(_best_order({(1, 2): 1, (1, 3): 1, (3, 4): 1}, 2, 0.5))
    [(1, 2), (3, 4)]
    """
    from scipy.optimize import Bounds, milp

    sets = list(kinds)
    levels = sum(min(depth, count) if alpha < 1 else 1 for count in _supporting(kinds).values())
    variables = depth * (len(kinds) + levels)
    # Every step of a larger program would take too long.
    if variables > _VARIABLES:
        raise MeasureError(
            f"query {visible(query)!r}: its best ranking at depth {depth:,} is a question of {variables:,}"
            f" variables, more than {_VARIABLES:,}; choose a smaller cut-off, or ideal=greedy"
        )
    value, constraints = _programme(kinds, depth, alpha, weight)
    # Only which kind stands at which rank has to be whole: the rest then comes out whole by itself.
    whole = [float(index < len(sets) * depth) for index in range(len(value))]
    solution = milp(
        [-_SCALE * coefficient for coefficient in value],
        integrality=whole,
        bounds=Bounds(0, 1),
        constraints=constraints,
        options={"mip_rel_gap": 0.0, "node_limit": _NODES},
    )
    if solution.status != 0:
        reached = ""
        if solution.x is not None:
            best, bound = -solution.fun / _SCALE, -solution.mip_dual_bound / _SCALE
            reached = f": {best:.4f} was found, and none is above {bound:.4f}"
        raise MeasureError(
            f"query {visible(query)!r}: no best ranking was proved in {_NODES:,} steps at depth {depth:,}"
            f"{reached}; choose a smaller cut-off, or ideal=greedy"
        )
    order = []
    for rank in range(depth):
        chosen = [nuggets for t, nuggets in enumerate(sets) if solution.x[t * depth + rank] > 0.5]
        # 0 or 1 but for the solver's tolerance, and at most one kind a rank.
        order += chosen[:1]
    return order


def _programme(kinds: _Kinds, depth: int, alpha: float, weight: _Weight) -> tuple[list[float], Any]:
    """Return what each variable is worth, and the constraints: first all x by kind and rank, then all y."""
    import numpy as np
    from scipy.optimize import LinearConstraint
    from scipy.sparse import csr_array

    rows: list[tuple[int, int, float]] = []
    most: list[float] = []

    def constrain(terms: list[tuple[int, float]], at_most: float) -> None:
        rows.extend((len(most), column, factor) for column, factor in terms)
        most.append(at_most)

    sets, discount = list(kinds), [logarithmic(rank) for rank in range(1, depth + 1)]
    value = [0.0] * (len(sets) * depth)
    for rank in range(depth):
        # At most one document a rank.
        constrain([(t * depth + rank, 1.0) for t in range(len(sets))], 1.0)
    for t, nuggets in enumerate(sets):
        # Each kind as often as there are documents of it.
        constrain([(t * depth + rank, 1.0) for rank in range(depth)], float(kinds[nuggets]))
    for nugget in sorted({nugget for nuggets in sets for nugget in nuggets}):
        having = [t for t, nuggets in enumerate(sets) if nugget in nuggets]
        levels = min(depth, sum(kinds[sets[t]] for t in having)) if alpha < 1 else 1
        # y(rank, c): the document at this rank is the one with c supporting documents above it. Its worth
        # falls with c and rank, so the best solution fills the levels in order without being told to.
        first = len(value)
        worth = [weight(nugget) * novelty(c, alpha) for c in range(levels)]
        value += [worth[c] * discount[rank] for rank in range(depth) for c in range(levels)]
        for rank in range(depth):
            # A level can be filled only where a document of the nugget stands…
            here = [(first + rank * levels + c, 1.0) for c in range(levels)]
            constrain([*here, *((t * depth + rank, -1.0) for t in having)], 0.0)
        # … and each level once.
        for c in range(levels):
            constrain([(first + rank * levels + c, 1.0) for rank in range(depth)], 1.0)
    row, column, factor = zip(*rows, strict=True)
    places = np.array([row, column], np.int32)  # older scipys cannot take 64 bits
    matrix = csr_array((factor, tuple(places)), shape=(len(most), len(value)))
    return value, LinearConstraint(matrix, -math.inf, most)
