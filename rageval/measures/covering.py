"""What a measure of spans sees: the stretches of sources that a ranking's chunks cover, beside the gold.

Documents do not matter here, only characters, each counted once however many chunks hold it: so runs over
different chunks can be compared.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, groupby
from typing import NamedTuple

Region = tuple[str, int, int]  # source, start, end (exclusive)


class Reach(NamedTuple):
    """How many characters are gold, gold and found, retrieved, retrieved and gold, retrieved or gold."""

    gold: int
    found: int
    retrieved: int
    right: int
    both: int  # retrieved or gold


class Covering:
    """One query's ranked chunks as stretches of sources, and its spans: the argument of a measure of spans.

    A chunk is a region, or several where its text stands in several places; so is a span.

    >>> covering = Covering("q", [(("doc", 0, 10),), (("doc", 5, 20),)], [(1, (("doc", 8, 12),))])
    >>> covering.reach(1)
    Reach(gold=4, found=2, retrieved=10, right=2, both=12)
    >>> covering.reach().retrieved
    20
    """

    def __init__(
        self,
        query_id: str,
        ranked: Sequence[Sequence[Region]],
        spans: Sequence[tuple[int, Sequence[Region]]],
    ) -> None:
        """Take the regions of each ranked chunk, best first, and (grade, places) of each span."""
        self.query_id = query_id
        self.ranked = ranked
        self.spans = spans

    def reach(self, k: int | None = None, rel: int = 1) -> Reach:
        """Return how far the top k reaches; of a span's places the one that is covered most counts."""
        top = _union(chain.from_iterable(self.ranked[:k]))
        spans = [places for grade, places in self.spans if grade >= rel]
        # By the share that is covered: a span may be longer in one place than in another.
        chosen = _union(
            max(places, key=lambda place: _size(_common(top, [place])) / (place[2] - place[1]))
            for places in spans
        )
        everywhere = _union(chain.from_iterable(spans))
        covered, retrieved = _size(_common(top, chosen)), _size(top)
        gold = _size(chosen)
        return Reach(gold, covered, retrieved, _size(_common(top, everywhere)), retrieved + gold - covered)


def _union(regions: Iterable[Region]) -> list[Region]:
    """Return the same characters as regions that do not touch one another."""
    merged: list[Region] = []
    for doc, start, end in sorted(regions):
        if merged and merged[-1][0] == doc and start <= merged[-1][2]:
            merged[-1] = doc, merged[-1][1], max(end, merged[-1][2])
        else:
            merged.append((doc, start, end))
    return merged


def _common(one: Sequence[Region], other: Sequence[Region]) -> Iterator[Region]:
    """Yield what both hold, each without overlaps."""
    of_doc = {doc: list(some) for doc, some in groupby(one, key=lambda region: region[0])}
    for doc, start, end in other:
        for _, first, last in of_doc.get(doc, ()):
            if first < end and start < last:
                yield doc, max(first, start), min(last, end)


def _size(regions: Iterable[Region]) -> int:
    return sum(end - start for _, start, end in regions)
