"""What there is to judge, gathered from the files that hold it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from rageval.errors import InputError
from rageval.files import retrieved
from rageval.files.answers import read_answers
from rageval.files.jsonl import read_records
from rageval.files.limits import DEFAULT, Limits
from rageval.files.nuggets import read_nuggets
from rageval.files.opening import Source, name_of, start_of
from rageval.files.questions import read_questions
from rageval.judges.tasks import Material
from rageval.records import Answer, Nugget, Question
from rageval.text import problem_of_id, visible


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
    pools: dict[str, list[str]] = {}
    for query, doc in candidates:
        pools.setdefault(query, []).append(doc)
    if passages:
        texts |= _texts(passages, said, pools, limits)
    return Material(said, known, _banks(nuggets, limits), texts, pools, **design)


def _texts(
    passages: Any, answers: Iterable[Answer], pools: Mapping[str, Iterable[str]], limits: Limits
) -> dict[str, str]:
    """The texts of a file; of a data set, which may be larger than memory, those that will be shown."""
    if not hasattr(passages, "document_store"):
        return read_passages(passages, limits)
    wanted = {doc for docs in pools.values() for doc in docs}
    wanted |= {doc for answer in answers for part in answer.sentences for doc in part.citations if doc}
    found = passages.document_store().get_many(sorted(wanted))
    return {doc: _text_of(document) for doc, document in found.items()}


def _text_of(document: Any) -> str:
    title, text = getattr(document, "title", ""), getattr(document, "text", None)
    if text is None:
        return str(document.default_text())
    return f"{title}\n{text}" if title else str(text)


def read_passages(source: Source, limits: Limits = DEFAULT) -> dict[str, str]:
    """{document: text} of JSON lines with an id and a text, whatever the corpus calls them."""
    return dict(passages_in(source, limits))


def passages_in(source: Source, limits: Limits = DEFAULT) -> Iterator[tuple[str, str]]:
    """The same, one at a time, for a corpus that is larger than memory, or a data set."""
    if callable(content := getattr(source, "documents", None)):
        for document in content():
            yield document.doc_id, _text_of(document)
        return
    if retrieved.kind_of(start := start_of(source, limits)) and b'"candidates"' in start:
        yield from _candidates(source, limits)
        return
    for line, record in read_records(source, _Passage, "a passage {id, text}", limits):
        names = (record.id, record.docid, record.doc_id, record.corpus_id)
        doc = next((str(name) for name in names if name is not None), None)
        text = record.text or record.segment or record.passage
        if doc is None or not text:
            raise InputError(f"{name_of(source)}:{line}: expected a passage with an id and a text")
        if (problem := problem_of_id(doc)) is not None:
            raise InputError(f"{name_of(source)}:{line}: expected {problem}")
        yield doc, f"{record.title}\n{text}" if record.title else text


def _candidates(source: Source, limits: Limits) -> Iterator[tuple[str, str]]:
    """The texts of candidates, each document once: it may have been retrieved for several queries."""
    known: dict[str, str] = {}
    for line, found in retrieved.read_candidates(source, limits):
        for candidate in found.candidates:
            doc, text = str(candidate.docid), retrieved.text_of(candidate)
            if not text:
                raise InputError(f"{name_of(source)}:{line}: expected a text of candidate {visible(doc)!r}")
            if known.setdefault(doc, text) is text:
                yield doc, text
            elif known[doc] != text:
                raise InputError(
                    f"{name_of(source)}:{line}: document {visible(doc)!r} has another text than before;"
                    " expected one"
                )


def _banks(source: Source | None, limits: Limits) -> dict[str, list[Nugget]]:
    banks: dict[str, list[Nugget]] = {}
    for nugget in read_nuggets(source, limits) if source else ():
        banks.setdefault(nugget.query_id, []).append(nugget)
    return banks
