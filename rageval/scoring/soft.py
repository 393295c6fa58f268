"""Judgements as probabilities: what a measure is on average, if documents support nuggets with these chances.

With independent chances p_{in} that the document at rank i supports nugget n:
    E[α-DCG@k]    = Σ_i 1/log2(1+i) · Σ_n p_{in} Π_{i'<i} (1 − α·p_{i'n})
    E[coverage@k] = mean over n of 1 − Π_{i≤k} (1 − p_{in})
α-nDCG is the quotient of two means, E[α-DCG of the run] / E[α-DCG of the ideal], the ideal being greedy in
mean gains; the mean of the quotient has no closed form. Chances of 0 and 1 give the ordinary values.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rageval.errors import InputError, Place
from rageval.scoring.sources import run_source
from rageval.text import visible

if TYPE_CHECKING:
    from rageval.typing import RunLike

_Float = NDArray[np.float64]
_Chances = Mapping[str, Mapping[str, Mapping[str, float]]]  # query -> nugget -> document -> chance


class _Soft(NamedTuple):
    """Mean values of one query."""

    alpha_dcg: float
    alpha_ndcg: float
    coverage: float


def soft_scores(
    run: RunLike, chances: _Chances, k: int | None = None, alpha: float = 0.5
) -> dict[str, _Soft]:
    """Return mean values of every judged query; a document or a nugget without a chance has none.

    `run` is anything that `evaluate` takes.

    >>> run, chances = {"q": {"a": 2.0, "b": 1.0}}, {"q": {"n1": {"a": 0.5, "b": 0.5}}}
    >>> soft_scores(run, chances, k=1)["q"].coverage, soft_scores(run, chances)["q"].coverage
    (0.5, 0.75)
    """
    if not 0 <= alpha <= 1:
        raise InputError(at=Place(f"alpha={alpha!r}"), expected="a number from 0 to 1")
    ranked = {query: docs[:k] for query, docs in run_source(run).run().ranked()}
    scores = {}
    for query, nuggets in chances.items():
        _refuse_non_chances(query, nuggets)
        top = _chance_table(nuggets, ranked.get(query, ()))
        everything = _chance_table(nuggets, sorted({doc for docs in nuggets.values() for doc in docs}))
        gained, best = _mean_alpha_dcg(top, alpha), _mean_alpha_dcg(_greedy(everything, alpha, k), alpha)
        # E[coverage]: a nugget is missed if each document misses it.
        coverage = float((1 - np.prod(1 - top, axis=0)).mean()) if top.shape[1] else 0.0
        scores[query] = _Soft(gained, gained / best if best else 0.0, coverage)
    return scores


def _mean_alpha_dcg(chances: _Float, alpha: float) -> float:
    """Return E[α-DCG] of a ranking: a row a document, a column a nugget."""
    fresh = np.cumprod(1 - alpha * chances, axis=0)
    before = np.vstack((np.ones((1, chances.shape[1])), fresh[:-1])) if len(chances) else chances
    discount = 1 / np.log2(np.arange(2.0, len(chances) + 2))
    return float(((chances * before).sum(axis=1) * discount).sum())


def _greedy(chances: _Float, alpha: float, k: int | None) -> _Float:
    """Return the documents in the order of greatest mean gain, ties by their order here."""
    left, fresh, taken = list(range(len(chances))), np.ones(chances.shape[1]), []
    for _ in range(len(chances) if k is None else min(k, len(chances))):
        best = left.pop(int(np.argmax(chances[left] @ fresh)))
        fresh = fresh * (1 - alpha * chances[best])
        taken.append(best)
    return chances[taken]


def _chance_table(nuggets: Mapping[str, Mapping[str, float]], docs: Any) -> _Float:
    cells = [[float(has.get(doc, 0.0)) for has in nuggets.values()] for doc in docs]
    return np.array(cells, np.float64).reshape(len(docs), len(nuggets))


def _refuse_non_chances(query: str, nuggets: Mapping[str, Mapping[str, float]]) -> None:
    for nugget, docs in nuggets.items():
        for doc, chance in docs.items():
            if not 0 <= chance <= 1:
                raise InputError(
                    at=Place(
                        f"query {visible(query)!r}, nugget {visible(nugget)!r}, document {visible(doc)!r}"
                    ),
                    expected="a probability from 0 to 1",
                    found=f"{chance!r}",
                )
