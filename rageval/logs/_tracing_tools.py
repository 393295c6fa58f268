"""Logs of tools that trace: OpenTelemetry, MLflow, langfuse, LangSmith.

A part a tool: the spans that it writes, and the reader that yields a row a trace.
"""

from __future__ import annotations

import base64
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import msgspec

from rageval.core.remark import Remark
from rageval.errors import InputError, Place
from rageval.logs._content import Content, Record
from rageval.logs.paths import literal, parsed_json
from rageval.logs.rows import (
    PERSON,
    QUESTIONS,
    Grade,
    LogReading,
    Passage,
    Row,
    TracedSpan,
    answer_in,
    conversation_of,
    convert_to,
    facts_in,
    grade_of_cell,
    graded,
    holding,
    ids_in,
    is_id,
    last_text_of,
    list_of,
    log_reader,
    number_of,
    parse_json_text,
    passages_of,
    question_in,
    spent_as,
    text_of,
)
from rageval.logs.steps import seconds_between, sortable_time, steps_among


def _one_hop(hops: Sequence[Sequence[Passage]], reading: LogReading, where: Place) -> list[Passage]:
    """Return what was retrieved in a trace; of several retrievals the one that was asked for."""
    if not hops or reading.hop == "none":
        return []
    if len(hops) < 2:
        return list(hops[0])
    if not reading.hop:
        raise InputError(
            at=where,
            problem=f"{len(hops)} retrievals in one trace",
            expected="one",
            remedy="choose the ranking when you import the log: --hop first, --hop last, or --hop union (all,"
            " one behind the other); of an agent, import the steps: --hop none, or --only steps",
        )
    if reading.hop == "union":
        # Scores of several retrievals are of no common scale.
        return [Passage(passage.text, passage.id) for hop in hops for passage in hop]
    return list(hops[0 if reading.hop == "first" else -1])


# OpenTelemetry spans after the GenAI conventions, OpenInference's or langfuse's: OTLP/JSON, as the SDK prints
# them, or a frame of Phoenix.

_FLAT = re.compile(
    r"(?P<list>retrieval\.documents|llm\.(?:input|output)_messages)\.(?P<number>\d{1,6})\.(?P<name>.+)"
)
_ATTRIBUTE = "attributes."  # what Phoenix's columns of attributes begin with
_LISTS = ("retrieval.documents", "llm.input_messages", "llm.output_messages")
_UNNAMED = "unknown_service"  # what the SDK calls a service that nobody named
_FAILED_CODES = ("ERROR", "STATUS_CODE_ERROR", 2)


class _OtelSpan(msgspec.Struct):
    """A span as all forms have it, its attributes a plain dict; `failed` is why it ended in an error."""

    trace: str
    start: str
    name: str
    parent: str
    attributes: dict[str, Any]
    events: list[dict[str, Any]]
    service: str
    where: Place
    failed: str = ""
    id: str = ""
    end: str = ""
    seconds: float | None = None

    @property
    def kind(self) -> str:
        """What the span does, in OpenInference's words (which are langfuse's, too), such as RETRIEVER."""
        return text_of(self.attributes.get("openinference.span.kind")).upper()


class _SdkContext(msgspec.Struct):
    trace_id: str
    span_id: str = ""


class _SdkSpan(msgspec.Struct):
    context: _SdkContext
    attributes: dict[str, Any] = {}
    name: str = ""
    start_time: str = ""
    end_time: str | None = None
    parent_id: str | None = None
    events: list[Any] = []
    status: dict[str, Any] = {}
    resource: dict[str, Any] = {}


class _OtlpSpan(msgspec.Struct, rename="camel"):
    trace_id: str
    span_id: str = ""
    attributes: list[Any] = []
    name: str = ""
    start_time_unix_nano: str | int = 0
    end_time_unix_nano: str | int = 0
    parent_span_id: str = ""
    events: list[Any] = []
    status: dict[str, Any] = {}


_is_printed = holding("resourceSpans", "context.trace_id attributes")


def _is_frame(record: Record) -> bool:
    fields = record.keys()
    return "context.trace_id" in fields and any(name.startswith(_ATTRIBUTE) for name in fields)


@log_reader("otel", lambda content: _is_printed(content) or _is_frame(content.first))
def otel(content: Content, reading: LogReading) -> Iterator[Row]:
    """Yield the traces that are about a question, from spans of any form."""
    traces: dict[str, list[_OtelSpan]] = {}
    for record in content.records():
        for span in _spans_of(record):
            traces.setdefault(span.trace, []).append(span)
    turns = 0
    # Spans are exported as they end; what comes first has to be told by the clock.
    for spans in traces.values():
        spans.sort(key=lambda span: span.start)
    summaries = {
        trace: _summarize(spans) for trace, spans in sorted(traces.items(), key=lambda item: item[1][0].start)
    }
    places = _places_in_conversations(summaries)
    for trace, (root, summary) in summaries.items():
        spans = traces[trace]
        answer = summary.answer if summary.answer is not None else summary.replied
        if not summary.question and answer is None:
            reading.left_out["traces without a question"] += 1
            continue
        conversation, turn = places.get(trace, ("", ""))
        turns += summary.turn > 1 and not turn
        own = {name: value for name, value in root.attributes.items() if not name.startswith("gen_ai.")}
        about = parse_json_text(own.get("metadata"))
        yield Row(
            root.where,
            summary.question,
            answer,
            conversation=conversation,
            turn=turn,
            run=root.service,
            trace=trace,
            contexts=_one_hop(summary.hops, reading, root.where),
            grades=summary.grades,
            facts=facts_in(about) | ({"turn": summary.turn} if summary.turn > 1 and not turn else {}),
            ids=ids_in(about) | ids_in(own),
            failed=summary.failed or ("" if answer is not None else summary.call_failed),
            spent=summary.spent,
            steps=steps_among([_step_span(span) for span in spans], reading),
            record={
                "trace_id": trace,
                "name": root.name,
                "attributes": root.attributes,
                "service": root.service,
                "spans": [{"name": span.name, "attributes": span.attributes} for span in spans],
            },
        )
    if turns:
        reading.remarks.append(Remark("later_turns", facts={"number": turns}))


