"""Questions: what is asked, the answers that are right, and the facts by which scores can be sliced."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from rageval.files.benchmark_questions import CRAG, FRESHSTACK, LIVERAG, Word, words
from rageval.files.forms import Form, Unfit, has, identifier, once, read_forms
from rageval.files.limits import DEFAULT, Limits
from rageval.files.opening import Source
from rageval.files.retrieved import QUESTIONS as CANDIDATES
from rageval.files.topics import TOPICS
from rageval.records import Question

__all__ = ["FORMS", "Question", "read_questions"]

Fields = dict[str, msgspec.Raw]  # a field that is not asked for is never built
_LONGEST_FACT = 1024


def _keyed(name: str, query: str, question: str) -> Form[Question]:
    """Plain questions, by the names that a track gives to the two main fields."""

    def build(fields: Fields, limits: Limits) -> Question:
        asked = identifier(_value(fields, query, str | int), query, limits)
        text = _value(fields, question, str)
        gold = words(_value(fields, "answer", Word | list[Word] | None, None))
        return Question(asked, text, gold, tuple(_facts(fields, {query, question, "answer"})))

    return Form(name, f"{{{query}, {question}, …}}", has(query, question), Fields, build)


# A record is of the first form it fits.
FORMS: tuple[Form[Question], ...] = (
    _keyed("plain questions", "query_id", "question"),
    CRAG,
    LIVERAG,
    FRESHSTACK,
    _keyed("LiveRAG questions", "id", "question"),
    _keyed("TREC RAG topics", "id", "title"),
    CANDIDATES,
    TOPICS,
)


def read_questions(source: Source, limits: Limits = DEFAULT) -> Iterator[Question]:
    """The questions of a file: plain, of LiveRAG, CRAG, FreshStack or TREC RAG (JSON lines or `id<TAB>text`).

    What else a plain record says in a word (a text of up to 1,024 characters, a number, true or false)
    becomes a fact. A data set that holds questions may stand for a file.
    """
    if callable(content := getattr(source, "questions", None)):
        yield from content()
        return
    records = read_forms(source, FORMS, "questions", limits)
    for _, question in once(records, source, lambda question: f"question {question.query_id}"):
        yield question


def _value(fields: Fields, key: str, kind: Any, *default: Any) -> Any:
    """The field, which must be of this kind."""
    if key not in fields:
        if default:
            return default[0]
        raise Unfit(f"Object missing required field `{key}`")
    try:
        return msgspec.json.decode(fields[key], type=kind)
    except Unfit as error:
        raise Unfit(f"{error} - at `$.{key}`") from None


def _facts(fields: Fields, known: set[str]) -> Iterator[tuple[str, str]]:
    for key, raw in fields.items():
        written = bytes(raw)
        if key in known or written.startswith((b"{", b"[")) or written == b"null":
            continue
        text = msgspec.json.decode(raw) if written.startswith(b'"') else written.decode()
        if len(text) <= _LONGEST_FACT:
            yield key, text
