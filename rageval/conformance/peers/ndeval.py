"""ndeval, the C program of TREC's Web track, which goes by the rank column."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence

from rageval.conformance.peers import ByMeasure, NotAsked
from rageval.conformance.peers.data import only
from rageval.conformance.peers.programs import output
from rageval.conformance.peers.pyndeval import WITH_CUTOFF, WITHOUT_CUTOFF, normalised
from rageval.conformance.vectors import RunVector
from rageval.measures.base import Measure

PACKAGE = "ndeval"
PROGRAM = "ndeval"
WORDS = (PROGRAM,)
AS = {"compat": "ndeval"}
REPRODUCED = {"ties", "missing"}
TOLERANCE = 6e-7  # it prints six digits
OPTIONS: frozenset[str] = frozenset()
PRINTED = (5, 10, 20)
_PARAMETERS = {"alpha", "beta", "normalise"}
_LARGEST = 99_999  # the largest number of a topic or subtopic that it can hold


def version() -> str:
    """It tells nobody; all that are about are 4.5."""
    return "(C)"


def has(measure: Measure) -> bool:
    """What it prints, at three cut-offs."""
    return name_of(measure) is not None and set(measure.changed) <= _PARAMETERS and normalised(measure)


def values(measures: Sequence[Measure], vector: RunVector) -> ByMeasure:
    """All in one call, with the parameters of the first."""
    return asked(WORDS, measures, vector)


def asked(words: Sequence[str], measures: Sequence[Measure], vector: RunVector) -> ByMeasure:
    """What the program says if called by these words; grades below 0, which it refuses, are handed as 0."""
    names = {str(measure): name_of(measure) or "" for measure in measures}
    given = measures[0].parameters
    if any(measure.parameters.get("alpha") != given.get("alpha") for measure in measures):
        raise NotAsked("it takes one alpha a call")
    options = [part for name in ("alpha", "beta") if name in given for part in (f"-{name}", str(given[name]))]
    topic = numbers([*(row[0] for row in vector.qrels), *(row[0] for row in vector.run)])
    nugget = numbers(nugget for _, nugget, *_ in vector.qrels)
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


def numbers(ids: Iterable[str]) -> dict[str, str]:
    """It reads whole numbers: those that are stay as they are, if all are."""
    names = list(dict.fromkeys(ids))
    if all(
        name.isascii() and name.isdigit() and str(int(name)) == name and int(name) <= _LARGEST
        for name in names
    ):
        return dict(zip(names, names, strict=True))
    return {name: str(at) for at, name in enumerate(names, 1)}


def name_of(measure: Measure) -> str | None:
    """What it calls the measure, if it prints it."""
    if measure.k is None:
        return WITHOUT_CUTOFF.get(measure.name)
    name = WITH_CUTOFF.get(measure.name)
    return f"{name}@{measure.k}" if name and measure.k in PRINTED else None
