"""Which test of a difference, how p is adjusted for all pairs, and which interval: decided here alone.

Of values of two or three levels (right or wrong; good, half, bad) flipped signs are exact but for skewness,
and resampling promises too much. Graded values differ by amounts, and often a few differ most. There the
studentized bootstrap holds, but is too sure where few of many values differ, or these have long tails on both
sides; flipped signs are exact there. So both must agree. Of one pair resamples decide alone if its
differences are skewed, also without the largest one: flipped signs are then about symmetry, not about the
mean. How often claims are false is in benchmarks/README.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from rageval.comparison.results import Settings
from rageval.statistics.bootstrap import Limits, intervals, is_coarse, ranges_of_differences
from rageval.statistics.samples import Float, Int, Sample, settled_columns
from rageval.statistics.significance import Significance, max_t, sign_flip, skewness, t_test
from rageval.statistics.studentized import studentized, studentized_max_t

BOOTSTRAP, RANDOMIZATION, STUDENT, STUDENTIZED = "bootstrap", "randomization", "t", "studentized"
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


def _randomization(values: Sample, pairs: Int, settings: Settings) -> Significance:
    units = None if values.is_complete else differences(values, pairs).counts()
    return sign_flip(*_flip_arguments(values, pairs), settings.draws, settings.seed, settings.level, units)


def _student(values: Sample, pairs: Int, settings: Settings) -> Significance:
    return t_test(differences(values, pairs))


def _studentized(values: Sample, pairs: Int, settings: Settings) -> Significance:
    columns = differences(values, pairs)
    how = settings.level, settings.resamples, settings.seed
    of_resamples = studentized(columns, *how, has_ends=False)
    skewed = np.array([_stays_skewed(column) for column in columns.sums().T], bool)
    flipped = _randomization(values, pairs, settings)
    return _both(flipped, of_resamples.p, of_resamples.is_least, settings, skewed)


def _flipped_family(values: Sample, pairs: Int, settings: Settings) -> Significance:
    return max_t(*_flip_arguments(values, pairs), settings.draws, settings.seed)


def _studentized_family(values: Sample, pairs: Int, settings: Settings) -> Significance:
    # Here both must agree on skewed differences, too: among many pairs some are skewed by chance.
    adjusted = studentized_max_t(differences(values, pairs), settings.resamples, settings.seed)
    return _both(_flipped_family(values, pairs, settings), *adjusted, settings)


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


TESTS: Mapping[str, Callable[[Sample, Int, Settings], Significance]] = {
    RANDOMIZATION: _randomization,
    STUDENT: _student,
    STUDENTIZED: _studentized,
}
# The p of each pair among all: signs are flipped, or units drawn, for all pairs together.
FAMILIES: Mapping[str, Callable[[Sample, Int, Settings], Significance]] = {
    RANDOMIZATION: _flipped_family,
    STUDENT: _flipped_family,  # |Σd|/√Σd² is t but for a monotone map
    STUDENTIZED: _studentized_family,
}


def _flip_arguments(values: Sample, pairs: Int) -> tuple[Float, Int]:
    """Return sums by unit, and the two columns of them that make up each pair."""
    if values.is_complete:
        return values.sums(), pairs
    # a query that one of the two lacks adds 0, whatever its sign
    # The second of each pair is then a column of zeros: its difference from it is the difference itself.
    padded = np.column_stack((differences(values, pairs).sums(), np.zeros(values.units)))
    return padded, np.stack((np.arange(len(pairs)), np.full(len(pairs), len(pairs))), axis=1)


def intervals_of_differences(
    values: Sample, pairs: Int, limits: Limits | None, settings: Settings
) -> tuple[Float, Float]:
    """Return the interval of the mean difference of each pair."""
    columns, scale = differences(values, pairs), ranges_of_differences(values.values, pairs, limits)
    how = settings.level, settings.resamples, settings.seed
    low, high = intervals(columns, *how, scale)
    if is_graded(values):
        ends = studentized(columns, *how)
        # Where few values differ from the commonest one, no resampling knows how far the others may.
        is_fit = ~(np.isnan(ends.low) | is_coarse(columns))
        low = np.where(is_fit, np.fmax(ends.low, scale.low), low)
        high = np.where(is_fit, np.fmin(ends.high, scale.high), high)
    return low, high
