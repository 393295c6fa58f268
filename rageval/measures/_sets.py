"""Measures of what the top k holds, in any order: coverage, recall, precision, holes."""

from __future__ import annotations

from typing import Literal

from rageval.measures import bounds, ties
from rageval.measures.base import LOWER, Grade, measure
from rageval.measures.ranking import Ranking, Share


def nuggets_found(ranking: Ranking, k: int | None, rel: int) -> set[int]:
    """Return the nuggets that the documents in the top k support."""
    return {nugget for hit in ranking.hits(k, rel) for nugget in hit.nuggets}


@measure(
    sees="nuggets",
    intents=True,
    ties=ties.COVERAGE,
    bounds=bounds.COVERAGE,
    orders={"freshstack": "input"},
    papers=("thakur2025freshstack",),
)
def coverage(
    ranking: Ranking,
    *,
    k: int | None = None,
    denominator: Literal["listed", "attainable"] = "listed",
    rel: Grade = 1,
) -> Share:
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
    total = ranking.weight() if denominator == "listed" else ranking.weight(rel)
    return Share(ranking.topic.weight(nuggets_found(ranking, k, rel)), total)


@measure(
    sees="nuggets",
    intents=True,
    ties=ties.COVERAGE,
    bounds=bounds.STREC,
    peers={"ir_measures": "StRecall", "ndeval": "strec"},
    typeset="S-recall",
    papers=("zhai2003beyond",),
)
def strec(ranking: Ranking, *, k: int | None = None, rel: Grade = 1) -> Share:
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
    return Share(ranking.topic.weight(nuggets_found(ranking, k, rel)), ranking.weight(rel))


@measure(sees="relevant", ties=ties.RECALL, bounds=bounds.RECALL, peers={"ir_measures": "R"})
def recall(ranking: Ranking, *, k: int | None = None, rel: Grade = 1) -> Share:
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
    return Share(ranking.found(k, rel), ranking.relevant(rel))


@measure(sees="relevant", ties=ties.ALL_GOLD, bounds=bounds.ALL_GOLD, papers=("cofala2025ragtifier",))
def all_gold(ranking: Ranking, *, k: int | None = None, rel: Grade = 1) -> float:
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
    return float(0 < ranking.relevant(rel) == ranking.found(k, rel))


@measure(sees="relevant", ties=ties.P, bounds=bounds.P, peers={"ir_measures": "P"}, typeset="P")
def p(ranking: Ranking, *, k: int | None = None, rel: Grade = 1) -> Share:
    """Precision: share of the top k that is relevant.

    Formula:
        p@k = |relevant documents in the top k| / k

        k: without it, the number of documents retrieved

    Range: 0 to 1. A ranking shorter than k is divided by k all the same, as trec_eval does.

    >>> import rageval
    >>> rageval.evaluate("p@2", {"q": {"a": 2.0, "b": 1.0}}, {"q": {"a": 1}})["p@2"].value
    0.5
    """
    return Share(ranking.found(k, rel), k or ranking.retrieved)


@measure(sees="relevant", ties=ties.SUCCESS, bounds=bounds.SUCCESS, peers={"ir_measures": "Success"})
def success(ranking: Ranking, *, k: int | None = None, rel: Grade = 1) -> float:
    """1 if a relevant document is in the top k, else 0.

    Formula:
        success@k = 1 if p@k > 0 else 0

    Range: 0 or 1; grows with k.

    >>> import rageval
    >>> rageval.evaluate("success@1", {"q": {"b": 2.0, "a": 1.0}}, {"q": {"a": 1}})["success@1"].value
    0.0
    """
    return float(ranking.found(k, rel) > 0)


@measure(
    sees="nuggets",
    intents=True,
    ties=ties.P_IA,
    bounds=bounds.P_IA,
    peers={"ir_measures": "P_IA", "ndeval": "P-IA"},
    typeset="P-IA",
    papers=("agrawal2009diversifying",),
)
def p_ia(ranking: Ranking, *, k: int | None = None, rel: Grade = 1) -> Share:
    """Intent-aware precision: precision, averaged over the attainable nuggets.

    Formula:
        p_ia@k = Σ_{i≤k} |nuggets that d_i supports|  ÷  (k · S)

        S: attainable nuggets
        k: without it, the number of documents retrieved

    Range: 0 to 1.

    >>> import rageval
    >>> qrels = {"q": {"n1": {"a": 1, "b": 1}, "n2": {"a": 1}}}
    >>> rageval.evaluate("p_ia@2", {"q": {"a": 2.0, "b": 1.0}}, qrels)["p_ia@2"].value
    0.75
    """
    supported = sum(ranking.topic.weight(hit.nuggets) for hit in ranking.hits(k, rel))
    return Share(supported, ranking.weight(rel) * (k or ranking.retrieved))


@measure(ties=ties.JUDGED, peers={"ir_measures": "Judged"})
def judged(ranking: Ranking, *, k: int | None = None) -> Share:
    """Share of the top k that is judged, whatever the grade.

    Formula:
        judged@k = |judged documents in the top k| / min(k, |retrieved|)

    Range: 0 to 1; a query with nothing retrieved gets 0. Judgements of other queries do not count.

    >>> import rageval
    >>> rageval.evaluate("judged@2", {"q": {"a": 2.0, "b": 1.0}}, {"q": {"a": 0}})["judged@2"].value
    0.5
    """
    return Share(len(ranking.hits(k, rel=None)), ranking.depth(k))


@measure(better=LOWER, ties=ties.HOLE, orders={"freshstack": "input"})
def hole(ranking: Ranking, *, k: int | None = None) -> Share:
    """Share of the top k that is unjudged.

    Formula:
        hole@k = |unjudged documents in the top k| / k

        k: without it, the number of documents retrieved

    Range: 0 to 1.

    Peers: FreshStack's Hole takes a document as judged if any query judged it; here the query itself
    must have, also with `--compat freshstack`.

    >>> import rageval
    >>> rageval.evaluate("hole@2", {"q": {"a": 2.0, "b": 1.0}}, {"q": {"a": 0}})["hole@2"].value
    0.5
    """
    return Share(ranking.depth(k) - len(ranking.hits(k, rel=None)), k or ranking.retrieved)
