"""Counts that prove a data set was read rightly, beside what its publishers say of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from rageval.datasets.catalogue import find
from rageval.datasets.loading import Dataset

_SLICES = ("domain", "question_type", "split")  # facts of questions that papers count by


class Count(NamedTuple):
    """One count: what it is of, how many were expected (None if nobody says) and how many there are."""

    what: str
    expected: float | None
    found: float

    @property
    def agrees(self) -> bool:
        """Equal, for averages as far as the published decimal goes; so is what nobody has said."""
        if self.expected is None:
            return True
        places = 0 if float(self.expected).is_integer() and float(self.found).is_integer() else 1
        return round(self.found, places) == round(self.expected, places)


def checked(dataset: Dataset) -> list[Count]:
    """All counts of a data set."""
    pair = find(dataset.id)
    expected = dict(pair[1].expected) if pair else {}
    found = dict(_counts(dataset))
    lost = [Count(what, value, 0) for what, value in expected.items() if what not in found]
    return [Count(what, expected.get(what), value) for what, value in found.items()] + lost


def _counts(dataset: Dataset) -> Iterator[tuple[str, float]]:
    questions = 0
    slices: Counter[str] = Counter()
    for question in dataset.questions():
        questions += 1
        slices.update(f"{name} {value}" for name, value in question.facts if name in _SLICES)
    yield "questions", questions
    if "documents" in dataset.holds:
        yield "documents", sum(1 for _ in dataset.documents())
    if "nuggets" in dataset.holds:
        nuggets = sum(1 for _ in dataset.nuggets())
        yield "nuggets", nuggets
        yield "nuggets_per_question", _ratio(nuggets, questions)
    if "qrels" in dataset.holds:
        yield from _judged(dataset)
    yield from sorted(slices.items())


def _judged(dataset: Dataset) -> Iterator[tuple[str, float]]:
    """Judgements, and relevant documents by nugget and by question."""
    judgements = supports = 0
    nuggets: set[tuple[str, str]] = set()
    questions: set[str] = set()
    relevant: set[tuple[str, str]] = set()
    for qrel in dataset.qrels():
        judgements += 1
        nuggets.add((qrel.query_id, qrel.iteration))
        questions.add(qrel.query_id)
        if qrel.relevance > 0:
            supports += 1
            relevant.add((qrel.query_id, qrel.doc_id))
    yield "judgements", judgements
    yield "judged_questions", len(questions)
    yield "relevant_per_nugget", _ratio(supports, len(nuggets))
    yield "relevant_per_question", _ratio(len(relevant), len(questions))


def _ratio(count: int, of: int) -> float:
    return count / of if of else 0.0
