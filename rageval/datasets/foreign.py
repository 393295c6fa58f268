"""What ir_datasets has, as our records."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rageval.datasets.records import Judgement
from rageval.errors import MissingPackage
from rageval.records import Nugget, Qrel, Question

_NUGGET_FIELDS = ("subtopic_id", "nugget_id")  # TREC's `iteration` names rounds or assessors, no nugget


def ir_datasets_or_error(purpose: str) -> Any:
    """The package, imported."""
    try:
        import ir_datasets
    except ImportError:
        raise MissingPackage("ir_datasets", purpose, extra="datasets") from None
    return ir_datasets


def loaded(dataset: str) -> Any:
    """The data set of this id; None if ir_datasets does not know it."""
    ir_datasets = ir_datasets_or_error(f"{dataset} (an id of ir_datasets?)")
    try:
        return ir_datasets.load(dataset)
    except KeyError:
        return None


def holds(dataset: Any) -> tuple[str, ...]:
    """What there is of questions, documents, qrels and nuggets."""
    there = {
        "questions": dataset.has_queries(),
        "documents": dataset.has_docs(),
        "qrels": dataset.has_qrels(),
    }
    if dataset.has_queries() and "subtopics" in dataset.queries_cls()._fields:
        there["nuggets"] = True
    return tuple(what for what, is_there in there.items() if is_there)


def store(dataset: Any) -> Any:
    """What makes its store of documents; None if it has none."""
    return dataset.docs_store if dataset.has_docs() else None


def read(dataset: Any, what: str) -> Iterator[Any]:
    """The content as our records; documents stay as they are."""
    if what == "documents":
        return iter(dataset.docs_iter())
    return {"questions": _questions, "qrels": _qrels, "nuggets": _nuggets}[what](dataset)


def _questions(dataset: Any) -> Iterator[Question]:
    for query in dataset.queries_iter():
        text = query.default_text() if hasattr(query, "default_text") else query[1]
        yield Question(query.query_id, text)


def _qrels(dataset: Any) -> Iterator[Qrel]:
    kind = dataset.qrels_cls()
    known = (*_NUGGET_FIELDS, *(("iteration",) if kind is Judgement else ()))
    nugget = next((name for name in known if name in kind._fields), None)
    for qrel in dataset.qrels_iter():
        name = str(getattr(qrel, nugget)) if nugget else "0"
        yield Qrel(qrel.query_id, qrel.doc_id, qrel.relevance, name)


def _nuggets(dataset: Any) -> Iterator[Nugget]:
    """The subtopics of a diversity task."""
    for query in dataset.queries_iter():
        for subtopic in query.subtopics:
            yield Nugget(query.query_id, str(subtopic.number), subtopic.text)
