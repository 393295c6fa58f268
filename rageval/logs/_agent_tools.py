"""Trajectories of agents as messages: lists of them, τ-bench, BrowseComp-Plus, Every Eval Ever.

A part a format: the records that it has, and the reader that yields a row a trajectory.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from rageval.files.answers import NO_ANSWER
from rageval.logs._content import Content, Record
from rageval.logs.rows import (
    LogReading,
    Row,
    convert_to,
    each_of,
    facts_in,
    graded,
    holding,
    ids_in,
    log_reader,
    number_of,
    rows_of_turns,
    spent_as,
    text_of,
    turns_in,
)
from rageval.logs.steps import (
    answer_of,
    documents_in,
    messages_in,
    question_of,
    spent_on_models,
    steps_of_messages,
)

# Messages as OpenAI's API has them: a list a trajectory, or records with one, as agentevals takes them.

_MESSAGES = ("messages", "outputs")
_SPEAKERS = {"system", "developer", "user", "assistant", "tool", "human", "ai"}


def _is_message(record: Record | None) -> bool:
    speakers = (record.get(name) for name in ("role", "type")) if record is not None else ()
    return any(text_of(speaker.value()) in _SPEAKERS for speaker in speakers if speaker is not None)


def _has_messages(record: Record | None) -> bool:
    return record is not None and _is_message(next(record.each(), None))


def _are_messages(content: Content) -> bool:
    if content.is_table or _is_tau(content) or _is_every_eval_ever(content):
        return False
    first = content.first
    return _is_one(content) or any(map(_has_messages, (first, *map(first.get, _MESSAGES))))


def _is_one(content: Content) -> bool:
    """Return whether a file is one list of messages."""
    first = content.first
    return content.form == "value" and _is_message(first) and first.get("content") is not None


@log_reader("messages", _are_messages)
def messages(content: Content, reading: LogReading) -> Iterator[Row]:
    """Yield the trajectories."""
    records: Iterable[Record] = content.records()
    if _is_one(content):
        records = [Record.of([record.value() for record in records], content.first.where)]
    for record in records:
        value = record.value()
        fields = value if isinstance(value, dict) else {}
        name = next((name for name in _MESSAGES if isinstance(fields.get(name), list)), None)
        listed = messages_in(fields[name] if name else value)
        answer, steps = answer_of(listed), steps_of_messages(listed, reading)
        turns = turns_in(listed)
        # Without tools it is a conversation; with tools, the user may be a part of one task.
        is_talk = len(turns) > 1 and not any(message.get("tool_calls") for message in listed)
        row = Row(
            record.where,
            question_of(listed),
            answer,
            run=next(filter(None, (text_of(fields.get(name)) for name in ("run_id", "model"))), ""),
            repeat=text_of(fields.get("repeat")),
            facts=facts_in(fields.get("metadata")),
            ids=ids_in(fields) | ids_in(fields.get("metadata")),
            failed=NO_ANSWER if answer is None else "",
            spent=spent_on_models(steps),
            steps=steps,
            record=value,
        )
        if not is_talk:
            yield row
            continue
        row.failed, row.conversation = "", text_of(fields.get("conversation_id"))
        for of_turn, turn in rows_of_turns(row, turns, reading):
            of_turn.failed = NO_ANSWER if of_turn.answer is None else ""
            if turn is not None:
                of_turn.steps = steps_of_messages(turn.messages, reading)
                of_turn.spent = spent_on_models(of_turn.steps)
            yield of_turn


# Results of τ-bench, a list of runs, and of τ²- and τ³-bench, simulations beside their tasks.

_STOPPED_BY_PEOPLE = ("user_stop", "agent_stop", "")
# Of these τ²-bench counts none: there the agent could not go on.
_BROKEN = ("infrastructure_error", "context_window_exceeded")
_KNOWLEDGE_TOOLS = ("KB_search*", "grep")  # of τ³'s domain with documents


class _TauRun(msgspec.Struct):
    task_id: str | int
    traj: list[Any]
    reward: Any = None
    trial: str | int = ""
    info: dict[str, Any] = {}


class _Reward(msgspec.Struct):
    reward: Any = None


class _Simulation(msgspec.Struct):
    task_id: str | int
    id: str = ""
    trial: str | int = ""
    messages: list[Any] = []
    termination_reason: str = ""
    reward_info: _Reward | None = None
    agent_cost: Any = None
    duration: Any = None


class _TauTask(msgspec.Struct):
    id: str | int
    user_scenario: dict[str, Any] = {}
    required_documents: list[str] = []


_is_tau = holding("traj task_id reward", "info.agent_info simulations", "task_id termination_reason")


@log_reader("tau-bench", _is_tau)
def tau_bench(content: Content, reading: LogReading) -> Iterator[Row]:
    """Yield the runs of tasks, each of which has several trials."""
    if content.first.get("traj") is not None:
        for record in content.records():
            value = record.value()
            run = convert_to(_TauRun, value, record.where)
            listed = messages_in(run.traj)
            task = run.info.get("task")
            asked = task.get("instruction") if isinstance(task, dict) else None
            yield _tau_row(record, run, listed, asked, reading, run.reward)
        return
    named, tasks = _tau_header(content.first)
    is_whole = content.first.get("simulations") is not None
    for record in each_of(content, "simulations") if is_whole else content.records():
        value = record.value()
        simulation = convert_to(_Simulation, value, record.where)
        # The people that are simulated have tools of their own.
        listed = messages_in(simulation.messages)
        listed = [message for message in listed if message.get("requestor") != "user"]
        if listed and listed[0]["role"] == "assistant" and not listed[0].get("usage"):
            del listed[0]  # the greeting, which no model wrote
        task_of_run = tasks.get(str(simulation.task_id)) or _TauTask(simulation.task_id)
        reward = simulation.reward_info.reward if simulation.reward_info else None
        row = _tau_row(record, simulation, listed, _asked(task_of_run), reading, reward)
        row.run, row.trace = named, simulation.id
        row.relevant = [[doc] for doc in task_of_run.required_documents]
        row.spent |= spent_as(cost=simulation.agent_cost, seconds=simulation.duration)
        reason = simulation.termination_reason
        row.failed = reason if reason in _BROKEN else row.failed
        row.stopped = reason if reason not in _STOPPED_BY_PEOPLE else ""
        yield row


def _tau_header(first: Record) -> tuple[str, dict[str, _TauTask]]:
    """Return the name of the system, with its domain, in which tasks are numbered; and the tasks by id."""
    parts = (("agent_info", "llm"), ("environment_info", "domain_name"), ("retrieval_config",))
    values = (first.at("info", *names) for names in parts)
    named = (text_of(value.value()) for value in values if value is not None)
    listed = first.get("tasks")
    tasks = [convert_to(_TauTask, task.value(), task.where) for task in listed.each()] if listed else []
    return "+".join(filter(None, named)), {str(task.id): task for task in tasks}


def _asked(task: _TauTask) -> Any:
    instructions = task.user_scenario.get("instructions")
    return instructions.get("reason_for_call") if isinstance(instructions, dict) else instructions


def _tau_row(
    record: Record,
    run: _TauRun | _Simulation,
    listed: list[dict[str, Any]],
    asked: Any,
    reading: LogReading,
    reward: Any,
) -> Row:
    answer = answer_of(listed)
    if answer is None and any(message.get("tool_calls") for message in listed[-2:]):
        # A run may end in a call, such as that for a person; what was said before it stands.
        without_calls = [message for message in listed if not message.get("tool_calls")]
        answer = answer_of(without_calls) or ""
    number = number_of(reward)
    label = None if number is None else "pass" if abs(number - 1) < 1e-6 else "fail"  # as τ-bench has it
    steps = steps_of_messages(listed, reading, _KNOWLEDGE_TOOLS)
    return Row(
        record.where,
        asked if isinstance(asked, str) and asked else question_of(listed),
        answer,
        repeat=str(run.trial),
        grades=[] if number is None else [graded("reward", number, "", label=label)],
        ids={"task_id": str(run.task_id)},
        key=str(run.task_id),  # of one task, people say something else in each trial
        failed=NO_ANSWER if answer is None else "",
        spent=spent_on_models(steps),
        steps=steps,
        record=record.value(),
    )


# Runs of BrowseComp-Plus: a file a question, or these joined as lines.

_SEARCHES = ("*[sS]earch*", "*[rR]etrieval*")  # what its own evaluation takes for searches
_READS = "get_document"
_BRACKETS = re.compile(r"[\[【]([\d,\s]+)[\]】]")
_CONFIDENCE = re.compile(r"^\W*confidence\W+(\d{1,3}(?:\.\d+)?)\s*%", re.IGNORECASE | re.MULTILINE)


class _BrowseRun(msgspec.Struct):
    query_id: str | int
    result: list[dict[str, Any]]
    status: str = ""
    metadata: dict[str, Any] = {}
    usage: dict[str, Any] = {}
    retrieved_docids: list[str | int] = []


@log_reader("browsecomp-plus", holding("query_id tool_call_counts result"))
def browsecomp_plus(content: Content, reading: LogReading) -> Iterator[Row]:
    """Yield the runs; their questions are not in them."""
    for record in content.records():
        value = record.value()
        run = convert_to(_BrowseRun, value, record.where)
        listed = _browse_messages(run.result)
        steps = steps_of_messages(listed, reading, _SEARCHES)
        for step in steps:
            if step.step == "tool" and step.tool == _READS:
                step.kind, step.docs = "READ", list(documents_in(step.result))
        # Some clients keep no outputs of calls: then nobody knows which call found what.
        seen = {doc.id for step in steps for doc in step.docs}
        reading.left_out["unplaced retrieved_docids"] += len(set(map(str, run.retrieved_docids)) - seen)
        answer = answer_of(listed)
        cited = re.findall(r"\d+", " ".join(_BRACKETS.findall(answer or "")))
        stated = _CONFIDENCE.findall(answer or "")
        query = str(run.query_id)
        yield Row(
            record.where,
            "",
            answer,
            run=text_of(run.metadata.get("model")),
            ids={"query_id": query},
            key=query,
            cites={doc: doc for doc in cited},
            confidence=min(float(stated[-1]), 100) / 100 if stated else None,
            failed=(NO_ANSWER if answer is None else "")
            if run.status in ("completed", "")
            else run.status[:200],
            spent=spent_as(
                input_tokens=run.usage.get("input_tokens"), output_tokens=run.usage.get("output_tokens")
            ),
            steps=steps,
            record=value,
        )


def _browse_messages(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the items of a run as messages: what a model thought and said before a call is one with it."""
    listed: list[dict[str, Any]] = []
    for item in items:
        if not listed or listed[-1]["role"] != "assistant":
            listed.append({"role": "assistant", "content": None})
        if item.get("type") == "tool_call":
            call = {"name": item.get("tool_name"), "arguments": item.get("arguments")}
            output = item.get("output")
            listed[-1]["tool_calls"] = [call]
            # A call that raised has no output.
            listed.append({"role": "tool", "content": output, "error": output is None})
        elif item.get("type") == "output_text" and isinstance(item.get("output"), str):
            before = listed[-1]["content"]
            listed[-1]["content"] = item["output"] if before is None else f"{before}\n{item['output']}"
    return listed


