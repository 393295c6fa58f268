"""How often intervals of strengths and of ranks in the arena hold the truth, of few battles and of many.

    python benchmarks/battles.py [--replays 1000] [--workers 2] [--quick]

Systems have strengths from −1 to 1 at equal distances (or the middle half of them at 0: ranks that touch), or
one that wins nearly always (strength 4). A game is won with the share of the model: of `half`, a tie stands
for half of a win and half of a loss, of `davidson` ties have ν = .7. Whoever is shown first has a lead of so
many log odds. With chance ρ a system has the same luck in all games of a query (Gumbel, so that shares stay
logistic): games of a query are alike, and intervals over games would be too narrow.

Designs: all pairs in both orders; all pairs, once, in a fixed order (the weaker first); a share of all pairs,
drawn by `draw_battles`; the same share, but always in the fixed order; and half of that share, and as many
again where ranks touch.

Columns: how often an interval of a strength holds the truth, in the mean of the systems and of the system
where it does so least; the interval of a rank; and how many systems have a bound only. Nominal are 95 %. Ends
with 1 if a mean is below .93, or a system below .91, by more than two errors of so many replays.
"""

from __future__ import annotations

import argparse
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from typing import NamedTuple

import numpy as np

from rageval.statistics.battles import Battle, draw_battles, pairs_among, touching
from rageval.statistics.strengths import GamesPlayed, Ties, _share_of_first, strengths_of
from timing import Row, markdown
from worlds import Float, Generator

LEAST, LEAST_OF_ONE, DESIGNS = 0.93, 0.91, 10
NU = 0.7


class World(NamedTuple):
    """What is played, by whom, in which design."""

    systems: int
    queries: int
    design: str
    share: float
    lead: float
    ties: Ties = "half"
    tied: float = 0.4  # of half: so much of what could be a tie is one
    luck: float = 0.5
    strengths: str = "spread"


def truth(world: World) -> Float:
    """The strengths; of one far ahead, those of the others have mean 0."""
    number = world.systems
    if world.strengths == "touching":
        spread = np.zeros(number)
        quarter = number // 4
        spread[:quarter], spread[-quarter:] = -1.0, 1.0
        return spread
    if world.strengths == "ahead":
        return np.append(np.linspace(-1.0, 1.0, number - 1), 4.0)
    return np.linspace(-1.0, 1.0, number)


@cache
def design(world: World, number: int) -> tuple[Battle, ...]:
    """The battles of a world; of drawn ones the draw of this number."""
    names = [f"{index:02}" for index in range(world.systems)]
    candidates = {f"{query:03}": pairs_among(names) for query in range(world.queries)}
    pairs = [Battle(query, *pair) for query, some in candidates.items() for pair in some]
    if world.design == "both orders":
        return (*pairs, *(Battle(query, second, first) for query, first, second in pairs))
    if world.share == 1:
        return tuple(pairs)
    share = world.share / 2 if world.design == "touching" else world.share
    drawn = draw_battles(candidates, round(share * len(pairs)), number)
    if world.design == "fixed order":
        return tuple(Battle(battle.query, *battle.pair) for battle in drawn)
    return tuple(drawn)


def luck_of(rng: Generator, world: World) -> tuple[Float, Float]:
    """A system's luck in all games of a query, and which queries and systems have it."""
    shape = world.queries, world.systems
    return rng.gumbel(size=shape), (rng.random(shape) < world.luck).astype(float)


def outcomes(rng: Generator, world: World, games: GamesPlayed, luck: tuple[Float, Float]) -> Float:
    """What the first one got in each game."""
    strength, number = truth(world), len(games.first)
    sides = []
    for side in (games.first, games.second):
        own = rng.gumbel(size=number)
        sides.append(np.where(luck[1][games.cluster, side] > 0, luck[0][games.cluster, side], own))
    drawn = 1 / (1 + np.exp(sides[0] - sides[1]))  # even on 0 … 1, and low for a first one in luck
    difference = strength[games.first] - strength[games.second]
    if world.ties == "davidson":
        one, other = np.exp(difference + world.lead), np.ones(number)
        even = NU * np.sqrt(one)
        win, tie = one / (one + other + even), even / (one + other + even)
    else:
        share, _, _ = _share_of_first(difference, world.lead)
        tie = 2 * world.tied * np.minimum(share, 1 - share)
        win = share - tie / 2
    return np.where(drawn < win, 1.0, np.where(drawn < win + tie, 0.5, 0.0))


@cache
def games_of(world: World, battles: tuple[Battle, ...]) -> GamesPlayed:
    numbers = np.array([tuple(map(int, battle)) for battle in battles])
    query, first, second = numbers.T
    return GamesPlayed(world.systems, first, second, np.empty(len(query)), query, in_order=True)


