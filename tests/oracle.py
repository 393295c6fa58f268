"""Every measure once more, slowly, straight from its formula; gains exact, as fractions.

Data is plain: a run `{query: {doc: score}}`, judgements `{query: {nugget: {doc: grade}}}`. Nothing here
is shared with the package.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations
from math import log2

Run = dict[str, dict[str, float]]
Qrels = dict[str, dict[str, dict[str, int]]]
Nuggets = dict[str, frozenset[str]]


def bytes_descending(doc: str) -> tuple[int, ...]:
    """Sorts ids by bytes, the largest first (a shorter id after its extensions)."""
    return (*(-byte for byte in doc.encode()), 1)


@dataclass(frozen=True)
class Rules:
    """What the formulas leave to convention, as the package has it."""

    tie: Callable[[str], object] = bytes_descending


RIGHT = Rules()


class Query:
    """One query's ranking and judgements at a grade `rel`."""

    def __init__(
        self,
        ranking: dict[str, float],
        judged: dict[str, dict[str, int]],
        rel: int,
        rules: Rules,
        weights: dict[str, Fraction] | None = None,
    ):
        self.rules = rules
        self.judged = judged
        mean = sum(weights[nugget] for nugget in judged) / len(judged) if weights and judged else Fraction(1)
        self.weight = {nugget: weights[nugget] / mean if weights else Fraction(1) for nugget in judged}
        self.ranking = sorted(ranking, key=lambda doc: (-ranking[doc], rules.tie(doc)))
        self.listed = set(judged)
        grades: dict[str, list[int]] = {}
        for nugget in judged:
            for doc, grade in judged[nugget].items():
                grades.setdefault(doc, []).append(grade)
        self.grade = {doc: max(grade) for doc, grade in grades.items()}
        self.supports: Nuggets = {
            doc: frozenset(n for n in judged if judged[n].get(doc, rel - 1) >= rel) for doc in self.grade
        }
        self.relevant = {doc for doc in self.grade if self.grade[doc] >= rel}
        self.attainable = frozenset().union(*self.supports.values()) if self.supports else frozenset()

    def top(self, k: int | None) -> list[str]:
        return self.ranking[:k]

    def gains(self, docs: Sequence[str], alpha: Fraction) -> list[Fraction]:
        sets = [self.supports.get(doc, frozenset()) for doc in docs]
        return gains(sets, 1 - alpha, self.weight)

    def mass(self, nuggets: Iterable[str]) -> Fraction:
        """What nuggets weigh together, in units of the mean weight."""
        return sum((self.weight[nugget] for nugget in nuggets), Fraction(0))

    def global_gain(self, doc: str) -> Fraction:
        """Σ weight · grade over the nuggets of a document."""
        return sum((self.weight[n] * max(self.judged[n].get(doc, 0), 0) for n in self.judged), Fraction(0))

    def ideal(self, alpha: Fraction, k: int | None) -> list[Fraction]:
        """Gains of the greedy ideal ranking."""
        return self.gains(self.ideal_order(alpha, k), alpha)

    def ideal_order(self, alpha: Fraction, k: int | None) -> list[str]:
        """The documents that support something, by gain, ties by `ideal_tie`."""
        left = [doc for doc in self.supports if self.supports[doc]]
        taken: list[str] = []
        decay = 1 - alpha
        while left and (k is None or len(taken) < k):
            sets = [self.supports[doc] for doc in taken]
            gain = {doc: gains([*sets, self.supports[doc]], decay, self.weight)[-1] for doc in left}
            best = max(gain.values())
            chosen = min((doc for doc in left if gain[doc] == best), key=bytes_descending)
            taken.append(chosen)
            left.remove(chosen)
        return taken


def gains(
    sets: Sequence[frozenset[str]],
    decay: Fraction,
    weight: dict[str, Fraction] | None = None,
) -> list[Fraction]:
    """Σ over a document's nuggets of decay^(how often the nugget was seen above)."""
    seen: dict[str, int] = {}
    result = []
    for nuggets in sets:
        worth = {nugget: 1 if weight is None else weight[nugget] for nugget in nuggets}
        result.append(sum((worth[n] * decay ** seen.get(n, 0) for n in nuggets), Fraction(0)))
        for nugget in nuggets:
            seen[nugget] = seen.get(nugget, 0) + 1
    return result


def share(value: float | Fraction, total: float | Fraction) -> float:
    return float(value) / float(total) if total else 0.0


def dcg(values: Sequence[Fraction]) -> float:
    return sum(float(value) / log2(rank) for rank, value in enumerate(values, 2))


