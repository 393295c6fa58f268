"""LiveRAG's measures: is the answer right and to the point, and does it rest on what was retrieved."""

from __future__ import annotations

from typing import Annotated

from rageval.measures.assessment import Assessment, grades, mean, share
from rageval.measures.base import HIGHER, LOWER, NEITHER, Between, measure
from rageval.measures.ranking import Share
from rageval.measures.scales import CORRECTNESS, FAITHFULNESS

# A level between the best and those that earn nothing may grow at the cost of either.
_OF_CORRECTNESS = {2: HIGHER, 1: NEITHER, 0: LOWER, -1: LOWER}
_OF_FAITHFULNESS = {1: HIGHER, 0: NEITHER, -1: LOWER}


@measure(limits=(-1.0, 2.0))
def correctness(answer: Assessment) -> float:
    """Mean correctness: covers the gold answer, and nothing beside the point (LiveRAG; RAGtifier, Fig. 2).

    Formula:
        correctness = mean of  2 correct and relevant, 1 correct with irrelevant parts, 0 abstained, −1 wrong

    Range: −1 to 2; grades between the levels are allowed, grades outside are refused, never clipped.

    Whether the judge saw the gold answer matters: one system got 1.91 without it, 1.13 with it (RAGtifier).

    >>> import rageval
    >>> judged = [{"query_id": str(at), "run_id": "r", "aspect": "correctness", "grade": grade}
    ...           for at, grade in enumerate([2, 1, 0.5, -1])]
    >>> rageval.evaluate_answers("correctness", judged)["r"]["correctness"].value
    0.625
    """
    return mean(grades(answer.judged(CORRECTNESS)))


@measure(limits=(-1.0, 1.0))
def faithfulness(answer: Assessment) -> float:
    """Mean faithfulness: is the answer grounded in the retrieved passages (LiveRAG; RAGtifier, Fig. 2).

    Formula:
        faithfulness = mean of  1 all parts grounded, 0 some, −1 none

    Range: −1 to 1; grades between the levels are allowed, grades outside are refused, never clipped.

    >>> import rageval
    >>> judged = [{"query_id": str(at), "run_id": "r", "aspect": "faithfulness", "grade": grade}
    ...           for at, grade in enumerate([1, 0])]
    >>> rageval.evaluate_answers("faithfulness", judged)["r"]["faithfulness"].value
    0.5
    """
    return mean(grades(answer.judged(FAITHFULNESS)))


@measure(better=lambda parameters: _OF_CORRECTNESS[parameters["level"]])
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


@measure(better=lambda parameters: _OF_FAITHFULNESS[parameters["level"]])
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
