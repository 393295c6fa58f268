"""One measure's values for every run, and what there is to say of each pair: p-values, intervals, claims."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rageval.comparison.difference_tests import (
    BOOTSTRAP,
    STUDENT,
    differences,
    fitting_test,
    intervals_of_differences,
    significance_alone,
    significance_of_pairs,
)
from rageval.comparison.estimates import estimate_signature
from rageval.comparison.intervals import Labeled, _sample, corrected_pair, draw_of_pair, people_of
from rageval.comparison.resampling import JointSample, ResampledGap, is_joint
from rageval.comparison.results import (
    BEST,
    Absent,
    Cell,
    Pair,
    Settings,
    better_of,
    claimed,
)
from rageval.core.basis import Basis
from rageval.core.estimate import Estimate
from rageval.core.remark import Remark, Scope
from rageval.core.ruling import ReasonedRuling, Ruling
from rageval.measures.base import HIGHER as HIGH_IS_GOOD
from rageval.measures.base import LOWER as LOW_IS_GOOD
from rageval.measures.base import NEITHER
from rageval.scoring.likeness import Likenesses
from rageval.scoring.scores import Score, Scores, mean
from rageval.statistics.bootstrap import least_errors, ranges_of_differences
from rageval.statistics.correction import max_t as corrected_max_t
from rageval.statistics.looks import bound_at
from rageval.statistics.power import detectable, fewest, needed_between
from rageval.statistics.samples import FEWEST_CLUSTERS, SLACK, Float, Int, Sample
from rageval.statistics.significance import holm, is_skewed
from rageval.subjects import RUNS, kind_of_measure

# What may be claimed of a pair of runs, and when nothing may be.
#
# A run that failed, or produced nothing, is not "significantly worse": nothing was compared. And a difference
# that rests on queries a run never answered, or on judgements that are missing, is not one of quality.


def outcomes(differences: Float, better: str) -> tuple[int, int, int]:
    """Return queries won, tied and lost."""
    defined = differences[~np.isnan(differences)] * (-1.0 if better == LOW_IS_GOOD else 1.0)
    won, lost = int((defined > SLACK).sum()), int((defined < -SLACK).sum())
    return won, len(defined) - won - lost, lost


def failures(results: Sequence[Scores]) -> dict[str, Remark]:
    """Return runs with which nothing can be compared, and why."""
    remarks = {}
    for scores in results:
        about = Scope((scores.run,))
        values = [score.numbers for score in scores.scores]
        hopeless = scores.notes is not None and scores.notes.nothing_relevant
        if scores.is_adaptive:
            remarks[scores.run] = Remark("adaptive_judgements")
        elif all(value != value for of_measure in values for value in of_measure):
            remarks[scores.run] = Remark("no_value", about, {"is_hopeless": hopeless})
        elif scores.notes is not None and scores.is_foreign:
            remarks[scores.run] = Remark("nothing_judged", about, {"number": scores.notes.retrieved})
        # Of judged answers, and where low is good, 0 on every query does not mean that nothing was found.
        elif all(abs(value) <= SLACK for of_measure in values for value in of_measure) and any(
            score.measure.better == HIGH_IS_GOOD and kind_of_measure(score.measure).is_a(RUNS)
            for score in scores.scores
        ):
            remarks[scores.run] = Remark("zero_everywhere", about, {"is_hopeless": hopeless})
    return remarks


def ruling_of_test(adjusted: float, direction: int, difference: float, level: float) -> ReasonedRuling:
    """Return the plain verdict, in the test's direction: which is higher, if that is more than chance."""
    if not adjusted <= 1 - level:
        return ReasonedRuling(Ruling.UNDECIDED)
    if direction * difference <= 0:
        return ReasonedRuling(Ruling.UNDECIDED, (Remark("opposite_directions"),))
    return ReasonedRuling(Ruling.HIGHER if direction > 0 else Ruling.LOWER)


SAME_RANKINGS = {
    Ruling.IDENTICAL: ReasonedRuling(Ruling.IDENTICAL, (Remark("same_rankings"),)),
    Ruling.TIES_ONLY: ReasonedRuling(Ruling.TIES_ONLY, (Remark("same_but_for_ties"),)),
}


def without_difference(
    wins: int, ties: int, losses: int, alone: int, likeness: Ruling | None, doubt: Remark | None = None
) -> ReasonedRuling | None:
    """Return the verdict on runs that are the same, or the same but for the order of equal scores.

    If only one of the two has a value on `alone` queries, they are not the same. With a `doubt` about equal
    values they are not the same either.
    """
    if likeness is not None:
        return SAME_RANKINGS[likeness]
    if not wins and not losses and doubt:
        return refused(doubt)
    if not wins and not losses and alone:
        counts = {"number": ties, "one_sided": alone}
        return ReasonedRuling(Ruling.UNDECIDED, (Remark("same_values_of_both", facts=counts),))
    if not wins and not losses:
        return ReasonedRuling(Ruling.IDENTICAL, (Remark("same_values"),))
    return None


