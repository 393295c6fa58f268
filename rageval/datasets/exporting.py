"""Data sets as lines of text: as ir_datasets exports them, and in the formats of the files module."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import groupby
from typing import Any

from rageval.datasets.loading import Dataset
from rageval.errors import UsageError
from rageval.files.jsonl import as_line
from rageval.files.nuggets import write_nuggets
from rageval.records import Nugget

WHAT = {
    "docs": ("jsonl", "tsv"),
    "queries": ("tsv", "jsonl"),
    "qrels": ("trec", "tsv", "jsonl"),
    "nuggets": ("jsonl",),
    "answers": ("jsonl",),
}


def exported(dataset: Dataset, what: str, style: str | None = None) -> Iterator[str]:
    """The lines of a part of a data set; the first style of `WHAT` is the usual one."""
    styles = WHAT[what]
    if style is not None and style not in styles:
        raise UsageError(f"--format {style}: {what} are written as {' or '.join(styles)}")
    return _WRITERS[what](dataset, style or styles[0])


def _docs(dataset: Dataset, style: str) -> Iterator[str]:
    return (_written(document, style) for document in dataset.documents())


def _queries(dataset: Dataset, style: str) -> Iterator[str]:
    if style == "tsv":
        return (_tabbed([question.query_id, question.text]) for question in dataset.questions())
    as_query = dataset.reader.as_query if dataset.reader else None
    return (
        _written(as_query(question), style)
        if as_query
        else json.dumps({"query_id": question.query_id, "text": question.text})
        for question in dataset.questions()
    )


def _qrels(dataset: Dataset, style: str) -> Iterator[str]:
    """Lines `query nugget document grade`. Tabs part them where an id holds a space."""
    if style != "trec":
        yield from (_written(qrel, style) for qrel in dataset.qrels())
        return
    rows = [(qrel.query_id, qrel.iteration, qrel.doc_id, str(qrel.relevance)) for qrel in dataset.qrels()]
    separator = "\t" if any(" " in name for row in rows for name in row) else " "
    yield from (separator.join(row) for row in rows)


def _nuggets(dataset: Dataset, style: str) -> Iterator[str]:
    texts = {question.query_id: question.text for question in dataset.questions()}
    for query, found in groupby(dataset.nuggets(), key=lambda nugget: nugget.query_id):
        nuggets = list(found)
        if any(nugget.weight is not None for nugget in nuggets):
            yield as_line({"qid": query, "rubrics": [_criterion(nugget) for nugget in nuggets]})
        else:
            yield from write_nuggets(nuggets, texts)


def _criterion(nugget: Nugget) -> dict[str, Any]:
    return {"criterion": nugget.text, "weight": nugget.weight, "axis": nugget.group}


def _answers(dataset: Dataset, style: str) -> Iterator[str]:
    """Plain questions with all right answers and facts."""
    if dataset.reader is not None and "answers" not in dataset.holds:
        raise dataset.lacks("answers")
    for question in dataset.questions():
        known = {"query_id": question.query_id, "question": question.text, "answer": list(question.gold)}
        yield json.dumps(dict(question.facts) | known, ensure_ascii=False)


_WRITERS = {"docs": _docs, "queries": _queries, "qrels": _qrels, "nuggets": _nuggets, "answers": _answers}


def _written(record: Any, style: str) -> str:
    if style == "tsv":
        return _tabbed(value for value in record if isinstance(value, str | int | float))
    fields = zip(record._fields, record, strict=True)
    return json.dumps({name: value for name, value in fields if not isinstance(value, bytes)})


def _tabbed(values: Any) -> str:
    """Columns as ir_datasets writes them: a tab or a line end within one becomes a space."""
    return "\t".join(str(value).translate({9: 32, 10: 32, 13: 32}) for value in values)
