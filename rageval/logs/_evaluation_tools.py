"""Logs of tools that evaluate: promptfoo, inspect_ai, ragas, deepeval, lm-eval, AutoRAG, open-rag-eval.

A part a tool: the records that it writes, and the reader that yields a row an answer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from typing import Any

import msgspec

from rageval.core.remark import Remark
from rageval.errors import InputError, Place
from rageval.logs._content import Content, Record
from rageval.logs.paths import literal, parsed_json
from rageval.logs.rows import (
    SPENT,
    Grade,
    LoggedTurn,
    LogReading,
    Passage,
    Row,
    convert_to,
    each_of,
    facts_in,
    folded,
    graded,
    holding,
    ids_in,
    is_id,
    last_text_of,
    list_of,
    log_reader,
    number_of,
    rows_of_turns,
    spent_as,
    text_of,
    turns_in,
)
from rageval.logs.steps import messages_in, steps_of_messages

# Results of promptfoo, `-o results.json`, `-o results.jsonl` or `-o results.csv`.

_PROMPTFOO_ERROR = 2  # its failureReason; 1 is an assertion that failed
_VARIABLES_ASKED = ("question", "query", "input", "prompt")
# Variables that hold passages tell no questions apart; one that is a list multiplies tests.
_VARIABLES_RETRIEVED = ("context", "contexts", "passages", "documents", "docs", "chunks", "retrieved")


class _Assertion(msgspec.Struct):
    metric: Any = None
    provider: Any = None

    @property
    def is_by_model(self) -> bool:
        """Whether it names the model that it asks."""
        return isinstance(self.provider, str) and bool(self.provider.strip())


class _Component(msgspec.Struct):
    passed: bool | None = msgspec.field(default=None, name="pass")
    reason: str | None = None
    assertion: _Assertion | None = None


class _Grading(msgspec.Struct):
    passed: bool | None = msgspec.field(default=None, name="pass")
    reason: str | None = None
    components: list[_Component | None] | None = msgspec.field(default=None, name="componentResults")


class _Provider(msgspec.Struct):
    id: str = ""
    label: str | None = None


class _TokenUsage(msgspec.Struct):
    prompt: Any = None
    completion: Any = None


class _Response(msgspec.Struct, rename="camel"):
    output: Any = None
    token_usage: _TokenUsage | None = None


class _PromptfooTest(msgspec.Struct):
    description: str | None = None
    metadata: dict[str, Any] | None = None


class _Result(msgspec.Struct, rename="camel"):
    vars: dict[str, Any]
    prompt_idx: int
    test_idx: int
    provider: _Provider | str = ""
    response: _Response | None = None
    grading_result: _Grading | None = None
    named_scores: dict[str, Any] | None = None
    score: float | None = None
    failure_reason: int | None = None
    error: str | None = None
    test_case: _PromptfooTest | None = None
    cost: Any = None
    latency_ms: Any = None


_OUTPUT = ("Status", "Score", "Named Scores")  # what follows the output of each system in a CSV


def _is_promptfoo(content: Content) -> bool:
    first = content.first
    if content.is_table:
        return set(_OUTPUT) <= set(first.keys())
    if first.get("promptIdx") and first.get("testIdx") and first.get("gradingResult"):
        return True
    version = first.at("results", "version")
    return version is not None and version.value() == 3 and first.at("results", "results") is not None


@log_reader("promptfoo", _is_promptfoo)
def promptfoo(content: Content, reading: LogReading) -> Iterator[Row]:
    """Yield the results, lines of their own or within the one value of a whole evaluation."""
    if content.is_table:
        yield from _promptfoo_table(content)
        return
    if content.first.get("results") is None:
        records: Iterable[Record] = content.records()
    else:
        version = content.first.at("metadata", "promptfooVersion")
        reading.version = str(version.value()) if version else ""
        records = each_of(content, "results", "results")
    for record in records:
        value = record.value()
        result = convert_to(_Result, value, record.where)
        provider = result.provider
        test = result.test_case or _PromptfooTest()
        question, key = _promptfoo_question(result.vars)
        output = result.response.output if result.response else None
        error = result.error or "error" if result.failure_reason == _PROMPTFOO_ERROR else ""
        if output is None:
            error = error or result.error or ""
        tokens = (result.response and result.response.token_usage) or _TokenUsage()
        latency = number_of(result.latency_ms)
        yield Row(
            record.where,
            question,
            None if output is None else _as_text(output),
            variant=f"prompt{result.prompt_idx}",
            run=provider if isinstance(provider, str) else provider.label or provider.id,
            # One that failed has a score of 0, and none of the named ones that all others have.
            grades=[] if result.failure_reason == _PROMPTFOO_ERROR else list(_promptfoo_grades(result)),
            facts=facts_in(test.metadata),
            ids=ids_in(result.vars) | ({"description": test.description} if test.description else {})
            | ids_in(test.metadata),
            key=key,
            failed=error,
            spent=spent_as(
                cost=result.cost,
                input_tokens=tokens.prompt,
                output_tokens=tokens.completion,
                seconds=None if latency is None else latency / 1000,
            ),
            record=value,
        )  # fmt: skip


def _promptfoo_question(variables: Mapping[str, Any]) -> tuple[str, str]:
    """Return the question of a test, and what tells tests apart."""
    # The prompt has the variables filled in; the question is the one variable that is called so.
    asked = [variables[name] for name in _VARIABLES_ASKED if isinstance(variables.get(name), str)]
    question = asked[0] if len(asked) == 1 else ""
    # What tells tests apart: their variables but for passages, and for what are mere ids.
    kept = {
        name: value
        for name, value in variables.items()
        if name.lower() not in _VARIABLES_RETRIEVED and not is_id(name)
    }
    only_asked = len(kept) == 1 and question in kept.values()
    return question, folded(question) if only_asked else msgspec.json.encode(kept, order="sorted").decode()


_SYSTEM = re.compile(r"\[(?P<provider>[^\]]+)\] .*", re.DOTALL)
# promptfoo writes an apostrophe before a text that a spreadsheet would take for a formula.
_FORMULA_ESCAPE = re.compile(r"\A'(?=[\s\u200b-\u200d]*[=@+-])")


def _promptfoo_table(content: Content) -> Iterator[Row]:
    """Yield the answers of a CSV: after the output of each system come its status, scores and reason."""
    columns = content.first.keys()
    output_columns = [
        start - 1
        for start in range(1, len(columns) - 2)
        if tuple(name.partition(".")[0] for name in columns[start : start + 3]) == _OUTPUT
    ]
    if not output_columns:
        raise InputError(at=content.first.where, expected=f"{', '.join(_OUTPUT)} behind each output")
    variable_names = [name for name in columns[: output_columns[0]] if name != "Description"]
    for record in content.records():
        cells = {name: _promptfoo_cell(value) for name, value in record.object().items()}
        variables = {name: cells[name] for name in variable_names}
        question, key = _promptfoo_question(variables)
        description = text_of(cells.get("Description"))
        for number, output_column in enumerate(output_columns):
            end = output_columns[number + 1] if number + 1 < len(output_columns) else len(columns)
            fields = {name.partition(".")[0]: cells[name] for name in columns[output_column + 1 : end]}
            if not fields["Status"]:
                continue  # a system that was not asked this
            system = _SYSTEM.fullmatch(columns[output_column])
            output = _as_text(cells[columns[output_column]])
            has_failed = fields["Status"] == "ERROR"
            yield Row(
                record.where,
                question,
                None if has_failed else output,
                run=system["provider"] if system else "",
                variant=f"prompt{number}",
                grades=[] if has_failed else _grades_of_columns(fields, record.where),
                ids=ids_in(variables) | ({"description": description} if description else {}),
                key=key,
                failed=(_as_text(fields.get("Grader Reason", "")) or output or "error") if has_failed else "",
                record=cells,
            )


def _promptfoo_cell(value: Any) -> Any:
    """Return a cell of a CSV, unescaped; in Parquet, a cell may be a number, and an empty one is null."""
    if value is None or value != value:
        return ""
    return _FORMULA_ESCAPE.sub("", value) if isinstance(value, str) else value


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _grades_of_columns(fields: Mapping[str, Any], row: Place) -> list[Grade]:
    """Return the named scores of an output; its one score, if there are none."""
    where, named_scores = row.below("Named Scores"), fields["Named Scores"] or {}
    if isinstance(named_scores, str):
        named_scores = parsed_json(named_scores, where)
    if not isinstance(named_scores, dict):
        raise InputError(at=where, expected="an object of scores", found=f"{named_scores!r:.80}")
    if named_scores:
        return [graded(name, value, "") for name, value in named_scores.items()]
    label = {"PASS": "pass", "FAIL": "fail"}.get(str(fields["Status"]))
    return [graded("score", fields["Score"], "", _as_text(fields.get("Grader Reason", "")), label)]


def _promptfoo_grades(result: _Result) -> Iterator[Grade]:
    grading = result.grading_result or _Grading()
    components = [component for component in grading.components or () if component is not None]
    for name, value in (result.named_scores or {}).items():
        own = [
            component
            for component in components
            if component.assertion and component.assertion.metric == name
        ]
        passed = [component.passed for component in own if component.passed is not None]
        label = ("pass" if all(passed) else "fail") if passed else None
        reason = "; ".join(component.reason for component in own if component.reason)
        models = {
            component.assertion.provider
            for component in own
            if component.assertion and component.assertion.is_by_model
        }
        # A score that two models share is neither's.
        judge = f"promptfoo:{models.pop()}" if len(models) == 1 else ""
        yield graded(name, value, judge, reason, label)
    if not result.named_scores and result.score is not None:
        label = {True: "pass", False: "fail", None: None}[grading.passed]
        yield graded("score", result.score, "", grading.reason or "", label)


# Logs of inspect_ai: JSON, or `.eval`, which is a zip.

_SAMPLE = re.compile(r"samples/(?P<id>[^/]+)_epoch_(?P<epoch>\d{1,9})\.json")
_WORTH = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}  # correct, partial, incorrect, no answer
_ATTACHED = "attachment://"


class _InspectScore(msgspec.Struct):
    value: Any = None
    explanation: str | None = None


class _Output(msgspec.Struct):
    completion: str | None = None
    choices: list[Any] = []
    error: str | None = None


class _InspectSample(msgspec.Struct):
    id: str | int
    epoch: int
    input: str | list[Any]
    target: str | list[str] = ""
    output: _Output | None = None
    scores: dict[str, _InspectScore] | None = None
    metadata: dict[str, Any] | None = None
    error: Any = None
    attachments: dict[str, str] = {}
    messages: list[Any] = []
    limit: Any = None
    model_usage: dict[str, dict[str, Any]] = {}
    uuid: str | None = None


def _is_inspect(content: Content) -> bool:
    if content.form == "zip":
        return "header.json" in content.members
    version = content.first.get("version")
    return content.first.at("eval", "task") is not None and version is not None and version.value() == 2


@log_reader("inspect", _is_inspect)
def inspect(content: Content, reading: LogReading) -> Iterator[Row]:
    """Yield the samples, epoch by epoch, in the order of the dataset."""
    header, samples = _inspect_parts(content)
    version = header.at("eval", "packages", "inspect_ai")
    reading.version = str(version.value()) if version else ""
    task, model = (_plain_text(header.at("eval", name)) for name in ("task", "model"))
    # The model that a scorer asks, by the scorer's name; none where it asks none.
    judges = {}
    scorers = header.at("eval", "scorers")
    for scorer in scorers.each() if scorers else ():
        judge = _plain_text(scorer.at("options", "model"))
        if judge:
            judges[_plain_text(scorer.get("name"))] = f"inspect:{judge}"
    for record in samples:
        value = record.value()
        if isinstance(value, dict) and value.get("attachments"):
            value = _restore_attachments(value, value["attachments"])
        sample = convert_to(_InspectSample, value, record.where)
        output = sample.output or _Output()
        error = sample.error
        if isinstance(error, dict):
            error = error.get("message") or "error"
        failed = str(error)[:200] if error else output.error or ""
        if not failed and not output.choices and not output.completion:
            failed = "no output"
        question = sample.input if isinstance(sample.input, str) else last_text_of(sample.input, "user") or ""
        # What stands in the prompt, such as examples of answers, is no step.
        messages = [
            message
            for message in messages_in(sample.messages)
            if message["role"] != "assistant" or message.get("source") != "input"
        ]
        # Models that grade are counted there, too, under their own names.
        about = sample.model_usage.get(model) or {}
        yield Row(
            record.where,
            question,
            None if failed else output.completion or "",
            list_of(sample.target),
            run=f"{model}+{task}",
            repeat=str(sample.epoch),
            grades=list(_inspect_grades(judges, sample.scores or {})),
            facts=facts_in(sample.metadata),
            ids={"id": str(sample.id)} | ids_in(sample.metadata),
            failed=failed,
            lacks_failed=True,  # every scorer is asked about every sample
            spent=spent_as(
                cost=about.get("total_cost"),
                input_tokens=about.get("input_tokens"),
                output_tokens=about.get("output_tokens"),
            ),
            stopped="a limit" if sample.limit else "",
            steps=steps_of_messages(messages, reading),
            record=value,
        )
    status = _plain_text(header.get("status"))
    if status not in ("success", ""):
        reading.remarks.append(Remark("log_without_success", facts={"status": status}))


def _inspect_parts(content: Content) -> tuple[Record, Iterator[Record]]:
    """Return the header, and the samples in the dataset's order: a zip has them as they were finished."""
    if content.form != "zip" or content.member is None:
        samples = content.first.get("samples")
        entries = []
        place_of = _places(content.first)
        for sample in samples.each() if samples else ():
            epoch = _plain_text(sample.get("epoch"))
            # One that is no number is refused when the sample is read.
            is_number = epoch.isascii() and epoch.isdigit() and len(epoch) < 10
            entries.append((int(epoch) if is_number else 0, place_of(_plain_text(sample.get("id"))), sample))
        entries.sort(key=lambda entry: entry[:2])
        return content.first, (sample for _, _, sample in entries)
    header, read = content.member("header.json"), content.member
    place_of = _places(header)
    members = [match for name in content.members if (match := _SAMPLE.fullmatch(name))]
    members.sort(key=lambda member: (int(member["epoch"]), place_of(member["id"])))
    return header, (read(member[0]) for member in members)


