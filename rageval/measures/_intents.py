"""Diversity by intents and how likely each is: D-nDCG, I-rec, and D♯-nDCG, which is both (Sakai and Song)."""

from __future__ import annotations

from typing import Annotated

from rageval.measures import ties
from rageval.measures._sets import nuggets_found
from rageval.measures.base import Between, Grade, measure
from rageval.measures.ranking import Ranking, Share, discounted, logarithmic, ratio


@measure(sees="nuggets", intents=True, ties=ties.D_NDCG, typeset="D-nDCG", papers=("sakai2011evaluating",))
def d_ndcg(ranking: Ranking, *, k: int | None = None) -> float:
    """Discounted gain over all intents, by probability, as a share of the best (Sakai and Song, 2011).

    Formula:
        GG(d) = Σ_i P(i) · grade of d for intent i
        d_ndcg@k = Σ_{r≤k} GG(d_r) / log2(1+r)  ÷  the same sum over the judged documents by GG descending

        P(i): the probability of intent i
        grade: one below 1 gains nothing

    An intent is a nugget. Its probability is its weight (`--intent-weights`), as a share of those of the
    query; without weights all intents are equally likely.

    Range: 0 to 1.

    Peers: equal to pyNTCIREVAL's `MSnDCG` over the gains GG; NTCIREVAL calls it D-nDCG.

    Example: two intents; the document that serves both stands second.

    >>> import math, rageval
    >>> qrels = {"q": {"i1": {"a": 1, "b": 2}, "i2": {"b": 1}}}
    >>> value = rageval.evaluate("d_ndcg@2", {"q": {"a": 2.0, "b": 1.0}}, qrels)["d_ndcg@2"].value
    >>> value == (1 + 3 / math.log2(3)) / (3 + 1 / math.log2(3))
    True
    """
    return _gained(ranking, k)


@measure(sees="nuggets", intents=True, ties=ties.I_REC, typeset="I-rec", papers=("sakai2011evaluating",))
def i_rec(ranking: Ranking, *, k: int | None = None, rel: Grade = 1) -> Share:
    """Intent recall: share of the intents that the top k serves, whatever they weigh (Sakai and Song, 2011).

    Formula:
        i_rec@k = |intents with a relevant document in the top k| / |intents with a relevant document|

    Range: 0 to 1; grows with k. It is `strec` without weights; weights of intents have no effect.

    >>> import rageval
    >>> qrels = {"q": {"i1": {"a": 1}, "i2": {"b": 1}}}
    >>> rageval.evaluate("i_rec@1", {"q": {"a": 2.0, "b": 1.0}}, qrels)["i_rec@1"].value
    0.5
    """
    return Share(len(nuggets_found(ranking, k, rel)), ranking.nuggets(rel))


@measure(
    sees="nuggets",
    intents=True,
    ties=ties.D_SHARP,
    typeset=r"D$\sharp$-nDCG",
    papers=("sakai2011evaluating",),
)
def d_sharp(
    ranking: Ranking,
    *,
    k: int | None = None,
    gamma: Annotated[float, Between(0.0, 1.0)] = 0.5,
    rel: Grade = 1,
) -> float:
    """D♯-nDCG: intent recall and D-nDCG in one (Sakai and Song, 2011).

    Formula:
        d_sharp@k = γ · i_rec@k + (1 − γ) · d_ndcg@k

    Range: 0 to 1.

    Parameters:
        gamma: how much intent recall counts; ½ in the paper and at NTCIR
        rel: the lowest grade that serves an intent, of intent recall alone

    Example: two intents, of which the first document serves one.

    >>> import rageval
    >>> qrels = {"q": {"i1": {"a": 1}, "i2": {"b": 1}}}
    >>> rageval.evaluate("d_sharp@1", {"q": {"a": 2.0, "b": 1.0}}, qrels)["d_sharp@1"].value
    0.75
    """
    recalled = Share(len(nuggets_found(ranking, k, rel)), ranking.nuggets(rel))
    return gamma * recalled + (1 - gamma) * _gained(ranking, k)


def _gained(ranking: Ranking, k: int | None) -> float:
    gains = ranking.topic.global_gains()
    gained = [(hit.rank, gains[hit.document]) for hit in ranking.graded(k)]
    return ratio(discounted(gained, logarithmic), ranking.topic.best_dcg(k))