def _summarize(spans: Sequence[_OtelSpan]) -> tuple[_OtelSpan, _TraceSummary]:
    """Return the root of a trace, and what its spans say together."""
    root = next((span for span in spans if not span.parent), spans[0])
    summary = _TraceSummary()
    for span in spans:
        _read_span(span, span is root, summary)
        names = (span.attributes.get(name) for name in _SESSIONS)
        summary.session = summary.session or next(filter(None, map(text_of, names)), "")
    return root, summary


_SESSIONS = ("gen_ai.conversation.id", "session.id")


def _places_in_conversations(
    summaries: Mapping[str, tuple[_OtelSpan, _TraceSummary]],
) -> dict[str, tuple[str, str]]:
    """Return the conversation of each trace that is a turn of several, and the number of the turn.

    Each system has sessions of its own. A conversation is called by what was asked in it, so that those of
    two systems that were asked the same meet.
    """
    sessions: dict[tuple[str, str], list[str]] = {}
    for trace, (root, summary) in summaries.items():
        if summary.session and summary.question:
            sessions.setdefault((root.service, summary.session), []).append(trace)
    return {
        trace: (conversation_of([summaries[other][1].question for other in traces]), str(number))
        for traces in sessions.values()
        if len(traces) > 1
        for number, trace in enumerate(traces, 1)
    }


def _spans_of(record: Record) -> Iterator[_OtelSpan]:
    """Yield the spans of a record: one that the SDK prints or that is a row, or those of an OTLP export."""
    if _is_frame(record):
        yield _frame_span(record)
        return
    if record.get("resourceSpans") is None:
        printed = convert_to(_SdkSpan, record.value(), record.where)
        about = printed.resource.get("attributes")
        yield _normalize_span(
            _OtelSpan(
                printed.context.trace_id.lower().removeprefix("0x"),  # which OTLP does not write
                sortable_time(printed.start_time),
                printed.name,
                printed.parent_id or "",
                printed.attributes,
                [event for event in printed.events if isinstance(event, dict)],
                text_of(about.get("service.name") if isinstance(about, dict) else ""),
                record.where,
                _error_of_status(printed.status.get("status_code"), printed.status.get("description")),
                printed.context.span_id,
                sortable_time(printed.end_time),
                seconds_between(printed.start_time, printed.end_time),
            )
        )
        return
    for resource in _children(record, "resourceSpans"):
        described = resource.at("resource", "attributes")
        named = _attributes(described.value() if described else [], resource.where)
        service = text_of(named.get("service.name"))
        for scope in _children(resource, "scopeSpans"):
            for span_record in _children(scope, "spans"):
                span = convert_to(_OtlpSpan, span_record.value(), span_record.where)
                trace = span.trace_id.lower()
                # An id is hexadecimal in OTLP/JSON; some exporters write base64.
                if not re.fullmatch("[0-9a-f]{32}", trace):
                    trace = span.trace_id
                    with suppress(ValueError):
                        trace = base64.b64decode(trace, validate=True).hex()
                yield _normalize_span(
                    _OtelSpan(
                        trace,
                        sortable_time(span.start_time_unix_nano),
                        span.name,
                        span.parent_span_id,
                        _attributes(span.attributes, span_record.where),
                        [
                            event | {"attributes": _attributes(event.get("attributes"), span_record.where)}
                            for event in span.events
                            if isinstance(event, dict)
                        ],
                        service,
                        span_record.where,
                        _error_of_status(span.status.get("code"), span.status.get("message")),
                        span.span_id,
                        sortable_time(span.end_time_unix_nano or None),
                        seconds_between(span.start_time_unix_nano, span.end_time_unix_nano),
                    )
                )


