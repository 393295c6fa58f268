"""Measures of answers by their nuggets: how much of what a good answer holds is there, and at what length."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np

from rageval.measures.base import Between, Values, measure
from rageval.tables.graded import Float, Graded, Selection, quotient
from rageval.tables.grades import IMPORTANCE
from rageval.tables.scales import SUPPORT, Scale

VITAL, OKAY = (IMPORTANCE.index(name) for name in ("vital", "okay"))
WORDS = ("nfkc", "split")
_ALLOWANCE = 100.0  # non-space characters a nugget, TREC 2003


@measure
def nugget_recall(
    graded: Graded,
    *,
    importance: Literal["all", "vital", "okay", "weighted"] = "all",
    credit: Literal["strict", "partial"] = "strict",
) -> Values:
    """Share of the nuggets that the answer supports (AutoNuggetizer; TREC RAG).

    Formula:
        nugget_recall = Σ w·s / Σ w  over the nuggets of the query

        s: 1 for support; ½ for partial support if credit=partial, else 0; 0 for none
        w: 1 for the nuggets that importance names, 0 for the others;
           weighted: 1 for a vital nugget, ½ for an okay one

    Range: 0 to 1; undefined (left out, counted) for a query without such nuggets.

    Short names: `v_strict a_strict v a w` are vital/strict (TREC RAG's headline), all/strict, vital/partial,
    all/partial and weighted/partial.

    Peers: nuggetizer counts a query without vital nuggets as 0, and a nugget that could not be judged as not
    supported (`--compat nuggetizer`); open-rag-eval's fixed weights give a perfect answer 0.8 where there are
    no okay nuggets.

    Example: two vital nuggets, one supported and one partly; one okay nugget, not supported.

    >>> import rageval
    >>> nuggets = [("a", "vital", "support"), ("b", "vital", "partial_support"), ("c", "okay", "not_support")]
    >>> judged = [{"query_id": "q", "run_id": "r", "aspect": aspect, "importance": importance, "label": label}
    ...           for aspect, importance, label in nuggets]
    >>> scores = rageval.evaluate_answers("v_strict a_strict v a w", judged)["r"]
    >>> [round(score.value, 4) for score in scores.values()]
    [0.5, 0.3333, 0.75, 0.5, 0.6]
    """
    found = graded.on(SUPPORT, "nugget_recall")
    weight = weights_of(graded, found, SUPPORT, importance, "nugget_recall")
    worth = found.grade if credit == "partial" else (found.grade == 1).astype(np.float64)
    return graded.ratio(found.query, weight * worth, weight)


@measure
def nugget_density(graded: Graded, *, rule: Literal["nfkc", "split"] = "nfkc") -> Values:
    """Supported nuggets per 100 words of the answer.

    Formula:
        nugget_density = 100 · |nuggets with full support| / words

    Range: 0 upwards; undefined for an answer without words, or of unknown length (give `--answers`).

    Parameters:
        rule: how words are counted, see `length`

    >>> import rageval
    >>> judged = [{"query_id": "q", "run_id": "r", "aspect": "n", "label": "support"}]
    >>> answers = [{"query_id": "q", "run_id": "r", "answer": "It is safe to drink."}]
    >>> rageval.evaluate_answers("nugget_density", judged, answers=answers)["r"]["nugget_density"].value
    20.0
    """
    found = graded.on(SUPPORT, "nugget_density")
    supported = graded.sum(found.query, found.grade == 1)
    density = quotient(100.0 * supported, graded.lengths(rule))
    return np.where(graded.sum(found.query) > 0, density, np.nan)


@measure
def nugget_f(graded: Graded, *, beta: Annotated[float, Between(0.0, 1000.0)] = 5.0) -> Values:
    """F of vital nugget recall and a length-based precision (TREC 2003 QA track, definition questions).

    Formula:
        recall = |vital nuggets supported| / |vital nuggets|
        allowance = 100 · |nuggets supported, vital or okay|     (non-space characters)
        precision = 1 if length ≤ allowance, else 1 − (length − allowance) / length
        nugget_f = (β² + 1) · precision · recall / (β² · precision + recall)

    Range: 0 to 1; undefined without vital nuggets, or for an answer of unknown length (give `--answers`).

    Parameters:
        beta: how many times recall counts as much as precision; 5 in 2003, 3 later

    Example: one of two vital nuggets in 125 characters, of which 100 are allowed: recall ½, precision 0.8.

    >>> import rageval
    >>> judged = [{"query_id": "q", "run_id": "r", "aspect": aspect, "importance": "vital", "label": label}
    ...           for aspect, label in [("a", "support"), ("b", "not_support")]]
    >>> answers = [{"query_id": "q", "run_id": "r", "answer": "x" * 125}]
    >>> scores = rageval.evaluate_answers("nugget_f(beta=1)", judged, answers=answers)["r"]
    >>> round(scores["nugget_f(beta=1)"].value, 6) == round(2 * 0.8 * 0.5 / (0.8 + 0.5), 6)
    True
    """
    found = graded.on(SUPPORT, "nugget_f")
    supported = (found.grade == 1).astype(np.float64)
    vital = weights_of(graded, found, SUPPORT, "vital", "nugget_f")
    recall = graded.ratio(found.query, vital * supported, vital)
    length, allowance = graded.lengths("nonspace"), _ALLOWANCE * graded.sum(found.query, supported)
    precision = np.where(length <= allowance, 1.0, quotient(allowance, length))
    precision[np.isnan(length)] = np.nan
    below = beta**2 * precision + recall
    return np.where(below == 0, 0.0, quotient((beta**2 + 1) * precision * recall, below))


@measure
def rubric_score(graded: Graded, *, floor: Literal["none", "zero"] = "none") -> Values:
    """Weight of the criteria an answer meets, of all the weight there is to win (TREC RAG 2026 rubrics).

    Formula:
        rubric_score = Σ w·s / Σ_{w>0} w      s: 1 met, ½ partly, 0 not; a negative w is a fault

    Range: at most 1, below 0 where faults outweigh; undefined where no criterion has a positive weight.

    Parameters:
        floor: `zero` raises a negative value to 0

    Judgements carry the criterion's `weight`, or the file of nuggets (`--nuggets`) does; without it there is
    no score, as a fault would count as a merit.

    >>> import rageval
    >>> judged = [{"query_id": "q", "run_id": "r", "aspect": aspect, "weight": weight, "label": "support"}
    ...           for aspect, weight in [("names the dose", 3), ("invents a source", -1)]]
    >>> round(rageval.evaluate_answers("rubric_score", judged)["r"]["rubric_score"].value, 4)
    0.6667
    """
    found = graded.on(SUPPORT, "rubric_score", weighed=True)
    graded.require_weights(SUPPORT, "rubric_score")
    value = graded.ratio(found.query, found.weight * found.grade, np.maximum(found.weight, 0.0))
    return np.maximum(value, 0.0) if floor == "zero" else value


def weights_of(graded: Graded, found: Selection, scale: Scale, importance: str, measure: str) -> Float:
    """What each nugget counts; `UsageError` if that hangs on an importance which nothing says."""
    if importance == "all":
        return np.ones(len(found.query))
    graded.require_importance(scale, f"{measure} (importance={importance})")
    vital, okay = found.importance == VITAL, found.importance == OKAY
    of_vital, of_okay = {"vital": (1.0, 0.0), "okay": (0.0, 1.0), "weighted": (1.0, 0.5)}[importance]
    weights: Float = of_vital * vital + of_okay * okay
    return weights
