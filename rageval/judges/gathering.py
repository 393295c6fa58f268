"""What there is to judge, gathered from the files that hold it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from rageval.errors import InputError
from rageval.files.answers import read_answers
from rageval.files.jsonl import read_records
from rageval.files.limits import DEFAULT, Limits
from rageval.files.nuggets import read_nuggets
from rageval.files.opening import Source, name_of
from rageval.files.questions import read_questions
from rageval.judges.tasks import Material
from rageval.records import Nugget, Question
from rageval.text import problem_of_id


class _Passage(msgspec.Struct):
    """A text by its id, as corpora and retrieval results name it."""

    text: str = ""
    id: str | int | None = None
    docid: str | int | None = None
    doc_id: str | int | None = None
    corpus_id: str | None = msgspec.field(default=None, name="_id")
    title: str = ""
    segment: str = ""
    passage: str = ""


def gathered(
    answers: Sequence[Source],
    questions: Source | None = None,
    nuggets: Source | None = None,
    passages: Source | None = None,
    candidates: Iterable[tuple[str, str]] = (),
    limits: Limits = DEFAULT,
    **design: Any,
) -> Material:
    """The material in these files; `candidates` are (query, document) pairs to judge."""
    said = [answer for source in answers for answer in read_answers(source, limits)]
    known = (
        {question.query_id: question for question in read_questions(questions, limits)} if questions else {}
    )
    for answer in said:  # some files of answers hold the question, too
        if answer.query_id not in known and answer.question:
            known[answer.query_id] = Question(answer.query_id, answer.question)
    texts = dict(passage for answer in said for passage in answer.passages)
    if passages:
        texts |= read_passages(passages, limits)
    pools: dict[str, list[str]] = {}
    for query, doc in candidates:
        pools.setdefault(query, []).append(doc)
    return Material(said, known, _banks(nuggets, limits), texts, pools, **design)


def read_passages(source: Source, limits: Limits = DEFAULT) -> dict[str, str]:
    """{document: text} of JSON lines with an id and a text, whatever the corpus calls them."""
    return dict(passages_in(source, limits))


def passages_in(source: Source, limits: Limits = DEFAULT) -> Iterator[tuple[str, str]]:
    """The same, one at a time, for a corpus that is larger than memory."""
    for line, record in read_records(source, _Passage, "a passage {id, text}", limits):
        names = (record.id, record.docid, record.doc_id, record.corpus_id)
        doc = next((str(name) for name in names if name is not None), None)
        text = record.text or record.segment or record.passage
        if doc is None or not text:
            raise InputError(f"{name_of(source)}:{line}: expected a passage with an id and a text")
        if (problem := problem_of_id(doc)) is not None:
            raise InputError(f"{name_of(source)}:{line}: expected {problem}")
        yield doc, f"{record.title}\n{text}" if record.title else text


def _banks(source: Source | None, limits: Limits) -> dict[str, list[Nugget]]:
    banks: dict[str, list[Nugget]] = {}
    for nugget in read_nuggets(source, limits) if source else ():
        banks.setdefault(nugget.query_id, []).append(nugget)
    return banks
