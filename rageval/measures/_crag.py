"""CRAG's measures: what share of the answers is right, missing or made up."""

from __future__ import annotations

from typing import Literal

from rageval.measures.assessment import Assessment, grades, mean, share
from rageval.measures.base import HIGHER, LOWER, NEITHER, measure
from rageval.measures.ranking import Share
from rageval.measures.scales import CRAG

_ACCURATE = ("perfect", "acceptable", "accurate")
# More acceptable answers may come of better ones or of worse ones.
_BETTER = {"accurate": HIGHER, "perfect": HIGHER, "acceptable": NEITHER, "missing": LOWER, "incorrect": LOWER}


@measure(limits=(-1.0, 1.0))
def crag_score(answer: Assessment) -> float:
    """CRAG's score, called truthfulness: a made-up answer costs as much as a perfect one earns.

    Formula:
        crag_score = mean over questions of  perfect 1, acceptable ½, missing 0, incorrect −1

    In the three-way automatic form (accurate 1, missing 0, incorrect −1) it is accuracy − hallucination.

    Range: −1 to 1.

    Peers: CRAG's public script cannot run; repaired, it takes each character of the gold answer for an answer
    of its own, and counts an unreadable judgement as a hallucination.

    >>> import rageval
    >>> labels = ["perfect", "acceptable", "missing", "incorrect", "perfect"]
    >>> judged = [{"query_id": str(at), "run_id": "r", "label": label} for at, label in enumerate(labels)]
    >>> rageval.evaluate_answers("crag_score", judged)["r"]["crag_score"].value
    0.3
    """
    return mean(grades(answer.judged(CRAG)))


def _counted(label: str) -> tuple[str, ...]:
    return _ACCURATE if label == "accurate" else (label,)


@measure(
    better=lambda parameters: _BETTER[parameters["label"]],
    labels=lambda parameters: _counted(parameters["label"]),
)
def crag_share(
    answer: Assessment,
    *,
    label: Literal["accurate", "perfect", "acceptable", "missing", "incorrect"] = "accurate",
) -> Share:
    """Share of the answers that CRAG's judge gave this label.

    Formula:
        crag_share = |answers with the label| / |answers|

    Range: 0 to 1. `accurate` counts perfect and acceptable answers, and those that the three-way form calls
    accurate. Low is good of `missing` and `incorrect`; of `acceptable` neither is.

    Short names: `accuracy`, `hallucination` (incorrect), `missing`.

    >>> import rageval
    >>> labels = ["perfect", "acceptable", "missing", "incorrect"]
    >>> judged = [{"query_id": str(at), "run_id": "r", "label": label} for at, label in enumerate(labels)]
    >>> scores = rageval.evaluate_answers("accuracy, hallucination, missing", judged)["r"]
    >>> [score.value for score in scores.values()]
    [0.5, 0.25, 0.25]
    """
    counted, judged = _counted(label), answer.judged(CRAG)
    return share(sum(judgement.label in counted for judgement in judged), len(judged))
