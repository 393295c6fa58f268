"""Worlds in which the truth is known: two systems, a judge of either, and people who say how it is.

z ~ N(0, 1) is how easy a query is, l = (z + ε)/√2 how well a system does on it.

    binary   B is right if l > Φ⁻¹(.4), A if l > Φ⁻¹(.4 − δ)
    crag     A has l + δ; shares .45, .15, .15, .25 of 1, ½, 0, −1 cut it; a judge sees l + N(0, s²), A by .6
             better if biased, −l if contrary
    ratio    the share of 4 nuggets, each there with p = logistic z, by A with p + δ
    rare     B is right on .96 of queries; A says the same on .9 of them, and is judged the same
    three    both say the same but on .03 of queries, where A is right with ½ + δ/.06, and B else

In the null worlds the mean difference is 0 and the differences are skewed:

    tenth             .9 on 10 % of the queries, −.1 on the others
    fiftieth          .98 on 2 %, −.02 on the others
    all or nothing    A is right on 10 % of the queries, B always has .1; `noisy`: and ± .01 or so
    seldom            ± 1 on 3 % of the queries, 0 on the others
    lognormal         exp(z) less its mean, in units of 8, cut off at 1

Judges are perfect, good, noisy, biased to A, or contrary: how often they call right what is, and what is not.
Each world gives people's differences and the judge's, a row a replay, and the mean that it has by its making.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Float = NDArray[np.float64]
Generator = np.random.Generator
NORMAL = NormalDist()
JUDGES = ("perfect", "good", "noisy", "biased", "contrary")
RATES = {  # true and false positives, of A and of B
    "perfect": ((1.0, 0.0), (1.0, 0.0)),
    "good": ((0.95, 0.08), (0.95, 0.08)),
    "noisy": ((0.7, 0.4), (0.7, 0.4)),
    "biased": ((0.98, 0.35), (0.9, 0.08)),
    "contrary": ((0.25, 0.75), (0.25, 0.75)),
}
NUGGETS = {
    "perfect": ((1.0, 0.0), (1.0, 0.0)),
    "good": ((0.93, 0.08), (0.93, 0.08)),
    "noisy": ((0.65, 0.4), (0.65, 0.4)),
    "biased": ((0.97, 0.35), (0.9, 0.1)),
    "contrary": ((0.3, 0.7), (0.3, 0.7)),
}
SIGHT = {"perfect": 0.0, "good": 0.4, "noisy": 1.5, "biased": 0.6, "contrary": 0.5}
CUTS = tuple(NORMAL.inv_cdf(share) for share in (0.25, 0.40, 0.55))
WORTH = np.array([-1.0, 0.0, 0.5, 1.0])


class Drawn(NamedTuple):
    """People's differences and the judge's, replays × queries, and the mean difference of all queries."""

    people: Float
    judge: Float
    mean: float


def judge_values(rng: Generator, truth: Float, rates: tuple[float, float]) -> Float:
    """What a judge says who is right and wrong so often."""
    chance = np.where(truth > 0, *rates)
    return (rng.random(truth.shape) < chance).astype(float)


def latent(rng: Generator, shape: tuple[int, int]) -> tuple[Float, Float]:
    z = rng.normal(size=shape)
    return (z + rng.normal(size=shape)) / math.sqrt(2), (z + rng.normal(size=shape)) / math.sqrt(2)


def binary(rng: Generator, shape: tuple[int, int], delta: float, judge: str) -> Drawn:
    one, other = latent(rng, shape)
    a = (one > NORMAL.inv_cdf(0.4 - delta)).astype(float)
    b = (other > NORMAL.inv_cdf(0.4)).astype(float)
    ours, theirs = RATES[judge]
    return Drawn(a - b, judge_values(rng, a, ours) - judge_values(rng, b, theirs), delta)


def worth(level: Float) -> Float:
    return WORTH[np.searchsorted(CUTS, level)]


def crag(rng: Generator, shape: tuple[int, int], delta: float, judge: str) -> Drawn:
    one, other = latent(rng, shape)
    one += delta
    people = worth(one) - worth(other)
    mean = sum(
        step * (NORMAL.cdf(cut) - NORMAL.cdf(cut - delta))
        for cut, step in zip(CUTS, np.diff(WORTH).tolist(), strict=True)
    )
    sight, sign = SIGHT[judge], -1 if judge == "contrary" else 1
    lean = 0.6 if judge == "biased" else 0.0
    seen = (sign * level + sight * rng.normal(size=shape) for level in (one + lean, other))
    first, second = (worth(level) for level in seen)
    return Drawn(people, first - second, mean)


def ratio(rng: Generator, shape: tuple[int, int], delta: float, judge: str) -> Drawn:
    p = 1 / (1 + np.exp(-rng.normal(size=shape)))
    ratios = []
    for chance, rates in zip((np.minimum(p + delta, 1), p), NUGGETS[judge], strict=True):
        there = [(rng.random(shape) < chance).astype(float) for _ in range(4)]
        ratios.append((sum(there) / 4, sum(judge_values(rng, name, rates) for name in there) / 4))
    z = np.linspace(-8, 8, 20001)
    q = 1 / (1 + np.exp(-z))
    density = np.exp(-(z**2) / 2)
    mean = float(((np.minimum(q + delta, 1) - q) * density).sum() / density.sum())
    return Drawn(ratios[0][0] - ratios[1][0], ratios[0][1] - ratios[1][1], mean)


def _differ(rng: Generator, a: Float, b: Float, same: NDArray[np.bool_], judge: str, mean: float) -> Drawn:
    """Two systems with the same answer, judged once, on some queries."""
    ours, theirs = RATES[judge]
    there = judge_values(rng, b, theirs)
    return Drawn(a - b, np.where(same, 0.0, judge_values(rng, a, ours) - there), mean)


def rare(rng: Generator, shape: tuple[int, int], delta: float, judge: str) -> Drawn:
    b = (rng.random(shape) < 0.96).astype(float)
    same = rng.random(shape) < 0.9
    a = np.where(same, b, rng.random(shape) < 0.96).astype(float)
    return _differ(rng, a, b, same, judge, 0.0)


def three(rng: Generator, shape: tuple[int, int], delta: float, judge: str) -> Drawn:
    same = rng.random(shape) >= 0.03
    b = (rng.random(shape) < np.where(same, 0.6, 0.5 - delta / 0.06)).astype(float)
    return _differ(rng, np.where(same, b, 1 - b), b, same, judge, delta)


World = Callable[[Generator, tuple[int, int], float, str], Drawn]
WORLDS: dict[str, World] = {"binary": binary, "crag": crag, "ratio": ratio}
SELDOM: dict[str, World] = {"rare": rare, "three": three}


def _all_or_nothing(rng: Generator, shape: tuple[int, int], noise: float) -> Float:
    won: Float = (rng.random(shape) < 0.1) - 0.1 - noise * rng.random(shape) + noise / 2
    return np.clip(won, -1, 1)


def _lognormal(rng: Generator, shape: tuple[int, int]) -> Float:
    drawn = np.minimum(np.exp(rng.normal(size=shape)), 8 + math.exp(0.5))
    # What is cut off above would move the mean: E min(X, c) = e^½ Φ(ln c − 1) + c (1 − Φ(ln c)).
    most = 8 + math.exp(0.5)
    mean = math.exp(0.5) * NORMAL.cdf(math.log(most) - 1) + most * (1 - NORMAL.cdf(math.log(most)))
    centered: Float = (drawn - mean) / 8
    return centered


Null = Callable[[Generator, tuple[int, int]], Float]
NULLS: dict[str, Null] = {
    "tenth": lambda rng, shape: np.where(rng.random(shape) < 0.1, 0.9, -0.1),
    "fiftieth": lambda rng, shape: np.where(rng.random(shape) < 0.02, 0.98, -0.02),
    "all or nothing": lambda rng, shape: _all_or_nothing(rng, shape, 0.0),
    "all or nothing, noisy": lambda rng, shape: _all_or_nothing(rng, shape, 0.04),
    "seldom": lambda rng, shape: np.where(
        rng.random(shape) < 0.03, np.where(rng.random(shape) < 0.5, 1.0, -1.0), 0.0
    ),
    "lognormal": _lognormal,
}


def clustered(
    rng: Generator, replays: int, clusters: int, size: int, judge: str = "good"
) -> tuple[Drawn, NDArray[np.int64]]:
    """Binary, δ = 0: half of what a query and of what each system does on it is its cluster's."""
    shape = replays, clusters * size

    def part() -> Float:
        of_cluster = np.repeat(rng.normal(size=(replays, clusters)), size, axis=1)
        return (of_cluster + rng.normal(size=shape)) / math.sqrt(2)

    z = part()
    a, b = ((((z + part()) / math.sqrt(2)) > NORMAL.inv_cdf(0.4)).astype(float) for _ in range(2))
    ours, theirs = RATES[judge]
    drawn = Drawn(a - b, judge_values(rng, a, ours) - judge_values(rng, b, theirs), 0.0)
    return drawn, np.repeat(np.arange(clusters), size)
