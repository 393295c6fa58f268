"""What there is to say of each pair of runs by one measure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from rageval.comparison.results import IDENTICAL, REFUSED, TIES_ONLY, UNDECIDED, Pair
from rageval.comparison.settings import Settings
from rageval.comparison.tables import Table, differences, p_values
from rageval.comparison.verdicts import (
    SLACK,
    Absent,
    Alike,
    Ruling,
    better_of,
    doubt_of_losses,
    outcomes,
    refused,
    ruling,
    said_of_unlike,
    unlike,
    without_difference,
    worded,
)
from rageval.scores import mean
from rageval.statistics.bootstrap import ends_of_differences, intervals
from rageval.statistics.power import detectable, needed
from rageval.statistics.samples import Float, Sample, standard_error
from rageval.statistics.significance import cohens_d


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of the runs besides their values: which failed, what they lack, which are alike."""

    failed: Mapping[str, str] = field(default_factory=dict)
    absent: Absent = field(default_factory=dict)
    alike: Alike = field(default_factory=dict)


def pairs_of(table: Table, runs: list[str], settings: Settings, known: Known) -> list[Pair]:
    """Every pair that is shown."""
    table = table.shown(settings)
    columns, better = table.differences(), table.better
    low, high = _intervals(table, columns, runs, settings, known)
    error, effect = standard_error(columns), cohens_d(columns)
    units = (columns.sizes() > 0).sum(axis=0)
    found = []
    for at, (first, second) in enumerate(table.pairs.tolist()):
        won, tied, lost = outcomes(columns.values[:, at], better)
        gap = mean(columns.values[:, at])
        strength = float(error[at]), int(units[at]), settings.level, settings.power
        ruled, why = _ruling(table, at, runs, settings, known)
        why = why or _beside(ruled, float(low[at]), float(high[at]))
        verdict = worded(ruled, better)
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
            detectable=detectable(*strength),
            needed=needed(gap, *strength),
            verdict=verdict,
            why=why,
            better_run=better_of(runs[first], runs[second], verdict, better),
        )
        found.append(pair)
    return found


def _intervals(
    table: Table, columns: Sample, runs: list[str], settings: Settings, known: Known
) -> tuple[Float, Float]:
    """The interval of each difference; rankings that are the same differ by 0, and that is no estimate."""
    scale = ends_of_differences(table.sample.values, table.pairs, table.limits)
    low, high = intervals(
        columns, settings.interval, settings.level, settings.resamples, settings.seed, scale
    )
    same = [
        known.alike.get(frozenset((runs[first], runs[second]))) == IDENTICAL
        for first, second in table.pairs.tolist()
    ]
    low[same] = high[same] = 0.0
    return low, high


def _ruling(table: Table, at: int, runs: list[str], settings: Settings, known: Known) -> Ruling:
    """What may be claimed of one pair."""
    first, second = (int(run) for run in table.pairs[at])
    names = runs[first], runs[second]
    why = next((known.failed[name] for name in names if name in known.failed), "")
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
    alone = int(np.isnan(table.sample.values[:, [first, second]]).sum(axis=1).tolist().count(1))
    same = without_difference(won, tied, lost, alone, known.alike.get(frozenset(names)), doubt)
    if same is not None:
        return same
    found = ruling(float(table.adjusted[at]), mean(gaps), settings.level)
    if found.verdict == UNDECIDED:
        return found._replace(why=_of_resolution(table, at, won + lost, settings))
    missing = set(known.absent.get(names[0], ())) | set(known.absent.get(names[1], ()))
    if missing and not _holds_without(table, at, missing, settings):
        return refused(
            f"{len(missing):,} queries are in one run only, and on the others the difference is not shown"
        )
    if apart and not _holds_without(table, at, apart, settings):
        return refused(f"{by_others}, and on the others the difference is not shown")
    doubt = doubt_of_losses(*scores, found.verdict)
    return refused(doubt) if doubt else found


def _beside(verdict: str, low: float, high: float) -> str:
    """What is to be said where the test decides, and the interval would not."""
    if verdict in (UNDECIDED, REFUSED, IDENTICAL, TIES_ONLY) or not low <= 0 <= high:
        return ""
    return "the test decides, but the interval holds 0: it asks another question, and is the wider one here"


def _of_resolution(table: Table, at: int, differ: int, settings: Settings) -> str:
    """Why no difference, however large, could have been shown; empty where one could."""
    if not table.unresolved(settings.level)[at]:
        return ""
    by_family = settings.adjust in ("max_t", "tukey")
    p, draws = float((table.adjusted if by_family else table.p)[at]), int(table.draws[at])
    what = "queries"
    if table.sample.is_clustered:
        gaps = table.differences().sums()[:, at]
        differ, what = int((np.abs(gaps) > SLACK).sum()), "clusters"
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


def _holds_without(table: Table, at: int, missing: set[str], settings: Settings) -> bool:
    """Whether the difference is shown, and has the same sign, on the queries that both runs answer."""
    pair = table.pairs[at : at + 1]
    kept = np.array([query not in missing for query in table.sample.queries])
    shared = table.sample.of(np.where(kept[:, None], table.sample.values, np.nan))
    whole, part = (mean(differences(values, pair).values[:, 0]) for values in (table.sample, shared))
    return bool(whole * part > 0 and p_values(shared, pair, settings)[0] <= 1 - settings.level)