def _places(header: Record) -> Callable[[str], int]:
    order = header.at("eval", "dataset", "sample_ids")
    places = {_plain_text(name): index for index, name in enumerate(order.each() if order else ())}
    return lambda name: places.get(name, len(places))


def _plain_text(record: Record | None) -> str:
    value = record.value() if record else ""
    return str(value) if isinstance(value, str | int) else ""


def _restore_attachments(value: Any, attached: Any) -> Any:
    """Return a value with its long texts, which inspect keeps apart, back in their places."""
    if isinstance(value, str):
        return attached.get(value.removeprefix(_ATTACHED), value) if value.startswith(_ATTACHED) else value
    if isinstance(value, list):
        return [_restore_attachments(item, attached) for item in value]
    if isinstance(value, dict):
        return {
            name: item if name == "attachments" else _restore_attachments(item, attached)
            for name, item in value.items()
        }
    return value


def _inspect_grades(judges: Mapping[str, str], scores: Mapping[str, _InspectScore]) -> Iterator[Grade]:
    for name, score in scores.items():
        judge, reason = judges.get(name, ""), score.explanation or ""
        values = score.value if isinstance(score.value, dict) else {name: score.value}
        for aspect, value in values.items():
            if isinstance(value, str) and value in _WORTH:  # the letter stays beside what it is worth
                yield Grade(aspect, _WORTH[value], value, judge, reason)
            elif isinstance(value, list):
                yield Grade(aspect, None, None, judge, "a list of values, expected one")
            else:
                yield graded(aspect, value, judge, reason)


