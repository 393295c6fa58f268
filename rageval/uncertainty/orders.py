"""The orders of tied documents that are best and worst for a measure.

Documents that support the same nuggets are one type. What a place is worth depends on how many of each type
stand above it, and on nothing else: dynamic programming over these counts finds the extremes of all orders.
Groups do not depend on one another, because what stands above a group is known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from rageval.tables.judged import Hits, Judged
from rageval.uncertainty.expected import nuggets_of
from rageval.uncertainty.groups import Group, Tied

STATES = 5_000  # a group
Kind = tuple[int, ...]
Worth = Callable[[int, Kind, Mapping[int, int]], float]  # (rank, nuggets, how often each was seen) -> worth
NOT_JUDGED = -1


def _logarithmic(rank: int) -> float:
    return 1 / float(np.log2(rank + 1))


def _reciprocal(rank: int) -> float:
    return 1 / rank


def worth_of(name: str, parameters: Mapping[str, Any], judged: Judged, rel: int) -> Worth | None:
    """What a document adds, for measures that look at nuggets; None for the others."""
    if name in ("coverage", "strec"):
        return lambda rank, kind, seen: sum(not seen.get(nugget) for nugget in kind)
    if name == "p_ia":
        return lambda rank, kind, seen: len(kind)
    if name == "map_ia":
        of_nugget = judged.relevant(rel).docs_of_nugget
        return lambda rank, kind, seen: sum((seen.get(n, 0) + 1) / rank / of_nugget[n] for n in kind)
    if "alpha" not in parameters:
        return None
    decay = 1 - parameters["alpha"]
    discount: Callable[[int], float] = _logarithmic
    if "beta" in parameters:
        discount = lambda rank: float(parameters["beta"] ** (rank - 1))  # noqa: E731
    elif name in ("err_ia", "nerr_ia"):
        discount = _reciprocal
    return lambda rank, kind, seen: discount(rank) * sum(decay ** seen.get(nugget, 0) for nugget in kind)


def reordered(
    judged: Judged, tied: Tied, name: str, k: int | None, parameters: Mapping[str, Any], best: bool
) -> Judged | None:
    """The run with its ties in the best (or worst) order for a measure; None if there are too many orders."""
    rel = int(parameters.get("rel", 1))
    worth = worth_of(name, parameters, judged, rel)
    place: dict[int, int] = {}
    for groups in tied.groups.values():
        seen: Counter[int] = Counter()
        for group in groups:
            if worth is None:
                docs = _by_key(judged, group, name, rel, best)
            else:
                kinds = {doc: nuggets_of(judged, doc, rel) for doc in group.docs}
                found = _extreme(group, kinds, seen, worth, group.inside(tied.top(k)), best)
                if found is None:
                    return None
                docs = found
                for kind in kinds.values():
                    seen.update(kind)
            place |= {doc: group.before + at for at, doc in enumerate(docs, 1) if doc != NOT_JUDGED}
    return _with_places(judged, tied, place)


def _by_key(judged: Judged, group: Group, name: str, rel: int, best: bool) -> list[int]:
    """Relevant documents first, or last."""
    if name in ("judged", "hole"):
        key = dict.fromkeys(group.docs, 1)
        best = best == (name == "judged")
    elif name == "ndcg":
        key = {doc: max(int(judged.qrels.doc_grade[doc]), 0) for doc in group.docs}
    else:
        key = {doc: int(judged.relevant(rel).nuggets_of_doc[doc] > 0) for doc in group.docs}
    unjudged = [NOT_JUDGED] * (group.size - len(group.docs))
    return sorted([*group.docs, *unjudged], key=lambda doc: key.get(doc, 0), reverse=best)


def _extreme(
    group: Group, kinds: Mapping[int, Kind], above: Mapping[int, int], worth: Worth, inside: int, best: bool
) -> list[int] | None:
    """The documents of a group in an extreme order; only the places `inside` matter."""
    waiting: dict[Kind, list[int]] = {}
    for doc, kind in kinds.items():
        waiting.setdefault(kind, []).append(doc)
    waiting.setdefault((), []).extend([NOT_JUDGED] * (group.size - len(group.docs)))
    types = list(waiting)
    available = [len(waiting[kind]) for kind in types]
    if len(types) == 1:
        return waiting[types[0]]
    if np.prod([float(min(count, inside) + 1) for count in available]) > STATES:
        return None
    taken = _best_counts(types, available, group.before, above, worth, inside, best)
    order = [waiting[types[t]].pop() for t in taken]
    return order + [doc for docs in waiting.values() for doc in docs]


def _best_counts(
    types: list[Kind],
    available: list[int],
    before: int,
    above: Mapping[int, int],
    worth: Worth,
    inside: int,
    best: bool,
) -> list[int]:
    """Which type to take at each place, by dynamic programming over how many of each were taken."""
    sign = 1.0 if best else -1.0
    layer: dict[tuple[int, ...], tuple[float, tuple[int, ...]]] = {(0,) * len(types): (0.0, ())}
    for place in range(inside):
        following: dict[tuple[int, ...], tuple[float, tuple[int, ...]]] = {}
        for state, (value, path) in layer.items():
            seen = Counter(above)
            for kind, count in zip(types, state, strict=True):
                seen.update(dict.fromkeys(kind, count))
            for t, kind in enumerate(types):
                if state[t] < available[t]:
                    reached = (*state[:t], state[t] + 1, *state[t + 1 :])
                    total = value + sign * worth(before + place + 1, kind, seen)
                    if reached not in following or total > following[reached][0]:
                        following[reached] = total, (*path, t)
        layer = following
    return list(max(layer.values(), key=lambda found: found[0])[1])


def _with_places(judged: Judged, tied: Tied, place: Mapping[int, int]) -> Judged:
    """The run with these documents at these ranks, and nothing else changed."""
    hits = judged.all_hits
    untied = ~np.isin(hits.query, list(tied.groups))
    docs = np.array([doc for doc in place if tied.depth is None or place[doc] <= tied.depth], np.int64)
    ranks = np.array([place[doc] for doc in docs.tolist()], np.int64)
    query = judged.qrels.doc_query[docs].astype(np.int64)
    columns = (hits.query[untied], query), (hits.rank[untied], ranks), (hits.doc[untied], docs)
    joined = [np.concatenate(column) for column in columns]
    order = np.lexsort((joined[1], joined[0]))
    return Judged(judged.judgements, Hits(*(column[order] for column in joined)), judged.retrieved)
