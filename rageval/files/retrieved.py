"""What was retrieved, as JSON: candidates of Anserini, RankLLM and nuggetizer, or {query: {doc: number}}.

UMBRELA's judgements of such passages are read here, too.

A line of candidates is `{query: {qid, text}, candidates: [{docid, score, doc: {title, segment, …}}]}`. It can
be read as a run, as passages and as questions. A dict of dicts is a run if a number in it has a point or an
exponent, as scores have; whole numbers may be scores or grades, which only what they are given for can tell.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import msgspec

from rageval.errors import InputError, Place
from rageval.files.jsonl import (
    Id,
    RecordForm,
    Unfit,
    has,
    identifier,
    once,
    plain_json,
    read_forms,
    refuse_long,
    repeated_in,
    repeated_key,
)
from rageval.files.objects import finite, ids
from rageval.files.opening import BOM, Limits, Source, _refuse_bom, chunks, limits_of, name_of, start_of
from rageval.files.trec import RunRows
from rageval.records import BESIDE, PassageParts, Qrel, Question

_DICT = re.compile(rb'\s*\{\s*"(?:[^"\\]|\\.)*"\s*:\s*\{\s*(?:"(?:[^"\\]|\\.)*"\s*:\s*[-\d]|\})')
_POINT = re.compile(rb":\s*-?\d+(?:\.\d|[eE])")
_TEXTS = ("contents", "text", "segment", "passage", "body")
_Row = tuple[int, str, str, float]  # line, query, document, number


class _Query(msgspec.Struct):
    """A query with its text."""

    qid: Id
    text: str = ""


class _Candidate(msgspec.Struct):
    """A retrieved document; nuggetizer's have no score, but stand in their order."""

    docid: Id
    score: float | None = None
    doc: str | dict[str, Any] | None = None

    def passage(self) -> PassageParts:
        """Return the text of a candidate, with its title; nothing if it has none."""
        doc = self.doc
        if isinstance(doc, str) or doc is None:
            return PassageParts(doc or "")
        text = next((str(doc[name]) for name in _TEXTS if doc.get(name)), "")
        extras = (str(doc.get(name) or "") for name in BESIDE)
        return PassageParts(text, *extras) if text else PassageParts("")


class _Candidates(msgspec.Struct):
    """What was retrieved for a query."""

    query: _Query
    candidates: list[_Candidate]


def _check_candidates(line: _Candidates, limits: Limits) -> _Candidates:
    line.query.qid = identifier(line.query.qid, "query.qid", limits)
    for index, candidate in enumerate(line.candidates):
        candidate.docid = identifier(candidate.docid, f"candidates[{index}].docid", limits)
    scored = [candidate.score is not None for candidate in line.candidates]
    if any(scored) and not all(scored):
        raise Unfit(expected="a score for every candidate or for none", found="some without")
    return line


_CANDIDATES: RecordForm[_Candidates] = RecordForm(
    "candidates",
    "{query: {qid, text}, candidates: [{docid, score, doc}]}",
    has("query", "candidates"),
    _Candidates,
    _check_candidates,
)


QUESTIONS: RecordForm[Question] = RecordForm(
    _CANDIDATES.name,
    _CANDIDATES.shape,
    _CANDIDATES.fits,
    _Candidates,
    lambda line, limits: Question(str(_check_candidates(line, limits).query.qid), line.query.text),
)


def has_point(start: bytes) -> bool:
    """Return whether a number has a point or an exponent, as scores have and grades mostly do not."""
    return _POINT.search(start) is not None


def is_numbers(start: bytes) -> bool:
    """Return whether this is, or begins like, a dict of dicts of numbers."""
    for text in (start.lstrip().partition(b"\n")[0], start):
        plain = plain_json(text)
        # One that is NaN is refused where it is read.
        number: Any = float if plain is text else float | None
        try:
            return any(msgspec.json.decode(plain, type=dict[str, dict[str, number]]).values())
        except msgspec.ValidationError:
            return False
        except (ValueError, RecursionError):  # only a part of it, or broken, which is told when it is read
            continue
    return _DICT.match(start) is not None


