"""How well intervals and tests hold where queries are turns of conversations, where the truth is known.

    python benchmarks/conversations.py [DRAWS]

Two systems answer the turns of 20 to 110 conversations. What the latent qualities of both have in common, and
what each has of its own, is shared by the turns of a conversation to a correlation of .1 to .7. Conversations
have 1 to 25 turns, most of them few. Both systems are equally good, so that every claim of a difference is
false. The aim is that intervals of means and differences hold the truth in 93 % of the draws, and that 5.5 %
of the draws end in a claim, each within 1.5 errors of so many draws. The last column is of the same draws
where turns are taken as independent. Ends with 1 when an aim is missed.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from itertools import product
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import rageval
from rageval.comparison import Settings, compare
from rageval.scoring.scores import Scores

Float = NDArray[np.float64]
CUT = NormalDist().inv_cdf
WORLDS = ("graded", "binary", "rare", "CRAG")
CONVERSATIONS, CORRELATIONS = (20, 50, 110), (0.1, 0.4, 0.7)
COVERAGE, FALSE = 0.93, 0.055
TRUE = {"graded": 0.5, "binary": 0.6, "rare": 0.1, "CRAG": 0.2}


class Outcome(NamedTuple):
    """Whether intervals of a mean and of the difference hold the truth, and whether one is claimed."""

    mean: bool
    difference: bool
    claim: bool


def values_of(world: str, latent: Float) -> Float:
    """Return the values that a latent quality comes to."""
    if world == "graded":
        return np.array([NormalDist().cdf(value) for value in latent.tolist()])
    if world == "CRAG":
        return np.searchsorted(np.array([CUT(0.3), CUT(0.5)]), latent).astype(np.float64) - 1.0
    return (latent > CUT(1 - TRUE[world])).astype(np.float64)


def drawn(rng: np.random.Generator, world: str, number: int, correlation: float) -> tuple[Scores, Scores]:
    """Return the scores of two systems that are equally good, drawn once."""
    turns = np.minimum(1 + rng.geometric(0.18, number), 25)
    talk = np.repeat(np.arange(number), turns)

    def part() -> Float:
        shared, own = rng.normal(0, 1, number)[talk], rng.normal(0, 1, len(talk))
        quality: Float = correlation**0.5 * shared + (1 - correlation) ** 0.5 * own
        return quality

    common = part()
    queries = [f"q{query}" for query in range(len(talk))]
    conversations = {query: str(of) for query, of in zip(queries, talk.tolist(), strict=True)}
    one, other = (
        scores_of(name, values_of(world, (common + part()) / 2**0.5), queries, conversations) for name in "ab"
    )
    return one, other


def scores_of(name: str, values: Float, queries: list[str], conversations: Mapping[str, str]) -> Scores:
    """Return scores with these values, as if they had been judged."""
    changed: Any = {"query_ids": queries, "numbers": values.tolist(), "conversations": conversations}
    score = replace(TEMPLATE.scores[0], judged_by={}, said_by=("people",), **changed)
    return replace(TEMPLATE, run=name, scores=(score,))


JUDGED = [{"query_id": "q", "run_id": "r", "aspect": "score", "grade": 0.5, "judge": "human"}]
TEMPLATE = rageval.evaluate_answers("grade(low=-1)", JUDGED)["r"]


def outcome_of(world: str, both: tuple[Scores, Scores], clusters: Any) -> Outcome:
    """Compare two systems, and tell what holds."""
    settings = Settings(baseline="a", resamples=600, draws=1000, clusters=clusters)
    comparison = compare(both, settings)
    (pair,), cell = comparison.pairs, comparison.cells[0]
    mean = cell.low <= TRUE[world] <= cell.high
    return Outcome(mean, pair.low <= 0 <= pair.high, pair.is_significant)


def main(draws: int) -> int:
    """Print a row a world: how often intervals hold, and how often a difference is claimed."""
    rng, is_missed = np.random.default_rng(77), False
    print("| values | conversations | correlation | mean | difference | claims | claims without clusters |")
    print("|---|---|---|---|---|---|---|")
    slack = [1.5 * (share * (1 - share) / draws) ** 0.5 for share in (COVERAGE, FALSE)]
    for world, number, correlation in product(WORLDS, CONVERSATIONS, CORRELATIONS):
        both = [drawn(rng, world, number, correlation) for _ in range(draws)]
        together = np.array([outcome_of(world, one, None) for one in both], np.float64).mean(axis=0)
        claims = float(np.mean([outcome_of(world, one, "none").claim for one in both]))
        mean, difference, false = together.tolist()
        is_missed |= min(mean, difference) < COVERAGE - slack[0] or false > FALSE + slack[1]
        shares = " | ".join(f"{share:.3f}" for share in (mean, difference, false, claims))
        print(f"| {world} | {number} | {correlation} | {shares} |", flush=True)
    return int(is_missed)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 400))