# Data sets and results of ragas: JSON lines, CSV or Parquet; rows have no id.

_RAGAS_TEXTS = ("user_input", "response", "reference")
_RAGAS_LISTS = ("retrieved_contexts", "retrieved_context_ids", "reference_contexts", "reference_context_ids")
_RAGAS_OTHER = (
    *("rubrics", "multi_responses", "reference_tool_calls", "synthesizer_name", "persona_name"),
    *("", "index", "Unnamed: 0"),  # the rows' numbers, as pandas writes them
    *SPENT,
)
_CONVERSATION = "[{'content': "  # how one begins in a CSV, as Python writes it
_has_ragas_fields = holding("user_input response", "user_input retrieved_contexts")


def _is_ragas(content: Content) -> bool:
    if _has_ragas_fields(content):
        return True
    # Beside a conversation nothing else need be there.
    asked = content.first.get("user_input")
    value = asked.value() if asked else ""
    return value.startswith(_CONVERSATION) if isinstance(value, str) else isinstance(value, list)


@log_reader("ragas", _is_ragas)
def ragas(content: Content, reading: LogReading) -> Iterator[Row]:
    """Yield the rows; any column that is no field may be a metric."""
    fields = {*_RAGAS_TEXTS, *_RAGAS_LISTS, *_RAGAS_OTHER}
    lost = 0
    for record in content.records():
        where, cells = record.where, record.object()
        grades = reading.columns.grades(cells, lambda name: name in fields or is_id(name))
        conversation, turns = cells.get("user_input"), list[LoggedTurn]()
        if isinstance(conversation, str) and conversation.startswith(_CONVERSATION):
            conversation = literal(conversation, where.below("user_input"))
        if isinstance(conversation, list):
            turns = turns_in(messages_in(conversation))
            if not turns:
                raise InputError(at=where, expected="a question in user_input", found="none")
            asked = turns[0]._replace(answer=cells.get("response") or turns[0].answer)
            turns = [asked] if len(turns) == 1 else turns
            cells = cells | {"user_input": asked.question, "response": asked.answer}
        texts: dict[str, str | None] = {}
        for name in _RAGAS_TEXTS:
            text = cells.get(name)
            if text is None or text != text:  # pandas has NaN where there is no text
                text = None
            elif not isinstance(text, str):
                raise InputError(at=where, expected=f"a text as {name}", found=f"{text!r:.80}")
            texts[name] = text
        lists: dict[str, list[Any]] = {name: [] for name in _RAGAS_LISTS}
        for name in _RAGAS_LISTS:
            value = cells.get(name)
            items: Any = value or []
            if not items:
                continue
            if isinstance(value, str) and value.strip():  # in a CSV, as Python writes a list
                items = literal(value, where.below(name))
            kinds = str | int if name.endswith("ids") else str
            if not isinstance(items, list) or not all(isinstance(item, kinds) for item in items):
                raise InputError(at=where, expected=f"a list of texts as {name}", found=f"{value!r:.80}")
            lists[name] = items
        lost += len(lists["reference_contexts"]) if not lists["reference_context_ids"] else 0
        ids = lists["retrieved_context_ids"]
        contexts = lists["retrieved_contexts"]
        if ids and contexts and len(ids) != len(contexts):
            raise InputError(at=where, expected="as many retrieved_context_ids as texts", found=f"{len(ids)}")
        number = max(len(ids), len(contexts))  # the order is the rank: ragas keeps no scores
        passages = (
            [
                Passage(text, text_of(doc))
                for text, doc in zip(contexts or [""] * number, ids or [""] * number, strict=True)
            ]
            if ids
            else [*map(Passage, contexts)]
        )
        row = Row(
            where,
            texts["user_input"] or "",
            texts["response"],
            list_of(texts["reference"]),
            contexts=passages,
            grades=grades,
            relevant=[[text_of(doc)] for doc in lists["reference_context_ids"]],
            ids=ids_in(cells),
            spent=spent_as(**{name: cells[name] for name in SPENT if name in cells}),
            record=cells,
        )
        for of_turn, turn in rows_of_turns(row, turns, reading):
            of_turn.steps = [] if turn is None else steps_of_messages(turn.messages, reading)
            yield of_turn
    if lost:
        reading.remarks.append(Remark("references_without_ids", facts={"number": lost}))


