"""What is wrong with a record that Python passes is said in our words, by the number of the record."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

import rageval
from rageval.errors import InputError

Record = dict[str, Any]
JUDGED = {"query_id": "q1", "run_id": "r", "rubric": "crag", "label": "accurate"}
ANSWER = {"query_id": "q1", "run_id": "r", "answer": "In Oslo."}
QUESTION = {"query_id": "q1", "question": "Where?", "answer": "Oslo"}
NUGGETS = {"qid": "q1", "nuggets": [{"text": "Oslo", "importance": "vital"}]}


def judged(**records: Any) -> Any:
    return list(
        rageval.judge("crag", judges="contains", **{"answers": [ANSWER], "questions": [QUESTION]} | records)
    )


# Readers of records: a record that is right, what reads several, and fields that are needed.
READERS: dict[str, tuple[Record, Callable[[list[Record]], Any], tuple[str, ...]]] = {
    "judgements": (JUDGED, lambda rows: rageval.evaluate_answers("accuracy", rows), ("query_id", "run_id")),
    "labels": (
        JUDGED,
        lambda rows: rageval.evaluate_answers("accuracy", [JUDGED], gold=rows),
        ("query_id", "run_id"),
    ),
    "answers": (ANSWER, lambda rows: judged(answers=rows), ("query_id",)),
    "answers of scores": (
        ANSWER,
        lambda rows: rageval.evaluate_answers("accuracy", [JUDGED], answers=rows),
        ("query_id",),
    ),
    "questions": (QUESTION, lambda rows: judged(questions=rows), ("query_id", "question")),
    "nuggets": (NUGGETS, lambda rows: judged(nuggets=rows), ("qid",)),
}
CASES: list[tuple[str, str, Any]] = [
    (name, field, value)
    for name, (*_, needed) in READERS.items()
    for field in needed
    for value in (None, [1])
]
CASES += [(name, "repeat", value) for name in ("judgements", "labels") for value in (math.nan, 1.5, [1])]
CASES += [(name, "\ud800", 1) for name in READERS]
CASES += [(name, field, ...) for name, (*_, needed) in READERS.items() for field in needed]


@pytest.mark.parametrize(("name", "field", "value"), CASES)
def test_a_record_that_is_not_right_is_named(name: str, field: str, value: Any) -> None:
    right, read, _ = READERS[name]
    broken = {**right, field: value}
    if value is ...:
        del broken[field]
    with pytest.raises(InputError) as raised:
        read([right, broken])
    error = raised.value
    assert error.at is not None
    assert error.at.line == 2
    assert error.found
    assert error.expected
    assert not any(sign in str(error) for sign in ("`", "$", "Expected", "Object missing", "got "))
