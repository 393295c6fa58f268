"""One measure's values for every run, and what there is to say of each pair: p-values, intervals, claims."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rageval.comparison._verdicts import (
    Ruling,
    doubt_of_losses,
    outcomes,
    refused,
    ruling,
    said_of_unlike,
    set_apart,
    unlike,
    without_difference,
)
from rageval.comparison.intervals import _sample
from rageval.comparison.results import (
    BEST,
    HIGHER,
    LOWER,
    NO_WINNER,
    REFUSED,
    UNDECIDED,
    Absent,
    Pair,
    Settings,
    better_of,
    worded,
)
from rageval.measures.base import LOWER as LOW_IS_GOOD
from rageval.measures.base import NEITHER
from rageval.scoring.basis import NO_WINNER as SAID_OF_WORDS
from rageval.scoring.basis import WORDS
from rageval.scoring.likeness import IDENTICAL, TIES_ONLY, Alike
from rageval.scoring.scores import Score, Scores, mean
from rageval.statistics.bootstrap import intervals, least_errors, ranges_of_differences
from rageval.statistics.power import detectable, fewest, needed_between
from rageval.statistics.samples import SLACK, Float, Int, Sample, settled_columns
from rageval.statistics.significance import (
    Significance,
    holm,
    is_skewed,
    max_t,
    sign_flip,
    t_test,
)

ALONE = "the interval is of this pair alone"
SKEWED = "differences are skewed: few are large, many small; flipped signs decide, and the interval holds 0"


class Tested(NamedTuple):
    """The values by one measure; `pairs` are (run, other) and were adjusted together, `family` of them.

    `best` are the runs that no other is better than, `base` is the run that the others are compared with;
    `at_floor`: no smaller p could have been found for the pair, from so many `draws` (0: exact); `direction`
    is the test's own, of the first against the second.
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
        # All pairs were tested, as the best was found by looking at all; only those with it are shown.
        rows = np.flatnonzero((self.pairs == self.base).any(axis=1))
        pairs = self.pairs[rows]
        # The best stands second, so that a difference reads as "how far below the best".
        is_turned = pairs[:, 0] == self.base
        pairs = np.where(is_turned[:, None], pairs[:, ::-1], pairs)
        kept = {name: getattr(self, name)[rows] for name in ("p", "adjusted", "at_floor", "draws")}
        direction = np.where(is_turned, -1, 1) * self.direction[rows]
        return self._replace(pairs=pairs, direction=direction, **kept)

    def unresolved(self, level: float) -> NDArray[np.bool_]:
        """Return the pairs that no difference, however large, could show with so many queries or draws."""
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
    family = _family(runs, settings)
    found = []
    able = [at for at, run in enumerate(runs) if run not in failed]
    whole = [at for at in able if not (absent or {}).get(runs[at])]
    for at in range(len(results[0].scores)):
        scores = [result.scores[at] for result in results]
        values = _sample(scores, settings.clusters)
        # A lacking query counts 0, which for a rate of errors is the best there is: silence must not win.
        lacks_nothing = whole if whole and scores[0].measure.better == LOW_IS_GOOD else able
        found.append(_tested(scores, values, family, settings, lacks_nothing))
    return found


def _tested(
    scores: list[Score], values: Sample, pairs: Int, settings: Settings, able: Sequence[int]
) -> Tested:
    """Return a table whose pairs are tested, and adjusted."""
    tested = _test(values, pairs, settings)
    p = adjusted = tested.p
    if settings.adjust == "holm":
        adjusted = holm(p)
    # The largest statistic over all pairs is drawn with them, so that this p is adjusted already.
    elif settings.adjust == "max_t":
        tested = max_t(*_flipped(values, pairs), settings.draws, settings.seed)
        adjusted = tested.p
    best, base = best_among(way_of(scores[0]), values, able)
    rest = tested.at_floor, tested.draws, tested.direction
    return Tested(scores, values, best, base, pairs, len(pairs), p, adjusted, *rest)


def differences(values: Sample, pairs: Int) -> Sample:
    """Return a column of differences for each pair of runs."""
    gaps = values.values[:, pairs[:, 0]] - values.values[:, pairs[:, 1]]
    return values.of(settled_columns(gaps))


def _p_values(values: Sample, pairs: Int, settings: Settings) -> Float:
    """Return the p-value of each pair by the test that was chosen, nothing adjusted."""
    return _test(values, pairs, settings).p