# Test runs of deepeval (`.latest_test_run.json`, a results folder's files), what its `evaluate()` returns
# (names are spelled otherwise there), and its datasets.


class _Metric(msgspec.Struct):
    name: str
    score: float | None = None
    success: bool | None = None
    error: str | None = None
    reason: str | None = None
    evaluation_model: str | None = None


class _Case(msgspec.Struct):
    input: str | None = None
    name: str | None = None
    actual_output: str | None = None
    expected_output: str | None = None
    retrieval_context: list[str] | str | None = None
    metrics_data: list[_Metric] | None = None
    metadata: dict[str, Any] | None = None
    additional_metadata: dict[str, Any] | str | None = None  # of a dataset
    turns: list[dict[str, Any]] | str | None = None
    token_cost: Any = None
    input_token_count: Any = None
    output_token_count: Any = None
    completion_time: Any = None


_DEEPEVAL_PLACES = (("testCases",), ("testRunData", "testCases"), ("test_results",))
_is_deepeval = holding(*map(".".join, _DEEPEVAL_PLACES), "actual_output input", "scenario turns")


@log_reader("deepeval", _is_deepeval)
def deepeval(content: Content, reading: LogReading) -> Iterator[Row]:
    """Yield the cases of a test run, or the rows of a dataset."""
    path = next((path for path in _DEEPEVAL_PLACES if content.first.at(*path) is not None), None)
    talks = (*path[:-1], "conversationalTestCases") if path else ()
    for record in (
        content.records() if path is None else chain(each_of(content, *path), each_of(content, *talks))
    ):
        value = record.value()
        case = convert_to(_Case, _snake(value), record.where)
        about = case.metadata or case.additional_metadata
        turns = list[LoggedTurn]()
        if case.input is None:
            messages: Any = case.turns
            if isinstance(messages, str) and messages.startswith("["):
                messages = parsed_json(messages, record.where)
            turns = turns_in(messages if isinstance(messages, list) else ())
            if not turns:
                raise InputError(
                    at=record.where, expected="an input, or turns of a conversation", found="neither"
                )
        metrics = case.metrics_data or []
        grades = []
        for metric in metrics:
            judge = f"deepeval:{metric.evaluation_model}" if metric.evaluation_model else ""
            score = number_of(metric.score)
            # One that raised has no score, and `success: false`: taken for a verdict, an error would be a 0.
            if metric.error or score is None:
                grades.append(Grade(metric.name, judge=judge, reason=metric.error or "no score"))
                continue
            label = {True: "pass", False: "fail", None: None}[metric.success]
            grades.append(Grade(metric.name, score, label, judge, metric.reason or ""))
        row = Row(
            record.where,
            case.input or "",
            case.actual_output,
            [case.expected_output] if case.expected_output else [],
            conversation=(case.name or "") * (len(turns) > 1),
            contexts=_deepeval_contexts(case.retrieval_context, reading, record.where),
            grades=grades,
            facts=facts_in(about),
            ids=({"name": case.name} if case.name else {}) | ids_in(about),
            lacks_failed=path is not None and not metrics,
            spent=spent_as(
                cost=case.token_cost,
                input_tokens=case.input_token_count,
                output_tokens=case.output_token_count,
                seconds=case.completion_time,
            ),
            record=value,
        )
        for of_turn, turn in rows_of_turns(row, turns, reading):
            if turn is not None:
                names = ("retrievalContext", "retrieval_context")
                retrieved = (message.get(name) for message in turn.messages for name in names)
                contexts = next(filter(None, retrieved), None)
                if not isinstance(contexts, list | str | None):
                    raise InputError(
                        at=record.where, expected="texts as retrieval_context", found=f"{contexts!r:.80}"
                    )
                of_turn.contexts = _deepeval_contexts(contexts, reading, record.where)
            yield of_turn


