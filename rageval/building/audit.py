"""People look at a sample: what they are given to label, and FreshStack's Table 5 from what they said.

Of every sampled question they see all nuggets (does it hold anything made up? is it minor or redundant? how
many are lacking?) and one document that was judged to support one of them.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rageval.building.collection import texts_of
from rageval.comparison.intervals import bootstrap_of
from rageval.errors import InputError, Place, UsageError
from rageval.files.jsonl import read_records
from rageval.files.nuggets import read_nuggets
from rageval.files.opening import Source, name_of
from rageval.files.questions import read_questions
from rageval.measures import measures_taking
from rageval.records import Qrel
from rageval.scoring.answers import evaluate_answers
from rageval.scoring.sources import read_qrels
from rageval.statistics import LEVEL
from rageval.statistics.bootstrap import wilson

_RUN = "collection"
NUGGETS, PAIRS = "nugget-quality", "audit"  # the rubrics of the two parts
_LABELS = ("relevant", "partially_relevant", "non_relevant")
_ASKED = {
    "hallucinated": "1 if the nugget says anything that the answer does not, else 0",
    "redundant": "1 if what the nugget says is minor, or said by another one, else 0",
    "lacking": "how many nuggets would have to be added to cover all key ideas of the answer",
}
_KEPT = ("query_id", "run_id", "item_id", "aspect", "label", "grade", "judge", "rubric")


@dataclass(frozen=True, slots=True)
class _Figure:
    """A number of Table 5 with its 95 % interval, and how many questions it depends on."""

    name: str
    value: float
    low: float
    high: float
    questions: int


def sample_lines(folder: Path, corpus: Any, number: int, seed: int) -> Iterator[str]:
    """Yield what people are to label of a collection, a line each, the lines of a question together."""
    questions = {question.query_id: question for question in read_questions(folder / "questions.jsonl")}
    banks: dict[str, dict[str, str]] = {}
    for nugget in read_nuggets(folder / "nuggets.jsonl"):
        banks.setdefault(nugget.query_id, {})[nugget.nugget_id] = nugget.text
    picked = list(_sampled(questions, read_qrels(folder / "qrels.nugget"), number, seed))
    texts = texts_of(corpus, {pair.doc_id for _, pair in picked})
    for query, pair in picked:
        question, nuggets = questions[query], banks.get(query, {})
        shown = {"question": question.text, "answer": " ".join(question.gold[:1])}
        for name, text in nuggets.items():
            for aspect in ("hallucinated", "redundant"):
                yield _line(query, name, aspect, NUGGETS, {**shown, "nugget": text})
        yield _line(query, "answer", "lacking", NUGGETS, {**shown, "nuggets": list(nuggets.values())})
        pairs = {**shown, "nugget": nuggets.get(pair.iteration, ""), "document": texts.get(pair.doc_id, "")}
        yield _line(query, pair.doc_id, pair.iteration, PAIRS, pairs)


def _sampled(
    questions: Iterable[str], qrels: Iterable[Qrel], number: int, seed: int
) -> Iterator[tuple[str, Qrel]]:
    """Yield a sample of questions, each with one pair judged to support; a seed always draws the same."""
    if number < 1:
        raise UsageError(f"a sample of {number}: expected at least 1 question")
    positive: dict[str, list[Qrel]] = {}
    for row in qrels:
        if row.relevance > 0:
            positive.setdefault(row.query_id, []).append(row)
    there = sorted(query for query in questions if query in positive)
    if not there:
        raise InputError(
            problem="no question has a document that supports a nugget", remedy="nothing to audit"
        )
    for query in sorted(random.Random(f"{seed}").sample(there, min(number, len(there)))):
        yield query, random.Random(f"{seed}/{query}").choice(sorted(positive[query]))


def _line(query: str, item: str, aspect: str, rubric: str, shown: Mapping[str, Any]) -> str:
    """Return a judgement with its place left open; the file keeps null, which people replace."""
    place = {"query_id": query, "run_id": _RUN, "item_id": item, "aspect": aspect, "rubric": rubric}
    if rubric == PAIRS:
        record = {**place, **shown, "ask": " | ".join(_LABELS), "label": None}
    else:
        record = {**place, **shown, "ask": _ASKED[aspect], "grade": None}
    return json.dumps(record, ensure_ascii=False)  # what people fill in stands at the end


def _read_labels(source: Source) -> tuple[list[dict[str, Any]], int]:
    """Return the judgements of questions that are labeled in full, and how many lines are left out."""
    rows: list[dict[str, Any]] = []
    open_: set[tuple[str, str]] = set()
    for line, record in read_records(source, dict, "lines of `rageval collection audit`"):
        if not {"query_id", "item_id", "aspect", "rubric"} <= set(record):
            raise InputError(at=Place(name_of(source), line), expected="a line of `rageval collection audit`")
        row = {name: record[name] for name in _KEPT if record.get(name) is not None}
        if row["rubric"] == PAIRS and "label" in row:
            row["label"] = str(row["label"]).strip().lower().replace(" ", "_").replace("-", "_")
            if row["label"] not in _LABELS:
                raise InputError(
                    at=Place(name_of(source), line),
                    expected=f"the label {', '.join(_LABELS)}",
                    found=f"{row['label']!r:.80}",
                )
        if "label" not in row and "grade" not in row:
            open_.add((str(row["query_id"]), str(row["rubric"])))
        rows.append(row)
    whole = [row for row in rows if (str(row["query_id"]), str(row["rubric"])) not in open_]
    if not whole:
        raise InputError(
            at=Place(name_of(source)),
            problem="no labels",
            expected="a number or a label in place of each null",
        )
    return whole, len(rows) - len(whole)


def _figures(judgements: Sequence[Mapping[str, Any]]) -> Iterator[_Figure]:
    """Yield the numbers of Table 5: how good nuggets are, and which shares of the pairs people confirm."""
    if any(row["rubric"] == NUGGETS for row in judgements):
        figures = [
            measure for measure in measures_taking("Assessment").values() if measure.called_by("freshstack")
        ]
        for score in evaluate_answers(figures, list(judgements))[_RUN].scores:
            name = str(score.measure.called_by("freshstack"))
            yield _Figure(name, score.value, *bootstrap_of(score), score.queries)
    labels = [row["label"] for row in judgements if row["rubric"] == PAIRS]
    for label in _LABELS if labels else ():
        yield _Figure(
            label,
            labels.count(label) / len(labels),
            *wilson(labels.count(label), len(labels), LEVEL),
            len(labels),
        )


def figure_lines(source: Source) -> tuple[list[str], int]:
    """Return the table in percent, and how many lines people have left open."""
    judgements, left_open = _read_labels(source)
    lines = []
    for figure in _figures(judgements):
        # As in `precision            90.1 %  [85.0, 95.0]  n=60`.
        interval = f"[{100 * figure.low:.1f}, {100 * figure.high:.1f}]"
        name = figure.name.replace("_", " ")
        lines.append(f"{name:<19} {100 * figure.value:5.1f} %  {interval}  n={figure.questions}")
    return lines, left_open
