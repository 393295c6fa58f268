"""Which runs are called the best: by their means, and on the queries that all of them have."""

from __future__ import annotations

import numpy as np
import pytest

from rageval.comparison.pairs import best_among
from rageval.measures.base import HIGHER, LOWER, NEITHER
from rageval.statistics.samples import Sample

GONE = float("nan")
A, B, C = [0.9, 0.8, 0.7, 0.6], [0.5, 0.5, 0.5, 0.5], [0.9, 0.8, 0.7, 0.6]


def best(better: str, *columns: list[float]) -> set[int]:
    values = np.array(columns).T
    sample = Sample(tuple(map(str, range(len(values)))), values, np.arange(len(values)))
    return set(best_among(better, sample, range(len(columns)))[0])


@pytest.mark.parametrize(
    ("better", "columns", "expected"),
    [
        (HIGHER, (A, B), {0}),
        (LOWER, (A, B), {1}),
        (NEITHER, (A, B), set()),
        (HIGHER, (A, B, C), {0, 2}),
        (HIGHER, (A, C), set()),  # if all are, none is
        (HIGHER, (A, [GONE, 0.5, 0.5, 0.5]), {0}),  # on the three that both have, too
        (LOWER, (A, [GONE, 0.5, 0.5, 0.5]), {1}),
        (HIGHER, ([1.0, 0.2, 0.2, 0.2], [GONE, 0.3, 0.3, 0.3]), set()),  # by the first query alone
        (HIGHER, ([0.9, 0.9, GONE, GONE], [GONE, 0.5, 0.5, 0.5]), set()),  # one of four is too few
        (HIGHER, ([0.9, GONE, GONE, GONE], B), set()),  # nor is the other one better on that query
        (HIGHER, ([GONE] * 4, B), {1}),  # a run without values is none to be compared with
    ],
)
def test_the_best_are_so_where_all_are_known(
    better: str, columns: tuple[list[float], ...], expected: set[int]
) -> None:
    assert best(better, *columns) == expected