def why_incomparable(one: Scores, other: Scores) -> dict[str, Remark]:
    """Return why two runs cannot be compared at all, by measure."""
    if one.made_by and other.made_by and one.made_by.differs(other.made_by):
        return {str(score.measure): Remark("other_judgements") for score in one.scores}
    remarks = {}
    for mine, theirs in zip(one.scores, other.scores, strict=True):
        asked, others = set(mine.query_ids), set(theirs.query_ids)
        # What the rules left out, as the run lacks it, is known; of any other query nobody said anything.
        alone = (asked - others - other.absent) | (others - asked - one.absent)
        if alone:
            remarks[str(mine.measure)] = Remark("other_queries", facts={"number": len(alone)})
    return remarks


def refused(reason: Remark) -> ReasonedRuling:
    """Return no verdict."""
    return ReasonedRuling(Ruling.REFUSED, (reason,))


def doubt_of_losses(one: Score, other: Score, ruling: Ruling) -> Remark | None:
    """Return why missing judgements forbid the verdict; None if it holds for all their values.

    The verdict `identical` never holds then: equal values may be placeholders.
    """
    missing = sum(one.lost.values()) + sum(other.lost.values())
    if not missing:
        return None
    (low, high), (other_low, other_high) = (score.bounds or (score.value,) * 2 for score in (one, other))
    if ruling is Ruling.IDENTICAL:
        return Remark("difference_may_be_missing", facts={"number": missing})
    certain = low > other_high if ruling is Ruling.HIGHER else high < other_low
    return None if certain else Remark("missing_may_reverse", facts={"number": missing})


def doubt_of_best(best: Score, other: Score, names: tuple[str, str]) -> Remark | None:
    """Return why one value may not be called better than another; this is not tested."""
    if best.signature != other.signature:
        return Remark("other_rules")
    ruling = Ruling.LOWER if best.measure.better == LOW_IS_GOOD else Ruling.HIGHER
    return doubt_of_unlike(best, judged_differently(best, other, names)) or doubt_of_losses(
        best, other, ruling
    )


def judged_differently(one: Score, other: Score, names: tuple[str, str]) -> set[str]:
    """Return the queries on which two were not judged by the same: by other nuggets, or against others."""
    mine, theirs = one.judged_by, other.judged_by
    return {query for query in mine.keys() & theirs.keys() if (mine[query] ^ theirs[query]) - {*names}}


def doubt_of_unlike(score: Score, queries: Collection[str]) -> Remark | None:
    """Return that two were not judged by the same; opponents are known by their names."""
    if not queries:
        return None
    met = any(isinstance(what, str) for query in queries for what in score.judged_by.get(query, ()))
    return Remark("judged_differently", facts={"number": len(queries), "are_opponents": met})


class Tested(NamedTuple):
    """The values by one measure; `pairs` are (run, other) and were adjusted together, `family` of them.

    `best` are the runs that no other is better than, `base` is the run that the others are compared with;
    `at_floor`: no smaller p could have been found for the pair, from so many `draws` (0: exact); `direction`
    is the test's own, of the first against the second; `test` is its name.
    """

    scores: list[Score]
    sample: Sample
    best: frozenset[int]
    base: int
    pairs: Int
    family: int
    p: Float
    adjusted: Float
    at_floor: NDArray[np.bool_]
    draws: Int
    direction: Int
    test: str
    ends: tuple[Float, Float] | None = None  # of the intervals, where the test has some
    joint: JointSample | None = None  # of outcomes, which are resampled

    @property
    def better(self) -> str:
        """Which values of the measure are good."""
        return self.scores[0].measure.better

    @property
    def limits(self) -> tuple[float, float] | None:
        """The least and the greatest value of the measure, where it says them."""
        return self.scores[0].measure.limits

    def shown(self, settings: Settings) -> Tested:
        """Return the pairs that were asked for; where they are with the best run, that comes second."""
        if settings.all_pairs or settings.baseline != BEST:
            return self
        if len(self.pairs) == 1:  # of two runs, what the second has more than the first
            ends = self.ends and (-self.ends[1], -self.ends[0])
            return self._replace(pairs=self.pairs[:, ::-1], direction=-self.direction, ends=ends)
        # All pairs were tested, as the best was found by looking at all; only those with it are shown.
        rows = np.flatnonzero((self.pairs == self.base).any(axis=1))
        pairs = self.pairs[rows]
        # The best stands second, so that a difference reads as "how far below the best".
        is_turned = pairs[:, 0] == self.base
        pairs = np.where(is_turned[:, None], pairs[:, ::-1], pairs)
        kept = {name: getattr(self, name)[rows] for name in ("p", "adjusted", "at_floor", "draws")}
        direction = np.where(is_turned, -1, 1) * self.direction[rows]
        if self.ends is not None:
            low, high = (end[rows] for end in self.ends)
            kept["ends"] = np.where(is_turned, -high, low), np.where(is_turned, -low, high)
        return self._replace(pairs=pairs, direction=direction, **kept)

    def unresolved(self, level: float) -> NDArray[np.bool_]:
        """Return the pairs that no difference could decide, however large, with these queries or draws."""
        # Written with ~ so that NaN, which is not below any level, counts as not shown.
        return self.at_floor & ~(self.adjusted <= 1 - level)

    def differences(self) -> Sample:
        """Return a column for each pair."""
        return differences(self.sample, self.pairs)


