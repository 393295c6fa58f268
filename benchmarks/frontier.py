"""How often `compare --against cost` is wrong about the frontier of quality and cost, where it is known.

    python benchmarks/frontier.py [DRAWS]

Systems have values of a kind and lognormal costs on 60 queries, each query for itself or in clusters of 5. In
one world a system is dominated by next to nothing, in one it costs twice as much for the same, and in one it
lies between two that are on the frontier. The aim is that at most 5 % of the claims are false, and 1.5 errors
of so many draws. Ends with 1 when it is missed.
"""

from __future__ import annotations

import sys
import warnings
from itertools import product
from statistics import NormalDist
from typing import Any

import numpy as np

import rageval
from rageval.comparison import FrontierStatus
from rageval.trajectories import read_trajectories

QUERIES, CLUSTER, DOCS = 60, 5, 10
ON, DOMINATED = FrontierStatus.ON, FrontierStatus.DOMINATED
# (quality, cost, where it stands, if that is looked at) of each system
WORLDS: dict[str, list[tuple[float, float, FrontierStatus | None]]] = {
    "by next to nothing": [(0.5, 1.0, DOMINATED), (0.501, 0.999, None)],
    "same for half": [(0.5, 1.0, DOMINATED), (0.5, 0.5, None)],
    "between two": [(0.5, 1.0, ON), (0.5, 1.3, DOMINATED), (0.7, 1.3, ON)],
}
QRELS = {f"q{query}": {f"d{doc}": 1 for doc in range(DOCS)} for query in range(QUERIES)}


def clustered(rng: np.random.Generator) -> Any:
    """Return one value a query, the same within a cluster."""
    return np.repeat(rng.normal(0, 1, QUERIES // CLUSTER), CLUSTER)


def compared(
    rng: np.random.Generator, kind: str, is_clustered: bool, world: str
) -> dict[str, FrontierStatus]:
    """Draw the systems of a world once, and return where they are said to stand."""
    shared = rng.normal(0, 1, QUERIES) + (clustered(rng) if is_clustered else 0)
    steps = []
    for number, (quality, price, _) in enumerate(WORLDS[world]):
        own = clustered(rng) if is_clustered else np.zeros(QUERIES)
        drawn, spread = shared + own + rng.normal(0, 1, QUERIES), (2 + 2 * is_clustered) ** 0.5
        if kind in ("binary", "rare"):
            share = quality / 4 if kind == "rare" else quality
            counts = np.where(drawn > NormalDist(0, spread).inv_cdf(1 - share), DOCS, 0)
        else:
            counts = np.clip(np.round(DOCS * (quality + 0.3 * drawn / spread)), 0, DOCS)
        costs = price * np.exp(rng.normal(0, 1.2 if kind == "skewed costs" else 0.4, QUERIES) + 0.4 * own)
        for query, (count, cost) in enumerate(zip(counts.tolist(), costs.tolist(), strict=True)):
            docs = [f"d{doc}" for doc in range(int(count))]
            step = {"query_id": f"q{query}", "run_id": f"s{number}", "kind": "search", "docs": docs}
            steps.append(step | {"cost": cost})
    clusters = {f"q{query}": str(query // CLUSTER) for query in range(QUERIES)} if is_clustered else None
    scores = rageval.evaluate("seen_recall, cost", read_trajectories(steps), QRELS)
    comparison = rageval.compare(scores, against="cost", resamples=200, draws=1000, clusters=clusters)
    return {point.run: point.status for point in comparison.frontier}


def main(draws: int) -> int:
    """Print a row a world: how often claims are false, and how often they are made."""
    warnings.simplefilter("ignore")  # systems that find nothing
    rng, is_missed = np.random.default_rng(55), False
    most = 0.05 + 1.5 * (0.05 * 0.95 / draws) ** 0.5
    print("| values | clusters | world | false: on | false: dominated | right: on | right: dominated |")
    print("|---|---|---|---|---|---|---|")
    for is_clustered, kind, world in product(
        (False, True), ("graded", "binary", "rare", "skewed costs"), WORLDS
    ):
        standing = {f"s{number}": where for number, (*_, where) in enumerate(WORLDS[world])}
        rates = dict.fromkeys(product((ON, DOMINATED), repeat=2), 0.0)  # (true, said)
        for _ in range(draws):
            statuses = compared(rng, kind, is_clustered, world)
            for true, claim in rates:
                rates[true, claim] += (
                    any(statuses.get(run) is claim for run, where in standing.items() if where is true)
                    / draws
                )
        false = rates[DOMINATED, ON], rates[ON, DOMINATED]
        is_missed |= max(false) > most
        shown = (*false, rates[ON, ON], rates[DOMINATED, DOMINATED])
        print(
            f"| {kind} | {'5' if is_clustered else '-'} | {world} |",
            *(f"{rate:.3f} |" for rate in shown),
            flush=True,
        )
    return int(is_missed)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 240))
