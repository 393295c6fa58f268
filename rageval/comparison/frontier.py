"""Which systems are worth what they cost: those that no other system dominates.

A system dominates another that it is better than by one of two measures, and not worse than by the other.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence

import numpy as np

from rageval.comparison.intervals import _sample
from rageval.comparison.resampling import is_joint
from rageval.comparison.results import Cell, FrontierPoint, FrontierStatus, Pair, Settings
from rageval.core.ruling import Ruling
from rageval.errors import UsageError
from rageval.measures.base import HIGHER, LOWER
from rageval.scoring.scores import Scores
from rageval.statistics.bootstrap import resampled_means
from rageval.statistics.samples import Sample, settled_columns

_ALIKE = (Ruling.IDENTICAL, Ruling.TIES_ONLY)


def require_frontier(results: Sequence[Scores], against: str) -> None:
    """Raise `UsageError` unless there is a measure of cost, and one to hold against it."""
    better = {str(score.measure): score.measure.better for score in results[0].scores}
    joint = next((str(score.measure) for score in results[0].scores if is_joint(score)), None)
    if joint is not None:
        raise UsageError(
            f"against={against!r}: {joint} has no value of a single query, which a frontier needs; leave it"
            " out"
        )
    if better.get(against) != LOWER:
        costs = ", ".join(name for name, way in better.items() if way == LOWER) or "none"
        raise UsageError(
            f"against={against!r}: expected one of the measures that is good when low (cost, seconds);"
            f" found {costs}"
        )
    if HIGHER not in better.values():
        raise UsageError(f"against={against!r}: expected also a measure that is good when high, found none")


def frontier_of(
    results: Sequence[Scores],
    cells: Sequence[Cell],
    pairs: Sequence[Pair],
    settings: Settings,
    corrected: Collection[str] = (),
) -> Iterator[FrontierPoint]:
    """Yield the standing of every system by each measure that is good when high, against one of cost.

    All of it follows from the rulings on pairs: a system is `on` if against every other one it is better by
    one of the measures, and `dominated` if another one is better by both. Where a measure is `corrected` by
    labels, no share is known.
    """
    against = settings.against
    values = {(cell.run, cell.measure): cell.value for cell in cells}
    scores = {(of.run, str(score.measure)): score for of in results for score in of.scores}
    pair_of = {(pair.run, pair.other, pair.measure): pair for pair in pairs}
    pair_of |= {(pair.other, pair.run, pair.measure): pair for pair in pairs}
    for score in results[0].scores:
        measure = str(score.measure)
        if score.measure.better != HIGHER:
            continue
        # Who has no value by one of the two has no place, but may dominate others all the same.
        systems = [
            of.run
            for of in results
            if not all(math.isnan(values[of.run, name]) for name in (measure, against))
        ]
        runs = [of.run for of in results if not math.isnan(values[of.run, measure] + values[of.run, against])]
        shares: list[float] = [math.nan] * len(runs)
        if not {measure, against} & {*corrected} and runs:
            quality, costs = (
                _sample([scores[run, name] for run in runs], settings.units) for name in (measure, against)
            )
            shares = _shares(quality, costs, settings)
        for run, share in zip(runs, shares, strict=True):
            others = [other for other in systems if other != run]
            status, dominators = _status(run, others, (measure, against), pair_of)
            places = values[run, measure], values[run, against]
            yield FrontierPoint(run, measure, against, *places, share, status, dominators)


def _status(
    run: str, others: Sequence[str], measures: tuple[str, str], pair_of: Mapping[tuple[str, str, str], Pair]
) -> tuple[FrontierStatus, tuple[str, ...]]:
    dominators, is_settled = [], bool(others)
    for other in others:
        pairs = [pair_of[run, other, measure] for measure in measures]
        won = [pair.better_run == run for pair in pairs]
        lost = [pair.better_run == other for pair in pairs]
        alike = [pair.ruling in _ALIKE for pair in pairs]
        if any(lost) and all(map(max, lost, alike)):
            dominators.append(other)
        is_settled = is_settled and (any(won) or all(alike))
    if dominators:
        return FrontierStatus.DOMINATED, tuple(dominators)
    return (FrontierStatus.ON if is_settled else FrontierStatus.UNDECIDED), ()


def _shares(quality: Sample, costs: Sample, settings: Settings) -> list[float]:
    """Return in which share of the resamples no other system dominates each one."""
    if quality.queries != costs.queries:  # there are no resamples of both
        return [math.nan] * quality.values.shape[1]
    values, spent = (
        settled_columns(resampled_means(sample, settings.resamples, settings.seed).T).T
        for sample in (quality, costs)
    )
    shares = []
    for number in range(values.shape[1]):
        value, cost = values[:, [number]], spent[:, [number]]
        no_worse = (values >= value) & (spent <= cost)
        dominates = no_worse & ((values > value) | (spent < cost))
        shares.append(1 - float(np.mean(dominates.any(axis=1))))
    return shares