def tables(
    results: Sequence[Scores], settings: Settings, failed: Collection[str] = (), absent: Absent | None = None
) -> list[Tested]:
    """Return a table for each measure; a run that failed is never the best.

    Nor is one that lacks queries (`absent`) the best by a measure that is good when low: they count as 0.
    """
    runs = [scores.run for scores in results]
    # The pairs whose p-values are adjusted together.
    if settings.baseline == BEST:
        # Every pair once, (0, 1), (0, 2), …: the best run is picked by looking at all of them.
        family = np.stack(np.triu_indices(len(runs), 1), axis=1)
    else:
        base = runs.index(settings.baseline)
        family = np.array([(run, base) for run in range(len(runs)) if run != base])
    tested = []
    able = [index for index, run in enumerate(runs) if run not in failed]
    whole = [index for index in able if not (absent or {}).get(runs[index])]
    for index in range(len(results[0].scores)):
        scores = [result.scores[index] for result in results]
        values = _sample(scores, settings.units)
        # A lacking query counts 0, which for a rate of errors is the best there is: silence must not win.
        lacks_nothing = whole if whole and scores[0].measure.better == LOW_IS_GOOD else able
        if is_joint(scores[0]):
            tested.append(_joint_table(scores, values, family, lacks_nothing, settings))
            continue
        best, first = best_among(better_direction(scores[0]), values, lacks_nothing)
        test = fitting_test(values, settings)
        # Of one pair there is nothing to adjust for.
        has_family = settings.adjust == "max_t" and len(family) > 1
        alone, drawn, ends = significance_of_pairs(test, values, family, settings, has_family=has_family)
        significance, p, adjusted = alone, alone.p, holm(alone.p)
        if drawn is not None:
            # The largest statistic over all pairs is drawn with them, so that this p is adjusted already.
            # Holm's bounds it: of what no draw reaches it says more. And no p is below that of a pair alone,
            # though draws, and ties that count half there, can make it look surer among others.
            adjusted = np.where(drawn.at_floor, np.fmin(drawn.p, adjusted), drawn.p)
            adjusted = np.maximum(adjusted, p)
            # What cannot be shown alone cannot be shown among others.
            hopeless = alone.at_floor & ~(p <= 1 - settings.level)
            significance = alone._replace(
                at_floor=drawn.at_floor | hopeless, draws=np.where(hopeless, alone.draws, drawn.draws)
            )
        rest = significance.at_floor, significance.draws, significance.direction, test, ends
        tested.append(Tested(scores, values, best, first, family, len(family), p, adjusted, *rest))
    return tested


def _joint_table(
    scores: list[Score], values: Sample, pairs: Int, able: Sequence[int], settings: Settings
) -> Tested:
    """Return the table of a measure whose values all queries have together, tested by resampling."""
    joint = JointSample.of_settings(settings, scores)
    gaps = [joint.gap(*pair) for pair in pairs.tolist()]
    p = np.array([gap.p for gap in gaps])
    adjusted = holm(p) if settings.adjust == "holm" else np.fmax(joint.max_t(pairs), p)
    direction = np.array([np.sign(gap.low + gap.high) for gap in gaps])
    # The values stand for one column each, as they are of all queries.
    whole = np.array([[score.value for score in scores]])
    best, first = best_among(better_direction(scores[0]), Sample(("",), whole, np.zeros(1, np.int64)), able)
    # A small difference can always be drawn more often than never.
    draws, directions = np.full(len(p), settings.resamples), np.nan_to_num(direction).astype(int)
    rest = np.zeros(len(p), bool), draws, directions, BOOTSTRAP, None, joint
    return Tested(scores, values, best, first, pairs, len(pairs), p, adjusted, *rest)


def pairs_by_kind(table: Tested, runs: list[str], settings: Settings, run_facts: RunFacts) -> list[Pair]:
    """Return every pair that is shown, by the test that fits the values."""
    if table.joint is not None:
        return joint_pairs(table, table.joint, runs, settings, run_facts)
    return (corrected_pairs if is_corrected(table) else pairs_of)(table, runs, settings, run_facts)


