"""How many labels a claim needs, and when labelling may stop.

From a pilot of n₀ labels, an interval of ± w needs
    n = s²_r / ((w/z)² − s²_d/N + s²_r/N) + 4
with s²_d the variance of people's values and s²_r = Σr²/(n₀ − 2) · (n₀ − 2)/χ²_{.2, n₀−2} that of what the
judge leaves unexplained, as large as it may well be. Nothing is left for labels where N queries are too few.

Who looks at the labels K times, and would stop at a difference, must ask for more at each look: O'Brien and
Fleming's bounds, |z| ≥ c·√(K/k) at look k, with c so that no difference is found by any look in 1 − level of
cases (2.024 for four looks at 95 %). z is the normal quantile of Student's p.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from statistics import NormalDist

import numpy as np

from rageval.errors import TooFewLabels, UsageError
from rageval.statistics.correction import Population, corrected
from rageval.statistics.samples import Float

PILOT = 30  # labels
_CAUTION = 0.2  # of χ²: the pilot's variance may be too small by chance
_GRID = 401


def labels_needed(
    judged: Sequence[float] | Float,
    pilot: Mapping[int, float] | Sequence[tuple[int, float]],
    width: float,
    *,
    paired: bool,
    level: float = 0.95,
    population: Population = "kind",
    span: float = 1.0,
    same: Collection[int] = (),
) -> int | None:
    """Return how many labels an interval of ± `width` needs, those of the pilot among them.

    None if it is impossible: so many queries are not there. The arguments are those of `corrected`;
    TooFewLabels if the pilot has fewer than 30.

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
    found = corrected(judged, pilot, paired=paired, level=level, population=population, span=span, same=same)
    number, labels = len(judged) - len(set(same)), found.labels
    share = number / len(judged)
    values, by_place = np.asarray(judged, np.float64), dict(pilot)
    kept = sorted(by_place.keys() - set(same))
    said = np.array([by_place[place] for place in kept])
    off, apart = said - said.mean(), values[kept] - values[kept].mean()
    unexplained = float(((off - found.slope * apart) ** 2).sum()) / float(chdtri(labels - 2, 1 - _CAUTION))
    spread = float((off**2).sum()) / (labels - 1)
    phase = share * spread + (1 - share) * found.value**2 / max(share, 1e-300)
    wanted = (width / NormalDist().inv_cdf((1 + level) / 2)) ** 2
    wanted -= phase / len(judged) if population == "kind" else 0.0
    if wanted < 0:
        return None
    unexplained *= share**2
    needed = math.ceil(unexplained / (wanted + unexplained / number) + 4) if unexplained else 0
    if found.coarse is not None:  # the rule of three
        needed = max(needed, math.ceil(-math.log(1 - level) * span * share / width) + 2)
    return min(max(needed, labels), number)


def look_bounds(looks: int = 4, level: float = 0.95) -> list[float]:
    """Return the p below which a difference is found, at each of so many looks at equal steps.

    >>> [round(p, 5) for p in look_bounds(4)]
    [5e-05, 0.0042, 0.01942, 0.04294]
    """
    if not 1 <= looks <= 20:
        raise UsageError(f"looks={looks!r}: expected 1 to 20")
    if not 0 < level < 1:
        raise UsageError(f"level={level!r}: expected a number between 0 and 1")
    bound = _constant(looks, level)
    normal = NormalDist()
    return [2 * normal.cdf(-bound * math.sqrt(looks / look)) for look in range(1, looks + 1)]


def look_sizes(labels: int, looks: int = 4) -> list[int]:
    """Return after how many labels each look is taken.

    >>> look_sizes(200), look_sizes(50, 4)
    ([50, 100, 150, 200], [13, 25, 38, 50])
    """
    return [math.ceil(labels * look / looks) for look in range(1, looks + 1)]


@lru_cache(maxsize=64)
def _constant(looks: int, level: float) -> float:
    """Return c, by bisection: the chance to cross falls with it."""
    low, high = 0.5, 8.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if _crossing(middle, looks) > 1 - level else (low, middle)
    return high


def _crossing(bound: float, looks: int) -> float:
    """Return the chance that a sum of `looks` standard normals is ever beyond ±bound·√looks."""
    edge = bound * math.sqrt(looks)
    grid = np.linspace(-edge, edge, _GRID)
    weight = np.full(_GRID, 2.0)  # Simpson's
    weight[1::2], weight[0], weight[-1] = 4.0, 1.0, 1.0
    weight *= (grid[1] - grid[0]) / 3
    steps = np.exp(-((grid[:, None] - grid[None]) ** 2) / 2) / math.sqrt(2 * math.pi)
    inside = steps[_GRID // 2]
    for _ in range(looks - 1):
        inside = steps @ (inside * weight)
    return 1 - float((inside * weight).sum())
