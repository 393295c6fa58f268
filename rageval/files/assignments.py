"""AutoNuggetizer assignments: each line an answer with its nuggets, each nugget with what was found."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, count
from typing import Literal

import msgspec

from rageval.counting import RULES
from rageval.files.jsonl import read_batches
from rageval.files.judgements import JudgementLine, Judgements
from rageval.files.limits import DEFAULT, Limits
from rageval.files.opening import Source, name_of

EXPECTED = "an assignment {qid, run_id, nuggets: [{text, importance, assignment}], …}"


class AssignedNugget(msgspec.Struct):
    """A nugget of an answer's list."""

    text: str
    assignment: Literal["support", "partial_support", "not_support", "failed"]
    importance: Literal["vital", "okay", "failed"] | None = None


class Assignment(msgspec.Struct):
    """A line of the file."""

    qid: str | int
    nuggets: list[AssignedNugget]
    run_id: str | int = "run"
    answer_text: str | None = None
    response_length: int | None = None


def add_assignments(table: Judgements, source: Source, limits: Limits = DEFAULT) -> None:
    """Read a file of assignments into the table; a nugget is known by its text, wherever it stands."""
    name = name_of(source)
    for lines, answers in read_batches(source, Assignment, EXPECTED, limits):
        rows = [list(_rows(answer)) for answer in answers]
        of_row = [line for line, some in zip(lines, rows, strict=True) for _ in some]
        table.add(name, of_row, list(chain.from_iterable(rows)), limits)
        table.by_text.add(len(table.sources) - 1)
        for answer in answers:
            _measure(table, answer)


def _rows(answer: Assignment) -> Iterator[JudgementLine]:
    """Yield a row a nugget; nuggetizer's `failed` is a judgement that is missing."""
    texts = distinct([nugget.text for nugget in answer.nuggets])
    for text, nugget in zip(texts, answer.nuggets, strict=True):
        failed = nugget.assignment == "failed"
        yield JudgementLine(
            answer.qid,
            answer.run_id,
            aspect=text,
            label=None if nugget.assignment == "failed" else nugget.assignment,
            status="error" if failed else "ok",
            rubric="nugget-assignment",
            importance=None if nugget.importance == "failed" else nugget.importance,
        )


def _measure(table: Judgements, answer: Assignment) -> None:
    facts = table.facts_of(str(answer.run_id), str(answer.qid))
    facts.assigned = True
    if answer.answer_text is not None:
        facts.lengths = {name: float(measured(answer.answer_text)) for name, measured in RULES.items()}
    elif answer.response_length is not None:
        facts.lengths = {"nfkc": float(answer.response_length)}


def distinct(texts: list[str]) -> list[str]:
    """The texts, a repeated one with a number behind it."""
    if len(set(texts)) == len(texts):
        return texts
    names: dict[str, None] = {}
    for text in texts:
        numbered = (f"{text} #{number}" for number in count(2))
        names[text if text not in names else next(n for n in numbered if n not in {*names, *texts})] = None
    return list(names)
