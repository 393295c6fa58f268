"""How often a judge is called nearer to the truth than another that ranks equally well, and than a worse one.

    python benchmarks/nearer.py [--replays 2000] [--workers 2]

Strengths of 5 or 8 runs lie .02 apart, and the truth adds N(0, t²) to them for each topic. Judges add to the
truth

    alike     N(0, s²), both
    leaning   the same, and one N(0, ℓ²) for each run, the other the negative of that for the reversed runs
    worse     N(0, .2²), and the other judge N(0, 1.2²)

so that neither of two judges is nearer, or the first is. Beside the test of the package (`nearer`) stands the
one that it replaced: the difference of τ_b against the standard deviation of its resamples, by Student's t.
A row has how often each names a judge; of judges that are equally near at most 5 % are allowed. Ends with 1
when a figure is above .055 and 1.5 errors of so many replays. A worse judge has a fourth of the replays.
Takes ten minutes on two cores.
"""

from __future__ import annotations

import argparse
import math
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.stats import t

from rageval.statistics.rankings import _taus, nearer
from timing import Row, markdown
from worlds import Float, Generator

TOPICS, RUNS = (20, 40, 80, 200), (5, 8)
GAP, MOST, RESAMPLES = 0.02, 0.055, 200


class World(NamedTuple):
    """How far truth and judges scatter, and by how much the judges lean."""

    name: str
    truth: float
    noise: float
    lean: float = 0.0
    worse: float = 0.0
    gap: float = GAP


NULLS = (
    World("alike", 0.05, 0.3),
    World("alike", 0.05, 1.0),
    World("leaning", 0.2, 0.02, 0.12),
)
ALTERNATIVES = (World("worse", 0.2, 0.2, worse=1.2), World("worse", 0.2, 0.2, worse=1.2, gap=0.05))


def drawn(rng: Generator, world: World, topics: int, runs: int) -> tuple[Float, Float, Float]:
    """Values by the truth and by two judges, a row a topic."""
    strengths = world.gap * (np.arange(runs) - (runs - 1) / 2)
    truth = strengths + rng.normal(0, world.truth, (topics, runs))
    one, other = (
        truth + rng.normal(0, noise, truth.shape) for noise in (world.noise, world.worse or world.noise)
    )
    lean = rng.normal(0, world.lean, runs)
    return truth, one + lean, other - lean[::-1]


def by_scatter(rng: Generator, truth: Float, one: Float, other: Float) -> float:
    """p of the difference against the standard deviation of its resamples."""
    topics = len(truth)
    times = rng.multinomial(topics, np.full(topics, 1 / topics), RESAMPLES)
    means = [np.vstack((side.mean(axis=0), times @ side / topics)) for side in (truth, one, other)]
    difference, *resampled = _taus(means[0], means[1]) - _taus(means[0], means[2])
    error = float(np.std(resampled, ddof=1))
    return float(2 * t.sf(abs(difference) / error, topics - 1)) if error else 1.0


def rates(world: World, topics: int, runs: int, replays: int) -> tuple[float, float]:
    """How often a judge is named, by the package and by the scatter of resamples."""
    rng = np.random.default_rng([topics, runs, *(round(1000 * number) for number in world[1:])])
    named = np.zeros(2)
    for _ in range(replays):
        sides = drawn(rng, world, topics, runs)
        named += nearer(*sides).p < 0.05, by_scatter(rng, *sides) < 0.05
    return float(named[0]) / replays, float(named[1]) / replays


def row(replays: int, cell: tuple[World, int, int]) -> tuple[World, Row, float]:
    """A cell as it is printed, and how often the package names a judge."""
    world, topics, runs = cell
    by_package, by_resamples = rates(world, topics, runs, replays // 4 if world.worse else replays)
    shown = (world.name, f"{world.truth:g}", f"{world.noise:g}", f"{world.lean:g}", f"{world.gap:g}")
    return world, (*shown, str(topics), str(runs), f"{by_package:.3f}", f"{by_resamples:.3f}"), by_package


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--replays", type=int, default=2000)
    parser.add_argument("--workers", type=int, default=2)
    given = parser.parse_args()
    worlds = (*NULLS, *ALTERNATIVES)
    cells = [(world, topics, runs) for world in worlds for topics in TOPICS for runs in RUNS]
    with ProcessPoolExecutor(given.workers) as pool:
        rows = []
        for measured in pool.map(partial(row, given.replays), cells):
            print(*measured[1], file=sys.stderr, flush=True)
            rows.append(measured)
    header = ("judges", "truth", "noise", "lean", "gap", "topics", "runs", "named", "by scatter")
    print(markdown(header, [shown for _, shown, _ in rows]))
    worst = max(rate for world, _, rate in rows if not world.worse)
    limit = MOST + 1.5 * math.sqrt(MOST * (1 - MOST) / given.replays)
    print(f"\nworst {worst:.3f}, at most {limit:.3f}")
    return 0 if worst <= limit else 1


if __name__ == "__main__":
    sys.exit(main())
