"""Test runs of deepeval (`.latest_test_run.json`, a results folder's files) and its data sets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from rageval.errors import InputError
from rageval.logs._content import Content, Record
from rageval.logs.rows import (
    Grade,
    LogReader,
    LogReading,
    Passage,
    Row,
    each_of,
    facts_in,
    ids_in,
    number_of,
    read_as,
)


class _Metric(msgspec.Struct, rename="camel"):
    name: str
    score: float | None = None
    success: bool | None = None
    error: str | None = None
    reason: str | None = None
    evaluation_model: str | None = None


class _Case(msgspec.Struct, rename="camel"):
    input: str
    name: str | None = None
    actual_output: str | None = None
    expected_output: str | None = None
    retrieval_context: list[str] | str | None = None
    metrics_data: list[_Metric] | None = None
    metadata: dict[str, Any] | None = None


class _Golden(msgspec.Struct):
    input: str
    name: str | None = None
    actual_output: str | None = None
    expected_output: str | None = None
    retrieval_context: list[str] | str | None = None
    additional_metadata: dict[str, Any] | str | None = None


def _fits(content: Content) -> bool:
    first = content.first
    if any(first.at(*names) is not None for names in _CASES):
        return True
    return first.get("actual_output") is not None and first.get("input") is not None


_CASES = (("testCases",), ("testRunData", "testCases"))


def _rows(content: Content, reading: LogReading) -> Iterator[Row]:
    first = content.first
    names = next((names for names in _CASES if first.at(*names) is not None), None)
    if names is not None:
        _refuse_turns(first, names)
        yield from _cases(each_of(content, *names), reading)
        return
    for record in content.records():
        value = record.value()
        golden = read_as(_Golden, value, record.where)
        about = golden.additional_metadata
        yield Row(
            record.where,
            golden.input,
            golden.actual_output,
            [golden.expected_output] if golden.expected_output else [],
            contexts=_contexts(golden.retrieval_context, reading, record.where),
            facts=facts_in(about),
            ids=({"name": golden.name} if golden.name else {}) | ids_in(about),
            record=value,
        )


def _refuse_turns(first: Record, names: tuple[str, ...]) -> None:
    turns = first.at(*names[:-1], "conversationalTestCases")
    if turns is not None and next(turns.each(), None) is not None:
        raise InputError(
            f"{turns.where}: holds conversations of several turns, expected one question and its answer;"
            " leave them out of the test run"
        )


def _cases(records: Iterable[Record], reading: LogReading) -> Iterator[Row]:
    for record in records:
        value = record.value()
        case = read_as(_Case, value, record.where)
        yield Row(
            record.where,
            case.input,
            case.actual_output,
            [case.expected_output] if case.expected_output else [],
            contexts=_contexts(case.retrieval_context, reading, record.where),
            grades=[_grade(metric) for metric in case.metrics_data or ()],
            facts=facts_in(case.metadata),
            ids=({"name": case.name} if case.name else {}) | ids_in(case.metadata),
            lacks_failed=not case.metrics_data,
            record=value,
        )


def _grade(metric: _Metric) -> Grade:
    """Return a metric's score; one that raised has none, and `success: false`, which is no verdict."""
    judge = f"deepeval:{metric.evaluation_model}" if metric.evaluation_model else ""
    score = number_of(metric.score)
    # `success` is false for these, too: taken for a verdict it would make of an error a 0.
    if metric.error or score is None:
        return Grade(metric.name, judge=judge, reason=metric.error or "no score")
    label = {True: "pass", False: "fail", None: None}[metric.success]
    return Grade(metric.name, score, label, judge, metric.reason or "")


def _contexts(contexts: list[str] | str | None, reading: LogReading, where: str) -> list[Passage]:
    """Return the passages; those of a data set may be joined by bars, which may also stand in a passage."""
    if isinstance(contexts, str):
        mark = reading.split.get("contexts")
        if mark is None and "|" in contexts:
            raise InputError(
                f"{where}: retrieval_context is one text with |, by which deepeval joins passages, and which"
                " may stand in one, too; say --split 'contexts=|' if none does"
            )
        contexts = [text for text in contexts.split(mark) if text.strip()] if mark else [contexts]
    return [Passage(text) for text in contexts or () if text]


DEEPEVAL = LogReader("deepeval", _fits, _rows)