_HUMP = re.compile("(?<=[a-z])(?=[A-Z])")


def _snake(value: Any) -> Any:
    """Return a case with names as Python writes them: `actual_output` for `actualOutput`."""
    if not isinstance(value, dict):
        return value
    plain = {_HUMP.sub("_", name).lower(): inner for name, inner in value.items()}
    if isinstance(metrics := plain.get("metrics_data"), list):
        plain["metrics_data"] = list(map(_snake, metrics))
    return plain


def _deepeval_contexts(contexts: list[str] | str | None, reading: LogReading, where: Place) -> list[Passage]:
    """Return the passages; those of a dataset may be joined by bars, which may also stand in a passage."""
    if isinstance(contexts, str):
        mark = reading.split.get("contexts")
        if mark is None and "|" in contexts:
            raise InputError(
                at=where,
                problem="retrieval_context is one text with |, with which deepeval joins passages, and"
                " which a passage may contain, too",
                remedy="use --split 'contexts=|' if none does",
            )
        contexts = [text for text in contexts.split(mark) if text.strip()] if mark else [contexts]
    return [Passage(text) for text in contexts or () if text]


# Samples of lm-evaluation-harness (`--log_samples`): one file a task.


class _LmEvalSample(msgspec.Struct):
    doc_id: int
    filtered_resps: list[Any]
    doc: dict[str, Any] = {}
    target: Any = None
    arguments: Any = None
    resps: list[Any] = []
    filter: str = ""
    metrics: list[str] = []


