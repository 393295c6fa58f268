"""Results of promptfoo, `-o results.json` or `-o results.jsonl`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from rageval.logs._content import Content, Record
from rageval.logs.rows import (
    Grade,
    LogReader,
    LogReading,
    Row,
    each_of,
    facts_in,
    folded,
    graded,
    ids_in,
    is_id,
    read_as,
)

_ERROR = 2  # its failureReason; 1 is an assertion that failed
_ASKED = ("question", "query", "input", "prompt")
# Variables that hold passages tell no questions apart; one that is a list multiplies tests.
_CONTEXTS = ("context", "contexts", "passages", "documents", "docs", "chunks", "retrieved")


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


class _Response(msgspec.Struct):
    output: Any = None


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


def _fits(content: Content) -> bool:
    first = content.first
    if first.get("promptIdx") and first.get("testIdx") and first.get("gradingResult"):
        return True
    version = first.at("results", "version")
    return version is not None and version.value() == 3 and first.at("results", "results") is not None


def _records(content: Content, reading: LogReading) -> Iterable[Record]:
    if content.first.get("results") is None:
        return content.records()
    version = content.first.at("metadata", "promptfooVersion")
    reading.version = str(version.value()) if version else ""
    return each_of(content, "results", "results")


def _rows(content: Content, reading: LogReading) -> Iterator[Row]:
    for record in _records(content, reading):
        value = record.value()
        row = _row(read_as(_Result, value, record.where), record.where)
        row.record = value
        yield row


def _row(result: _Result, where: str) -> Row:
    provider = result.provider
    test = result.test_case or _PromptfooTest()
    asked = [result.vars[name] for name in _ASKED if isinstance(result.vars.get(name), str)]
    output = result.response.output if result.response else None
    error = result.error or "error" if result.failure_reason == _ERROR else ""
    if output is None:
        error = error or result.error or ""
    question = asked[0] if len(asked) == 1 else ""
    return Row(
        where,
        question,
        output if isinstance(output, str) or output is None else msgspec.json.encode(output).decode(),
        variant=f"prompt{result.prompt_idx}",
        run=provider if isinstance(provider, str) else provider.label or provider.id,
        grades=list(_grades(result)),
        facts=facts_in(test.metadata),
        ids=ids_in(result.vars) | ({"description": test.description} if test.description else {})
        | ids_in(test.metadata),
        key=_key(result.vars, question),
        failed=error,
    )  # fmt: skip


def _key(variables: dict[str, Any], question: str) -> str:
    """Return what tells tests apart: their variables but for passages, and for what are mere ids."""
    kept = {
        name: value for name, value in variables.items() if name.lower() not in _CONTEXTS and not is_id(name)
    }
    only_asked = len(kept) == 1 and question in kept.values()
    return folded(question) if only_asked else msgspec.json.encode(kept, order="sorted").decode()


def _grades(result: _Result) -> Iterator[Grade]:
    grading = result.grading_result or _Grading()
    components = [each for each in grading.components or () if each is not None]
    for name, value in (result.named_scores or {}).items():
        own = [each for each in components if each.assertion and each.assertion.metric == name]
        passed = [each.passed for each in own if each.passed is not None]
        label = ("pass" if all(passed) else "fail") if passed else None
        reason = "; ".join(each.reason for each in own if each.reason)
        models = {each.assertion.provider for each in own if each.assertion and each.assertion.is_by_model}
        judge = f"promptfoo:{models.pop()}" if len(models) == 1 else ""
        yield graded(name, value, judge, reason, label)
    if not result.named_scores and result.score is not None:
        label = {True: "pass", False: "fail", None: None}[grading.passed]
        yield graded("score", result.score, "", grading.reason or "", label)


PROMPTFOO = LogReader("promptfoo", _fits, _rows)
