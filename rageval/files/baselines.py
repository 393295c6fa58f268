"""Baselines: what a system scored when somebody was content with it, a line a question.

A header says what the values were made with, and how many lines follow. Lines are sorted by question, and
keys by name, so that a diff shows which questions changed; there are ids, and no texts.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from rageval.errors import InputError
from rageval.files.jsonl import as_line, read_records
from rageval.files.opening import Source, name_of
from rageval.text import problem_of_id, visible

_FORM = 1
_EXPECTED = "a baseline: a header {baseline, measures, questions, …}, then lines {query_id, values}"
_Ends = tuple[float, float]


class BaselineHeader(msgspec.Struct, omit_defaults=True, kw_only=True):
    """What the values of a baseline were made with.

    `measures` are signatures by name, `judgements` is the SHA-256 of the judgements of documents, `gold` says
    which labels of people stand beside the judge's, `known` is the SHA-256 of the questions. `unjudged` is
    the share of the top documents that nobody judged, `bounds` between what the means lie whatever these are.
    """

    baseline: int = _FORM
    measures: dict[str, str]
    questions: int
    run: str = ""
    version: str = ""
    date: str = ""
    judges: list[str] = []
    rubrics: list[str] = []
    judgements: str = ""
    gold: str = ""
    labelled_by: list[str] = []
    known: str = ""
    unjudged: float | None = None
    bounds: dict[str, _Ends] = {}


class BaselineLine(msgspec.Struct, omit_defaults=True, kw_only=True):
    """What one question scored: a value a measure, None where it is not defined.

    `between` is where judgements are missing, `people` what people's labels come to. `same` tells rankings,
    or judged answers, that are the same from others, `nuggets` lists of nuggets. An `absent` question is one
    of which the run said nothing.
    """

    query_id: str
    values: dict[str, float | None]
    between: dict[str, _Ends] = {}
    people: dict[str, float] = {}
    facts: dict[str, str] = {}
    repeats: int = 1
    absent: bool = False
    same: str = ""
    nuggets: str = ""


class Baseline(NamedTuple):
    """A baseline as its file has it."""

    header: BaselineHeader
    lines: Sequence[BaselineLine]


def baseline_lines(baseline: Baseline) -> Iterator[str]:
    """Yield the lines of the file."""
    yield _line(baseline.header)
    for line in sorted(baseline.lines, key=lambda line: line.query_id):
        yield _line(line)


def _line(record: Any) -> str:
    found = msgspec.to_builtins(record)
    return as_line({"baseline": _FORM, **found} if "measures" in found else found)


def read_baseline(source: Source) -> Baseline:
    """Read a baseline; InputError where it is none, is cut off, or contradicts itself."""
    name = name_of(source)
    records = read_records(source, dict[str, msgspec.Raw], _EXPECTED)
    first = next(records, None)
    if first is None or "baseline" not in first[1]:
        raise InputError(f"{name}:1: expected {_EXPECTED}; write one with rageval gate … --save-baseline")
    header = _converted(first, BaselineHeader, name)
    if header.baseline != _FORM:
        raise InputError(
            f"{name}:1: is a baseline of form {header.baseline}, expected {_FORM}; save it again"
        )
    lines = list(_checked(records, header, name))
    if len(lines) != header.questions:
        raise InputError(
            f"{name}: holds {len(lines):,} questions, expected {header.questions:,}, as line 1 says"
        )
    return Baseline(header, lines)


def _checked(
    records: Iterable[tuple[int, dict[str, msgspec.Raw]]], header: BaselineHeader, name: str
) -> Iterator[BaselineLine]:
    seen: dict[str, int] = {}
    for number, record in records:
        line = _converted((number, record), BaselineLine, name)
        if (problem := problem_of_id(line.query_id)) is not None:
            raise InputError(f"{name}:{number}: expected as query_id {problem}")
        first = seen.setdefault(line.query_id, number)
        if first != number:
            raise InputError(
                f"{name}:{number}: question {visible(line.query_id)} stands in line {first}, too; expected it"
                " once"
            )
        if line.values.keys() != header.measures.keys():
            raise InputError(
                f"{name}:{number}: expected values of {', '.join(map(visible, header.measures))}, found"
                f" {', '.join(map(visible, line.values)) or 'none'}"
            )
        numbers = [*line.values.values(), *line.people.values(), *sum(line.between.values(), ())]
        if any(value is not None and not math.isfinite(value) for value in numbers):
            raise InputError(f"{name}:{number}: expected finite numbers, or null")
        yield line


def _converted(record: tuple[int, dict[str, msgspec.Raw]], form: Any, name: str) -> Any:
    number, fields = record
    try:
        return msgspec.convert({key: msgspec.json.decode(raw) for key, raw in fields.items()}, form)
    except (ValueError, RecursionError) as error:  # msgspec's errors are ValueErrors
        raise InputError(f"{name}:{number}: expected {_EXPECTED}; {visible(str(error))[:200]}") from None
