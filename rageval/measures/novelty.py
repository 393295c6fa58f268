"""Measures that reward new nuggets over repeated ones: alpha-nDCG, ERR-IA, NRBP and their kin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np

from rageval.errors import MeasureError
from rageval.measures.base import Alpha, Grade, Values, measure
from rageval.measures.sets import divided
from rageval.tables.exact_ideal import exact_sums
from rageval.tables.judged import Hits, Judged

Discount = Callable[[int], Values]  # depth -> the weights of the ranks 1 to depth

_DEEPEST_INDEPENDENT = 10**7  # nothing is sized by a number that somebody typed
_SLACK = 1e-12
# Measures that ask which nugget a document supports.
OF_NUGGETS = {"alpha_ndcg", "alpha_dcg", "coverage", "strec", "err_ia", "nerr_ia", "nrbp", "nnrbp"}
OF_NUGGETS |= {"map_ia", "p_ia"}


@measure
def alpha_dcg(
    judged: Judged,
    *,
    k: int | None = None,
    alpha: Alpha = 0.5,
    rel: Grade = 1,
    normalise: Literal["none", "independent", "ndeval"] = "none",
) -> Values:
    """Novelty-discounted cumulative gain (Clarke et al., SIGIR 2008).

    Formula:
        g_i = Σ_n J(d_i, n) · (1−α)^c_n(i), c_n(i) = documents above rank i that support nugget n
        alpha_dcg@k = Σ_{i≤k} g_i / log2(1+i)

    Range: 0 to Σ_{i≤k} N/log2(1+i) for N nuggets; not comparable between queries.

    Parameters:
        alpha: how little a nugget is worth when seen again: 0 the same, 1 nothing
        rel: the lowest grade that counts as support
        normalise: `independent` divides by the sum for a document that supports every nugget at each
            rank, Σ_{i≤k} S(1−α)^(i−1)/log2(1+i) with S attainable nuggets

    Peers: ndeval and pyndeval print the independent form at every rank but the first, so that their
    alpha-DCG@1 can be 2.0; `normalise=ndeval` (or --compat pyndeval) does the same.

    Example: two nuggets in the first document, one of them again in the second.

    >>> import math, rageval
    >>> qrels = {"q": {"n1": {"a": 1, "b": 1}, "n2": {"a": 1}}}
    >>> run = {"q": {"a": 2.0, "b": 1.0}}
    >>> rageval.evaluate("alpha_dcg@2", run, qrels)["alpha_dcg@2"].value == 2 + 0.5 / math.log2(3)
    True
    """
    return _independently(judged, k, alpha, rel, _logarithmic, normalise)


@measure
def alpha_ndcg(
    judged: Judged,
    *,
    k: int | None = None,
    alpha: Alpha = 0.5,
    rel: Grade = 1,
    ideal: Literal["greedy", "exact"] = "greedy",
) -> Values:
    """Novelty-discounted gain, as a share of an ideal ranking's (Clarke et al., SIGIR 2008).

    Formula:
        alpha_ndcg@k = alpha_dcg@k(run) / alpha_dcg@k(ideal)

    The ideal ranking takes, rank by rank, the judged document of largest gain; equal gains by document
    id descending. With ideal=exact it is the best ranking there is, found by a mixed-integer programme.

    Range: 0 to 1/(1−(1−1/k)^k), which is 1.33 for k = 2 and below 1.59 always; 0 to 1 with ideal=exact.

    Caveats: the greedy ideal is not always the best ranking, so a value above 1 is possible (1 in 100
    TREC Web topics), and renaming documents can change a value. It is not monotone in k.

    Parameters:
        alpha: how little a nugget is worth when seen again: 0 the same, 1 nothing
        rel: the lowest grade that counts as support
        ideal: how the ideal ranking is found; `greedy`, as in every published number, or `exact`, which
            takes some milliseconds a query and knows neither names nor values above 1

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
    best = (_of_ideal if ideal == "greedy" else _of_best)(judged, k, alpha, rel, _logarithmic, "log")
    return divided(_of_run(judged, k, alpha, rel, _logarithmic), best)


@measure
def err_ia(
    judged: Judged,
    *,
    k: int | None = None,
    alpha: Alpha = 0.5,
    rel: Grade = 1,
    normalise: Literal["independent", "none", "ndeval"] = "independent",
) -> Values:
    """Intent-aware expected reciprocal rank, normalised without the collection (Chapelle et al., CIKM 2009).

    Formula:
        err_ia@k = Σ_{i≤k} g_i / i  ÷  Σ_{i≤k} S(1−α)^(i−1) / i, g_i as in alpha_dcg, S attainable nuggets

    Range: 0 to 1.

    Peers: ndeval leaves the value at rank 1 undivided, so that its ERR-IA@1 can be 3.0;
    `normalise=ndeval` (or --compat pyndeval) does the same.

    >>> import rageval
    >>> qrels = {"q": {"n1": {"a": 1, "b": 1}, "n2": {"a": 1}}}
    >>> run = {"q": {"a": 2.0, "b": 1.0}}
    >>> rageval.evaluate("err_ia@2", run, qrels)["err_ia@2"].value == (2 + 0.5 / 2) / (2 + 1 / 2)
    True
    """
    return _independently(judged, k, alpha, rel, _reciprocal, normalise)


@measure
def nerr_ia(judged: Judged, *, k: int | None = None, alpha: Alpha = 0.5, rel: Grade = 1) -> Values:
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
    best = _of_ideal(judged, k, alpha, rel, _reciprocal, "reciprocal")
    return divided(_of_run(judged, k, alpha, rel, _reciprocal), best)


