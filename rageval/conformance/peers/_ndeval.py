"""ndeval 4.5, whose α-nDCG is the one that everybody has published: as pyndeval, and as the C program."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from dataclasses import replace

from rageval.conformance._vectors import RunVector
from rageval.conformance.peers._base import ByMeasure, NotAsked, Peer, only, output, run_rows, with_cutoff
from rageval.measures.base import Measure

WITH_CUTOFF = {
    "alpha_ndcg": "alpha-nDCG",
    "alpha_dcg": "alpha-DCG",
    "err_ia": "ERR-IA",
    "nerr_ia": "nERR-IA",
    "p_ia": "P-IA",
    "strec": "strec",
}
WITHOUT_CUTOFF = {"nrbp": "NRBP", "nnrbp": "nNRBP", "map_ia": "MAP-IA"}
_P_PARAMETERS = {"alpha", "beta", "rel", "normalise"}


def _pyndeval_has(measure: Measure) -> bool:
    """Tell whether it has the measure, normalised as we are asked to, with a greedy ideal."""
    return (
        _pyndeval_name(measure) is not None and set(measure.changed) <= _P_PARAMETERS and normalised(measure)
    )


def normalised(measure: Measure) -> bool:
    """Tell whether ndeval divides as this measure says; at rank 1 it does not divide."""
    rule = measure.parameters.get("normalise", "ndeval")
    return rule == "ndeval" or (rule == "independent" and (measure.k != 1 or measure.name == "err_ia"))


def _pyndeval_values(measures: Sequence[Measure], vector: RunVector) -> ByMeasure:
    """Return the values, all asked for in one call, with the parameters of the first."""
    import pyndeval

    rows = [(query, nugget, doc, grade) for query, nugget, doc, grade in vector.qrels]
    names = {str(measure): _pyndeval_name(measure) or "" for measure in measures}
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


def _pyndeval_name(measure: Measure) -> str | None:
    if measure.name in WITHOUT_CUTOFF:
        return WITHOUT_CUTOFF[measure.name] if measure.k is None else None
    return with_cutoff(WITH_CUTOFF, measure, "{}@{}")


_PRINTED = (5, 10, 20)
_PARAMETERS = {"alpha", "beta", "normalise"}
_LARGEST = 99_999  # the largest number of a topic or subtopic that it can hold


def _ndeval_has(measure: Measure) -> bool:
    """Tell whether it prints the measure; it knows three cut-offs."""
    return _printed_name(measure) is not None and set(measure.changed) <= _PARAMETERS and normalised(measure)


def _ndeval_by_rank(measures: Sequence[Measure], vector: RunVector) -> ByMeasure:
    """Return the values, all asked for in one call, with the parameters of the first."""
    return _asked(["ndeval"], measures, vector)


def _ndeval_by_score(measures: Sequence[Measure], vector: RunVector) -> ByMeasure:
    """All in one call, by score, and by document id descending where scores are equal."""
    return _asked(["ndeval", "-traditional"], measures, vector)


def _asked(words: Sequence[str], measures: Sequence[Measure], vector: RunVector) -> ByMeasure:
    """Return what the program says to these words; hand over grades below 0, which it refuses, as 0."""
    names = {str(measure): _printed_name(measure) or "" for measure in measures}
    given = measures[0].parameters
    if any(measure.parameters.get("alpha") != given.get("alpha") for measure in measures):
        raise NotAsked("it takes one alpha a call")
    options = [part for name in ("alpha", "beta") if name in given for part in (f"-{name}", str(given[name]))]
    topic = _numbers([*(row[0] for row in vector.qrels), *(row[0] for row in vector.run)])
    nugget = _numbers(nugget for _, nugget, *_ in vector.qrels)
    qrels = (f"{topic[query]} {nugget[n]} {doc} {max(0, grade)}" for query, n, doc, grade in vector.qrels)
    rows = zip(vector.run, vector.ranks(), strict=True)
    run = (f"{topic[query]} Q0 {doc} {rank} {score} t" for (query, doc, score), rank in rows)
    rows_of = list(csv.DictReader(output([*words, *options], [qrels, run]).splitlines()))
    query_of = {number: query for query, number in topic.items()}
    by_query = {query_of[row["topic"]]: row for row in rows_of if row["topic"] in query_of}
    return {
        ours: only(((query, float(row[theirs])) for query, row in by_query.items()), vector)
        for ours, theirs in names.items()
    }


def _numbers(ids: Iterable[str]) -> dict[str, str]:
    """Return ids as the whole numbers that it reads: those that are stay as they are, if all are."""
    names = list(dict.fromkeys(ids))
    if all(
        name.isascii() and name.isdigit() and str(int(name)) == name and int(name) <= _LARGEST
        for name in names
    ):
        return dict(zip(names, names, strict=True))
    return {name: str(at) for at, name in enumerate(names, 1)}


def _printed_name(measure: Measure) -> str | None:
    """Return what it calls the measure, if it prints it."""
    if measure.k is None:
        return WITHOUT_CUTOFF.get(measure.name)
    name = WITH_CUTOFF.get(measure.name)
    return f"{name}@{measure.k}" if name and measure.k in _PRINTED else None


def _version() -> str:
    """Return no number: it tells nobody, and all that are about are 4.5."""
    return "(C)"


PYNDEVAL = Peer(
    "pyndeval",
    _pyndeval_has,
    _pyndeval_values,
    {"compat": "pyndeval"},
    {"ties", "first/alpha_dcg", "first/err_ia", "missing"},
)
NDEVAL = Peer(
    "ndeval",
    _ndeval_has,
    _ndeval_by_rank,
    {"compat": "ndeval"},
    {"ties", "missing"},
    tolerance=6e-7,  # it prints six digits
    program="ndeval",
    version=_version,
)
NDEVAL_TRADITIONAL = replace(
    NDEVAL, values=_ndeval_by_score, rules={"compat": "ndeval-traditional"}, reproduced={"missing"}
)
