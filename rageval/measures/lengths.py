"""How long an answer is, by the counting rules of the field."""

from __future__ import annotations

from typing import Literal

from rageval.measures.assessment import Assessment
from rageval.measures.base import NEITHER, measure


@measure(better=NEITHER)
def length(answer: Assessment, *, rule: Literal["nfkc", "split", "nonspace", "characters"] = "nfkc") -> float:
    """Length of the answer, in words or characters, by one of the field's counting rules.

    Formula:
        nfkc         words after NFKC normalisation, as TREC RAG 2024 and 2025 count them
        split        words between white space, as TREC RAG 2026 counts them
        nonspace     characters that are no white space, as TREC QA 2003 counts them
        characters   characters

    Range: 0 upwards; undefined for an answer whose text is not known. Long is neither good nor bad.

    >>> import rageval
    >>> answers = [{"query_id": "q", "run_id": "r", "answer": "Yes: it is safe."}]
    >>> scores = rageval.evaluate_answers("length, length(rule=nonspace)", answers=answers)["r"]
    >>> [score.value for score in scores.values()]
    [4.0, 13.0]
    """
    answer.require_answers()
    return answer.length(rule)
