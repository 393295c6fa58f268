"""trec_eval, the C program, for documents judged once."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

from rageval.conformance.peers import ByMeasure
from rageval.conformance.peers.data import document_grades, only
from rageval.conformance.peers.programs import output
from rageval.conformance.peers.pytrec_eval import WITH_CUTOFF, WITHOUT_CUTOFF, has
from rageval.conformance.vectors import RunVector
from rageval.measures.base import Measure

__all__ = ["has"]
PACKAGE = "trec_eval"
PROGRAM = "trec_eval"
AS = {"compat": "trec_eval"}
REPRODUCED = {"single", "missing"}
TOLERANCE = 6e-5  # it prints four digits
OPTIONS = {"judged_only"}


def version() -> str:
    """As it says itself."""
    asked = [PROGRAM, "--version"]
    done = subprocess.run(asked, capture_output=True, stdin=subprocess.DEVNULL, check=False, timeout=60)
    words = (done.stdout + done.stderr).decode(errors="replace").split()
    return next((word.strip(".,") for word in words if word[:1].isdigit()), "?")


def values(measures: Sequence[Measure], vector: RunVector) -> ByMeasure:
    """All in one call, at the lowest grade of the first."""
    asked = [part for measure in measures for part in ("-m", _asked(measure))]
    words = [PROGRAM, "-q", "-l", str(measures[0].rel or 1), *asked]
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
    """The measure as one asks for it: `ndcg_cut.10`."""
    return WITHOUT_CUTOFF[measure.name] if measure.k is None else f"{WITH_CUTOFF[measure.name]}.{measure.k}"


def _printed(measure: Measure) -> str:
    """The measure as it prints it: `ndcg_cut_10`."""
    return _asked(measure).replace(".", "_")
