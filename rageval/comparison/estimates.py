"""The estimate of a score, made here for all that shows a mean or limits it.

Also by what is known of the queries: a slice a domain, a question type, ….
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from rageval.comparison.clusters import clusters_among
from rageval.core.basis import UNSTATED, Basis
from rageval.core.estimate import Estimate
from rageval.core.remark import Remark
from rageval.core.turn import TURN
from rageval.measures.base import MEAN, POOL, TOGETHER, Measure
from rageval.scoring.scores import Score, filled
from rageval.statistics import LEVEL, SEED

if TYPE_CHECKING:
    from rageval.comparison.intervals import Labeled
    from rageval.comparison.results import Settings
    from rageval.scoring.gold import Draw
    from rageval.statistics.samples import Sample

# What needs numpy is imported where it is used: a limit without labels needs none of it.


def estimate_value(score: Score, settings: Settings | None = None) -> Estimate:
    """Return the estimate of a system by a measure; with an interval only where labels give one."""
    if score.people is not None:
        from rageval.comparison.intervals import corrected_score

        return _estimate_by_labels(score, corrected_score(score, settings), settings)
    return Estimate(
        score.value,
        level=LEVEL if settings is None else settings.level,
        queries=score.queries,
        undefined=score.undefined,
        missing=len(score.between),
        bounds=_bounds_of(score),
        basis=score.basis,
    )


def estimate_mean(score: Score, settings: Settings | None = None) -> Estimate:
    """Return the estimate of a system by a measure, with its interval."""
    (estimate,) = estimate_means([score], settings)
    return estimate


def estimate_means(
    scores: Sequence[Score], settings: Settings | None = None, sample: Sample | None = None
) -> list[Estimate]:
    """Return the estimate of each system by one measure; their intervals are from the same resamples.

    Where any system has labels, one that has none has no value. `sample` has the values of the scores,
    if they were sampled already.
    """
    import numpy as np

    from rageval.comparison.intervals import _has_interval, _sample, corrected_score, joint_intervals
    from rageval.statistics.bootstrap import intervals, ranges_of

    if any(score.people is not None for score in scores):
        return [_estimate_by_labels(score, corrected_score(score, settings), settings) for score in scores]
    estimates = [estimate_value(score, settings) for score in scores]
    if not _has_interval(scores[0].measure) or any(score.groups is not None for score in scores):
        return estimates
    if scores[0].measure.aggregate == TOGETHER:
        ranges = joint_intervals(scores, settings)
        return [replace(one, low=low, high=high) for one, (low, high) in zip(estimates, ranges, strict=True)]
    if sample is None:
        sample = _sample(scores, clusters_among(scores, settings))
    # The range is the measure's own where it says one; what was seen may be narrower by chance.
    scale = ranges_of(sample.values, scores[0].measure.limits)
    if settings is None:
        ends = intervals(sample, level=LEVEL, seed=SEED, scale=scale)
    else:
        how = settings.level, settings.resamples, settings.seed
        ends = intervals(sample, *how, scale)
    pairs = np.stack(ends, axis=1).tolist()
    return [
        replace(estimate, low=low, high=high) for estimate, (low, high) in zip(estimates, pairs, strict=True)
    ]


def _bounds_of(score: Score) -> tuple[float, float] | None:
    """Return the ends of a value, whatever its missing judgements are; None where none are missing."""
    if score.measure.aggregate in (POOL, TOGETHER):  # the parts of what is missing are not known
        return None if score.bounds is None or not score.lost else (score.bounds[0], score.bounds[1])
    if not score.between:
        return None
    low, high = sorted(filled(score, end).value for end in (0, 1))
    return low, high


def _estimate_by_labels(score: Score, labeled: Labeled, settings: Settings | None) -> Estimate:
    """Return what labels make of a system's mean; no value where that is nothing."""
    corrected, reasons = labeled.estimate, labeled.reasons
    if score.groups is not None:
        corrected, reasons = None, (Remark("groups_not_corrected"),)
    estimate = Estimate(
        level=LEVEL if settings is None else settings.level,
        queries=len(labeled.queries),
        undefined=score.undefined,
        missing=len(score.between),
        basis=score.claim_basis,
        judged=score.value,
        labels=len(labeled.people),
        gain=math.nan,
        reasons=reasons,
    )
    if corrected is None:
        return estimate
    return replace(
        estimate,
        value=corrected.value,
        low=corrected.low,
        high=corrected.high,
        bounds=labeled.bounds,
        gain=corrected.gain,
    )


def estimate_signature(draw: Draw, labels: str) -> str:
    """Return by which labels a number is corrected: `gold:SHA8|labels:n|chosen:uniform|estimator:reg`."""
    return f"gold:{draw.sha}|labels:{labels}|chosen:{draw.how}|estimator:reg"