@log_reader("lm-eval", holding("doc_id filtered_resps doc_hash"))
def lm_eval(content: Content, reading: LogReading) -> Iterator[Row]:
    """Yield the answers that the metrics are of: one a sample, or all repeats where the filter keeps them."""
    for record in content.records():
        value = record.value()
        sample = convert_to(_LmEvalSample, value, record.where)
        first = sample.filtered_resps[0] if sample.filtered_resps else None
        # An answer that is null is none.
        answers = (first or [None]) if isinstance(first, list) else [first]
        if not all(answer is None or isinstance(answer, str) for answer in answers):
            reading.left_out["log-likelihoods, which are not answers"] += 1
            continue
        scores = {name: value.get(name) for name in sample.metrics}
        # What an aggregate is made of later, such as pairs of a prediction and its target, is no score.
        lists = [name for name, score in scores.items() if isinstance(score, list | dict)]
        reading.left_out["metrics that are not numbers"] += len(lists)
        scores = {name: score for name, score in scores.items() if name not in lists}
        named = (sample.doc.get(name) for name in ("question", "query"))
        question = next((text for text in named if isinstance(text, str)), None)
        if question is None:  # then the prompt stands for it, of which the question is a part
            arguments = sample.arguments
            generated = arguments.get("gen_args_0") if isinstance(arguments, dict) else None
            prompt = generated.get("arg_0") if isinstance(generated, dict) else None
            question = prompt if isinstance(prompt, str) else ""
        for answer in answers:
            yield Row(
                record.where,
                question,
                answer,
                [str(sample.target)] if isinstance(sample.target, int | float) else list_of(sample.target),
                variant=sample.filter,  # each filter makes another answer of the same response
                grades=[graded(name, score, "") for name, score in scores.items()],
                ids=ids_in(sample.doc),
                record=value,
            )


