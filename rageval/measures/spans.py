"""Measures of characters: how much of the gold spans the retrieved chunks hold, for any chunking."""

from __future__ import annotations

from rageval.measures.base import Grade, measure
from rageval.measures.covering import Covering
from rageval.measures.ranking import Share


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

    >>> from rageval.measures.covering import Covering
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

    >>> from rageval.measures.covering import Covering
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

    >>> from rageval.measures.covering import Covering
    >>> from rageval.measures import span_iou
    >>> round((span_iou @ 1).value(Covering("q", [(("doc", 0, 10),)], [(1, (("doc", 8, 12),))])), 4)
    0.1667
    """
    reach = covering.reach(k, rel)
    return Share(reach.found, reach.both)