def _frame_span(record: Record) -> _OtelSpan:
    """Return a row of Phoenix's frame of spans, in a CSV of which lists stand as Python writes them."""
    row = record.object()
    cells = {
        name: cell
        for name, cell in row.items()
        if cell is not None and cell == cell and (cell != "" or name == f"{_ATTRIBUTE}output.value")
    }
    if isinstance(cells.get("context.trace_id"), dict):
        raise InputError(
            at=record.where,
            problem="is a DataFrame written by columns",
            expected="one record per span",
            remedy="write it with to_json(path, orient='records', lines=True)",
        )
    attributes = {name.removeprefix(_ATTRIBUTE): cells[name] for name in cells if name.startswith(_ATTRIBUTE)}
    for name in (*_LISTS, "metadata"):
        if isinstance(attributes.get(name), str):
            attributes[name] = literal(attributes[name], record.where.below(_ATTRIBUTE + name))
    # A cell of a CSV is empty both where nothing was returned and where a text of no characters was: of the
    # latter alone the kind is known.
    is_csv = all(isinstance(cell, str) for cell in row.values())
    if is_csv and attributes.get("output.value") == "" and "output.mime_type" not in attributes:
        del attributes["output.value"]
    if isinstance(attributes.get("metadata"), dict):  # all that any span has is in each, as null
        attributes["metadata"] = {
            name: value for name, value in attributes["metadata"].items() if value is not None
        }
    return _normalize_span(
        _OtelSpan(
            text_of(cells.get("context.trace_id")),
            sortable_time(cells.get("start_time", "")),
            text_of(cells.get("name")),
            text_of(cells.get("parent_id")),
            attributes,
            [],
            "",
            record.where,
            _error_of_status(cells.get("status_code"), cells.get("status_message")),
            text_of(cells.get("context.span_id")),
            sortable_time(cells.get("end_time")),
            seconds_between(cells.get("start_time"), cells.get("end_time")),
        )
    )


def _error_of_status(code: Any, message: Any) -> str:
    """Return why a span ended in an error; nothing where it did not."""
    return (text_of(message) or "the span ended in an error") if code in _FAILED_CODES else ""


def _normalize_span(span: _OtelSpan) -> _OtelSpan:
    """Return the span with what langfuse says in OpenInference's words, and with lists as lists."""
    attributes = span.attributes
    if any(name.startswith("langfuse.") for name in attributes):
        _translate_langfuse(span)
    parts: dict[str, dict[int, dict[str, Any]]] = {}
    for name, value in attributes.items():
        if match := _FLAT.fullmatch(name):
            parts.setdefault(match["list"], {}).setdefault(int(match["number"]), {})[match["name"]] = value
    attributes |= {name: [items[number] for number in sorted(items)] for name, items in parts.items()}
    span.service = "" if span.service.startswith(_UNNAMED) else span.service
    return span


_LANGFUSE = "langfuse.observation."
_METADATA = re.compile(r"langfuse\.(?:observation|trace)\.metadata\.(.+)")


def _translate_langfuse(span: _OtelSpan) -> None:
    attributes = span.attributes
    kind = text_of(attributes.get(f"{_LANGFUSE}type"))
    # Of a trace the last word is what the trace was given, or its first span.
    for name in ("input", "output"):
        texts = (attributes.get(f"langfuse.trace.{name}"), attributes.get(_LANGFUSE + name))
        value = next((text for text in texts if text is not None), None)
        if value is not None:
            attributes.setdefault(f"{name}.value", value)
    attributes["openinference.span.kind"] = {"generation": "LLM"}.get(kind, kind.upper())
    if kind == "retriever" and isinstance(
        documents := parse_json_text(attributes.get(f"{_LANGFUSE}output")), list
    ):
        attributes["retrieval.documents"] = documents
    attributes["metadata"] = {
        match[1]: _decoded_scalar(value)
        for name, value in attributes.items()
        if (match := _METADATA.fullmatch(name))
    }
    if attributes.get(f"{_LANGFUSE}level") == "ERROR":
        span.failed = text_of(attributes.get(f"{_LANGFUSE}status_message")) or span.failed or "level ERROR"
    usage, cost = (
        parse_json_text(attributes.get(f"{_LANGFUSE}{name}_details")) for name in ("usage", "cost")
    )
    if isinstance(usage, dict):
        attributes["llm.token_count.prompt"] = usage.get("input")
        attributes["llm.token_count.completion"] = usage.get("output")
    if isinstance(cost, dict):
        attributes["llm.cost.total"] = cost.get("total")
    if not span.parent:
        name = text_of(attributes.get("langfuse.trace.name")) or span.name
        span.service = "-".join(filter(None, (name, text_of(attributes.get("langfuse.release")))))


def _decoded_scalar(value: Any) -> Any:
    """Return what a text holds as JSON, if it is a text, a number or the like; else the text itself."""
    with suppress(ValueError, RecursionError):
        decoded = msgspec.json.decode(value) if isinstance(value, str) else value
        return decoded if isinstance(decoded, str | int | float) else value
    return value


def _children(record: Record, name: str) -> Iterator[Record]:
    records = record.get(name)
    yield from records.each() if records else ()


_DEEPEST = 20  # levels of a value of OTLP


def _attributes(pairs: Any, where: Place) -> dict[str, Any]:
    if not isinstance(pairs, list):
        return {}
    return {
        str(pair["key"]): _otlp_value(pair.get("value"), where)
        for pair in pairs
        if isinstance(pair, dict) and "key" in pair
    }


def _otlp_value(value: Any, where: Place, depth: int = 0) -> Any:
    """Return a value of OTLP, which says of what type it is."""
    if not isinstance(value, dict) or len(value) != 1 or depth > _DEEPEST:
        return None
    kind, inner = next(iter(value.items()))
    if kind == "arrayValue" and isinstance(inner, dict):
        return [_otlp_value(item, where, depth + 1) for item in inner.get("values") or ()]
    if kind == "kvlistValue" and isinstance(inner, dict):
        return _attributes(inner.get("values"), where)
    # JSON's numbers are too short for 64 bits, so whole ones stand in texts.
    return int(inner) if kind == "intValue" and str(inner).lstrip("-").isdigit() else inner


