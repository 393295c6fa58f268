"""FreshStack as it is on the Hugging Face hub: questions with nuggets, and a corpus."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from rageval.datasets._reader import Reader, lines, records
from rageval.datasets._records import Document, StackOverflowQuery
from rageval.errors import InputError, Place
from rageval.files.jsonl import Id, identifier
from rageval.files.nuggets import read_nuggets
from rageval.files.opening import File, limits_of
from rageval.files.questions import read_questions
from rageval.records import Nugget, Qrel, Question

_COLUMNS = ("query_id", "query_title", "query_text", "answer_text", "nuggets")
_EXPECTED = "FreshStack questions {query_id, nuggets: [{_id, relevant_corpus_ids, non_relevant_corpus_ids}]}"


class _JudgedNugget(msgspec.Struct):
    id: Id = msgspec.field(name="_id")
    relevant: list[Id] = msgspec.field(name="relevant_corpus_ids")
    other: list[Id] | None = msgspec.field(name="non_relevant_corpus_ids", default=None)


class _JudgedQuestion(msgspec.Struct):
    query_id: Id
    nuggets: list[_JudgedNugget]


class _Chunk(msgspec.Struct):
    id: Id = msgspec.field(name="_id")
    text: str
    title: str | None = None


def questions(paths: Sequence[File]) -> Iterator[Question]:
    """Yield the questions, each with its accepted answer."""
    for path in paths:
        yield from read_questions(lines(path, _COLUMNS))


def nuggets(paths: Sequence[File]) -> Iterator[Nugget]:
    """Yield the nuggets of every question."""
    for path in paths:
        yield from read_nuggets(lines(path, _COLUMNS))


def qrels(paths: Sequence[File]) -> Iterator[Qrel]:
    """Yield every judgement of a document by a nugget.

    A document that is listed as relevant and as non-relevant counts as non-relevant, as it does in
    FreshStack's own loader.
    """
    for path in paths:
        for question in records(path, _JudgedQuestion, ("query_id", "nuggets"), _EXPECTED):
            try:
                limits = limits_of(path)
                query = identifier(question.query_id, "query_id", limits)
                for nugget in question.nuggets:
                    name = identifier(nugget.id, "nuggets._id", limits)
                    grades = dict.fromkeys(nugget.relevant, 1) | dict.fromkeys(nugget.other or [], 0)
                    for document, grade in grades.items():
                        yield Qrel(query, identifier(document, "relevant_corpus_ids", limits), grade, name)
            except msgspec.ValidationError as error:
                raise InputError(
                    at=Place(str(path), inside=f"question {question.query_id}"), problem=str(error)
                ) from None


def documents(paths: Sequence[File]) -> Iterator[Document]:
    """Yield the chunks of the repositories."""
    for path in paths:
        for chunk in records(path, _Chunk, ("_id", "text", "title"), "{_id, text, title}"):
            yield Document(str(chunk.id), chunk.text, chunk.title or "")


def query(question: Question) -> StackOverflowQuery:
    """Return the question as ir_datasets hands it out."""
    return StackOverflowQuery(question.query_id, question.text, "".join(question.gold[:1]))


READER = Reader(
    {"questions": questions, "nuggets": nuggets, "qrels": qrels, "documents": documents},
    {"nuggets": "questions", "qrels": "questions"},
    Document,
    StackOverflowQuery,
    query,
)
