"""Any file that says something of answers, into one table: judgements, assignments, answers."""

from __future__ import annotations

import os
import sys
from typing import Any

from rageval.counting import RULES
from rageval.errors import InputError
from rageval.files.answers import read_answers
from rageval.files.assignments import add_assignments
from rageval.files.jsonl import first_record
from rageval.files.judgements import Judgements, add_dicts, add_judgements
from rageval.files.limits import DEFAULT, Limits
from rageval.files.opening import STDIN, Source, head, name_of, start_of_stream
from rageval.records import Answer, Qrel

EXPECTED = (
    "judgements {query_id, run_id, aspect, label or grade}, nugget assignments"
    " {qid, run_id, nuggets: [{text, assignment}]} or answers"
)
_OTHERS = {
    "nuggets": "nuggets that no answer was judged by",
    "rubrics": "rubrics that no answer was judged by",
    "interaction_id": "CRAG's questions",
    "question": "questions",
    "strict_vital_score": "nuggetizer's metrics",
}


def add_file(table: Judgements, source: Source, limits: Limits = DEFAULT) -> None:
    """Read a file of any of these kinds, told apart by its first record."""
    if callable(content := getattr(source, "qrels", None)):
        add_dicts(table, map(_of_document, content()))
        return
    kind = kind_of(source, limits)
    if kind == "judgements":
        add_judgements(table, source, limits)
    elif kind == "assignments":
        add_assignments(table, source, limits)
    else:
        add_answers(table, source, limits)


def _of_document(qrel: Qrel) -> dict[str, Any]:
    """A judgement of a document, of a data set that stands for a file."""
    place = {"query_id": qrel.query_id, "run_id": "documents", "item_id": qrel.doc_id}
    return {**place, "aspect": qrel.iteration, "grade": float(qrel.relevance)}


def add_answers(table: Judgements, source: Source, limits: Limits = DEFAULT) -> None:
    """Read a file of answers: how long they are, and what they cite."""
    for answer in read_answers(source, limits):
        add_answer(table, answer)


def add_answer(table: Judgements, answer: Answer) -> None:
    """Let the length and the citations of an answer be known."""
    facts = table.facts_of(answer.run_id, answer.query_id)
    texts = [sentence.text for sentence in answer.sentences]
    facts.lengths = {name: float(sum(map(count, texts))) for name, count in RULES.items()}
    facts.cited = tuple(sentence.citations for sentence in answer.sentences)


def kind_of(source: Source, limits: Limits = DEFAULT) -> str:
    """`judgements`, `assignments` or `answers`."""
    if source == STDIN:
        start = start_of_stream(sys.stdin.buffer)
    elif isinstance(source, str | os.PathLike):
        start = head(source, limits.for_records())
    else:
        start = start_of_stream(source)
    record = first_record(start)
    if record is None:
        return _kind_of_piece(start)
    if "aspect" in record or ("status" in record and "query_id" in record) or "label" in record:
        return "judgements"
    if _assigned(record.get("nuggets")):
        return "assignments"
    if "answer" in record and "interaction_id" not in record:
        return "answers"
    if "grade" in record:
        return "judgements"
    other = next((what for key, what in _OTHERS.items() if key in record), "something else")
    keys = ", ".join(map(str, record))
    raise InputError(f"{name_of(source)}:1: holds {other} (keys {keys:.200}); expected {EXPECTED}")


def _assigned(nuggets: Any) -> bool:
    return isinstance(nuggets, list) and any(isinstance(n, dict) and "assignment" in n for n in nuggets)


def _kind_of_piece(start: bytes) -> str:
    """The kind by the start of a long or broken record: whatever is wrong is told when it is read."""
    if b'"assignment"' in start:
        return "assignments"
    return "answers" if b'"answer"' in start and b'"aspect"' not in start else "judgements"