def joint_pairs(
    table: Tested, joint: JointSample, runs: list[str], settings: Settings, run_facts: RunFacts
) -> list[Pair]:
    """Return every pair that is shown, of a measure whose values all queries have together."""
    table = table.shown(settings)
    pairs = []
    for index, (first, second) in enumerate(table.pairs.tolist()):
        gap = joint.gap(first, second)
        names = runs[first], runs[second]
        won, tied, lost = outcomes(
            table.sample.values[:, first] - table.sample.values[:, second], table.better
        )
        p, adjusted = float(table.p[index]), float(table.adjusted[index])
        ruled = _joint_ruling(table, index, gap, names, settings, run_facts)
        basis = table.scores[0].basis
        ruling = claimed(ruled.ruling, table.better, basis)
        strength = gap.error, gap.units, settings.level, settings.power
        is_known = not math.isnan(gap.error)
        least, most = needed_between(gap.low, gap.high, *strength, None) if is_known else (None, None)
        pairs.append(
            Pair(
                run=names[0],
                other=names[1],
                measure=str(table.scores[0].measure),
                queries=len(gap.queries),
                difference=gap.value,
                low=gap.low,
                high=gap.high,
                p=p,
                adjusted=adjusted,
                effect=math.nan,
                wins=won,
                ties=tied,
                losses=lost,
                detectable=detectable(*strength) if is_known and gap.error else math.nan,
                needed_least=least,
                needed_most=most,
                ruling=ruling,
                reasons=ruled.reasons,
                better_run=better_of(*names, ruling, table.better),
                basis=basis,
            )
        )
    return pairs


def _joint_ruling(
    table: Tested,
    index: int,
    gap: ResampledGap,
    names: tuple[str, str],
    settings: Settings,
    run_facts: RunFacts,
) -> ReasonedRuling:
    """Return what may be claimed of one pair of values that all queries have together."""
    first, second = table.pairs[index].tolist()
    scores = table.scores[first], table.scores[second]
    if reason := run_facts.forbids(names, str(scores[0].measure)):
        return refused(reason)
    if not gap.queries:
        return refused(Remark("no_common_query"))
    if scores[0].signature != scores[1].signature:
        return refused(Remark("other_rules"))
    if by_others := doubt_of_unlike(scores[0], judged_differently(*scores, names)):
        return refused(by_others)
    if missing := sum(score.missing for score in scores):
        return refused(Remark("missing_may_reverse", facts={"number": missing}))
    if scores[0].numbers == scores[1].numbers:
        return ReasonedRuling(Ruling.IDENTICAL, (Remark("same_values"),))
    # Resamples of few units are too much alike.
    if gap.units < FEWEST_CLUSTERS:
        lacking = {"number": gap.units, "needed": FEWEST_CLUSTERS}
        is_clustered = settings.units is not None
        return ReasonedRuling(
            Ruling.UNDECIDED,
            (Remark("few_clusters", facts=lacking) if is_clustered else Remark("few_independent_questions"),),
        )
    adjusted = float(table.adjusted[index])
    ruled = ruling_of_test(adjusted, int(table.direction[index]), gap.value, settings.level)
    if ruled.ruling is Ruling.UNDECIDED and not gap.low <= 0 <= gap.high and not ruled.reasons:
        facts = {"p": gap.p, "adjusted": adjusted, "pairs": table.family, "adjust": settings.adjust}
        return ruled._replace(reasons=(Remark("interval_of_pair_alone", facts=facts),))
    return ruled


def better_direction(score: Score) -> str:
    """Return which way is the better one for whoever names the best run: by words alone, neither is."""
    return NEITHER if score.basis.is_of_texts else score.measure.better


def best_among(better: str, values: Sample, able: Sequence[int]) -> tuple[frozenset[int], int]:
    """Return the best of the runs that are able to be it, and the run that the others are compared with.

    Runs that share the best value are all best. If that is every run, or no direction is better, none is
    best, and the first takes its place. A mean over other queries than the rest is best only if it is also
    best on the queries that all have, and these are half of them or more.
    """
    # Only of runs that have a value for half as many queries as the one with the most, or more.
    counts = (~np.isnan(values.values)).sum(axis=0)
    most = max((int(counts[index]) for index in able), default=0)
    means = {index: mean(values.values[:, index]) for index in able if 2 * int(counts[index]) >= most}
    # NaN is the one number that differs from itself.
    defined = {index: value for index, value in means.items() if value == value}
    first = next(iter(defined or means), 0)
    if not defined or better == NEITHER:
        return frozenset(), first
    # Which way is better is declared with the measure; a fixed maximum once made the worst system of an error
    # rate the best.
    top = (min if better == LOW_IS_GOOD else max)(defined.values())
    # Means that differ by rounding only are the same.
    best = [index for index, value in defined.items() if abs(value - top) <= SLACK]
    # If all are best, none is.
    shared = len(best) == len(defined) > 1
    if shared or not _is_best_on_shared(better, values, list(able), best):
        return frozenset(), best[0]
    return frozenset(best), best[0]