def _test(values: Sample, pairs: Int, settings: Settings) -> Significance:
    if settings.test == "randomisation":
        sums, columns = _flipped(values, pairs)
        return sign_flip(sums, columns, settings.draws, settings.seed, settings.level)
    return t_test(differences(values, pairs))


def _flipped(values: Sample, pairs: Int) -> tuple[Float, Int]:
    """Return sums by unit, and the two columns of them that make up each pair."""
    if values.is_complete:
        return values.sums(), pairs
    # a query that one of the two lacks adds 0, whatever its sign
    # The second of each pair is then a column of zeros: its difference from it is the difference itself.
    padded = np.column_stack((differences(values, pairs).sums(), np.zeros(values.units)))
    return padded, np.stack((np.arange(len(pairs)), np.full(len(pairs), len(pairs))), axis=1)


def _family(runs: list[str], settings: Settings) -> Int:
    """Return the pairs whose p-values are adjusted together.

    The best run is picked by looking at all of them; so its p-values are adjusted for all pairs.
    """
    if settings.baseline == BEST:
        # Every pair once: (0, 1), (0, 2), …
        return np.stack(np.triu_indices(len(runs), 1), axis=1)
    base = runs.index(settings.baseline)
    return np.array([(run, base) for run in range(len(runs)) if run != base])


def way_of(score: Score) -> str:
    """Return which way is the better one for whoever names the best run: by words alone, neither is."""
    return NEITHER if score.basis == WORDS else score.measure.better


def best_among(better: str, values: Sample, able: Sequence[int]) -> tuple[frozenset[int], int]:
    """Return the best of the runs that are able to be it, and the run that the others are compared with.

    Runs that share the best value are all best; if that is every run, or no way is better, none is, and the
    first stands where the best one would. Nor is any the best by a mean that rests on other queries than
    those of the rest, unless it is so on the queries that all have, too, and these are half of them or more.
    """
    means = {at: mean(values.values[:, at]) for at in _of_half(values, able)}
    # NaN is the one number that differs from itself.
    known = {at: value for at, value in means.items() if value == value}
    first = next(iter(known or means), 0)
    if not known or better == NEITHER:
        return frozenset(), first
    # Which way is better is declared with the measure; a fixed maximum once made the worst system of an error
    # rate the best.
    top = (min if better == LOW_IS_GOOD else max)(known.values())
    # Means that differ by rounding only are the same.
    best = [at for at, value in known.items() if abs(value - top) <= SLACK]
    # If all are best, none is.
    shared = len(best) == len(known) > 1
    if shared or not _best_together(better, values, list(able), best):
        return frozenset(), best[0]
    return frozenset(best), best[0]


def _of_half(values: Sample, able: Sequence[int]) -> list[int]:
    """Return the runs that have a value for half as many queries as the one with the most, or more."""
    counts = (~np.isnan(values.values)).sum(axis=0)
    most = max((int(counts[at]) for at in able), default=0)
    return [at for at in able if 2 * int(counts[at]) >= most]


def _best_together(better: str, values: Sample, able: list[int], best: list[int]) -> bool:
    """Return whether the best runs are that on the queries that all the runs have, too."""
    known = values.values[:, [at for at in able if not np.isnan(values.values[:, at]).all()]]
    rows = np.flatnonzero(~np.isnan(known).any(axis=1))
    if len(rows) == len(known):
        return True
    # The shared queries are too few to decide by; then nothing is called best.
    if 2 * len(rows) < len(known):
        return False
    means, ours = known[rows].mean(axis=0), values.values[rows][:, best].mean(axis=0)
    top = means.min() if better == LOW_IS_GOOD else means.max()
    return bool((np.abs(ours - top) <= SLACK).all())


@dataclass(frozen=True, slots=True)
class KnownOfRuns:
    """What is known of runs besides values: which failed, what they lack, which are alike or set apart."""

    failed: Mapping[str, str] = field(default_factory=dict)
    absent: Absent = field(default_factory=dict)
    alike: Alike = field(default_factory=dict)
    results: Mapping[str, Scores] = field(default_factory=dict)
    _apart: dict[frozenset[str], Mapping[str, str]] = field(default_factory=dict)

    def forbids(self, names: tuple[str, str], measure: str) -> str:
        """Return why nothing may be claimed of two runs, whatever their values are; empty where it may."""
        why = next((self.failed[name] for name in names if name in self.failed), "")
        if why or not all(name in self.results for name in names):
            return why
        # Only for the pairs that are asked about: to look at all would take the square of the runs.
        both = frozenset(names)
        if both not in self._apart:
            self._apart[both] = set_apart(*(self.results[name] for name in names))
        return self._apart[both].get(measure, "")


