"""Our ids at ir_datasets, when somebody asks for them to be there."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from rageval.datasets.catalogue import benchmarks, known
from rageval.datasets.foreign import ir_datasets_or_error
from rageval.datasets.handlers import Docs, Qrels, Queries
from rageval.datasets.loading import Dataset, load
from rageval.errors import InputError
from rageval.plugins import plugin_names


def register() -> list[str]:
    """Make our ids, and those of packages with an entry point `rageval.datasets`, known to ir_datasets.

    Calling it again changes nothing. Returns the ids that have entries of their own; others, such as later
    snapshots of FreshStack, are made when they are asked for.
    """
    ir_datasets = ir_datasets_or_error("rageval.datasets.register()")
    there = set(ir_datasets.registry)
    ids = [spec.id for _, spec in known()]
    for name in ids:
        if name not in there:
            ir_datasets.registry.register(name, _handlers(load(name)))
    _register_patterns(ir_datasets.registry)
    return ids


@cache
def _register_patterns(registry: Any) -> None:
    patterns = [benchmark.pattern.regex for benchmark in benchmarks() if benchmark.pattern]
    patterns += [rf"{re.escape(name)}/.+" for name in plugin_names("datasets")]
    for pattern in patterns:
        registry.register_pattern(rf"{pattern}\Z", _made)


def _made(name: str, parts: Any) -> Any:
    try:
        return _handlers(load(name))
    except InputError as error:
        raise KeyError(str(error)) from error


def _handlers(dataset: Dataset) -> Any:
    """The data set as ir_datasets knows them."""
    import ir_datasets

    parts: list[Any] = []
    if "documents" in dataset.holds or dataset.documents_from:
        parts.append(Docs(dataset))
    if "questions" in dataset.holds:
        parts.append(Queries(dataset))
    if "qrels" in dataset.holds:
        parts.append(Qrels(dataset))
    return ir_datasets.Dataset(*parts)
