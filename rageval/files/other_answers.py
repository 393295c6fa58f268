"""Answers outside TREC: those of the LiveRAG challenge, and plain ones for people without a track."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from rageval.files.citations import checked, identifiers, resolved
from rageval.files.forms import Form, Id, has, identifier
from rageval.files.limits import Limits
from rageval.records import Answer, Sentence


class LivePassage(msgspec.Struct):
    """A text the system saw, and the documents it is from."""

    passage: str
    docs: list[Id] = msgspec.field(default=[], name="doc_IDs")


class LiveRag(msgspec.Struct):
    """A line of the LiveRAG challenge. It does not name its run."""

    id: Id
    answer: str
    passages: list[LivePassage]
    question: str = ""
    final_prompt: str = ""


class PlainPart(msgspec.Struct):
    """A sentence and what it cites."""

    text: str
    citations: list[Id | None] = []


class PlainPassage(msgspec.Struct):
    """A text the system saw."""

    id: Id
    text: str


class Plain(msgspec.Struct):
    """A line of plain answers."""

    query_id: Id
    answer: str | list[PlainPart]
    run_id: Id = ""
    question: str = ""
    prompt: str = ""
    references: list[Id] | None = None
    passages: list[PlainPassage] = []


def _from_liverag(line: LiveRag, limits: Limits) -> Answer:
    passages = tuple(
        (doc, found.passage)
        for found in line.passages
        for doc in identifiers(found.docs, "passages.doc_IDs", limits) or ("",)
    )
    return Answer(
        identifier(line.id, "id", limits),
        "",
        (Sentence(line.answer),),
        tuple(dict.fromkeys(doc for doc, _ in passages if doc)),
        passages,
        line.question,
        line.final_prompt,
    )


def _from_plain(line: Plain, limits: Limits) -> Answer:
    parts = [PlainPart(line.answer)] if isinstance(line.answer, str) else line.answer
    passages = tuple((identifier(found.id, "passages.id", limits), found.text) for found in line.passages)
    listed = line.references is not None or bool(passages)
    references = (
        tuple(doc for doc, _ in passages)
        if line.references is None
        else identifiers(line.references, "references", limits)
    )
    return Answer(
        identifier(line.query_id, "query_id", limits),
        identifier(line.run_id, "run_id", limits) if line.run_id != "" else "",
        tuple(
            Sentence(part.text, docs)
            for part, docs in zip(parts, _cited(parts, references, listed), strict=True)
        ),
        references,
        passages,
        line.question,
        line.prompt,
    )


def _cited(
    parts: list[PlainPart], references: tuple[str, ...], listed: bool
) -> Iterator[tuple[str | None, ...]]:
    """What the sentences cite; without a list to point into, numbers are ids like any other."""
    if listed:
        yield from resolved((part.citations for part in parts), references)
        return
    for part in parts:
        yield tuple(None if cited is None else str(cited) for cited in part.citations)


def liverag_record(answer: Answer, **extra: str) -> dict[str, Any]:
    """An answer as a line of LiveRAG, which knows no run and no citations."""
    number = answer.query_id
    is_number = number.isascii() and number.isdigit() and (number == "0" or number[0] != "0")
    return {
        "id": int(number) if is_number else number,
        "question": answer.question,
        "passages": [{"passage": text, "doc_IDs": [doc] if doc else []} for doc, text in answer.passages],
        "final_prompt": answer.prompt,
        "answer": answer.text,
        **extra,
    }


def plain_record(answer: Answer, **extra: str) -> dict[str, Any]:
    """An answer as a line of plain answers; citations are ids."""
    ids = tuple(doc for doc, _ in answer.passages)
    record: dict[str, Any] = {"query_id": answer.query_id, "run_id": answer.run_id}
    record |= {"question": answer.question} if answer.question else {}
    record |= {"prompt": answer.prompt} if answer.prompt else {}
    record["answer"] = _plain_parts(answer)
    record |= {"references": answer.references} if answer.references != ids else {}
    record |= {"passages": [{"id": doc, "text": text} for doc, text in answer.passages]} if ids else {}
    return record | extra


def _plain_parts(answer: Answer) -> str | list[dict[str, Any]]:
    if len(answer.sentences) == 1 and not answer.sentences[0].citations:
        return answer.sentences[0].text
    listed = bool(answer.references or answer.passages)
    return [
        {
            "text": sentence.text,
            "citations": [
                checked(cited, answer) if listed and cited is not None else cited
                for cited in sentence.citations
            ],
        }
        for sentence in answer.sentences
    ]


LIVERAG = Form(
    "LiveRAG answers",
    "{id, question, passages: [{passage, doc_IDs}], final_prompt, answer}",
    has("id", "answer"),
    LiveRag,
    _from_liverag,
)
PLAIN = Form(
    "plain answers",
    "{query_id, run_id, answer: text or [{text, citations}], passages: [{id, text}]}",
    has("query_id", "answer"),
    Plain,
    _from_plain,
)