def pairs_of(table: Tested, runs: list[str], settings: Settings, known: KnownOfRuns) -> list[Pair]:
    """Return every pair that is shown."""
    table = table.shown(settings)
    columns, better = table.differences(), table.better
    low, high = _intervals(table, columns, runs, settings, known)
    span = ranges_of_differences(table.sample.values, table.pairs, table.limits).span
    error, effect = least_errors(columns, settings.level, span), columns.cohens_d()
    # Units of the pair: queries on which both have a value, or clusters of such.
    units = (columns.sizes() > 0).sum(axis=0)
    differing = (np.abs(columns.sums()) > SLACK).sum(axis=0)
    found = []
    for at, (first, second) in enumerate(table.pairs.tolist()):
        won, tied, lost = outcomes(columns.values[:, at], better)
        gap = mean(columns.values[:, at])
        strength = float(error[at]), int(units[at]), settings.level, settings.power
        # The t test takes ties for information; flipping signs and ranking do not.
        differ = None if settings.test == "t" else int(differing[at])
        is_reachable = differ is None or differ >= fewest(settings.level)
        least, most = needed_between(float(low[at]), float(high[at]), *strength, differ)
        ruled, why = _ruling(table, at, runs, settings, known)
        ends = float(low[at]), float(high[at])
        if ruled in (HIGHER, LOWER) and settings.test == "randomisation" and ends[0] <= 0 <= ends[1]:
            # Flipped signs ask whether differences are symmetric; of skewed ones that is not about the mean.
            ruled, why = (UNDECIDED, SKEWED) if is_skewed(columns.sums()[:, at]) else (ruled, why)
        why = why or _beside(ruled, table, at, ends, settings)
        # A pair has no order there.
        same = known.alike.get(frozenset((runs[first], runs[second])))
        basis = "" if same else table.scores[0].basis  # that rankings are the same is nobody's word
        verdict = worded(ruled, better, basis)
        why = why or (SAID_OF_WORDS if verdict == NO_WINNER else "")
        pair = Pair(
            run=runs[first],
            other=runs[second],
            measure=str(table.scores[0].measure),
            queries=won + tied + lost,
            difference=gap,
            low=float(low[at]),
            high=float(high[at]),
            p=float(table.p[at]),
            adjusted=float(table.adjusted[at]),
            effect=float(effect[at]),
            wins=won,
            ties=tied,
            losses=lost,
            detectable=detectable(*strength) if is_reachable else math.nan,
            needed_least=least,
            needed_most=most,
            verdict=verdict,
            why=why,
            better_run=better_of(runs[first], runs[second], verdict, better),
            basis=basis,
        )
        found.append(pair)
    return found


def _intervals(
    table: Tested, columns: Sample, runs: list[str], settings: Settings, known: KnownOfRuns
) -> tuple[Float, Float]:
    """Return the interval of each difference; the same rankings differ by 0, and that is no estimate.

    It reaches to 0 where the test of the pair alone does not tell it from 0, so that the two do not
    contradict each other: where most queries are equal, resampling knows less than the test.
    """
    scale = ranges_of_differences(table.sample.values, table.pairs, table.limits)
    low, high = intervals(
        columns, settings.interval, settings.level, settings.resamples, settings.seed, scale
    )
    same = [
        known.alike.get(frozenset((runs[first], runs[second]))) == IDENTICAL
        for first, second in table.pairs.tolist()
    ]
    untold = ~(table.p <= 1 - settings.level)  # NaN tells nothing, either
    low[untold], high[untold] = np.minimum(low, 0.0)[untold], np.maximum(high, 0.0)[untold]
    # After the line before, which may have moved them.
    low[same] = high[same] = 0.0
    return low, high


