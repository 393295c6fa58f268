"""Is one run above another whatever the unjudged documents turn out to be?

Both runs are completed alike: a document that both retrieve is the same document in both. Query by query the
least and the most that A − B can be are bounded, and the means of these over the queries decide.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product

import numpy as np

from rageval.measures.base import Measure
from rageval.uncertainty.completions import (
    Ends,
    ends,
    first_ranks_gain,
    greedy_ideal,
    nugget_gain,
    ranked,
    share,
)
from rageval.uncertainty.topics import Rankings, Topic

HIGHER, LOWER, UNDECIDED = "higher", "lower", "undecided"
_MOST_DOCUMENTS = 10  # 2^10 sets of unjudged documents that support a nugget
_SLACK = 1e-12
Docs = Sequence[str]


def verdict(
    measure: Measure,
    found: Mapping[str, Topic],
    one: tuple[Rankings, Mapping[str, float]],
    other: tuple[Rankings, Mapping[str, float]],
) -> str:
    """`higher` or `lower` if the first run's mean is so under every completion, else `undecided`.

    Each run is its rankings and its values by query.
    """
    spans = []
    for query in one[1]:
        values = one[1][query], other[1][query]
        docs = one[0].get(query, ())[: measure.k], other[0].get(query, ())[: measure.k]
        spans.append(difference(measure, found[query], docs, values))
    low, high = (float(np.mean([span[at] for span in spans])) for at in (0, 1))
    return HIGHER if low > _SLACK else LOWER if high < -_SLACK else UNDECIDED


def difference(measure: Measure, topic: Topic, docs: tuple[Docs, Docs], values: tuple[float, float]) -> Ends:
    """The least and the most that the first ranking's value can be above the second's."""
    unjudged = [[doc for doc in ranking if doc not in topic.judged] for ranking in docs]
    if not unjudged[0] and not unjudged[1]:
        return Ends(values[0] - values[1], values[0] - values[1])
    only_one, only_other, _ = _split(topic, docs)
    one, other = (
        ends(measure, ranked(topic, ranking, measure.k, len(others)))
        for ranking, others in zip(docs, (only_other, only_one), strict=True)
    )
    apart = Ends(one.low - other.high, one.high - other.low)
    together = _TOGETHER.get(measure.name)
    if together is None or measure.parameters.get("denominator") == "attainable":
        return apart
    reverse = together(measure, topic, (docs[1], docs[0]))
    low = max(apart.low, together(measure, topic, docs))
    return Ends(low, min(apart.high, -reverse))


def _split(topic: Topic, docs: tuple[Docs, Docs]) -> tuple[set[str], set[str], set[str]]:
    """Unjudged documents that only the first, only the second, and both rankings hold."""
    one, other = ({doc for doc in ranking if doc not in topic.judged} for ranking in docs)
    return one - other, other - one, one & other


def _least_coverage(measure: Measure, topic: Topic, docs: tuple[Docs, Docs]) -> float:
    _, only_other, both = _split(topic, docs)
    one, other = (
        frozenset().union(*(topic.supports.get(doc, frozenset()) for doc in ranking)) for ranking in docs
    )
    total = 0
    for nugget in topic.nuggets:
        total += _least_of_one(nugget in one, nugget in other, bool(only_other), bool(both))
    return share(float(total), len(topic.nuggets))


def _least_of_one(one: bool, other: bool, only_other: bool, both: bool) -> int:
    """The least of [first has it] − [second has it], where the unjudged may have it or not."""
    if one:
        return 0 if other or only_other or both else 1
    return -1 if other or only_other else 0


def _least_success(measure: Measure, topic: Topic, docs: tuple[Docs, Docs]) -> float:
    _, only_other, both = _split(topic, docs)
    one, other = (any(doc in topic.supports for doc in ranking) for ranking in docs)
    return float(_least_of_one(one, other, bool(only_other), bool(both)))


def _least_recall(measure: Measure, topic: Topic, docs: tuple[Docs, Docs]) -> float:
    """Over y of the documents that only the second has, and all or none of those that both have."""
    _, only_other, both = _split(topic, docs)
    gap = _relevant(topic, docs[0]) - _relevant(topic, docs[1])
    return min(
        share(gap - y, topic.relevant + y + z) for y in range(len(only_other) + 1) for z in (0, len(both))
    )


def _relevant(topic: Topic, docs: Docs) -> int:
    return sum(doc in topic.supports for doc in docs)


def _least_p(measure: Measure, topic: Topic, docs: tuple[Docs, Docs]) -> float:
    if measure.k is None:  # the rankings may differ in length
        return float("-inf")
    _, only_other, _ = _split(topic, docs)
    return (_relevant(topic, docs[0]) - _relevant(topic, docs[1]) - len(only_other)) / measure.k


def _least_alpha_dcg(measure: Measure, topic: Topic, docs: tuple[Docs, Docs]) -> float:
    """Nugget by nugget, over every set of unjudged documents that may support it."""
    alpha = measure.parameters["alpha"]
    unjudged = sorted({doc for ranking in docs for doc in ranking if doc not in topic.judged})
    if len(unjudged) > _MOST_DOCUMENTS:
        return float("-inf")
    total = 0.0
    for nugget in topic.nuggets:
        having = {doc for doc, nuggets in topic.supports.items() if nugget in nuggets}
        total += min(
            nugget_gain(_at(docs[0], having | more), alpha) - nugget_gain(_at(docs[1], having | more), alpha)
            for more in _subsets(unjudged)
        )
    return total


def _least_alpha_ndcg(measure: Measure, topic: Topic, docs: tuple[Docs, Docs]) -> float:
    """The least difference of gains over the largest ideal if it is above 0, else over the smallest."""
    least = _least_alpha_dcg(measure, topic, docs)
    alpha, k = measure.parameters["alpha"], measure.k
    unjudged = {doc for ranking in docs for doc in ranking if doc not in topic.judged}
    if least > 0:
        most = sum(
            first_ranks_gain(topic.supporting(nugget) + len(unjudged), alpha, k) for nugget in topic.nuggets
        )
        return least / most
    smallest = greedy_ideal(topic, alpha, k)
    if measure.parameters["ideal"] == "greedy":
        smallest *= 1 - (1 - 1 / k) ** k if k else 1 - float(np.exp(-1))
    return least / smallest if smallest else float("-inf")


def _at(docs: Docs, having: set[str]) -> list[int]:
    return [place for place, doc in enumerate(docs) if doc in having]


def _subsets(docs: Sequence[str]) -> Iterator[set[str]]:
    for chosen in product((False, True), repeat=len(docs)):
        yield {doc for doc, is_in in zip(docs, chosen, strict=True) if is_in}


_TOGETHER: dict[str, Callable[[Measure, Topic, tuple[Docs, Docs]], float]] = {
    "coverage": _least_coverage,
    "recall": _least_recall,
    "p": _least_p,
    "success": _least_success,
    "alpha_dcg": _least_alpha_dcg,
    "alpha_ndcg": _least_alpha_ndcg,
}