def err(values: Sequence[Fraction]) -> Fraction:
    return sum((value / rank for rank, value in enumerate(values, 1)), Fraction(0))


def rbp(values: Sequence[Fraction], beta: Fraction) -> Fraction:
    return sum((value * beta**index for index, value in enumerate(values)), Fraction(0))


def alpha_dcg(q: Query, k: int | None, alpha: Fraction = Fraction(1, 2)) -> float:
    return dcg(q.gains(q.top(k), alpha))


def alpha_ndcg(q: Query, k: int | None, alpha: Fraction = Fraction(1, 2)) -> float:
    return share(alpha_dcg(q, k, alpha), dcg(q.ideal(alpha, k)))


def err_ia(q: Query, k: int | None, alpha: Fraction = Fraction(1, 2)) -> float:
    depth = len(q.ranking) if k is None else k
    most = err([q.mass(q.attainable) * (1 - alpha) ** index for index in range(depth)])
    return share(err(q.gains(q.top(k), alpha)), most)


def nerr_ia(q: Query, k: int | None, alpha: Fraction = Fraction(1, 2)) -> float:
    return share(err(q.gains(q.top(k), alpha)), err(q.ideal(alpha, k)))


def nrbp(q: Query, k: int | None, alpha: Fraction = Fraction(1, 2), beta: Fraction = Fraction(1, 2)) -> float:
    total = rbp(q.gains(q.top(k), alpha), beta) * (1 - (1 - alpha) * beta)
    return share(total, q.mass(q.attainable))


def nnrbp(
    q: Query, k: int | None, alpha: Fraction = Fraction(1, 2), beta: Fraction = Fraction(1, 2)
) -> float:
    return share(rbp(q.gains(q.top(k), alpha), beta), rbp(q.ideal(alpha, k), beta))


def coverage(q: Query, k: int | None) -> float:
    return share(q.mass(nuggets_in_top(q, k)), q.mass(q.listed))


def strec(q: Query, k: int | None) -> float:
    return share(q.mass(nuggets_in_top(q, k)), q.mass(q.attainable))


def i_rec(q: Query, k: int | None) -> float:
    return share(len(nuggets_in_top(q, k)), len(q.attainable))


def d_ndcg(q: Query, k: int | None) -> float:
    best = sorted(map(q.global_gain, q.grade), reverse=True)[:k]
    return share(dcg([q.global_gain(doc) for doc in q.top(k)]), dcg(best))


def d_sharp(q: Query, k: int | None, gamma: Fraction = Fraction(1, 2)) -> float:
    return float(gamma) * i_rec(q, k) + float(1 - gamma) * d_ndcg(q, k)


def nuggets_in_top(q: Query, k: int | None) -> set[str]:
    return {nugget for doc in q.top(k) for nugget in q.supports.get(doc, ())}


def map_ia(q: Query, k: int | None) -> float:
    total = Fraction(0)
    for nugget in q.attainable:
        having = {doc for doc in q.supports if nugget in q.supports[doc]}
        total += q.weight[nugget] * sum_of_precisions(q, k, having) / len(having)
    return share(total, q.mass(q.attainable))


def sum_of_precisions(q: Query, k: int | None, having: set[str]) -> Fraction:
    total, count = Fraction(0), 0
    for rank, doc in enumerate(q.top(k), 1):
        if doc in having:
            count += 1
            total += Fraction(count, rank)
    return total


def p_ia(q: Query, k: int | None) -> float:
    hits = sum(q.mass(q.supports.get(doc, ())) for doc in q.top(k))
    return share(hits, q.mass(q.attainable) * (len(q.ranking) if k is None else k))


def retrieved(q: Query, k: int | None) -> int:
    return sum(doc in q.relevant for doc in q.top(k))


def recall(q: Query, k: int | None) -> float:
    return share(retrieved(q, k), len(q.relevant))


def all_gold(q: Query, k: int | None) -> float:
    return float(bool(q.relevant) and q.relevant <= set(q.top(k)))


def p(q: Query, k: int | None) -> float:
    return share(retrieved(q, k), len(q.ranking) if k is None else k)


def success(q: Query, k: int | None) -> float:
    return float(retrieved(q, k) > 0)


def ap(q: Query, k: int | None) -> float:
    return share(sum_of_precisions(q, k, q.relevant), len(q.relevant))


def rr(q: Query, k: int | None) -> float:
    return next((1 / rank for rank, doc in enumerate(q.top(k), 1) if doc in q.relevant), 0.0)


