"""ranx, for documents judged once."""

from __future__ import annotations

from collections.abc import Sequence

from rageval.conformance._vectors import RunVector
from rageval.conformance.peers._base import ByMeasure, Peer, document_grades, only, run_of
from rageval.measures.base import Measure

_NAMES = {
    "ndcg": "ndcg",
    "ap": "map",
    "rr": "mrr",
    "p": "precision",
    "recall": "recall",
    "success": "hit_rate",
}


def _has(measure: Measure) -> bool:
    """With a cut-off or without one, at the usual grade."""
    exponential = measure.name == "ndcg" and measure.changed == {"dcg": "exp_log2"}
    return measure.name in _NAMES and (exponential or not measure.changed)


def _values(measures: Sequence[Measure], vector: RunVector) -> ByMeasure:
    """Return the values, all asked for in one call; queries that the run lacks are filled in by itself."""
    from ranx import Qrels, Run, evaluate

    run = Run(run_of(vector))
    names = {str(measure): _name(measure) for measure in measures}
    evaluate(Qrels(document_grades(vector)), run, list(names.values()), make_comparable=True)
    return {ours: only(run.scores[theirs].items(), vector) for ours, theirs in names.items()}


def _name(measure: Measure) -> str:
    name = "ndcg_burges" if measure.changed else _NAMES[measure.name]
    return name if measure.k is None else f"{name}@{measure.k}"


RANX = Peer("ranx", _has, _values, {"ties": "input"}, {"ties"})