def _is_best_on_shared(better: str, values: Sample, able: list[int], best: list[int]) -> bool:
    """Return whether the best runs are that on the queries that all the runs have, too."""
    columns = values.values[:, [index for index in able if not np.isnan(values.values[:, index]).all()]]
    rows = np.flatnonzero(~np.isnan(columns).any(axis=1))
    if len(rows) == len(columns):
        return True
    # The shared queries are too few to decide by; then nothing is called best.
    if 2 * len(rows) < len(columns):
        return False
    means, ours = columns[rows].mean(axis=0), values.values[rows][:, best].mean(axis=0)
    top = means.min() if better == LOW_IS_GOOD else means.max()
    return bool((np.abs(ours - top) <= SLACK).all())


@dataclass(frozen=True, slots=True)
class RunFacts:
    """What is known of runs besides values: which failed, what they lack, which are alike or set apart."""

    failed: Mapping[str, Remark] = field(default_factory=dict)
    absent: Absent = field(default_factory=dict)
    likenesses: Likenesses = field(default_factory=dict)
    results: Mapping[str, Scores] = field(default_factory=dict)
    _incomparable: dict[frozenset[str], Mapping[str, Remark]] = field(default_factory=dict)

    def forbids(self, names: tuple[str, str], measure: str) -> Remark | None:
        """Return why no claim is possible about two runs, for any values; None where one is."""
        failed = next((self.failed[name] for name in names if name in self.failed), None)
        if failed is not None or not all(name in self.results for name in names):
            return failed
        # Only for the pairs that are asked about: to look at all would take the square of the runs.
        both = frozenset(names)
        if both not in self._incomparable:
            self._incomparable[both] = why_incomparable(*(self.results[name] for name in names))
        return self._incomparable[both].get(measure)


def pairs_of(table: Tested, runs: list[str], settings: Settings, run_facts: RunFacts) -> list[Pair]:
    """Return every pair that is shown."""
    table = table.shown(settings)
    columns, better = table.differences(), table.better
    low, high = _intervals(table, columns, runs, settings, run_facts)
    span = ranges_of_differences(table.sample.values, table.pairs, table.limits).span
    error, effect = least_errors(columns, settings.level, span), columns.cohens_d()
    # Units of the pair: queries on which both have a value, or clusters of such.
    units = (columns.sizes() > 0).sum(axis=0)
    differing = (np.abs(columns.sums()) > SLACK).sum(axis=0)
    pairs = []
    for index, (first, second) in enumerate(table.pairs.tolist()):
        won, tied, lost = outcomes(columns.values[:, index], better)
        gap = mean(columns.values[:, index])
        strength = float(error[index]), int(units[index]), settings.level, settings.power
        # The t test takes ties for information; flipping signs and ranking do not.
        differ = None if table.test == STUDENT else int(differing[index])
        is_reachable = differ is None or differ >= fewest(settings.level)
        least, most = needed_between(float(low[index]), float(high[index]), *strength, differ)
        ruling, reasons = _ruling(table, index, runs, settings, run_facts)
        ends = float(low[index]), float(high[index])
        if ruling.is_direction and ends[0] <= 0 <= ends[1]:
            # Flipped signs ask whether differences are symmetric; of skewed ones that is not about the mean.
            is_lopsided = is_skewed(columns.sums()[:, index])
            reason = Remark("skewed") if is_lopsided else Remark("interval_includes_zero")
            ruling, reasons = Ruling.UNDECIDED, (reason,)
        # From fewer clusters intervals are too narrow, and p too small, far too often.
        if ruling.is_direction and settings.units is not None and units[index] < FEWEST_CLUSTERS:
            lacking = {"number": int(units[index]), "needed": FEWEST_CLUSTERS}
            ruling, reasons = Ruling.UNDECIDED, (Remark("few_clusters", facts=lacking),)
        p, adjusted = float(table.p[index]), float(table.adjusted[index])
        # The interval is of this pair alone, and p is adjusted for all: then only one of them excludes 0.
        if not reasons and ruling is Ruling.UNDECIDED and not (ends[0] <= 0 <= ends[1] or adjusted <= p):
            facts = {"p": p, "adjusted": adjusted, "pairs": table.family, "adjust": settings.adjust}
            reasons = (Remark("interval_of_pair_alone", facts=facts),)
        # A pair has no order there.
        same = run_facts.likenesses.get(frozenset((runs[first], runs[second])))
        basis = Basis() if same else table.scores[0].basis  # that rankings are the same is nobody's word
        ruling = claimed(ruling, better, basis)
        if ruling is Ruling.NO_WINNER and not reasons:
            reasons = (Remark("no_winner"),)
        pair = Pair(
            run=runs[first],
            other=runs[second],
            measure=str(table.scores[0].measure),
            queries=won + tied + lost,
            difference=gap,
            low=float(low[index]),
            high=float(high[index]),
            p=float(table.p[index]),
            adjusted=float(table.adjusted[index]),
            effect=float(effect[index]),
            wins=won,
            ties=tied,
            losses=lost,
            detectable=detectable(*strength) if is_reachable else math.nan,
            needed_least=least,
            needed_most=most,
            ruling=ruling,
            reasons=reasons,
            better_run=better_of(runs[first], runs[second], ruling, better),
            basis=basis,
        )
        pairs.append(pair)
    return pairs


