"""What unjudged documents could change: a measure over all ways to judge those in the top k.

A completion gives every unjudged document of the top k any nuggets of the query, or none. With u of them,
c of N nuggets covered, h of R relevant documents found, the ends are:
    coverage    c/N, and 1 if u > 0
    recall      h/R, and (h + u)/(R + u)
    ap          for x of them relevant, the x deepest, and the x first; least and most over x = 0 … u
    alpha_dcg   as it is, and every unjudged document supporting every nugget
    alpha_ndcg  min Σ_n f_n(s_n) / Σ_n U_n(s_n), where the s_n deepest unjudged documents support nugget n,
                f_n is its gain, and U_n its gain had it the first ranks for itself; and the largest numerator
                over the smallest ideal, at most 1 (for the greedy ideal, at most its cap)

All but those of alpha_ndcg are reached by some completion; there numerator and ideal move together, and
neither of the two obvious completions is an end. Beside another run, `others` unjudged documents that only
that run retrieves may be relevant as well.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rageval.errors import MeasureError
from rageval.measures.base import Measure
from rageval.uncertainty.topics import Rankings, Topic

Float = NDArray[np.float64]
_SLACK = 1e-12


class Ends(NamedTuple):
    """Between what values something lies."""

    low: float
    high: float


class Ranked(NamedTuple):
    """A query's ranking to the cut-off: what each document supports, None where nobody judged it."""

    topic: Topic
    found: list[frozenset[int] | None]
    retrieved: int
    others: int = 0

    @property
    def unjudged(self) -> list[int]:
        """Places (from 0) of unjudged documents."""
        return [place for place, nuggets in enumerate(self.found) if nuggets is None]

    @property
    def covered(self) -> frozenset[int]:
        """The nuggets that judged documents support."""
        return frozenset().union(*(nuggets for nuggets in self.found if nuggets))

    @property
    def relevant(self) -> list[int]:
        """Places of relevant documents."""
        return [place for place, nuggets in enumerate(self.found) if nuggets]


def ranked(topic: Topic, docs: Sequence[str], k: int | None, others: int = 0) -> Ranked:
    """The top k of a ranking beside the judgements."""
    found = [topic.supports.get(doc, frozenset()) if doc in topic.judged else None for doc in docs[:k]]
    return Ranked(topic, found, len(docs), others)


def ends(measure: Measure, query: Ranked) -> Ends:
    """Between what values the measure lies over all completions, for a measure that is bounded."""
    return _BOUNDS[measure.name](measure, query)


def is_bounded(measure: object) -> bool:
    """Whether bounds are known."""
    if not isinstance(measure, Measure) or measure.name not in _BOUNDS:
        return False
    return bool(measure.parameters.get("normalise", "none") == "none")


def _coverage(measure: Measure, query: Ranked) -> Ends:
    listed = measure.parameters.get("denominator") == "listed"
    total = len(query.topic.nuggets) if listed else query.topic.attainable
    covered = share(len(query.covered), total)
    low = covered if listed or not query.others else share(len(query.covered), len(query.topic.nuggets))
    return Ends(low, 1.0 if query.unjudged and query.topic.nuggets else covered)


def _recall(measure: Measure, query: Ranked) -> Ends:
    found, total, more = len(query.relevant), query.topic.relevant, len(query.unjudged)
    return Ends(share(found, total + query.others), share(found + more, total + more))


def _all_gold(measure: Measure, query: Ranked) -> Ends:
    complete = len(query.relevant) == query.topic.relevant
    there = query.topic.relevant > 0
    return Ends(
        float(complete and there and not query.others), float(complete and (there or bool(query.unjudged)))
    )


def _p(measure: Measure, query: Ranked) -> Ends:
    depth = measure.k or query.retrieved
    found, more = len(query.relevant), len(query.unjudged)
    return Ends(share(found, depth), share(found + more, depth))


def _success(measure: Measure, query: Ranked) -> Ends:
    return Ends(float(bool(query.relevant)), float(bool(query.relevant or query.unjudged)))


def _rr(measure: Measure, query: Ranked) -> Ends:
    def first(places: list[int]) -> float:
        return 1 / (min(places) + 1) if places else 0.0

    return Ends(first(query.relevant), first(query.relevant + query.unjudged))


def _ap(measure: Measure, query: Ranked) -> Ends:
    found, total, open_ = query.relevant, query.topic.relevant, query.unjudged
    number = range(len(open_) + 1)
    most = max(average_precision([*found, *open_[:x]], total + x) for x in number)
    total += query.others
    least = min(average_precision([*found, *open_[len(open_) - x :]], total + x) for x in number)
    return Ends(least, most)


def average_precision(places: list[int], total: int) -> float:
    """AP of a ranking with relevant documents at these places, of so many there are."""
    return share(sum(at / (place + 1) for at, place in enumerate(sorted(places), 1)), total)


