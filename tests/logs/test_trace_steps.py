"""Traces of agents in each format: seven questions, whose steps are the same."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from click.testing import CliRunner

from rageval import logs
from rageval.cli import main
from rageval.errors import InputError
from rageval.files.steps import read_steps
from rageval.logs.steps import seconds_between

START = 1_795_299_899_000  # milliseconds


class Part(NamedTuple):
    """A span: when it began and ended, in milliseconds, and the number of the span around it."""

    kind: str  # agent, model, search, tool, embedding
    begin: int
    end: int
    name: str = ""
    asked: Any = None
    docs: tuple[str, ...] | None = None
    failed: bool = False
    parent: int = 0
    result: Any = None


def model(begin: int, parent: int = 0) -> Part:
    return Part("model", begin, begin + 5, "chat toy", parent=parent)


def search(query: str, begin: int, *docs: str, end: int = 0, failed: bool = False, parent: int = 0) -> Part:
    return Part("search", begin, end or begin + 5, "kb", query, docs, failed, parent)


def tool(begin: int, name: str, asked: Any, end: int = 0, parent: int = 0) -> Part:
    return Part("tool", begin, end or begin + 5, name, asked, parent=parent)


class Case(NamedTuple):
    """A trace, whose root is the first part, with its answer; and its steps, by number."""

    question: str
    answer: str | None
    parts: list[Part]
    steps: str
    is_cut: bool = False  # before the root ended: OTLP has a span once it ended


CASES = [
    Case(
        "Who failed?",
        "Nobody.",
        [model(1), search("x", 10, failed=True), search("y", 20, "d1")],
        "1 model, 2 search kb 'x' error, 3 search kb 'y' d1, 4 answer",
    ),
    Case("Who finds nothing?", "?", [search("x", 10)], "1 search kb 'x', 2 answer"),
    Case(
        "Who repeats?",
        "Ada.",
        [tool(1, "find", {"k": 2, "n": "Ada"}), tool(10, "find", {"n": "Ada", "k": 2})],
        "1 tool find {'k': 2, 'n': 'Ada'}, 2 tool find {'k': 2, 'n': 'Ada'}, 3 answer",
    ),
    Case("Who is silent?", None, [search("x", 10, "d2")], "1 search kb 'x' d2, 2 answer error"),
    Case(
        "Who is in parallel?",
        "Both.",
        [search("x", 10, "d3", "d4", end=30), search("y", 11, "d4", end=20), model(40)],
        "1 search kb 'x' d3 d4, 1 search kb 'y' d4, 2 model, 3 answer",
    ),
    Case(
        "Who is nested?",
        "The inner.",
        [
            *(model(1), tool(10, "ask", {"who": "b"}, end=80), Part("agent", 11, 79, "b", parent=2)),
            *(model(12, 3), tool(20, "look", {"q": "x"}, end=40, parent=3), search("x", 25, "d5", parent=5)),
            *(Part("embedding", 26, 27, "embed", parent=6), model(50, 3)),
        ],
        "1 model, 2 tool ask {'who': 'b'}, 3 model, 4 search look 'x' d5, 5 model, 6 answer",
    ),
    Case(
        "Who is cut?",
        None,
        [model(1), search("x", 10, "d6")],
        "1 model, 2 search kb 'x' d6, 3 answer error",
        is_cut=True,
    ),
]


def parts_of(number: int, case: Case) -> list[tuple[str, str | None, Part]]:
    """The spans, as they end, with their ids and parents."""
    parts = [Part("agent", 0, 90, "agent", case.question), *case.parts]
    ids = [f"{number:08x}{index:08x}" for index in range(len(parts))]
    spans = [(ids[index], ids[part.parent] if index else None, part) for index, part in enumerate(parts)]
    return sorted(spans, key=lambda span: span[2].end)


def otlp(attributes: Callable[[Part, Case], dict[str, Any]]) -> Callable[[int, Case], list[Any]]:
    def lines(number: int, case: Case) -> list[Any]:
        spans = []
        for span, parent, part in parts_of(number, case):
            named = attributes(part, case)
            if parent is None and case.is_cut:
                continue
            spans.append(
                {
                    "traceId": f"{number:032x}",
                    "spanId": span,
                    "name": part.name,
                    "parentSpanId": parent or "",
                    "startTimeUnixNano": str((START + part.begin) * 10**6),
                    "endTimeUnixNano": str((START + part.end) * 10**6),
                    "attributes": [
                        {
                            "key": name,
                            "value": {"intValue" if isinstance(value, int) else "stringValue": value},
                        }
                        for name, value in named.items()
                    ],
                    "status": {"code": 2} if part.failed else {},
                }
            )
        service = [{"key": "service.name", "value": {"stringValue": "agent"}}]
        return [{"resourceSpans": [{"resource": {"attributes": service}, "scopeSpans": [{"spans": spans}]}]}]

    return lines


def message(role: str, text: str) -> str:
    return json.dumps([{"role": role, "parts": [{"type": "text", "content": text}]}])


def genai(part: Part, case: Case) -> dict[str, Any]:
    messages = {"gen_ai.input.messages": message("user", case.question)}
    messages |= {} if case.answer is None else {"gen_ai.output.messages": message("assistant", case.answer)}
    docs = json.dumps([{"id": doc} for doc in part.docs or ()])
    tokens = {"gen_ai.usage.input_tokens": 20, "gen_ai.usage.output_tokens": 5}
    asked = {"gen_ai.tool.name": part.name, "gen_ai.tool.call.arguments": json.dumps(part.asked)}
    asked |= {} if part.result is None else {"gen_ai.tool.call.result": json.dumps(part.result)}
    query = {"gen_ai.data_source.id": part.name, "gen_ai.retrieval.query.text": part.asked}
    operation, attributes = {
        "agent": ("invoke_agent", messages if part.name == "agent" else {}),
        "model": ("chat", tokens | {"gen_ai.input.messages": messages["gen_ai.input.messages"]}),
        "search": ("retrieval", query | {"gen_ai.retrieval.documents": docs}),
        "tool": ("execute_tool", asked),
        "embedding": ("embeddings", {}),
    }[part.kind]
    return {"gen_ai.operation.name": operation} | attributes


def openinference(part: Part, case: Case) -> dict[str, Any]:
    kind = {"model": "LLM", "search": "RETRIEVER"}.get(part.kind, part.kind.upper())
    named: dict[str, Any] = {"openinference.span.kind": kind}
    if part.asked is not None:
        named["input.value"] = part.asked if isinstance(part.asked, str) else json.dumps(part.asked)
    if part.result is not None:
        named["output.value"] = json.dumps(part.result)
    if part.kind == "agent" and part.name == "agent" and case.answer is not None:
        named["output.value"] = case.answer
    if part.kind == "model":
        named |= {"llm.token_count.prompt": 20, "llm.token_count.completion": 5}
        first = "llm.input_messages.0.message"
        named |= {f"{first}.role": "user", f"{first}.content": case.question}
    return named | {
        f"retrieval.documents.{rank}.document.id": doc for rank, doc in enumerate(part.docs or ())
    }


def iso(milliseconds: int) -> str:
    return f"2026-11-21T12:00:{milliseconds // 1000:02d}.{milliseconds % 1000:03d}Z"


def documents(part: Part) -> Any:
    return part.result if part.docs is None else [{"id": doc} for doc in part.docs]


def mlflow(number: int, case: Case) -> list[Any]:
    kinds = {"model": "CHAT_MODEL", "search": "RETRIEVER"}
    spans = []
    for span, parent, part in parts_of(number, case):
        attributes = {"mlflow.spanType": kinds.get(part.kind, part.kind.upper())}
        attributes |= {"mlflow.spanInputs": part.asked, "mlflow.spanOutputs": documents(part)}
        used = {"input_tokens": 20, "output_tokens": 5}
        attributes |= {"mlflow.chat.tokenUsage": used} if part.kind == "model" else {}
        times = {"start_time_unix_nano": (START + part.begin) * 10**6}
        times["end_time_unix_nano"] = (START + part.end) * 10**6
        status = {"code": "STATUS_CODE_ERROR" if part.failed else "STATUS_CODE_OK"}
        texts = {name: json.dumps(value) for name, value in attributes.items()}
        spans.append(
            {"span_id": span, "parent_span_id": parent, "name": part.name, "status": status, **times}
            | {"attributes": texts}
        )
    info = {"trace_id": f"tr-{number}", "trace_metadata": {"mlflow.sourceRun": "agent"}, "state": "OK"}
    return [{"info": info, "request": case.question, "response": case.answer, "data": {"spans": spans}}]


def langfuse(number: int, case: Case) -> list[Any]:
    observations = [
        {"id": span, "parentObservationId": parent, "name": part.name, "input": part.asked}
        | {"type": {"model": "GENERATION", "search": "RETRIEVER"}.get(part.kind, part.kind.upper())}
        | {"startTime": iso(part.begin), "endTime": iso(part.end), "output": documents(part)}
        | {"level": "ERROR" if part.failed else "DEFAULT"}
        | ({"usageDetails": {"input": 20, "output": 5}} if part.kind == "model" else {})
        for span, parent, part in parts_of(number, case)
    ]
    trace = {"id": f"t{number}", "name": "agent", "input": case.question, "output": case.answer}
    return [trace | {"observations": observations, "scores": []}]


def langsmith(number: int, case: Case) -> list[Any]:
    runs: dict[str, dict[str, Any]] = {}
    for span, parent, part in sorted(parts_of(number, case), key=lambda span: span[2].begin):
        began = f"20261121T1200{part.begin // 1000:02d}{part.begin % 1000:03d}000Z{span}"
        outputs = {"documents": documents(part)} if part.kind == "search" else part.result or {}
        runs[span] = {"id": span, "trace_id": f"t{number}", "name": part.name, "parent_run_id": parent}
        runs[span] |= {
            "run_type": {"model": "llm", "search": "retriever", "agent": "chain"}.get(part.kind, part.kind)
        }
        runs[span] |= {"inputs": {"query": part.asked} if isinstance(part.asked, str) else part.asked}
        runs[span] |= {"outputs": outputs if parent else {"answer": case.answer}}
        runs[span] |= {"start_time": iso(part.begin), "end_time": iso(part.end)}
        runs[span] |= {"error": "it broke" if part.failed else None}
        runs[span] |= {"dotted_order": f"{runs[parent]['dotted_order']}.{began}" if parent else began}
        runs[span] |= {"prompt_tokens": 20, "completion_tokens": 5} if part.kind == "model" else {}
    return list(runs.values())


FORMATS = {
    "genai": otlp(genai),
    "openinference": otlp(openinference),
    "mlflow": mlflow,
    "langfuse": langfuse,
    "langsmith": langsmith,
}


def words(step: dict[str, Any]) -> str:
    asked = repr(step["query"]) if "query" in step else ""
    asked = str(dict(sorted(step["arguments"].items()))) if "arguments" in step else asked
    parts = (step["step"], step["kind"], step.get("tool"), asked, *step.get("docs", ()), step.get("status"))
    return " ".join(str(part) for part in parts if part)


def written(path: Path, name: str) -> Path:
    lines = [line for number, case in enumerate(CASES, 1) for line in FORMATS[name](number, case)]
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    return path


@pytest.mark.parametrize("name", FORMATS)
def test_seven_questions_have_the_same_steps_in_all_formats(name: str, tmp_path: Path) -> None:
    log = logs.read(str(written(tmp_path / "log.jsonl", name)), hop="none")
    asked = {question.query_id: question.text for question in log.questions}
    steps: dict[str, list[dict[str, Any]]] = {}
    for step in log.steps:
        assert step["run_id"] == "agent"
        steps.setdefault(asked[step["query_id"]], []).append(step)
    assert {text: ", ".join(map(words, listed)) for text, listed in steps.items()} == {
        case.question: case.steps for case in CASES
    }
    models = [step for step in log.steps if step["kind"] == "model"]
    assert all(
        (step["input_tokens"], step["output_tokens"], step["seconds"]) == (20, 5, 0.005) for step in models
    )
    # The time of a tool that is an agent is that of the steps within.
    assert [step.get("seconds") for step in log.steps if step.get("tool") == "ask"] == [None]
    assert [number for why, number in log.left_out.items() if why.startswith("EMBEDDING")] == [1]


def test_the_command_writes_steps_that_are_read_again(tmp_path: Path) -> None:
    log, path = written(tmp_path / "log.jsonl", "genai"), tmp_path / "steps.jsonl"
    result = CliRunner().invoke(main, ["import", str(log), "--only", "steps", "-o", str(path)])
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == "left out: 1 EMBEDDINGS spans\n"
    assert len(read_steps(str(path))) == len(CASES)
    refused = CliRunner().invoke(main, ["import", str(log), "--dry-run"])
    assert refused.exit_code == 2
    assert "2 retrievals in one trace" in refused.stderr
    folder = CliRunner().invoke(main, ["import", str(log), "--hop", "none", "-o", str(tmp_path / "all")])
    assert "5 answers, 2 failed answers, 7 questions, 1 run, 0 retrieved, 0 judgements" in folder.stderr
    assert (tmp_path / "all/steps.jsonl").read_bytes() == path.read_bytes()


@pytest.mark.parametrize("name", FORMATS)
def test_tools_that_search_are_named(name: str, tmp_path: Path) -> None:
    hits = [{"docid": "d1", "text": "One."}, {"docid": "d2", "text": "Two."}]
    part = Part("tool", 1, 6, "web_search", {"query": "x"}, result={"hits": hits})
    path = tmp_path / "log.jsonl"
    lines = FORMATS[name](1, Case("Who searches?", "Ada.", [part], ""))
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    log = logs.read(str(path), search_tools=["*_search"])
    assert ", ".join(map(words, log.steps)) == "1 search web_search 'x' d1 d2, 2 answer"
    assert log.passages == {"d1": "One.", "d2": "Two."}
    result = CliRunner().invoke(main, ["import", str(path), "--only", "steps", "--search-tool", "find"])
    assert result.exit_code == 2
    assert "--search-tool find: no tool has this name; tools are: web_search" in result.stderr


def test_documents_without_id_and_text_are_counted_and_ids_are_limited(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    line = json.dumps(langfuse(1, Case("Who?", "Ada.", [search("x", 1, "d1"), search("y", 9, "d2")], ""))[0])
    path.write_text(line.replace('"id": "d1"', '"score": 1'), encoding="utf-8")
    log = logs.read(str(path), hop="none")
    assert [step.get("docs") for step in log.steps] == [None, ["d2"], None]
    assert log.left_out == {"unidentified documents": 1}
    path.write_text(line.replace("d2", "d" * 10**5), encoding="utf-8")
    with pytest.raises(InputError, match="expected ids of at most"):
        logs.read(str(path), hop="none")


def test_parts_of_a_call_and_spans_in_a_circle(tmp_path: Path) -> None:
    """A call that two instrumentations saw is one; spans without an end or a start are steps."""
    kinds = {"a": ("LLM", "b"), "b": ("LLM", "a"), "c": ("LLM", ""), "d": ("LLM", "c")}
    spans = [
        {
            "context": {"trace_id": "1", "span_id": span},
            "parent_id": parent,
            "attributes": {"openinference.span.kind": kind, "input.value": "Who?"}
            | ({"llm.token_count.prompt": 9} if span == "d" else {}),
        }
        for span, (kind, parent) in kinds.items()
    ]
    path = tmp_path / "spans.jsonl"
    path.write_text("".join(f"{json.dumps(span)}\n" for span in spans), encoding="utf-8")
    log = logs.read(str(path))
    assert [step.get("input_tokens") for step in log.steps] == [9]


@pytest.mark.parametrize(
    ("start", "end", "seconds"),
    [
        ("2026-11-21T22:24:59.5Z", "2026-11-21 22:25:01+00:00", 1.5),
        (1_795_299_899, 1_795_299_901, 2.0),
        (1_795_299_899_500, 1_795_299_900_000, 0.5),
        ("1795299899566754523", "1795299899566867373", 0.000113),
        *(
            (1, None, None),
            ("", "", None),
            ("2026-11-21T22:25:01", "2026-11-21T22:25:00", None),
            (0, 0, None),
        ),
        ("²", "²", None),
        ("2026-99-21T22:25:01", "2026-11-21T22:25:00", None),
    ],
)
def test_how_long_something_took(start: Any, end: Any, seconds: float | None) -> None:
    assert seconds_between(start, end) == seconds