class _TraceSummary(msgspec.Struct):
    """What the spans of a trace say together: `replied` is what a model said, where the root says nothing."""

    question: str = ""
    turn: int = 1  # of a conversation
    session: str = ""
    answer: str | None = None
    replied: str | None = None
    failed: str = ""
    call_failed: str = ""
    hops: list[list[Passage]] = []
    grades: list[Grade] = []
    spent: dict[str, float] = {}


def _read_span(span: _OtelSpan, is_root: bool, summary: _TraceSummary) -> None:
    attributes = span.attributes
    is_chat = "gen_ai.output.messages" in attributes
    is_call = is_chat or span.kind == "LLM" or _is_chat(span)
    query = attributes.get("gen_ai.retrieval.query.text")
    messages = _messages(span, "gen_ai.input.messages", "input.value")
    if not summary.question:
        if isinstance(query, str):
            summary.question = query
        else:
            within = messages.get("messages") if isinstance(messages, dict) else messages
            listed = (
                within
                if isinstance(within, list)
                else _openinference_messages(attributes, "llm.input_messages")
            )
            summary.question = "" if within is listed else question_in(messages)
            if not summary.question:
                summary.question, summary.turn = _last_question(listed)
    output = _messages(span, "gen_ai.output.messages", "output.value")
    # The last chat has the final answer; what a root of OpenInference returns counts where there is none.
    if is_chat or (is_root and summary.answer is None):
        summary.answer = answer_in(output) if output is not None else summary.answer
    if span.kind == "LLM":
        reply = last_text_of(_openinference_messages(attributes, "llm.output_messages"), "assistant")
        reply = answer_in(output) if reply is None and output is not None else reply
        summary.replied = reply if reply is not None else summary.replied
    hop = _otel_documents(span)
    if hop is not None:
        summary.hops.append(hop)
    for event in span.events:
        if event.get("name") != "gen_ai.evaluation.result":
            continue
        about = event.get("attributes")
        result = about if isinstance(about, dict) else {}
        name = text_of(result.get("gen_ai.evaluation.name")) or "score"
        if result.get("error.type"):
            summary.grades.append(Grade(name, reason=text_of(result["error.type"])))
            continue
        label = result.get("gen_ai.evaluation.score.label")
        value = number_of(result.get("gen_ai.evaluation.score.value"))
        reason = text_of(result.get("gen_ai.evaluation.explanation"))
        worth = label if value is None else value
        word = label if isinstance(label, str) else None
        summary.grades.append(graded(name, worth, "otel", reason, word))
    if is_root or is_chat or _is_chat(span):  # a tool that failed need not spoil the answer
        summary.failed = summary.failed or text_of(attributes.get("error.type"))
    if is_root:
        summary.failed = summary.failed or span.failed
    elif is_call:  # which may have been asked again
        summary.call_failed = span.failed
    if is_call:
        for name, value in _spent_of_call(attributes).items():
            summary.spent[name] = summary.spent.get(name, 0) + value


def _spent_of_call(attributes: Mapping[str, Any]) -> dict[str, float]:
    """Return what a call of a model cost."""
    return spent_as(
        cost=attributes.get("llm.cost.total", attributes.get("gen_ai.usage.cost")),
        input_tokens=attributes.get("gen_ai.usage.input_tokens", attributes.get("llm.token_count.prompt")),
        output_tokens=attributes.get(
            "gen_ai.usage.output_tokens", attributes.get("llm.token_count.completion")
        ),
    )


def _step_span(span: _OtelSpan) -> TracedSpan:
    """Return a span as the steps of agents are made of it."""
    attributes = span.attributes
    operation = text_of(attributes.get("gen_ai.operation.name")).upper()
    kind = span.kind if span.kind not in ("", "UNKNOWN") else operation
    docs = _otel_documents(span)
    if not kind and (docs is not None or "gen_ai.output.messages" in attributes or _is_chat(span)):
        kind = "CHAT" if docs is None else "RETRIEVAL"
    given = parse_json_text(attributes.get("input.value"))
    step = TracedSpan(
        span.id,
        span.parent,
        kind,
        span.start,
        span.end,
        is_failed=bool(span.failed or attributes.get("error.type")),
        spent=spent_as(seconds=span.seconds),
    )
    match step.step:
        case "model":
            step.spent |= _spent_of_call(attributes)
        case "search":
            query = attributes.get("gen_ai.retrieval.query.text")
            step.query = query if isinstance(query, str) else question_in(given)
            step.tool = text_of(attributes.get("gen_ai.data_source.id"))
            step.tool = step.tool or (span.name if span.kind else "")
            step.docs = docs or ()
        case "tool":
            names = (attributes.get(name) for name in ("gen_ai.tool.name", "tool.name"))
            step.tool = next(filter(None, map(text_of, names)), span.name.removeprefix("execute_tool "))
            step.arguments = attributes.get("gen_ai.tool.call.arguments", given)
            step.result = attributes.get("gen_ai.tool.call.result", attributes.get("output.value"))
    return step


def _is_chat(span: _OtelSpan) -> bool:
    return span.name.startswith("chat")


