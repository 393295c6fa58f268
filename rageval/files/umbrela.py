"""Relevance judgements of UMBRELA, as JSON lines.

>>> list(write_umbrela([Qrel("q1", "d1", 2)]))
['{"qid":"q1","docid":"d1","judgment":2}']
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated

import msgspec

from rageval.errors import InputError
from rageval.files.jsonl import Id, RecordForm, Unfit, has, identifier, read_forms
from rageval.files.limits import DEFAULT, Limits
from rageval.files.opening import Source
from rageval.records import Qrel

__all__ = ["Qrel", "read_umbrela", "write_umbrela"]

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


def write_umbrela(
    qrels: Iterable[Qrel], queries: Mapping[str, str] | None = None, passages: Mapping[str, str] | None = None
) -> Iterator[str]:
    """Write each judgement as a line; `queries` and `passages` are the texts, by id."""
    for qrel in qrels:
        if qrel.iteration not in ("0", "Q0") or not 0 <= qrel.relevance <= _HIGHEST:
            raise InputError(
                f"{qrel}: expected a grade from 0 to {_HIGHEST} and no nugget: UMBRELA judges whole passages"
            )
        record: dict[str, str | int] = {"qid": qrel.query_id, "docid": qrel.doc_id}
        record |= {"query": queries[qrel.query_id]} if queries else {}
        record |= {"passage": passages[qrel.doc_id]} if passages else {}
        yield msgspec.json.encode(record | {"judgment": qrel.relevance}).decode()
