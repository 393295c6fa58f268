"""What unjudged documents could change: a measure over all ways to judge those that a run retrieved.

A completion gives every unjudged document of the ranking any nuggets of the query, or none. With u of them in
the top k and v below it, c of N nuggets covered, h of R relevant documents found, the ends are:
    coverage    c/N, and 1 if u > 0
    recall      h/(R + v), and (h + u)/(R + u)
    ap          with x of the u relevant: the x deepest, of R + x + v; the x first, of R + x; over x = 0 … u
    alpha_dcg   as it is, and every unjudged document of the top k supporting every nugget
    alpha_ndcg  min Σ_n f_n(s_n) / Σ_n U_n(s_n + v), where the s_n deepest unjudged documents of the top k
                support nugget n, f_n is its gain, and U_n its gain had it the first ranks for itself; and the
                largest numerator over the smallest ideal, at most 1 (for the greedy ideal, at most its cap)
    err_ia, nrbp, p_ia      as alpha_dcg, over the nuggets that some document supports: those that none does
                yet all stay without, or all get one, at the deepest place or at every open one
    ndcg        grade by grade: of the documents with grade l or better the run's discounts, over those of as
                many first ranks; m_1 ≥ m_2 ≥ … of the unjudged documents have these grades, no higher ones
                than the highest of all judgements

All but those of alpha_ndcg (and nerr_ia, nnrbp, which are like it) are reached by some completion; there
numerator and ideal move together, and neither of the two obvious completions is an end. Beside another run,
unjudged documents that only that run retrieves may be relevant as well.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from itertools import accumulate, product
from types import MappingProxyType
from typing import Any, NamedTuple, Self

from rageval.measures.ranking import (
    Discount,
    Nuggets,
    Ranking,
    Share,
    Topic,
    always_there,
    geometric,
    graded_gain,
    logarithmic,
    novelty,
    ratio,
    reciprocal,
)

_Parameters = Mapping[str, Any]
Document = int | str  # the number of a judged document, the id of one that nobody judged
_SLACK = 1e-12
_ROUNDING = 1e-9  # far more than what adding up so many terms loses
_MOST_DOCUMENTS = 10  # 2^10 sets of unjudged documents that support a nugget


class Ends(NamedTuple):
    """Between what values something lies."""

    low: float
    high: float


class _Top(NamedTuple):
    """A ranking to the cut-off: what each document supports, None where nobody judged it, and its grade.

    `others` are unjudged documents that may be relevant, too: below the cut-off, or in another run. What was
    made of everything but these is `kept` for other numbers of them.
    """

    topic: Topic
    rel: int
    k: int | None
    supported: list[Nuggets | None]
    grades: list[int | float]  # 0 where nobody judged
    retrieved: int
    others: int
    kept: dict[str, Any]

    @property
    def unjudged(self) -> list[int]:
        """Places (from 0) of unjudged documents."""
        return [place for place, nuggets in enumerate(self.supported) if nuggets is None]

    @property
    def covered(self) -> set[int]:
        """The nuggets that judged documents support."""
        return {nugget for nuggets in self.supported for nugget in nuggets or ()}

    @property
    def relevant(self) -> list[int]:
        """Places of relevant documents."""
        return [place for place, nuggets in enumerate(self.supported) if nuggets]

    @property
    def total(self) -> int:
        """How many documents are relevant, retrieved or not."""
        return self.topic.relevant(self.rel)


class Bounds(NamedTuple):
    """What a measure declares of unjudged documents.

    `ends` are its ends for one ranking; `least` is the least that one ranking can be above another, where
    more is known of this than the difference of their ends. They are `graded` where it matters what the
    highest grade is that an unjudged document may have, and hold `only` with these values of parameters.
    """

    ends: Callable[[_Top, _Parameters], Ends]
    least: Callable[[Topic, int, int | None, Both, _Parameters], float] | None = None
    graded: bool = False
    only: Mapping[str, tuple[str, ...]] = MappingProxyType({"normalize": ("none",)})

    def known_for(self, parameters: _Parameters) -> bool:
        """Return whether they hold with these parameters."""
        return all(parameters.get(name, allowed[0]) in allowed for name, allowed in self.only.items())

    def difference(
        self, one: Retrieved, other: Retrieved, values: tuple[float, float], parameters: _Parameters
    ) -> Ends:
        """Return the least and the most that the first ranking's value can be above the second's."""
        everything = len(one.unjudged) + len(other.unjudged) - len(one.unjudged & other.unjudged)
        if not everything:
            return Ends(values[0] - values[1], values[0] - values[1])
        ends, ends_of_other = (
            self.ends(retrieved.top._replace(others=everything - retrieved.open), parameters)
            for retrieved in (one, other)
        )
        # Right, but wide: both rankings are completed each in its own worst way.
        low, high = ends.low - ends_of_other.high, ends.high - ends_of_other.low
        if self.least is None or parameters.get("denominator") == "attainable":
            return Ends(low, high)
        topic, rel, k, *_ = one.top
        tops = Both(one.documents[:k], other.documents[:k])
        tops = tops._replace(below=everything - len(_unjudged(tops.one) | _unjudged(tops.other)))
        # Often sharper: one completion for both rankings. The truth satisfies both, so the larger of the two
        # holds.
        low = max(low, self.least(topic, rel, k, tops, parameters))
        return Ends(low, min(high, -self.least(topic, rel, k, tops.swapped(), parameters)))


class Retrieved(NamedTuple):
    """A ranking to be bounded beside others: its documents, those that nobody judged, and its top.

    `open` is how many of the top nobody judged.
    """

    documents: Sequence[Document]
    unjudged: Set[str]
    top: _Top
    open: int

    @classmethod
    def of(cls, ids: Sequence[str], topic: Topic, k: int | None, parameters: _Parameters) -> Self:
        """Take the ids of a ranking, best first, and the judgements."""
        rel, numbers = int(parameters.get("rel", 1)), topic.numbers
        # By number where they are judged, by id where they are not.
        documents: list[Document] = [numbers.get(doc, doc) for doc in ids]
        top = documents[:k]
        nuggets_of, grade = topic.supported(rel).__getitem__, topic.grades.__getitem__
        supported = [None if isinstance(doc, str) else nuggets_of(doc) for doc in top]
        grades = [0 if isinstance(doc, str) else grade(doc) for doc in top]
        seen = _Top(topic, rel, k, supported, grades, len(ids), 0, {})
        return cls(documents, _unjudged(documents), seen, supported.count(None))


def ranked(
    ranking: Ranking, k: int | None, rel: int, undecided: tuple[Sequence[int], int] | None = None
) -> _Top:
    """Return the top k of a ranking beside the judgements; what is unjudged below it may be relevant.

    Where it is known which documents are `undecided` (their ranks, and how many there are, retrieved or not),
    others that are not judged are not relevant.
    """
    depth = ranking.depth(k)
    ranks, number = undecided if undecided is not None else ((), 0)
    supported: list[Nuggets | None] = [None if undecided is None else ()] * depth
    grades: list[int | float] = [0] * depth
    for rank in ranks:
        if rank <= depth:
            supported[rank - 1] = None
    judged_below = 0
    for hit in ranking.hits(rel=None):
        if hit.rank <= depth:
            supported[hit.rank - 1] = hit.nuggets if rel == 1 else ranking.topic.nuggets_of(hit.document, rel)
            grades[hit.rank - 1] = hit.grade
        else:
            judged_below += 1
    if undecided is not None:
        others = number - supported.count(None)
        return _Top(ranking.topic, rel, k, supported, grades, ranking.retrieved, others, {})
    # Unjudged documents below the cut-off are not scored, but may be relevant, which lowers recall.
    others = ranking.retrieved - depth - judged_below
    return _Top(ranking.topic, rel, k, supported, grades, ranking.retrieved, others, {})


def _coverage_ends(query: _Top, parameters: _Parameters) -> Ends:
    """Return the ends of coverage, of listed or of attainable nuggets."""
    listed = parameters.get("denominator") == "listed"
    everything = query.topic.listed
    total = everything if listed else query.topic.attainable(query.rel)
    covered = Share(len(query.covered), total)
    # An unjudged document below may support nuggets that nobody attains yet, and so enlarge what is
    # attainable.
    low = covered if listed or not query.others else Share(len(query.covered), everything)
    return Ends(low, Share(everything, everything) if query.unjudged else covered)


def _recall_ends(query: _Top, _: _Parameters) -> Ends:
    """Return the ends of recall."""
    relevant, total, more = len(query.relevant), query.total, len(query.unjudged)
    # Least: every unjudged document is relevant but those in the top k; most: those are, and no other.
    return Ends(Share(relevant, total + query.others), Share(relevant + more, total + more))


def _all_gold_ends(query: _Top, _: _Parameters) -> Ends:
    """Return the ends of all_gold."""
    complete = len(query.relevant) == query.total
    there = query.total > 0
    low = complete and there and not query.others
    return Ends(float(low), float(complete and (there or bool(query.unjudged))))


def _p_ends(query: _Top, _: _Parameters) -> Ends:
    """Return the ends of precision."""
    depth = query.k or query.retrieved
    relevant, more = len(query.relevant), len(query.unjudged)
    return Ends(Share(relevant, depth), Share(relevant + more, depth))


def _success_ends(query: _Top, _: _Parameters) -> Ends:
    """Return the ends of success."""
    return Ends(float(bool(query.relevant)), float(bool(query.relevant or query.unjudged)))


def _rr_ends(query: _Top, _: _Parameters) -> Ends:
    """Return the ends of the reciprocal rank."""

    def first(places: list[int]) -> float:
        return 1 / (min(places) + 1) if places else 0.0

    return Ends(first(query.relevant), first(query.relevant + query.unjudged))


def _ap_ends(query: _Top, _: _Parameters) -> Ends:
    """Return the ends of average precision.

    With x more relevant documents in the top k, the best places for them are the first open ones, and the
    worst the last; x itself has to be tried, because each also counts in the denominator. One walk over the
    open places tries all x, each by what it adds to the sum of the one before.
    """
    kept = query.kept
    if not kept:  # beside other rankings it is asked once for each, with another number of others
        kept["most"], kept["sums"], kept["places"] = _ap_walked(query)
        kept["exact"] = {}
    least = _tried(kept["sums"], query.total + query.others, min, kept["places"], kept["exact"])
    return Ends(least, kept["most"])


_Places = Callable[[int], list[int]]


def _ap_walked(query: _Top) -> tuple[float, list[float], _Places]:
    """Return the most that AP can be, and the sums with 0, 1, … of the last open places relevant.

    With these goes where the relevant documents then are.
    """
    relevant, open_ = query.relevant, query.unjudged
    before = list(accumulate(map(bool, query.supported)))  # relevant documents to each place
    # Σ 1/rank of the relevant documents from each place on, without the open ones, and with them.
    behind, behind_all = (
        list(accumulate((1 / (place + 1) if place in there else 0.0 for place in places), initial=0.0))[::-1]
        for places in (range(len(before) - 1, -1, -1),)
        for there in (set(relevant), {*relevant, *open_})
    )
    now = math.fsum(number / (place + 1) for number, place in enumerate(relevant, 1))
    first = ((before[place] + x) / (place + 1) + behind[place] for x, place in enumerate(open_, 1))
    last = ((before[place] + 1) / (place + 1) + behind_all[place + 1] for place in reversed(open_))
    growing = list(accumulate(first, initial=now))
    most = _tried(growing, query.total, max, lambda x: [*relevant, *open_[:x]], {})
    sums = list(accumulate(last, initial=now))
    return most, sums, lambda x: [*relevant, *open_[len(open_) - x :]]


def _tried(
    sums: list[float],
    total: int,
    end: Callable[[Iterable[float]], float],
    places: _Places,
    exact: dict[int, float],
) -> float:
    """Return the end of AP over x = 0, 1, …; sums are rounded, so what may be the end is made exactly."""
    values = [part / (whole or 1) for whole, part in enumerate(sums, total)]
    nearly = end(values)
    least, most = nearly - _ROUNDING, nearly + _ROUNDING
    averages = []
    for x in [x for x, value in enumerate(values) if least <= value <= most]:
        if x not in exact:
            exact[x] = math.fsum(number / (place + 1) for number, place in enumerate(sorted(places(x)), 1))
        averages.append(ratio(exact[x], total + x))
        if averages[-1] == end((0.0, 1.0)):  # no average precision is beyond it
            break
    return end(averages)


def _gain_ends(query: _Top, parameters: _Parameters, discount: Discount = logarithmic) -> Ends:
    """Return the ends of a sum of gains, such as alpha-DCG."""
    alpha, open_ = parameters["alpha"], query.unjudged
    low, high = (
        math.fsum(
            _nugget_gain(_places(query, nugget, more), alpha, discount)
            for nugget in range(query.topic.listed)
        )
        # A supporting document adds gain, and takes a share of it from those below; the sum grows all the
        # same.
        for more in ([], open_)
    )
    return Ends(low, high)


def _attainable_ends(query: _Top, alpha: float, discount: Discount, whole: float) -> Ends:
    """Return the ends of Σ gain / (attainable nuggets · whole), where each nugget gains by itself.

    A nugget that no judged document supports may be attained, or not: all of these are alike, so that the
    ends are where none of them is, or all are.
    """
    documents_of, listed = query.topic.documents_of(query.rel), query.topic.listed
    attained, open_ = [nugget for nugget in range(listed) if nugget in documents_of], query.unjudged
    new = listed - len(attained) if open_ or query.others else 0
    # Least: a new one is supported below the cut-off, or by the deepest open document; most: by all of them.
    deepest = [] if query.others else open_[-1:]
    ends = []
    for more, of_new, end in (([], deepest, min), (open_, open_, max)):
        gained = [_nugget_gain(_places(query, nugget, more), alpha, discount) for nugget in attained]
        alone = _nugget_gain(of_new, alpha, discount)
        ends.append(
            end(
                ratio(math.fsum([*gained, number * alone]), whole * (len(attained) + number))
                for number in (0, new)
            )
        )
    return Ends(*ends)


def _err_ia_ends(query: _Top, parameters: _Parameters) -> Ends:
    """Return the ends of ERR-IA."""
    if parameters["normalize"] == "none":
        return _gain_ends(query, parameters, reciprocal)
    whole = always_there(query.k or query.retrieved, parameters["alpha"], reciprocal)
    return _attainable_ends(query, parameters["alpha"], reciprocal, whole)


def _nrbp_ends(query: _Top, parameters: _Parameters) -> Ends:
    """Return the ends of NRBP."""
    alpha, beta = parameters["alpha"], parameters["beta"]
    scale = 1 - (1 - alpha) * beta
    return Ends(*(scale * end for end in _attainable_ends(query, alpha, geometric(beta), 1.0)))


def _p_ia_ends(query: _Top, _: _Parameters) -> Ends:
    """Return the ends of intent-aware precision, of which seeing a nugget again gains as much."""
    return _attainable_ends(query, 0.0, lambda rank: 1.0, query.k or query.retrieved)


def _ideal_ends(query: _Top, parameters: _Parameters, discount: Discount) -> Ends:
    """Return the ends of a sum of gains over that of an ideal ranking."""
    alpha, k = parameters["alpha"], query.k
    _, high = _gain_ends(query, parameters, discount)
    ideal = query.topic.ideal_sum(k, alpha, query.rel, discount)
    least_ideal, cap = (ideal, 1.0) if parameters.get("ideal") == "exact" else _greedily(ideal, k)
    # More judgements never make the ideal smaller: the present one is the least.
    most = min(cap, high / least_ideal) if least_ideal else (cap if high else 0.0)
    low = _least_ratio(query, alpha, k, discount) if query.total else 0.0  # nothing to find scores 0
    return Ends(low, most)


def _greedily(ideal: float, k: int | None) -> tuple[float, float]:
    """Return the least ideal that greedy finds on a completion, and the cap of what is measured by it."""
    # Greedy reaches this share of the optimum of a monotone submodular sum (Nemhauser et al., 1978).
    share = 1 - (1 - 1 / k) ** k if k else 1 - math.exp(-1)
    return share * ideal, 1 / share


def _least_ratio(query: _Top, alpha: float, k: int | None, discount: Discount) -> float:
    """Return min Σ f_n(s_n) / Σ U_n(s_n) by Dinkelbach: at each ratio every nugget decides alone."""
    open_, documents_of = query.unjudged, query.topic.documents_of(query.rel)
    # A pair (gain in the run, most gain in an ideal) for each number s of unjudged documents that support the
    # nugget: the last open places are the least useful ones.
    choices = []
    for nugget in range(query.topic.listed):
        there = documents_of.get(nugget, 0) + query.others
        gains = [
            _nugget_gain(_places(query, nugget, open_[len(open_) - s :]), alpha, discount)
            for s in range(len(open_) + 1)
        ]
        best = [_first_ranks_gain(there + s, alpha, k, discount) for s in range(len(open_) + 1)]
        choices.append(list(zip(gains, best, strict=True)))
    reached = math.inf
    while True:
        # The first round has no ratio yet; a large price makes every nugget choose the largest ideal.
        priced = min(reached, 1e6)
        # At a fixed ratio the minimum of f − ratio·U is a sum over nuggets, so each chooses alone.
        chosen = [min(choice, key=lambda pair: pair[0] - priced * pair[1]) for choice in choices]
        numerator = math.fsum(gain for gain, _ in chosen)
        denominator = math.fsum(most for _, most in chosen)
        following = ratio(numerator, denominator)
        # Dinkelbach's ratios fall until they stay: then this one is the minimum.
        if not denominator or following >= reached - _SLACK:
            return following if denominator else 0.0
        reached = following


def _places(query: _Top, nugget: int, more: Sequence[int]) -> list[int]:
    """Return where documents support a nugget, if the unjudged ones at the places `more` do."""
    return sorted([place for place, has in enumerate(query.supported) if has and nugget in has] + list(more))


def _nugget_gain(places: Sequence[int], alpha: float, discount: Discount = logarithmic) -> float:
    """Return Σ (1−α)^c · discount over the documents, at places from 0, that support one nugget."""
    return math.fsum(novelty(c, alpha) * discount(1 + place) for c, place in enumerate(places))


def _first_ranks_gain(documents: int, alpha: float, k: int | None, discount: Discount = logarithmic) -> float:
    """Return the gain of a nugget whose documents have the first ranks: no ideal has more of it."""
    return _nugget_gain(range(documents if k is None else min(documents, k)), alpha, discount)


class _Level(NamedTuple):
    """What grades of one stretch are worth: documents of these or better gain it on top of lower grades.

    `gained` is what the judged ones among them get by their ranks, `there` how many are judged.
    """

    worth: float
    gained: float
    there: int


def _ndcg_ends(query: _Top, parameters: _Parameters) -> Ends:
    """Return the ends of nDCG, which some completion reaches."""
    by_rank = [(logarithmic(place), grade) for place, grade in enumerate(query.grades, 1)]
    weights = [logarithmic(place + 1) for place in query.unjudged] + [0.0] * query.others
    low, high = (
        _least_of_levels(query.topic, [(sign * d, g) for d, g in by_rank], [sign * w for w in weights],
                         query.k, parameters["dcg"])
        for sign in (1.0, -1.0)
    )  # fmt: skip
    return Ends(low, -high)


def _least_ndcg(topic: Topic, rel: int, k: int | None, docs: Both, parameters: _Parameters) -> float:
    """Return the least that the first ranking's nDCG can be above the second's, which is reached."""
    weights: dict[Document, float] = {}
    for ranking, sign in ((docs.one, 1.0), (docs.other, -1.0)):
        for rank, doc in enumerate(ranking, 1):
            weights[doc] = weights.get(doc, 0.0) + sign * logarithmic(rank)
    by_rank = [(weight, topic.grade(doc)) for doc, weight in weights.items() if isinstance(doc, int)]
    open_ = [weight for doc, weight in weights.items() if isinstance(doc, str)]
    return _least_of_levels(topic, by_rank, [*open_, *[0.0] * docs.below], k, parameters["dcg"])


def _least_of_levels(
    topic: Topic, judged: Sequence[tuple[float, int | float]], open_: Sequence[float], k: int | None, dcg: str
) -> float:
    """Return the least Σ weight · gain / ideal, where each of the open documents may have any grade.

    A gain is the sum of what the grades up to it are worth. Of documents with grade l or better numerator and
    ideal are sums over ranks, so at a fixed ratio each l has its own best number m_l of open documents, the
    ones that weigh least, and only m_1 ≥ m_2 ≥ … ties them.
    """
    levels = _levels(topic, judged, dcg)
    depth = len(topic) + len(open_) if k is None else k
    ideal = [0.0, *accumulate(map(logarithmic, range(1, depth + 1)))]
    # More documents than the ideal has ranks change nothing any more.
    zeros = open_.count(0.0)
    weights = sorted([weight for weight in open_ if weight] + [0.0] * min(zeros, depth))
    # Rounding must not part what is equal: sums of many terms, each exact, are made once.
    taken = [math.fsum(weights[:m]) for m in range(len(weights) + 1)]
    reached = math.inf if levels and levels[0].there else 0.0  # without anything relevant it is 0
    while True:
        numerator, denominator = _cheapest(levels, taken, ideal, min(reached, 1e6))
        following = ratio(numerator, denominator)
        if not denominator or following >= reached - _SLACK:
            return min(following, reached) if denominator else min(reached, 0.0)
        reached = following


def _levels(topic: Topic, judged: Sequence[tuple[float, int | float]], dcg: str) -> list[_Level]:
    """Return the stretches of grades within which all judged documents are alike, from the lowest."""
    grades = [grade for _, grade in topic.best_grades()]
    levels: list[_Level] = []
    below: int | float = 0
    for grade in sorted({*grades, topic.highest}):
        gained = math.fsum(weight for weight, has in judged if has >= grade)
        there = sum(value >= grade for value in grades)
        levels.append(_Level(graded_gain(grade, dcg) - graded_gain(below, dcg), gained, there))
        below = grade
    return levels


def _cheapest(
    levels: Sequence[_Level], taken: Sequence[float], ideal: Sequence[float], price: float
) -> tuple[float, float]:
    """Return numerator and ideal where numerator − price · ideal is least."""
    best = [(0.0, 0.0, 0.0)] * len(taken)  # of the grades above, with at most so many open documents
    for level in reversed(levels):
        least, leasts = (math.inf, 0.0, 0.0), []
        for m, (more, (_, numerator, denominator)) in enumerate(zip(taken, best, strict=True)):
            numerator += level.worth * (level.gained + more)
            denominator += level.worth * ideal[min(level.there + m, len(ideal) - 1)]
            least = min(least, (numerator - price * denominator, numerator, denominator))
            leasts.append(least)
        best = leasts
    _, numerator, denominator = best[-1]
    return numerator, denominator


class Both(NamedTuple):
    """Two rankings of one query: judged documents by number, the others by id."""

    one: Sequence[Document]
    other: Sequence[Document]
    below: int = 0  # unjudged documents that stand in neither: below the cut-off

    def swapped(self) -> Both:
        """Return the same, the other way round."""
        return Both(self.other, self.one, self.below)

    def unjudged(self) -> tuple[set[str], set[str], set[str]]:
        """Return the unjudged documents that only the first, only the second, and both rankings hold."""
        one, other = _unjudged(self.one), _unjudged(self.other)
        return one - other, other - one, one & other


def _unjudged(ranking: Sequence[Document]) -> set[str]:
    return {doc for doc in ranking if isinstance(doc, str)}


def _least_coverage(topic: Topic, rel: int, k: int | None, docs: Both, parameters: _Parameters) -> float:
    """Return the least that the first ranking's coverage can be above the second's."""
    _, only_other, both = docs.unjudged()
    one, other = (
        {nugget for has in _supported(topic, rel, ranking) for nugget in has}
        for ranking in (docs.one, docs.other)
    )
    total = sum(
        _least_of_one(nugget in one, nugget in other, bool(only_other), bool(both))
        for nugget in range(topic.listed)
    )
    return ratio(float(total), topic.listed)


def _least_success(topic: Topic, rel: int, k: int | None, docs: Both, parameters: _Parameters) -> float:
    """Return the least that the first ranking's success can be above the second's."""
    _, only_other, both = docs.unjudged()
    one, other = (any(_supported(topic, rel, ranking)) for ranking in (docs.one, docs.other))
    return float(_least_of_one(one, other, bool(only_other), bool(both)))


def _least_recall(topic: Topic, rel: int, k: int | None, docs: Both, parameters: _Parameters) -> float:
    """Return the least, over y of the documents that only the second has, and all or none of the others."""
    _, only_other, both = docs.unjudged()
    gap, total = _gap(topic, rel, docs), topic.relevant(rel)
    others = len(both) + docs.below
    # A ratio of linear functions has its least at an end: z needs to be tried at 0 and at all.
    return min(ratio(gap - y, total + y + z) for y in range(len(only_other) + 1) for z in (0, others))


def _least_p(topic: Topic, rel: int, k: int | None, docs: Both, parameters: _Parameters) -> float:
    """Return the least that the first ranking's precision can be above the second's."""
    if k is None:  # the rankings may differ in length
        return -math.inf
    return (_gap(topic, rel, docs) - len(docs.unjudged()[1])) / k


def _least_alpha_dcg(topic: Topic, rel: int, k: int | None, docs: Both, parameters: _Parameters) -> float:
    """Return the least difference: nugget by nugget, over every set of unjudged documents supporting it."""
    unjudged = sorted(set().union(*docs.unjudged()))
    # 2^n sets; beyond this the difference of the ends has to do.
    if len(unjudged) > _MOST_DOCUMENTS:
        return -math.inf
    supported = topic.supported(rel)
    terms = []
    for nugget in range(topic.listed):
        having = {document for document, nuggets in enumerate(supported) if nugget in nuggets}
        one, other = ([doc in having for doc in ranking] for ranking in (docs.one, docs.other))
        terms.append(
            min(
                _gain_with(docs.one, one, more, parameters["alpha"])
                - _gain_with(docs.other, other, more, parameters["alpha"])
                for more in _subsets(unjudged)
            )
        )
    return math.fsum(terms)


def _least_alpha_ndcg(topic: Topic, rel: int, k: int | None, docs: Both, parameters: _Parameters) -> float:
    """Return the least difference of gains, over the largest ideal if above 0, else over the smallest."""
    least, alpha = _least_alpha_dcg(topic, rel, k, docs, parameters), parameters["alpha"]
    unjudged = len(set().union(*docs.unjudged())) + docs.below
    # A positive difference is least over the largest ideal there can be, a negative one over the smallest.
    if least > 0:
        documents_of = topic.documents_of(rel)
        return least / math.fsum(
            _first_ranks_gain(documents_of.get(nugget, 0) + unjudged, alpha, k)
            for nugget in range(topic.listed)
        )
    smallest = topic.ideal_sum(k, alpha, rel, logarithmic)
    if parameters["ideal"] == "greedy":
        smallest, _ = _greedily(smallest, k)
    return least / smallest if smallest else -math.inf


def _least_of_one(one: bool, other: bool, only_other: bool, both: bool) -> int:
    """Return the least of [first has it] − [second has it], where the unjudged may have it or not."""
    if one:
        return 0 if other or only_other or both else 1
    return -1 if other or only_other else 0


def _supported(topic: Topic, rel: int, docs: Sequence[Document]) -> list[Nuggets]:
    return [topic.nuggets_of(doc, rel) for doc in docs if isinstance(doc, int)]


def _gap(topic: Topic, rel: int, docs: Both) -> int:
    """Return how many more relevant documents the first ranking holds than the second."""
    one, other = (sum(map(bool, _supported(topic, rel, ranking))) for ranking in (docs.one, docs.other))
    return one - other


def _gain_with(ranking: Sequence[Document], has: Sequence[bool], more: set[str], alpha: float) -> float:
    places = [
        place for place, (doc, there) in enumerate(zip(ranking, has, strict=True)) if there or doc in more
    ]
    return _nugget_gain(places, alpha)


def _subsets(docs: Sequence[str]) -> Iterator[set[str]]:
    for chosen in product((False, True), repeat=len(docs)):
        yield {doc for doc, is_in in zip(docs, chosen, strict=True) if is_in}


# What our measures declare.
COVERAGE = Bounds(_coverage_ends, _least_coverage)
STREC = Bounds(_coverage_ends)
RECALL = Bounds(_recall_ends, _least_recall)
ALL_GOLD = Bounds(_all_gold_ends)
RR = Bounds(_rr_ends)
AP = Bounds(_ap_ends)
P = Bounds(_p_ends, _least_p)
SUCCESS = Bounds(_success_ends, _least_success)
NDCG = Bounds(_ndcg_ends, _least_ndcg, graded=True)
ALPHA_DCG = Bounds(_gain_ends, _least_alpha_dcg)
ALPHA_NDCG = Bounds(lambda query, given: _ideal_ends(query, given, logarithmic), _least_alpha_ndcg)
NERR_IA = Bounds(lambda query, given: _ideal_ends(query, given, reciprocal))
NNRBP = Bounds(lambda query, given: _ideal_ends(query, given, geometric(given["beta"])))
NRBP = Bounds(_nrbp_ends)
P_IA = Bounds(_p_ia_ends, only={"over": ("topics",)})  # of sums over topics, least shares are not the least
ERR_IA = Bounds(_err_ia_ends, only={"normalize": ("none", "independent")})
