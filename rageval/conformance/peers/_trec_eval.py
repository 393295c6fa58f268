"""trec_eval 9, for documents judged once: as pytrec_eval, and as the C program."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from rageval.conformance._vectors import RunVector
from rageval.conformance.peers._base import (
    ByMeasure,
    Peer,
    document_grades,
    only,
    output,
    run_of,
    with_cutoff,
)
from rageval.measures.base import Measure

_PROGRAM = "trec_eval"
WITH_CUTOFF = {"ndcg": "ndcg_cut", "ap": "map_cut", "p": "P", "recall": "recall", "success": "success"}
WITHOUT_CUTOFF = {"ndcg": "ndcg", "ap": "map", "rr": "recip_rank", "recall": "set_recall", "p": "set_P"}


def _has(measure: Measure) -> bool:
    """Tell whether it has the measure: it knows a lowest grade, but not for nDCG."""
    allowed = set() if measure.name == "ndcg" else {"rel"}
    return _name(measure) is not None and set(measure.changed) <= allowed


def _pytrec_eval_values(measures: Sequence[Measure], vector: RunVector) -> ByMeasure:
    """Return the values, all asked for in one call."""
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


def _version() -> str:
    """As it says itself."""
    asked = [_PROGRAM, "--version"]
    done = subprocess.run(asked, capture_output=True, stdin=subprocess.DEVNULL, check=False, timeout=60)
    words = (done.stdout + done.stderr).decode(errors="replace").split()
    return next((word.strip(".,") for word in words if word[:1].isdigit()), "?")


def _trec_eval_values(measures: Sequence[Measure], vector: RunVector) -> ByMeasure:
    """Return the values, all asked for in one call, at the lowest grade of the first."""
    asked = [part for measure in measures for part in ("-m", _asked(measure))]
    words = [_PROGRAM, "-q", "-l", str(measures[0].rel or 1), *asked]
    words += ["-J"] if vector.options.get("judged_only") else []
    grades = document_grades(vector)
    qrels = (f"{query} 0 {doc} {grade}" for query, docs in grades.items() for doc, grade in docs.items())
    rows = zip(vector.run, vector.ranks(), strict=True)
    run = (f"{query} Q0 {doc} {rank} {score} t" for (query, doc, score), rank in rows)
    lines = [line.split() for line in output(words, [qrels, run]).splitlines()]
    return {
        str(measure): only(
            ((query, float(value)) for name, query, value in lines if name == _printed(measure)), vector
        )
        for measure in measures
    }


def _asked(measure: Measure) -> str:
    """Return the measure as one asks for it: `ndcg_cut.10`."""
    return WITHOUT_CUTOFF[measure.name] if measure.k is None else f"{WITH_CUTOFF[measure.name]}.{measure.k}"


def _printed(measure: Measure) -> str:
    """Return the measure as it prints it: `ndcg_cut_10`."""
    return _asked(measure).replace(".", "_")


PYTREC_EVAL = Peer(
    "pytrec-eval-terrier",
    _has,
    _pytrec_eval_values,
    {"compat": "trec_eval"},
    {"single", "missing"},
    options={"judged_only"},
)
TREC_EVAL = replace(
    PYTREC_EVAL,
    package=_PROGRAM,
    values=_trec_eval_values,
    tolerance=6e-5,  # it prints four digits
    program=_PROGRAM,
    version=_version,
)
