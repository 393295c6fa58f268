"""pytrec_eval: trec_eval 9 for documents judged once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rageval.conformance.peers import ByMeasure, with_cutoff
from rageval.conformance.peers.data import document_grades, only, run_of
from rageval.conformance.vectors import RunVector
from rageval.measures.base import Measure

PACKAGE = "pytrec-eval-terrier"
AS = {"compat": "trec_eval"}
REPRODUCED = {"single", "missing"}
TOLERANCE = 1e-12
OPTIONS = {"judged_only"}
WITH_CUTOFF = {"ndcg": "ndcg_cut", "ap": "map_cut", "p": "P", "recall": "recall", "success": "success"}
WITHOUT_CUTOFF = {"ndcg": "ndcg", "ap": "map", "rr": "recip_rank", "recall": "set_recall", "p": "set_P"}


def has(measure: Measure) -> bool:
    """It knows a lowest grade, but not for nDCG."""
    allowed = set() if measure.name == "ndcg" else {"rel"}
    return _name(measure) is not None and set(measure.changed) <= allowed


def values(measures: Sequence[Measure], vector: RunVector) -> ByMeasure:
    """All in one call."""
    import pytrec_eval

    names = {str(measure): _name(measure) or "" for measure in measures}
    options: dict[str, Any] = {"judged_docs_only_flag": 1} if vector.options.get("judged_only") else {}
    evaluator = pytrec_eval.RelevanceEvaluator(
        document_grades(vector), set(names.values()), relevance_level=measures[0].rel or 1, **options
    )
    found = evaluator.evaluate(run_of(vector))
    return {
        ours: only(((query, by_name[theirs]) for query, by_name in found.items()), vector)
        for ours, theirs in names.items()
    }


def _name(measure: Measure) -> str | None:
    if measure.k is None:
        return WITHOUT_CUTOFF.get(measure.name)
    return with_cutoff(WITH_CUTOFF, measure, "{}_{}")
