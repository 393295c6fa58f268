"""Make our ids known to ir_datasets, when somebody asks for them to be there."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from itertools import islice
from typing import Any

from rageval.datasets._records import Document, NuggetQrel, TopicQuery
from rageval.datasets.catalogue import all_datasets, benchmarks
from rageval.datasets.dataset import Dataset, ir_datasets_or_error, load
from rageval.errors import InputError
from rageval.plugins import plugin_names


def register() -> list[str]:
    """Make our ids, and those of packages with an entry point `rageval.datasets`, known to ir_datasets.

    Calling it again changes nothing.

    Returns
    -------
    list of str
        The ids that have entries of their own; others, such as later snapshots of FreshStack, are made when
        they are asked for.
    """
    ir_datasets = ir_datasets_or_error("rageval.datasets.register()")
    there = set(ir_datasets.registry)
    ids = [spec.id for _, spec in all_datasets()]
    for name in ids:
        # Registering a name twice is an error there; calling us twice is none.
        if name not in there:
            ir_datasets.registry.register(name, _handlers(load(name)))
    _register_patterns(ir_datasets.registry)
    return ids


@cache
def _register_patterns(registry: Any) -> None:
    patterns = [benchmark.pattern.regex for benchmark in benchmarks() if benchmark.pattern]
    patterns += [rf"{re.escape(name)}/.+" for name in plugin_names("datasets")]

    def make_dataset(name: str, parts: Any) -> Any:
        try:
            return _handlers(load(name))
        except InputError as error:
            # What ir_datasets itself raises for an id that it does not know.
            raise KeyError(str(error)) from error

    for pattern in patterns:
        registry.register_pattern(rf"{pattern}\Z", make_dataset)


def _handlers(dataset: Dataset) -> Any:
    """Return the dataset as ir_datasets knows them."""
    import ir_datasets

    parts: list[Any] = []
    if "documents" in dataset.holds or dataset.documents_from:
        parts.append(_DocsPart(dataset))
    if "questions" in dataset.holds:
        parts.append(_QueriesPart(dataset))
    if "qrels" in dataset.holds:
        parts.append(_QrelsPart(dataset))
    return ir_datasets.Dataset(*parts)


class _Stream:
    """Records one at a time, which can also be asked for by place: `[3]`, `[:100]`, `[10:20:2]`."""

    def __init__(self, start: Callable[[], Iterator[Any]]) -> None:
        self._start = start
        self._running: Iterator[Any] | None = None

    def __iter__(self) -> _Stream:
        return self

    def __next__(self) -> Any:
        if self._running is None:
            self._running = self._start()
        return next(self._running)

    def __getitem__(self, place: int | slice) -> Any:
        if isinstance(place, slice):
            # A stream again, so that a slice of a slice works and nothing is read before it is asked for.
            return _Stream(lambda: islice(self._start(), place.start, place.stop, place.step))
        records = list(islice(self._start(), place, place + 1)) if place >= 0 else []
        if not records:
            raise IndexError(f"{place}: expected an existing position, from 0")
        return records[0]


class _PartOfDataset:
    def __init__(self, dataset: Dataset) -> None:
        self._dataset = dataset

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._dataset.id!r})"


class _DocsPart(_PartOfDataset):
    """The documents of a dataset."""

    def docs_handler(self) -> _DocsPart:
        return self

    def docs_iter(self) -> _Stream:
        return _Stream(self._dataset.documents)

    def docs_store(self) -> Any:
        return self._dataset.document_store()

    def docs_cls(self) -> Any:
        if self._dataset.documents_from:
            import ir_datasets

            return ir_datasets.load(self._dataset.documents_from).docs_cls()
        return self._dataset.reader.document if self._dataset.reader else Document

    def docs_count(self) -> int | None:
        store = self._dataset.document_store()
        # Counting documents that are not unpacked yet would unpack gigabytes, only to show a number.
        return store.count() if store.built() else None

    def docs_namespace(self) -> str:
        return self._dataset.id

    def docs_lang(self) -> str:
        return "en"


class _QueriesPart(_PartOfDataset):
    """The questions of a dataset."""

    def queries_handler(self) -> _QueriesPart:
        return self

    def queries_iter(self) -> Iterator[Any]:
        as_query = self._dataset.reader.as_query if self._dataset.reader else None
        as_query = as_query or (lambda question: TopicQuery(question.query_id, question.text))
        return map(as_query, self._dataset.questions())

    def queries_cls(self) -> Any:
        return (self._dataset.reader and self._dataset.reader.query) or TopicQuery

    def queries_dict(self) -> dict[str, Any]:
        return {query.query_id: query for query in self.queries_iter()}

    def queries_count(self) -> int:
        return sum(1 for _ in self._dataset.questions())

    def queries_namespace(self) -> str:
        return self._dataset.id

    def queries_lang(self) -> str:
        return "en"


class _QrelsPart(_PartOfDataset):
    """The judgements of a dataset."""

    def qrels_handler(self) -> _QrelsPart:
        return self

    def qrels_iter(self) -> Iterator[NuggetQrel]:
        return (NuggetQrel._make(qrel) for qrel in self._dataset.qrels())

    def qrels_cls(self) -> Any:
        return NuggetQrel

    def qrels_defs(self) -> dict[int, str]:
        return {}

    def qrels_dict(self) -> dict[str, dict[str, int | float]]:
        """Return the highest grade that any nugget gives a document: a dict has no place for nuggets."""
        highest: dict[str, dict[str, int | float]] = {}
        for qrel in self._dataset.qrels():
            grades = highest.setdefault(qrel.query_id, {})
            grades[qrel.doc_id] = max(qrel.relevance, grades.get(qrel.doc_id, qrel.relevance))
        return highest

    def qrels_count(self) -> int:
        return sum(1 for _ in self._dataset.qrels())
