"""Tables of answers, read as they are: one row an answer, columns called as people call them.

A log of a tool is read by its reader. Of anything else that is a table (CSV, TSV, Parquet, JSON lines, a JSON
array) the names of the columns say what they hold.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from rageval.errors import InputError
from rageval.files.jsonl import named
from rageval.files.opening import Source, chunks, limits_of, name_of, with_limits
from rageval.files.synonyms import SYNONYMS, ColumnsRead, columns_of
from rageval.logs._content import opened
from rageval.logs.log import Log
from rageval.logs.paths import fields_of, list_in
from rageval.logs.readers import read, stem_of, tool_of
from rageval.logs.rows import folded
from rageval.records import Answer, Question
from rageval.text import visible

_SHOWN = 3  # ids in an error
_DIGITS = 12  # of an id that is made from a question


@dataclass
class Tables:
    """What tables of answers hold together, and what is to be said of how they were read."""

    answers: list[Answer] = field(default_factory=list)
    questions: dict[str, Question] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)


def read_table(source: Source, *, gold_alone: bool = False) -> tuple[Log, list[str]]:
    """Return what a table holds, and how it was read; `gold_alone`: its answers are the right ones.

    InputError where there is no question and no id, or neither an answer nor a right one.
    """
    name = visible(name_of(source))
    again = _read_again(source)
    if (tool := tool_of(again())) is not None and not gold_alone:
        log = read(again(), tool=tool)
        # A tool that names no run: two files of it are two systems.
        if {answer.run_id for answer in log.answers} == {tool}:
            log = read(again(), tool=tool, run=stem_of(source) or tool)
        return log, [f"{name}: a log of {tool}"]
    content = opened(again())
    records = [record.value() for record in islice(content.records(), 200)]
    known, _ = fields_of(records)
    names = list(dict.fromkeys(key for record in records if isinstance(record, dict) for key in record))
    columns = columns_of(names, gold_alone)
    wanted = "gold" if gold_alone else "answer"
    if not columns.fields.keys() & {"question", "query_id"} or wanted not in columns.fields:
        what = "a right answer" if gold_alone else "an answer of a system"
        raise InputError(
            f"{name}: of the columns {', '.join(map(visible, names))[:200]} none is called as a question"
            f" and as {what} are; expected {', '.join(SYNONYMS['question'])}, and"
            f" {', '.join(SYNONYMS[wanted])}; or say where they stand: rageval import {name} -o DIR"
        )
    mapping = {}
    for each, column in columns.fields.items():
        step = f"[{json.dumps(column, ensure_ascii=False)}]"
        seen = known.get(column) or known.get(step)
        way = list_in(seen.example) if each in ("contexts", "gold") and seen is not None else ""
        mapping[each] = step + way
    # What is nested is no field of a question.
    steps = {each: f"[{json.dumps(each, ensure_ascii=False)}]" for each in columns.others}
    plain = [each for each, step in steps.items() if each in known or step in known]
    mapping |= {f"fact:{each}": steps[each] for each in plain}
    log = read(again(), mapping, tool="records")
    has_ids = "query_id" in columns.fields
    made = [] if has_ids else ["ids are made from the questions"]
    return log, ["; ".join([f"{name}: {ColumnsRead(columns.fields, tuple(plain))}", *made])]


def _read_again(source: Source) -> Callable[[], Source]:
    """Return what gives the source to whoever reads it next; of a stream, whose bytes are kept, a copy."""
    if isinstance(source, str | os.PathLike):
        return lambda: source
    content = b"".join(chunks(source, limits_of(source).unpacked))

    def copied() -> Source:
        copy: Source = with_limits(named(content, name_of(source)), limits_of(source))
        return copy

    return copied


def read_tables(sources: Sequence[Source]) -> Tables:
    """Return tables of several systems as one: joined by ids, else by questions.

    InputError where two tables have neither in common.
    """
    found = Tables()
    logs: list[tuple[str, Log]] = []
    for source in sources:
        log, said = read_table(source)
        logs.append((name_of(source), log))
        found.remarks += said
    if _are_apart([log for _, log in logs]):
        joined = [(name, _by_question(log)) for name, log in logs]
        if _are_apart([log for _, log in joined]):
            shown = "; ".join(f"{visible(name)}: {_some_ids(log)}" for name, log in logs)
            raise InputError(f"the tables have no question in common, by id or by text: {shown}")
        found.remarks.append("the tables share no ids, and are joined by their questions")
        logs = joined
    for _, log in logs:
        found.answers += log.answers
        for question in log.questions:
            known = found.questions.setdefault(question.query_id, question)
            if not known.gold and question.gold:
                found.questions[question.query_id] = question
    return found


def _are_apart(logs: Sequence[Log]) -> bool:
    """Tell whether two tables have no question in common."""
    if len(logs) < 2:
        return False
    ids = [{question.query_id for question in log.questions} for log in logs]
    return not set.intersection(*ids)


def _by_question(log: Log) -> Log:
    """Return the log with ids that are made from the questions."""
    made = {
        question.query_id: hashlib.sha256(folded(question.text).encode("utf-8", "surrogatepass")).hexdigest()[
            :_DIGITS
        ]
        for question in log.questions
        if question.text
    }

    def called(record: Any) -> Any:
        return record._replace(query_id=made.get(record.query_id, record.query_id))

    return Log(
        log.tool,
        answers=[called(answer) for answer in log.answers],
        questions=[called(question) for question in log.questions],
    )


def _some_ids(log: Log) -> str:
    return ", ".join(visible(question.query_id) for question in log.questions[:_SHOWN])
