"""Judged answers beside people's judgements of some of them: every system's measures, corrected."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rageval.answers import Rules, evaluate_all
from rageval.errors import InputError, MeasureError, UsageError
from rageval.files.judgements import Judgements
from rageval.measures.base import MEAN, Measure
from rageval.measures.scales import CRAG
from rageval.scores import Score
from rageval.scoring.assessing import on
from rageval.statistics.correction import (
    Estimate,
    corrected_from_parts,
    corrected_mean,
    corrected_share,
)
from rageval.text import visible
from rageval.uncertainty.parts import Shared

FEW = 20


class Corrected(NamedTuple):
    """A system's estimate by one measure; `method` is `ppi`, or `confusion` for shares of labels.

    People judged a part only of `partly` answers, which are `used` if the measure can do with a part; of the
    judge's judgements `missing` failed or are not there.
    """

    run: str
    measure: str
    method: str
    estimate: Estimate
    partly: int = 0
    used: bool = False
    missing: int = 0


def correct(
    measures: Sequence[Measure], judged: Judgements, gold: Judgements, rules: Rules, level: float = 0.95
) -> list[Corrected]:
    """Every measure of every system that people looked at.

    People need not have judged every query, nor every nugget of an answer; what they did not judge is no
    evidence. An answer that they judged in part counts by that part, or, by a measure that needs the whole of
    it, not at all.
    """
    if not 0 < level < 1:
        raise UsageError(f"level={level!r}: expected a number between 0 and 1")
    for measure in measures:
        if measure.aggregate != MEAN:
            raise MeasureError(f"{measure} is no mean over queries, and no other is corrected; leave it out")
    people = {scores.run: scores for scores in evaluate_all(measures, gold, Rules(on_missing="skip"))}
    found = []
    shared = Shared(judged, gold, rules)
    for scores in evaluate_all(measures, judged, rules):
        if scores.run in people:
            pairs = zip(scores.scores, people[scores.run].scores, strict=True)
            found += [
                _corrected(scores.run, one, other, shared, level)._replace(missing=one.missing)
                for one, other in pairs
            ]
    if not any(each.estimate.checked for each in found):
        raise InputError(
            f"{visible(gold.name)}: holds nothing on the answers of {visible(judged.name)}; expected the same"
            " query_id and run_id in both files" + _failed(judged, gold)
        )
    return found


def _failed(*both: Judgements) -> str:
    """How many judgements failed, where that is why nothing was judged in both."""
    counts = [(visible(grades.name), grades.failed()) for grades in both]
    said = [f"{number:,} judgements of {name} failed" for name, number in counts if number]
    return f", that did not fail ({', '.join(said)})" if said else ""


def _corrected(run: str, one: Score, other: Score, shared: Shared, level: float) -> Corrected:
    name, judged, gold = str(one.measure), shared.judged, shared.gold
    counted = one.measure.about.labels
    if counted is not None and isinstance(one.measure, Measure):
        said, people = _labels(judged, run), _labels(gold, run)
        if said:
            estimate = corrected_share(said, people, counted(one.measure.parameters), level)
            estimate = estimate._replace(labels=estimate.checked, of=estimate.queries)
            return Corrected(run, name, "confusion", estimate)
    parts = shared.parts(one.measure, run)
    values, peoples = _defined(one), _defined(other)
    if parts.share:
        estimate = corrected_from_parts(
            values, parts.judge, parts.people, parts.share, parts.labels, level, one.measure.limits
        )
    else:
        whole = {query: value for query, value in peoples.items() if query not in parts.partly}
        estimate = corrected_mean(values, whole, level, one.measure.limits)
    estimate = estimate._replace(labels=parts.labels, of=parts.of)
    return Corrected(run, name, "ppi", estimate, len(parts.partly), bool(parts.share))


def _defined(score: Score) -> dict[str, float]:
    return {query: value for query, value in score.by_query.items() if not math.isnan(value)}


def _labels(grades: Judgements, run: str) -> dict[str, str]:
    """The label of every answer of a system on CRAG's scale."""
    judged = on(grades, CRAG)
    judges = [judge for judge in range(len(grades.judges.words)) if judged.is_by(judge)]
    if len(judges) > 1:
        raise UsageError(
            f"{visible(grades.name)}: has {len(judges):,} judges, and shares of labels are"
            " corrected for one; expected one file a judge, or their vote (rageval judge --vote majority)"
        )
    found: dict[str, str] = {}
    for judge in judges:
        for answer in grades.answers_of(grades.runs[run], judge):
            for judgement in judged.of(answer)[0]:
                if judgement.label is not None:
                    found[grades.queries.words[grades.query[answer]]] = judgement.label
    return found


def remarks(found: Sequence[Corrected], judged: Judgements) -> Iterator[str]:
    """What should be known beside the numbers."""
    left_out = [run for run in judged.runs.words if run not in {each.run for each in found}]
    if left_out:
        yield f"people judged nothing of {', '.join(map(visible, left_out))}, which is left out"
    for each in found:
        name = f"{visible(each.run)}: {each.measure}"
        if each.missing:
            yield f"{name}: {each.missing:,} of the judge's judgements are missing"
        if each.estimate.checked < FEW:
            yield f"{name}: rests on {each.estimate.checked:,} queries that people judged, which is few"
        if each.estimate.coarse:
            yield f"{name}: coarse: fewer than 6 of people's values differ from the commonest, or the judge's"
        if each.partly and each.used:
            yield (
                f"{name}: people judged {each.partly:,} answers in part, {each.estimate.labels:,} of"
                f" {each.estimate.of:,} judgements in all, which are taken for drawn at random"
            )
        elif each.partly:
            yield f"{name}: people judged {each.partly:,} answers in part only, which are left out"
        if each.estimate.unseen:
            yield f"{name}: nobody checked a label that the judge gives to {each.estimate.unseen:.1%}"
