"""Which test of a difference, how p is adjusted for all pairs, and which interval: decided here alone.

Of values of two or three levels (right or wrong; good, half, bad) flipped signs are exact but for skewness,
and resampling promises too much. Graded values differ by amounts, and often a few differ most. There the
studentized bootstrap holds, but is too sure where few of many values differ, or these have long tails on both
sides; flipped signs are exact there. So both must agree. Of one pair resamples decide alone if its
differences are skewed, also without the largest one: flipped signs are then about symmetry, not about the
mean. How often claims are false is in benchmarks/README.md.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rageval.comparison.results import Settings
from rageval.statistics.bootstrap import Limits, Ranges, intervals, is_coarse, ranges_of_differences
from rageval.statistics.samples import Float, Int, Sample, settled_columns
from rageval.statistics.significance import (
    Significance,
    sign_flip,
    sign_flip_and_max_t,
    skewness,
    t_test,
)
from rageval.statistics.studentized import Resamples

BOOTSTRAP, RANDOMIZATION, STUDENT, STUDENTIZED = "bootstrap", "randomization", "t", "studentized"
TESTS = RANDOMIZATION, STUDENT, STUDENTIZED
_LEVELS = 3
_SKEWED, _MANY = 1.5, 200  # with more differences, skewness matters little


def differences(values: Sample, pairs: Int) -> Sample:
    """Return a column of differences for each pair of runs."""
    gaps = values.values[:, pairs[:, 0]] - values.values[:, pairs[:, 1]]
    return values.of(settled_columns(gaps))


def is_graded(values: Sample) -> bool:
    """Return whether all systems together have more than three different values."""
    return len(np.unique(values.values[~np.isnan(values.values)])) > _LEVELS


def fitting_test(values: Sample, settings: Settings) -> str:
    """Return the test of differences of these values: the one that was asked for, or that fits them."""
    if settings.test != "auto":
        return settings.test
    return STUDENTIZED if is_graded(values) else RANDOMIZATION


class PairSignificance(NamedTuple):
    """p of each pair by itself, and among all: signs are flipped, or units drawn, for all pairs together.

    `ends` are those of each interval, where resamples were drawn; NaN where they say nothing.
    """

    alone: Significance
    among_all: Significance | None
    ends: tuple[Float, Float] | None


def significance_of_pairs(
    test: str, values: Sample, pairs: Int, settings: Settings, *, has_family: bool
) -> PairSignificance:
    """Return the p of each pair, alone and, if asked for, adjusted for all; what is drawn is drawn once."""
    columns = differences(values, pairs)
    flipped = among_all = None
    if has_family:
        flipped, among_all = sign_flip_and_max_t(*_flip_arguments(values, pairs, columns, settings))
    if test == STUDENT:
        # |Σd|/√Σd² is t but for a monotone map: of all pairs, signs are flipped.
        return PairSignificance(t_test(columns), among_all, None)
    if flipped is None:
        flipped = sign_flip(*_flip_arguments(values, pairs, columns, settings))
    if test == RANDOMIZATION:
        return PairSignificance(flipped, among_all, None)
    resamples = _resamples(values, pairs, columns, settings)
    estimate = resamples.alone()
    skewed = np.array([_stays_skewed(column) for column in columns.sums().T], bool)
    alone = _both(flipped, estimate.p, estimate.is_least, settings, skewed)
    if among_all is not None:
        # Here both must agree on skewed differences, too: among many pairs some are skewed by chance.
        among_all = _both(among_all, *resamples.together(), settings)
    return PairSignificance(alone, among_all, (estimate.low, estimate.high))


def significance_alone(test: str, values: Sample, pairs: Int, settings: Settings) -> Significance:
    """Return the p of each pair by itself."""
    return significance_of_pairs(test, values, pairs, settings, has_family=False).alone


def _resamples(values: Sample, pairs: Int, columns: Sample, settings: Settings) -> Resamples:
    made_of = (values, pairs) if values.is_complete and len(pairs) > values.values.shape[1] else None
    return Resamples(columns, settings.level, settings.resamples, settings.seed, made_of)


def _stays_skewed(differences: Float) -> bool:
    """Return whether a few large differences oppose many small ones, and not a single one alone.

    Of symmetric values with long tails, a sample often is skewed by its largest one.
    """
    differing = differences[differences != 0]
    if not 3 <= len(differing) < _MANY:
        return False
    rest = np.delete(differing, np.argmax(np.abs(differing - np.median(differing))))
    of_all, of_rest = skewness(differing), skewness(rest)
    return of_all * of_rest > 0 and min(abs(of_all), abs(of_rest)) > _SKEWED


def _both(
    flipped: Significance,
    p: Float,
    is_least: NDArray[np.bool_],
    settings: Settings,
    skewed: NDArray[np.bool_] | None = None,
) -> Significance:
    """Return the larger p of each pair; that of resamples where differences are skewed.

    Where no resample is as far off, these say no more than that p is small, and flipped signs how small.
    """
    is_of_resamples = (p > flipped.p) & ~is_least
    if skewed is not None:
        is_of_resamples |= skewed & ~(is_least & (p > flipped.p))
    return flipped._replace(
        p=np.where(is_of_resamples, p, flipped.p),
        at_floor=np.where(is_of_resamples, is_least, flipped.at_floor),
        draws=np.where(is_of_resamples, settings.resamples, flipped.draws),
    )


def _flip_arguments(
    values: Sample, pairs: Int, columns: Sample, settings: Settings
) -> tuple[Float, Int, int, int, float, Int | None, Float | None]:
    """Return sums by unit, and the two columns of them that make up each pair; and how signs are flipped."""
    how, gaps = (settings.draws, settings.seed, settings.level), columns.sums()
    if values.is_complete:
        return values.sums(), pairs, *how, None, None if values.is_clustered else gaps
    # A query that one of the two lacks adds 0, whatever its sign. The second of each pair is then a column of
    # zeros: its difference from it is the difference itself.
    padded = np.column_stack((gaps, np.zeros(values.units)))
    zeros = np.stack((np.arange(len(pairs)), np.full(len(pairs), len(pairs))), axis=1)
    return padded, zeros, *how, columns.counts(), None if values.is_clustered else gaps


def intervals_of_differences(
    values: Sample,
    pairs: Int,
    limits: Limits | None,
    settings: Settings,
    ends: tuple[Float, Float] | None = None,
) -> tuple[Float, Float]:
    """Return the interval of each mean difference; `ends` are those of the test, if it has some."""
    columns, scale = differences(values, pairs), ranges_of_differences(values.values, pairs, limits)
    low, high = np.full(len(pairs), np.nan), np.full(len(pairs), np.nan)
    if is_graded(values):
        least, most = ends or _resamples(values, pairs, columns, settings).alone()[:2]
        # Where few values differ from the commonest one, no resampling knows how far the others may.
        is_fit = ~(np.isnan(least) | is_coarse(columns))
        low[is_fit] = np.maximum(least, scale.low)[is_fit]
        high[is_fit] = np.minimum(most, scale.high)[is_fit]
    rest = np.flatnonzero(np.isnan(low))
    if len(rest):
        scales = Ranges(*(of_pairs[rest] for of_pairs in scale))
        how = settings.level, settings.resamples, settings.seed
        low[rest], high[rest] = intervals(columns.of(columns.values[:, rest]), *how, scales)
    return low, high
