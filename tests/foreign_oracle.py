"""ir_measures' measures once more, slowly, from their definitions, for one query."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from oracle import Query, alpha_ndcg, err_ia, ndcg, p, recall, rr, share, success
from oracle import ap as average_precision


def accuracy(q: Query, k: int | None) -> float:
    """How often a relevant document stands above one that is not, of the pairs in the top k.

    It is undefined where the top k holds no relevant document, though there are some.
    """
    top = q.top(k)
    relevant = [index for index, doc in enumerate(top) if doc in q.relevant]
    others = [index for index, doc in enumerate(top) if doc not in q.relevant]
    if not relevant:
        return math.nan if q.ranking and q.relevant else 0.0
    pairs = [good < bad for good in relevant for bad in others]
    return sum(pairs) / len(pairs) if pairs else math.nan


def bpref(q: Query, _: int | None) -> float:
    nonrelevant = {doc for doc in q.grade if doc not in q.relevant and q.grade[doc] >= 0}
    total, seen, r = 0.0, 0, len(q.relevant)
    for doc in q.ranking:
        seen += doc in nonrelevant
        if doc in q.relevant:
            total += 1 - (min(seen, r) / min(r, len(nonrelevant)) if seen else 0)
    return share(total, r)


def compat(q: Query, _: int | None, persistence: float = 0.95) -> float:
    """Rank-biased overlap with the ranking by grade, over that of this ranking with itself."""
    place = {doc: index for index, doc in enumerate(q.ranking)}
    ideal = [doc for doc in q.grade if q.grade[doc] > 0]
    ideal.sort(key=lambda doc: (-q.grade[doc], place.get(doc, len(place))))
    if not q.ranking or not ideal:
        return 0.0
    depth = max(len(q.ranking), len(ideal))

    def overlap(one: list[str]) -> float:
        return sum(
            persistence ** (d - 1) * len(set(one[:d]) & set(ideal[:d])) / d for d in range(1, depth + 1)
        )

    return overlap(q.ranking) / overlap(ideal)


def err(q: Query, k: int | None) -> float:
    """Expected reciprocal rank, for grades up to 4."""
    total, going_on = 0.0, 1.0
    for rank, doc in enumerate(q.top(k), 1):
        stop = (2 ** max(q.grade.get(doc, 0), 0) - 1) / 16
        total += going_on * stop / rank
        going_on *= 1 - stop
    return total


def inferred(q: Query, _: int | None) -> float:
    """infAP; -1 is a document of the pool that was not judged."""
    total = 0.0
    for rank, doc in enumerate(q.ranking, 1):
        if doc not in q.relevant:
            continue
        higher = [other for other in q.ranking[: rank - 1] if other in q.grade]
        judged = [other for other in higher if other in q.relevant or q.grade[other] >= 0]
        good = sum(other in q.relevant for other in judged)
        total += 1 / rank + len(higher) / rank * (good + 1e-5) / (len(judged) + 2e-5)
    return share(total, len(q.relevant))


def interpolated(level: float) -> Callable[[Query, int | None], float]:
    """The best precision at any rank where so many are found, as trec_eval 9 counts them."""

    def value(q: Query, _: int | None) -> float:
        needed = int(level * len(q.relevant) + 0.9)
        precisions = [0.0]
        for rank in range(1, len(q.ranking) + 1):
            hits = sum(doc in q.relevant for doc in q.ranking[:rank])
            precisions += [hits / rank] if hits >= needed else []
        return max(precisions)

    return value


def r_precision(q: Query, _: int | None) -> float:
    return share(sum(doc in q.relevant for doc in q.top(len(q.relevant))), len(q.relevant))


def retrieved_and_relevant(q: Query) -> int:
    return sum(doc in q.relevant for doc in q.ranking)


def set_f(q: Query, _: int | None) -> float:
    one, other = p(q, None), recall(q, None)
    return share(2 * one * other, one + other)


FOREIGN: dict[str, Callable[[Query, Any], float]] = {
    "Accuracy": accuracy,
    "Bpref": bpref,
    "Compat": compat,
    "ERR": err,
    "infAP": inferred,
    "IPrec@0.0": interpolated(0.0),
    "IPrec@0.5": interpolated(0.5),
    "NumQ": lambda q, k: 1.0,
    "NumRel": lambda q, k: float(len(q.relevant)),
    "NumRet": lambda q, k: float(len(q.ranking)),
    "NumRet(rel=1)": lambda q, k: float(retrieved_and_relevant(q)),
    "Rprec": r_precision,
    "SetP": lambda q, k: p(q, None),
    "SetP(relative=True)": lambda q, k: share(
        retrieved_and_relevant(q), min(len(q.ranking), len(q.relevant))
    ),
    "SetR": lambda q, k: recall(q, None),
    "SetF": set_f,
    "SetAP": lambda q, k: p(q, None) * recall(q, None),
}
# Measures that are ours, but for a parameter that only ir_measures has: of judged documents only.
JUDGED_ONLY: dict[str, Callable[[Query, Any], float]] = {
    "P": p,
    "RR": rr,
    "AP": average_precision,
    "nDCG": ndcg,
    "R": recall,
    "alpha_nDCG": alpha_ndcg,
    "ERR_IA": err_ia,
    "Success": success,
    "Rprec": r_precision,
    "SetP": lambda q, k: p(q, None),
    "SetF": set_f,
    "SetAP": lambda q, k: p(q, None) * recall(q, None),
    "IPrec@0.5": interpolated(0.5),
}
