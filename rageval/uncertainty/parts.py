"""What people judged of each answer, where they judged a part of its nuggets.

Then judge and people are held against one another on the same nuggets: the judge's value on what people
judged, too, people's value there, and how large a part of the answer's weight that is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from typing import NamedTuple

import numpy as np

from rageval.answers import Rules, evaluate_all
from rageval.measures.base import Measure
from rageval.measures.nuggets import weights_of
from rageval.measures.parsing import AnyMeasure
from rageval.tables.graded import Float, Graded, NotThisJudge, Selection
from rageval.tables.grades import COLUMNS, Grades
from rageval.tables.scales import Scale

Key = tuple[str, str, str]  # query, item, aspect
Values = dict[str, float]


class Parts(NamedTuple):
    """How much of a system's answers people judged, by one measure.

    `labels` of the `of` judgements that the measure rests on are people's. Where answers were judged in
    part, `judge` and `people` are the values on what both judged of each answer, and `share` says how much of
    its weight that is; all are empty for a measure that needs the whole answer. `partly` are such answers.
    """

    labels: int
    of: int
    partly: frozenset[str] = frozenset()
    judge: Mapping[str, float] = {}
    people: Mapping[str, float] = {}
    share: Mapping[str, float] = {}


class Shared:
    """Judgements of a judge and of people, and both restricted to what both judged."""

    def __init__(self, judged: Grades, gold: Grades, rules: Rules) -> None:
        self.judged, self.gold, self.rules = judged, gold, rules
        self._both: tuple[Grades, Grades] | None = None

    def parts(self, measure: AnyMeasure, run: str) -> Parts:
        """What people judged of this system's answers, of what the measure rests on."""
        if not isinstance(measure, Measure):
            return Parts(0, 0)
        ours = _weighed(measure, self.judged, run, self.rules.filling)
        theirs = _weighed(measure, self.gold, run, "skip").keys()
        whole, part = _by_query(ours), _by_query({key: ours[key] for key in ours if key in theirs})
        labels = sum(weight > 0 and key in theirs for key, weight in ours.items())
        found = Parts(labels, sum(weight > 0 for weight in ours.values()))
        partly = frozenset(query for query, weight in part.items() if 0 < weight < whole[query])
        if not partly or measure.name not in _ADDED_UP or measure.parameters.get("floor") == "zero":
            return found._replace(partly=partly)
        judge, people = (self._values(measure, run, side) for side in self.both)
        share = {q: weight / whole[q] for q, weight in part.items() if weight and q in judge and q in people}
        return Parts(found.labels, found.of, partly, judge, people, share)

    @property
    def both(self) -> tuple[Grades, Grades]:
        """The two tables with the judgements alone that stand in both, and have not failed."""
        if self._both is None:
            judged = _places(self.judged, self.rules.filling == "skip")
            common = judged & _places(self.gold, True)
            self._both = _only(self.judged, common), _only(self.gold, common)
        return self._both

    def _values(self, measure: Measure, run: str, grades: Grades) -> Values:
        rules = Rules(on_missing=self.rules.filling)
        scores = next(scores for scores in evaluate_all([measure], grades, rules) if scores.run == run)
        return {query: value for query, value in scores.scores[0].by_query.items() if value == value}


def _places(grades: Grades, graded_only: bool) -> set[tuple[str, ...]]:
    places = _all_places(grades)
    return {place for place, kept in zip(places, grades.is_graded, strict=True) if kept or not graded_only}


def _only(grades: Grades, places: set[tuple[str, ...]]) -> Grades:
    kept = np.array([place in places for place in _all_places(grades)], bool)
    found = copy(grades)
    found.__dict__["_kept"] = {}
    for name in COLUMNS:
        setattr(found, name, getattr(grades, name)[kept])
    return found


def _all_places(grades: Grades) -> list[tuple[str, ...]]:
    columns = (
        (grades.runs, grades.run),
        (grades.queries, grades.query),
        (grades.items, grades.item),
        (grades.aspects, grades.aspect),
    )
    words = [np.array([*codes.words, ""], object)[column].tolist() for codes, column in columns]
    return list(zip(*words, strict=True))


def _weighed(measure: Measure, grades: Grades, run: str, filling: str) -> dict[Key, float]:
    """The judgements of a system that a measure rests on, each with what it counts."""
    found: dict[Key, float] = {}
    queries, items, aspects = (codes.words for codes in (grades.queries, grades.items, grades.aspects))
    for judge in grades.judges.values() if run in grades.runs else ():
        graded = Graded(grades, grades.runs[run], judge, filling)
        try:
            measure.compute(graded)
        except NotThisJudge:
            continue
        for scale in tuple(graded.scales):
            rows = graded.on(scale, measure.name)
            weights = _ADDED_UP.get(measure.name, _one)(measure, graded, rows, scale)
            columns = (column.tolist() for column in (rows.query, rows.item, rows.aspect, weights))
            for query, item, aspect, weight in zip(*columns, strict=True):
                found[queries[query], items[item], aspects[aspect]] = weight
    return found


def _by_query(weights: Mapping[Key, float]) -> dict[str, float]:
    found: dict[str, float] = {}
    for (query, _, _), weight in weights.items():
        found[query] = found.get(query, 0.0) + weight
    return found


def _one(_: Measure, __: Graded, rows: Selection, ___: Scale) -> Float:
    return np.ones(len(rows.query))


def _by_importance(measure: Measure, graded: Graded, rows: Selection, scale: Scale) -> Float:
    return weights_of(graded, rows, scale, measure.parameters["importance"], measure.name)


def _positive(_: Measure, __: Graded, rows: Selection, ___: Scale) -> Float:
    return np.maximum(rows.weight, 0.0)


# Measures that are Σ w·value / Σ w over the judgements of a query, so that a part drawn at random tells of
# the whole, and what each judgement weighs.
_ADDED_UP: dict[str, Callable[[Measure, Graded, Selection, Scale], Float]] = {
    "nugget_recall": _by_importance,
    "lexical_recall": _by_importance,
    "rubric_score": _positive,
    "win_rate": _one,
    "audit_share": _one,
    "bank_precision": _one,
    "bank_groundedness": _one,
}
