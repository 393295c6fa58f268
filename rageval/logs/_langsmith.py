"""Runs of LangSmith: the runs of a trace, one a line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from rageval.errors import InputError
from rageval.logs._content import Content
from rageval.logs._traces import one_hop
from rageval.logs.rows import (
    LogReader,
    LogReading,
    Row,
    answer_in,
    facts_in,
    ids_in,
    passages_of,
    question_in,
    read_as,
)


class _Run(msgspec.Struct):
    id: str
    trace_id: str
    run_type: str
    name: str = ""
    dotted_order: str = ""
    parent_run_id: str | None = None
    inputs: Any = None
    outputs: Any = None
    error: str | None = None
    reference_example_id: str | None = None
    feedback_stats: dict[str, Any] | None = None
    extra: dict[str, Any] | None = None


class _Kept(msgspec.Struct):
    run: _Run
    record: Any
    where: str


def _fits(content: Content) -> bool:
    return {"run_type", "trace_id", "dotted_order"} <= set(content.first.keys())


def _rows(content: Content, reading: LogReading) -> Iterator[Row]:
    traces: dict[str, list[_Kept]] = {}
    for record in content.records():
        value = record.value()
        run = read_as(_Run, value, record.where)
        traces.setdefault(run.trace_id, []).append(_Kept(run, value, record.where))
    means: dict[str, None] = {}
    for trace, kept in traces.items():
        # Runs are exported as they end; by their dotted order they stand as they began.
        row = _row(trace, sorted(kept, key=lambda each: each.run.dotted_order), reading)
        means.update(dict.fromkeys(name for each in kept for name in each.run.feedback_stats or {}))
        yield row
    if means:
        reading.remarks.append(
            f"feedback_stats ({', '.join(means)}) are means over feedback, and no judgements: left out"
        )


def _row(trace: str, kept: list[_Kept], reading: LogReading) -> Row:
    root = next((each for each in kept if each.run.parent_run_id is None), None)
    if root is None:
        raise InputError(
            f"{kept[0].where}: the root of the trace {trace!r:.80} is not here; expected whole traces"
        )
    hops = []
    for each in kept:
        if each.run.run_type == "retriever" and not each.run.error:
            outputs = each.run.outputs
            hops.append(
                passages_of(outputs.get("documents") if isinstance(outputs, dict) else outputs, each.where)
            )
    run, about = root.run, root.run.extra or {}
    metadata = about.get("metadata")
    ids = ids_in(metadata) | ({"example": run.reference_example_id} if run.reference_example_id else {})
    return Row(
        root.where,
        question_in(run.inputs),
        answer_in(run.outputs),
        run=run.name,
        trace=trace,
        contexts=one_hop(hops, reading, root.where),
        facts=facts_in(metadata),
        ids=ids,
        failed=(run.error or "")[:200],
        record=root.record,
    )


LANGSMITH = LogReader("langsmith", _fits, _rows)
