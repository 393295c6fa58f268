"""What a benchmark must be able to do: read its files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rageval.files.limits import Limits
from rageval.records import Question

Read = Callable[[Sequence[Path], Limits], Iterator[Any]]


@dataclass(frozen=True)
class Reader:
    """How the files of a benchmark are read.

    `read` makes of the files of a role questions, documents, qrels or nuggets; `role` says which role that is
    where it is not of the same name. `document` and `query` are the types for ir_datasets, `as_query` makes
    one of a question; `question_of` is the question that a document belongs to, where each has its own.
    """

    read: Mapping[str, Read]
    role: Mapping[str, str] = field(default_factory=dict)
    document: type[Any] | None = None
    query: type[Any] | None = None
    as_query: Callable[[Question], Any] | None = None
    question_of: Callable[[Any], str] | None = None


def reader_of(benchmark: str) -> Reader:
    """The reader of one of our benchmarks."""
    from importlib import import_module

    reader: Reader = import_module(f"rageval.datasets.{benchmark.replace('-', '_')}").READER
    return reader
