"""Define a measure: the rank at which half of the nuggets are covered."""

from __future__ import annotations

import math
from pathlib import Path

import rageval

DATA = Path(__file__).parent / "data"


@rageval.measure(better="lower")
def half_covered_rank(ranking: rageval.Ranking, *, k: int | None = None, rel: int = 1) -> float:
    """Rank at which half of a query's nuggets are covered; undefined (NaN) if they never are."""
    covered: set[int] = set()
    for hit in ranking.hits(k, rel):
        covered.update(hit.nuggets)
        if 2 * len(covered) >= ranking.nuggets():
            return hit.rank
    return math.nan


def main() -> None:
    scores = rageval.evaluate([half_covered_rank, "coverage@5"], DATA / "run.trec", DATA / "qrels.nugget")
    for score in scores.values():
        print(f"{score.measure}: {score.value:.2f} over {score.queries} queries, {score.undefined} undefined")


if __name__ == "__main__":
    main()