# Tables of AutoRAG (Parquet): the best results of its nodes, with what should have been retrieved.

_AUTORAG_FIELDS = {
    *("qid", "query", "retrieval_gt", "generation_gt", "generated_texts", "generated_tokens"),
    *("generated_log_probs", "retrieved_contents", "retrieved_ids", "retrieve_scores", "prompts"),
}


@log_reader("autorag", holding("retrieved_ids retrieved_contents query"))
def autorag(content: Content, reading: LogReading) -> Iterator[Row]:
    """Yield the rows; the columns that are no fields and hold no times are metrics."""
    for record in content.records():
        where, cells = record.where, record.object()
        grades = reading.columns.grades(cells, lambda name: name in _AUTORAG_FIELDS or name.endswith("time"))
        texts = _list_in_cell(cells, "retrieved_contents", where, (str, type(None)))
        docs = _list_in_cell(cells, "retrieved_ids", where)
        scores = _list_in_cell(cells, "retrieve_scores", where) or [None] * len(texts)  # nothing was scored
        counts = [len(texts), len(docs), len(scores)]
        if len(set(counts)) > 1:
            raise InputError(at=where, expected="as many texts as ids and scores", found=f"{counts}")
        # Of each list of documents any one is enough: a nugget each. A question without any has [[]].
        gold = cells.get("retrieval_gt")
        groups = gold if isinstance(gold, list) else []
        if not all(isinstance(group, list) for group in groups):
            raise InputError(
                at=where, expected="as retrieval_gt a list of lists of ids", found=f"{gold!r:.80}"
            )
        relevant = [[text_of(doc) for doc in group if text_of(doc)] for group in groups]
        answer, query_id = cells.get("generated_texts"), text_of(cells.get("qid"))
        yield Row(
            where,
            text_of(cells.get("query")),
            answer if isinstance(answer, str) else None,
            list_of(cells.get("generation_gt") or []),
            contexts=[
                Passage(text or "", text_of(doc), number_of(score))
                for text, doc, score in zip(texts, docs, scores, strict=True)
            ],
            grades=grades,
            ids={"qid": query_id} if query_id else {},
            relevant=[group for group in relevant if group],
            record=cells,
        )


