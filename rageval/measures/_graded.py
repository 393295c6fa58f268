"""What a tool, or a judge of one's own, said of any aspect: the mean grade, and the share that passed."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from rageval.errors import MeasureError
from rageval.measures.assessment import Assessment, grades, mean, share
from rageval.measures.base import measure
from rageval.measures.ranking import Share
from rageval.measures.scales import PASSES, Scale

_ASPECTS = 1_000  # whose scales are remembered


@lru_cache(_ASPECTS)
def _graded(aspect: str, low: float, high: float) -> Scale:
    """Return the scale of one aspect's grades: the same each time, for a scale equals itself alone."""
    if not low < high:
        raise MeasureError(f"grade: low={low:g}, high={high:g}; expected low below high")
    return Scale(f"grades of {aspect}", ("grade",), aspects=(aspect,), low=low, high=high, of_whole=True)


@lru_cache(_ASPECTS)
def _passed(aspect: str) -> Scale:
    """Return the scale of the labels of one aspect, whatever grades stand beside them."""
    return Scale(
        f"passes of {aspect}",
        ("pass",),
        PASSES,
        aspects=(aspect,),
        worst="fail",
        best="pass",
        own_grades=True,
        of_whole=True,
    )


def _ends(parameters: Any) -> tuple[float, float]:
    return parameters["low"], parameters["high"]


@measure(limits=_ends)
def grade(answer: Assessment, *, aspect: str = "score", low: float = 0.0, high: float = 1.0) -> float:
    """Mean grade of an aspect, by whatever tool or judge: `grade(aspect=faithfulness)`.

    Formula:
        grade = mean of g over the questions

        g: the mean of a question's grades of the aspect

    Range: `low` to `high`, which are 0 and 1 unless you say so; a grade beyond them is an error. Judgements:
    any with this aspect and a grade, such as tools give; labels beside it are not looked at.

    >>> import rageval
    >>> judged = [{"query_id": str(at), "run_id": "r", "aspect": "faithfulness", "grade": grade}
    ...           for at, grade in enumerate([1.0, 0.5, 0.0])]
    >>> rageval.evaluate_answers("grade(aspect=faithfulness)", judged)["r"].scores[0].value
    0.5
    """
    return mean(grades(answer.judged(_graded(aspect, low, high))))


@measure
def pass_rate(answer: Assessment, *, aspect: str = "score") -> Share:
    """Share of the judgements of an aspect that say `pass`: `pass_rate(aspect=answer_relevancy)`.

    Formula:
        pass_rate = |judgements labelled as a pass| / |judgements|

    Range: 0 to 1. Judgements: any with this aspect and a label: pass, yes, true, or inspect's C (correct)
    are passes; fail, no, false, I (incorrect), P (partial) and N (no answer) are not. Grades beside are not
    looked at.

    >>> import rageval
    >>> judged = [{"query_id": str(at), "run_id": "r", "aspect": "relevancy", "label": label}
    ...           for at, label in enumerate(["pass", "fail", "pass", "pass"])]
    >>> rageval.evaluate_answers("pass_rate(aspect=relevancy)", judged)["r"].scores[0].value
    0.75
    """
    passed = grades(answer.judged(_passed(aspect)))
    return share(sum(passed), len(passed))
