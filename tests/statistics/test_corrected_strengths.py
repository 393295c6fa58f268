"""Strengths from corrected shares of wins: closed forms, a judge's leaning taken out, and coverage."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray

from rageval.errors import TooFewLabels
from rageval.statistics.correction import Corrected, corrected
from rageval.statistics.preferences import corrected_strengths

Pairs = dict[tuple[int, int], Corrected]


def played(rng: np.random.Generator, strength: NDArray[np.float64], queries: int, labels: int) -> Pairs:
    """Games in which a query's difficulty is shared, a judge who favours system 0, and people's labels."""
    draw = rng.logistic(size=queries)  # for all pairs: their errors hang together
    people = rng.permutation(queries)[:labels].tolist()
    found = {}
    for one, other in combinations(range(len(strength)), 2):
        edge = strength[one] - strength[other]
        chance = 1 / (1 + math.exp(-edge))
        own = rng.logistic(size=queries)
        better = np.where(rng.random(queries) < 0.5, draw, own) < math.log(chance / (1 - chance))
        truth = np.where(better, 0.5, -0.5)
        judge = np.where(rng.random(queries) < 0.2, -truth, truth)
        if one == 0:
            judge = np.where(rng.random(queries) < 0.4, 0.5, judge)
        found[one, other] = corrected(judge, {at: float(truth[at]) for at in people}, paired=True)
    return found


def test_two_systems_are_apart_by_the_log_odds() -> None:
    people = {at: 0.5 if at % 5 else -0.5 for at in range(200)}
    pair = corrected([0.0] * 200, people, paired=True)
    one, other = corrected_strengths({(0, 1): pair}, 2)
    assert one.strength - other.strength == pytest.approx(math.log(4))
    # the derivative of ln p/(1 − p) is 1/(p(1 − p)), and each system has half of the difference
    assert one.high - one.low == pytest.approx((pair.high - pair.low) / (0.8 * 0.2) / 2)
    assert (one.low, one.high) == pytest.approx((-other.high, -other.low))


def test_who_always_wins_has_finite_strength_and_a_wide_interval() -> None:
    pair = corrected([0.5] * 200, dict.fromkeys(range(50), 0.5), paired=True)
    one, other = corrected_strengths({(0, 1): pair}, 2)
    assert one.strength - other.strength == pytest.approx(math.log(99))  # .5 of 50 at most
    assert one.low < one.strength - 0.5


@pytest.mark.parametrize("number", [20, 50])
def test_a_share_of_n_labels_is_at_most_half_a_label_from_its_end(number: int) -> None:
    pair = corrected([0.5] * number, dict.fromkeys(range(number), 0.5), paired=True)
    one, other = corrected_strengths({(0, 1): pair}, 2)
    odds = (number - 0.5) / 0.5
    assert one.strength - other.strength == pytest.approx(math.log(odds), rel=1e-9)
    # The judge won as often, and has the same strength by the same model.
    assert (one.judged, other.judged) == pytest.approx((one.strength, other.strength), rel=1e-12)


def test_systems_without_labels_between_them_are_refused() -> None:
    pair = corrected([0.5] * 100, {at: 0.5 if at % 3 else -0.5 for at in range(30)}, paired=True)
    with pytest.raises(TooFewLabels, match="join 2 of 4 systems"):
        corrected_strengths({(0, 1): pair, (2, 3): pair}, 4)
    assert len(corrected_strengths({(0, 1): pair, (1, 2): pair, (2, 3): pair}, 4)) == 4


@pytest.mark.slow
def test_intervals_hold_the_strengths_whomever_the_judge_favours() -> None:
    rng, strength, times = np.random.default_rng(0), np.array([0.0, 0.4, -0.2, -0.2]), 300
    held = np.zeros(4)
    for _ in range(times):
        found = corrected_strengths(played(rng, strength, 400, 80), 4)
        held += [each.low <= s <= each.high for each, s in zip(found, strength.tolist(), strict=True)]
    assert (held / times).mean() == pytest.approx(0.95, abs=0.02)
    assert (held / times).min() > 0.91
