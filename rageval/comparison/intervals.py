"""How sure a score is: its values as a sample, and its interval, the same one wherever it is printed."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import repeat
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

import numpy as np

from rageval.comparison.clusters import clusters_among, named_clusters
from rageval.comparison.resampling import JointSample, is_joint
from rageval.core.remark import Remark
from rageval.errors import TooFewLabels
from rageval.files.plans import Look
from rageval.measures.base import MEAN
from rageval.measures.parsing import AnyMeasure
from rageval.measures.ranking import BLENDS, Blend, Share, pooled
from rageval.scoring.assessments import MOST_MISSING
from rageval.scoring.gold import DOUBT, UNIFORM, UNSAID, Draw, People, chances_of, why_lost
from rageval.scoring.scores import Score, Scores, filled, require_groups
from rageval.statistics import LEVEL, SEED
from rageval.statistics.bootstrap import Limits, intervals, ranges_of
from rageval.statistics.correction import FEWEST, Corrected, corrected, selection_p
from rageval.statistics.samples import FEWEST_CLUSTERS, Int, Sample, settled
from rageval.statistics.slopes import slope_within

if TYPE_CHECKING:
    from rageval.comparison.results import Settings


_AnySettings = TypeVar("_AnySettings")  # `Settings` of a comparison, or those of a gate


def with_conversations(settings: _AnySettings, results: Sequence[Scores]) -> _AnySettings:
    """Return settings in which queries are clustered by conversation, if nothing else was chosen."""
    scores, chosen = [score for one in results for score in one.scores], cast("Any", settings)
    if chosen.clusters is not None or (clusters := clusters_among(scores)) is None:
        return settings
    return replace(chosen, clusters=clusters, clustered_by=named_clusters(scores))  # type: ignore[no-any-return]


def cluster_remarks(
    clusters: Mapping[str, str] | None, by: str, queries: Collection[str]
) -> Iterator[Remark]:
    """Say in how many clusters queries are drawn, and whether these are few."""
    if clusters is None:
        return
    number = len({clusters[query] for query in queries})
    yield Remark("clusters", facts={"queries": len(queries), "clusters": number, "by": by})
    if number < FEWEST_CLUSTERS:
        yield Remark("few_units", facts={"number": number})


# A judge's values beside people's labels of some: means and differences as people would have them.

_CHOSEN_P = 0.01  # p below which labels were chosen, over the number of tests


class Labeled(NamedTuple):
    """The judge's values, human values of some by place, and the queries.

    `reason` is why nothing can be corrected. `how` is what else `corrected` takes; a claim at a `look` needs
    more than one that is made once. `chosen` is why labels are taken for chosen by what the judge said, which
    refuses everything, `doubt` why they might be. `lacks` counts the queries in which judgements of the judge
    are missing: `estimate` then holds whatever they are, and `least_p` is the least p that some of these
    values give. `bounds` are the ends of the corrected value.
    """

    queries: tuple[str, ...] = ()
    judged: Sequence[float] = ()
    people: Mapping[int, float] = {}
    estimate: Corrected | None = None
    reason: Remark | None = None
    how: Mapping[str, Any] = {}
    look: Look | None = None
    chosen: Remark | None = None
    doubt: Remark | None = None
    lacks: int = 0
    least_p: float = math.nan
    bounds: tuple[float, float] | None = None

    @property
    def reasons(self) -> tuple[Remark, ...]:
        """Why nothing can be corrected, or else the doubt of what was."""
        reason = self.reason or self.doubt
        return () if reason is None else (reason,)

    @property
    def mean(self) -> float:
        """The judge's mean."""
        return math.fsum(self.judged) / len(self.judged) if len(self.judged) else math.nan


def people_of(score: Score) -> People:
    """Return the human values of a score, even if there are none."""
    return score.people if score.people is not None else People({}, Draw())


