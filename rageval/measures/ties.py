"""A measure over all orders of documents that share their score: its mean in closed form, and both ends.

In a group of g documents after `before` others, of which m are marked (relevant, or supporting a nugget),
every place is as likely for each. With s places in the top k:
    none of the marked in the top k      C(g−m, s) / C(g, s)
    all of them                          C(g−m, s−m) / C(g, s)
    the first of them at place r         C(g−r, m−1) / C(g, m)
    gain of a nugget at place r          m/g · (1−α)^seen · E[(1−α)^H],  H ~ Hypergeometric(g−1, m−1, r−1)

The ends are reached by some order. Documents of one kind (they support the same nuggets) are alike, and what
a place is worth depends on how many of each kind stand above it and on nothing else: dynamic programming over
these counts finds the best and the worst order. What stands above a group is known, so groups do not depend
on one another.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import permutations, product
from math import comb
from typing import Any, NamedTuple

from rageval.measures.ranking import (
    Gains,
    Hit,
    Nuggets,
    Ranking,
    Share,
    Topic,
    gain,
    geometric,
    graded_gains,
    logarithmic,
    novelty,
    ratio,
    reciprocal,
)

MOST_ORDERS = 5_040  # of one query, for a measure whose mean has no closed form
_MOST_STATES = 5_000  # of one group, for the best and the worst order
_NOT_JUDGED = -1
_Marked = Collection[int]


class TieGroup(NamedTuple):
    """Documents of equal score: `before` stand above them; `documents` are those that are judged."""

    before: int
    size: int
    documents: tuple[int, ...]

    def inside(self, k: int | None) -> int:
        """Return how many of its places are in the top k."""
        return self.size if k is None else min(max(k - self.before, 0), self.size)


class TiedRanking(Ranking):
    """A ranking some of whose documents share their score; `groups` hold all judged ones, also single ones.

    What it says of a cut-off is a mean over all orders; `depth_limit` is how deep rankings count at all.
    """

    def __init__(self, ranking: Ranking, groups: Sequence[TieGroup], depth_limit: int | None = None) -> None:
        super().__init__(ranking.topic, ranking.ranks, ranking.documents, ranking.retrieved)
        self.groups = groups
        self.depth_limit = depth_limit

    def top(self, k: int | None) -> int | None:
        """Return the cut-off, not below the depth to which rankings count."""
        # None means without a limit, which `min` does not know.
        limits = [limit for limit in (k, self.depth_limit) if limit is not None]
        return min(limits, default=None)

    def gains(self, k: int | None, alpha: float, rel: int = 1) -> Gains:
        """Return (rank, mean gain): sums of gains times discounts are linear in them, so they are means."""
        gains: Gains = []
        seen: Counter[int] = Counter()
        for group in self.groups:
            # How many documents of the group support each nugget; which of them comes first is left to
            # chance.
            here = Counter(n for doc in group.documents for n in self.topic.nuggets_of(doc, rel))
            terms: list[list[float]] = [[] for _ in range(group.inside(self.top(k)))]
            for nugget, marked in here.items():
                # All documents of the groups above stand above, in whatever order: their number is certain.
                factor = novelty(seen[nugget], alpha)
                for place, mean in zip(terms, _group_gains(group.size, marked, alpha), strict=False):
                    place.append(factor * mean * self.topic.weight_of(nugget))
            if here:
                gains += [(group.before + offset, math.fsum(place)) for offset, place in enumerate(terms, 1)]
            seen.update(here)
        return gains

    def marks(self, marked: _Marked) -> list[tuple[TieGroup, int]]:
        """Return how many documents of each group are marked."""
        return [(group, sum(doc in marked for doc in group.documents)) for group in self.groups]

    def none_inside(self, k: int | None, marked: _Marked) -> float:
        """Return the chance that no marked document is in the top k."""
        chance = 1.0
        for group, m in self.marks(marked):
            s = group.inside(self.top(k))
            # Hypergeometric: the s places inside go to documents that are not marked.
            chance *= comb(group.size - m, s) / comb(group.size, s)
        return chance

    def all_inside(self, k: int | None, marked: _Marked) -> float:
        """Return the chance that every marked document is in the top k."""
        chance, counted = 1.0, 0
        for group, m in self.marks(marked):
            s = group.inside(self.top(k))
            chance *= comb(group.size - m, s - m) / comb(group.size, s) if s >= m else 0.0
            counted += m
        return chance if counted == len(marked) else 0.0

    def count_inside(self, k: int | None, marked: _Marked) -> float:
        """Return how many marked documents are in the top k, on average."""
        return math.fsum(m * group.inside(self.top(k)) / group.size for group, m in self.marks(marked))

    def first_place(self, k: int | None, marked: _Marked) -> float:
        """Return the mean of 1/rank of the first marked document, 0 below the top k."""
        for group, m in self.marks(marked):
            if m:
                # The first of m marked documents stands at place r in C(size − r, m − 1) of C(size, m) ways.
                places = range(1, min(group.inside(self.top(k)), group.size - m + 1) + 1)
                ways = comb(group.size, m)
                return math.fsum(comb(group.size - r, m - 1) / ways / (group.before + r) for r in places)
        return 0.0

    def precisions(self, k: int | None, marked: _Marked) -> float:
        """Return the mean of Σ precision at the rank of each marked document in the top k."""
        terms: list[float] = []
        seen = 0
        for group, m in self.marks(marked):
            if m:
                # Given one marked document at place r, each place above it holds another with this chance.
                others = (m - 1) / (group.size - 1) if group.size > 1 else 0.0
                places = range(1, group.inside(self.top(k)) + 1)
                inside = math.fsum((1 + seen + (r - 1) * others) / (group.before + r) for r in places)
                terms.append(inside * m / group.size)
            seen += m
        return math.fsum(terms)

    def supporting(self, rel: int) -> dict[int, set[int]]:
        """Return the documents of the ranking that support each nugget."""
        documents_of: dict[int, set[int]] = {}
        for group in self.groups:
            for doc in group.documents:
                for nugget in self.topic.nuggets_of(doc, rel):
                    documents_of.setdefault(nugget, set()).add(doc)
        return documents_of

    def all_relevant(self, rel: int) -> set[int]:
        """Return the relevant documents of the query, retrieved or not."""
        return {doc for doc, grade in enumerate(self.topic.grades) if grade >= rel}

    def orders(self, k: int | None) -> Iterator[Ranking] | None:
        """Return all orders that differ in the top k, each as likely; None if they are too many."""
        groups = [(group, group.inside(self.top(k))) for group in self.groups]
        number = 1
        for group, inside in groups:
            # Orders that differ only below the cut-off are one; stop counting as soon as they are too many.
            number *= math.perm(group.size, inside)
            if number > MOST_ORDERS:
                return None
        return _all_orders(self, groups)

    def extreme(self, ties: Ties, k: int | None, parameters: _Parameters, best: bool) -> Ranking | None:
        """Return the ranking in its best (or worst) order for a measure; None if orders are too many."""
        rel = int(parameters.get("rel", 1))
        worth = ties.worth(self.topic, parameters) if ties.worth else None
        place: dict[int, int] = {}
        seen: Counter[int] = Counter()
        for group in self.groups:
            if worth is None:
                order: list[int] | None = _by_key(self, group, ties.key or _relevance, rel, best)
            else:
                kinds = {doc: self.topic.nuggets_of(doc, rel) for doc in group.documents}
                order = _extreme(group, kinds, seen, worth, group.inside(self.top(k)), best)
                for nuggets in kinds.values():
                    seen.update(nuggets)
            if order is None:
                return None
            place |= {doc: group.before + offset for offset, doc in enumerate(order, 1) if doc != _NOT_JUDGED}
        return _placed(self, place)


@lru_cache(maxsize=4096)
def _group_gains(size: int, marked: int, alpha: float) -> tuple[float, ...]:
    """Return the mean gain, place by place, of a nugget that `marked` of `size` tied documents support.

    >>> _group_gains(2, 1, 0.5), _group_gains(2, 2, 0.5)
    ((0.5, 0.5), (1.0, 0.5))
    """
    # What the nugget is worth after so many of the group's marked documents stand above.
    left_of = [novelty(drawn, alpha) for drawn in range(marked)]
    chance = [1.0] + [0.0] * (marked - 1)  # of having drawn so many of the others among the places above
    gains = []
    for place in range(size):
        gains.append(marked / size * math.fsum(c * w for c, w in zip(chance, left_of, strict=True)))
        left = size - 1 - place
        if left > 0:
            # Draw without replacement: the next place above holds one more of the others with this chance.
            another = [max(marked - 1 - drawn, 0) / left for drawn in range(marked)]
            drawn_now = [0.0, *[c * a for c, a in zip(chance, another, strict=True)][:-1]]
            chance = [c * max(1 - a, 0.0) + d for c, a, d in zip(chance, another, drawn_now, strict=True)]
    return tuple(gains)


_Worth = Callable[[int, Nuggets, Mapping[int, int]], float]  # (rank, nuggets, how often each was seen)
_Parameters = Mapping[str, Any]
_Key = Callable[[Topic, Hit | None, int], float]  # of a document, None for one that nobody judged


class Ties(NamedTuple):
    """What a measure declares of ties.

    `mean` is its mean over all orders of a `TiedRanking`; without it the measure itself gives the mean,
    because it is linear in `ranking.gains`. `worth` says what a document adds at a rank, for measures that
    look at nuggets; for the others the order with the largest `key` first is the best. With `tried` neither
    is known, and both ends are found where there are few orders.
    """

    mean: Callable[..., float] | None = None
    worth: Callable[[Topic, _Parameters], _Worth] | None = None
    key: _Key | None = None
    tried: bool = False


def _relevance(topic: Topic, hit: Hit | None, rel: int) -> float:
    """Return 1 for a relevant document."""
    return float(hit is not None and hit.grade >= rel)


def _gained(topic: Topic, parameters: _Parameters, discount: Callable[[int], float]) -> _Worth:
    alpha = parameters["alpha"]
    return lambda rank, nuggets, seen: discount(rank) * gain(nuggets, seen, alpha, topic.weight_of)


def _precisions(topic: Topic, parameters: _Parameters) -> _Worth:
    of, weight = topic.documents_of(parameters["rel"]), topic.weight_of
    return lambda rank, nuggets, seen: math.fsum((seen[n] + 1) / rank / of[n] * weight(n) for n in nuggets)


def _coverage(tied: TiedRanking, *, k: int | None, rel: int, denominator: str = "attainable") -> Share:
    weight, supporting = tied.topic.weight_of, tied.supporting(rel)
    covered = math.fsum(weight(n) * (1 - tied.none_inside(k, docs)) for n, docs in supporting.items())
    return Share(covered, tied.weight() if denominator == "listed" else tied.weight(rel))


def _map_ia(tied: TiedRanking, *, k: int | None, rel: int) -> float:
    of, weight, supporting = tied.topic.documents_of(rel), tied.topic.weight_of, tied.supporting(rel)
    precisions = [tied.precisions(k, docs) / of[n] * weight(n) for n, docs in supporting.items()]
    return ratio(math.fsum(precisions), tied.weight(rel))


def _p_ia(tied: TiedRanking, *, k: int | None, rel: int) -> Share:
    weight, supporting = tied.topic.weight_of, tied.supporting(rel)
    supported = math.fsum(weight(n) * tied.count_inside(k, docs) for n, docs in supporting.items())
    return Share(supported, tied.weight(rel) * (k or tied.retrieved))


def _recall(tied: TiedRanking, *, k: int | None, rel: int) -> Share:
    return Share(tied.count_inside(k, tied.all_relevant(rel)), tied.relevant(rel))


def _p(tied: TiedRanking, *, k: int | None, rel: int) -> Share:
    return Share(tied.count_inside(k, tied.all_relevant(rel)), k or tied.retrieved)


def _success(tied: TiedRanking, *, k: int | None, rel: int) -> float:
    return 1 - tied.none_inside(k, tied.all_relevant(rel))


def _all_gold(tied: TiedRanking, *, k: int | None, rel: int) -> float:
    return tied.all_inside(k, tied.all_relevant(rel)) if tied.relevant(rel) else 0.0


def _rr(tied: TiedRanking, *, k: int | None, rel: int) -> float:
    return tied.first_place(k, tied.all_relevant(rel))


def _ap(tied: TiedRanking, *, k: int | None, rel: int) -> float:
    return ratio(tied.precisions(k, tied.all_relevant(rel)), tied.relevant(rel))


def _ndcg(tied: TiedRanking, *, k: int | None, dcg: str) -> float:
    gains = [gain for _, gain in graded_gains(((0, grade) for grade in tied.topic.grades), dcg)]
    return ratio(_mean_dcg(tied, k, gains), tied.topic.ideal_dcg(k, dcg))


def _mean_dcg(tied: TiedRanking, k: int | None, gains: Sequence[float]) -> float:
    """Return the mean of Σ gain / log2(1 + rank); `gains` are those of the judged documents."""
    terms = []
    for group in tied.groups:
        places = range(group.before + 1, group.before + 1 + group.inside(tied.top(k)))
        discount = math.fsum(map(logarithmic, places)) / group.size
        terms += [gains[doc] * discount for doc in group.documents]
    return math.fsum(terms)


def _d_ndcg(tied: TiedRanking, *, k: int | None) -> float:
    return ratio(_mean_dcg(tied, k, tied.topic.global_gains()), tied.topic.best_dcg(k))


def _i_rec(tied: TiedRanking, *, k: int | None, rel: int) -> Share:
    supported = math.fsum(1 - tied.none_inside(k, documents) for documents in tied.supporting(rel).values())
    return Share(supported, tied.nuggets(rel))


def _d_sharp(tied: TiedRanking, *, k: int | None, gamma: float, rel: int) -> float:
    return gamma * _i_rec(tied, k=k, rel=rel) + (1 - gamma) * _d_ndcg(tied, k=k)


def _judged_inside(tied: TiedRanking, k: int | None) -> float:
    return tied.count_inside(k, {doc for group in tied.groups for doc in group.documents})


def _judged_share(tied: TiedRanking, *, k: int | None) -> Share:
    return Share(_judged_inside(tied, k), tied.depth(k))


def _hole(tied: TiedRanking, *, k: int | None) -> Share:
    return Share(tied.depth(k) - _judged_inside(tied, k), k or tied.retrieved)


# What our measures declare. Those that are sums of gains need no mean of their own.
LOGARITHMIC_GAINS = Ties(worth=lambda topic, given: _gained(topic, given, logarithmic))
RECIPROCAL_GAINS = Ties(worth=lambda topic, given: _gained(topic, given, reciprocal))
GEOMETRIC_GAINS = Ties(worth=lambda topic, given: _gained(topic, given, geometric(given["beta"])))
COVERAGE = Ties(
    _coverage,
    worth=lambda topic, given: lambda _, nuggets, seen: topic.weight([n for n in nuggets if not seen.get(n)]),
)
MAP_IA = Ties(_map_ia, worth=_precisions)
P_IA = Ties(_p_ia, worth=lambda topic, given: lambda rank, nuggets, seen: topic.weight(nuggets))
RECALL, P, SUCCESS, ALL_GOLD, RR, AP = map(Ties, (_recall, _p, _success, _all_gold, _rr, _ap))
NDCG = Ties(_ndcg, key=lambda topic, hit, rel: float(max(hit.grade, 0)) if hit else 0.0)
D_NDCG = Ties(_d_ndcg, key=lambda topic, hit, rel: topic.global_gains()[hit.document] if hit else 0.0)
D_SHARP = Ties(_d_sharp, tried=True)
I_REC = Ties(
    _i_rec, worth=lambda topic, given: lambda _, nuggets, seen: sum(not seen.get(n) for n in nuggets)
)
JUDGED = Ties(_judged_share, key=lambda topic, hit, rel: float(hit is not None))
HOLE = Ties(_hole, key=lambda topic, hit, rel: float(hit is None))


def _all_orders(tied: TiedRanking, groups: list[tuple[TieGroup, int]]) -> Iterator[Ranking]:
    orders = []
    for group, inside in groups:
        unjudged = [_NOT_JUDGED] * (group.size - len(group.documents))
        orders.append(list(permutations([*group.documents, *unjudged], inside)))
    for chosen in product(*orders):
        place = {
            doc: group.before + offset
            for (group, _), order in zip(groups, chosen, strict=True)
            for offset, doc in enumerate(order, 1)
            # Unjudged documents take places, but nothing is known of them.
            if doc != _NOT_JUDGED
        }
        yield _placed(tied, place)


def _by_key(tied: TiedRanking, group: TieGroup, key: _Key, rel: int, best: bool) -> list[int]:
    hits = {doc: Hit(0, doc, tied.topic.grades[doc], ()) for doc in group.documents}
    unjudged = [_NOT_JUDGED] * (group.size - len(group.documents))
    return sorted(
        [*group.documents, *unjudged], key=lambda doc: key(tied.topic, hits.get(doc), rel), reverse=best
    )


def _extreme(
    group: TieGroup,
    kinds: Mapping[int, Nuggets],
    seen_above: Mapping[int, int],
    worth: _Worth,
    inside: int,
    best: bool,
) -> list[int] | None:
    """Return the documents of a group in an extreme order; only the places `inside` matter."""
    waiting: dict[Nuggets, list[int]] = {}
    for doc, nuggets in kinds.items():
        waiting.setdefault(nuggets, []).append(doc)
    # Documents that support the same nuggets are interchangeable: only how many of each kind were taken
    # matters, and unjudged ones are of the kind that supports nothing.
    waiting.setdefault((), []).extend([_NOT_JUDGED] * (group.size - len(group.documents)))
    types = list(waiting)
    available = [len(waiting[kind]) for kind in types]
    if len(types) == 1:
        return waiting[types[0]]
    # So many states the programme below would visit.
    if math.prod(min(count, inside) + 1 for count in available) > _MOST_STATES:
        return None
    taken = _best_counts(types, available, group.before, seen_above, worth, inside, best)
    order = [waiting[types[t]].pop() for t in taken]
    return order + [doc for docs in waiting.values() for doc in docs]


def _best_counts(
    types: list[Nuggets],
    available: list[int],
    before: int,
    seen_above: Mapping[int, int],
    worth: _Worth,
    inside: int,
    best: bool,
) -> list[int]:
    """Return which type to take at each place, by dynamic programming over how many of each were taken."""
    # The worst order is the best one of the negated worth.
    sign = 1.0 if best else -1.0
    layer: dict[tuple[int, ...], tuple[float, tuple[int, ...]]] = {(0,) * len(types): (0.0, ())}
    for place in range(inside):
        following: dict[tuple[int, ...], tuple[float, tuple[int, ...]]] = {}
        for state, (value, path) in layer.items():
            # What stands above within the group follows from the state, not from the path: that is why the
            # programme works.
            seen = Counter(seen_above)
            for kind, count in zip(types, state, strict=True):
                seen.update(dict.fromkeys(kind, count))
            for t, kind in enumerate(types):
                if state[t] < available[t]:
                    reached = (*state[:t], state[t] + 1, *state[t + 1 :])
                    total = value + sign * worth(before + place + 1, kind, seen)
                    if reached not in following or total > following[reached][0]:
                        following[reached] = total, (*path, t)
        layer = following
    return list(max(layer.values(), key=lambda entry: entry[0])[1])


def _placed(tied: TiedRanking, place: Mapping[int, int]) -> Ranking:
    """Return the ranking with these documents at these ranks."""
    limit = tied.depth_limit
    by_rank = sorted((rank, doc) for doc, rank in place.items() if limit is None or rank <= limit)
    return Ranking(tied.topic, [rank for rank, _ in by_rank], [doc for _, doc in by_rank], tied.retrieved)
