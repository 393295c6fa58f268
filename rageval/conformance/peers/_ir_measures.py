"""ir_measures, with the providers it chooses itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rageval.conformance._vectors import RunVector
from rageval.conformance.peers._base import ByMeasure, Lacks, Peer, document_grades, only
from rageval.conformance.peers._ndeval import normalised
from rageval.measures.base import Measure

_OF_DOCUMENTS = {"recall", "ndcg", "ap", "rr", "p", "success", "judged"}
_ONLY_WITH_CUTOFF = {
    "alpha_ndcg", "alpha_dcg", "err_ia", "nerr_ia", "p_ia", "strec", "p", "recall", "success", "judged"
}  # fmt: skip
_ONLY_WITHOUT = {"nrbp", "nnrbp", "map_ia"}
_PARAMETERS = {
    "alpha_ndcg": {"alpha", "rel", "normalise"},
    "alpha_dcg": {"alpha", "rel", "normalise"},
    "nrbp": {"alpha", "beta", "rel"},
    "nnrbp": {"alpha", "beta", "rel"},
    "ndcg": set[str](),
    "judged": set[str](),
}
_OTHERS = {"rel", "normalise"}


def _has(measure: Measure) -> bool:
    """Tell whether its providers compute the measure; one of novelty, as ndeval normalises it."""
    if measure.called_by("ir_measures") is None:
        return False
    if set(measure.changed) - _PARAMETERS.get(measure.name, _OTHERS):
        return False
    if not normalised(measure):
        return False
    return measure.name not in (_ONLY_WITH_CUTOFF if measure.k is None else _ONLY_WITHOUT)


def _values(measures: Sequence[Measure], vector: RunVector) -> ByMeasure:
    """Return the values, all asked for in one call; documents are judged once, unless it is about that."""
    import ir_measures

    names = {str(measure): ir_measures.parse_measure(_name(measure, vector)) for measure in measures}
    providers = [one for one in ir_measures.providers.registry.values() if one.is_available()]
    for measure in names.values():
        if not any(provider.supports(measure) for provider in providers):
            raise Lacks(f"no provider of {measure} is installed")
    run = [ir_measures.ScoredDoc(query, doc, float(score)) for query, doc, score in vector.run]
    of_documents = all(measure.name in _OF_DOCUMENTS for measure in measures)
    found = ir_measures.calc(list(names.values()), _qrels(vector, of_documents), run)
    by_measure: ByMeasure = {}
    for ours, theirs in names.items():
        metrics = [metric for metric in found.per_query if metric.measure == theirs]
        by_measure[ours] = only(((metric.query_id, metric.value) for metric in metrics), vector)
    return by_measure


def _name(measure: Measure, vector: RunVector) -> str:
    changed = {name: value for name, value in measure.changed.items() if name != "normalise"}
    if vector.options.get("judged_only"):
        changed["judged_only"] = True
    inner = ",".join(f"{name}={value}" for name, value in changed.items())
    cutoff = "" if measure.k is None else f"@{measure.k}"
    return str(measure.called_by("ir_measures")) + (f"({inner})" if inner else "") + cutoff


def _qrels(vector: RunVector, of_documents: bool) -> Any:
    from ir_measures import Qrel

    rows = [Qrel(query, doc, grade, nugget) for query, nugget, doc, grade in vector.qrels]
    if vector.column != "iteration":
        import pandas

        return pandas.DataFrame(rows).rename(columns={"iteration": vector.column})
    if of_documents and "documents" not in vector.topics and "conflict" not in vector.topics:
        return [
            Qrel(query, doc, grade)
            for query, docs in document_grades(vector).items()
            for doc, grade in docs.items()
        ]
    return rows


IR_MEASURES = Peer(
    "ir-measures",
    _has,
    _values,
    {"compat": "pyndeval", "complete": True},
    {"ties", "first/alpha_dcg", "first/err_ia"},
    options={"judged_only"},
)
