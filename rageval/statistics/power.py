"""What a query set can show: the smallest detectable difference; how many queries, or labels, a claim needs.

The power of the paired t-test with n queries, for a true difference δ and a standard deviation s of the
differences, is P(|t'| > t_{1−a/2, n−1}) with t' noncentral t of n−1 degrees of freedom and noncentrality
δ√n/s.
Sign-flip randomization has nearly the same power, and no formula of its own; but by signs nothing can be
shown where fewer than `fewest` queries differ: six at 95 %, for 2/2⁶ < .05.

The observed difference is not the true one: how many queries are needed is known between what the two ends of
its interval need, and without an upper end where it holds 0.

From a pilot of n₀ labels, an interval of ± w needs
    n = s²_r / ((w/z)² − s²_d/N + s²_r/N) + 4
labels, with s²_d the variance of people's values and s²_r = Σr²/(n₀ − 2) · (n₀ − 2)/χ²_{.2, n₀−2} that of
what the judge leaves unexplained, as large as it may well be. Nothing is left for labels where N queries are
too few.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Mapping, Sequence
from functools import lru_cache
from statistics import NormalDist

import numpy as np

from rageval.errors import TooFewLabels, UsageError
from rageval.statistics import LEVEL
from rageval.statistics.correction import Population, corrected
from rageval.statistics.samples import Float

POWER = 0.8
PILOT = 30  # labels
_CAUTION = 0.2  # of χ²: the pilot's variance may be too small by chance
_MANY = 10**9


def _power_of(shift: float, units: float, level: float = LEVEL) -> float:
    """Return the chance to find a true difference of `shift` standard deviations.

    >>> round(_power_of(0.5, 34), 2)
    0.81
    """
    from scipy.special import nctdtr, ndtr, ndtri, stdtrit

    beyond = shift * math.sqrt(units)
    if units > 10**5:  # the t distribution is normal by then
        edge = float(ndtri((1 + level) / 2))
        return float(ndtr(beyond - edge) + ndtr(-beyond - edge))
    edge = float(stdtrit(units - 1, (1 + level) / 2))
    # scipy gives up where a chance is as good as 0: of either end, and of each by itself.
    below, beneath = np.nan_to_num(nctdtr(units - 1, beyond, np.array([edge, -edge]))).tolist()
    return float(1 - below + beneath)


def detectable(error: float, units: int, level: float = LEVEL, power: float = POWER) -> float:
    """Return the smallest true difference that this many units can detect with this power.

    `error` is the standard error of the observed mean difference.

    >>> round(detectable(error=0.1 / math.sqrt(34), units=34), 3)
    0.05
    """
    if units < 2 or math.isnan(error):
        return math.nan
    return _smallest_shift(units, level, power) * error * math.sqrt(units)


@lru_cache(maxsize=1024)
def _smallest_shift(units: int, level: float, power: float) -> float:
    """Return the smallest shift, in standard deviations, that is found with this power."""
    low, high = 0.0, 1.0
    while _power_of(high, units, level) < power:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _power_of(middle, units, level) < power else (low, middle)
    return high


def saving(cost: float, correlation: float) -> tuple[float, float]:
    """Return the shares of a strong judge's calls, and of the money, that a cheap judge saves at equal width.

    A call of the cheap judge has this `cost` in calls of the strong one, whose labels of n of N queries
    correct it: the variance is (1 − ρ²)/n + ρ²/N, in units of that of one label. Of all n and N, those are
    taken that cost least: n/N = √(1 − ρ²)·√cost/ρ, for √(1 − ρ²)·(√(1 − ρ²) + ρ√cost) of the calls and
    (√(1 − ρ²) + ρ√cost)² of the money that labels alone take. If that is more, they are better alone.

    >>> [tuple(round(each, 2) for each in saving(1 / ratio, 0.56)) for ratio in (10, 30, 100)]
    [(0.17, 0.0), (0.23, 0.13), (0.27, 0.22)]
    """
    alone, cheap = math.sqrt(1 - correlation**2), correlation * math.sqrt(cost)
    return max(1 - alone * (alone + cheap), 0.0), max(1 - (alone + cheap) ** 2, 0.0)


def fewest(level: float = LEVEL) -> int:
    """Return the smallest number of differences with one sign that a sign test can tell from chance.

    >>> fewest(0.95), fewest(0.99)
    (6, 8)
    """
    return math.ceil(1 - math.log2(1 - level) - 1e-9)


def needed_between(
    low: float,
    high: float,
    error: float,
    units: int,
    level: float = LEVEL,
    power: float = POWER,
    differ: int | None = None,
) -> tuple[int | None, int | None]:
    """Return the least and the most units needed for a difference with the interval `low` … `high`.

    The most is None where the interval includes 0; both are None where nothing is known. With a sign test
    only the units that `differ` count, so enough units for these are needed.

    >>> needed_between(0.02, 0.08, error=0.015, units=50)
    (16, 223)
    >>> needed_between(-0.01, 0.07, error=0.02, units=50)
    (35, None)
    """
    if units < 2 or not error > 0 or math.isnan(low) or math.isnan(high):
        return None, None
    ends = sorted((abs(low), abs(high)), reverse=True)
    least, most = (needed(end, error, units, level, power) for end in ends)
    # A test of signs sees only units that differ, and cannot be significant with too few of them.
    floor = math.ceil(fewest(level) * units / differ) if differ else 2
    least = None if least is None else max(least, floor)
    if most is None or low <= 0 <= high:
        return least, None
    return least, max(most, floor)


def needed(
    difference: float, error: float, units: int, level: float = LEVEL, power: float = POWER
) -> int | None:
    """Return how many units would show the observed difference with this power; None if no number would.

    >>> needed(difference=0.05, error=0.1 / math.sqrt(50), units=50)
    34
    """
    if units < 2 or math.isnan(error) or difference == 0:
        return None
    if error == 0:
        return 2
    # In standard deviations of one unit, which do not depend on how many there are.
    shift = abs(difference) / (error * math.sqrt(units))
    # About how many, were the standard deviation known: where the search begins.
    quantile = NormalDist().inv_cdf
    about = ((quantile((1 + level) / 2) + quantile(power)) / shift) ** 2
    if about > _MANY:
        return None
    # Steps that double find both ends of the search; halving then finds the least number that is enough.
    low, step = max(int(about) - 1, 1), 2
    while low > 1 and _power_of(shift, low, level) >= power:
        low, step = max(low - step, 1), step * 2
    high, step = low + 2, 2
    while _power_of(shift, high, level) < power:
        low, high, step = high, high + step, step * 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _power_of(shift, middle, level) < power else (low, middle)
    return high


def labels_needed(
    judged: Sequence[float] | Float,
    pilot: Mapping[int, float] | Sequence[tuple[int, float]],
    width: float,
    *,
    paired: bool,
    level: float = LEVEL,
    population: Population = "kind",
    span: float = 1.0,
    same: Collection[int] = (),
    clusters: Sequence[Hashable] | None = None,
) -> int | None:
    """Return how many labels an interval of ± `width` needs, including those of the pilot.

    None if there are not enough queries. The arguments are those of `corrected`; raises TooFewLabels if the
    pilot has fewer than 30.

    >>> judged = [0.0, 1.0] * 500
    >>> pilot = {at: judged[at] - (at % 5 < 2) / 2 for at in range(0, 1000, 20)}
    >>> pilot |= {at + 1: judged[at + 1] - (at % 7 < 3) / 2 for at in range(0, 1000, 20)}
    >>> labels_needed(judged, pilot, 0.05, paired=False), labels_needed(judged, pilot, 0.01, paired=False)
    (153, None)
    """
    from scipy.special import chdtri

    if not 0 < width < math.inf:
        raise UsageError(f"width={width!r}: expected a number above 0")
    if len(pilot) < PILOT:
        raise TooFewLabels(f"the pilot has {len(pilot):,} labels ({PILOT} are needed)")
    estimate = corrected(
        judged, pilot, paired=paired, level=level, population=population, span=span, same=same
    )
    number, labels = len(judged) - len(set(same)), estimate.labels
    share = number / len(judged)
    values, by_place = np.asarray(judged, np.float64), dict(pilot)
    kept = sorted(by_place.keys() - set(same))
    people = np.array([by_place[place] for place in kept])
    off, deviations = people - people.mean(), values[kept] - values[kept].mean()
    unexplained = float(((off - estimate.slope * deviations) ** 2).sum()) / float(
        chdtri(labels - 2, 1 - _CAUTION)
    )
    spread = float((off**2).sum()) / (labels - 1)
    if clusters is not None:
        # Labels in one cluster tell less than as many apart: by how much, the pilot's errors show.
        clustered = corrected(
            judged,
            pilot,
            paired=paired,
            level=level,
            population=population,
            span=span,
            same=same,
            clusters=clusters,
        )
        more = max(1.0, (clustered.error / estimate.error) ** 2) if estimate.error else 1.0
        unexplained, spread = more * unexplained, more * spread
    phase = share * spread + (1 - share) * estimate.value**2 / max(share, 1e-300)
    target = (width / NormalDist().inv_cdf((1 + level) / 2)) ** 2
    target -= phase / len(judged) if population == "kind" else 0.0
    if target < 0:
        return None
    unexplained *= share**2
    needed = math.ceil(unexplained / (target + unexplained / number) + 4) if unexplained else 0
    if estimate.coarse is not None:  # the rule of three
        needed = max(needed, math.ceil(-math.log(1 - level) * span * share / width) + 2)
    return min(max(needed, labels), number)
