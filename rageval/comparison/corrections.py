"""Judged answers beside people's judgements of some of them: every system's measures, corrected.

Where people judged a part of an answer's nuggets, judge and people are held against one another on the same
nuggets: the judge's value on what people judged, people's value there, and how large a part of the answer's
weight that is.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, Literal, NamedTuple

import numpy as np

from rageval.comparison.clusters import clusters_among, clusters_with_labels
from rageval.comparison.intervals import scale_of, selection
from rageval.comparison.results import Settings
from rageval.core.basis import UNSTATED, Basis
from rageval.core.remark import Remark, Scope
from rageval.errors import InputError, MeasureError, Place, TooFewLabels, UsageError
from rageval.files.judgements import JudgementLine, JudgementTable
from rageval.measures.base import MEAN, Measure
from rageval.measures.parsing import AnyMeasure
from rageval.measures.scales import POSITION
from rageval.scoring.answers import evaluate_all
from rageval.scoring.assessments import JudgeOfRun, NotThisJudge, with_labeled
from rageval.scoring.gold import Draw, chances_of, failed_labels, refuse_the_judge, why_lost
from rageval.scoring.human_values import why_uncorrected
from rageval.scoring.rules import Rules
from rageval.scoring.scores import Score, filled
from rageval.statistics.bootstrap import Limits
from rageval.statistics.correction import Part, Population, corrected, peoples_interval
from rageval.text import visible


class CorrectedMeasure(NamedTuple):
    """A system's mean by one measure: the judge's, the human one on the labeled part, and the corrected one.

    `checked` of the `queries` have human labels, and so do `labels` of the `of` judgements that the measure
    uses. `slope` is how closely human values follow the judge's. `gain` is how many labeled queries would
    tell as much without a judge (NaN where labels cover parts of answers). `refused` says why there is no
    corrected mean. `coarse`: so few human values differ that the interval has a floor. Labels cover only a
    part of `partly` answers, which are `used` if the measure works on a part. `missing` of the judge's
    judgements failed or are not there; with them its mean lies between `least` and `most`, and the interval
    holds for all of these. `basis` is that of the labels. `doubt` says why the labels might be no uniform
    draw; `failed` of them failed.
    """

    run: str
    measure: str
    population: str
    judge: float
    people: float
    people_low: float
    people_high: float
    value: float = math.nan
    low: float = math.nan
    high: float = math.nan
    queries: int = 0
    checked: int = 0
    labels: int = 0
    of: int = 0
    slope: float = math.nan
    gain: float = math.nan
    coarse: bool = False
    refused: Remark | None = None
    partly: int = 0
    used: bool = False
    missing: int = 0
    basis: Basis = UNSTATED
    doubt: Remark | None = None
    failed: int = 0
    least: float | None = None
    most: float | None = None


def correct(
    measures: Sequence[Measure],
    judged: JudgementTable,
    gold: JudgementTable,
    rules: Rules,
    level: float = 0.95,
    population: Population = "kind",
    draw: Draw | None = None,
    clusters: Mapping[str, str] | Literal["none"] | None = None,
) -> list[CorrectedMeasure]:
    """Correct every measure of every system that has human labels.

    The mean is that of queries of this `kind`, or of exactly this `set`. Labels need not cover every query,
    nor every nugget of an answer; unlabeled ones are no evidence. An answer labeled in part counts by that
    part, or not at all if the measure needs all of it. `draw` says how the labeled sample was chosen, and
    `clusters` which queries depend on each other: those of one conversation, unless it says another thing.
    """
    refuse_the_judge(judged, gold)
    for table in (judged, gold):
        table.require_no_repeats("a correction by human labels")
    if not 0 < level < 1:
        raise UsageError(f"level={level!r}: expected a number between 0 and 1")
    for measure in measures:
        if measure.aggregate != MEAN:
            raise MeasureError(f"{measure} is no mean over queries, so it cannot be corrected; leave it out")
    judged = with_labeled(judged, gold, None if draw is None else draw.plan)
    # What people did not judge, or could not, says nothing: it is no worst and no best.
    people = {scores.run: scores for scores in evaluate_all(measures, gold, Rules(on_missing="skip"))}
    corrections = []
    queries = map(str, (*judged.queries.words, *gold.queries.words))
    settings = Settings(clusters=clusters_with_labels(clusters, [draw or Draw()], queries))
    shared = _Shared(judged, gold, rules, settings)
    results = [scores for scores in evaluate_all(measures, judged, rules) if scores.run in people]
    for score in results[0].scores if results else ():
        if why := why_uncorrected(score):
            raise MeasureError(f"{score.measure}: {why}; leave it out")
    how = shared, level, population, draw or Draw(), len(results) * len(measures)
    for scores in results:
        pairs = zip(scores.scores, people[scores.run].scores, strict=True)
        for one, other in pairs:
            mean = _widen_over_missing(scores.run, one, other, how)
            drawn = how[3].kind(mean.of - mean.labels if mean.of else 1)
            corrections.append(mean._replace(basis=Basis.of_labels(gold.judges.words, one.basis, drawn)))
    if not any(correction.checked for correction in corrections):
        counts = [(visible(grades.name), grades.failed()) for grades in (judged, gold)]
        failed = [f"{number:,} judgements of {name} failed" for name, number in counts if number]
        also = f", that did not fail ({', '.join(failed)})" if failed else ""
        raise InputError(
            f"has no labels for the answers of {visible(judged.name)}",
            at=Place(visible(gold.name)),
            expected=f"the same query_id and run_id in both files{also}",
        )
    return corrections


_Options = tuple["_Shared", float, Population, Draw, int]


def _widen_over_missing(run: str, one: Score, other: Score, how: _Options) -> CorrectedMeasure:
    """Return the corrected mean, its interval as wide as missing judgements of the judge make it."""
    correction = _correct_measure(run, one, other, *how)._replace(missing=one.missing)
    if not one.between or one.bounds is None:
        return correction
    correction = correction._replace(least=one.bounds[0], most=one.bounds[1])
    if correction.low != correction.low:
        return correction
    if not all(map(math.isfinite, chain.from_iterable(one.between.values()))):
        return correction._replace(low=-math.inf, high=math.inf)
    ends = []
    for end in (0, 1):
        # Whether labels were chosen by the judge's values is asked of those that are there.
        ends.append(_correct_measure(run, filled(one, end), other, *how[:-1], 0))
    if any(variant.low != variant.low for variant in ends):
        return correction._replace(low=-math.inf, high=math.inf)
    variants = [correction, *ends]
    return correction._replace(
        low=min(variant.low for variant in variants), high=max(variant.high for variant in variants)
    )


def _correct_measure(
    run: str,
    one: Score,
    other: Score,
    shared: _Shared,
    level: float,
    population: Population,
    draw: Draw,
    tests: int,
) -> CorrectedMeasure:
    parts, units = shared.parts(one.measure, run), clusters_among([one], shared.settings)
    values, human_values = (
        {query: value for query, value in score.by_query.items() if not math.isnan(value)}
        for score in (one, other)
    )
    human_values = {query: value for query, value in human_values.items() if query in values}
    # People judged single nuggets of answers, not answers whole: another estimate, from the shares they
    # judged.
    of_parts = bool(parts.share)
    if not of_parts:
        # A value from some of the nuggets is no value of the answer, and would be taken for one.
        human_values = {query: value for query, value in human_values.items() if query not in parts.partly}
    alone = np.array(list(human_values.values()))
    limits = one.measure.limits
    correction = CorrectedMeasure(
        run,
        str(one.measure),
        "kind" if of_parts else population,
        _plain_mean(values.values()),
        _plain_mean(human_values.values()),
        *peoples_interval(alone, draw.look_level(level) or level, limits),
        queries=len(values),
        checked=len(values.keys() & parts.share.keys()) if of_parts else len(human_values),
        labels=parts.labels,
        of=parts.of,
        partly=len(parts.partly),
        used=of_parts,
        failed=sum(parts.failed.values()) if of_parts else len(parts.failed.keys() - human_values.keys()),
    )
    lost = why_lost(correction.failed, parts.labels if of_parts else len(human_values))
    if refused := draw.refuses_means or lost:
        return correction._replace(refused=refused)
    try:
        if of_parts:
            both = {q: Part(parts.judge[q], share) for q, share in parts.share.items() if q in values}
            human_values = {query: parts.people[query] for query in both}
            return _correct_by_labels(correction, values, human_values, level, limits, draw, units, both)
        # Where nobody says how they were chosen, look whether the judge scored them otherwise than the rest.
        checked = [index for index, query in enumerate(values) if query in human_values]
        chosen, doubt = selection(draw, list(values.values()), checked, tests)
        if chosen is not None:
            return correction._replace(refused=chosen)
        correction = correction._replace(doubt=doubt)
        return _correct_by_labels(correction, values, human_values, level, limits, draw, units, None)
    except TooFewLabels as error:
        return correction._replace(refused=error.reason)


def _correct_by_labels(
    correction: CorrectedMeasure,
    values: _Values,
    human_values: Mapping[str, float],
    level: float,
    limits: Limits | None,
    draw: Draw,
    units: Mapping[str, str] | None,
    parts: Mapping[str, Part] | None,
) -> CorrectedMeasure:
    """Correct by answers that people judged, wholly or in part."""
    # The estimator counts queries by place: labels are of the same places as the judge's values.
    places = {query: index for index, query in enumerate(values)}
    low, high, span = scale_of([*values.values(), *human_values.values()], limits)
    labeled = {places[query]: value for query, value in human_values.items()}
    how: dict[str, Any] = {
        # One system's mean, not a difference of two, for which the interval is another.
        "paired": False,
        "level": level,
        "look": draw.look_level(level),
        "population": correction.population,
        "span": high - low if math.isfinite(high - low) else span,
        "chosen": chances_of(draw, values, human_values),
        "parts": None if parts is None else {places[query]: part for query, part in parts.items()},
        "within": (low, high),
        "clusters": None if units is None else [units[query] for query in values],
    }
    mean = corrected(list(values.values()), labeled, **how)
    if parts is not None or units is not None:
        # Without the judge; labels of parts have no mean that needs no weights, those of clusters no plain
        # interval.
        alone = corrected(list(values.values()), labeled, slope=0.0, **how)
        correction = correction._replace(people=alone.value, people_low=alone.low, people_high=alone.high)
    return correction._replace(
        value=mean.value,
        low=mean.low,
        high=mean.high,
        slope=mean.slope,
        gain=mean.gain if parts is None else math.nan,
        coarse=mean.coarse is not None,
    )


def _plain_mean(values: Collection[float]) -> float:
    return math.fsum(values) / len(values) if values else math.nan


def correction_remarks(corrections: Sequence[CorrectedMeasure], judged: JudgementTable) -> Iterator[Remark]:
    """Say what should be known beside the numbers."""
    corrected = {correction.run for correction in corrections}
    left_out = [run for run in judged.runs.words if run not in corrected]
    if left_out:
        yield Remark("systems_without_labels", facts={"names": left_out})
    for correction in corrections:
        about = Scope((correction.run,), str(correction.measure))
        if correction.missing:
            facts = {"number": correction.missing, "low": correction.least, "high": correction.most}
            yield Remark("missing_of_judge", about, facts)
        if correction.refused is not None:
            yield Remark("not_corrected", about, {"reason": correction.refused})
        if correction.failed:
            yield Remark("labels_failed", about, {"number": correction.failed})
        if correction.coarse:
            yield Remark("coarse_labels", about)
        if correction.doubt is not None:
            yield replace(correction.doubt, about=about)
        if correction.partly:
            labels = correction.labels if correction.used else None
            yield Remark(
                "labels_of_parts",
                about,
                {"number": correction.partly, "labels": labels, "total": correction.of},
            )


_Key = tuple[str, str, str]  # query, item, aspect
_Place = tuple[str, str, str, str]  # run, and the key
_Values = dict[str, float]


class _PartJudged(NamedTuple):
    """How much of a system's answers people judged, by one measure.

    `labels` of the `of` judgements that the measure rests on are people's. Where answers were judged in
    part, `judge` and `people` are the values on what both judged of each answer, and `share` says how much of
    its weight that is; all are empty for a measure that needs the whole answer. `partly` are such answers,
    `failed` counts the labels that failed, by query.
    """

    labels: int
    of: int
    partly: frozenset[str] = frozenset()
    judge: Mapping[str, float] = {}
    people: Mapping[str, float] = {}
    share: Mapping[str, float] = {}
    failed: Mapping[str, int] = {}


class _Shared:
    """Judgements of a judge and of people, and both restricted to what both judged."""

    def __init__(
        self, judged: JudgementTable, gold: JudgementTable, rules: Rules, settings: Settings
    ) -> None:
        self.judged, self.gold, self.rules, self.settings = judged, gold, rules, settings
        self._both: tuple[JudgementTable, JudgementTable] | None = None

    def parts(self, measure: AnyMeasure, run: str) -> _PartJudged:
        """Return the human labels of this system's answers, of the judgements that the measure uses."""
        if not isinstance(measure, Measure):
            return _PartJudged(0, 0)
        ours = _judgement_weights(measure, self.judged, run, self.rules.filling)
        # "skip": what people failed at they did not judge, whatever is done with the judge's own failures.
        theirs = _judgement_weights(measure, self.gold, run, "skip").keys()
        whole, part = _sum_by_query(ours), _sum_by_query({key: ours[key] for key in ours if key in theirs})
        labels = sum(weight > 0 and key in theirs for key, weight in ours.items())
        failed = failed_labels(measure, self.gold, run)
        judged_part = _PartJudged(labels, sum(weight > 0 for weight in ours.values()), failed=failed)
        partly = frozenset(query for query, weight in part.items() if 0 < weight < whole[query])
        # Without weights nobody knows how much of an answer was judged; with a floor a value is no sum of its
        # parts.
        if not partly or measure.about.weighs is None or measure.parameters.get("floor") == "zero":
            return judged_part._replace(partly=partly)
        rules = Rules(on_missing=self.rules.filling)  # type: ignore[arg-type]  # `Rules` refuses others
        values = []
        for grades in self.both:
            scores = next(result for result in evaluate_all([measure], grades, rules) if result.run == run)
            values.append({q: value for q, value in scores.scores[0].by_query.items() if value == value})
        judge, people = values
        share = {q: weight / whole[q] for q, weight in part.items() if weight and q in judge and q in people}
        return judged_part._replace(partly=partly, judge=judge, people=people, share=share)

    @property
    def both(self) -> tuple[JudgementTable, JudgementTable]:
        """The two tables with the judgements alone that stand in both, and have not failed."""
        if self._both is None:
            judged = _places(self.judged, self.rules.filling == "skip")
            common = judged & _places(self.gold, True)
            # Computed once for all systems and measures: each is a walk over every judgement.
            self._both = _only(self.judged, common), _only(self.gold, common)
        return self._both