def _intervals(
    table: Tested, columns: Sample, runs: list[str], settings: Settings, run_facts: RunFacts
) -> tuple[Float, Float]:
    """Return the interval of each difference; the same rankings differ by 0, and that is no estimate.

    It reaches to 0 where the test of the pair alone does not tell it from 0, so that the two do not
    contradict each other: where most queries are equal, resampling knows less than the test.
    """
    low, high = intervals_of_differences(table.sample, table.pairs, table.limits, settings, table.ends)
    same = [
        run_facts.likenesses.get(frozenset((runs[first], runs[second]))) == Ruling.IDENTICAL
        for first, second in table.pairs.tolist()
    ]
    untold = ~(table.p <= 1 - settings.level)  # NaN tells nothing, either
    low[untold], high[untold] = np.minimum(low, 0.0)[untold], np.maximum(high, 0.0)[untold]
    # After the line before, which may have moved them.
    low[same] = high[same] = 0.0
    return low, high


def _ruling(
    table: Tested, index: int, runs: list[str], settings: Settings, run_facts: RunFacts
) -> ReasonedRuling:
    """Return what may be claimed of one pair."""
    first, second = (int(run) for run in table.pairs[index])
    names = runs[first], runs[second]
    # Whatever the numbers are, they rest on judgements that are not there.
    if reason := run_facts.forbids(names, str(table.scores[first].measure)):
        return refused(reason)
    gaps = table.sample.values[:, first] - table.sample.values[:, second]
    won, tied, lost = outcomes(gaps, table.better)
    if not won + tied + lost:
        return refused(Remark("no_common_query"))
    scores = table.scores[first], table.scores[second]
    if scores[0].signature != scores[1].signature:
        return refused(Remark("other_rules"))
    unlike_queries = judged_differently(*scores, names)
    by_others = doubt_of_unlike(scores[0], unlike_queries)
    doubt = by_others or doubt_of_losses(*scores, Ruling.IDENTICAL)
    # Queries on which exactly one of the two has a value.
    alone = int(np.isnan(table.sample.values[:, [first, second]]).sum(axis=1).tolist().count(1))
    same = without_difference(won, tied, lost, alone, run_facts.likenesses.get(frozenset(names)), doubt)
    if same is not None:
        return same
    reasoned = ruling_of_test(
        float(table.adjusted[index]), int(table.direction[index]), mean(gaps), settings.level
    )
    if reasoned.ruling is Ruling.UNDECIDED:
        return reasoned._replace(
            reasons=reasoned.reasons or _resolution_remarks(table, index, won + lost, settings)
        )
    # A query that only one run answers counts as 0 for the other: the claim must hold without such.
    missing = set(run_facts.absent.get(names[0], ())) | set(run_facts.absent.get(names[1], ()))
    if missing and not _holds_without(table, index, missing, settings):
        one_sided = Remark("queries_of_one_run", facts={"number": len(missing)})
        return refused(Remark("not_on_others", facts={"reason": one_sided}))
    # Nor may it rest on queries that different judges judged.
    if unlike_queries and not _holds_without(table, index, unlike_queries, settings):
        return refused(Remark("not_on_others", facts={"reason": by_others}))
    doubt = doubt_of_losses(*scores, reasoned.ruling)
    return refused(doubt) if doubt else reasoned


def _resolution_remarks(table: Tested, index: int, differ: int, settings: Settings) -> tuple[Remark, ...]:
    """Return why no difference, however large, could have been shown; nothing where one could."""
    if not table.unresolved(settings.level)[index]:
        return ()
    # max-T adjusts by drawing, so that the floor is that of the adjusted p, unless the pair alone has one.
    p = float(table.p[index])
    if settings.adjust == "max_t" and p <= 1 - settings.level:
        p = float(table.adjusted[index])
    is_clustered = table.sample.is_clustered
    if is_clustered:
        differ = int((np.abs(table.differences().sums()[:, index]) > SLACK).sum())
    # One sign to flip gives p = 1, always.
    if differ == 1:
        return (Remark("one_differs", facts={"is_clustered": is_clustered}),)
    is_raised = settings.adjust == "holm" and table.family > 1
    facts = {
        "p": p,
        "draws": int(table.draws[index]),
        "differ": differ,
        "is_clustered": is_clustered,
        "pairs": table.family,
        "adjusted": float(table.adjusted[index]) if is_raised else None,
    }
    return (Remark("p_at_least", facts=facts),)


