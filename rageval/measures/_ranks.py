"""Measures that depend on the ranks of relevant documents: nDCG, average precision, reciprocal rank."""

from __future__ import annotations

import math
from typing import Literal

from rageval.measures import bounds, ties
from rageval.measures.base import Grade, measure
from rageval.measures.ranking import Ranking, ratio


@measure(
    sees="relevant",
    ties=ties.NDCG,
    bounds=bounds.NDCG,
    peers={"ir_measures": "nDCG"},
    typeset="nDCG",
    papers=("jarvelin2002cumulated",),
)
def ndcg(ranking: Ranking, *, k: int | None = None, dcg: Literal["log2", "exp_log2"] = "log2") -> float:
    """nDCG: normalized discounted cumulative gain of graded documents (Järvelin and Kekäläinen, TOIS 2002).

    Formula:
        ndcg@k = Σ_{i≤k} g_i / log2(1+i)  ÷  the same sum over the judged documents by gain descending

        g_i: the gain of the document at rank i: its grade, the highest over the query's nuggets;
           grades below 1 gain nothing

    Range: 0 to 1.

    Parameters:
        dcg: `log2` as trec_eval; `exp_log2` takes 2^grade − 1 as gain

    Peers: FreshStack sums a document's grades over the nuggets, so that its NDCG is another number;
    `--compat freshstack` changes the order of documents alone.

    >>> import math, rageval
    >>> value = rageval.evaluate("ndcg", {"q": {"b": 2.0, "a": 1.0}}, {"q": {"a": 1}})["ndcg"].value
    >>> value == 1 / math.log2(3)
    True
    """
    return ratio(ranking.dcg(k, dcg), ranking.topic.ideal_dcg(k, dcg))


@measure(sees="relevant", ties=ties.AP, bounds=bounds.AP, peers={"ir_measures": "AP"}, typeset="AP")
def ap(ranking: Ranking, *, k: int | None = None, rel: Grade = 1) -> float:
    """Average precision: precision at each relevant document found, over all relevant documents.

    Formula:
        ap@k = Σ_{relevant d_i, i≤k} p@i  ÷  |relevant documents|

    Range: 0 to 1.

    >>> import rageval
    >>> rageval.evaluate("ap", {"q": {"b": 2.0, "a": 1.0}}, {"q": {"a": 1}})["ap"].value
    0.5
    """
    precisions = [number / hit.rank for number, hit in enumerate(ranking.hits(k, rel), 1)]
    return ratio(math.fsum(precisions), ranking.relevant(rel))


@measure(
    sees="nuggets",
    intents=True,
    ties=ties.MAP_IA,
    peers={"ir_measures": "AP_IA", "ndeval": "MAP-IA"},
    typeset="MAP-IA",
    papers=("agrawal2009diversifying",),
)
def map_ia(ranking: Ranking, *, k: int | None = None, rel: Grade = 1) -> float:
    """Intent-aware average precision: average precision for each attainable nugget, averaged.

    Formula:
        map_ia@k = 1/S · Σ_n 1/R_n · Σ_{d_i supports n, i≤k} (documents to rank i that support n) / i

        S: attainable nuggets
        R_n: relevant documents of nugget n

    Range: 0 to 1.

    >>> import rageval
    >>> qrels = {"q": {"n1": {"a": 1}, "n2": {"b": 1}}}
    >>> rageval.evaluate("map_ia", {"q": {"a": 2.0, "b": 1.0}}, qrels)["map_ia"].value
    0.75
    """
    documents_of = ranking.topic.documents_of(rel)
    supported: dict[int, int] = {}
    precisions = []
    for hit in ranking.hits(k, rel):
        for nugget in hit.nuggets:
            supported[nugget] = supported.get(nugget, 0) + 1
            precision = supported[nugget] / hit.rank / documents_of[nugget]
            precisions.append(precision * ranking.topic.weight_of(nugget))
    return ratio(math.fsum(precisions), ranking.weight(rel))


@measure(sees="relevant", ties=ties.RR, bounds=bounds.RR, peers={"ir_measures": "RR"}, typeset="RR")
def rr(ranking: Ranking, *, k: int | None = None, rel: Grade = 1) -> float:
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
    hits = ranking.hits(k, rel)
    return 1 / hits[0].rank if hits else 0.0
