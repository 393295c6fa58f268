"""Measures of what answers state of themselves: is the confidence right, what does a correct answer cost."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any, Literal

from rageval import hooks
from rageval.errors import MeasureError
from rageval.measures._grades import is_pass
from rageval.measures.assessment import Assessment
from rageval.measures.base import LOWER, Between, measure
from rageval.measures.together import Outcomes, Together

_RIGHT = "crag"  # the aspect by which `accuracy` tells what is right
_UNDEFINED: Any = math.nan
_OFFICIAL = "browsecomp_plus"  # the rule of that benchmark's script


def _with_confidence(answer: Assessment) -> tuple[float, float]:
    """Return the confidence of an answer, and whether it is right: 1 or 0; NaN where that is missing."""
    right = is_pass(answer, _RIGHT)
    return answer.total("confidence"), right


@measure(better=LOWER, papers=("brier1950verification",))
def brier(answer: Assessment) -> float:
    """Mean squared difference between confidence and correctness (Brier, 1950).

    Formula:
        brier = mean of (c − y)² over the questions

        c: the confidence that the answer states
        y: 1 if it is correct, as in `accuracy`, else 0

    Range: 0 to 1; 0.25 for a confidence of one half in every answer. Undefined for an answer without a
    confidence.

    >>> import rageval
    >>> judged = [{"query_id": "q", "run_id": "r", "label": "accurate"}]
    >>> answers = [{"query_id": "q", "run_id": "r", "answer": "x", "confidence": 0.8}]
    >>> round(rageval.evaluate_answers("brier", judged, answers=answers)["r"]["brier"].value, 4)
    0.04
    """
    confidence, right = _with_confidence(answer)
    return (confidence - right) ** 2


def _calibration(parameters: Mapping[str, Any]) -> Together:
    bin_size, norm = parameters["bin_size"], parameters["norm"]
    if parameters["rule"] == _OFFICIAL:
        return Together(partial(hooks.error_without_last_bin, bin_size=bin_size, norm=norm), None)
    settings = {"bin_size": bin_size, "norm": norm}
    value = partial(hooks.calibration_error_of, **settings, debiased=parameters["debiased"] == "true")
    # Noise alone makes an error, and more of it in resamples: without its bias, these spread as they should.
    resampled = partial(hooks.calibration_error_of, **settings, debiased=True)
    return Together(value, resampled if norm == 2 else None)


@measure(
    better=LOWER,
    together=_calibration,
    limits=lambda parameters: (0.0, 100.0 if parameters["rule"] == _OFFICIAL else 1.0),
    papers=("hendrycks2019oe", "kumar2019calibration"),
)
def calibration_error(
    answer: Assessment,
    *,
    bin_size: Annotated[int, Between(2, 1e9)] = 100,
    norm: Annotated[int, Between(1, 10)] = 2,
    debiased: Literal["false", "true"] = "false",
    rule: Literal["all_bins", "browsecomp_plus"] = "all_bins",
) -> Outcomes:
    """How far confidence is from the share of correct answers, over bins of equally many answers.

    Formula:
        calibration_error = (Σ n / N · |y − c|^norm)^(1/norm) over the bins

        n, N: answers in the bin, and in all
        y: share of them that is correct, as in `accuracy`
        c: their mean confidence

    Answers are sorted by confidence and cut into bins of bin_size; the last bin also has what is left over.
    Answers of one confidence are in one bin, that of the first of them. Several answers to a question count
    as one. Undefined for an answer without a confidence.

    Range: 0 to 1. With few answers to a bin it is too large: a system that knows its chances has about
    √(bins / (6 · N)) instead of 0. Intervals and tests resample the debiased value.

    Parameters:
        bin_size: answers in a bin; one bin if there are fewer in all
        norm: the exponent; there are intervals and tests for 2 alone
        debiased: with `true`, y · (1 − y) / (n − 1) is subtracted in each bin (Kumar et al., 2019), and a sum
            below 0 counts as 0
        rule: `browsecomp_plus` is its script: the last bin does not count, bins part equal confidences in the
            order of the file, and the value is in percent

    >>> import rageval
    >>> judged = [{"query_id": str(at), "run_id": "r", "label": label}
    ...           for at, label in enumerate(["accurate", "incorrect"])]
    >>> answers = [{"query_id": str(at), "run_id": "r", "answer": "x", "confidence": 0.9} for at in range(2)]
    >>> round(rageval.evaluate_answers("calibration_error", judged, answers=answers)["r"].scores[0].value, 4)
    0.4
    """
    confidence, right = _with_confidence(answer)
    if debiased == "true" and (norm != 2 or rule == _OFFICIAL):
        raise MeasureError("calibration_error: debiased=true needs norm=2 and rule=all_bins")
    gap = abs(confidence - right) * (100 if rule == _OFFICIAL else 1)
    return Outcomes(gap, [(confidence, right, 1.0)]) if gap == gap else _UNDEFINED


def _selective(parameters: Mapping[str, Any]) -> Together:
    statistic = partial(hooks.selective_accuracy, coverage=parameters["coverage"])
    return Together(statistic, statistic)


@measure(together=_selective, papers=("geifman2017selective",))
def selective(answer: Assessment, *, coverage: Annotated[float, Between(0.001, 1.0)] = 0.5) -> Outcomes:
    """Accuracy of the most confident answers: how good a system is that answers only when it is sure.

    Formula:
        selective = Σ y over the coverage · N most confident answers / (coverage · N)

        y: 1 if the answer is correct, as in `accuracy`, else 0

    Of answers of one confidence, of which some count, it is the mean over all orders. If coverage · N is no
    whole number, the last answer counts in part. Undefined for an answer without a confidence.

    Range: 0 to 1; with coverage 1 it is the accuracy.

    Parameters:
        coverage: the share of the answers that count

    >>> import rageval
    >>> judged = [{"query_id": str(at), "run_id": "r", "label": label}
    ...           for at, label in enumerate(["accurate", "incorrect"])]
    >>> answers = [{"query_id": str(at), "run_id": "r", "answer": "x", "confidence": sure}
    ...            for at, sure in enumerate([0.9, 0.4])]
    >>> rageval.evaluate_answers("selective", judged, answers=answers)["r"]["selective"].value
    1.0
    """
    confidence, right = _with_confidence(answer)
    return (
        Outcomes(right, [(confidence, right, 1.0)])
        if confidence + right == confidence + right
        else _UNDEFINED
    )


def _cost_ratio(parameters: Mapping[str, Any]) -> Together:
    return Together(hooks.ratio_of_sums, hooks.ratio_of_sums)


@measure(better=LOWER, together=_cost_ratio, limits=(0.0, math.inf))
def cost_per_correct(answer: Assessment) -> Outcomes:
    """Cost of a correct answer: what all answers cost, divided by how many are correct.

    Formula:
        cost_per_correct = Σ cost ÷ Σ y over the questions

        y: 1 if the answer is correct, as in `accuracy`, else 0

    Of several answers to a question, the mean cost and the mean of y count. An answer whose cost is not
    stated has no value. Undefined where nothing is correct.

    Range: 0 upwards, in the unit of the file.

    >>> import rageval
    >>> judged = [{"query_id": str(at), "run_id": "r", "label": label}
    ...           for at, label in enumerate(["accurate", "incorrect"])]
    >>> answers = [{"query_id": str(at), "run_id": "r", "answer": "x", "cost": 0.02} for at in range(2)]
    >>> rageval.evaluate_answers("cost_per_correct", judged, answers=answers)["r"]["cost_per_correct"].value
    0.04
    """
    cost, right = answer.total("cost"), is_pass(answer, _RIGHT)
    if math.isnan(cost + right):
        undefined: Outcomes = _UNDEFINED
        return undefined
    return Outcomes(cost / right if right else math.nan, [(cost, right, 1.0)])
