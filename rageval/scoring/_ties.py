"""Documents of equal score: which there are, and what a measure is over all their orders."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from rageval.errors import MeasureError
from rageval.measures.base import COVERING, POOL, Measure
from rageval.measures.ranking import Ranking, Share
from rageval.measures.ties import MOST_ORDERS, TiedRanking, TieGroup
from rageval.scoring.qrels import Qrels
from rageval.scoring.runs import Documents
from rageval.text import visible


class Spread(NamedTuple):
    """Values by query; both ends are None where there are too many orders to look at all."""

    expected: list[float]
    lowest: list[float] | None
    highest: list[float] | None


def check_expected(measures: Sequence[object]) -> None:
    """Raise `MeasureError` for measures that are no function of a ranking."""
    for measure in measures:
        if not isinstance(measure, Measure):
            raise MeasureError(
                f"{measure}: its mean over the orders of equal scores is not known; choose another rule for"
                " ties than 'expected'"
            )
        if measure.argument == COVERING:
            raise MeasureError(
                f"{measure}: looks at characters, and its mean over the orders of equal scores is not known;"
                " choose another rule for ties than 'expected'"
            )
        # The mean over orders is taken query by query, before the function has all of them.
        if callable(measure.aggregate):
            raise MeasureError(
                f"{measure}: its queries' values become one by a function, and a function of means is no mean"
                " over the orders of equal scores; choose another rule for ties than 'expected'"
            )


def spread(measure: Measure, rankings: Sequence[Ranking], tied: Mapping[int, TiedRanking]) -> Spread:
    """Return the mean over all orders, and both ends; `tied` are the queries that have ties, by number."""
    # Most queries have no ties, and all of their ends are the value itself.
    values = measure.values(rankings)
    if not tied:
        return Spread(values, values, values)
    expected, ends = list(values), (list(values), list(values))
    has_ends = True
    for number, ranking in tied.items():
        mean, *both = _over_orders(measure, ranking)
        expected[number] = mean
        for end, value in zip(ends, both, strict=True):
            # One query without known ends leaves the whole without them.
            has_ends = has_ends and value is not None
            end[number] = math.nan if value is None else value
    return Spread(expected, *(ends if has_ends else (None, None)))


def _over_orders(measure: Measure, tied: TiedRanking) -> tuple[float, float | None, float | None]:
    ties = measure.about.ties
    if ties is None:
        return _over_all_orders(measure, tied)
    parameters = measure.arguments
    mean = measure.values([tied])[0] if ties.mean is None else ties.mean(tied, k=measure.k, **parameters)
    # The mean is known in closed form, its ends only by trying; too many orders leave them unknown.
    if ties.tried:
        values = [measure.value(order) for order in tied.orders(measure.k) or ()]
        return mean, min(values, default=None), max(values, default=None)
    ends = (tied.extreme(ties, measure.k, parameters, best) for best in (False, True))
    low, high = (None if order is None else measure.values([order])[0] for order in ends)
    return mean, low, high


def _over_all_orders(measure: Measure, tied: TiedRanking) -> tuple[float, float, float]:
    every = tied.orders(measure.k)
    if every is None:
        raise MeasureError(
            f"{measure}: its mean over the orders of equal scores is not known in closed form, and the query"
            f" {visible(tied.topic.query_id)!r} has more than {MOST_ORDERS:,} orders; choose a smaller"
            " cut-off, or another rule for ties than 'expected'"
        )
    values = measure.values(every)
    return _mean(measure, values), min(values), max(values)


def _mean(measure: Measure, values: Sequence[float]) -> float:
    """Return the mean over orders; of shares that will be pooled, a share of the one whole that all have."""
    # A share that is undefined in some order has no parts to average.
    if measure.aggregate != POOL or any(value != value for value in values):
        return math.fsum(values) / len(values)
    shares = [value for value in values if isinstance(value, Share)]
    if len({share.whole for share in shares}) > 1:
        raise MeasureError(
            f"{measure}: its whole depends on the order of equal scores, so its mean over them is not known;"
            " choose another rule for ties than 'expected', or over=topics"
        )
    return Share(math.fsum(share.part for share in shares) / len(shares), shares[0].whole)


def tied_ranks(queries: Iterable[Documents], qrels: Qrels) -> dict[int, list[tuple[int, int]]]:
    """Return (before, size) of the groups of two or more, for the judged queries that have any."""
    ranks: dict[int, list[tuple[int, int]]] = {}
    for documents in queries:
        groups, before = [], 0
        # Sorted: in the file equal scores need not stand together.
        for _, equal in groupby(sorted(documents.scores, reverse=True)):
            size = len(list(equal))
            if size > 1:
                groups.append((before, size))
            before += size
        query = qrels.find(documents.query)
        if query >= 0 and groups:
            ranks[query] = groups
    return ranks


def tied(
    ranks: dict[int, list[tuple[int, int]]],
    everything: Sequence[Ranking],
    seen: Sequence[Ranking],
    judged_only: bool = False,
    depth: int | None = None,
) -> dict[int, TiedRanking]:
    """Return the rankings with ties that hold a judged document, by number of the query.

    `everything` are rankings with all judged documents, whatever their rank, `seen` those that count.
    """
    rankings = {}
    for query, several in ranks.items():
        docs = dict(zip(everything[query].ranks, everything[query].documents, strict=True))
        groups = []
        for before, size in several:
            # Only judged documents are in the ranking; the others of the group count by its size alone.
            inside = [docs.pop(rank) for rank in range(before + 1, before + size + 1) if rank in docs]
            if inside:
                groups.append(TieGroup(before, size, tuple(inside)))
        if groups:
            groups = sorted([*groups, *(TieGroup(rank - 1, 1, (doc,)) for rank, doc in docs.items())])
            rankings[query] = TiedRanking(seen[query], _condensed(groups) if judged_only else groups, depth)
    return rankings


def _condensed(groups: list[TieGroup]) -> list[TieGroup]:
    """Return the groups without what nobody judged."""
    condensed, before = [], 0
    for group in groups:
        condensed.append(TieGroup(before, len(group.documents), group.documents))
        before += len(group.documents)
    return condensed
