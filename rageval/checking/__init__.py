"""Check files: errors by the rules of a track, suspicious content, and its effect on measures.

    from rageval.checking import diagnose, validate

    validate("answers.jsonl", "rag25", topics="topics.jsonl")
    diagnose("run.trec", "qrels.nugget")

Both give `Findings`, a table in a terminal and in a notebook. Nothing is imported before it is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rageval.lazy_names import lazy_names

if TYPE_CHECKING:
    from rageval.checking.checks import diagnose, validate
    from rageval.checking.findings import Finding, Findings

_HOMES = {"checks": "diagnose validate", "findings": "Finding Findings"}

__all__ = ["Finding", "Findings", "diagnose", "validate"]

if not TYPE_CHECKING:  # a type checker is not to believe that every name is there
    __getattr__ = lazy_names(__name__, _HOMES)
