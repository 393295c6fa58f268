"""pyndeval: ndeval 4.5, whose α-nDCG is the one that everybody has published."""

from __future__ import annotations

from collections.abc import Sequence

from rageval.conformance.peers import ByMeasure, NotAsked, with_cutoff
from rageval.conformance.peers.data import only, run_rows
from rageval.conformance.vectors import RunVector
from rageval.measures.base import Measure

PACKAGE = "pyndeval"
AS = {"compat": "pyndeval"}
REPRODUCED = {"ties", "first/alpha_dcg", "first/err_ia", "missing"}
TOLERANCE = 1e-12
OPTIONS: frozenset[str] = frozenset()
WITH_CUTOFF = {
    "alpha_ndcg": "alpha-nDCG",
    "alpha_dcg": "alpha-DCG",
    "err_ia": "ERR-IA",
    "nerr_ia": "nERR-IA",
    "p_ia": "P-IA",
    "strec": "strec",
}
WITHOUT_CUTOFF = {"nrbp": "NRBP", "nnrbp": "nNRBP", "map_ia": "MAP-IA"}
_PARAMETERS = {"alpha", "beta", "rel", "normalise"}


def has(measure: Measure) -> bool:
    """Only what it normalises as we are asked to, with a greedy ideal."""
    return _name(measure) is not None and set(measure.changed) <= _PARAMETERS and normalised(measure)


def normalised(measure: Measure) -> bool:
    """Whether ndeval divides as this measure says; at rank 1 it does not divide."""
    rule = measure.parameters.get("normalise", "ndeval")
    return rule == "ndeval" or (rule == "independent" and (measure.k != 1 or measure.name == "err_ia"))


def values(measures: Sequence[Measure], vector: RunVector) -> ByMeasure:
    """All in one call, with the parameters of the first."""
    import pyndeval

    rows = [(query, nugget, doc, grade) for query, nugget, doc, grade in vector.qrels]
    names = {str(measure): _name(measure) or "" for measure in measures}
    given = measures[0].parameters
    if any(measure.parameters.get("alpha") != given.get("alpha") for measure in measures):
        raise NotAsked("it takes one alpha a call")
    options = {name: float(given[name]) for name in ("alpha", "beta") if name in given}
    evaluator = pyndeval.RelevanceEvaluator(
        rows, list(names.values()), relevance_level=measures[0].rel or 1, **options
    )
    found = evaluator.evaluate(run_rows(vector))
    return {
        ours: only(((query, by_name[theirs]) for query, by_name in found.items()), vector)
        for ours, theirs in names.items()
    }


def _name(measure: Measure) -> str | None:
    if measure.name in WITHOUT_CUTOFF:
        return WITHOUT_CUTOFF[measure.name] if measure.k is None else None
    return with_cutoff(WITH_CUTOFF, measure, "{}@{}")
