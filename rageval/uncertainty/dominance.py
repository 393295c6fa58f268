"""Is one run above another whatever the unjudged documents turn out to be?

Both runs are completed alike: a document that both retrieve is the same document in both. Query by query the
least and the most that A − B can be are bounded, and the means of these over the queries decide.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from rageval.errors import MeasureError
from rageval.measures.base import Measure
from rageval.measures.bounds import Bounds, Document, Pair, difference
from rageval.measures.ranking import Topic

HIGHER, LOWER, UNDECIDED = "higher", "lower", "undecided"
_SLACK = 1e-12
Rankings = Mapping[str, Sequence[str]]


def verdict(
    measure: Measure,
    topics: Mapping[str, Topic],
    one: tuple[Rankings, Mapping[str, float]],
    other: tuple[Rankings, Mapping[str, float]],
) -> str:
    """Return `higher` or `lower` if the first run's mean is so under every completion, else `undecided`.

    Each run is its rankings and its values by query.
    """
    bounds = bounds_of(measure)
    lows, highs = [], []
    for query in one[1]:
        values = one[1][query], other[1][query]
        first, second = (numbered(topics[query], run.get(query, ())) for run in (one[0], other[0]))
        ends = difference(bounds, topics[query], Pair(first, second), values, measure.k, measure.parameters)
        lows.append(ends.low)
        highs.append(ends.high)
    low, high = (math.fsum(ends) / len(ends) for ends in (lows, highs))
    return HIGHER if low > _SLACK else LOWER if high < -_SLACK else UNDECIDED


def bounds_of(measure: object) -> Bounds:
    """Return the bounds that a measure declares; `MeasureError` if it declares none."""
    bounds = measure.bounds if isinstance(measure, Measure) else None
    if bounds is None:
        from rageval.measures import builtin

        known = ", ".join(name for name, ours in builtin().items() if ours.about.bounds)
        raise MeasureError(
            f"{measure}: no bounds are known; they are for {known}; leave out bounds or the measure"
        )
    return bounds


def numbered(topic: Topic, docs: Sequence[str]) -> list[Document]:
    """Return the documents by number where they are judged, by id where they are not."""
    return [topic.numbers.get(doc, doc) for doc in docs]
