"""OpenTelemetry spans after the GenAI conventions (or OpenInference's): OTLP/JSON, or lines of the SDK."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from typing import Any

import msgspec

from rageval.logs._content import Content, Record
from rageval.logs._traces import one_hop
from rageval.logs.paths import parsed_json
from rageval.logs.rows import (
    Grade,
    LogReader,
    LogReading,
    Passage,
    Row,
    answer_in,
    graded,
    ids_in,
    last_said,
    number_of,
    passages_of,
    question_in,
    read_as,
    text_of,
    unfolded,
)

_DOCUMENT = re.compile(r"retrieval\.documents\.(\d{1,6})\.document\.(content|id|score)")


class _OtelSpan(msgspec.Struct):
    """A span as both forms have it, its attributes a plain dict."""

    trace: str
    start: str
    name: str
    parent: str
    attributes: dict[str, Any]
    events: list[dict[str, Any]]
    service: str
    where: str


class _SdkContext(msgspec.Struct):
    trace_id: str


class _SdkSpan(msgspec.Struct):
    context: _SdkContext
    attributes: dict[str, Any] = {}
    name: str = ""
    start_time: str = ""
    parent_id: str | None = None
    events: list[Any] = []
    resource: dict[str, Any] = {}


class _OtlpSpan(msgspec.Struct, rename="camel"):
    trace_id: str
    attributes: list[Any] = []
    name: str = ""
    start_time_unix_nano: str | int = 0
    parent_span_id: str = ""
    events: list[Any] = []


def _fits(content: Content) -> bool:
    first = content.first
    if first.get("resourceSpans") is not None:
        return True
    return first.at("context", "trace_id") is not None and first.get("attributes") is not None


def _rows(content: Content, reading: LogReading) -> Iterator[Row]:
    traces: dict[str, list[_OtelSpan]] = {}
    for record in content.records():
        is_otlp = record.get("resourceSpans") is not None
        for span in _of_otlp(record) if is_otlp else [_of_sdk(record)]:
            traces.setdefault(span.trace, []).append(span)
    for trace, spans in traces.items():
        # Spans are exported as they end; what comes first in the trace has to be told by the clock.
        spans.sort(key=lambda span: span.start)
        row = _row(trace, spans, reading)
        if row is None:
            reading.left_out["traces that are about no question"] += 1
        else:
            yield row


def _of_sdk(record: Record) -> _OtelSpan:
    span = read_as(_SdkSpan, record.value(), record.where)
    about = span.resource.get("attributes")
    service = about.get("service.name") if isinstance(about, dict) else ""
    return _OtelSpan(
        span.context.trace_id.lower().removeprefix("0x"),
        _nanoseconds(span.start_time, record.where),
        span.name,
        span.parent_id or "",
        span.attributes,
        [each for each in span.events if isinstance(each, dict)],
        text_of(service),
        record.where,
    )


def _nanoseconds(time: str, where: str) -> str:
    """Return a time of ISO 8601 in UTC as text that sorts as nanoseconds do."""
    digits = re.sub(r"\D", "", time.rstrip("Z").partition("+")[0])
    return digits.ljust(23, "0")


def _of_otlp(record: Record) -> Iterator[_OtelSpan]:
    for resource in _in(record, "resourceSpans"):
        about = resource.at("resource", "attributes")
        service = text_of(_attributes(about.value() if about else [], resource.where).get("service.name"))
        for scope in _in(resource, "scopeSpans"):
            for each in _in(scope, "spans"):
                span = read_as(_OtlpSpan, each.value(), each.where)
                events = [event for event in span.events if isinstance(event, dict)]
                yield _OtelSpan(
                    _hex(span.trace_id),
                    str(span.start_time_unix_nano).zfill(23),
                    span.name,
                    span.parent_span_id,
                    _attributes(span.attributes, each.where),
                    [
                        event | {"attributes": _attributes(event.get("attributes"), each.where)}
                        for event in events
                    ],
                    service,
                    each.where,
                )


def _in(record: Record, name: str) -> Iterator[Record]:
    found = record.get(name)
    yield from found.each() if found else ()


def _hex(trace: str) -> str:
    """Return a trace's id in hexadecimal, as OTLP/JSON has it; some exporters write base64."""
    if re.fullmatch(r"[0-9a-fA-F]{32}", trace):
        return trace.lower()
    try:
        return base64.b64decode(trace, validate=True).hex()
    except ValueError:
        return trace


def _attributes(pairs: Any, where: str) -> dict[str, Any]:
    if not isinstance(pairs, list):
        return {}
    return {
        str(pair["key"]): _value(pair.get("value"), where)
        for pair in pairs
        if isinstance(pair, dict) and "key" in pair
    }


