"""What ir_datasets asks of the parts of a data set."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from rageval.datasets.loading import Dataset
from rageval.datasets.records import Document, Judgement, Topic
from rageval.records import Question


class Stream:
    """Records one at a time, which can also be asked for by place: `[3]`, `[:100]`, `[10:20:2]`."""

    def __init__(self, start: Callable[[], Iterator[Any]]) -> None:
        self._start = start
        self._running: Iterator[Any] | None = None

    def __iter__(self) -> Stream:
        return self

    def __next__(self) -> Any:
        if self._running is None:
            self._running = self._start()
        return next(self._running)

    def __getitem__(self, place: int | slice) -> Any:
        if isinstance(place, slice):
            return Stream(lambda: islice(self._start(), place.start, place.stop, place.step))
        found = list(islice(self._start(), place, place + 1)) if place >= 0 else []
        if not found:
            raise IndexError(f"{place}: expected a place from 0 that there is")
        return found[0]


class _Part:
    def __init__(self, dataset: Dataset) -> None:
        self._dataset = dataset

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._dataset.id!r})"


class Docs(_Part):
    """The documents of a data set."""

    def docs_handler(self) -> Docs:
        return self

    def docs_iter(self) -> Stream:
        return Stream(self._dataset.documents)

    def docs_store(self) -> Any:
        return self._dataset.document_store()

    def docs_cls(self) -> Any:
        if self._dataset.documents_from:
            import ir_datasets

            return ir_datasets.load(self._dataset.documents_from).docs_cls()
        return self._dataset.reader.document if self._dataset.reader else Document

    def docs_count(self) -> int | None:
        store = self._dataset.document_store()
        return store.count() if store.built() else None

    def docs_namespace(self) -> str:
        return self._dataset.id

    def docs_lang(self) -> str:
        return "en"


class Queries(_Part):
    """The questions of a data set."""

    def queries_handler(self) -> Queries:
        return self

    def queries_iter(self) -> Iterator[Any]:
        return map(self._as_query(), self._dataset.questions())

    def queries_cls(self) -> Any:
        return (self._dataset.reader and self._dataset.reader.query) or Topic

    def queries_dict(self) -> dict[str, Any]:
        return {query.query_id: query for query in self.queries_iter()}

    def queries_count(self) -> int:
        return sum(1 for _ in self._dataset.questions())

    def queries_namespace(self) -> str:
        return self._dataset.id

    def queries_lang(self) -> str:
        return "en"

    def _as_query(self) -> Callable[[Question], Any]:
        made = self._dataset.reader.as_query if self._dataset.reader else None
        return made or (lambda question: Topic(question.query_id, question.text))


class Qrels(_Part):
    """The judgements of a data set."""

    def qrels_handler(self) -> Qrels:
        return self

    def qrels_iter(self) -> Iterator[Judgement]:
        return (Judgement(*qrel) for qrel in self._dataset.qrels())

    def qrels_cls(self) -> Any:
        return Judgement

    def qrels_defs(self) -> dict[int, str]:
        return {}

    def qrels_dict(self) -> dict[str, dict[str, int]]:
        """The highest grade that any nugget gives a document: a dict has no place for nuggets."""
        found: dict[str, dict[str, int]] = {}
        for qrel in self._dataset.qrels():
            grades = found.setdefault(qrel.query_id, {})
            grades[qrel.doc_id] = max(qrel.relevance, grades.get(qrel.doc_id, qrel.relevance))
        return found

    def qrels_count(self) -> int:
        return sum(1 for _ in self._dataset.qrels())