def _holds_without(table: Tested, index: int, missing: set[str], settings: Settings) -> bool:
    """Return whether the difference is shown, and has the same sign, on the queries that both runs answer."""
    pair = table.pairs[index : index + 1]
    kept = np.array([query not in missing for query in table.sample.queries])
    # Made undefined rather than left out, so that clusters keep their numbers.
    shared = table.sample.of(np.where(kept[:, None], table.sample.values, np.nan))
    whole, part = (mean(differences(values, pair).values[:, 0]) for values in (table.sample, shared))
    return bool(
        whole * part > 0 and significance_alone(table.test, shared, pair, settings).p[0] <= 1 - settings.level
    )


# Claims that rest on labels: every mean and difference corrected, or refused.


def is_corrected(table: Tested) -> bool:
    """Return whether there are human labels of what the measure uses."""
    return any(score.people is not None for score in table.scores)


def best_of(table: Tested, means: Sequence[Estimate], able: Sequence[bool]) -> Tested:
    """Return the table with the best runs by the corrected means, as far as these are known."""
    defined = [index for index, mean in enumerate(means) if able[index] and mean.is_defined]
    if table.better == NEITHER or not defined:
        return table._replace(best=frozenset())
    sign = -1.0 if table.better == LOW_IS_GOOD else 1.0
    top = max(sign * means[index].value for index in defined)
    best = [index for index in defined if sign * means[index].value == top]
    return table._replace(best=frozenset(best), base=best[0])


def corrected_pairs(table: Tested, runs: list[str], settings: Settings, run_facts: RunFacts) -> list[Pair]:
    """Return every pair that is shown, tested by the judge's difference corrected by human labels."""

    def difference(first: int, second: int) -> Labeled:
        names = runs[first], runs[second]
        lacking = set(run_facts.absent.get(names[0], ())) | set(run_facts.absent.get(names[1], ()))
        return corrected_pair(table.scores[first], table.scores[second], names, settings, lacking)

    family = [(first, second) for first, second in table.pairs.tolist()]
    tested = [difference(*pair) for pair in family]
    # Adjusted over all pairs that could be tested; NaN of others.
    estimates = [
        (index, labeled.estimate) for index, labeled in enumerate(tested) if labeled.estimate is not None
    ]
    p = [estimate.p for _, estimate in estimates]
    if settings.adjust == "holm" or len(estimates) < 2:
        p = holm(np.array(p)).tolist()
    else:
        units = [
            estimate.units if settings.units is not None else tested[index].queries
            for index, estimate in estimates
        ]
        p = corrected_max_t(
            [estimate for _, estimate in estimates], units=units, draws=settings.draws, seed=settings.seed
        )
    adjusted = dict.fromkeys(map(frozenset, family), math.nan)
    for (index, _), value in zip(estimates, p, strict=True):
        adjusted[frozenset(family[index])] = value
    return [
        _build_corrected_pair(
            table, (first, second), difference(first, second), adjusted, runs, settings, run_facts
        )
        for first, second in table.shown(settings).pairs.tolist()
    ]


def _build_corrected_pair(
    table: Tested,
    pair: tuple[int, int],
    difference: Labeled,
    adjusted: dict[frozenset[int], float],
    runs: list[str],
    settings: Settings,
    run_facts: RunFacts,
) -> Pair:
    estimate, better = difference.estimate, table.better
    names = runs[pair[0]], runs[pair[1]]
    p = adjusted[frozenset(pair)]
    ruled = _corrected_ruling(table, pair, difference, p, names, settings, run_facts)
    labels = np.array(list(difference.people.values()), np.float64)
    won, tied, lost = outcomes(labels, better)
    people = [people_of(table.scores[index]) for index in pair]
    labellers = dict.fromkeys(chain.from_iterable(human_values.by for human_values in people))
    unlabeled = len(difference.queries) - len(difference.people)
    drawn = draw_of_pair(table.scores[pair[0]], table.scores[pair[1]]).kind(unlabeled)
    basis = Basis.of_labels(labellers, table.scores[pair[0]].basis, drawn)
    ruling = claimed(ruled.ruling, better, basis)
    spread = float(labels.std(ddof=1)) if len(labels) > 1 else 0.0
    value, low, high = (estimate.value, estimate.low, estimate.high) if estimate else (math.nan,) * 3
    return Pair(
        run=names[0],
        other=names[1],
        measure=str(table.scores[0].measure),
        queries=len(difference.queries),
        difference=value,
        low=low,
        high=high,
        p=estimate.p if estimate else math.nan,
        adjusted=p,
        effect=value / spread if spread else math.nan,
        wins=won,
        ties=tied,
        losses=lost,
        detectable=detectable(estimate.error, len(labels), settings.level, settings.power)
        if estimate and estimate.error
        else math.nan,
        needed_least=None,
        needed_most=None,
        ruling=ruling,
        reasons=ruled.reasons,
        better_run=better_of(*names, ruling, better),
        basis=basis,
        judged=difference.mean,
        people=float(labels.mean()) if len(labels) else math.nan,
        labels=len(labels),
        gain=estimate.gain if estimate else math.nan,
    )


