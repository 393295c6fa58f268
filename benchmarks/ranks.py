"""How often intervals of ranks lack the rank, where it is known: ours, and quantiles of bootstrapped ranks.

    python benchmarks/ranks.py

Runs lie a gap apart; topics are hard or easy for all, and each run has luck of its own. The aim is that at
most 5 % of the intervals lack the rank of their run, however near runs are. Ends with 1 when it is missed.

A second table is of three runs that are equally good among nine that are far better or worse, where intervals
are made step by step; `equal` ones have values of a kind, some skewed (worlds.py). The aim holds there, too:
5 % and 1.5 errors of so many replays. A third is of tau_b between two leaderboards: how often its interval
lacks what tau_b is on average over samples of as many topics, and how often the plain quantiles of resamples
do. A fourth is of ranks that people's labels of some topics correct, from a judge that errs in 15 % of the
answers.
"""

from __future__ import annotations

import argparse
import sys
from itertools import combinations

import numpy as np

from rageval.comparison.leaderboards import _bootstrap_intervals
from rageval.statistics.correction import corrected
from rageval.statistics.rankings import corrected_rank_intervals, rank_intervals, tau_b
from rageval.statistics.samples import Sample
from worlds import NULLS

GAPS = (0.0001, 0.002, 0.01, 0.03)
AIM = 0.05
_Pair = tuple[np.ndarray, np.ndarray]


def drawn(generator: np.random.Generator, runs: int, topics: int, gap: float) -> Sample:
    """Return values of runs, the best one first."""
    hard = generator.normal(0, 0.2, (topics, 1))
    values = gap * np.arange(runs)[::-1] + hard + generator.normal(0, 0.1, (topics, runs))
    return Sample(tuple(map(str, range(topics))), values, np.arange(topics))


def quantiles(sample: Sample, resamples: int, seed: int) -> _Pair:
    """Return the middle 95 % of the ranks in resamples, as is often printed."""
    generator = np.random.default_rng(seed)
    number, runs = sample.values.shape
    ranks = np.empty((resamples, runs))
    for index in range(resamples):
        means = sample.values[generator.integers(0, number, number)].mean(axis=0)
        ranks[index] = 1 + (means[None] > means[:, None]).sum(axis=1)
    low, high = np.quantile(ranks, [0.025, 0.975], axis=0)
    return np.floor(low), np.ceil(high)


def lacking(pair: _Pair) -> tuple[float, float]:
    """Return the share of runs whose rank is not in its interval, and the mean width."""
    low, high = pair
    rank = np.arange(len(low)) + 1
    return float(((rank < low) | (high < rank)).mean()), float((high - low + 1).mean())


def measured(
    gap: float, runs: int, topics: int, replays: int, resamples: int
) -> dict[str, tuple[float, float]]:
    """Return, of both kinds, how often the rank is lacking and how wide the intervals are."""
    generator = np.random.default_rng(round(1e6 * gap) + topics)
    rates: dict[str, list[tuple[float, float]]] = {"rageval": [], "quantiles": []}
    for seed in range(replays):
        sample = drawn(generator, runs, topics, gap)
        rates["rageval"].append(lacking(rank_intervals(sample, resamples=resamples, seed=seed)))
        rates["quantiles"].append(lacking(quantiles(sample, resamples, seed)))
    return {kind: tuple(np.mean(of, axis=0).tolist()) for kind, of in rates.items()}


KINDS = {
    "normal": lambda rng, topics: rng.normal(0, 0.1, topics),
    "right .9": lambda rng, topics: (rng.random(topics) < 0.9).astype(float),
    "right .5": lambda rng, topics: (rng.random(topics) < 0.5).astype(float),
    **{name: lambda rng, topics, draw=draw: draw(rng, (topics, 1))[:, 0] for name, draw in NULLS.items()},
}


def lacking_equals(kind: str, topics: int, replays: int, resamples: int) -> float:
    """Return how often the interval of one of three equal runs lacks their ranks, 5 to 7 of 12."""
    generator = np.random.default_rng((topics, len(kind)))
    wrong = 0
    for seed in range(replays):
        values = np.linspace(-4, 4, 12) + generator.normal(0, 0.1, (topics, 12))
        for place in (5, 6, 7):
            values[:, place] = KINDS[kind](generator, topics)
        sample = Sample(tuple(map(str, range(topics))), values, np.arange(topics))
        low, high = rank_intervals(sample, resamples=resamples, seed=seed)
        wrong += int(((low > 5) | (high < 7))[5:8].sum())
    return wrong / replays / 3