def _list_in_cell(
    cells: Mapping[str, Any], column: str, where: Place, kinds: tuple[type, ...] = (object,)
) -> list[Any]:
    """Return the list in a cell; an empty one if the cell is empty."""
    value = cells.get(column)
    if value in (None, "") or value != value:  # pandas writes NaN in an empty cell
        return []
    if not isinstance(value, list) or not all(isinstance(item, kinds) for item in value):
        raise InputError(at=where, expected=f"a list as {column}", found=f"{value!r:.80}")
    return value


# Results of open-rag-eval (CSV): a row a passage, the answer in the first, citing passages as [1].

_NO_ANSWER_OF_OPEN_RAG_EVAL = ("NO_ANSWER", "API_ERROR")
_COLUMNS_OF_OPEN_RAG_EVAL = ("query_id", "query", "query_run", "passage_id", "passage", "generated_answer")


@log_reader("open-rag-eval", holding("query_run passage_id"))
def open_rag_eval(content: Content, reading: LogReading) -> Iterator[Row]:
    """Yield the answers, each of several rows."""
    needed = _COLUMNS_OF_OPEN_RAG_EVAL
    rows: dict[tuple[str, str], Row] = {}
    for record in content.records():
        cells: dict[str, Any] = record.object()
        lacking = [name for name in needed if name not in cells]
        if lacking:
            raise InputError(at=record.where, expected=f"the columns {', '.join(lacking)}, too")
        reading.unread.update(name for name, cell in cells.items() if cell and name not in needed)
        texts = {name: _text_in_cell(cells[name], name, record.where) for name in needed}
        # The rows of a query in one run are one answer; each has another passage.
        place = texts["query_id"], texts["query_run"]
        row = rows.get(place)
        if row is None:
            row = rows[place] = Row(
                record.where,
                texts["query"],
                run="",
                repeat=place[1],
                ids={"query_id": place[0]},
                # The same question stands under two ids in its own example.
                key=place[0],
                record=cells,
            )
        if texts["passage"]:
            number = texts["passage_id"].strip().strip("[]")
            row.cites[number] = len(row.contexts)
            row.contexts.append(Passage(texts["passage"]))
        answer = texts["generated_answer"].strip()
        if answer in _NO_ANSWER_OF_OPEN_RAG_EVAL:
            row.failed = answer
        elif answer or row.answer is None:
            row.answer = answer  # it stands in the first row of each; in all others the cell is empty
    yield from rows.values()


def _text_in_cell(value: Any, column: str, where: Place) -> str:
    """Return the text of a cell; whole numbers are ids, which pandas may have turned into floats."""
    if value is None or value != value:
        return ""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise InputError(at=where, expected=f"a text as {column}", found=f"{value!r:.80}")
    return str(value)