def _value(value: Any, where: str, depth: int = 0) -> Any:
    """Return a value of OTLP, which says of what type it is."""
    if not isinstance(value, dict) or len(value) != 1 or depth > _DEEPEST:
        return None
    kind, inner = next(iter(value.items()))
    if kind == "arrayValue" and isinstance(inner, dict):
        return [_value(each, where, depth + 1) for each in inner.get("values") or ()]
    if kind == "kvlistValue" and isinstance(inner, dict):
        return _attributes(inner.get("values"), where)
    return int(inner) if kind == "intValue" and str(inner).lstrip("-").isdigit() else inner


_DEEPEST = 20


class _Told(msgspec.Struct):
    """What the spans of a trace say together."""

    question: str = ""
    answer: str | None = None
    failed: str = ""
    hops: list[list[Passage]] = []
    grades: list[Grade] = []


def _row(trace: str, spans: list[_OtelSpan], reading: LogReading) -> Row | None:
    root = next((span for span in spans if not span.parent), spans[0])
    told = _Told()
    for span in spans:
        _take(span, span is root, told)
    if not told.question and told.answer is None:
        return None
    own = {name: value for name, value in root.attributes.items() if not name.startswith("gen_ai.")}
    return Row(
        root.where,
        told.question,
        told.answer,
        run=root.service,
        trace=trace,
        contexts=one_hop(told.hops, reading, root.where),
        grades=told.grades,
        ids=ids_in(own),
        failed=told.failed,
        record={
            "trace_id": trace,
            "name": root.name,
            "attributes": root.attributes,
            "service": root.service,
            "spans": [{"name": span.name, "attributes": span.attributes} for span in spans],
        },
    )


def _take(span: _OtelSpan, is_root: bool, told: _Told) -> None:
    said = span.attributes
    is_chat = "gen_ai.output.messages" in said
    query = said.get("gen_ai.retrieval.query.text")
    messages = _messages(span, "gen_ai.input.messages", "input.value")
    told.question = told.question or (query if isinstance(query, str) else _asked(messages))
    output = _messages(span, "gen_ai.output.messages", "output.value")
    # The last chat has the final answer; what a root of OpenInference returns counts where there is none.
    if is_chat or (is_root and told.answer is None):
        told.answer = answer_in(output) if output is not None else told.answer
    hop = _documents(span)
    if hop is not None:
        told.hops.append(hop)
    told.grades += [_grade(event) for event in span.events if event.get("name") == "gen_ai.evaluation.result"]
    if is_root or is_chat or span.name.startswith("chat"):  # a tool that failed need not spoil the answer
        told.failed = told.failed or text_of(said.get("error.type"))


def _asked(messages: Any) -> str:
    """Return the first text of the user: later ones may be of the tools' making."""
    if not isinstance(messages, list):
        return question_in(messages)
    users = (each for each in messages if isinstance(each, dict) and each.get("role") == "user")
    first = next(users, None)
    return (last_said([first], "user") if first else None) or ""


def _messages(span: _OtelSpan, name: str, other: str) -> Any:
    """Return messages of the GenAI conventions, or what OpenInference has, which may be any text."""
    said = span.attributes
    return _read(said[name], span.where) if name in said else unfolded(said.get(other))


def _read(value: Any, where: str) -> Any:
    """Return a list that may be written in a text; one that was cut is no text to be taken as it is."""
    return parsed_json(value, where) if isinstance(value, str) and value.lstrip()[:1] in ("[", "{") else value


def _documents(span: _OtelSpan) -> list[Passage] | None:
    """Return what a span retrieved; None where it is no retrieval."""
    said = span.attributes
    if "gen_ai.retrieval.documents" in said:
        return passages_of(_read(said["gen_ai.retrieval.documents"], span.where), span.where)
    parts: dict[int, dict[str, Any]] = {}
    for name, value in said.items():
        if found := _DOCUMENT.fullmatch(name):
            parts.setdefault(int(found[1]), {})[found[2]] = value
    if parts:
        return passages_of([parts[number] for number in sorted(parts)], span.where)
    is_retrieval = "retrieval" in (said.get("gen_ai.operation.name"), said.get("openinference.span.kind"))
    return [] if is_retrieval else None


def _grade(event: dict[str, Any]) -> Grade:
    about = event.get("attributes")
    said = about if isinstance(about, dict) else {}
    name = text_of(said.get("gen_ai.evaluation.name")) or "score"
    label = said.get("gen_ai.evaluation.score.label")
    reason = text_of(said.get("gen_ai.evaluation.explanation"))
    value = number_of(said.get("gen_ai.evaluation.score.value"))
    if said.get("error.type"):
        return Grade(name, reason=text_of(said["error.type"]))
    return graded(
        name, value if value is not None else label, "otel", reason, label if isinstance(label, str) else None
    )


OTEL = LogReader("otel", _fits, _rows)
