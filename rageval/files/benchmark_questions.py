"""The questions of benchmarks as they are published: CRAG, LiveRAG, FreshStack."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from rageval.files.forms import Form, Id, Unfit, has, identifier
from rageval.files.limits import Limits
from rageval.records import Question

Word = str | int | float


class CragQuestion(msgspec.Struct):
    """A line of CRAG. `search_results`, nearly all of its bytes, is not declared and so never built."""

    interaction_id: Id
    query: str
    answer: Word
    alt_ans: list[Word] = []
    alternative_answers: str | list[Word] | None = None
    domain: Word | None = None
    question_type: Word | None = None
    static_or_dynamic: Word | None = None
    popularity: Word | None = None
    split: Word | None = None
    query_time: Word | None = None


class Supporting(msgspec.Struct):
    """A document that holds the answer."""

    doc_id: str = ""
    content: str = ""


class LiveRagQuestion(msgspec.Struct):
    """A record of the benchmark that LiveRAG released, as JSON."""

    index: Id = msgspec.field(name="Index")
    question: str = msgspec.field(name="Question")
    answer: str = msgspec.field(name="Answer")
    documents: list[Supporting] | None = msgspec.field(default=None, name="Supporting_Documents")
    session: str | None = msgspec.field(default=None, name="Session")
    config: Any = msgspec.field(default=None, name="DataMorgana_Config")
    difficulty: float | None = msgspec.field(default=None, name="ACS")
    bounded: float | None = msgspec.field(default=None, name="ACS [-2 : 1]")  # as the Parquet file names it


class FreshStackQuestion(msgspec.Struct):
    """A FreshStack question; what is asked is title and text."""

    query_id: Id
    query_title: str
    query_text: str
    answer_text: str = ""


def words(value: Word | list[Word] | None) -> tuple[str, ...]:
    """One answer, several or none, as texts."""
    if value is None:
        return ()
    return tuple(map(str, value)) if isinstance(value, list) else (str(value),)


def _from_crag(line: CragQuestion, limits: Limits) -> Question:
    facts = ("domain", "question_type", "static_or_dynamic", "popularity", "split", "query_time")
    return Question(
        identifier(line.interaction_id, "interaction_id", limits),
        line.query,
        tuple(dict.fromkeys((str(line.answer), *words(line.alt_ans), *_alternatives(line)))),
        tuple((name, str(value)) for name in facts if (value := getattr(line, name)) is not None),
    )


def _alternatives(line: CragQuestion) -> tuple[str, ...]:
    """The other right answers; the example that CRAG ships has them as JSON inside a text."""
    found = line.alternative_answers
    if not isinstance(found, str):
        return words(found)
    try:
        return words(msgspec.json.decode(found or "[]", type=list[Word]))
    except ValueError:
        raise Unfit("expected a list in JSON - at `$.alternative_answers`") from None


def _from_liverag(line: LiveRagQuestion, limits: Limits) -> Question:
    facts = dict(_categories(line.config))
    facts |= {"session": line.session} if line.session is not None else {}
    facts |= {"documents": str(len(line.documents))} if line.documents is not None else {}
    difficulty = line.difficulty if line.difficulty is not None else line.bounded
    facts |= {"difficulty": str(difficulty)} if difficulty is not None else {}
    return Question(
        identifier(line.index, "Index", limits),
        line.question,
        (line.answer,),
        tuple(facts.items()),
        tuple((found.doc_id, found.content) for found in line.documents or () if found.content),
    )


def _categories(config: Any) -> Iterator[tuple[str, str]]:
    """The categories a question was made for: `{name: category}`, nested or as a list of pairs."""
    if isinstance(config, str):
        try:
            config = msgspec.json.decode(config)
        except ValueError:
            raise Unfit("expected an object in JSON - at `$.DataMorgana_Config`") from None
    for part in config if isinstance(config, list) else [config]:
        if not isinstance(part, dict):
            continue
        if isinstance(part.get("categorization_name"), str) and isinstance(part.get("category_name"), str):
            yield part["categorization_name"], part["category_name"]
            continue
        for name, value in part.items():
            if isinstance(value, str):
                yield name, value
            elif isinstance(value, dict | list):
                yield from _categories(value)


def _from_freshstack(line: FreshStackQuestion, limits: Limits) -> Question:
    gold = (line.answer_text,) if line.answer_text else ()
    text = f"{line.query_title} {line.query_text}"
    return Question(identifier(line.query_id, "query_id", limits), text, gold)


CRAG = Form(
    "CRAG questions",
    "{interaction_id, query, answer, alt_ans, …}",
    has("interaction_id", "query"),
    CragQuestion,
    _from_crag,
)
LIVERAG = Form(
    "LiveRAG benchmark questions",
    "{Index, Question, Answer, …}",
    has("Question", "Answer"),
    LiveRagQuestion,
    _from_liverag,
)
FRESHSTACK = Form(
    "FreshStack questions",
    "{query_id, query_title, query_text, …}",
    has("query_id", "query_title"),
    FreshStackQuestion,
    _from_freshstack,
)
