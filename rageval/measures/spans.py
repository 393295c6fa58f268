"""Measures of characters: how much of the gold spans the retrieved chunks hold, for any chunking."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, groupby
from typing import NamedTuple

from rageval.measures.base import Grade, measure
from rageval.measures.ranking import Share

# What a measure of spans sees: the stretches of sources that a ranking's chunks cover, beside the gold.
#
# Documents do not matter here, only characters, each counted once however many chunks hold it: so runs over
# different chunks can be compared.

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
    apart: list[Region] = []
    for doc, start, end in sorted(regions):
        if apart and apart[-1][0] == doc and start <= apart[-1][2]:
            apart[-1] = doc, apart[-1][1], max(end, apart[-1][2])
        else:
            apart.append((doc, start, end))
    return apart


def _common(one: Sequence[Region], other: Sequence[Region]) -> Iterator[Region]:
    """Yield what both hold, each without overlaps."""
    of_doc = {doc: list(some) for doc, some in groupby(one, key=lambda region: region[0])}
    for doc, start, end in other:
        for _, first, last in of_doc.get(doc, ()):
            if first < end and start < last:
                yield doc, max(first, start), min(last, end)


def _size(regions: Iterable[Region]) -> int:
    return sum(end - start for _, start, end in regions)


@measure
def span_recall(covering: Covering, *, k: int | None = None, rel: Grade = 1) -> Share:
    """Share of the characters of the gold spans that the top k chunks hold.

    Formula:
        span_recall@k = |characters of spans in the top k| / |characters of spans|

    The top k is the union of its chunks, so a character in two of them counts once. Of a span whose text
    stands in several places the one that the union covers most counts.

    Range: 0 to 1; grows with k.

    Peers: LegalBench-RAG adds up overlapping chunks, so that its recall can be 2.

    Parameters:
        rel: the lowest grade of a span that counts

    Example: a span of 4 characters, 2 of them in the first chunk.

    >>> from rageval.measures.spans import Covering
    >>> from rageval.measures import span_recall
    >>> (span_recall @ 1).value(Covering("q", [(("doc", 0, 10),)], [(1, (("doc", 8, 12),))]))
    0.5
    """
    reach = covering.reach(k, rel)
    return Share(reach.found, reach.gold)


@measure
def span_precision(covering: Covering, *, k: int | None = None, rel: Grade = 1) -> Share:
    """Share of the retrieved characters that stand in a gold span.

    Formula:
        span_precision@k = |characters of the top k in spans| / |characters of the top k|

    A character in two chunks is counted once; every place where a span's text stands is gold.

    Range: 0 to 1. Large chunks hold much text outside the spans, and score lower.

    Parameters:
        rel: the lowest grade of a span that counts

    >>> from rageval.measures.spans import Covering
    >>> from rageval.measures import span_precision
    >>> (span_precision @ 1).value(Covering("q", [(("doc", 0, 10),)], [(1, (("doc", 8, 12),))]))
    0.2
    """
    reach = covering.reach(k, rel)
    return Share(reach.right, reach.retrieved)


@measure(typeset="Span IoU")
def span_iou(covering: Covering, *, k: int | None = None, rel: Grade = 1) -> Share:
    """Intersection over union of retrieved and gold characters.

    Formula:
        span_iou@k = |characters of the top k in spans| / |characters in the top k or in spans|

    Range: 0 to 1.

    Peers: that of chunking_evaluation, but for a chunk whose text stands in several places, which is put at
    its own place here, and not at the first.

    Parameters:
        rel: the lowest grade of a span that counts

    >>> from rageval.measures.spans import Covering
    >>> from rageval.measures import span_iou
    >>> round((span_iou @ 1).value(Covering("q", [(("doc", 0, 10),)], [(1, (("doc", 8, 12),))])), 4)
    0.1667
    """
    reach = covering.reach(k, rel)
    return Share(reach.found, reach.both)
