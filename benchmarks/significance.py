"""How often what is claimed is false, simulated where the truth is known.

    python benchmarks/significance.py [--replays 1000] [--only families|halves|verdicts|coverage]

Four tables, from fixed seeds: how often anything is claimed among runs none of which is better (family-wise
error; 5 % are allowed); of runs that are right or wrong, how often by p as printed (mid-p where queries tie)
and by all flips alone, one pair and 45 pairs by Holm, and how often a true difference is; how often a
verdict is false, in worlds of values, worst first; how often 95 % intervals hold the truth where events are
rare. Ends with 1 when an error is above .065 in one cell or .055 on
average (of `holm` and `max_t`), one of two values above .055 (of replays: .05 and 1.5 of its errors), or an
interval holds less than .90. With 1,000 replays the error of a figure is about .007. Takes half an hour.

Worlds: how hard a query is ~ U(0, 1); `alike`: every run adds N(0, .3²) to it; `8 + 2`: so do two runs and a
base, of which eight runs are copies with N(0, .02²). `differ d`: right or wrong, and a query is won by one of
two runs with a chance d, by each as often, or by the better one in .8 of these; `right r`: each run is right
with a chance of its own for the query, r on average; `CRAG`: of 1, ½, 0 and −1 (worlds.py).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from rageval.comparison.difference_tests import (
    fitting_test,
    intervals_of_differences,
    significance_alone,
    significance_of_pairs,
)
from rageval.comparison.results import Settings
from rageval.statistics.bootstrap import _resampled, intervals, ranges_of
from rageval.statistics.samples import Sample
from rageval.statistics.significance import holm, sign_flip
from timing import Row, markdown
from worlds import NULLS, binary, crag, rare, ratio, worth

Float = NDArray[np.float64]
Generator = np.random.Generator
WORLDS = ((0, 2), (0, 5), (0, 10), (0, 40), (8, 2), (9, 1), (38, 2))  # copies, others
QUERIES = (25, 100)


def reciprocal(rng: Generator, shape: tuple[int, int]) -> Float:
    """Differences of reciprocal ranks."""
    hardness = rng.random(shape)
    ranks = (1 + np.floor(rng.exponential(1.0, shape)) for _ in range(2))
    one, other = (np.where(rng.random(shape) < hardness, 1 / rank, 0.0) for rank in ranks)
    return one - other


def saturated(rng: Generator, shape: tuple[int, int]) -> Float:
    """Differences of values near 1, as of nDCG on easy queries: long tails on both sides."""
    ease = rng.normal(size=shape) + 2
    one, other = (np.round(np.minimum(1, 1 / (1 + np.exp(-ease - rng.normal(size=shape))) + 0.05), 2)
                  for _ in range(2))  # fmt: skip
    return one - other


# Differences whose mean is 0, and by how much they are shifted for the power.
DIFFERENCES: dict[str, tuple[Callable[[Generator, tuple[int, int]], Float], float]] = {
    "normal": (lambda rng, shape: rng.normal(0, 0.25, shape), 0.1),
    "levels (CRAG)": (lambda rng, shape: crag(rng, shape, 0.0, "good").people, 0.2),
    "right or wrong, common": (lambda rng, shape: binary(rng, shape, 0.0, "good").people, 0.0),
    "right or wrong, rare": (lambda rng, shape: rare(rng, shape, 0.0, "good").people, 0.0),
    "four nuggets": (lambda rng, shape: ratio(rng, shape, 0.0, "good").people, 0.1),
    "reciprocal ranks": (reciprocal, 0.1),
    "saturated": (saturated, 0.03),
    "zero-inflated": (
        lambda rng, shape: np.where(rng.random(shape) < 0.2, rng.normal(0, 0.3, shape), 0),
        0.05,
    ),
    "lognormal": (NULLS["lognormal"], 0.1),
    "two lognormals": (
        lambda rng, shape: (np.exp(rng.normal(size=shape)) - np.exp(rng.normal(size=shape))) / 8,
        0.15,
    ),
    "rare wins": (
        lambda rng, shape: (
            (u := rng.random(shape)) * 0 + np.where(u < 0.02, 1.0, np.where(u < 0.22, -0.1, 0))
        ),
        0.0,
    ),
    "a tenth gains": (
        lambda rng, shape: np.where(rng.random(shape) < 0.1, 0.9, 0) - 0.09 + rng.normal(0, 0.05, shape),
        0.1,
    ),
    "a tenth, two values": (NULLS["tenth"], 0.0),
}
RARE = ((10, 0.05), (25, 0.05), (50, 0.05), (200, 0.05), (25, 0.01), (25, 0.2))
LABELS = (30, 50, 100, 200)
MOST, ON_AVERAGE, LEAST = 0.065, 0.055, 0.90
DRAWS = 999


def world(rng: Generator, queries: int, copies: int, others: int) -> Float:
    """Values a query (rows) and run (columns), no run better than another."""
    hardness = rng.random((queries, 1))
    base = hardness + rng.normal(0, 0.3, (queries, 1))
    near = base + rng.normal(0, 0.02, (queries, copies))
    return np.hstack((near, hardness + rng.normal(0, 0.3, (queries, others))))


def errors(draw: Callable[[Generator], Float], seed: Sequence[int], replays: int) -> dict[str, float]:
    """How often each adjustment lets something be claimed of runs none of which is better."""
    rng, alarms = np.random.default_rng(seed), dict.fromkeys(("holm", "max_t"), 0)
    settings = Settings(draws=DRAWS, resamples=DRAWS)
    for _ in range(replays):
        sample = column(draw(rng))
        pairs = np.array(list(combinations(range(sample.values.shape[1]), 2)))
        test = fitting_test(sample, settings)
        alone, among_all, _ = significance_of_pairs(test, sample, pairs, settings, has_family=True)
        assert among_all is not None
        alarms["holm"] += bool((holm(alone.p) <= 0.05).any())
        alarms["max_t"] += bool((np.maximum(among_all.p, alone.p) <= 0.05).any())
    return {name: count / replays for name, count in alarms.items()}


def family_wise(replays: int) -> Iterator[Row]:
    for queries in QUERIES:
        for copies, others in WORLDS:
            name, runs = f"{copies} + {others}" if copies else "alike", copies + others
            of_world = partial(world, queries=queries, copies=copies, others=others)
            yield name, str(runs), str(queries), *alarms(of_world, (queries, copies, others), replays)
        for name, of_values in VALUES.items():
            drawn = partial(of_values, queries=queries, runs=8)
            yield name, "8", str(queries), *alarms(drawn, (queries, len(name)), replays)


def alarms(draw: Callable[[Generator], Float], seed: Sequence[int], replays: int) -> Iterator[str]:
    rates = errors(draw, seed, replays)
    print(f"{seed} is done", file=sys.stderr)
    return (f"{rates[way]:.3f}" for way in ("holm", "max_t"))


def right(rng: Generator, queries: int, runs: int, share: float) -> Float:
    """Right or wrong; some queries are hard for all."""
    chance = rng.beta(2 * share, 2 * (1 - share), (queries, 1))
    return (rng.random((queries, runs)) < chance).astype(float)


def levels(rng: Generator, queries: int, runs: int) -> Float:
    return worth((rng.normal(size=(queries, 1)) + rng.normal(size=(queries, runs))) / 2**0.5)


def skewed(rng: Generator, queries: int, runs: int) -> Float:
    """What each run has beside the others is lognormal, of the same mean."""
    return rng.random((queries, 1)) + np.exp(rng.normal(size=(queries, runs))) / 8


VALUES: dict[str, Callable[..., Float]] = {
    "right .5": partial(right, share=0.5),
    "right .95": partial(right, share=0.95),
    "CRAG": levels,
    "lognormal": skewed,
}


def halves(replays: int) -> Iterator[Row]:
    """Runs of few values: claims without a difference, by all flips alone and as printed; and with one.

    Where queries differ by a known chance, added up over all outcomes instead of replayed.
    """
    for queries in (10, 17, 25, 50, 100):
        wins, losses = (
            counts.ravel() for counts in np.meshgrid(np.arange(queries + 1), np.arange(queries + 1))
        )
        kept = (wins >= losses) & (wins + losses <= queries)
        wins, losses = wins[kept], losses[kept]
        places = np.arange(queries)[:, None]
        values = np.where(places < wins, 1.0, np.where(places < wins + losses, -1.0, 0.0))
        small = [p <= 0.05 for p in p_of(values)]
        for share in (0.05, 0.1, 0.2, 0.4, 0.7, 0.95, 1.0):
            differ = binom.pmf(wins + losses, queries, share)
            cells = []
            for won in (0.5, 0.8):
                # Either run may be the one that wins more.
                ways = binom.pmf(wins, wins + losses, won) + (wins > losses) * binom.pmf(
                    losses, wins + losses, won
                )
                cells += [f"{(differ * ways)[counts].sum():.3f}" for counts in small]
            yield f"differ {share:g}", str(queries), *cells[:2], "", *cells[2:]
    for right in (0.5, 0.9):
        for queries in (25, 100):
            rng, pairs = (
                np.random.default_rng((queries, int(10 * right))),
                np.array(list(combinations(range(10), 2))),
            )
            wrong = 0
            for _ in range(replays):
                # Beta of mean r: some queries are hard for all.
                chance = rng.beta(2 * right, 2 * (1 - right), (queries, 1))
                values = (rng.random((queries, 10)) < chance).astype(float)
                wrong += bool((holm(sign_flip(values, pairs, DRAWS).p) <= 0.05).any())
            chance = rng.beta(2 * right, 2 * (1 - right), (queries, replays))
            one, other = (rng.random(chance.shape) < chance for _ in range(2))
            yield (
                f"right {right:g}",
                str(queries),
                *called(one * 1.0 - other),
                f"{wrong / replays:.3f}",
                "",
                "",
            )
    for queries in (10, 25, 50, 100):
        rng = np.random.default_rng(queries)
        null, true = (called(crag(rng, (queries, replays), delta, "good").people) for delta in (0.0, 0.4))
        yield "CRAG", str(queries), *null, "", *true


def p_of(values: Float) -> tuple[Float, Float]:
    """P of each column of differences: by all flips alone, and as printed."""
    columns, pairs = np.column_stack((values, np.zeros(len(values)))), np.arange(values.shape[1])
    both = np.stack((pairs, np.full(len(pairs), len(pairs))), axis=1)
    alone = sign_flip(columns, both, DRAWS, units=(values != 0).sum(axis=0))  # so none of them ties
    return alone.p, sign_flip(columns, both, DRAWS).p


def called(values: Float) -> list[str]:
    """How often the differences of a column are called some."""
    return [f"{(p <= 0.05).mean():.3f}" for p in p_of(values)]


VERDICT_DRAWS = 999


def verdicts(replays: int) -> Iterator[Row]:
    """How often a verdict is false where the mean difference is 0, how often intervals hold it, and power.

    Worst world first; as printed: by the test that fits the values, and none where the interval holds 0.
    """
    settings = Settings(draws=VERDICT_DRAWS, resamples=2000)
    rows = []
    for name, (draw, shift) in DIFFERENCES.items():
        for queries in (10, 20, 50, 200):
            rng = np.random.default_rng(queries)
            values = draw(rng, (queries, replays))
            false, coverage_of_zero = verdict_of(values, settings)
            # Where two systems are equal they stay that: the others shift.
            moved = np.where(values == 0, 0.0, values + shift / max((values != 0).mean(), 0.01))
            true, _ = verdict_of(moved, settings)
            row = (
                name,
                str(queries),
                f"{false:.3f}",
                f"{coverage_of_zero:.3f}",
                f"{true:.3f}" if shift else "",
            )
            rows.append((false, row))
    yield from (row for _, row in sorted(rows, key=lambda row: -row[0]))


def verdict_of(values: Float, settings: Settings) -> tuple[float, float]:
    """Return the shares of columns of differences with a verdict, and with 0 in the interval."""
    queries, replays = values.shape
    sample = column(np.column_stack((values, np.zeros(queries))))
    pairs = np.stack((np.arange(replays), np.full(replays, replays)), axis=1)
    p = significance_alone(fitting_test(sample, settings), sample, pairs, settings).p
    low, high = intervals_of_differences(sample, pairs, None, settings)
    holds_zero = (low <= 0) & (high >= 0)
    return float(((p <= 0.05) & ~holds_zero).mean()), float((holds_zero | (p > 0.05)).mean())


def column(values: Float) -> Sample:
    return Sample(tuple(map(str, range(len(values)))), values, np.arange(len(values)))


def coverage_text(low: Float, high: Float, truth: float) -> str:
    return f"{((low <= truth) & (truth <= high)).mean():.3f}"


def coverage(replays: int) -> Iterator[Row]:
    """Shares of rare events, and differences that are seldom not 0.

    `flips inverted` would hold every mean that flipped signs do not tell from the values'.
    """
    draws: dict[str, Callable[[Generator, tuple[int, int]], Float]] = {
        "0 or 1": lambda rng, shape: np.ones(shape),
        "-1, 0 or 1": lambda rng, shape: np.where(rng.random(shape) < 0.85, 1.0, -1.0),
        "0 or U(-.5, 1)": lambda rng, shape: rng.uniform(-0.5, 1, shape),
    }
    for name, draw in draws.items():
        for queries, share in RARE:
            rng = np.random.default_rng((queries, int(1000 * share)))
            shape = queries, replays
            values = np.where(rng.random(shape) < share, draw(rng, shape), 0.0)
            truth = share * {"0 or 1": 1, "-1, 0 or 1": 0.7}.get(name, 0.25)
            alone = coverage_text(*_resampled(column(values), 0.95, 2000, 1), truth)
            # Differences have another scale than shares, and no Wilson's interval.
            scale = None if name == "0 or 1" else ranges_of(values, (-1.0, 1.0))
            printed = coverage_text(*intervals(column(values), seed=1, scale=scale), truth)
            _, inverted = called(values - truth)
            yield name, str(queries), f"{share:g}", alone, printed, f"{1 - float(inverted):.3f}"


def main() -> int:
    parser = argparse.ArgumentParser(description="Simulate claims whose truth is known.")
    parser.add_argument("--replays", type=int, default=1000)
    parser.add_argument("--only", choices=("families", "halves", "verdicts", "coverage"))
    options = parser.parse_args()
    replays, is_wrong = options.replays, False

    def rows_of(name: str, table: Callable[[int], Iterator[Row]], columns: tuple[str, ...]) -> list[Row]:
        rows = list(table(replays)) if options.only in (None, name) else []
        if rows:
            print(markdown(columns, rows), "", sep="\n")
        return rows

    rows = rows_of("families", family_wise, ("world", "runs", "queries", "holm", "max_t"))
    claimed = [float(cell) for row in rows for cell in row[3:]]
    is_wrong |= bool(claimed) and (max(claimed) > MOST or np.mean(claimed) > ON_AVERAGE)
    columns = ("two values", "queries", "flips alone", "as printed", "45 pairs", "power: flips", "as printed")
    rows = rows_of("halves", halves, columns)
    for row in rows:  # what is added up has no error but that of the draws
        most = 0.055 if row[0].startswith("differ") else 0.05 + 1.5 * (0.05 * 0.95 / replays) ** 0.5
        is_wrong |= any(float(cell) > most for cell in row[3:5] if cell)
    rows_of("verdicts", verdicts, ("differences", "queries", "false verdicts", "coverage", "power"))
    rows = rows_of(
        "coverage", coverage, ("values", "queries", "share", "BCa alone", "as printed", "flips inverted")
    )
    print(f"{replays:,} replays a cell.")
    return int(is_wrong or any(float(row[4]) < LEAST for row in rows))


if __name__ == "__main__":
    sys.exit(main())