# Samples of Every Eval Ever: a line a sample and metric.


class _EveryInput(msgspec.Struct):
    raw: str
    reference: list[str] = []


class _EveryOutput(msgspec.Struct):
    raw: list[str | None] = []


class _EveryScore(msgspec.Struct):
    score: Any = None
    is_correct: bool | None = None


class _EverySample(msgspec.Struct):
    evaluation_id: str
    evaluation_name: str
    model_id: str
    sample_id: str | int
    input: _EveryInput
    evaluation: _EveryScore
    evaluation_result_id: str = ""
    output: _EveryOutput | None = None
    messages: list[Any] | None = None
    answer_attribution: list[dict[str, Any]] = []
    token_usage: dict[str, Any] = {}
    performance: dict[str, Any] = {}
    error: str | None = None
    metadata: dict[str, Any] = {}


_is_every_eval_ever = holding("evaluation_id sample_id model_id interaction_type")


@log_reader("every-eval-ever", _is_every_eval_ever)
def every_eval_ever(content: Content, reading: LogReading) -> Iterator[Row]:
    """Yield the samples; one that several metrics scored has a line for each."""
    rows: dict[tuple[str, str, str, int], Row] = {}
    lines: Counter[tuple[str, ...]] = Counter()
    for record in content.records():
        value = record.value()
        sample = convert_to(_EverySample, value, record.where)
        aspect = sample.evaluation_result_id or sample.evaluation_name
        place = sample.evaluation_id, sample.model_id, str(sample.sample_id)
        lines[*place, aspect] += 1
        label = {True: "pass", False: "fail", None: None}[sample.evaluation.is_correct]
        grade = graded(aspect, sample.evaluation.score, "", label=label)
        row = rows.get((*place, lines[*place, aspect]))
        if row is not None:
            row.grades.append(grade)
            continue
        listed = messages_in(sample.messages)
        steps = steps_of_messages(listed, reading)
        latency = number_of(sample.performance.get("latency_ms"))
        answer = _every_answer(sample, listed)
        rows[*place, lines[*place, aspect]] = Row(
            record.where,
            sample.input.raw,
            # An agent is scored by what it did, too, so that the score of one that says nothing stands.
            "" if answer is None and steps else answer,
            sample.input.reference,
            run=sample.model_id,
            grades=[grade],
            facts=facts_in(sample.metadata),
            ids={"sample_id": place[-1]},
            failed=(sample.error or "")[:200],
            stopped=NO_ANSWER if answer is None else "",
            spent=spent_as(
                input_tokens=sample.token_usage.get("input_tokens"),
                output_tokens=sample.token_usage.get("output_tokens"),
                seconds=None if latency is None else latency / 1000,
            ),
            steps=steps,
            record=value,
        )
    yield from rows.values()


def _every_answer(sample: _EverySample, listed: list[dict[str, Any]]) -> str | None:
    """Return what the model said last; of an agent that answers by calling a tool, what was taken of that."""
    if sample.output is not None:
        return next(iter(sample.output.raw), None)
    answer = answer_of(listed)
    taken = [part.get("extracted_value") for part in sample.answer_attribution if part.get("is_terminal")]
    return answer if answer is not None else next((text for text in taken if isinstance(text, str)), None)