# A part of the queries.

_FEWEST_OF_SLICE, _FEWEST_FOR_SLOPE = 10, 15  # labels: for an interval, and for a slope of its own


SLOPE = "slope"  # in place of the name of a slice: by how much a value changes from turn to turn


class Slice(NamedTuple):
    """A measure's value over the queries of one kind, with its 95 % bootstrap interval.

    The value is over the `queries` where the measure is defined, not over the `undefined` ones. With labels
    it is the corrected value, NaN where there are too few (`reasons`), and `judged` is the judge's value. Of
    turns the last one is named `slope`: by how much the value changes from turn to turn within a
    conversation.
    """

    field: str
    name: str
    value: float
    low: float
    high: float
    queries: int
    undefined: int = 0
    basis: Basis = UNSTATED
    judged: float | None = None
    labels: int | None = None
    reasons: tuple[Remark, ...] = ()

    @property
    def is_small(self) -> bool:
        """Whether it has too few queries to be reliable."""
        from rageval.comparison.intervals import FEW

        return self.queries < FEW


def slices(
    score: Score, field: str, groups: Mapping[str, str], settings: Settings | None = None
) -> list[Slice]:
    """Return one slice for each value of the field, in the order of the values.

    Of the turns of conversations there is one more, the slope over turns within conversations.
    """
    from rageval.comparison.intervals import bootstrap_of, corrected_score, slope_over_turns

    sliced = []
    whole = corrected_score(score, settings) if score.people is not None else None
    parts = score.numbers_by(groups)
    for name, values in sorted(parts.items(), key=_in_order(parts)):
        queries = sorted(query for query in score.query_ids if groups[query] == name)
        ranges = {query: score.between[query] for query in queries if query in score.between}
        part = replace(score, query_ids=queries, numbers=values, between=ranges, groups=None, weights=None)
        if whole is None:
            # Of the settings of a comparison it depends on the clusters alone.
            low, high = bootstrap_of(part, settings)
            estimate = replace(estimate_value(part), low=low, high=high)
        else:
            labeled = _corrected_slice(score, settings, set(queries), whole)
            estimate = _estimate_by_labels(part, labeled, settings)
        sliced.append(_slice_of(field, name, estimate))
    slope = slope_over_turns(score, groups, settings) if field == TURN else None
    if slope is not None:
        numbers = slope.value, slope.low, slope.high, score.queries, score.undefined, score.basis
        sliced.append(Slice(field, SLOPE, *numbers, reasons=slope.reasons))
    return sliced


def slices_of_difference(
    one: Score, other: Score, field: str, groups: Mapping[str, str], settings: Settings | None = None
) -> list[Slice]:
    """Return the slices of the difference of two systems, on the queries where both have a value."""
    theirs = other.by_query
    numbers = [value - theirs.get(query, math.nan) for query, value in one.by_query.items()]
    measure = one.measure
    if isinstance(measure, Measure):
        low, high = measure.ends
        # A difference may be as large as the scale is wide, either way.
        about = measure.about._replace(limits=(low - high, high - low), aggregate=MEAN)
        measure = Measure(measure.function, measure.arguments, measure.k, about)
    return slices(replace(one, measure=measure, numbers=numbers, between={}), field, groups, settings)


def _in_order(names: Collection[str]) -> Callable[[tuple[str, Any]], Any]:
    """Return what slices are sorted by: their numbers, where all names are numbers, or their names."""
    try:
        numbers = {name: float(name) for name in names}
    except ValueError:
        return lambda part: part[0]
    return lambda part: (numbers[part[0]], part[0])


def corrected_mean(score: Score, settings: Settings | None = None) -> Slice:
    """Return the value over all queries, corrected by labels, as a slice that has all of them."""
    return _slice_of("queries", "all", estimate_mean(score, settings))


def _slice_of(field: str, name: str, estimate: Estimate) -> Slice:
    numbers = estimate.value, estimate.low, estimate.high, estimate.queries, estimate.undefined
    return Slice(field, name, *numbers, estimate.basis, estimate.judged, estimate.labels, estimate.reasons)


def _corrected_slice(
    score: Score, settings: Settings | None, queries: Collection[str], whole: Labeled
) -> Labeled:
    """Return a system's mean over some queries, corrected; with few labels, as far as all labels allow."""
    from rageval.comparison.intervals import corrected_score, people_of

    if whole.chosen is not None:
        return corrected_score(score, settings, queries)._replace(estimate=None, reason=whole.chosen)
    labels = sum(query in queries for query in people_of(score).values)
    if labels >= _FEWEST_FOR_SLOPE or whole.estimate is None:
        return corrected_score(score, settings, queries, _FEWEST_FOR_SLOPE)
    return corrected_score(score, settings, queries, _FEWEST_OF_SLICE, whole.estimate.slope)