def is_candidates(start: bytes) -> bool:
    """Return whether this is, or begins like, what was retrieved for a query."""
    if b'"candidates"' not in start:
        return False
    line = start.removeprefix(BOM).lstrip().partition(b"\n")[0]
    try:
        record = msgspec.json.decode(plain_json(line), type=dict[str, msgspec.Raw])
    except (ValueError, RecursionError):  # cut off, or broken, which is told when it is read
        return line.replace(b" ", b"").startswith((b'{"query":{', b'{"candidates":['))
    return _CANDIDATES.fits(record)


def read_candidates(source: Source) -> Iterator[tuple[int, _Candidates]]:
    """Read (line, candidates) of every query, each once."""
    records = read_forms(source, (_CANDIDATES,), "candidates")
    return once(records, source, lambda line: f"line for query {line.query.qid}")


def _scored_rows(source: Source) -> Iterator[_Row]:
    """Yield what was retrieved, with scores; candidates without scores count down from their number."""
    if b'"candidates"' not in start_of(source):
        yield from numbers(source)
        return
    for line, retrieved in read_candidates(source):
        for index, candidate in enumerate(retrieved.candidates):
            score = float(len(retrieved.candidates) - index) if candidate.score is None else candidate.score
            yield line, str(retrieved.query.qid), str(candidate.docid), score


def numbers(source: Source) -> Iterator[_Row]:
    """Yield the rows of `{query: {doc: number}}`, one object in all or one a line."""
    name = name_of(source)
    limits = limits_of(source)
    # It may be one object from end to end, and so is held as one record.
    text = b"".join(chunks(source, limits.record)).removeprefix(BOM)
    refuse_long(text, Place(name, 1), limits.record)
    _refuse_bom(text, name, 1)
    seen: dict[str, int] = {}
    for line, record in _objects(text, name):
        for query, docs in record.items():
            if seen.setdefault(query, line) != line:
                raise InputError(
                    at=Place(name, line),
                    problem=f"query {query!r:.80} is in line {seen[query]}, too",
                    expected="it once",
                )
            for doc, number in docs.items():
                yield (
                    line,
                    _checked_id(query, name, line, limits),
                    _checked_id(doc, name, line, limits),
                    number,
                )


def judged_numbers(source: Source) -> Iterator[dict[str, Any]]:
    """Yield numbers by query and document as judgements, of which a point says nothing."""
    for _, query, doc, number in numbers(source):
        yield {"query_id": query, "doc_id": doc, "relevance": number}


def _objects(text: bytes, name: str) -> Iterator[tuple[int, Mapping[str, Mapping[str, float]]]]:
    decode = msgspec.json.Decoder(dict[str, dict[str, float]], strict=True).decode
    try:
        # The first line is an object by itself where there is one a line.
        msgspec.json.decode(text.lstrip().partition(b"\n")[0])
        lines = text.split(b"\n")
    except (ValueError, RecursionError):
        lines = [text]
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            record = decode(line)
        except (ValueError, RecursionError) as error:
            raise InputError(
                at=Place(name, number), expected="{query: {document: number}}", cause=str(error)
            ) from None
        key = repeated_in(line)
        if key is not None:
            raise repeated_key(key).located(Place(name, number))
        yield number, record


def _checked_id(word: str, name: str, line: int, limits: Limits) -> str:
    try:
        return identifier(word, "the dict", limits)
    except Unfit as error:
        raise error.parts.located(Place(name, line)) from None


def run_rows(source: Source) -> RunRows:
    """Read the rows of a run."""
    rows = list(_scored_rows(source))
    name = name_of(source)
    if not rows:
        raise InputError(at=Place(name), problem="is empty", expected="documents and scores")
    lines, query, doc, score = zip(*rows, strict=True)
    return RunRows(
        name, lines, ids(query, name, "query"), ids(doc, name, "docid"), finite(score, name, "score")
    )


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
            problem=f"no {lacking} to identify what is judged",
            remedy="put `qid` and `docid` next to the texts, or give them as query: {qid, text} and"
            " passage: {docid, text}",
        )
    return Qrel(identifier(query, "qid", limits), identifier(doc, "docid", limits), line.judgment)


_FORM = RecordForm(
    "UMBRELA judgements",
    f"{{qid, docid, query, passage, judgment: 0 to {_HIGHEST}}}",
    has("judgment"),
    _JudgedPair,
    _from_line,
)


def read_umbrela(source: Source) -> Iterator[Qrel]:
    """Read judgements. One that failed has no grade, and is an error rather than a grade of 0."""
    for _, qrel in read_forms(source, (_FORM,), "judgements of UMBRELA"):
        yield qrel
