"""FreshStack's evaluator, query by query: it prints means only, rounded to four digits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rageval.conformance._vectors import RunVector
from rageval.conformance.peers._base import ByMeasure, Peer, queries_of, run_of
from rageval.measures.base import Measure

_NAMES = {
    "alpha_ndcg": "alpha-nDCG",
    "coverage": "Coverage",
    "recall": "Recall",
    "ndcg": "NDCG",
    "hole": "Hole",
}


def _has(measure: Measure) -> bool:
    """Nothing can be set but the cut-off."""
    return measure.name in _NAMES and measure.k is not None and not measure.changed


def _values(measures: Sequence[Measure], vector: RunVector) -> ByMeasure:
    """One cut-off at a time; which nugget belongs to which query is found as it finds it."""
    by_nugget: dict[str, dict[str, int]] = {}
    for query, nugget, doc, grade in vector.qrels:
        by_nugget.setdefault(f"{query}_{nugget}", {})[doc] = grade
    nuggets = {
        query: [nugget for nugget in by_nugget if nugget.startswith(query)] for query in queries_of(vector)
    }
    grades = {query: _summed(by_nugget, nuggets[query]) for query in nuggets}
    run = {query: docs for query, docs in run_of(vector).items() if query in nuggets}
    return {
        str(measure): {query: _value(measure, query, by_nugget, nuggets, grades, run) for query in nuggets}
        for measure in measures
    }


def _summed(by_nugget: dict[str, dict[str, int]], nuggets: list[str]) -> dict[str, int]:
    """Its grade of a document is the sum over nuggets."""
    found: dict[str, int] = {}
    for nugget in nuggets:
        for doc, grade in by_nugget[nugget].items():
            found[doc] = found.get(doc, 0) + grade
    return found


def _value(measure: Measure, query: str, by_nugget: Any, nuggets: Any, grades: Any, run: Any) -> float:
    from freshstack.retrieval import metrics

    k = measure.k or 0
    one = {query: run[query]} if query in run else {}
    if measure.name == "hole":
        return float(metrics.hole(grades, run, [k])[query][f"Hole@{k}"])
    of_documents = measure.name in ("recall", "ndcg")
    judged = ({query: grades[query]},) if of_documents else (by_nugget, {query: nuggets[query]})
    found = getattr(metrics, measure.name)(*judged, one, [k])
    return float(found[f"{_NAMES[measure.name]}@{k}"])


FRESHSTACK = Peer("freshstack", _has, _values, {"compat": "freshstack"}, {"ties", "single"}, tolerance=6e-5)