def _widen_over_missing(labeled: Labeled, ends: Sequence[Labeled], lacks: int) -> Labeled:
    """Return an estimate that holds at both ends: the widest interval, the largest p."""
    if labeled.estimate is None:
        return labeled
    estimates = [end.estimate for end in (labeled, *ends)]
    defined = [estimate for estimate in estimates if estimate is not None]
    if len(defined) < len(estimates):
        facts = {"number": lacks, "reason": next(end.reason for end in ends if end.estimate is None)}
        return labeled._replace(estimate=None, reason=Remark("correction_with_missing", facts=facts))
    turns = len({(estimate.value > 0) - (estimate.value < 0) for estimate in defined}) > 1
    widest = replace(
        labeled.estimate,
        low=min(estimate.low for estimate in defined),
        high=max(estimate.high for estimate in defined),
        p=1.0 if turns else max(estimate.p for estimate in defined),
        error=max(estimate.error for estimate in defined),
    )
    values = [estimate.value for estimate in defined]
    least_p = min(estimate.p for estimate in defined)
    return labeled._replace(estimate=widest, lacks=lacks, least_p=least_p, bounds=(min(values), max(values)))


def corrected_score(
    score: Score,
    settings: Settings | None,
    only: Collection[str] | None = None,
    fewest: int = FEWEST,
    slope: float | None = None,
) -> Labeled:
    """Return a system's mean by a measure, corrected; over some of the queries only, if these are named.

    Where judgements of the judge are missing, the interval holds for all their possible values.
    """
    labeled = _correct_score(score, settings, only, fewest, slope)
    lacks = {query for query in score.between if only is None or query in only}
    if not lacks:
        return labeled
    ends = [_correct_score(filled(score, end), settings, only, fewest, slope) for end in (0, 1)]
    return _widen_over_missing(labeled, ends, len(lacks))


def _correct_score(
    score: Score,
    settings: Settings | None,
    only: Collection[str] | None,
    fewest: int,
    slope: float | None,
) -> Labeled:
    """Return the corrected mean of values as they stand."""
    people = people_of(score)
    queries = tuple(sorted(q for q, v in score.by_query.items() if v == v and (only is None or q in only)))
    judged = [score.by_query[query] for query in queries]
    labels = {index: people.values[query] for index, query in enumerate(queries) if query in people.values}
    labeled = Labeled(queries, judged, labels)
    if people.draw.compares:
        return labeled._replace(reason=people.draw.refuses_means)
    failed = sum(query in score.by_query and (only is None or query in only) for query in people.failed)
    if reason := why_lost(failed, len(labels)) or _few_labels(len(labels), fewest, is_of_pair=False):
        return labeled._replace(reason=reason)
    if only is None:
        labeled = _check_draw(labeled, people)
    low, high, span = scale_of([*judged, *labels.values()], score.measure.limits)
    width = high - low if math.isfinite(high - low) else span
    how = {"fewest": fewest, "slope": slope, "paired": False, "within": (low, high), "span": width}
    return _estimate(labeled, people.draw, settings, how, clusters_among([score], settings))


def scale_of(values: Sequence[float], limits: Limits | None) -> tuple[float, float, float]:
    """Return the ends of a measure's scale, not of what was seen on it, and how far a difference may be off.

    >>> scale_of([0.0, 0.0], None), scale_of([0.5], (-1.0, 1.0)), scale_of([12.0], None)
    ((0.0, 1.0, 1.0), (-1.0, 1.0, 1.0), (-inf, inf, 12.0))
    """
    scale = ranges_of(np.array(values, np.float64)[:, None], limits)
    return float(scale.low[0]), float(scale.high[0]), float(scale.span[0])


def corrected_pair(
    one: Score, other: Score, names: tuple[str, str], settings: Settings | None, lacking: Collection[str] = ()
) -> Labeled:
    """Return the difference of two systems by a measure, corrected, on the queries that neither lacks.

    Where judgements of the judge are missing, the estimate holds for all their possible values.
    """
    labeled = _correct_pair(one, other, names, settings, lacking)
    lacks = (one.between.keys() | other.between.keys()) - set(lacking)
    if not lacks:
        return labeled
    ends = [
        _correct_pair(filled(one, end), filled(other, 1 - end), names, settings, lacking) for end in (0, 1)
    ]
    return _widen_over_missing(labeled, ends, len(lacks))


