"""Write datasets as lines, as ir_datasets exports them or in our formats; count what they hold."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import groupby
from typing import Any, NamedTuple

from rageval.core.remark import Remark
from rageval.datasets.catalogue import find
from rageval.datasets.dataset import Dataset, ids_at_ir_datasets, of_ir_datasets
from rageval.errors import RagevalError, UsageError
from rageval.files.answers import write_answers
from rageval.files.jsonl import as_line
from rageval.files.judgements import judgement_line
from rageval.files.nuggets import write_nuggets
from rageval.records import Question

_WHAT = {
    "docs": ("jsonl", "tsv"),
    "queries": ("tsv", "jsonl"),
    "qrels": ("trec", "tsv", "jsonl"),
    "nuggets": ("jsonl",),
    "answers": ("jsonl",),
    "responses": ("jsonl",),
    "judgements": ("jsonl",),
}


def exported(dataset: Dataset, what: str, style: str | None = None) -> Iterator[str]:
    """Yield the lines of a part of a dataset; the first style of `_WHAT` is the usual one."""
    styles = _WHAT[what]
    if style is not None and style not in styles:
        raise UsageError(f"--format {style}: {what} are written as {' or '.join(styles)}")
    return _WRITERS[what](dataset, style or styles[0])


def _queries(dataset: Dataset, style: str) -> Iterator[str]:
    if style == "tsv":
        return (_tab_separated([question.query_id, question.text]) for question in dataset.questions())
    as_query = dataset.reader.as_query if dataset.reader else None
    return (
        _format_record(as_query(question), style)
        if as_query
        else json.dumps({"query_id": question.query_id, "text": question.text})
        for question in dataset.questions()
    )


def _qrels(dataset: Dataset, style: str) -> Iterator[str]:
    """Lines `query nugget document grade`. Tabs part them where an id holds a space."""
    if style != "trec":
        yield from (_format_record(qrel, style) for qrel in dataset.qrels())
        return
    rows = [(qrel.query_id, qrel.iteration, qrel.doc_id, str(qrel.relevance)) for qrel in dataset.qrels()]
    # One separator for the whole file: readers decide by its first line.
    separator = "\t" if any(" " in name for row in rows for name in row) else " "
    yield from (separator.join(row) for row in rows)


def _nugget_lines(dataset: Dataset, style: str) -> Iterator[str]:
    texts = {question.query_id: question.text for question in dataset.questions()}
    for query, together in groupby(dataset.nuggets(), key=lambda nugget: nugget.query_id):
        nuggets = list(together)
        # AutoNuggetizer's lines have no place for weights; those of rubrics do.
        if any(nugget.weight is not None for nugget in nuggets):
            criteria = [
                {"criterion": nugget.text, "weight": nugget.weight, "axis": nugget.group}
                for nugget in nuggets
            ]
            yield as_line({"qid": query, "rubrics": criteria})
        else:
            yield from write_nuggets(nuggets, texts)


def _answer_lines(dataset: Dataset, style: str) -> Iterator[str]:
    """Plain questions with all right answers and facts."""
    if dataset.reader is not None and "answers" not in dataset.holds:
        raise dataset.lacks("answers")
    for question in dataset.questions():
        fields = {"query_id": question.query_id, "question": question.text, "answer": list(question.gold)}
        yield json.dumps(dict(question.facts) | fields, ensure_ascii=False)


_WRITERS: dict[str, Callable[[Dataset, str], Iterator[str]]] = {
    "docs": lambda dataset, style: (_format_record(document, style) for document in dataset.documents()),
    "queries": _queries,
    "qrels": _qrels,
    "nuggets": _nugget_lines,
    "answers": _answer_lines,
    "responses": lambda dataset, style: write_answers(dataset.responses(), "plain"),
    "judgements": lambda dataset, style: map(judgement_line, dataset.judgements()),
}


def _format_record(record: Any, style: str) -> str:
    if style == "tsv":
        return _tab_separated(value for value in record if isinstance(value, str | int | float))
    fields = zip(record._fields, record, strict=True)
    return json.dumps({name: value for name, value in fields if not isinstance(value, bytes)})


def _tab_separated(values: Any) -> str:
    """Columns as ir_datasets writes them: a tab or a line end within one becomes a space."""
    return "\t".join(str(value).translate({9: 32, 10: 32, 13: 32}) for value in values)


_SLICES = ("domain", "question_type", "split")  # facts of questions that papers count by


class _Count(NamedTuple):
    """One count: what it is of, how many were expected (None if nobody says) and how many there are."""

    what: str
    expected: float | None
    value: float

    @property
    def agrees(self) -> bool:
        """Equal, for averages as far as the published decimal goes; so is what nobody has said."""
        if self.expected is None:
            return True
        # Papers give averages with one decimal.
        places = 0 if float(self.expected).is_integer() and float(self.value).is_integer() else 1
        return round(self.value, places) == round(self.expected, places)


def checked(dataset: Dataset) -> list[_Count]:
    """Return all counts of a dataset."""
    pair = find(dataset.id)
    expected = dict(pair[1].expected) if pair else {}
    counted = dict(_counts(dataset))
    # What was expected and is not there is a count, too: of 0.
    lost = [_Count(what, value, 0) for what, value in expected.items() if what not in counted]
    return [_Count(what, expected.get(what), value) for what, value in counted.items()] + lost


def compared(dataset: Dataset) -> tuple[list[_Count], list[Remark]]:
    """Compare topics and judgements with those of the ids of ir_datasets that are the same set.

    Returns the counts of what is the same there, and remarks on what could not be loaded.
    """
    pair = find(dataset.id)
    counts, remarks = list[_Count](), list[Remark]()
    for name in ids_at_ir_datasets(pair[1]) if pair else ():
        try:
            other = of_ir_datasets(name)
            common = []  # of what either has
            for what in ("questions", "qrels"):
                if what in dataset.holds and what in other.holds:
                    both = (dataset, other)
                    mine, theirs = (set(map(_comparison_key, getattr(side, what)())) for side in both)
                    common.append(_Count(f"{what} as in {name}", len(mine | theirs), len(mine & theirs)))
        except (RagevalError, OSError, ValueError, RuntimeError) as error:
            # Most often it is not downloaded, which is no fault of the dataset at hand.
            facts = {"name": name, "error": str(error).splitlines()[0][:200]}
            remarks.append(Remark("dataset_not_compared", facts=facts))
            continue
        counts += common
    return counts, remarks


def _comparison_key(record: Any) -> tuple[Any, ...]:
    """Return what makes a topic, or a judgement, the same as another."""
    if isinstance(record, Question):
        # Publishers differ in blanks and line ends, and nobody means another question by that.
        return record.query_id, " ".join(record.text.split())
    return record.query_id, record.doc_id, record.relevance


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
        nuggets = answers = 0
        of: set[str] = set()
        for nugget in dataset.nuggets():
            nuggets += 1
            answers += len(nugget.answers)
            of.add(nugget.query_id)
        yield "nuggets", nuggets
        yield "questions_with_nuggets", len(of)
        yield "nuggets_per_question", _ratio(nuggets, questions)
        if answers:
            yield "nugget_answers", answers
    if "qrels" in dataset.holds:
        judgements = supports = 0
        judged_nuggets: set[tuple[str, str]] = set()
        judged_questions: set[str] = set()
        relevant: set[tuple[str, str]] = set()
        for qrel in dataset.qrels():
            judgements += 1
            judged_nuggets.add((qrel.query_id, qrel.iteration))
            judged_questions.add(qrel.query_id)
            if qrel.relevance > 0:
                supports += 1
                relevant.add((qrel.query_id, qrel.doc_id))
        yield "judgements", judgements
        yield "judged_questions", len(judged_questions)
        yield "relevant_per_nugget", _ratio(supports, len(judged_nuggets))
        yield "relevant_per_question", _ratio(len(relevant), len(judged_questions))
    if "judgements" in dataset.holds:
        yield "labels", sum(1 for _ in dataset.judgements())
    yield from sorted(slices.items())


def _ratio(count: int, of: int) -> float:
    return count / of if of else 0.0
