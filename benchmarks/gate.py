"""How often `rageval gate` is wrong, and how often it sees what is there: pairs of systems drawn by the law.

    python benchmarks/gate.py [--pairs 2000] [--only power|skewed|slices|anchor]

Two worlds. `binary`: answers are right or wrong, and on 15 % of the questions the two systems differ, more
often to the worse as the true difference says. `graded`: values between 0 and 1, differences ~ N(δ, .25²).
`block` and `ship` are shares of pairs; a block at δ = 0 and a ship at δ = −margin are wrong. Then the skewed
worlds of worlds.py without a difference, in which a few questions win much, or lose much. Then versions, one
after the other: what passes in all of ten, each held against the one before, with an anchor and without. Ends
with 1 where a version that is as good is blocked in more than 6.5 % of cases with an anchor.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np

from rageval.comparison.gate import BLOCK, SHIP, GateSettings, GateSide, gate
from rageval.files.scores import BaselineHeader
from rageval.measures import builtin
from rageval.scoring.scores import Score, Scores
from rageval.statistics import bootstrap
from worlds import NULLS

MARGIN = 0.03
DIFFER = 0.15  # of the questions, in the binary world


def drawn(world: str, questions: int, difference: float, random: np.random.Generator) -> tuple[Any, Any]:
    """Return the values of the baseline and of the candidate."""
    if world == "binary":
        up, down = DIFFER / 2 + difference / 2, DIFFER / 2 - difference / 2
        which = random.random(questions)
        change = np.where(which < up, 1.0, np.where(which < up + down, -1.0, 0.0))
        before = np.where(change == 0, random.random(questions) < 0.7, change < 0).astype(float)
        return before, before + change
    before = random.uniform(0.3, 0.7, questions)
    return before, before + random.normal(difference, 0.25, questions)


def side(values: Any, name: str = "coverage") -> GateSide:
    """Return values as one side of a gate."""
    ids = [f"q{index:05}" for index in range(len(values))]
    score = Score(builtin()[name], ids, values.tolist(), 0, name)
    header = BaselineHeader(measures={name: name}, questions=len(ids))
    return GateSide(Scores("system", (score,)), header)


def rates(world: str, questions: int, difference: float, pairs: int, **settings: Any) -> tuple[float, float]:
    """Return the shares of pairs that are blocked and shipped."""
    random = np.random.default_rng([questions, round(1000 * difference) + 10_000, len(world)])
    verdicts = []
    for _ in range(pairs):
        before, now = drawn(world, questions, difference, random)
        verdicts.append(gate(side(now), side(before), GateSettings(MARGIN, **settings)).verdict)
    return verdicts.count(BLOCK) / pairs, verdicts.count(SHIP) / pairs


def slices_blocked(slices: int, size: int, pairs: int) -> tuple[float, float]:
    """Return the share of pairs of equal systems of which anything blocks, with Holm and without."""
    random = np.random.default_rng(slices)
    groups = {f"q{index:05}": f"s{index % slices:02}" for index in range(slices * size)}
    blocked = []
    for _ in range(pairs):
        before, now = drawn("binary", slices * size, 0.0, random)
        report = gate(side(now), side(before), GateSettings(MARGIN, MARGIN), {"slice": groups})
        alone = [size.p <= 0.05 and size.high < 0 and size.difference < -MARGIN for size in report.decisions]
        blocked.append((report.verdict == BLOCK, any(alone)))
    return sum(size[0] for size in blocked) / pairs, sum(size[1] for size in blocked) / pairs


def power(pairs: int) -> Iterator[str]:
    """Yield the table of powers: a row a world, a size and a true difference."""
    yield "| world | questions | true difference | block | block, beyond-margin | ship |"
    yield "|---|--:|--:|--:|--:|--:|"
    for world in ("binary", "graded"):
        for questions in (50, 100, 200, 400):
            for difference in (0.0, -MARGIN / 2, -MARGIN, -2 * MARGIN, -3 * MARGIN):
                blocked, shipped = rates(world, questions, difference, pairs)
                strict, _ = rates(world, questions, difference, pairs, block="beyond-margin")
                numbers = f"{blocked:.1%} | {strict:.1%} | {shipped:.1%}"
                yield f"| {world} | {questions} | {difference:+.3f} | {numbers} |"


def skewed(pairs: int) -> Iterator[str]:
    """Yield the table of skewed worlds: a block is wrong, and with δ = −margin a ship."""
    yield "| world | questions | block at 0 | ship at −margin |"
    yield "|---|--:|--:|--:|"
    for number, (name, draw) in enumerate(NULLS.items()):
        for sign, world in ((1.0, name), (-1.0, f"{name}, turned")):
            for questions in (50, 200):
                rates_found = []
                for difference in (0.0, -MARGIN):
                    random = np.random.default_rng([number, questions, int(sign > 0)])
                    verdicts = []
                    for change in sign * draw(random, (pairs, questions)):
                        change = np.clip(change + difference, -1.0, 1.0)
                        before = np.where(change > 0, 0.0, 1.0)
                        verdicts.append(
                            gate(side(before + change), side(before), GateSettings(MARGIN)).verdict
                        )
                    rates_found.append(verdicts.count(SHIP if difference else BLOCK) / pairs)
                yield f"| {world} | {questions} | {rates_found[0]:.1%} | {rates_found[1]:.1%} |"


VERSIONS = 10


def anchored(pairs: int) -> Iterator[tuple[str, float]]:
    """Yield a row a size and a change: series of ten versions, of which none is blocked, and where they end.

    Of each version 6 % of the answers are others. What is not blocked passes, and is the next baseline.
    """
    settings = GateSettings(MARGIN, resamples=500)
    for questions in (100, 200, 400):
        for change in (0.0, -0.015):
            random = np.random.default_rng([questions, round(-1000 * change)])
            passed, falls, first = [0, 0], [], 0
            for _ in range(pairs):
                versions = [(random.random(questions) < 0.7).astype(float)]
                for _ in range(VERSIONS):
                    # A right answer is lost more often than a wrong one is mended, as the change says.
                    lost, won = (0.06 - change) / 2 / 0.7, (0.06 + change) / 2 / 0.3
                    flips = random.random(questions) < np.where(versions[-1] > 0, lost, won)
                    versions.append(np.where(flips, 1 - versions[-1], versions[-1]))
                verdicts_of_pairs = [
                    [
                        gate(side(now), side(before), settings, None, anchor).verdict
                        for before, now in itertools.pairwise(versions)
                    ]
                    for anchor in (None, side(versions[0]))
                ]
                first += verdicts_of_pairs[1][0] == BLOCK
                for index, verdicts in enumerate(verdicts_of_pairs):
                    passed[index] += BLOCK not in verdicts
                if BLOCK not in verdicts_of_pairs[0]:
                    falls.append(float((versions[-1] - versions[0]).mean()))
            alone, with_anchor, wrong = (count / pairs for count in (*passed, first))
            fell = f"{np.mean(falls):+.3f}" if falls else ""
            yield (
                f"| {questions} | {change:+.3f} | {alone:.1%} | {fell} | {with_anchor:.1%} | {wrong:.1%} |",
                wrong if change == 0 else 0.0,
            )


def main() -> int:
    """Print all tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=2000)
    parser.add_argument("--only", choices=("power", "skewed", "slices", "anchor"))
    options = parser.parse_args()
    bootstrap._times = lru_cache(64)(bootstrap._times)  # the same seed draws the same questions each time
    for name, table in (("power", power), ("skewed", skewed)):
        for line in table(options.pairs) if options.only in (None, name) else ():
            print(line, flush=True)
    if options.only in (None, "slices"):
        share, alone = slices_blocked(12, 40, options.pairs)
        print(f"12 slices of 40, equal systems: something blocks in {share:.1%}, without Holm {alone:.1%}")
    is_wrong = False
    if options.only in (None, "anchor"):
        print("| questions | change each | none blocked | what passed | with an anchor | first blocked |")
        print("|--:|--:|--:|--:|--:|--:|")
        for line, wrong in anchored(options.pairs):
            print(line, flush=True)
            is_wrong |= wrong > 0.065
    return int(is_wrong)


if __name__ == "__main__":
    sys.exit(main())