def _places(grades: JudgementTable, graded_only: bool) -> set[_Place]:
    return {
        _place_of_line(line)
        for row, line in grades.each()
        if grades.statement_of(row).is_graded or not graded_only
    }


def _only(grades: JudgementTable, places: set[_Place]) -> JudgementTable:
    return grades.only(lambda line: _place_of_line(line) in places)


def _place_of_line(line: JudgementLine) -> _Place:
    return str(line.run_id), str(line.query_id), str(line.item_id), str(line.aspect)


def _judgement_weights(measure: Measure, grades: JudgementTable, run: str, filling: str) -> dict[_Key, float]:
    """Return the judgements of a system that a measure rests on, each with what it counts."""
    weights: dict[_Key, float] = {}
    weight = measure.about.weighs
    for judge in range(len(grades.judges.words)) if run in grades.runs else ():
        try:
            for answer in JudgeOfRun(grades, grades.runs[run], judge, filling).assessments():
                # For what it asks, not for its value: an answer notes on which scales it was asked.
                measure.value(answer.asked_by(measure))
                # Places among other answers are no judgement of a part of this one.
                scales = [scale for scale in answer.scales if scale is not POSITION]
                for judgement in chain.from_iterable(map(answer.judged, scales)):
                    key = answer.query_id, judgement.item, judgement.aspect
                    weights[key] = weight(measure.parameters, judgement) if weight else 1.0
        # This judge said nothing of the system: his row numbers lead to none of its answers.
        except NotThisJudge:
            continue
    return weights


def _sum_by_query(weights: Mapping[_Key, float]) -> dict[str, float]:
    totals: dict[str, float] = {}
    for (query, _, _), weight in weights.items():
        totals[query] = totals.get(query, 0.0) + weight
    return totals
