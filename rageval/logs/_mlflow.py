"""Traces of MLflow (`search_traces`), and the `result_df` of `mlflow.genai.evaluate`, as JSON lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from rageval.logs._content import Content
from rageval.logs._traces import one_hop
from rageval.logs.parting import PERSON
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
    is_id,
    list_of,
    passages_of,
    question_in,
    read_as,
    text_of,
    unfolded,
)

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


def _fits(content: Content) -> bool:
    first = content.first
    if first.at("info", "trace_id") is not None and first.at("data", "spans") is not None:
        return True
    fields = first.keys()
    named = any(name.endswith("/value") for name in fields)
    return first.get("trace_id") is not None and (named or first.get("assessments") is not None)


def _rows(content: Content, reading: LogReading) -> Iterator[Row]:
    # Rows come in no order that means anything; the ids of traces are the same in both forms.
    found = [_row(record.value(), record.where, reading) for record in content.records()]
    yield from sorted(found, key=lambda row: row.trace)


def _row(value: Any, where: str, reading: LogReading) -> Row:
    trace = read_as(_MlflowTrace, _flat(value), where)
    root = next((span for span in trace.spans if span.get("parent_span_id") is None), {})
    request = trace.request if trace.request is not None else _told(root, "mlflow.spanInputs", where)
    response = trace.response if trace.response is not None else _told(root, "mlflow.spanOutputs", where)
    said = [each for each in trace.assessments if each.valid is not False]  # else another took its place
    expected = {
        each.assessment_name: (each.expectation or {}).get("value") for each in said if each.expectation
    }
    gold = next((list_of(expected[name]) for name in _GOLD if name in expected), [])
    hops = [_retrieved(span, where) for span in trace.spans if _type(span, where) == "RETRIEVER"]
    answer = answer_in(response)
    return Row(
        where,
        question_in(request),
        answer,
        gold,
        run=trace.run,
        trace=trace.trace_id,
        contexts=one_hop(hops, reading, where),
        grades=[_grade(each) for each in said if each.feedback is not None],
        ids=ids_in(expected),
        lacks_failed=True,  # every scorer is asked about every trace
        failed="the trace ended in an error" if trace.state in _FAILED else "",
        record=value,
    )


def _flat(value: Any) -> Any:
    """Return a trace, or a row of a frame, as fields of one object."""
    if not isinstance(value, dict) or not isinstance(info := value.get("info", value), dict):
        return value
    about = info.get("trace_metadata")
    run = about.get("mlflow.sourceRun") if isinstance(about, dict) else ""
    data = value.get("data", value)
    flat = {
        "trace_id": info.get("trace_id"),
        "state": info.get("state") or "",
        "request": value.get("request"),
        "response": value.get("response"),
        "spans": data.get("spans") or [] if isinstance(data, dict) else [],
        "assessments": info.get("assessments") or list(_columns(value)),
        "run": run or "",
    }
    return flat | {name: unfolded(flat[name]) for name in ("request", "response")}


def _columns(row: dict[str, Any]) -> Iterable[dict[str, Any]]:
    """Yield as assessments what stands in columns `NAME/value`, where a frame has no assessments."""
    for column, value in row.items():
        name, slash, what = column.rpartition("/")
        if slash and what == "value":
            error = row.get(f"{name}/error_message")
            is_gold = name in _GOLD or is_id(name)
            said = {"value": value} | ({"error": {"error_message": error}} if error else {})
            yield {"assessment_name": name, ("expectation" if is_gold else "feedback"): said}


def _told(span: dict[str, Any], name: str, where: str) -> Any:
    """Return an attribute, which MLflow keeps as JSON in a text."""
    attributes = span.get("attributes")
    value = attributes.get(name) if isinstance(attributes, dict) else None
    return parsed_json(value, where) if isinstance(value, str) else value


def _type(span: dict[str, Any], where: str) -> str:
    return text_of(_told(span, "mlflow.spanType", where))


def _retrieved(span: dict[str, Any], where: str) -> list[Passage]:
    return passages_of(_told(span, "mlflow.spanOutputs", where), where)


def _grade(said: _Assessment) -> Grade:
    """Return a feedback; people's own judge is the person."""
    feedback, source = said.feedback or {}, said.source
    person = f"{PERSON}{source.source_id or 'mlflow'}" if source.source_type == "HUMAN" else ""
    judge = person or (f"mlflow:{source.source_id}" if source.source_type == "LLM_JUDGE" else "")
    error = feedback.get("error")
    if error:
        detail = error.get("error_message") if isinstance(error, dict) else error
        return Grade(said.assessment_name, judge=judge, reason=str(detail or "error")[:200])
    return graded(said.assessment_name, feedback.get("value"), judge, said.rationale or "")


MLFLOW = LogReader("mlflow", _fits, _rows)