def two(generator: np.random.Generator, runs: int, topics: int, gap: float) -> list[np.ndarray]:
    """Return the values of runs by the truth and by a judge."""
    truth = drawn(generator, runs, topics, gap).values
    return [truth, 0.5 * truth + generator.normal(0, 0.1, truth.shape)]


def tau_of(tables: list[np.ndarray]) -> float:
    """Return tau_b of the means."""
    return tau_b(*(table.mean(axis=0) for table in tables))


def lacking_tau(gap: float, runs: int, topics: int, replays: int) -> tuple[float, float, float]:
    """Return the average tau_b, and how often our interval lacks it, and the quantiles of resamples."""
    generator = np.random.default_rng(round(1e6 * gap) + topics)
    average = float(np.mean([tau_of(two(generator, runs, topics, gap)) for _ in range(1000)]))
    ours = theirs = 0
    for _ in range(replays):
        tables = two(generator, runs, topics, gap)
        low, high = _bootstrap_intervals(tables, {"tau_b": tau_b}, {"tau_b": tau_of(tables)}, [])["tau_b"]
        ours += not low <= average <= high
        picked = generator.integers(0, topics, (500, topics))
        taus = [tau_of([table[rows] for table in tables]) for rows in picked]
        low, high = np.quantile(taus, [0.025, 0.975])
        theirs += not low <= average <= high
    return average, ours / replays, theirs / replays


def lacking_labels(
    gap: float, runs: int, topics: int, labels: int, replays: int, resamples: int
) -> tuple[float, float]:
    """Return how often the interval of a corrected rank lacks it, and how wide these are."""
    generator = np.random.default_rng(round(1e6 * gap) + labels)
    pairs = []
    for seed in range(replays):
        hard = generator.normal(0, 0.2, (topics, 1))
        people = (generator.random((topics, runs)) < 0.5 + gap * np.arange(runs)[::-1] + hard).astype(float)
        judge = np.where(generator.random(people.shape) < 0.15, 1 - people, people)
        chosen = generator.choice(topics, labels, replace=False).tolist()
        differences = {}
        for one, other in combinations(range(runs), 2):
            theirs = people[:, one] - people[:, other]
            by_label = {index: float(theirs[index]) for index in chosen}
            differences[one, other] = corrected(judge[:, one] - judge[:, other], by_label, paired=True)
        low, high = corrected_rank_intervals(runs, differences, resamples=resamples, seed=seed)
        pairs.append(lacking((np.array(low), np.array(high))))
    share, width = np.mean(pairs, axis=0).tolist()
    return share, width


def main() -> int:
    """Print three tables, a row a gap and number of topics."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--replays", type=int, default=1000)
    parser.add_argument("--resamples", type=int, default=500)
    parser.add_argument("--runs", type=int, default=20)
    words = parser.parse_args()
    worst = 0.0
    print("| gap | topics | lacking: rageval | quantiles | width: rageval | quantiles |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: |")
    for topics in (25, 100):
        for gap in GAPS:
            rates = measured(gap, words.runs, topics, words.replays, words.resamples)
            ours, theirs = rates["rageval"], rates["quantiles"]
            worst = max(worst, ours[0])
            print(
                f"| {gap:g} | {topics} | {ours[0]:.3f} | {theirs[0]:.3f} | {ours[1]:.1f} | {theirs[1]:.1f} |"
            )
    print("\n| equal | topics | lacking |\n| :--- | ---: | ---: |")
    for kind in KINDS:
        for topics in (25, 100):
            share = lacking_equals(kind, topics, words.replays, words.resamples)
            worst = max(worst, share)
            print(f"| {kind} | {topics} | {share:.3f} |", flush=True)
    print("\n| gap | topics | tau_b | lacking: rageval | quantiles |")
    print("| ---: | ---: | ---: | ---: | ---: |")
    for topics in (25, 100):
        for gap in GAPS:
            average, ours_tau, theirs_tau = lacking_tau(gap, words.runs, topics, words.replays)
            print(f"| {gap:g} | {topics} | {average:.3f} | {ours_tau:.3f} | {theirs_tau:.3f} |")
    print("\n| gap | topics | labels | lacking | width |")
    print("| ---: | ---: | ---: | ---: | ---: |")
    for labels in (25, 60):
        for gap in GAPS:
            share, width = lacking_labels(gap, words.runs, 150, labels, words.replays, words.resamples)
            worst = max(worst, share)
            print(f"| {gap:g} | 150 | {labels} | {share:.3f} | {width:.1f} |")
    return 0 if worst <= AIM + 1.5 * (AIM * (1 - AIM) / words.replays) ** 0.5 else 1


if __name__ == "__main__":
    sys.exit(main())