@measure
def nrbp(
    judged: Judged, *, k: int | None = None, alpha: Alpha = 0.5, beta: Alpha = 0.5, rel: Grade = 1
) -> Values:
    """Novelty- and rank-biased precision (Clarke et al., ICTIR 2009).

    Formula:
        nrbp = (1 − (1−α)β)/S · Σ_i g_i β^(i−1), g_i as in alpha_dcg, S attainable nuggets

    Range: 0 to 1.

    Parameters:
        beta: the patience of the reader, who goes on to the next document with this probability

    >>> import rageval
    >>> qrels = {"q": {"n1": {"a": 1, "b": 1}, "n2": {"a": 1}}}
    >>> run = {"q": {"a": 2.0, "b": 1.0}}
    >>> rageval.evaluate("nrbp", run, qrels)["nrbp"].value == 0.75 / 2 * (2 + 0.5 * 0.5)
    True
    """
    total = _of_run(judged, k, alpha, rel, _geometric(beta))
    return (1 - (1 - alpha) * beta) * divided(total, judged.relevant(rel).attainable)


@measure
def nnrbp(
    judged: Judged, *, k: int | None = None, alpha: Alpha = 0.5, beta: Alpha = 0.5, rel: Grade = 1
) -> Values:
    """Novelty- and rank-biased precision, as a share of the greedy ideal ranking's.

    Formula:
        nnrbp = Σ_i g_i β^(i−1)  ÷  the same sum over the ideal ranking of alpha_ndcg

    Range: 0 to 1, and a little above where the greedy ideal is not the best ranking.

    >>> import rageval
    >>> qrels = {"q": {"n1": {"a": 1, "b": 1}, "n2": {"a": 1}, "n3": {"c": 1}}}
    >>> run = {"q": {"a": 2.0, "b": 1.0}}
    >>> rageval.evaluate("nnrbp", run, qrels)["nnrbp"].value == (2 + 0.25) / (2 + 0.5 + 0.5 / 4)
    True
    """
    best = _of_ideal(judged, k, alpha, rel, _geometric(beta), beta)
    return divided(_of_run(judged, k, alpha, rel, _geometric(beta)), best)


def _logarithmic(depth: int) -> Values:
    """1/log2(1+i) for the ranks 1 to depth."""
    weight: Values = 1.0 / np.log2(np.arange(2.0, depth + 2))
    return weight


def _reciprocal(depth: int) -> Values:
    weight: Values = 1.0 / np.arange(1.0, depth + 1)
    return weight


def _geometric(beta: float) -> Discount:
    return lambda depth: beta ** np.arange(float(depth))


def _of_run(judged: Judged, k: int | None, alpha: float, rel: int, discount: Discount) -> Values:
    """Σ over the top k of gain times discount."""
    hits, gain = judged.gains(alpha, rel)
    weight = discount(judged.depth)
    if k is not None:
        top = hits.rank <= k
        hits, gain = Hits(*(column[top] for column in hits)), gain[top]
    return judged.sum(hits.query, gain * weight[hits.rank - 1])


def _of_ideal(
    judged: Judged, k: int | None, alpha: float, rel: int, discount: Discount, key: object
) -> Values:
    """The same sum over the ideal ranking; it depends on the judgements alone, so it is kept."""

    def compute() -> Values:
        query, rank, gain = judged.relevant(rel).ideal(alpha).gains(k)
        return judged.sum(query, gain * discount(int(rank.max(initial=0)))[rank - 1])

    values: Values = judged.judgements.keep(("ideal", k, alpha, rel, key), compute)
    return values


def _independently(
    judged: Judged, k: int | None, alpha: float, rel: int, discount: Discount, normalise: str
) -> Values:
    """The run's sum over that for a document supporting every attainable nugget at every rank to k."""
    total = _of_run(judged, k, alpha, rel, discount)
    if normalise == "none" or (normalise == "ndeval" and k == 1):
        return total
    if k is not None and k > _DEEPEST_INDEPENDENT:
        raise MeasureError(
            f"normalise={normalise}: expected a cut-off of at most {_DEEPEST_INDEPENDENT:,}, found {k:,}"
        )
    depth = judged.retrieved if k is None else np.full(judged.n_queries, k)
    ranks = int(depth.max(initial=0))
    a_nugget = np.concatenate(([0.0], np.cumsum((1 - alpha) ** np.arange(float(ranks)) * discount(ranks))))
    return divided(total, judged.relevant(rel).attainable * a_nugget[depth])


def gap_to_greedy(judged: Judged, k: int | None, alpha: float, rel: int) -> tuple[int, float]:
    """In how many queries a better ranking than the greedy one exists, and by what share at most."""
    greedy, best = (sums(judged, k, alpha, rel, _logarithmic, "log") for sums in (_of_ideal, _of_best))
    gap = divided(best - greedy, greedy)
    return int((gap > _SLACK).sum()), float(gap.max(initial=0.0))


def _of_best(
    judged: Judged, k: int | None, alpha: float, rel: int, discount: Discount, key: object
) -> Values:
    """The sum over the best ranking, proved to be the best."""

    def compute() -> Values:
        relevant = judged.relevant(rel)
        greedy = _of_ideal(judged, k, alpha, rel, discount, key)
        return exact_sums(judged.qrels, relevant.pair_begin, relevant.pair_nugget, alpha, k, greedy)

    values: Values = judged.judgements.keep(("best", k, alpha, rel, key), compute)
    return values
