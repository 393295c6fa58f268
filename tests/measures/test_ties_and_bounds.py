"""What each measure of runs declares of equal scores and unjudged documents, by brute force on one case.

A measure that copies the `ties` or the `bounds` of another fails here. The random cases are in
`test_laws.py` and `test_uncertainty_bounds.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations, product

import pytest

import rageval
from our_measures import OF_RUNS
from rageval.measures.base import Measure
from rageval.scoring.scores import Score

pytestmark = pytest.mark.slow

Judged = dict[str, dict[str, int]]

# Nobody judged u and v, and nothing retrieved f.
ABOVE, TIED, BELOW = ["a"], ["b", "c", "d", "u"], ["e", "v"]
GRADES: Judged = {
    "1": {"a": 0, "b": 2, "c": 0, "d": 0, "e": 1, "f": 1},
    "2": {"a": 0, "b": 1, "c": 1, "d": 0, "e": 0, "f": 2},
    "3": {"a": 0, "b": 0, "c": 0, "d": 0, "e": 0, "f": 1},
}
CUTOFFS = (None, 2, 3)
SLACK = 1e-9
# Numerator and ideal change together: their ends are not reached, and none lies outside of them.
NOT_REACHED = ("alpha_ndcg", "nerr_ia", "nnrbp")
BOUNDED = [measure for measure in OF_RUNS.values() if measure.bounds]


def at_cutoffs(measure: Measure) -> list[Measure]:
    return [measure if k is None else measure @ k for k in CUTOFFS if measure.takes_k or k is None]


def in_order(docs: list[str]) -> dict[str, float]:
    return {doc: -float(rank) for rank, doc in enumerate(docs)}


def scored(measure: Measure, runs: list[dict[str, float]], judged: list[Judged], **options: object) -> Score:
    """Each run and its judgements are a query of their own, so that one pass scores all."""
    names = [str(number) for number in range(max(len(runs), len(judged)))]
    run = dict(zip(names, runs * (len(names) // len(runs)), strict=True))
    qrels = dict(zip(names, judged * (len(names) // len(judged)), strict=True))
    return rageval.evaluate(measure, run, qrels, **options)[measure]  # type: ignore[arg-type]


def completions() -> Iterator[Judged]:
    """Every way to judge u and v: which nuggets they support, all a little or all well."""
    for grade in (1, 2):
        for grades in product((0, grade), repeat=2 * len(GRADES)):
            supported = iter(grades)
            yield {n: judged | {"u": next(supported), "v": next(supported)} for n, judged in GRADES.items()}


@pytest.mark.parametrize("measure", OF_RUNS.values(), ids=str)
def test_ties_are_the_mean_over_all_orders(measure: Measure) -> None:
    tied = dict.fromkeys(ABOVE, 3.0) | dict.fromkeys(TIED, 2.0) | dict.fromkeys(BELOW, 1.0)
    orders = [
        in_order([*ABOVE, *middle, *last])
        for middle, last in product(permutations(TIED), permutations(BELOW))
    ]
    for at_cutoff in at_cutoffs(measure):
        values = scored(at_cutoff, orders, [GRADES]).values
        score = scored(at_cutoff, [tied], [GRADES], ties="expected")
        assert score.value == pytest.approx(sum(values) / len(values), abs=SLACK), (
            f"{at_cutoff}: `ties` does not give the mean over all orders; declare its own in measures/ties.py"
        )
        if score.bounds:
            assert score.bounds == pytest.approx((min(values), max(values)), abs=SLACK), (
                f"{at_cutoff}: `ties` does not find the best and the worst order;"
                " declare its own in measures/ties.py"
            )


@pytest.mark.parametrize("measure", BOUNDED, ids=str)
def test_bounds_hold_and_are_reached(measure: Measure) -> None:
    ways = list(completions())
    run = in_order(["a", "u", "b", "c", "v", "d", "e"])
    for at_cutoff in at_cutoffs(measure):
        values = scored(at_cutoff, [run], ways).values
        bounds = scored(at_cutoff, [run], [GRADES], bounds=True).bounds or (0.0, 0.0)
        low, high = float(min(values)), float(max(values))
        is_within = bounds[0] - SLACK <= low <= high <= bounds[1] + SLACK
        is_reached = measure.name in NOT_REACHED or bounds == pytest.approx((low, high), abs=SLACK)
        assert is_within, (
            f"{at_cutoff}: `bounds` does not hold for all ways to judge what nobody judged;"
            " declare its own in measures/bounds.py"
        )
        assert is_reached, (
            f"{at_cutoff}: `bounds` gives ends that no way to judge what nobody judged reaches;"
            " declare its own in measures/bounds.py, or add to NOT_REACHED of test_ties_and_bounds.py"
        )
