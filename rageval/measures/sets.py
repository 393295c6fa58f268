"""Measures of what the top k holds, whatever its order: coverage, recall, precision, holes."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rageval.measures.base import LOWER, Grade, Values, measure
from rageval.tables.judged import Judged


@measure
def coverage(
    judged: Judged,
    *,
    k: int | None = None,
    denominator: Literal["listed", "attainable"] = "listed",
    rel: Grade = 1,
) -> Values:
    """Share of a query's nuggets that some document in the top k supports (FreshStack, eq. 1).

    Formula:
        coverage@k = |nuggets supported by a document in the top k| / |nuggets of the query|

    Range: 0 to 1; grows with k.

    Parameters:
        denominator: `listed` counts every nugget in the judgements, also one that no document supports;
            `attainable` only nuggets with a relevant document, which makes it `strec`
        rel: the lowest grade that counts as support

    Example: one of two nuggets is found.

    >>> import rageval
    >>> qrels = {"q": {"n1": {"a": 1}, "n2": {"b": 1}}}
    >>> rageval.evaluate("coverage@1", {"q": {"a": 2.0, "b": 1.0}}, qrels)["coverage@1"].value
    0.5
    """
    total = judged.qrels.nuggets_listed if denominator == "listed" else judged.relevant(rel).attainable
    return divided(_nuggets_found(judged, k, rel), total)


@measure
def strec(judged: Judged, *, k: int | None = None, rel: Grade = 1) -> Values:
    """Subtopic recall: share of the attainable nuggets that the top k supports (Zhai et al., SIGIR 2003).

    Formula:
        strec@k = |nuggets supported by a document in the top k| / |nuggets with a relevant document|

    Range: 0 to 1; grows with k.

    Peers: equal to ndeval's at k ≤ 20; ir_measures' `StRecall` ignores judgements that name their nugget
    `subtopic_id`.

    >>> import rageval
    >>> qrels = {"q": {"n1": {"a": 1}, "n2": {"b": 1}, "n3": {"c": 0}}}
    >>> rageval.evaluate("strec@1", {"q": {"a": 2.0, "b": 1.0}}, qrels)["strec@1"].value
    0.5
    """
    return divided(_nuggets_found(judged, k, rel), judged.relevant(rel).attainable)


@measure
def recall(judged: Judged, *, k: int | None = None, rel: Grade = 1) -> Values:
    """Share of the relevant documents that are in the top k.

    Formula:
        recall@k = |relevant documents in the top k| / |relevant documents|

    A document is relevant if any nugget says so: its grade is the highest over the query's nuggets.

    Range: 0 to 1; grows with k.

    Peers: ir_measures over nugget judgements keeps the last row of a document, so that its R@k depends
    on the order of the lines.

    >>> import rageval
    >>> qrels = {"q": {"n1": {"a": 1, "b": 0}, "n2": {"b": 1}}}
    >>> rageval.evaluate("recall@1", {"q": {"b": 2.0, "a": 1.0}}, qrels)["recall@1"].value
    0.5
    """
    return divided(_relevant_found(judged, k, rel), judged.relevant(rel).docs)


@measure
def all_gold(judged: Judged, *, k: int | None = None, rel: Grade = 1) -> Values:
    """1 if every relevant document is in the top k (the multi-hop hit of RAGtifier), else 0.

    Formula:
        all_gold@k = 1 if recall@k = 1 else 0

    Range: 0 or 1; grows with k.

    >>> import rageval
    >>> qrels, run = {"q": {"a": 1, "b": 1}}, {"q": {"a": 2.0, "b": 1.0}}
    >>> scores = rageval.evaluate("all_gold@1,2", run, qrels)
    >>> scores["all_gold@1"].value, scores["all_gold@2"].value
    (0.0, 1.0)
    """
    total = judged.relevant(rel).docs
    complete: NDArray[np.bool_] = (total > 0) & (_relevant_found(judged, k, rel) == total)
    return complete.astype(np.float64)


@measure
def p(judged: Judged, *, k: int | None = None, rel: Grade = 1) -> Values:
    """Precision: share of the top k that is relevant.

    Formula:
        p@k = |relevant documents in the top k| / k; without k, divided by the documents retrieved

    Range: 0 to 1. A ranking shorter than k is divided by k all the same, as trec_eval does.

    >>> import rageval
    >>> rageval.evaluate("p@2", {"q": {"a": 2.0, "b": 1.0}}, {"q": {"a": 1}})["p@2"].value
    0.5
    """
    return divided(_relevant_found(judged, k, rel), judged.retrieved if k is None else k)


@measure
def success(judged: Judged, *, k: int | None = None, rel: Grade = 1) -> Values:
    """1 if a relevant document is in the top k, else 0.

    Formula:
        success@k = 1 if p@k > 0 else 0

    Range: 0 or 1; grows with k.

    >>> import rageval
    >>> rageval.evaluate("success@1", {"q": {"b": 2.0, "a": 1.0}}, {"q": {"a": 1}})["success@1"].value
    0.0
    """
    return (_relevant_found(judged, k, rel) > 0).astype(np.float64)


@measure
def p_ia(judged: Judged, *, k: int | None = None, rel: Grade = 1) -> Values:
    """Intent-aware precision: precision, averaged over the attainable nuggets.

    Formula:
        p_ia@k = Σ_{i≤k} |nuggets that d_i supports| / (k · S), S attainable nuggets;
        without k, k is the number of documents retrieved

    Range: 0 to 1.

    >>> import rageval
    >>> qrels = {"q": {"n1": {"a": 1, "b": 1}, "n2": {"a": 1}}}
    >>> rageval.evaluate("p_ia@2", {"q": {"a": 2.0, "b": 1.0}}, qrels)["p_ia@2"].value
    0.75
    """
    found = judged.sum(judged.finds(k, rel).query)
    return divided(found, judged.relevant(rel).attainable * (judged.retrieved if k is None else k))


@measure
def judged(judged: Judged, *, k: int | None = None) -> Values:
    """Share of the top k that is judged, whatever the grade.

    Formula:
        judged@k = |judged documents in the top k| / min(k, |retrieved|)

    Range: 0 to 1; a query with nothing retrieved gets 0. Per query: the judgements of another query
    say nothing.

    >>> import rageval
    >>> rageval.evaluate("judged@2", {"q": {"a": 2.0, "b": 1.0}}, {"q": {"a": 0}})["judged@2"].value
    0.5
    """
    return divided(judged.sum(judged.hits(k, rel=None).query), _retrieved(judged, k))


@measure(better=LOWER)
def hole(judged: Judged, *, k: int | None = None) -> Values:
    """Share of the top k that nobody judged.

    Formula:
        hole@k = |unjudged documents in the top k| / k; without k, divided by the documents retrieved

    Range: 0 to 1.

    Peers: FreshStack's Hole takes a document as judged if any query judged it; here the query itself
    must have.

    >>> import rageval
    >>> rageval.evaluate("hole@2", {"q": {"a": 2.0, "b": 1.0}}, {"q": {"a": 0}})["hole@2"].value
    0.5
    """
    unjudged = _retrieved(judged, k) - judged.sum(judged.hits(k, rel=None).query)
    return divided(unjudged, judged.retrieved if k is None else k)


def divided(value: Values, by: NDArray[Any] | float) -> Values:
    """value / by, and 0 where there is nothing to divide by."""
    total = np.broadcast_to(np.asarray(by, np.float64), value.shape)
    return np.divide(value, total, out=np.zeros_like(value), where=total > 0)


def _retrieved(judged: Judged, k: int | None) -> Values:
    count = judged.retrieved if k is None else np.minimum(judged.retrieved, k)
    return count.astype(np.float64)


def _relevant_found(judged: Judged, k: int | None, rel: int) -> Values:
    return judged.sum(judged.hits(k, rel).query)


def _nuggets_found(judged: Judged, k: int | None, rel: int) -> Values:
    finds = judged.finds(k, rel)
    return judged.sum(finds.query[finds.seen == 0])