def replay(rng: Generator, world: World, number: int) -> tuple[Float, Float, Float]:
    """Whether the interval of each strength and of each rank holds, and whether it is a bound."""
    battles = design(world, number % DESIGNS)  # and the games of each, which are kept
    luck = luck_of(rng, world)
    games = games_of(world, battles)
    games = games._replace(outcome=outcomes(rng, world, games, luck))
    if world.design == "touching":
        table = strengths_of(games, world.ties)
        names = [f"{index:02}" for index in range(world.systems)]
        ranks = dict(
            zip(names, zip(table.rank_low.tolist(), table.rank_high.tolist(), strict=True), strict=True)
        )
        candidates = {f"{query:03}": pairs_among(names) for query in range(world.queries)}
        more = draw_battles(candidates, len(battles), number, judged=battles, preferred=touching(ranks))
        added = games_of.__wrapped__(world, tuple(more))
        added = added._replace(outcome=outcomes(rng, world, added, luck))
        columns = (np.concatenate(both) for both in zip(games[1:5], added[1:5], strict=True))
        games = GamesPlayed(world.systems, *columns, in_order=True)
    table = strengths_of(games, world.ties)
    right = truth(world)
    is_bound = table.tier != 0
    # Strengths are of one scale whose zero is the mean of those that have one.
    shifted = right - right[~is_bound].mean()
    low, high = np.nan_to_num(table.low, nan=-np.inf), np.nan_to_num(table.high, nan=np.inf)
    better, worse = ((sign * right[None] > sign * right[:, None]).sum(axis=1) for sign in (1, -1))
    # Equal systems have every rank between them.
    ranks = (table.rank_low <= 1 + better) & (table.rank_high >= world.systems - worse)
    return (low <= shifted) & (shifted <= high), ranks, is_bound


def measured(replays: int, world: World) -> tuple[World, Row, float, float]:
    rng = np.random.default_rng([replays, *map(ord, repr(world))])
    strengths, ranks, bounds = (
        np.mean(part, axis=0)
        for part in zip(*(replay(rng, world, number) for number in range(replays)), strict=True)
    )
    shown = (world.ties, world.strengths, str(world.systems), str(world.queries), world.design,
             f"{100 * world.share:g} %", f"{world.lead:g}", f"{world.luck:g}", f"{world.tied:g}")  # fmt: skip
    mean, least = float(strengths.mean()), float(strengths.min())
    figures = (
        f"{mean:.3f}",
        f"{least:.3f}",
        f"{ranks.mean():.3f}",
        f"{ranks.min():.3f}",
        f"{bounds.mean():.3f}",
    )
    return world, (*shown, *figures), mean, least


def worlds(quick: bool = False) -> list[World]:
    cells = []
    for systems in (8, 20):
        for lead in (0.0, 1.0):
            if systems == 8 or lead:
                cells.append(World(systems, 50, "both orders", 1, lead))
            for share in (0.1, 0.3, 1.0):
                cells.append(World(systems, 50, "drawn", share, lead))
        for share in (0.1, 0.3, 1.0):
            cells.append(World(systems, 50, "fixed order", share, 1.0))
        cells.append(World(systems, 50, "touching", 0.2, 1.0, strengths="touching"))
        cells.append(World(systems, 50, "drawn", 0.2, 1.0, strengths="touching"))
        cells.append(World(systems, 50, "drawn", 0.1, 1.0, strengths="ahead"))
        cells.append(World(systems, 50, "drawn", 0.3, 1.0, strengths="ahead"))
        cells.append(World(systems, 50, "drawn", 0.3, 1.0, luck=1.0))
        cells.append(World(systems, 50, "drawn", 0.3, 1.0, tied=0.0))
        cells.append(World(systems, 50, "drawn", 0.03, 1.0))
        for design_name, share in (("both orders", 1), ("drawn", 0.1), ("drawn", 0.3), ("fixed order", 0.3)):
            cells.append(World(systems, 50, design_name, share, 1.0, "davidson"))
    cells += [World(8, 20, "drawn", 0.3, 1.0), World(8, 20, "both orders", 1, 1.0)]
    return cells[::4] if quick else cells


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--replays", type=int, default=1000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--quick", action="store_true", help="every fourth world")
    given = parser.parse_args()
    rows, failed = [], []
    noise = 2 * (LEAST * (1 - LEAST) / given.replays) ** 0.5
    with ProcessPoolExecutor(given.workers) as pool:
        for world, row, mean, least in pool.map(partial(measured, given.replays), worlds(given.quick)):
            print(*row, file=sys.stderr, flush=True)
            rows.append(row)
            if mean < LEAST - noise or least < LEAST_OF_ONE - noise:
                failed.append(world)
    header = ("ties", "strengths", "systems", "queries", "design", "pairs", "lead", "luck", "tied",
              "strength", "least", "rank", "least", "bounds")  # fmt: skip
    print(markdown(header, rows))
    for world in failed:
        print("misses:", world)
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
