"""Measures that reward new nuggets over repeated ones: alpha-nDCG, ERR-IA, NRBP and their kin.

All are sums of gains times discounts. What a document gains is said once, in `rageval.measures.ranking`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Literal

from rageval.errors import MeasureError
from rageval.measures import bounds, ties
from rageval.measures.base import Alpha, Grade, measure
from rageval.measures.exact_ideal import exact_ideal
from rageval.measures.ranking import (
    Discount,
    Ranking,
    always_there,
    discounted,
    geometric,
    logarithmic,
    ratio,
    reciprocal,
)

_DEEPEST_INDEPENDENT = 10**7  # nothing is sized by a number that somebody typed
_GREEDY = "greedy is not the best ideal there"


def _ends_of_gains(parameters: Mapping[str, Any]) -> tuple[float, float]:
    """Return the ends of a sum of gains; ndeval does not divide it at every cut-off."""
    return 0.0, 1.0 if parameters["normalize"] == "independent" else math.inf


@measure(
    sees="nuggets",
    intents=True,
    ties=ties.LOGARITHMIC_GAINS,
    bounds=bounds.ALPHA_DCG,
    limits=_ends_of_gains,
    peers={"ir_measures": "alpha_DCG", "ndeval": "alpha-DCG"},
    typeset=r"$\alpha$-DCG",
    papers=("clarke2008novelty",),
)
def alpha_dcg(
    ranking: Ranking,
    *,
    k: int | None = None,
    alpha: Alpha = 0.5,
    rel: Grade = 1,
    normalize: Literal["none", "independent", "ndeval"] = "none",
) -> float:
    """Novelty-discounted cumulative gain (Clarke et al., SIGIR 2008).

    Formula:
        g_i = Σ_n J(d_i, n) · (1−α)^c_n(i)
        alpha_dcg@k = Σ_{i≤k} g_i / log2(1+i)

        J(d, n): 1 if document d supports nugget n, else 0
        c_n(i): how many documents above rank i support nugget n

    Range: 0 to what documents that hold all the nuggets would gain; not comparable between queries. With
    normalize=independent 0 to 1.

    Parameters:
        alpha: how little a nugget is worth when seen again: 0 the same, 1 nothing
        rel: the lowest grade that counts as support
        normalize: `independent` divides by the sum for a document that supports every nugget at each
            rank, Σ_{i≤k} S(1−α)^(i−1)/log2(1+i) with S attainable nuggets

    Peers: ndeval and pyndeval print the independent form at every rank but the first, so that their
    alpha-DCG@1 can be 2.0; `normalize=ndeval` (or --compat pyndeval) does the same.

    Example: two nuggets in the first document, one of them again in the second.

    >>> import math, rageval
    >>> qrels = {"q": {"n1": {"a": 1, "b": 1}, "n2": {"a": 1}}}
    >>> run = {"q": {"a": 2.0, "b": 1.0}}
    >>> rageval.evaluate("alpha_dcg@2", run, qrels)["alpha_dcg@2"].value == 2 + 0.5 / math.log2(3)
    True
    """
    gained = ranking.gain_sum(k, alpha, rel, logarithmic)
    return _independently(gained, ranking, k, alpha, rel, logarithmic, normalize)


@measure(
    sees="nuggets",
    intents=True,
    ties=ties.LOGARITHMIC_GAINS,
    bounds=bounds.ALPHA_NDCG,
    peers={"ir_measures": "alpha_nDCG", "ndeval": "alpha-nDCG"},
    orders={"freshstack": "docid_asc"},
    above_1=_GREEDY,
    typeset=r"$\alpha$-nDCG",
    papers=("clarke2008novelty",),
)
def alpha_ndcg(
    ranking: Ranking,
    *,
    k: int | None = None,
    alpha: Alpha = 0.5,
    rel: Grade = 1,
    ideal: Literal["greedy", "exact"] = "greedy",
) -> float:
    """Novelty-discounted gain, as a share of an ideal ranking's (Clarke et al., SIGIR 2008).

    Formula:
        alpha_ndcg@k = alpha_dcg@k(run) / alpha_dcg@k(ideal)

    The ideal ranking takes, rank by rank, the judged document of largest gain; equal gains by document
    id descending. With ideal=exact it is the best ranking there is, found by a mixed-integer program.

    Range: 0 to 1/(1−(1−1/k)^k), which is 1.33 for k = 2 and below 1.59 always; 0 to 1 with ideal=exact.

    Caveats: the greedy ideal is not always the best ranking, so a value above 1 is possible (1 in 100
    TREC Web topics), and renaming documents can change a value. It is not monotone in k.

    Parameters:
        alpha: how little a nugget is worth when seen again: 0 the same, 1 nothing
        rel: the lowest grade that counts as support
        ideal: how the ideal ranking is found; `greedy`, as in every published number, or `exact`, which
            takes some milliseconds a query, does not depend on names, and gives no values above 1

    Peers: ndeval and pyndeval stop at k = 20; ir_measures gives 0 for the second of two alphas in one
    call; FreshStack drops k > 20.

    Example: the second document repeats a nugget; the ideal puts c second.

    >>> import math, rageval
    >>> qrels = {"q": {"n1": {"a": 1, "b": 1}, "n2": {"a": 1}, "n3": {"c": 1}}}
    >>> run = {"q": {"a": 2.0, "b": 1.0}}
    >>> value = rageval.evaluate("alpha_ndcg@2", run, qrels)["alpha_ndcg@2"].value
    >>> value == (2 + 0.5 / math.log2(3)) / (2 + 1 / math.log2(3))
    True
    """
    if ideal == "greedy":
        best = ranking.topic.ideal_sum(k, alpha, rel, logarithmic)
    else:
        best = discounted(exact_ideal(ranking.topic, k, alpha, rel), logarithmic)
    return ratio(ranking.gain_sum(k, alpha, rel, logarithmic), best)


@measure(
    sees="nuggets",
    intents=True,
    ties=ties.RECIPROCAL_GAINS,
    bounds=bounds.ERR_IA,
    limits=_ends_of_gains,
    peers={"ir_measures": "ERR_IA", "ndeval": "ERR-IA"},
    typeset="ERR-IA",
    papers=("chapelle2009expected",),
)
def err_ia(
    ranking: Ranking,
    *,
    k: int | None = None,
    alpha: Alpha = 0.5,
    rel: Grade = 1,
    normalize: Literal["independent", "none", "ndeval"] = "independent",
) -> float:
    """Intent-aware expected reciprocal rank, normalized without the collection (Chapelle et al., CIKM 2009).

    Formula:
        err_ia@k = Σ_{i≤k} g_i / i  ÷  Σ_{i≤k} S · (1−α)^(i−1) / i

        g_i: as in `alpha_dcg`
        S: attainable nuggets

    Range: 0 to 1; without the division, 0 to what documents that hold all the nuggets would gain.

    Parameters:
        normalize: `none` leaves out the division, `ndeval` leaves it out at rank 1 alone

    Peers: ndeval leaves the value at rank 1 undivided, so that its ERR-IA@1 can be 3.0;
    `normalize=ndeval` (or --compat pyndeval) does the same.

    >>> import rageval
    >>> qrels = {"q": {"n1": {"a": 1, "b": 1}, "n2": {"a": 1}}}
    >>> run = {"q": {"a": 2.0, "b": 1.0}}
    >>> rageval.evaluate("err_ia@2", run, qrels)["err_ia@2"].value == (2 + 0.5 / 2) / (2 + 1 / 2)
    True
    """
    gained = ranking.gain_sum(k, alpha, rel, reciprocal)
    return _independently(gained, ranking, k, alpha, rel, reciprocal, normalize)


@measure(
    sees="nuggets",
    intents=True,
    ties=ties.RECIPROCAL_GAINS,
    bounds=bounds.NERR_IA,
    peers={"ir_measures": "nERR_IA", "ndeval": "nERR-IA"},
    above_1=_GREEDY,
    typeset="nERR-IA",
    papers=("chapelle2009expected",),
)
def nerr_ia(ranking: Ranking, *, k: int | None = None, alpha: Alpha = 0.5, rel: Grade = 1) -> float:
    """Intent-aware expected reciprocal rank, as a share of the greedy ideal ranking's.

    Formula:
        nerr_ia@k = Σ_{i≤k} g_i / i  ÷  the same sum over the ideal ranking of alpha_ndcg

    Range: 0 to 1, and a little above where the greedy ideal is not the best ranking.

    >>> import rageval
    >>> qrels = {"q": {"n1": {"a": 1, "b": 1}, "n2": {"a": 1}, "n3": {"c": 1}}}
    >>> run = {"q": {"a": 2.0, "b": 1.0}}
    >>> rageval.evaluate("nerr_ia@2", run, qrels)["nerr_ia@2"].value == (2 + 0.5 / 2) / (2 + 1 / 2)
    True
    """
    gained = ranking.gain_sum(k, alpha, rel, reciprocal)
    return ratio(gained, ranking.topic.ideal_sum(k, alpha, rel, reciprocal))


@measure(
    sees="nuggets",
    intents=True,
    ties=ties.GEOMETRIC_GAINS,
    bounds=bounds.NRBP,
    peers={"ir_measures": "NRBP", "ndeval": "NRBP"},
    typeset="NRBP",
    papers=("clarke2009effectiveness",),
)
def nrbp(
    ranking: Ranking, *, k: int | None = None, alpha: Alpha = 0.5, beta: Alpha = 0.5, rel: Grade = 1
) -> float:
    """Novelty- and rank-biased precision (Clarke et al., ICTIR 2009).

    Formula:
        nrbp = (1 − (1−α)·β)/S · Σ_i g_i · β^(i−1)

        g_i: as in `alpha_dcg`
        S: attainable nuggets

    Range: 0 to 1.

    Parameters:
        beta: the patience of the reader, who goes on to the next document with this probability

    >>> import rageval
    >>> qrels = {"q": {"n1": {"a": 1, "b": 1}, "n2": {"a": 1}}}
    >>> run = {"q": {"a": 2.0, "b": 1.0}}
    >>> rageval.evaluate("nrbp", run, qrels)["nrbp"].value == 0.75 / 2 * (2 + 0.5 * 0.5)
    True
    """
    gained = ranking.gain_sum(k, alpha, rel, geometric(beta))
    return (1 - (1 - alpha) * beta) * ratio(gained, ranking.weight(rel))


@measure(
    sees="nuggets",
    intents=True,
    ties=ties.GEOMETRIC_GAINS,
    bounds=bounds.NNRBP,
    peers={"ir_measures": "nNRBP", "ndeval": "nNRBP"},
    above_1=_GREEDY,
    typeset="nNRBP",
    papers=("clarke2009effectiveness",),
)
def nnrbp(
    ranking: Ranking, *, k: int | None = None, alpha: Alpha = 0.5, beta: Alpha = 0.5, rel: Grade = 1
) -> float:
    """Novelty- and rank-biased precision, as a share of the greedy ideal ranking's.

    Formula:
        nnrbp = Σ_i g_i · β^(i−1)  ÷  the same sum over the ideal ranking of alpha_ndcg

    Range: 0 to 1, and a little above where the greedy ideal is not the best ranking.

    >>> import rageval
    >>> qrels = {"q": {"n1": {"a": 1, "b": 1}, "n2": {"a": 1}, "n3": {"c": 1}}}
    >>> run = {"q": {"a": 2.0, "b": 1.0}}
    >>> rageval.evaluate("nnrbp", run, qrels)["nnrbp"].value == (2 + 0.25) / (2 + 0.5 + 0.5 / 4)
    True
    """
    gained = ranking.gain_sum(k, alpha, rel, geometric(beta))
    return ratio(gained, ranking.topic.ideal_sum(k, alpha, rel, geometric(beta)))


def _independently(
    gained: float,
    ranking: Ranking,
    k: int | None,
    alpha: float,
    rel: int,
    discount: Discount,
    normalize: str,
) -> float:
    """Return the run's sum over that for a document supporting every attainable nugget at every rank to k."""
    # ndeval divides at every rank but the first.
    if normalize == "none" or (normalize == "ndeval" and k == 1):
        return gained
    if k is not None and k > _DEEPEST_INDEPENDENT:
        raise MeasureError(
            f"normalize={normalize}: expected a cut-off of at most {_DEEPEST_INDEPENDENT:,}, found {k:,}"
        )
    depth = ranking.retrieved if k is None else k
    return ratio(gained, ranking.weight(rel) * always_there(depth, alpha, discount))