def _correct_pair(
    one: Score,
    other: Score,
    names: tuple[str, str],
    settings: Settings | None,
    lacking: Collection[str],
) -> Labeled:
    """Return the corrected difference of values as they stand."""
    ours, theirs = one.by_query, other.by_query
    queries = tuple(
        sorted(
            q
            for q, v in ours.items()
            if v == v and theirs.get(q, math.nan) == theirs.get(q) and q not in lacking
        )
    )
    judged = [ours[query] - theirs[query] for query in queries]
    mine, yours = people_of(one), people_of(other)
    both = mine.values.keys() & yours.values.keys()
    draw = draw_of_pair(one, other)
    look = draw.look
    labels = {index: mine.values[q] - yours.values[q] for index, q in enumerate(queries) if q in both}
    labeled = Labeled(queries, judged, labels, look=look)
    failed = [q for q in mine.failed | yours.failed if q in ours and q in theirs and q not in lacking]
    if reason := why_lost(len(failed), len(labels)) or _unusable_labels(draw, names, one, len(labels)):
        return labeled._replace(reason=reason)
    # Who labels one system alone may have chosen what: then their values are no difference of systems.
    mismatched = [q for q in both if q in mine.who and q in yours.who and mine.who[q] != yours.who[q]]
    if mismatched:
        is_refused = len(mismatched) > MOST_MISSING * len(labels)
        facts = {"number": len(mismatched), "total": len(labels), "is_refused": is_refused}
        doubt = Remark("different_annotators", facts=facts)
        if is_refused:
            return labeled._replace(reason=doubt)
        labeled = labeled._replace(doubt=doubt)
    # Also by the difference itself, which neither system's values need show.
    for values, who in ((judged, mine), (list(map(ours.__getitem__, queries)), mine),
                        (list(map(theirs.__getitem__, queries)), yours)):  # fmt: skip
        if labeled.chosen is None:
            labeled = _check_draw(labeled, who, values)
    values = [side[query] for side in (ours, theirs) for query in queries]
    values += [side.values[query] for side in (mine, yours) for query in both]
    low, high, span = scale_of(values, one.measure.limits)
    within = (low - high, high - low)
    same = [index for index, query in enumerate(queries) if draw.compares and query in draw.same]
    how = {"paired": True, "within": within, "span": span, "same": same}
    return _estimate(labeled, draw, settings, how, clusters_among([one, other], settings))


def draw_of_pair(one: Score, other: Score) -> Draw:
    """Return how the queries were drawn that are labeled for both of two systems."""
    draws = [score.people.draw for score in (one, other) if score.people is not None]
    return draws[0].of_both(draws[-1]) if draws else Draw()


def _unusable_labels(draw: Draw, names: Collection[str], score: Score, labels: int) -> Remark | None:
    """Return why labels say nothing of a pair by this measure, or nothing yet."""
    if draw.compares and draw.compares != set(names):
        return Remark("labels_of_other_pair", facts={"names": sorted(draw.compares)})
    decides = draw.plan is not None and draw.plan.decide is not None
    if decides and draw.plan is not None and str(score.measure) != draw.plan.measure:
        return Remark("labels_of_other_measure", facts={"decides": draw.plan.measure})
    return _few_labels(labels, FEWEST, is_of_pair=True)


def _few_labels(labels: int, needed: int, *, is_of_pair: bool) -> Remark | None:
    if labels >= needed:
        return None
    return Remark("few_labels", facts={"number": labels, "needed": needed, "is_of_pair": is_of_pair})


