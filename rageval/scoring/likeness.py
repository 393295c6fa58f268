"""Which runs are the same, or the same but for the order of equal scores.

Once scored, a run is known by what it holds of each judged query: how many documents, and how many judged
ones. Only where two runs are alike in that they are looked at again, document by document.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations, pairwise
from typing import Any, Literal, NamedTuple, TypeAlias

from rageval.core.ruling import Ruling
from rageval.scoring.runs import Order, Run
from rageval.scoring.sources import RunSource

Likeness: TypeAlias = Literal[Ruling.IDENTICAL, Ruling.TIES_ONLY]
Likenesses = Mapping[frozenset[str], Likeness]  # how two systems are the same


def find_likenesses(
    sources: Sequence[RunSource], orders: Sequence[Order] = (Order(),)
) -> dict[frozenset[str], Likeness]:
    """Return the kind of likeness of each pair of runs that has one, in all of these orders."""
    by_outline: dict[frozenset[Any], list[RunSource]] = {}
    for source in sources:
        # As many documents and judged ones for each query: two runs that differ there need not be compared
        # row by row.
        outline = frozenset([*source.outline.items(), *source.details.items()])
        by_outline.setdefault(outline, []).append(source)
    digests = {
        source.name: _digests(source.run(), orders)
        for group in by_outline.values()
        for source in group
        if len(group) > 1
    }
    # Runs of other documents are not alike in any order, so only runs of the same documents are compared.
    by_documents: dict[str, list[RunSource]] = {}
    for group in by_outline.values():
        for source in group if len(group) > 1 else ():
            by_documents.setdefault(digests[source.name].documents, []).append(source)
    pairs = {}
    for group in by_documents.values():
        for one, other in combinations(group, 2):
            likeness = _likeness(one, other, digests[one.name], digests[other.name], orders)
            if likeness is not None:
                pairs[frozenset((one.name, other.name))] = likeness
    return pairs


class _Digests(NamedTuple):
    """What tells a run from others: its documents in each order, and its documents in no order."""

    ranked: str
    documents: str


def _digests(run: Run, orders: Sequence[Order]) -> _Digests:
    """Return digests of a run: read once, not once for each other run."""
    from hashlib import sha256

    ranked, documents = sha256(), sha256()
    for index, order in enumerate(orders):
        for query, docs in sorted(run.ranked(order)):
            # Ids hold no white space.
            ranked.update("\n".join([query, *docs, "\n"]).encode("utf-8", "surrogatepass"))
            if index == 0:  # the documents are the same in every order
                documents.update("\n".join([query, *sorted(docs), "\n"]).encode("utf-8", "surrogatepass"))
    return _Digests(ranked.hexdigest(), documents.hexdigest())


def _likeness(
    one: RunSource, other: RunSource, one_digests: _Digests, other_digests: _Digests, orders: Sequence[Order]
) -> Likeness | None:
    """Return `identical` if the order is the same, `ties only` if some order agrees with both, else None."""
    if one_digests.ranked == other_digests.ranked:
        return Ruling.IDENTICAL
    # By rank nothing is tied. Of other documents than the other run's, no order agrees with both.
    if one_digests.documents != other_digests.documents or any(order.by_rank for order in orders):
        return None
    return Ruling.TIES_ONLY if _agree_all(one.run(), other.run()) else None


def _agree_all(one: Run, other: Run) -> bool:
    """Return whether some order of the documents agrees with both runs, of the same documents.

    >>> Run.from_dict({"q": {"a": 1.0}}) and _agree_all(
    ...     *(Run.from_dict({"q": docs}) for docs in ({"a": 1.0, "b": 1.0}, {"a": 2.0, "b": 1.0}))
    ... )
    True
    """
    one_scores, other_scores = _scores(one), _scores(other)
    return all(_agree(one_scores[query], other_scores[query]) for query in one_scores)


def _scores(run: Run) -> dict[str, dict[str, float]]:
    scores: dict[str, dict[str, float]] = {}
    for query, doc, score in run:
        scores.setdefault(query, {})[doc] = score
    return scores


def _agree(one: dict[str, float], other: dict[str, float]) -> bool:
    """Return whether no two documents stand one way round here and the other way round there."""
    if one.keys() != other.keys():
        return False
    # Sorted by the one, and among its ties by the other: if the other still falls somewhere, the two
    # contradict each other.
    ordered = sorted(one, key=lambda doc: (one[doc], other[doc]))
    scores = [other[doc] for doc in ordered]
    return all(low <= high for low, high in pairwise(scores))
