"""Benchmarks by id: questions, documents, judgements and nuggets, as the files module reads them.

    import rageval.datasets

    dataset = rageval.datasets.load("freshstack/langchain/oct-2024")
    rageval.evaluate("official:freshstack", "run.trec", dataset)

`register()` makes the same ids known to ir_datasets. Nothing is imported, registered or fetched before it is
asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rageval.datasets._ir_datasets import register
    from rageval.datasets.dataset import import_files, load
    from rageval.datasets.home import fetch

_HOME = {"fetch": "home", "import_files": "dataset", "load": "dataset", "register": "_ir_datasets"}

__all__ = ["fetch", "import_files", "load", "register"]


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name not in _HOME:
        raise AttributeError(f"module 'rageval.datasets' has no attribute {name!r}")
    value = getattr(import_module(f"rageval.datasets.{_HOME[name]}"), name)
    globals()[name] = value
    return value
