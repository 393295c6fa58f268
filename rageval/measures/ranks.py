"""Measures that look at where relevant documents stand: nDCG, average precision, reciprocal rank."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rageval.measures.base import Grade, Values, measure
from rageval.measures.sets import divided
from rageval.tables.judged import Judged, earlier


@measure
def ndcg(judged: Judged, *, k: int | None = None, dcg: Literal["log2", "exp_log2"] = "log2") -> Values:
    """Normalised discounted cumulative gain over graded documents (Järvelin and Kekäläinen, TOIS 2002).

    Formula:
        ndcg@k = Σ_{i≤k} gain_i / log2(1+i)  ÷  the same sum over the judged documents by gain descending

    The gain is the document's grade (its highest over the query's nuggets); grades below 1 gain nothing.

    Range: 0 to 1.

    Parameters:
        dcg: `log2` as trec_eval; `exp_log2` takes 2^grade − 1 as gain

    >>> import math, rageval
    >>> value = rageval.evaluate("ndcg", {"q": {"b": 2.0, "a": 1.0}}, {"q": {"a": 1}})["ndcg"].value
    >>> value == 1 / math.log2(3)
    True
    """

    def gain_of(grade: NDArray[np.int32]) -> Values:
        gain = grade.astype(np.float64)  # all of them are above 0
        return gain if dcg == "log2" else np.exp2(gain) - 1

    def ideal() -> Values:
        grade, query = judged.qrels.doc_grade, judged.qrels.doc_query
        order = np.lexsort((-grade, query))
        order = order[grade[order] > 0]
        rank = earlier(query[order]) + 1
        top = rank <= (k or rank.max(initial=0))
        return judged.sum(query[order][top], gain_of(grade[order])[top] / np.log2(1 + rank[top]))

    hits = judged.hits(k)
    gain = gain_of(judged.qrels.doc_grade[hits.doc])
    found = judged.sum(hits.query, gain / np.log2(1 + hits.rank))
    return divided(found, judged.judgements.keep(("ndcg", k, dcg), ideal))


@measure
def ap(judged: Judged, *, k: int | None = None, rel: Grade = 1) -> Values:
    """Average precision: precision at each relevant document found, over all relevant documents.

    Formula:
        ap@k = Σ_{relevant d_i, i≤k} p@i / |relevant documents|

    Range: 0 to 1.

    >>> import rageval
    >>> rageval.evaluate("ap", {"q": {"b": 2.0, "a": 1.0}}, {"q": {"a": 1}})["ap"].value
    0.5
    """
    hits = judged.hits(k, rel)
    precision = (earlier(hits.query) + 1) / hits.rank
    return divided(judged.sum(hits.query, precision), judged.relevant(rel).docs)


@measure
def map_ia(judged: Judged, *, k: int | None = None, rel: Grade = 1) -> Values:
    """Intent-aware average precision: average precision for each attainable nugget, averaged.

    Formula:
        map_ia@k = 1/S · Σ_n 1/R_n · Σ_{d_i supports n, i≤k} (documents to rank i that support n) / i

    with S attainable nuggets and R_n relevant documents of nugget n.

    Range: 0 to 1.

    >>> import rageval
    >>> qrels = {"q": {"n1": {"a": 1}, "n2": {"b": 1}}}
    >>> rageval.evaluate("map_ia", {"q": {"a": 2.0, "b": 1.0}}, qrels)["map_ia"].value
    0.75
    """
    finds = judged.finds(k, rel)
    relevant = judged.relevant(rel)
    share = (finds.seen + 1) / finds.rank / relevant.docs_of_nugget[finds.nugget]
    by_size = np.lexsort((share, finds.query))  # so that the names of nuggets change no digit
    return divided(judged.sum(finds.query[by_size], share[by_size]), relevant.attainable)


@measure
def rr(judged: Judged, *, k: int | None = None, rel: Grade = 1) -> Values:
    """Reciprocal rank of the first relevant document, 0 if none is in the top k.

    Formula:
        rr@k = 1 / rank of the first relevant document, if that is at most k

    Range: 0 to 1.

    Peers: ir_measures prints different values for RR and RR@10 of one ranking with ties, because two
    tools with two tie rules compute them.

    >>> import rageval
    >>> rageval.evaluate("rr", {"q": {"b": 2.0, "a": 1.0}}, {"q": {"a": 1}})["rr"].value
    0.5
    """
    hits = judged.hits(k, rel)
    first = earlier(hits.query) == 0
    return judged.sum(hits.query[first], 1.0 / hits.rank[first])
