"""Benchmarks by id: questions, documents, judgements and nuggets, as the files module reads them.

    import rageval.datasets

    dataset = rageval.datasets.load("freshstack/langchain/oct-2024")
    rageval.evaluate("official:freshstack", "run.trec", dataset)

`register()` makes the same ids known to ir_datasets. Nothing is imported, registered or fetched before it is
asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rageval.lazy_names import lazy_names

if TYPE_CHECKING:
    from rageval.datasets._ir_datasets import register
    from rageval.datasets.dataset import import_files, load
    from rageval.datasets.home import fetch

_HOMES = {"_ir_datasets": "register", "dataset": "import_files load", "home": "fetch"}

__all__ = ["fetch", "import_files", "load", "register"]

if not TYPE_CHECKING:  # a type checker is not to believe that every name is there
    __getattr__ = lazy_names(__name__, _HOMES)