def _estimate(
    labeled: Labeled,
    draw: Draw,
    settings: Settings | None,
    how: Mapping[str, Any],
    of_query: Mapping[str, str] | None,
) -> Labeled:
    """Return the values with what labels make of them, or why they make nothing."""
    if labeled.chosen is not None:
        return labeled._replace(reason=labeled.chosen)
    if not all(map(math.isfinite, labeled.judged)):
        return labeled._replace(reason=Remark("any_value"))
    labeled_queries = [labeled.queries[index] for index in labeled.people]
    chosen = chances_of(draw, labeled.queries, labeled_queries)
    level, population = LEVEL, "kind"
    if settings is not None:
        level, population = settings.level, settings.population
    clusters = None if of_query is None else [of_query[query] for query in labeled.queries]
    try:
        estimate = corrected(
            labeled.judged,
            labeled.people,
            population=population,  # type: ignore[arg-type]  # checked by Settings
            chosen=chosen,
            clusters=clusters,
            level=level,
            look=draw.look_level(level),
            **how,
        )
    except TooFewLabels as error:
        return labeled._replace(reason=error.reason)
    return labeled._replace(estimate=estimate, how=how)


def _check_draw(labeled: Labeled, people: People, values: Sequence[float] | None = None) -> Labeled:
    """Return what labels make of values, with whether these labels were chosen by what the judge said."""
    chosen, doubt = selection(people.draw, values or labeled.judged, labeled.people, people.tests)
    return labeled._replace(chosen=chosen or labeled.chosen, doubt=doubt or labeled.doubt)


def selection(
    draw: Draw, values: Sequence[float], labeled: Collection[int], tests: int = 1
) -> tuple[Remark | None, Remark | None]:
    """Return why labels seem chosen by the judge's values, and why they might be; None otherwise.

    Labels drawn by a plan, or with stated chances, are not tested: the estimate accounts for these. Others
    are tested for this many means and differences, if any. If the caller says that the draw was uniform, that
    counts.
    """
    if draw.how not in (UNSAID, UNIFORM) or not len(labeled) or not tests:
        return None, None
    p = selection_p(values, labeled)
    if draw.how == UNIFORM:
        return None, Remark("labels_hardly_uniform", facts={"p": p}) if p < DOUBT else None
    return Remark("labels_not_random", facts={"p": p}) if p < _CHOSEN_P / tests else None, None


FEW = 20  # queries; an interval from fewer says little


def bootstrap(
    measure: AnyMeasure, values: Sequence[float], clusters: Sequence[str] | None = None
) -> tuple[float, float]:
    """Return the interval of what the defined values become; the same values, the same interval.

    `clusters` names the cluster of each value, where they are not independent.

    There is one for means, pooled shares, and outcomes; sums and functions of a list have none (NaN).

    >>> from rageval.measures import recall
    >>> low, high = bootstrap(recall, [0.5] * 30)  # not of width 0: others might differ
    >>> round(low, 2), round(high, 2)
    (0.4, 0.6)
    """
    places = [place for place, value in enumerate(values) if value == value or isinstance(value, Blend)]
    defined = [values[place] for place in places]
    unit: Int = np.arange(len(defined))
    if clusters is not None:
        _, unit = np.unique([clusters[place] for place in places], return_inverse=True)
    if len(np.unique(unit)) < 2 or not _has_interval(measure):
        return float("nan"), float("nan")
    queries = tuple(map(str, range(len(defined))))
    columns = _sample_of(measure, queries, [defined], unit.astype(np.int64))
    low, high = intervals(columns, level=LEVEL, seed=SEED, scale=ranges_of(columns.values, measure.limits))
    return float(low[0]), float(high[0])


def bootstrap_of(score: Score, settings: Settings | None = None) -> tuple[float, float]:
    """Return the interval of a score; the same one, whatever the order of its queries."""
    if is_joint(score):
        return JointSample.of_settings(settings, [score]).interval(0)
    numbers = sorted(zip(score.query_ids, score.numbers, strict=True), key=lambda pair: pair[0])
    of_query = clusters_among([score], settings)
    clusters = None if of_query is None else [of_query[query] for query, _ in numbers]
    return bootstrap(score.measure, [value for _, value in numbers], clusters)


class _Slope(NamedTuple):
    """By how much a value changes from turn to turn within conversations, with its interval."""

    value: float
    low: float
    high: float
    reasons: tuple[Remark, ...] = ()


