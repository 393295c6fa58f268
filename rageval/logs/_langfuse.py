"""Exports of langfuse: traces with their observations and scores, or a page of observations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from rageval.errors import InputError
from rageval.logs._content import Content, Record
from rageval.logs._traces import one_hop
from rageval.logs.parting import PERSON
from rageval.logs.rows import (
    Grade,
    LogReader,
    LogReading,
    Row,
    answer_in,
    facts_in,
    graded,
    ids_in,
    passages_of,
    question_in,
    read_as,
)


class _Observation(msgspec.Struct, rename="camel"):
    trace_id: str = ""
    type: str = ""
    level: str | None = None
    parent_observation_id: str | None = None
    start_time: str = ""
    input: Any = None
    output: Any = None
    status_message: str | None = None


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
    name: str | None = None
    release: str | None = None
    input: Any = None
    output: Any = None
    metadata: Any = None
    observations: list[_Observation] = []
    scores: list[_LangfuseScore] = []


def _fits(content: Content) -> bool:
    first = content.first
    if first.at("meta", "cursor") is not None and first.get("data") is not None:
        return True
    return first.get("observations") is not None and first.get("scores") is not None


def _rows(content: Content, reading: LogReading) -> Iterator[Row]:
    if content.first.get("observations") is None:
        yield from _of_pages(content, reading)
        return
    for record in content.records():
        value = record.value()
        yield _row(read_as(_LangfuseTrace, value, record.where), value, record.where, reading)


def _of_pages(content: Content, reading: LogReading) -> Iterator[Row]:
    """Yield the traces that observations belong to; a page that is not the last is not all."""
    traces: dict[str, list[dict[str, Any]]] = {}
    where: dict[str, str] = {}
    last: Record | None = None
    for page in content.records():
        last = page.at("meta", "cursor")
        data = page.get("data")
        for record in data.each() if data else ():
            value = record.value()
            trace = read_as(_Observation, value, record.where).trace_id
            traces.setdefault(trace, []).append(value)
            where.setdefault(trace, record.where)
    if last is not None and last.value() is not None:
        raise InputError(
            f"{last.where}: the cursor is not at its end, so this is not all; fetch the pages behind it, too,"
            " one a line"
        )
    for trace, observations in traces.items():
        whole = {"id": trace, "observations": observations}
        yield _row(read_as(_LangfuseTrace, whole, where[trace]), whole, where[trace], reading)


def _row(trace: _LangfuseTrace, record: Any, where: str, reading: LogReading) -> Row:
    observed = sorted(trace.observations, key=lambda each: each.start_time)
    made = [each for each in observed if each.type == "GENERATION"]
    hops = [passages_of(each.output, where) for each in observed if each.type == "RETRIEVER"]
    failed = [each for each in observed if each.level == "ERROR"]
    question = question_in(trace.input) or next((question_in(each.input) for each in made), "")
    # The trace has the last word; a generation is asked where it says nothing, as in pages.
    answer = answer_in(trace.output)
    if answer is None and made:
        answer = answer_in(made[-1].output)
    why = (failed[-1].status_message or "an observation of level ERROR") if failed else ""
    return Row(
        where,
        question,
        answer,
        run="-".join(filter(None, (trace.name, trace.release))),
        trace=trace.id,
        contexts=one_hop(hops, reading, where),
        grades=[_grade(score) for score in trace.scores],
        facts=facts_in(trace.metadata),
        ids=ids_in(trace.metadata),
        failed=why if answer is None or any(each.type == "GENERATION" for each in failed) else "",
        record=record,
    )


def _grade(score: _LangfuseScore) -> Grade:
    """Return a score; each source is a judge of its own, and people are people."""
    person = f"{PERSON}{score.author_user_id or 'langfuse'}"
    judge = person if score.source == "ANNOTATION" else f"langfuse:{score.source or 'EVAL'}"
    value: Any = score.value
    if score.data_type == "BOOLEAN" and value in (0, 1):  # which langfuse writes as numbers
        value = bool(value)
    elif score.data_type == "CATEGORICAL":
        value = score.string_value if score.string_value is not None else value
    return graded(score.name, value, judge, score.comment or "")


LANGFUSE = LogReader("langfuse", _fits, _rows)
