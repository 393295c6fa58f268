"""Gold as spans of sources, and the chunks that sources are cut into: JSON lines.

>>> span = Span("q1", "n1", "speech", 0, 4, "Good", "5f…")
>>> print(*write_spans([span], {"speech": "0a…"}), sep="\\n")
{"sources":{"speech":"0a…"},"spans":1}
{"doc_id":"speech","end":4,"grade":1,"nugget_id":"n1","query_id":"q1","quote":"Good","sha256":"5f…","start":0}
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, NamedTuple

import msgspec

from rageval.errors import InputError, Place
from rageval.files.jsonl import (
    Id,
    Unfit,
    _NamedBytes,
    as_line,
    explained,
    first_record,
    identifier,
    once,
    plain_json,
    read_records,
    refuse_long,
    repeated_in,
)
from rageval.files.opening import (
    LARGEST_GRADE,
    Complaints,
    Limits,
    Source,
    chunks,
    limits_of,
    name_of,
    with_limits,
)
from rageval.records import Chunk, Span
from rageval.text import visible

VERSION = 1
_EXPECTED = "a span {query_id, nugget_id, doc_id, start, end, quote, sha256}"
_EXPECTED_CHUNK = "a chunk {id, doc_id, start, end} or {id, doc_id, text}"
_EXPECTED_TESTS = "LegalBench-RAG's tests {tests: [{query, snippets: [{file_path, span, answer}]}]}"
_LEGALBENCH = "tests"
_Offset = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
_Place = tuple[_Offset, _Offset]


class SpanFile(NamedTuple):
    """What a file of spans holds; `sources` are the sha256 of the texts that the offsets were counted in."""

    name: str
    spans: list[Span]
    sources: dict[str, str]


class _SpanLine(msgspec.Struct):
    """A line: the header, a span, or a nugget that nothing holds."""

    query_id: Id | None = None
    nugget_id: Id | None = None
    doc_id: Id | None = None
    start: _Offset | None = None
    end: _Offset | None = None
    quote: str = ""
    sha256: str = ""
    also: list[_Place] = []
    grade: Annotated[int, msgspec.Meta(ge=-LARGEST_GRADE, le=LARGEST_GRADE)] = 1
    wide: bool = False
    spans: int | None = None
    sources: dict[str, str] | None = None


class _Snippet(msgspec.Struct):
    """A stretch of a file that answers a question."""

    file_path: str
    span: _Place
    answer: str = ""


class _Test(msgspec.Struct):
    """A question with its stretches."""

    query: str
    snippets: list[_Snippet]
    query_id: Id | None = None


class _Tests(msgspec.Struct):
    """A benchmark of LegalBench-RAG."""

    tests: list[_Test]


class SourceLine(msgspec.Struct):
    """A line of a file of documents, in which spans stand."""

    text: str
    id: Id | None = None
    doc_id: Id | None = None


class _ChunkLine(msgspec.Struct):
    """A line of a file of chunks."""

    id: Id
    doc_id: Id
    start: _Offset | None = None
    end: _Offset | None = None
    text: str | None = None


def is_spans(start: bytes) -> bool:
    """Return whether a file that begins like this holds spans; one long line is looked at as text."""
    record = first_record(start)
    if record is None:
        return start.lstrip().startswith(b"{") and b'"snippets"' in start and b'"file_path"' in start
    if "spans" in record and "sources" in record:
        return True
    return ("nugget_id" in record and "query_id" in record and "aspect" not in record) or (
        isinstance(record.get(_LEGALBENCH), list) and b'"snippets"' in start
    )


def read_spans(source: Source) -> SpanFile:
    """Read a file of spans, or one of LegalBench-RAG, whose questions are called by their places from 0.

    A span that stands twice is an error, and so is one whose offsets hold nothing.
    """
    name = name_of(source)
    limits = limits_of(source)
    text = b"".join(chunks(source, limits.record))
    refuse_long(text, Place(name, 1), limits.record)
    # LegalBench-RAG's is one object, and may go over many lines.
    record = first_record(text)
    if (record is not None and _LEGALBENCH in record) or (record is None and b'"snippets"' in text):
        return SpanFile(name, list(_spans_of_tests(name, text, limits)), {})
    spans: list[tuple[int, Span]] = []
    sources: dict[str, str] = {}
    findings = Complaints()
    for number, line in read_records(with_limits(_NamedBytes(text, name), limits), _SpanLine, _EXPECTED):
        try:
            if line.spans is not None or line.sources is not None:
                if line.spans != VERSION or line.sources is None:
                    raise Unfit(expected=f"a header {{spans: {VERSION}, sources: {{doc_id: sha256}}}}")
                sources |= line.sources
            else:
                spans.append((number, _span(line, limits)))
        except Unfit as error:
            findings.add(error.parts.located(Place(name, number)))
    findings.raise_if_any()
    return SpanFile(name, [span for _, span in once(spans, name, _span_place)], sources)


def _span(line: _SpanLine, limits: Limits) -> Span:
    """Return the span of a line, or the nugget that has none."""
    if line.query_id is None or line.nugget_id is None:
        raise Unfit(expected=_EXPECTED, found="none of query_id or nugget_id")
    query, nugget = (
        identifier(line.query_id, "query_id", limits),
        identifier(line.nugget_id, "nugget_id", limits),
    )
    # Nothing holds such a nugget, which still is one of its query.
    if line.doc_id is None and line.start is None and line.end is None:
        return Span(query, nugget, grade=0)
    if line.doc_id is None or line.start is None or line.end is None:
        raise Unfit(expected="all of doc_id, start and end, or none of them (a nugget without a span)")
    if not line.quote and not line.sha256:
        raise Unfit(
            expected="the quote at these offsets, or its sha256: without one, stale spans cannot be detected"
        )
    places = [(line.start, line.end), *line.also]
    for start, end in places:
        if end <= start:
            raise Unfit(expected="a span of at least one code point", found=f"{start} to {end}")
    doc = identifier(line.doc_id, "doc_id", limits)
    also = tuple(dict.fromkeys(place for place in places[1:] if place != places[0]))
    evidence = line.quote, line.sha256.lower(), also, line.grade, line.wide
    return Span(query, nugget, doc, line.start, line.end, *evidence)


def _span_place(span: Span) -> str:
    where = f" in {span.doc_id} from {span.start} to {span.end}" if span.doc_id else ""
    return f"span of nugget {span.nugget_id} of query {span.query_id}{where}"


def _spans_of_tests(name: str, text: bytes, limits: Limits) -> Iterator[Span]:
    """Yield the spans of a benchmark: each snippet is a nugget, called by its place from 0."""
    try:
        if (key := repeated_in(text)) is not None:
            raise InputError(
                at=Place(name),
                problem=f"the key {visible(key)!r} appears twice in one object",
                expected="it once",
            )
        benchmark = msgspec.json.decode(plain_json(text), type=_Tests)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise explained(error, text[:200], _EXPECTED_TESTS).located(Place(name, 1)) from None
    for number, test in enumerate(benchmark.tests):
        try:
            query = str(number) if test.query_id is None else identifier(test.query_id, "query_id", limits)
            if not test.snippets:
                yield Span(query, "0", grade=0)
            for index, snippet in enumerate(test.snippets):
                doc = identifier(snippet.file_path, "file_path", limits)
                start, end = snippet.span
                if end <= start or not snippet.answer:
                    raise Unfit(
                        expected="a span of at least one code point, with its answer",
                        found=f"{start} to {end}",
                    )
                yield Span(query, str(index), doc, start, end, snippet.answer)
        except Unfit as error:
            raise error.parts.located(Place(name, inside=f"test {number}")) from None


def write_spans(spans: Iterable[Span], sources: Mapping[str, str]) -> Iterator[str]:
    """Write a header with the sha256 of every source, then a line a span, keys sorted."""
    yield as_line({"spans": VERSION, "sources": dict(sorted(sources.items()))})
    for span in spans:
        record: dict[str, Any] = {"query_id": span.query_id, "nugget_id": span.nugget_id}
        if span.doc_id:
            record |= {"doc_id": span.doc_id, "start": span.start, "end": span.end, "grade": span.grade}
            record |= {"quote": span.quote, "sha256": span.sha256}
            record |= {"also": [list(place) for place in span.also]} if span.also else {}
            record |= {"wide": True} if span.wide else {}
        yield as_line(record)


def read_chunks(source: Source) -> Iterator[Chunk]:
    """Read the chunks of a file; each has offsets into its source, or its text, or both."""
    findings = Complaints()
    first_lines: dict[str, int] = {}
    name = name_of(source)
    for number, line in read_records(source, _ChunkLine, _EXPECTED_CHUNK):
        try:
            limits = limits_of(source)
            ids = identifier(line.id, "id", limits), identifier(line.doc_id, "doc_id", limits)
            if (line.start is None) != (line.end is None):
                raise Unfit(expected="both start and end, or neither")
            if line.start is None and not (line.text or "").strip():
                raise Unfit(expected="start and end, or a text")
            if line.start is not None and line.end is not None and line.end <= line.start:
                raise Unfit(
                    expected="a chunk of at least one code point", found=f"{line.start} to {line.end}"
                )
            chunk = Chunk(*ids, line.start, line.end, line.text)
        except Unfit as error:
            findings.add(error.parts.located(Place(name, number)))
            continue
        first = first_lines.setdefault(chunk.chunk_id, number)
        if first != number:
            problem = f"a second chunk {visible(chunk.chunk_id)!r}, the first is in line {first}"
            findings.add(InputError(problem, at=Place(name, number), expected="a different id for each"))
        elif not findings.count:
            yield chunk
    findings.raise_if_any()
