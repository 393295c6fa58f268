"""ndeval -traditional, which goes by score, and by document id descending where scores are equal."""

from __future__ import annotations

from collections.abc import Sequence

from rageval.conformance.peers import ByMeasure, ndeval
from rageval.conformance.peers.ndeval import OPTIONS, PACKAGE, PROGRAM, TOLERANCE, has, version
from rageval.conformance.vectors import RunVector
from rageval.measures.base import Measure

__all__ = ["OPTIONS", "PACKAGE", "PROGRAM", "TOLERANCE", "has", "version"]
AS = {"compat": "ndeval-traditional"}
REPRODUCED = {"missing"}


def values(measures: Sequence[Measure], vector: RunVector) -> ByMeasure:
    """All in one call, with the parameters of the first."""
    return ndeval.asked([*ndeval.WORDS, "-traditional"], measures, vector)