def _last_question(messages: Sequence[Any]) -> tuple[str, int]:
    """Return what a user asked, and in which turn of a conversation: behind the last answer it stands first.

    Later texts of the user may be of the tools' making, and texts beside calls of tools are no answers.
    """
    begin, turn = 0, 1
    for number, message in enumerate(messages[:-1]):
        parts = message.get("parts", message.get("content")) if isinstance(message, dict) else None
        calls = isinstance(parts, list) and any(
            isinstance(part, dict) and part.get("type") == "tool_call" for part in parts
        )
        if last_text_of([message], "assistant") and not calls and not message.get("tool_calls"):
            begin, turn = number + 1, turn + 1
    for message in messages[begin:]:
        if isinstance(message, dict) and message.get("role") == "user":
            return last_text_of([message], "user") or "", turn
    return "", 1


def _openinference_messages(attributes: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    """Return messages of OpenInference as such."""
    messages = attributes.get(name)
    return [
        {key.removeprefix("message."): value for key, value in message.items()}
        for message in (messages if isinstance(messages, list) else [])
        if isinstance(message, dict)
    ]


def _messages(span: _OtelSpan, name: str, other: str) -> Any:
    """Return messages of the GenAI conventions, or what OpenInference has, which may be any text."""
    attributes = span.attributes
    return (
        _parse_list(attributes[name], span.where)
        if name in attributes
        else parse_json_text(attributes.get(other))
    )


def _parse_list(value: Any, where: Place) -> Any:
    """Return a list that may be written in a text; one that was cut is no text to be taken as it is."""
    return parsed_json(value, where) if isinstance(value, str) and value.lstrip()[:1] in ("[", "{") else value


def _otel_documents(span: _OtelSpan) -> list[Passage] | None:
    """Return what a span retrieved; None where it is no retrieval."""
    attributes = span.attributes
    if "gen_ai.retrieval.documents" in attributes:
        return passages_of(_parse_list(attributes["gen_ai.retrieval.documents"], span.where), span.where)
    documents = attributes.get("retrieval.documents")
    if isinstance(documents, list):
        # OpenInference's documents have it in the name of each of their fields that they are such.
        plain = [
            {key.removeprefix("document."): value for key, value in document.items()}
            if isinstance(document, dict)
            else document
            for document in documents
        ]
        return passages_of(plain, span.where)
    is_retrieval = (
        "retrieval" in (attributes.get("gen_ai.operation.name"), span.kind.lower())
        or span.kind == "RETRIEVER"
    )
    return [] if is_retrieval else None


# Traces of MLflow (`search_traces`), and the `result_df` of `mlflow.genai.evaluate`, as JSON lines, CSV or
# Parquet; tables of `mlflow.models.evaluate`, which know no traces.

_GOLD = ("expected_response", "expected_answer", "ground_truth")
_FAILED = ("ERROR", "STATE_UNSPECIFIED")


class _Source(msgspec.Struct):
    source_type: str = ""
    source_id: str = ""


class _Assessment(msgspec.Struct):
    assessment_name: str
    source: _Source = msgspec.field(default_factory=_Source)
    feedback: dict[str, Any] | None = None
    expectation: dict[str, Any] | None = None
    rationale: str | None = None
    valid: bool | None = None


class _MlflowTrace(msgspec.Struct):
    """What both forms say of a trace."""

    trace_id: str
    state: str = ""
    request: Any = None
    response: Any = None
    spans: list[dict[str, Any]] = []
    assessments: list[_Assessment] = []
    run: str = ""
    spent: dict[str, float] = {}


_OUTPUTS = ("outputs", "predictions", "prediction")
_TARGETS = (*_GOLD, "targets", "target", "expectations")
_SCORE, _WHY = "/score", "/justification"


def _is_mlflow_table(content: Content) -> bool:
    fields = content.first.keys()
    return any(name.endswith(_SCORE) for name in fields) and not {*_OUTPUTS}.isdisjoint(fields)


def _is_mlflow(content: Content) -> bool:
    first = content.first
    if _is_mlflow_table(content):
        return True
    if first.at("info", "trace_id") is not None and first.at("data", "spans") is not None:
        return True
    fields = first.keys()
    named = any(name.endswith("/value") for name in fields)
    return first.get("trace_id") is not None and (named or first.get("assessments") is not None)


@log_reader("mlflow", _is_mlflow)
def mlflow(content: Content, reading: LogReading) -> Iterator[Row]:
    """Yield the traces, or the rows of a frame, by their ids.

    Rows come in no order that means anything; the ids of traces are the same in all forms.
    """
    if _is_mlflow_table(content):
        yield from _mlflow_table(content, reading)
        return
    rows = []
    for record in content.records():
        value, where = record.value(), record.where
        trace = convert_to(_MlflowTrace, _flat(value, where), where)
        root = next((span for span in trace.spans if span.get("parent_span_id") is None), {})
        request = (
            trace.request
            if trace.request is not None
            else _mlflow_attribute(root, "mlflow.spanInputs", where)
        )
        response = (
            trace.response
            if trace.response is not None
            else _mlflow_attribute(root, "mlflow.spanOutputs", where)
        )
        # One that is not valid was replaced by another.
        assessments = [assessment for assessment in trace.assessments if assessment.valid is not False]
        expected = {
            assessment.assessment_name: (assessment.expectation or {}).get("value")
            for assessment in assessments
            if assessment.expectation
        }
        gold = next((list_of(expected[name]) for name in _GOLD if name in expected), [])
        hops = [
            passages_of(_mlflow_attribute(span, "mlflow.spanOutputs", where), where)
            for span in trace.spans
            if text_of(_mlflow_attribute(span, "mlflow.spanType", where)) == "RETRIEVER"
        ]
        answer = answer_in(response)
        grades = []
        for assessment in assessments:
            if assessment.feedback is None:
                continue
            judge, source = "", assessment.source
            if source.source_type == "HUMAN":  # people's own judge is the person
                judge = f"{PERSON}{source.source_id or 'mlflow'}"
            elif source.source_type == "LLM_JUDGE":
                judge = f"mlflow:{source.source_id}"
            error = assessment.feedback.get("error")
            if error:
                detail = error.get("error_message") if isinstance(error, dict) else error
                failed = str(detail or "error")[:200]
                grades.append(Grade(assessment.assessment_name, judge=judge, reason=failed))
            else:
                value_of = assessment.feedback.get("value")
                grades.append(graded(assessment.assessment_name, value_of, judge, assessment.rationale or ""))
        rows.append(
            Row(
                where,
                question_in(request),
                answer,
                gold,
                run=trace.run,
                trace=trace.trace_id,
                contexts=_one_hop(hops, reading, where),
                grades=grades,
                ids=ids_in(expected),
                lacks_failed=True,  # every scorer is asked about every trace
                failed="the trace ended in an error" if trace.state in _FAILED else "",
                spent=trace.spent,
                steps=steps_among([_mlflow_step(span, where) for span in trace.spans], reading),
                record=value,
            )
        )
    yield from sorted(rows, key=lambda row: row.trace)


def _mlflow_table(content: Content, reading: LogReading) -> Iterator[Row]:
    """Yield the rows of a table of `mlflow.models.evaluate`, in which people name most columns."""
    for record in content.records():
        where, cells = record.where, record.object()
        names = [name.removesuffix(_SCORE) for name in cells if name.endswith(_SCORE)]
        answered = next(name for name in _OUTPUTS if name in cells)
        target = next((name for name in _TARGETS if name in cells), "")
        asked = {name: cells[name] for name in ("inputs", *QUESTIONS) if isinstance(cells.get(name), str)}
        answer = cells[answered]
        used = {answered, target, *asked, *(name + end for name in names for end in (_SCORE, _WHY))}
        used |= {name for name, cell in cells.items() if not cell or is_id(name)}
        reading.unread.update(cells.keys() - used)
        yield Row(
            where,
            next(iter(asked.values()), ""),
            answer if isinstance(answer, str) else answer_in(answer),
            list_of(cells.get(target)),
            grades=[
                grade_of_cell(name, cells[name + _SCORE], text_of(cells.get(name + _WHY))) for name in names
            ],
            ids=ids_in(cells),
            record=cells,
        )


def _flat(value: Any, where: Place) -> Any:
    """Return a trace, or a row of a frame, as fields of one object."""
    # In a CSV lists are texts as Python writes them; the whole trace stands in a column of its own as JSON.
    if isinstance(value, dict) and isinstance(value.get("spans"), str):
        value = parsed_json(text_of(value.get("trace")), where.below("trace"))
    if not isinstance(value, dict) or not isinstance(info := value.get("info", value), dict):
        return value
    # A trace has `info` and `data`; in a frame, the same fields are columns.
    about = info.get("trace_metadata")
    run = about.get("mlflow.sourceRun") if isinstance(about, dict) else ""
    data = value.get("data", value)
    assessments = info.get("assessments") or []
    # What stands in columns `NAME/value`, where a frame has no assessments.
    for column, cell in () if assessments else value.items():
        name, slash, what = column.rpartition("/")
        if slash and what == "value":
            error = value.get(f"{name}/error_message")
            outcome = {"value": cell} | ({"error": {"error_message": error}} if error else {})
            is_gold = name in _GOLD or is_id(name)
            assessments.append({"assessment_name": name, ("expectation" if is_gold else "feedback"): outcome})
    details = about if isinstance(about, dict) else {}
    used, paid = (parse_json_text(details.get(f"mlflow.trace.{name}")) for name in ("tokenUsage", "cost"))
    used, paid = (part if isinstance(part, dict) else {} for part in (used, paid))
    took = number_of(info.get("execution_duration_ms", info.get("execution_duration")))
    flat = {
        "trace_id": info.get("trace_id"),
        "state": info.get("state") or "",
        "request": value.get("request"),
        "response": value.get("response"),
        "spans": data.get("spans") or [] if isinstance(data, dict) else [],
        "assessments": assessments,
        "run": run or "",
        "spent": spent_as(
            cost=paid.get("total_cost"),
            input_tokens=used.get("input_tokens"),
            output_tokens=used.get("output_tokens"),
            seconds=None if took is None else took / 1000,
        ),
    }
    return flat | {name: parse_json_text(flat[name]) for name in ("request", "response")}


def _mlflow_attribute(span: dict[str, Any], name: str, where: Place) -> Any:
    """Return an attribute, which MLflow keeps as JSON in a text."""
    attributes = span.get("attributes")
    value = attributes.get(name) if isinstance(attributes, dict) else None
    return parsed_json(value, where) if isinstance(value, str) else value


def _mlflow_step(span: dict[str, Any], where: Place) -> TracedSpan:
    """Return a span as the steps of agents are made of it."""
    start, end = (span.get(f"{name}_time_unix_nano", span.get(f"{name}_time")) for name in ("start", "end"))
    given = _mlflow_attribute(span, "mlflow.spanInputs", where)
    status = span.get("status")
    step = TracedSpan(
        text_of(span.get("span_id")),
        text_of(span.get("parent_span_id", span.get("parent_id"))),
        text_of(_mlflow_attribute(span, "mlflow.spanType", where)),
        sortable_time(start),
        sortable_time(end),
        is_failed=isinstance(status, dict) and status.get("code") in _FAILED_CODES,
        spent=spent_as(seconds=seconds_between(start, end)),
    )
    match step.step:
        case "model":
            used, paid = (
                _mlflow_attribute(span, f"mlflow.{name}", where) for name in ("chat.tokenUsage", "llm.cost")
            )
            used, paid = (part if isinstance(part, dict) else {} for part in (used, paid))
            step.spent |= spent_as(
                cost=paid.get("total_cost"),
                input_tokens=used.get("input_tokens"),
                output_tokens=used.get("output_tokens"),
            )
        case "search":
            step.tool, step.query = text_of(span.get("name")), question_in(given)
            step.docs = passages_of(_mlflow_attribute(span, "mlflow.spanOutputs", where), where)
        case "tool":
            step.tool, step.arguments = text_of(span.get("name")), given
            step.result = _mlflow_attribute(span, "mlflow.spanOutputs", where)
    return step


# Exports of langfuse: traces with their observations and scores, or a page of observations.


class _Observation(msgspec.Struct, rename="camel"):
    id: str = ""
    trace_id: str = ""
    type: str = ""
    name: str | None = None
    level: str | None = None
    parent_observation_id: str | None = None
    start_time: str = ""
    end_time: str | None = None
    input: Any = None
    output: Any = None
    status_message: str | None = None
    usage_details: dict[str, Any] | None = None
    cost_details: dict[str, Any] | None = None


class _LangfuseScore(msgspec.Struct, rename="camel"):
    name: str
    value: float | str | bool | None = None
    string_value: str | None = None
    data_type: str = ""
    source: str = ""
    comment: str | None = None
    author_user_id: str | None = None


class _LangfuseTrace(msgspec.Struct):
    id: str
    total_cost: Any = msgspec.field(default=None, name="totalCost")
    latency: Any = None
    name: str | None = None
    release: str | None = None
    input: Any = None
    output: Any = None
    metadata: Any = None
    observations: list[_Observation] = []
    scores: list[_LangfuseScore] = []


@log_reader("langfuse", holding("meta.cursor data", "observations scores"))
def langfuse(content: Content, reading: LogReading) -> Iterator[Row]:
    """Yield the traces, which are records, or parted over pages of observations."""
    if content.first.get("observations") is None:
        # The traces are parted over pages of observations; a page that is not the last is not all.
        traces: dict[str, list[dict[str, Any]]] = {}
        where: dict[str, Place] = {}
        last: Record | None = None
        for page in content.records():
            last = page.at("meta", "cursor")
            data = page.get("data")
            for record in data.each() if data else ():
                value = record.value()
                trace = convert_to(_Observation, value, record.where).trace_id
                traces.setdefault(trace, []).append(value)
                where.setdefault(trace, record.where)
        if last is not None and last.value() is not None:
            raise InputError(
                at=last.where, problem="more pages follow", remedy="fetch them, too, one per line"
            )
        for trace, observations in traces.items():
            whole = {"id": trace, "observations": observations}
            yield _langfuse_row(convert_to(_LangfuseTrace, whole, where[trace]), whole, where[trace], reading)
        return
    for record in content.records():
        value = record.value()
        yield _langfuse_row(convert_to(_LangfuseTrace, value, record.where), value, record.where, reading)


def _langfuse_row(trace: _LangfuseTrace, record: Any, where: Place, reading: LogReading) -> Row:
    # An export has them in no order that means anything.
    observed = sorted(trace.observations, key=lambda observation: observation.start_time)
    generations = [observation for observation in observed if observation.type == "GENERATION"]
    hops = [
        passages_of(observation.output, where) for observation in observed if observation.type == "RETRIEVER"
    ]
    failed = [observation for observation in observed if observation.level == "ERROR"]
    question = question_in(trace.input) or next(
        (question_in(observation.input) for observation in generations), ""
    )
    # The trace has the last word; a generation is asked where it says nothing, as in pages.
    answer = answer_in(trace.output)
    if answer is None and generations:
        answer = answer_in(generations[-1].output)
    why = (failed[-1].status_message or "an observation of level ERROR") if failed else ""
    grades = []
    for score in trace.scores:
        # Each source is a judge of its own, and people are people.
        person = f"{PERSON}{score.author_user_id or 'langfuse'}"
        judge = person if score.source == "ANNOTATION" else f"langfuse:{score.source or 'EVAL'}"
        value: Any = score.value
        if score.data_type == "BOOLEAN" and value in (0, 1):  # which langfuse writes as numbers
            value = bool(value)
        elif score.data_type == "CATEGORICAL":
            value = score.string_value if score.string_value is not None else value
        grades.append(graded(score.name, value, judge, score.comment or ""))
    spent: Counter[str] = Counter()
    for generation in generations:
        spent.update(_spent_of_generation(generation))
    return Row(
        where,
        question,
        answer,
        run="-".join(filter(None, (trace.name, trace.release))),
        trace=trace.id,
        contexts=_one_hop(hops, reading, where),
        grades=grades,
        facts=facts_in(trace.metadata),
        ids=ids_in(trace.metadata),
        failed=why
        if answer is None or any(observation.type == "GENERATION" for observation in failed)
        else "",
        spent=dict(spent) | spent_as(cost=trace.total_cost, seconds=trace.latency),
        steps=steps_among([_langfuse_step(observation, where) for observation in observed], reading),
        record=record,
    )


def _spent_of_generation(generation: _Observation) -> dict[str, float]:
    used = generation.usage_details or {}
    return spent_as(
        cost=(generation.cost_details or {}).get("total"),
        input_tokens=used.get("input"),
        output_tokens=used.get("output"),
    )


def _langfuse_step(observation: _Observation, where: Place) -> TracedSpan:
    """Return an observation as the steps of agents are made of it."""
    step = TracedSpan(
        observation.id,
        observation.parent_observation_id or "",
        observation.type,
        sortable_time(observation.start_time),
        sortable_time(observation.end_time),
        is_failed=observation.level == "ERROR",
        spent=spent_as(seconds=seconds_between(observation.start_time, observation.end_time)),
    )
    match step.step:
        case "model":
            step.spent |= _spent_of_generation(observation)
        case "search":
            step.tool, step.query = observation.name or "", question_in(observation.input)
            step.docs = passages_of(observation.output, where)
        case "tool":
            step.tool, step.arguments = observation.name or "", observation.input
            step.result = observation.output
    return step


# Runs of LangSmith: the runs of a trace, one a line.


class _Run(msgspec.Struct):
    id: str
    trace_id: str
    run_type: str
    name: str = ""
    dotted_order: str = ""
    parent_run_id: str | None = None
    start_time: str | None = None
    end_time: str | None = None
    inputs: Any = None
    outputs: Any = None
    error: str | None = None
    reference_example_id: str | None = None
    feedback_stats: dict[str, Any] | None = None
    total_cost: Any = None
    prompt_tokens: Any = None
    completion_tokens: Any = None
    extra: dict[str, Any] | None = None


class _Kept(msgspec.Struct):
    run: _Run
    record: Any
    where: Place


@log_reader("langsmith", holding("run_type trace_id dotted_order"))
def langsmith(content: Content, reading: LogReading) -> Iterator[Row]:
    """Yield the traces, each of which is told by its root, the run that has no parent."""
    traces: dict[str, list[_Kept]] = {}
    for record in content.records():
        value = record.value()
        run = convert_to(_Run, value, record.where)
        traces.setdefault(run.trace_id, []).append(_Kept(run, value, record.where))
    means: dict[str, None] = {}
    for trace, kept in traces.items():
        # Runs are exported as they end; by their dotted order they stand as they began.
        kept.sort(key=lambda entry: entry.run.dotted_order)
        root = next((entry for entry in kept if entry.run.parent_run_id is None), None)
        if root is None:
            raise InputError(
                at=kept[0].where,
                problem=f"the root of the trace {trace!r:.80} is not here",
                expected="whole traces",
            )
        hops = [
            _langsmith_documents(entry)
            for entry in kept
            if entry.run.run_type == "retriever" and not entry.run.error
        ]
        run, about = root.run, root.run.extra or {}
        metadata = about.get("metadata")
        ids = ids_in(metadata) | ({"example": run.reference_example_id} if run.reference_example_id else {})
        yield Row(
            root.where,
            question_in(run.inputs),
            answer_in(run.outputs),
            run=run.name,
            trace=trace,
            contexts=_one_hop(hops, reading, root.where),
            facts=facts_in(metadata),
            ids=ids,
            failed=(run.error or "")[:200],
            spent=_spent_of_run(run),
            steps=steps_among([_langsmith_step(entry) for entry in kept], reading),
            record=root.record,
        )
        means.update(dict.fromkeys(name for entry in kept for name in entry.run.feedback_stats or {}))
    if means:
        reading.remarks.append(Remark("means_of_feedback", facts={"names": list(means)}))


def _langsmith_documents(langsmith_run: _Kept) -> list[Passage]:
    outputs = langsmith_run.run.outputs
    return passages_of(
        outputs.get("documents") if isinstance(outputs, dict) else outputs, langsmith_run.where
    )


def _spent_of_run(run: _Run) -> dict[str, float]:
    return spent_as(cost=run.total_cost, input_tokens=run.prompt_tokens, output_tokens=run.completion_tokens)


def _langsmith_step(langsmith_run: _Kept) -> TracedSpan:
    """Return a run as the steps of agents are made of it."""
    run = langsmith_run.run
    step = TracedSpan(
        run.id,
        run.parent_run_id or "",
        run.run_type.upper(),
        # More exact than `start_time`, which may be cut to seconds.
        sortable_time(run.dotted_order.rpartition(".")[2].partition("Z")[0]),
        sortable_time(run.end_time),
        is_failed=bool(run.error),
        spent=spent_as(seconds=seconds_between(run.start_time, run.end_time)),
    )
    match step.step:
        case "model":
            step.spent |= _spent_of_run(run)
        case "search":
            step.tool, step.query = run.name, question_in(run.inputs)
            step.docs = [] if run.error else _langsmith_documents(langsmith_run)
        case "tool":
            step.tool, step.arguments, step.result = run.name, run.inputs, run.outputs
    return step