def _corrected_ruling(
    table: Tested,
    pair: tuple[int, int],
    difference: Labeled,
    p: float,
    names: tuple[str, str],
    settings: Settings,
    run_facts: RunFacts,
) -> ReasonedRuling:
    """Return what may be claimed of one pair; never what the judge alone says of it."""
    if reason := run_facts.forbids(names, str(table.scores[pair[0]].measure)):
        return refused(reason)
    likeness = run_facts.likenesses.get(frozenset(names))
    if likeness is not None:
        return SAME_RANKINGS[likeness]
    scores = table.scores[pair[0]], table.scores[pair[1]]
    if scores[0].signature != scores[1].signature:
        return refused(Remark("other_rules"))
    by_others = doubt_of_unlike(scores[0], judged_differently(*scores, names))
    if by_others is not None:
        return refused(by_others)
    if difference.estimate is None:
        return ReasonedRuling(Ruling.REFUSED, difference.reasons)
    level, look = settings.level, difference.look
    people = scores[0].people
    if look is not None and people is not None and people.draw.plan is not None:
        level = 1 - bound_at(look.labeled, look.of, people.draw.plan.level)
    # Student's t of the corrected difference has its sign.
    value = difference.estimate.value
    verdict = ruling_of_test(p, (value > 0) - (value < 0), value, level)
    is_decided = verdict.ruling is not Ruling.UNDECIDED
    # As of a judge alone: what some values of missing judgements show and others do not is not claimed.
    if not is_decided and difference.least_p <= 1 - level:
        return refused(Remark("missing_queries_may_reverse", facts={"number": difference.lacks}))
    reasons = []
    if difference.estimate.coarse is not None:
        counts = {"number": difference.estimate.coarse, "total": len(difference.people)}
        reasons.append(Remark("coarse_difference", facts=counts))
    if look is not None:
        # Whether to label on: p is held against the bound of a look that may be taken at any time.
        counts = {"labeled": look.labeled, "total": look.of}
        advice = {"is_decided": is_decided, "is_last": look.is_last}
        reasons.append(Remark("look_at_plan", facts={**counts, "p": 1 - level, **advice}))
    if difference.doubt is not None:
        reasons.append(difference.doubt)
    return verdict._replace(reasons=tuple(reasons))


def gold_remarks(tables: Sequence[Tested], cells: Sequence[Cell], pairs: Sequence[Pair]) -> Iterator[Remark]:
    """Say where labels are few or seem not random, and whether to go on labeling."""
    looked = {str(t.measure) for table in tables for t in table.scores if t.people and t.people.draw.look}
    for pair in pairs:
        if pair.measure in looked:
            about = Scope((pair.run, pair.other), pair.measure)
            # A run that failed is named by the reason itself.
            for reason in pair.reasons:
                yield reason if reason.about.systems else replace(reason, about=about)
    for table in filter(is_corrected, tables):
        name = str(table.scores[0].measure)
        for cell in (cell for cell in cells if cell.measure == name):
            for reason in cell.reasons:
                facts = {"has_value": not math.isnan(cell.value), "reason": reason}
                yield Remark("labels_of_mean", Scope((cell.run,), name), facts)
        if any(cell.low == cell.high for cell in cells if cell.measure == name) or any(
            pair.low == pair.high for pair in pairs if pair.measure == name
        ):
            yield Remark("labels_cover_all", Scope(measure=name))


def gold_signature(tables: Sequence[Tested], pairs: Sequence[Pair]) -> str:
    """Return the labels that claims are based on: `gold:SHA8|labels:n|chosen:uniform|estimator:reg`."""
    draws = [score.people.draw for table in tables for score in table.scores if score.people is not None]
    if not draws:
        return ""
    counts = sorted({pair.labels for pair in pairs if pair.labels is not None})
    labels = "-".join(str(count) for count in dict.fromkeys((counts[0], counts[-1]))) if counts else "0"
    return estimate_signature(draws[0], labels)
