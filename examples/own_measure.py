"""A measure of one's own: how deep one must read until half of the nuggets are covered."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import rageval

DATA = Path(__file__).parent / "data"


@rageval.measure(better="lower")
def half_covered_rank(judged, *, k=None, rel: int = 1):
    """Rank at which half of a query's nuggets are covered; undefined (NaN) if they never are."""
    finds = judged.finds(k, rel)
    first = finds.seen == 0
    found_so_far = np.array(
        [(finds.query[:at][first[:at]] == finds.query[at]).sum() for at in range(len(first))]
    )
    needed = np.ceil(judged.qrels.nuggets_listed[finds.query] / 2)
    reached = first & (found_so_far + 1 == needed)
    depth = np.full(judged.n_queries, np.nan)
    depth[finds.query[reached]] = finds.rank[reached]
    return depth


def main() -> None:
    scores = rageval.evaluate([half_covered_rank, "coverage@5"], DATA / "run.trec", DATA / "qrels.nugget")
    for score in scores.values():
        print(f"{score.measure}: {score.value:.2f} over {score.queries} queries, {score.undefined} undefined")


if __name__ == "__main__":
    main()
