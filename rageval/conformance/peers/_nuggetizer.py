"""nuggetizer: nugget scores of TREC RAG's answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rageval.conformance._vectors import AnswerVector
from rageval.conformance.peers._base import ByMeasure, Peer
from rageval.measures.base import Measure

_NAMES = {
    "nugget_recall(importance=vital)": "strict_vital_score",
    "nugget_recall": "strict_all_score",
    "nugget_recall(importance=vital,credit=partial)": "vital_score",
    "nugget_recall(credit=partial)": "all_score",
}


def _has(measure: Measure) -> bool:
    """Four of the scores."""
    return str(measure) in _NAMES


def _values(measures: Sequence[Measure], vector: AnswerVector) -> ByMeasure:
    """Of every answer; a judgement that failed has no label, or the word failed."""
    from nuggetizer.core.metrics import calculate_nugget_scores

    answers: dict[str, list[dict[str, Any]]] = {}
    for row in vector.judgements:
        nugget = {"importance": row.get("importance"), "assignment": row.get("label", "failed")}
        answers.setdefault(f"{row['run_id']}/{row['query_id']}", []).append(nugget)
    scores = {answer: calculate_nugget_scores(answer, nuggets) for answer, nuggets in answers.items()}
    return {
        str(measure): {answer: getattr(found, _NAMES[str(measure)]) for answer, found in scores.items()}
        for measure in measures
    }


NUGGETIZER = Peer(
    "nuggetizer",
    _has,
    _values,
    {"compat": "nuggetizer"},
    {"failed", "vitalless"},
    options={"on_missing"},  # it takes whatever is missing for the worst
)
