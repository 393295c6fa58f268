"""Building a test collection from questions, answers and a corpus, as FreshStack was built.

    from pathlib import Path

    from rageval.building import Plan, build

    built = build(Plan("questions.jsonl", "corpus.jsonl", Path("collection"), judge="openai:MODEL"))

Nothing is imported before it is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rageval.lazy_names import lazy_names

if TYPE_CHECKING:
    from rageval.building.collection import Plan, build, changed
    from rageval.building.pools import fused, pool_lines, pooled, read_pool

_HOMES = {"collection": "Plan build changed", "pools": "fused pool_lines pooled read_pool"}

__all__ = ["Plan", "build", "changed", "fused", "pool_lines", "pooled", "read_pool"]

if not TYPE_CHECKING:  # a type checker is not to believe that every name is there
    __getattr__ = lazy_names(__name__, _HOMES)
