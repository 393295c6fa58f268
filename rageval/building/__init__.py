"""Building a test collection from questions, answers and a corpus, as FreshStack was built.

    from pathlib import Path

    from rageval.building import Plan, build

    built = build(Plan("questions.jsonl", "corpus.jsonl", Path("collection"), judge="openai:MODEL"))

Nothing is imported before it is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rageval.building.collection import Plan, build, changed
    from rageval.building.pools import fused, pool_lines, pooled, read_pool

_HOME = {
    "Plan": "collection",
    "build": "collection",
    "changed": "collection",
    "fused": "pools",
    "pool_lines": "pools",
    "pooled": "pools",
    "read_pool": "pools",
}

__all__ = ["Plan", "build", "changed", "fused", "pool_lines", "pooled", "read_pool"]


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    return found