def _ruling(table: Tested, at: int, runs: list[str], settings: Settings, known: KnownOfRuns) -> Ruling:
    """Return what may be claimed of one pair."""
    first, second = (int(run) for run in table.pairs[at])
    names = runs[first], runs[second]
    # Whatever the numbers are, they rest on judgements that are not there.
    why = known.forbids(names, str(table.scores[first].measure))
    if why:
        return refused(why)
    gaps = table.sample.values[:, first] - table.sample.values[:, second]
    won, tied, lost = outcomes(gaps, table.better)
    if not won + tied + lost:
        return refused("there is no query on which both are defined")
    scores = table.scores[first], table.scores[second]
    if scores[0].signature != scores[1].signature:
        return refused("they were not scored alike: their signatures differ; score both by the same rules")
    apart = unlike(*scores, names)
    by_others = said_of_unlike(scores[0], apart)
    doubt = by_others or doubt_of_losses(*scores, IDENTICAL)
    # Queries on which exactly one of the two has a value.
    alone = int(np.isnan(table.sample.values[:, [first, second]]).sum(axis=1).tolist().count(1))
    same = without_difference(won, tied, lost, alone, known.alike.get(frozenset(names)), doubt)
    if same is not None:
        return same
    found = ruling(float(table.adjusted[at]), int(table.direction[at]), mean(gaps), settings.level)
    if found.verdict == UNDECIDED:
        why = found.why or _of_resolution(table, at, won + lost, settings)
        return found._replace(why=why)
    # A query that only one run answers counts as 0 for the other: the claim must hold without such.
    missing = set(known.absent.get(names[0], ())) | set(known.absent.get(names[1], ()))
    if missing and not _holds_without(table, at, missing, settings):
        return refused(
            f"{len(missing):,} queries are in one run only, and on the others the difference is not shown"
        )
    # Nor may it rest on queries that different judges judged.
    if apart and not _holds_without(table, at, apart, settings):
        return refused(f"{by_others}, and on the others the difference is not shown")
    doubt = doubt_of_losses(*scores, found.verdict)
    return refused(doubt) if doubt else found


def _beside(verdict: str, table: Tested, at: int, ends: tuple[float, float], settings: Settings) -> str:
    """Return what is to be said where the test decides and the interval would not, or the other way round."""
    holds_none = ends[0] <= 0 <= ends[1]
    # The interval is of this pair, p is adjusted for all: both can be right, and look like a contradiction.
    if verdict == UNDECIDED and not holds_none and table.adjusted[at] > table.p[at]:
        return (
            f"{ALONE}, where p is {table.p[at]:.2g};"
            f" among {table.family:,} pairs it is {table.adjusted[at]:.2g} ({settings.adjust})"
        )
    if verdict in (UNDECIDED, REFUSED, IDENTICAL, TIES_ONLY) or not holds_none:
        return ""
    return "the test decides, but the interval holds 0: it asks another question, and is the wider one here"


def _of_resolution(table: Tested, at: int, differ: int, settings: Settings) -> str:
    """Return why no difference, however large, could have been shown; empty where one could."""
    if not table.unresolved(settings.level)[at]:
        return ""
    # max-T adjusts by drawing, so that the floor is that of the adjusted p.
    p = float((table.adjusted if settings.adjust == "max_t" else table.p)[at])
    draws = int(table.draws[at])
    what = "queries"
    if table.sample.is_clustered:
        gaps = table.differences().sums()[:, at]
        differ, what = int((np.abs(gaps) > SLACK).sum()), "clusters"
    # One sign to flip gives p = 1, always.
    if differ == 1:
        return f"only one of the {what} differs, of which no test can tell anything; more {what} can tell"
    if draws:
        floor = f"1/{draws + 1:,}" if p * (draws + 1) > 1 - 1e-9 else f"{p:.2g}, a bound"
        why = f"p stands at its floor of {floor}: none of {draws:,} draws reached the difference"
    else:
        why = f"p cannot be below {p:.2g} where no more than {differ:,} {what} differ"
    if settings.adjust == "holm" and table.family > 1:
        why += f"; Holm over {table.family:,} pairs makes it {table.adjusted[at]:.2g}"
    return why + ("; more --draws can tell" if draws else f"; more {what} can tell")


def _holds_without(table: Tested, at: int, missing: set[str], settings: Settings) -> bool:
    """Return whether the difference is shown, and has the same sign, on the queries that both runs answer."""
    pair = table.pairs[at : at + 1]
    kept = np.array([query not in missing for query in table.sample.queries])
    # Made undefined rather than left out, so that clusters keep their numbers.
    shared = table.sample.of(np.where(kept[:, None], table.sample.values, np.nan))
    whole, part = (mean(differences(values, pair).values[:, 0]) for values in (table.sample, shared))
    return bool(whole * part > 0 and _p_values(shared, pair, settings)[0] <= 1 - settings.level)
