"""What people judged of each answer, where they judged a part of its nuggets.

Then judge and people are held against one another on the same nuggets: the judge's value on what people
judged, too, people's value there, and how large a part of the answer's weight that is.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import NamedTuple

from rageval.answers import Rules, evaluate_all
from rageval.files.judgements import JudgementLine, Judgements
from rageval.measures.base import Measure
from rageval.measures.parsing import AnyMeasure
from rageval.measures.scales import POSITION
from rageval.scoring.assessing import JudgeOfRun, NotThisJudge

Key = tuple[str, str, str]  # query, item, aspect
Place = tuple[str, str, str, str]  # run, and the key
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

    def __init__(self, judged: Judgements, gold: Judgements, rules: Rules) -> None:
        self.judged, self.gold, self.rules = judged, gold, rules
        self._both: tuple[Judgements, Judgements] | None = None

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
        if not partly or measure.about.weighs is None or measure.parameters.get("floor") == "zero":
            return found._replace(partly=partly)
        judge, people = (self._values(measure, run, side) for side in self.both)
        share = {q: weight / whole[q] for q, weight in part.items() if weight and q in judge and q in people}
        return Parts(found.labels, found.of, partly, judge, people, share)

    @property
    def both(self) -> tuple[Judgements, Judgements]:
        """The two tables with the judgements alone that stand in both, and have not failed."""
        if self._both is None:
            judged = _places(self.judged, self.rules.filling == "skip")
            common = judged & _places(self.gold, True)
            self._both = _only(self.judged, common), _only(self.gold, common)
        return self._both

    def _values(self, measure: Measure, run: str, grades: Judgements) -> Values:
        rules = Rules(on_missing=self.rules.filling)
        scores = next(scores for scores in evaluate_all([measure], grades, rules) if scores.run == run)
        return {query: value for query, value in scores.scores[0].by_query.items() if value == value}


def _places(grades: Judgements, graded_only: bool) -> set[Place]:
    return {_place(line) for row, line in grades.each() if grades.said_in(row).is_graded or not graded_only}


def _only(grades: Judgements, places: set[Place]) -> Judgements:
    return grades.only(lambda line: _place(line) in places)


def _place(line: JudgementLine) -> Place:
    return str(line.run_id), str(line.query_id), str(line.item_id), str(line.aspect)


def _weighed(measure: Measure, grades: Judgements, run: str, filling: str) -> dict[Key, float]:
    """The judgements of a system that a measure rests on, each with what it counts."""
    found: dict[Key, float] = {}
    weight = measure.about.weighs
    for judge in range(len(grades.judges.words)) if run in grades.runs else ():
        try:
            for answer in JudgeOfRun(grades, grades.runs[run], judge, filling).assessments():
                measure.value(answer.asked_by(measure))
                scales = [scale for scale in answer.scales if scale is not POSITION]
                for judgement in chain.from_iterable(map(answer.judged, scales)):
                    key = answer.query_id, judgement.item, judgement.aspect
                    found[key] = weight(measure.parameters, judgement) if weight else 1.0
        except NotThisJudge:
            continue
    return found


def _by_query(weights: Mapping[Key, float]) -> dict[str, float]:
    found: dict[str, float] = {}
    for (query, _, _), weight in weights.items():
        found[query] = found.get(query, 0.0) + weight
    return found
