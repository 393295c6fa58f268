"""Whether the answer is right: LiveRAG's correctness and faithfulness, CRAG's shares of right and made up."""

from __future__ import annotations

from typing import Annotated, Literal

from rageval.measures.assessment import Assessment, grades, mean, share
from rageval.measures.base import HIGHER, LOWER, NEITHER, Between, measure
from rageval.measures.ranking import Share
from rageval.measures.scales import CORRECTNESS, CRAG, FAITHFULNESS

# A level between the best and those that earn nothing may grow at the cost of either.
_OF_CORRECTNESS = {2: HIGHER, 1: NEITHER, 0: LOWER, -1: LOWER}
_OF_FAITHFULNESS = {1: HIGHER, 0: NEITHER, -1: LOWER}


@measure(limits=(-1.0, 2.0), papers=("carmel2025sigir", "cofala2025ragtifier"))
def correctness(answer: Assessment) -> float:
    """Mean correctness: covers the gold answer, and nothing beside the point (LiveRAG; RAGtifier, Fig. 2).

    Formula:
        correctness = mean of v over the questions

        v: 2 correct and relevant, 1 correct with irrelevant parts, 0 abstained, −1 wrong

    Range: −1 to 2; grades between the levels are allowed, grades outside are refused, never clipped.

    Whether the judge saw the gold answer matters: one system got 1.91 without it, 1.13 with it (RAGtifier).

    >>> import rageval
    >>> judged = [{"query_id": str(at), "run_id": "r", "aspect": "correctness", "grade": grade}
    ...           for at, grade in enumerate([2, 1, 0.5, -1])]
    >>> rageval.evaluate_answers("correctness", judged)["r"]["correctness"].value
    0.625
    """
    return mean(grades(answer.judged(CORRECTNESS)))


@measure(limits=(-1.0, 1.0), papers=("carmel2025sigir", "cofala2025ragtifier"))
def faithfulness(answer: Assessment) -> float:
    """Mean faithfulness: is the answer grounded in the retrieved passages (LiveRAG; RAGtifier, Fig. 2).

    Formula:
        faithfulness = mean of v over the questions

        v: 1 all parts grounded, 0 some, −1 none

    Range: −1 to 1; grades between the levels are allowed, grades outside are refused, never clipped.

    >>> import rageval
    >>> judged = [{"query_id": str(at), "run_id": "r", "aspect": "faithfulness", "grade": grade}
    ...           for at, grade in enumerate([1, 0])]
    >>> rageval.evaluate_answers("faithfulness", judged)["r"]["faithfulness"].value
    0.5
    """
    return mean(grades(answer.judged(FAITHFULNESS)))


@measure(better=lambda parameters: _OF_CORRECTNESS[parameters["level"]], papers=("cofala2025ragtifier",))
def correctness_share(answer: Assessment, *, level: Annotated[int, Between(-1, 2)] = 2) -> Share:
    """Share of the answers at one level of correctness (RAGtifier's Table 1).

    Formula:
        correctness_share = |answers graded exactly level| / |answers|

    Range: 0 to 1. A grade between two levels counts for neither. Low is good of the levels 0 (abstained) and
    −1 (wrong); of 1, which may be won from below or lost from above, neither is.

    >>> import rageval
    >>> judged = [{"query_id": str(at), "run_id": "r", "aspect": "correctness", "grade": grade}
    ...           for at, grade in enumerate([2, 2, 0, -1])]
    >>> rageval.evaluate_answers("correctness_share(level=2)", judged)["r"]["correctness_share"].value
    0.5
    """
    given = grades(answer.judged(CORRECTNESS))
    return share(given.count(level), len(given))


@measure(better=lambda parameters: _OF_FAITHFULNESS[parameters["level"]], papers=("cofala2025ragtifier",))
def faithfulness_share(answer: Assessment, *, level: Annotated[int, Between(-1, 1)] = 1) -> Share:
    """Share of the answers at one level of faithfulness (RAGtifier's Table 1).

    Formula:
        faithfulness_share = |answers graded exactly level| / |answers|

    Range: 0 to 1. A grade between two levels counts for neither. Low is good of level −1; of 0 neither is.

    >>> import rageval
    >>> judged = [{"query_id": str(at), "run_id": "r", "aspect": "faithfulness", "grade": grade}
    ...           for at, grade in enumerate([1, 0, 0, -1])]
    >>> scores = rageval.evaluate_answers("faithfulness_share(level=0)", judged)["r"]
    >>> scores["faithfulness_share(level=0)"].value
    0.5
    """
    given = grades(answer.judged(FAITHFULNESS))
    return share(given.count(level), len(given))


_ACCURATE = ("perfect", "acceptable", "accurate")
# More acceptable answers may come of better ones or of worse ones.
_CRAG_BETTER = {
    "accurate": HIGHER,
    "perfect": HIGHER,
    "acceptable": NEITHER,
    "missing": LOWER,
    "incorrect": LOWER,
}


@measure(limits=(-1.0, 1.0), typeset="CRAG score", papers=("yang2024crag",))
def crag_score(answer: Assessment) -> float:
    """CRAG's score, called truthfulness: a made-up answer costs as much as a perfect one earns.

    Formula:
        crag_score = mean of v over the questions

        v: perfect 1, acceptable ½, missing 0, incorrect −1

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
    better=lambda parameters: _CRAG_BETTER[parameters["label"]],
    labels=lambda parameters: _counted(parameters["label"]),
    typeset="CRAG share",
    papers=("yang2024crag",),
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
