"""AutoNuggetizer assignments: each line an answer with its nuggets, each nugget with what was found."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import Literal

import msgspec

from rageval.counting import RULES
from rageval.files.jsonl import read_batches
from rageval.files.judgements import refuse_odd_ids
from rageval.files.limits import DEFAULT, Limits
from rageval.files.opening import Source, name_of
from rageval.tables.grades import Grades, Rows

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


def add_assignments(grades: Grades, source: Source, limits: Limits = DEFAULT) -> None:
    """Read a file of assignments into the table; a nugget is known by its text, wherever it stands."""
    name = name_of(source)
    for lines, answers in read_batches(source, Assignment, EXPECTED, limits):
        rows = _rows(name, lines, answers)
        refuse_odd_ids(rows)
        grades.add(rows)
        grades.by_text.add(len(grades.sources) - 1)
        for answer in answers:
            _measure(grades, str(answer.qid), str(answer.run_id), answer)


def _rows(name: str, lines: Sequence[int], answers: Sequence[Assignment]) -> Rows:
    """A row a nugget; nuggetizer's `failed` is a judgement that is missing."""
    of_answer = [at for at, answer in enumerate(answers) for _ in answer.nuggets]
    nuggets = [nugget for answer in answers for nugget in answer.nuggets]
    number = len(nuggets)
    return Rows(
        name,
        line=[lines[at] for at in of_answer],
        query=[str(answers[at].qid) for at in of_answer],
        run=[str(answers[at].run_id) for at in of_answer],
        judge=[""] * number,
        item=["answer"] * number,
        aspect=[text for answer in answers for text in distinct([n.text for n in answer.nuggets])],
        label=[None if nugget.assignment == "failed" else nugget.assignment for nugget in nuggets],
        grade=[None] * number,
        status=["error" if nugget.assignment == "failed" else "ok" for nugget in nuggets],
        rubric=["nugget-assignment"] * number,
        importance=[None if nugget.importance == "failed" else nugget.importance for nugget in nuggets],
        weight=[None] * number,
    )


def _measure(grades: Grades, query: str, run: str, answer: Assignment) -> None:
    facts = grades.facts_of(run, query)
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
