"""Steps of agents, from the spans of a trace or from messages: their order, and which ran in parallel."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from fnmatch import fnmatchcase
from typing import Any

from rageval.logs.rows import (
    SPENT,
    LogReading,
    Passage,
    TracedSpan,
    last_text_of,
    parse_json_text,
    question_in,
    spent_as,
    text_of,
)

_AGENTS = frozenset({"AGENT", "INVOKE_AGENT"})
_GROUPS = _AGENTS | {"CHAIN", "CREATE_AGENT", "INVOKE_WORKFLOW", "SPAN", "TASK", "WORKFLOW"}
# BrowseComp-Plus's forks write the first, τ³-bench the second.
_DOCID = re.compile(r"<docid:\s*([^>\s]+)\s*>|^ {3}ID: (\S+)$", re.MULTILINE)
_ID_NAMES = ("docid", "doc_id", "id")
_TEXT_NAMES = ("text", "content", "page_content", "snippet")
_DEEPEST = 20  # levels of a result
_TIME = re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(\.\d+)?")
_UNITS = {10: 1, 13: 10**3, 16: 10**6, 19: 10**9}  # digits of a time since 1970 -> units in a second


def steps_among(spans: Sequence[TracedSpan], reading: LogReading) -> list[TracedSpan]:
    """Return the spans that are steps, in the order of their start, and count those that are left out.

    Agents within agents are flattened. A tool that searches is its searches. What a search or a call of a
    model consists of is a part of it.
    """
    left_out = reading.left_out
    for span in spans:
        if span.step == "tool":
            _tell_search(span, reading)
    by_id = {span.id: span for span in spans if span.id}
    is_outer: set[str] = set()  # ids of spans that contain steps
    wrappers: set[str] = set()  # ids of tools that search
    steps = []
    for span in spans:
        outer_spans = list(_ancestors(span, by_id))
        if not span.step:
            continue
        is_outer.update(outer.id for outer in outer_spans)
        outer = next((outer for outer in outer_spans if outer.step or outer.kind in _AGENTS), None)
        if outer is not None and outer.step == span.step != "tool":
            left_out[f"nested {span.step} spans"] += 1
            # Two instrumentations may see one call: then only the inner span may know the tokens.
            outer.docs = outer.docs or span.docs
            for name in span.spent.keys() - outer.spent.keys() - {"seconds"}:
                outer.spent[name] = span.spent[name]
            continue
        if span.step == "search" and outer is not None and outer.step == "tool":
            wrappers.add(outer.id)
            span.tool = outer.tool or span.tool
            span.query = span.query or outer.query
            span.arguments = span.arguments if span.query else outer.arguments
            span.is_failed = span.is_failed or outer.is_failed
        steps.append(span)
    for span in spans:
        if not span.step and span.id not in is_outer and span.kind not in _GROUPS:
            left_out[f"{span.kind or 'unnamed'} spans"] += 1
    steps = sorted((step for step in steps if step.id not in wrappers), key=lambda step: step.start)
    number, first_end = 0, ""
    for span in steps:
        if span.id in is_outer:  # its time is that of the steps within
            span.end = ""
            span.spent.pop("seconds", None)
        is_parallel = span.start < first_end
        number += not is_parallel
        first_end = min(span.end, first_end) if is_parallel else span.end
        span.number = number
    return steps


def _tell_search(span: TracedSpan, reading: LogReading, searches: Sequence[str] = ()) -> None:
    """Make the call of a tool a search, if the tool is named as one that searches."""
    reading.tools.add(span.tool)
    if any(fnmatchcase(span.tool, pattern) for pattern in (*reading.search_tools, *searches)):
        span.kind, span.docs = "RETRIEVER", list(documents_in(span.result))
        span.query = question_in(parse_json_text(span.arguments))
        span.arguments = None if span.query else span.arguments


# What LangChain calls the roles of OpenAI.
_ROLES = {"human": "user", "ai": "assistant"}


def messages_in(value: Any) -> list[dict[str, Any]]:
    """Return the messages of a list, each with a role; those that hold several results are taken apart.

    >>> [message["role"] for message in messages_in([{"type": "human"}, {"role": "tool"}, "no message"])]
    ['user', 'tool']
    """
    messages: list[dict[str, Any]] = []
    for message in value if isinstance(value, list) else ():
        if isinstance(message, dict):
            role = text_of(message.get("role", message.get("type")))
            inner = message.get("tool_messages")
            several = inner if isinstance(inner, list) else [message]
            messages += [one | {"role": _ROLES.get(role, role)} for one in several if isinstance(one, dict)]
    return messages


def question_of(messages: Sequence[dict[str, Any]]) -> str:
    """Return what the user said first."""
    return next(filter(None, (last_text_of([message], "user") for message in messages)), "")


def answer_of(messages: Sequence[dict[str, Any]]) -> str | None:
    """Return what the assistant said last; None where its last message calls tools, or is missing.

    >>> answer_of([{"role": "assistant", "content": "Ada."}, {"role": "user", "content": "Thanks!"}])
    'Ada.'
    >>> answer_of([{"role": "assistant", "content": "I look it up.", "tool_calls": [{"name": "find"}]}])
    """
    last = [message for message in messages if message["role"] == "assistant"][-1:]
    return None if any(message.get("tool_calls") for message in last) else last_text_of(last, "assistant")


def steps_of_messages(
    messages: Sequence[dict[str, Any]], reading: LogReading, searches: Sequence[str] = ()
) -> list[TracedSpan]:
    """Return the steps in the messages of an agent: each message of the assistant, and its calls of tools.

    The calls of one message ran in parallel. `searches` are patterns of tools that search in any log of the
    format. A result belongs to the first call of its id that has none, as ids are not unique in all logs; a
    result without an id, to the first call without a result.
    """
    steps: list[TracedSpan] = []
    waiting: list[TracedSpan] = []
    number = 0
    for message in messages:
        if message["role"] == "assistant":
            number += 1
            steps.append(TracedSpan("", "", "LLM", spent=_spent_of_message(message), number=number))
            listed = message.get("tool_calls")
            calls = [call for call in listed if isinstance(call, dict)] if isinstance(listed, list) else []
            number += bool(calls)
            waiting += (spans := [_call_span(call, number) for call in calls])
            steps += spans
        elif message["role"] == "tool":
            given = message.get("tool_call_id", message.get("id"))
            for name in given if isinstance(given, list) else [given]:
                call_id = text_of(name)
                place = next((i for i, span in enumerate(waiting) if call_id in ("", span.id)), None)
                if place is None:
                    reading.left_out["unmatched results"] += 1
                    continue
                span = waiting.pop(place)
                span.result = message.get("content")
                span.is_failed = bool(message.get("error")) or message.get("status") == "error"
    for span in steps:
        if span.step == "tool":
            _tell_search(span, reading, searches)
    return steps


def _call_span(call: dict[str, Any], number: int) -> TracedSpan:
    """Return a call of a tool, whose name and arguments some formats keep in `function`."""
    function = call.get("function")
    inner = function if isinstance(function, dict) else call
    return TracedSpan(
        text_of(call.get("id")),
        "",
        "TOOL",
        tool=text_of(inner.get("name", function)),
        arguments=inner.get("arguments", inner.get("args")),
        number=number,
    )


def _spent_of_message(message: dict[str, Any]) -> dict[str, float]:
    used = message.get("usage") or message.get("usage_metadata")
    used = used if isinstance(used, dict) else {}
    return spent_as(
        cost=message.get("cost"),
        input_tokens=used.get("input_tokens", used.get("prompt_tokens")),
        output_tokens=used.get("output_tokens", used.get("completion_tokens")),
        seconds=message.get("generation_time_seconds"),
    )


def spent_on_models(steps: Sequence[TracedSpan]) -> dict[str, float]:
    """Return the sums of what all model steps state."""
    spent = [step.spent for step in steps if step.step == "model"]
    names = set.intersection(*map(set, spent)) if spent else set()
    return {name: sum(step[name] for step in spent) for name in SPENT if name in names}


def _ancestors(span: TracedSpan, by_id: dict[str, TracedSpan]) -> Iterator[TracedSpan]:
    """Yield the spans around a span, the nearest first; parents in a circle end it."""
    seen = {span.id}
    while span.parent in by_id and span.parent not in seen:
        seen.add(span.parent)
        span = by_id[span.parent]
        yield span


def documents_in(result: Any, depth: int = 0) -> Iterator[Passage]:
    """Yield the documents in the result of a tool: objects with an id, or `<docid: ID>` in a text.

    >>> [document.id for document in documents_in('{"id": "call", "hits": [{"docid": "d1"}, {"id": 2}]}')]
    ['d1', '2']
    >>> [document.id for document in documents_in("<docid: d1> A text. <docid: d2>")]
    ['d1', 'd2']
    """
    value = parse_json_text(result)
    if isinstance(value, str):
        yield from (Passage("", match[1] or match[2]) for match in _DOCID.finditer(value))
        return
    if depth > _DEEPEST or not isinstance(value, list | dict):
        return
    if isinstance(value, dict):
        doc = next(filter(None, (text_of(value.get(name)) for name in _ID_NAMES)), "")
        # An object with a list of objects is an envelope, whatever its own id is.
        if doc and not any(isinstance(inner, list) and inner for inner in value.values()):
            text = next((value[name] for name in _TEXT_NAMES if isinstance(value.get(name), str)), "")
            yield Passage(text, doc)
            return
    for inner in value.values() if isinstance(value, dict) else value:
        yield from documents_in(inner, depth + 1)


def sortable_time(time: Any) -> str:
    """Return a time in UTC, of ISO 8601 or in units since 1970, as text that sorts as times do."""
    text = "" if time is None else str(time)
    if text.isdigit():
        return text.zfill(23)
    digits = re.sub(r"\D", "", text.rstrip("Z").partition("+")[0])
    return digits.ljust(23, "0") if digits else ""


def seconds_between(start: Any, end: Any) -> float | None:
    """Return how long something took, by two times of one form; None if they do not say it.

    >>> seconds_between("2026-11-21T22:24:59.5Z", "2026-11-21T22:25:01Z"), seconds_between(1795299899566, "")
    (1.5, None)
    """
    one, other = _seconds(str(start)), _seconds(str(end))
    if one is None or other is None or other < one:
        return None
    # Nanoseconds since 1970 are no floats, so seconds and parts of them are subtracted separately.
    return round(other[0] - one[0] + (other[1] - one[1]), 6)


def _seconds(time: str) -> tuple[int, float] | None:
    if time.isascii() and time.isdigit():
        unit = next((units for digits, units in _UNITS.items() if len(time) <= digits), 0)
        return (int(time) // unit, int(time) % unit / unit) if unit and int(time) else None
    match = _TIME.match(time)
    if match is None:
        return None
    try:
        whole = datetime.fromisoformat(f"{match[1]}T{match[2]}+00:00")
    except ValueError:
        return None
    return int(whole.timestamp()), float(match[3] or 0)
