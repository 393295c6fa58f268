"""rageval's own judgements: JSON lines, one judgement a line; the archive and exchange format."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from operator import attrgetter
from typing import Any, Literal

import msgspec
import numpy as np

from rageval.errors import InputError
from rageval.files.jsonl import as_line, read_batches
from rageval.files.limits import DEFAULT, Limits
from rageval.files.lines import Findings, quoted
from rageval.files.opening import Source, name_of
from rageval.tables.grades import FAILED, GRADED, AnswerFacts, Grades, Rows
from rageval.text import problem_of_id

EXPECTED = "a judgement {query_id, run_id, item_id, aspect, label or grade, …}"
_LONGEST_WORD = 200  # of a label, a judge, a rubric
_BYTES_A_CHARACTER = 4  # at most, in UTF-8
Text = str | int


class JudgementLine(msgspec.Struct, gc=False):
    """What is read of a line; whatever else stands there is kept by those who copy lines."""

    query_id: Text
    run_id: Text
    item_id: Text = "answer"
    aspect: Text = "0"
    label: str | None = None
    grade: float | None = None
    status: Literal["ok", "repaired", "refused", "truncated", "filtered", "invalid", "error"] = "ok"
    judge: str = ""
    rubric: str = ""
    importance: Literal["vital", "okay"] | None = None
    weight: float | None = None
    sentences: int | None = None


def add_judgements(grades: Grades, source: Source, limits: Limits = DEFAULT) -> None:
    """Read a file of judgements into the table."""
    name = name_of(source)
    for lines, records in read_batches(source, JudgementLine, EXPECTED, limits):
        _add(grades, name, lines, records, limits)


def add_dicts(grades: Grades, judgements: Iterable[Mapping[str, Any]]) -> None:
    """Take in judgements that are already in memory, as dicts with the keys of the file."""
    found = list(judgements)
    if not found:
        return
    try:
        records = msgspec.convert(found, list[JudgementLine])
    except msgspec.ValidationError as error:
        raise InputError(f"judgements: expected {EXPECTED}; {error}") from None
    _add(grades, grades.name, range(1, len(found) + 1), records, DEFAULT)


def judgement_line(judgement: Mapping[str, Any]) -> str:
    """A judgement as its line in a file: keys sorted, nothing that is None."""
    return as_line({key: value for key, value in judgement.items() if value is not None})


def _add(grades: Grades, name: str, lines: Any, records: Any, limits: Limits) -> None:
    def column(field: str) -> list[Any]:
        return list(map(attrgetter(field), records))

    def ids(field: str) -> list[str]:
        return list(map(str, column(field)))

    rows = Rows(
        name,
        lines,
        query=ids("query_id"),
        run=ids("run_id"),
        judge=column("judge"),
        item=ids("item_id"),
        aspect=ids("aspect"),
        **{field: column(field) for field in ("label", "grade", "status", "rubric", "importance", "weight")},
    )
    _refuse(rows, limits)
    grades.add(rows)
    counted = column("sentences")
    if counted.count(None) < len(counted):
        for line, query, run, sentences in zip(lines, rows.query, rows.run, counted, strict=True):
            if sentences is not None:
                _count_sentences(grades.facts_of(run, query), sentences, f"{name}:{line}")


def _count_sentences(facts: AnswerFacts, sentences: int, where: str) -> None:
    if sentences < 1:
        raise InputError(f"{where}: expected a number of sentences from 1, found {sentences}")
    if facts.sentences not in (None, sentences):
        raise InputError(
            f"{where}: expected an answer of {facts.sentences} sentences, as before, found {sentences}"
        )
    facts.sentences = sentences


def _refuse(rows: Rows, limits: Limits) -> None:
    """Statuses and grades that contradict each other, and numbers and names beyond the limits."""
    grade = np.array(rows.grade, np.float64)
    said = ~np.isnan(grade) | np.array([label is not None for label in rows.label])
    graded = np.array([status in GRADED for status in rows.status])
    refuse_odd_ids(rows)
    findings = Findings()
    endless = np.isinf(np.array(rows.weight, np.float64))
    for at in np.flatnonzero((said != graded) | (np.abs(grade) > limits.grade) | endless).tolist():
        findings.add(f"{rows.source}:{rows.line[at]}: {_contradiction(rows, at, limits)}")
    for ids, longest in (
        *((ids, limits.id) for ids in (rows.query, rows.run, rows.item)),
        (rows.aspect, limits.line),
        *((words, _LONGEST_WORD) for words in (rows.label, rows.judge, rows.rubric)),
    ):
        if max(map(len, filter(None, ids)), default=0) * _BYTES_A_CHARACTER <= longest:
            continue
        for at, word in enumerate(ids):
            if word is not None and len(word.encode()) > longest:
                findings.add(
                    f"{rows.source}:{rows.line[at]}: expected at most {longest:,} bytes,"
                    f" found {len(word.encode()):,}: {quoted(word.encode())}"
                )
    findings.raise_if_any()


def refuse_odd_ids(rows: Rows) -> None:
    """Ids that are nothing, or have blanks around them; the text of a nugget may have some."""
    findings = Findings()
    for name in ("query", "run", "item"):
        ids = getattr(rows, name)
        odd = {word: problem for word in set(ids) if (problem := problem_of_id(word)) is not None}
        for at in (at for at, word in enumerate(ids) if word in odd) if odd else ():
            findings.add(f"{rows.source}:{rows.line[at]}: expected as {name}_id {odd[ids[at]]}")
    findings.raise_if_any()


def _contradiction(rows: Rows, at: int, limits: Limits) -> str:
    status, label, grade = rows.status[at], rows.label[at], rows.grade[at]
    if status in FAILED and (label is not None or grade is not None):
        return (
            f"status {status!r} with a grade; a failed judgement is missing, expected no label and no grade"
        )
    if rows.weight[at] in (np.inf, -np.inf):
        return f"expected a finite weight, found {rows.weight[at]}"
    if label is None and grade is None:
        return f"status {status!r} without a grade, expected a label or a grade"
    return f"expected a grade from -{limits.grade:,} to {limits.grade:,}, found {grade:g}"