def _alpha_dcg(measure: Measure, query: Ranked) -> Ends:
    alpha, all_ = measure.parameters["alpha"], query.unjudged
    low, high = (
        sum(nugget_gain(_places(query, nugget, more), alpha) for nugget in query.topic.nuggets)
        for more in ([], all_)
    )
    return Ends(low, high)


def _alpha_ndcg(measure: Measure, query: Ranked) -> Ends:
    alpha, k = measure.parameters["alpha"], measure.k
    _, high = _alpha_dcg(measure, query)
    ideal = greedy_ideal(query.topic, alpha, k)
    least_ideal, cap = (ideal, 1.0) if measure.parameters["ideal"] == "exact" else _greedily(ideal, k)
    most = min(cap, high / least_ideal) if least_ideal else (cap if high else 0.0)
    low = _least_ratio(query, alpha, k) if query.topic.supports else 0.0  # nothing to find scores 0
    return Ends(low, most)


def _greedily(ideal: float, k: int | None) -> tuple[float, float]:
    """The least ideal that greedy finds on a completion, and the cap of what is measured by it."""
    share_ = 1 - (1 - 1 / k) ** k if k else 1 - float(np.exp(-1))
    return share_ * ideal, 1 / share_


def _least_ratio(query: Ranked, alpha: float, k: int | None) -> float:
    """min Σ f_n(s_n) / Σ U_n(s_n) by Dinkelbach's iteration: at each ratio every nugget decides alone."""
    open_ = query.unjudged
    choices = []
    for nugget in query.topic.nuggets:
        gains = [
            nugget_gain(_places(query, nugget, open_[len(open_) - s :]), alpha) for s in range(len(open_) + 1)
        ]
        there = query.topic.supporting(nugget) + query.others
        best = [first_ranks_gain(there + s, alpha, k) for s in range(len(open_) + 1)]
        choices.append((np.array(gains), np.array(best)))
    ratio = float("inf")
    while True:
        chosen = [int(np.argmin(gain - min(ratio, 1e6) * best)) for gain, best in choices]
        above = sum(float(gain[s]) for (gain, _), s in zip(choices, chosen, strict=True))
        below = sum(float(best[s]) for (_, best), s in zip(choices, chosen, strict=True))
        following = share(above, below)
        if not below or following >= ratio - _SLACK:
            return following if below else 0.0
        ratio = following


def _places(query: Ranked, nugget: int, more: Sequence[int]) -> list[int]:
    """Where documents support a nugget, if the unjudged ones at the places `more` do."""
    return sorted([place for place, has in enumerate(query.found) if has and nugget in has] + list(more))


def nugget_gain(places: Sequence[int], alpha: float) -> float:
    """Σ (1−α)^c / log2(2 + place) over the documents that support one nugget."""
    return float(sum((1 - alpha) ** c / np.log2(2 + place) for c, place in enumerate(places)))


def first_ranks_gain(documents: int, alpha: float, k: int | None) -> float:
    """The gain of a nugget whose documents have the first ranks to themselves: no ideal has more of it."""
    return nugget_gain(range(documents if k is None else min(documents, k)), alpha)


def greedy_ideal(topic: Topic, alpha: float, k: int | None) -> float:
    """The gain of some greedy ideal ranking: at most that of the best."""
    left, seen, total = list(topic.supports.values()), dict.fromkeys(topic.nuggets, 0), 0.0
    for rank in range(len(left) if k is None else min(k, len(left))):
        gains = [sum((1 - alpha) ** seen[nugget] for nugget in nuggets) for nuggets in left]
        best = int(np.argmax(gains))
        total += gains[best] / float(np.log2(2 + rank))
        for nugget in left.pop(best):
            seen[nugget] += 1
    return total


def share(value: float, total: float) -> float:
    """value / total, and 0 where there is nothing to divide by."""
    return value / total if total else 0.0


_BOUNDS: dict[str, Callable[[Measure, Ranked], Ends]] = {
    "coverage": _coverage,
    "strec": _coverage,
    "recall": _recall,
    "all_gold": _all_gold,
    "p": _p,
    "success": _success,
    "rr": _rr,
    "ap": _ap,
    "alpha_dcg": _alpha_dcg,
    "alpha_ndcg": _alpha_ndcg,
}


def check_bounded(measures: Sequence[object]) -> None:
    """`MeasureError` unless bounds are known for each measure."""
    for measure in measures:
        if not is_bounded(measure):
            known = ", ".join(_BOUNDS)
            raise MeasureError(
                f"{measure}: no bounds are known; they are for {known}; leave out bounds or the measure"
            )


def bounds(
    measure: Measure, values: Float, found: Mapping[str, Topic], run: Rankings, queries: Sequence[str]
) -> tuple[Float, Float]:
    """The lowest and the highest value of every query; `values` stand where nothing is unjudged."""
    low, high = values.copy(), values.copy()
    for at, query in enumerate(queries):
        seen = ranked(found[query], run.get(query, ()), measure.k)
        if seen.unjudged:
            low[at], high[at] = ends(measure, seen)
    return low, high