def slope_over_turns(score: Score, turns: Mapping[str, str], settings: Settings | None) -> _Slope | None:
    """Return the slope of values over turns within conversations; None where there is none to tell of."""
    clusters = clusters_among([score], settings)
    # Labels correct means, and a pooled share of one turn is none of a turn.
    if clusters is None or score.people is not None or score.measure.aggregate != MEAN:
        return None
    try:
        places = np.array([float(turns[query]) for query in score.query_ids])
    except ValueError:
        return None
    _, unit = np.unique([clusters[query] for query in score.query_ids], return_inverse=True)
    level = LEVEL if settings is None else settings.level
    slope, low, high, units = slope_within(places, score.values, unit.astype(np.int64), level)
    if not units:
        return None
    few = Remark("few_clusters", facts={"number": units, "needed": FEWEST_CLUSTERS})
    return _Slope(slope, low, high, (few,) if units < FEWEST_CLUSTERS else ())


def joint_intervals(scores: Sequence[Score], settings: Settings | None) -> list[tuple[float, float]]:
    """Return the interval of each system's value that all queries have together."""
    return list(map(JointSample.of_settings(settings, scores).interval, range(len(scores))))


def _sample(scores: Sequence[Score], clusters: Mapping[str, str] | None = None) -> Sample:
    """Return the values that several runs have by one measure.

    Queries are sorted by id, so that the order of lines in a file changes no digit of what is drawn.
    """
    queries = sorted({query for score in scores for query in score.query_ids})
    values_by_score = [dict(zip(score.query_ids, score.numbers, strict=True)) for score in scores]
    columns = [list(map(values.get, queries, repeat(math.nan))) for values in values_by_score]
    unit = np.arange(len(queries))
    if clusters is not None:
        require_groups(clusters, queries, "clusters")
        _, unit = np.unique([clusters[query] for query in queries], return_inverse=True)
    return _sample_of(scores[0].measure, tuple(queries), columns, unit.astype(np.int64))


def _has_interval(measure: AnyMeasure) -> bool:
    """Return whether there are intervals of what a measure makes of the queries' values."""
    return measure.aggregate in ("mean", "pool", "together")


def _sample_of(
    measure: AnyMeasure, queries: tuple[str, ...], columns: Sequence[Sequence[float]], unit: Int
) -> Sample:
    """Return a sample of these values by a measure, a column a run."""
    blended = measure.aggregate == "pool" and any(isinstance(value, Blend) for of in columns for value in of)
    if blended:
        columns = [_jackknife_values(column) for column in columns]
    values = settled(np.array(columns, np.float64).T)
    if measure.aggregate != "pool" or blended:
        return Sample(queries, values, unit)
    wholes = [[getattr(value, "whole", 0.0) for value in column] for column in columns]
    return Sample(queries, values, unit, np.array(wholes, np.float64).T)


def _jackknife_values(values: Sequence[float]) -> list[float]:
    """Return values whose mean is the pooled blend, and that vary as it would with other queries.

    These are the jackknife's: what the pooled blend would be without each query says how far it leans on it.
    """
    blends = {index: value for index, value in enumerate(values) if isinstance(value, Blend)}
    whole = pooled(blends.values())
    pseudo_values, number = [math.nan] * len(values), len(blends)
    if number < 2 or not isinstance(whole, Blend) or whole != whole:
        return pseudo_values
    without = {index: _blend_without(whole, value) for index, value in blends.items()}
    middle = math.fsum(without.values()) / number
    for index, reduced in without.items():
        pseudo_values[index] = whole + (number - 1) * (middle - reduced)
    return pseudo_values


def _blend_without(whole: Blend, one: Blend) -> float:
    """Return a pooled blend without one query; itself where nothing would be left of some share."""
    left = []
    for total, own in zip(whole.shares, one.shares, strict=True):
        part, rest = (own.part, own.whole) if isinstance(own, Share) else (0.0, 0.0)
        if not isinstance(total, Share) or total.whole - rest <= 1e-12 * total.whole:
            return float(whole)
        left.append((total.part - part) / (total.whole - rest))
    return BLENDS[whole.rule](left)