def ndcg(q: Query, k: int | None) -> float:
    ideal = sorted((grade for grade in q.grade.values() if grade > 0), reverse=True)[:k]
    gained = [Fraction(max(q.grade.get(doc, 0), 0)) for doc in q.top(k)]
    return share(dcg(gained), dcg([Fraction(grade) for grade in ideal]))


def judged(q: Query, k: int | None) -> float:
    return share(sum(doc in q.grade for doc in q.top(k)), len(q.top(k)))


def hole(q: Query, k: int | None) -> float:
    return share(sum(doc not in q.grade for doc in q.top(k)), len(q.ranking) if k is None else k)


def depth(q: Query, k: int | None) -> int:
    return len(q.ranking) if k is None else k


# Part and whole of every measure that is a share, as fractions of counts.
PARTS: dict[str, tuple[Callable[[Query, int | None], int], Callable[[Query, int | None], int]]] = {
    "coverage": (lambda q, k: len(nuggets_in_top(q, k)), lambda q, k: len(q.listed)),
    "strec": (lambda q, k: len(nuggets_in_top(q, k)), lambda q, k: len(q.attainable)),
    "i_rec": (lambda q, k: len(nuggets_in_top(q, k)), lambda q, k: len(q.attainable)),
    "recall": (retrieved, lambda q, k: len(q.relevant)),
    "p": (retrieved, depth),
    "p_ia": (
        lambda q, k: sum(len(q.supports.get(doc, ())) for doc in q.top(k)),
        lambda q, k: len(q.attainable) * depth(q, k),
    ),
    "judged": (lambda q, k: sum(doc in q.grade for doc in q.top(k)), lambda q, k: len(q.top(k))),
    "hole": (lambda q, k: sum(doc not in q.grade for doc in q.top(k)), depth),
}

NOVELTY = (alpha_ndcg, alpha_dcg, err_ia, nerr_ia, nrbp, nnrbp)
INTENTS = (d_ndcg, i_rec, d_sharp)
OTHERS = (coverage, strec, map_ia, p_ia, *INTENTS, recall, ndcg, ap, rr, p, success, all_gold, judged, hole)
MEASURES: dict[str, Callable[..., float]] = {function.__name__: function for function in (*NOVELTY, *OTHERS)}


def evaluate(
    name: str,
    run: Run,
    qrels: Qrels,
    k: int | None,
    rules: Rules = RIGHT,
    rel: int = 1,
    weights: dict[str, dict[str, Fraction]] | None = None,
    **parameters: Fraction,
) -> dict[str, float]:
    """The values of one measure, by query."""
    of = weights or {}
    return {
        query: MEASURES[name](
            Query(run.get(query, {}), qrels[query], rel, rules, of.get(query)), k, **parameters
        )
        for query in qrels
    }


def pooled(name: str, run: Run, qrels: Qrels, k: int | None, rel: int = 1) -> float:
    """One share of what all queries hold: all parts over all wholes."""
    queries = [Query(run.get(query, {}), qrels[query], rel, RIGHT) for query in qrels]
    part, whole = PARTS[name]
    return share(sum(part(q, k) for q in queries), sum(whole(q, k) for q in queries))


def exponential_ndcg(q: Query, k: int | None) -> float:
    ideal = sorted((grade for grade in q.grade.values() if grade > 0), reverse=True)[:k]
    gained = [Fraction(2) ** max(q.grade.get(doc, 0), 0) - 1 for doc in q.top(k)]
    return share(dcg(gained), dcg([Fraction(2) ** grade - 1 for grade in ideal]))


def independent_alpha_dcg(q: Query, k: int | None, alpha: Fraction = Fraction(1, 2)) -> float:
    depth = len(q.ranking) if k is None else k
    most = dcg([q.mass(q.attainable) * (1 - alpha) ** index for index in range(depth)])
    return share(alpha_dcg(q, k, alpha), most)


def plain_err_ia(q: Query, k: int | None, alpha: Fraction = Fraction(1, 2)) -> float:
    return float(err(q.gains(q.top(k), alpha)))


VARIANTS: dict[str, Callable[..., float]] = {
    "ndcg(dcg=exp_log2)": exponential_ndcg,
    "coverage(denominator=attainable)": strec,
    "alpha_dcg(normalize=independent)": independent_alpha_dcg,
    "err_ia(normalize=none)": plain_err_ia,
}


def optimum(q: Query, k: int, alpha: Fraction = Fraction(1, 2)) -> float:
    """The largest alpha-DCG that any order of the judged documents has: all of them are tried."""
    supporting = [doc for doc in q.supports if q.supports[doc]]
    orders = permutations(supporting, min(k, len(supporting)))
    return max(dcg(q.gains(order, alpha)) for order in orders)
