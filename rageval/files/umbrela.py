"""Relevance judgements of UMBRELA, as JSON lines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import msgspec

from rageval.files.jsonl import Id, RecordForm, Unfit, has, identifier, read_forms
from rageval.files.limits import DEFAULT, Limits
from rageval.files.opening import Source
from rageval.records import Qrel

_HIGHEST = 3


class _JudgedQuery(msgspec.Struct):
    """A query with its id."""

    qid: Id | None = None


class _JudgedPassage(msgspec.Struct):
    """A passage with its id."""

    docid: Id | None = None


class _JudgedPair(msgspec.Struct):
    """A line; the ids stand beside the texts or in their place."""

    judgment: Annotated[int, msgspec.Meta(ge=0, le=_HIGHEST)]
    query: str | _JudgedQuery = ""
    passage: str | _JudgedPassage = ""
    qid: Id | None = None
    docid: Id | None = None


def _from_line(line: _JudgedPair, limits: Limits) -> Qrel:
    query = line.query.qid if isinstance(line.query, _JudgedQuery) else None
    doc = line.passage.docid if isinstance(line.passage, _JudgedPassage) else None
    query = line.qid if query is None else query
    doc = line.docid if doc is None else doc
    if query is None or doc is None:
        lacking = " and ".join(name for name, value in (("`qid`", query), ("`docid`", doc)) if value is None)
        raise Unfit(
            f"no {lacking} to say what is judged: put `qid` and `docid` beside the texts, or give them as"
            " query: {qid, text} and passage: {docid, text}"
        )
    return Qrel(identifier(query, "qid", limits), identifier(doc, "docid", limits), line.judgment)


_FORM = RecordForm(
    "UMBRELA judgements",
    f"{{qid, docid, query, passage, judgment: 0 to {_HIGHEST}}}",
    has("judgment"),
    _JudgedPair,
    _from_line,
)


def read_umbrela(source: Source, limits: Limits = DEFAULT) -> Iterator[Qrel]:
    """Read judgements. One that failed has no grade, and is an error rather than a grade of 0."""
    for _, qrel in read_forms(source, (_FORM,), "judgements of UMBRELA", limits):
        yield qrel
