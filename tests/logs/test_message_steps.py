"""Trajectories of agents as messages, in each format: seven questions, whose steps are the same."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from click.testing import CliRunner

from rageval import logs
from rageval.cli import main
from rageval.logs import Log
from test_trace_steps import words


class Call(NamedTuple):
    """A call of a tool, and what it returned: documents, or nothing if the log ends before."""

    tool: str
    asked: dict[str, Any]
    docs: tuple[str, ...] = ()
    failed: bool = False

    @property
    def result(self) -> str | None:
        return None if self.failed else json.dumps([{"docid": doc, "text": doc.upper()} for doc in self.docs])


PAY, READ = "tool pay {'k': 2}", "get_document {'docid': 'd5'}"


def search(query: str, *docs: str, failed: bool = False) -> Call:
    return Call("search", {"query": query}, docs, failed)


class Case(NamedTuple):
    """A question, its answer, the calls of each message of the model, steps; cut before the last result."""

    question: str
    answer: str | None
    turns: list[list[Call]]
    steps: str
    is_cut: bool = False


FIRST, SECOND, FOUND = "1 model, 2 search search 'x'", "search search 'y'", [search("x", "d2")]
CASES = [
    Case(
        "failed?",
        "Nobody.",
        [[search("x", failed=True)], [search("y", "d1")]],
        f"{FIRST} error, 3 model, 4 {SECOND} d1, 5 model, 6 answer",
    ),
    Case("empty?", "?", [[search("x")]], f"{FIRST}, 3 model, 4 answer"),
    Case(
        "twice?",
        "No.",
        [[Call("pay", {"k": 2})]] * 2,
        f"1 model, 2 {PAY}, 3 model, 4 {PAY}, 5 model, 6 answer",
    ),
    Case("silent?", None, [FOUND], f"{FIRST} d2, 3 model, 4 answer error"),
    Case(
        "parallel?",
        "Both.",
        [[*FOUND, search("y", "d3", "d2")]],
        f"{FIRST} d2, 2 {SECOND} d3 d2, 3 model, 4 answer",
    ),
    Case(
        "reads?",
        "I.",
        [[Call("get_document", {"docid": "d5"}, ("d5",))]],
        f"1 model, 2 tool {READ}, 3 model, 4 answer",
    ),
    Case("cut?", None, [FOUND, [search("y")]], f"{FIRST} d2, 3 model, 4 {SECOND}, 5 answer error", True),
]


def conversation(
    case: Case, called: Callable[[str, Call], Any], returned: Callable[[str, Call], Any]
) -> list[Any]:
    """The messages, whose calls and results each format writes in its own way."""
    messages: list[Any] = [{"role": "user", "content": case.question}]
    for turn in case.turns:
        calls = [(f"call_{number}", call) for number, call in enumerate(turn)]  # the same in each turn
        used = {"prompt_tokens": 20, "completion_tokens": 5}
        messages.append({"role": "assistant", "content": None, "usage": used})
        messages[-1]["tool_calls"] = [called(*call) for call in calls]
        # Results may come in any order.
        messages += [returned(*call) for call in reversed(calls)]
    return messages[:-1] if case.is_cut else [*messages, {"role": "assistant", "content": case.answer}]


def called(name: str, call: Call) -> Any:
    return {"id": name, "name": call.tool, "arguments": call.asked}


def openai(case: Case) -> list[Any]:
    def in_function(name: str, call: Call) -> Any:
        function = {"name": call.tool, "arguments": json.dumps(call.asked)}
        return {"id": name, "type": "function", "function": function}

    def returned(name: str, call: Call) -> Any:
        return {"role": "tool", "tool_call_id": name, "content": call.result or "Error: it broke"}

    return conversation(case, in_function, returned)


def tau_bench(number: int, case: Case) -> Any:
    task = {"task": {"instruction": case.question}}
    return {"task_id": number, "reward": 1.0, "info": task, "traj": openai(case), "trial": 0}


def tau2(cases: list[Case]) -> Any:
    def returned(name: str, call: Call) -> Any:
        return {"id": name, "role": "tool", "content": call.result, "error": call.failed}

    simulations, tasks = [], []
    for number, case in enumerate(cases):
        tasks.append({"id": str(number), "user_scenario": {"instructions": case.question}})
        simulation = {"id": f"s{number}", "task_id": str(number), "trial": 0, "reward_info": {"reward": 0.0}}
        simulation["termination_reason"] = "max_steps" if case.is_cut else "user_stop"
        simulations.append(simulation | {"messages": conversation(case, called, returned)})
    return {"info": {"agent_info": {"llm": "agent"}}, "tasks": tasks, "simulations": simulations}


def every_eval_ever(number: int, case: Case) -> Any:
    def returned(name: str, call: Call) -> Any:
        return {"role": "tool", "tool_call_id": [name], "content": call.result}

    sample = {"evaluation_id": "e", "evaluation_name": "e", "model_id": "agent", "sample_id": f"s{number}"}
    sample |= {"input": {"raw": case.question, "reference": []}, "interaction_type": "agentic"}
    sample |= {"messages": conversation(case, called, returned), "output": None, "answer_attribution": []}
    return sample | {"evaluation": {"score": 1.0, "is_correct": True}}


def inspect(cases: list[Case]) -> Any:
    def by_function(name: str, call: Call) -> Any:
        return {"id": name, "function": call.tool, "arguments": call.asked}

    def returned(name: str, call: Call) -> Any:
        error = {"type": "timeout", "message": "It broke."} if call.failed else None
        content = [{"type": "text", "text": call.result or ""}]
        return {"id": "m", "role": "tool", "tool_call_id": name, "content": content, "error": error}

    samples = []
    for number, case in enumerate(cases):
        output = {"completion": case.answer, "choices": [] if case.answer is None else [{}]}
        example = {"role": "assistant", "content": "As Ada did.", "source": "input"}
        sample = {"id": number, "epoch": 1, "input": case.question, "target": "", "output": output}
        samples.append(sample | {"messages": [example, *conversation(case, by_function, returned)]})
    return {"version": 2, "eval": {"task": "t", "model": "agent"}, "samples": samples}


def browsecomp_plus(number: int, case: Case) -> Any:
    result: list[dict[str, Any]] = []
    for turn in case.turns:
        result.append({"type": "reasoning", "output": ["Hm."]})
        for call in turn:
            item = {"type": "tool_call", "tool_name": call.tool}
            result.append(item | {"arguments": json.dumps(call.asked), "output": call.result})
    if not case.is_cut:
        result.append({"type": "output_text", "output": case.answer})
    run = {"metadata": {"model": "agent"}, "query_id": case.question, "tool_call_counts": {"search": 1}}
    return run | {"status": "incomplete" if case.is_cut else "completed", "result": result}


ALL = list(enumerate(CASES))
FORMATS: dict[str, Any] = {
    "messages": [{"id": f"q{number}", "messages": openai(case)} for number, case in ALL],
    "agentevals": [[openai(case) for case in CASES]],
    "tau-bench": [[tau_bench(number, case) for number, case in ALL]],
    "tau2": [tau2(CASES)],
    "every-eval-ever": [every_eval_ever(number, case) for number, case in ALL],
    "inspect": [inspect(CASES)],
    "browsecomp-plus": [browsecomp_plus(number, case) for number, case in ALL],
}
TWO_MORE = "3 model, 4 search search 'y' d3 d2, 5 model, 6"
# What a format does not say: that a call failed, that calls ran in parallel, that a run was cut.
UNTOLD = ("messages", "agentevals", "tau-bench", "every-eval-ever")
OTHERWISE = {(name, "failed?"): (" error", "") for name in UNTOLD} | {
    ("tau-bench", "cut?"): (" error", ""),
    ("browsecomp-plus", "parallel?"): ("2 search search 'y' d3 d2, 3 model, 4", TWO_MORE),
    ("browsecomp-plus", "reads?"): (f"tool {READ}", f"read {READ} d5"),
}


def read(path: Path, lines: list[Any], **options: Any) -> Log:
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    return logs.read(str(path), **options)


@pytest.mark.parametrize("name", FORMATS)
def test_seven_questions_have_the_same_steps_in_all_formats(name: str, tmp_path: Path) -> None:
    log = read(tmp_path / "log", FORMATS[name], search_tools=["sea*"])
    assert log.tool == {"agentevals": "messages", "tau2": "tau-bench"}.get(name, name)
    asked = {question.query_id: question.text or question.query_id for question in log.questions}
    steps: dict[str, list[str]] = {}
    for step in log.steps:
        steps.setdefault(asked[step["query_id"]], []).append(words(step))
    expected = {
        case.question: case.steps.replace(*OTHERWISE.get((name, case.question), ("", ""))) for case in CASES
    }
    assert {text: ", ".join(listed) for text, listed in steps.items()} == expected
    stated = {step.get("input_tokens") for step in log.steps if step["kind"] == "model"}
    assert stated == ({None} if name == "browsecomp-plus" else {20, None})
    assert log.passages.items() >= {"d1": "D1", "d2": "D2", "d3": "D3"}.items()
    # A reward is of what an agent did, and stands where it was cut.
    judged = {judgement["status"] for judgement in log.judgements if judgement["query_id"].endswith("6")}
    assert judged == ({"ok"} if name in ("tau-bench", "tau2", "every-eval-ever") else set())


def test_an_answer_of_browsecomp_plus_cites_and_says_how_sure_it_is(tmp_path: Path) -> None:
    text = "**Explanation:** It is red [12, 7] and old 【9】.\nExact Answer: Ada\n**Confidence:** 85%"
    run = {"query_id": 1, "tool_call_counts": {}, "usage": {"input_tokens": 9, "output_tokens": 3}}
    run |= {"result": [{"type": "output_text", "output": text}], "retrieved_docids": ["7", 8]}
    (tmp_path / "run.json").write_text(json.dumps(run, indent=2), encoding="utf-8")
    assert logs.read(str(tmp_path / "run.json")).left_out == {"unplaced retrieved_docids": 2}
    result = CliRunner().invoke(main, ["import", str(tmp_path / "run.json"), "--only", "answers"])
    answer = json.loads(result.stdout)
    cited = [doc for sentence in answer["answer"] for doc in sentence.get("citations", ())]
    assert (cited, answer["confidence"], answer["input_tokens"]) == (["12", "7", "9"], 0.85, 9)


def test_trials_of_a_task_and_scores_of_a_sample(tmp_path: Path) -> None:
    trials = [tau_bench(0, CASES[0]) | {"trial": trial, "reward": trial} for trial in (0, 1)]
    log = read(tmp_path / "log", [trials])
    assert [str(remark) for remark in log.remarks if "--search-tool: search" in str(remark)]
    graded = [(row["query_id"], row["repeat"], row["label"]) for row in log.judgements]
    assert graded == [("0", "0", "fail"), ("0", "1", "pass")]
    sample = every_eval_ever(1, CASES[0])
    log = read(tmp_path / "log", [sample, sample | {"evaluation_name": "f"}, sample])
    assert [row["aspect"] for row in log.judgements if row["repeat"] == "1"] == ["e", "f"]
    assert [answer.repeat for answer in log.answers] == ["1", "2"]


def test_messages_that_are_odd(tmp_path: Path) -> None:
    call = {"id": "a", "name": "search", "args": '{"query": "x"}'}
    reply = {"content": "Ada.", "usage_metadata": {"input_tokens": 3, "output_tokens": -1}}
    lines = [{"type": "human", "content": "Who?"}, {"type": "ai", "tool_calls": [call, 1, call]}, None]
    lines += [{"type": "tool", "status": "error", "content": "   ID: d1\n"}, {"type": "tool", "id": "b"}]
    log = read(tmp_path / "log", [[*lines, {"type": "ai", **reply}]], search_tools=["sea*"])
    assert log.left_out == {"unmatched results": 1}
    assert ", ".join(map(words, log.steps)) == f"{FIRST} d1 error, 2 search search 'x', 3 model, 4 answer"
    assert [step.get("output_tokens") for step in log.steps if step["kind"] == "model"] == [None, None]
