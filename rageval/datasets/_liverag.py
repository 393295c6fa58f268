"""The LiveRAG benchmark as it is on the Hugging Face hub: questions, answers, claims and documents."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from rageval.datasets._reader import Reader, lines
from rageval.datasets._records import Document, LiveRagQuery
from rageval.errors import InputError, Place
from rageval.files.jsonl import Id, read_records
from rageval.files.opening import File
from rageval.files.questions import read_questions
from rageval.records import Nugget, Qrel, Question

CLAIMS = ("direct", "useful", "useless")
_EXPECTED = "LiveRAG questions {Index, Supporting_Documents: [{doc_id, content}], Answer_Claims: {direct, …}}"


class _Supporting(msgspec.Struct):
    content: str
    doc_id: str


class _Record(msgspec.Struct):
    index: Id = msgspec.field(name="Index")
    documents: list[_Supporting] | str | None = msgspec.field(name="Supporting_Documents", default=None)
    claims: dict[str, list[str] | None] | str | None = msgspec.field(name="Answer_Claims", default=None)


def _plain_names(row: Any) -> Any:
    """Return a row with plain names: the file writes the bounds behind a name, as in `ACS [-2 : 1]`."""
    if not isinstance(row, dict):
        return row
    row = {key.partition(" [")[0]: value for key, value in row.items()}
    if isinstance(row.get("Index"), float) and row["Index"].is_integer():
        row["Index"] = int(row["Index"])
    return row


def questions(paths: Sequence[File]) -> Iterator[Question]:
    """Yield the questions, each with its answer and the documents that hold it."""
    for path in paths:
        supporting = {str(record.index): _supporting(record, path) for record in _read_records(path)}
        for question in read_questions(lines(path, (), _plain_names)):
            texts = tuple((document.doc_id, document.content) for document in supporting[question.query_id])
            yield question._replace(documents=texts)


def documents(paths: Sequence[File]) -> Iterator[Document]:
    """Yield the documents that hold the answers, each once."""
    seen: set[str] = set()
    for path in paths:
        for record in _read_records(path):
            for document in _supporting(record, path):
                if document.doc_id not in seen:
                    seen.add(document.doc_id)
                    yield Document(document.doc_id, document.content)


def qrels(paths: Sequence[File]) -> Iterator[Qrel]:
    """Yield the documents that a question was made from, as relevant."""
    for path in paths:
        for record in _read_records(path):
            for name in dict.fromkeys(document.doc_id for document in _supporting(record, path)):
                yield Qrel(str(record.index), name, 1)


def nuggets(paths: Sequence[File]) -> Iterator[Nugget]:
    """Yield the claims of the answers; `group` is direct, useful or useless."""
    for path in paths:
        for record in _read_records(path):
            claims = _in_json(record.claims, dict[str, list[str] | None], record, path) or {}
            listed = [(group, claim) for group in CLAIMS for claim in claims.get(group) or ()]
            for position, (group, claim) in enumerate(listed):
                yield Nugget(str(record.index), str(position), claim, group=group)


def _read_records(path: File) -> Iterator[_Record]:
    source = lines(path, (), _plain_names)
    return (record for _, record in read_records(source, _Record, _EXPECTED))


def _supporting(record: _Record, path: File) -> list[_Supporting]:
    return _in_json(record.documents, list[_Supporting], record, path) or []


def _in_json(value: Any, kind: Any, record: _Record, path: File) -> Any:
    """Return the value, or what it holds if it is JSON in a text."""
    if not isinstance(value, str):
        return value
    try:
        return msgspec.json.decode(value, type=kind)
    except ValueError as error:
        raise InputError(
            at=Place(str(path), inside=f"question {record.index}"),
            expected=_EXPECTED,
            cause=str(error),
        ) from None


def query(question: Question) -> LiveRagQuery:
    """Return the question as ir_datasets hands it out."""
    facts = dict(question.facts)
    gold = "".join(question.gold[:1])
    return LiveRagQuery(
        question.query_id, question.text, gold, facts.get("session", ""), facts.get("difficulty", "")
    )


READER = Reader(
    {"questions": questions, "documents": documents, "qrels": qrels, "nuggets": nuggets},
    {"documents": "questions", "qrels": "questions", "nuggets": "questions"},
    Document,
    LiveRagQuery,
    query,
)
