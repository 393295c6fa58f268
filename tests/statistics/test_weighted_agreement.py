"""Agreement on queries that were drawn with different chances is that on all of them."""

from __future__ import annotations

import random

import numpy as np
import pytest

from rageval.comparison.plans import _weighted_order
from rageval.statistics.agreement import agreement
from rageval.statistics.samples import in_proportion

NUMBER, LABELED = 300, 80


def world(seed: int) -> tuple[dict[str, float], np.ndarray, np.ndarray]:
    """Doubts, and grades of a judge and of people, who differ more where the judge is in doubt."""
    draw = random.Random(seed)
    doubts = {f"q{index:03}": draw.choice((0.05, 0.1, 0.5)) for index in range(NUMBER)}
    gold = np.array([float(draw.random() < 0.6) for _ in doubts])
    wrong = [draw.random() < (0.4 if doubt == 0.5 else 0.05) for doubt in doubts.values()]
    return doubts, np.where(wrong, 1 - gold, gold), gold


def drawn(doubts: dict[str, float], number: int, seed: int) -> tuple[list[int], dict[str, float]]:
    """The places of the first queries of an order by doubt, and how many queries each stands for."""
    names = list(doubts)
    chosen = _weighted_order(doubts, random.Random(seed))[:number]
    chances = dict(zip(names, in_proportion(list(doubts.values()), number), strict=True))
    return [names.index(name) for name in chosen], {name: 1 / chances[name] for name in chosen}


@pytest.mark.slow
def test_weighted_agreement_is_that_of_all_queries_on_average() -> None:
    doubts, one, other = world(1)
    names = list(doubts)
    whole = [coefficient.value for coefficient in agreement(one, other, names, resamples=2)]
    sums, alike, replays = np.zeros(3), np.zeros(3), 300
    for seed in range(replays):
        some, weights = drawn(doubts, LABELED, seed)
        how = one[some], other[some], [names[query] for query in some]
        sums += [coefficient.value for coefficient in agreement(*how, resamples=2, weights=weights)]
        alike += [coefficient.value for coefficient in agreement(*how, resamples=2)]
    assert sums[0] / replays == pytest.approx(whole[0], abs=0.01)
    # A ratio of few is a little off.
    assert sums / replays == pytest.approx(whole, abs=0.025)
    # By counts alone it is another number.
    assert (alike / replays)[0] < whole[0] - 0.06


def test_equal_weights_change_nothing_but_the_floor() -> None:
    doubts, one, other = world(2)
    names = list(doubts)
    plain = agreement(one, other, names)
    weighted = agreement(one, other, names, weights=dict.fromkeys(names, 3.0))
    for before, after in zip(plain, weighted, strict=True):
        assert after.value == pytest.approx(before.value)
        assert after.low == pytest.approx(before.low)
        assert after.high == pytest.approx(before.high)


@pytest.mark.nightly
def test_intervals_of_weighted_agreement_hold() -> None:
    covered, replays = np.zeros(3), 400
    truths = np.array([[coefficient.value for coefficient in agreement(one, other, list(doubts), resamples=2)]
                       for doubts, one, other in map(world, range(1000, 1060))]).mean(axis=0)  # fmt: skip
    for seed in range(replays):
        doubts, one, other = world(seed)
        names = list(doubts)
        some, weights = drawn(doubts, LABELED, seed)
        coefficients = agreement(
            one[some], other[some], [names[query] for query in some], resamples=400, weights=weights
        )
        covered += [
            coefficient.low <= truth <= coefficient.high
            for coefficient, truth in zip(coefficients, truths, strict=True)
        ]
    assert (covered / replays >= 0.92).all(), covered / replays
