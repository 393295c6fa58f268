"""Strengths from corrected shares of wins, and what a place is worth: closed forms, oracles, coverage."""

from __future__ import annotations

import math
from itertools import combinations
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from numpy.typing import NDArray

from rageval.errors import TooFewLabels
from rageval.statistics.correction import Corrected, corrected
from rageval.statistics.preferences import (
    PairBias,
    bias_in_lists,
    bias_in_pairs,
    corrected_strengths,
)
from simulations import benchmark

ROOT = Path(__file__).parents[2]
Pairs = dict[tuple[int, int], Corrected]


def played(rng: np.random.Generator, strength: NDArray[np.float64], queries: int, labels: int) -> Pairs:
    """Games in which a query's difficulty is shared, a judge who favours system 0, and people's labels."""
    draw = rng.logistic(size=queries)  # for all pairs: their errors hang together
    people = rng.permutation(queries)[:labels].tolist()
    outcomes = {}
    for one, other in combinations(range(len(strength)), 2):
        edge = strength[one] - strength[other]
        chance = 1 / (1 + math.exp(-edge))
        own = rng.logistic(size=queries)
        better = np.where(rng.random(queries) < 0.5, draw, own) < math.log(chance / (1 - chance))
        truth = np.where(better, 0.5, -0.5)
        judge = np.where(rng.random(queries) < 0.2, -truth, truth)
        if one == 0:
            judge = np.where(rng.random(queries) < 0.4, 0.5, judge)
        outcomes[one, other] = corrected(judge, {pair: float(truth[pair]) for pair in people}, paired=True)
    return outcomes


def test_two_systems_are_apart_by_the_log_odds() -> None:
    people = {index: 0.5 if index % 5 else -0.5 for index in range(200)}
    pair = corrected([0.0] * 200, people, paired=True)
    one, other = corrected_strengths({(0, 1): pair}, 2)
    assert one.strength - other.strength == pytest.approx(math.log(4))
    # the derivative of ln p/(1 − p) is 1/(p(1 − p)), and each system has half of the difference
    assert one.high - one.low == pytest.approx((pair.high - pair.low) / (0.8 * 0.2) / 2)
    assert (one.low, one.high) == pytest.approx((-other.high, -other.low))


def test_who_always_wins_has_a_bound_and_others_keep_their_strengths() -> None:
    often = corrected([0.5] * 200, dict.fromkeys(range(50), 0.5), paired=True)
    even = corrected([0.0] * 200, {index: 0.5 if index % 3 else -0.5 for index in range(60)}, paired=True)
    alone = corrected_strengths({(0, 1): even}, 2)
    one, other, top = corrected_strengths({(0, 1): even, (2, 0): often, (2, 1): often}, 3)
    for estimate, before in ((one, alone[0]), (other, alone[1])):
        assert estimate.strength == before.strength
        assert estimate.low == pytest.approx(before.low, abs=0.01)  # Student's t of the fewest labels
    assert math.isnan(top.strength)
    assert math.isnan(top.high)
    assert top.low > one.strength + 1
    assert [estimate.tier for estimate in (one, other, top)] == [0, 0, 1]
    last = corrected_strengths({(0, 1): even, (0, 2): often}, 3)[2]
    assert last.high < other.strength


@pytest.mark.parametrize("turned", [False, True])
def test_a_bound_is_where_the_share_is_at_the_end_of_its_interval(turned: bool) -> None:
    number, sign = 50, -1 if turned else 1
    pair = corrected([sign * 0.5] * number, dict.fromkeys(range(number), sign * 0.5), paired=True)
    zero, bound = corrected_strengths({(0, 1): pair}, 2)
    least = 0.5 + min(abs(pair.low), abs(pair.high))
    assert 0.9 < least < 0.99  # the rule of three, and Student's t
    assert (zero.strength, bound.tier) == (0.0, -sign)
    end = bound.low if turned else bound.high
    assert end == pytest.approx(-sign * math.log(least / (1 - least)))


def test_systems_without_labels_between_them_are_refused() -> None:
    pair = corrected([0.5] * 100, {index: 0.5 if index % 3 else -0.5 for index in range(30)}, paired=True)
    with pytest.raises(TooFewLabels, match="connect 2 of 4 systems"):
        corrected_strengths({(0, 1): pair, (2, 3): pair}, 4)
    assert len(corrected_strengths({(0, 1): pair, (1, 2): pair, (2, 3): pair}, 4)) == 4


@pytest.mark.slow
def test_intervals_hold_the_strengths_whomever_the_judge_favours() -> None:
    rng, strength, times = np.random.default_rng(0), np.array([0.0, 0.4, -0.2, -0.2]), 300
    covered = np.zeros(4)
    for _ in range(times):
        fitted = corrected_strengths(played(rng, strength, 400, 80), 4)
        covered += [
            estimate.low <= s <= estimate.high for estimate, s in zip(fitted, strength.tolist(), strict=True)
        ]
    assert (covered / times).mean() == pytest.approx(0.95, abs=0.02)
    assert (covered / times).min() > 0.91


@pytest.fixture(name="worlds", scope="module")
def simulated_judges() -> ModuleType:
    """The simulation that the benchmark runs at full length."""
    return benchmark("positions")


def latin(number: int) -> np.ndarray:
    """[ranking, place] = answer: every answer at every place once."""
    return (np.arange(number)[:, None] + np.arange(number)) % number


class TestLists:
    def test_a_judge_that_gives_back_what_it_is_shown(self) -> None:
        order = np.stack([latin(5)] * 3)
        query = np.broadcast_to(np.arange(3)[:, None, None], order.shape)
        shown = np.broadcast_to(np.arange(1, 6), order.shape).ravel()
        bias = bias_in_lists(query.ravel(), (5 * query + order).ravel(), shown, shown.astype(float))
        assert bias is not None
        assert [place.lead for place in bias.places] == pytest.approx([2, 1, 0, -1, -2])
        assert [place.given for place in bias.places] == pytest.approx([1, 2, 3, 4, 5])
        assert bias.corrected == pytest.approx(np.full(len(shown), 3.0))
        assert [(place.place, place.times) for place in bias.places] == [(step, 15) for step in range(1, 6)]
        assert all(place.high - place.low > 1 for place in bias.places)  # 3 queries prove little

    def test_a_judge_that_looks_at_answers_alone(self) -> None:
        order = np.stack([latin(4)] * 2)
        query = np.broadcast_to(np.arange(2)[:, None, None], order.shape)
        shown = np.broadcast_to(np.arange(1, 5), order.shape)
        bias = bias_in_lists(query.ravel(), (4 * query + order).ravel(), shown.ravel(), order.ravel() + 1.0)
        assert bias is not None
        assert [place.lead for place in bias.places] == pytest.approx([0] * 4, abs=1e-12)
        assert bias.corrected == pytest.approx(order.ravel() + 1.0)

    def test_in_a_balanced_design_it_is_the_middle_less_the_mean_place_given(self) -> None:
        rng = np.random.default_rng(1)
        order = np.stack([latin(6)[rng.permutation(6)] for _ in range(8)])
        given = rng.permuted(np.broadcast_to(np.arange(1.0, 7.0), order.shape), axis=2).ravel()
        query = np.broadcast_to(np.arange(8)[:, None, None], order.shape)
        shown = np.broadcast_to(np.arange(1, 7), order.shape).ravel()
        bias = bias_in_lists(query.ravel(), (6 * query + order).ravel(), shown, given)
        assert bias is not None
        assert [place.lead for place in bias.places] == pytest.approx(
            [3.5 - given[shown == place].mean() for place in range(1, 7)]
        )

    @pytest.mark.parametrize("seed", range(5))
    def test_a_slow_oracle_with_a_column_an_answer_agrees(self, seed: int) -> None:
        """Lists of several lengths, orders drawn, anything given."""
        rng = np.random.default_rng(seed)
        rows = [
            (query, 10 * query + answer, place, float(rng.integers(1, 9)))
            for query in range(6)
            for _ in range(4)
            for place, answer in enumerate(rng.permutation(3 + query % 3), 1)
        ]
        query, answer, shown, given = map(np.array, zip(*rows, strict=True))
        design = np.hstack(
            [(answer[:, None] == np.unique(answer)).astype(float), shown[:, None] == np.arange(1, 6)]
        )
        fitted = np.linalg.lstsq(design, given, rcond=None)[0][-5:]
        fitted -= fitted @ np.bincount(shown - 1) / len(shown)
        bias = bias_in_lists(query, answer, shown, given)
        assert bias is not None
        assert [place.lead for place in bias.places] == pytest.approx((-fitted).tolist())
        assert bias.corrected == pytest.approx(given - fitted[shown - 1])

    def test_one_order_for_all_tells_nothing_of_places(self) -> None:
        shown = np.tile(np.arange(1, 4), 5)
        query = np.repeat(np.arange(5), 3)
        assert bias_in_lists(query, 3 * query + shown, shown, shown.astype(float)) is None

    def test_one_query_has_no_interval(self) -> None:
        shown = np.tile(np.arange(1, 4), 3)
        bias = bias_in_lists(np.zeros(9, int), latin(3).ravel(), shown, shown.astype(float))
        assert bias is not None
        assert all(np.isnan(place.low) and np.isnan(place.high) for place in bias.places)


class TestPairs:
    def test_shares_by_hand(self) -> None:
        """q0: the first always wins; q1: the better one does, once a tie; q2: asked in one order only."""
        rows = [(0, 0, 1, 1.0), (0, 1, 0, 1.0), (1, 0, 1, 1.0), (1, 1, 0, 0.5), (2, 0, 1, 1.0)]
        bias = bias_in_pairs(*(np.array(column) for column in zip(*rows, strict=True)))
        assert bias is not None
        assert (bias.pairs, bias.queries) == (2, 2)
        assert bias.first_wins == (2 + 1.5) / 4
        assert bias.consistent == 0.0

    def test_a_tie_that_stays_a_tie_is_kept(self) -> None:
        bias = bias_in_pairs(*map(np.array, ([0, 0], [0, 1], [1, 0], [0.5, 0.5])))
        assert bias is not None
        assert (bias.first_wins, bias.consistent) == (0.5, 1.0)

    def test_nothing_in_both_orders(self) -> None:
        assert bias_in_pairs(*map(np.array, ([0, 1], [0, 1], [1, 0], [1.0, 1.0]))) is None


@pytest.mark.slow
@pytest.mark.parametrize("is_balanced", [False, True])
@pytest.mark.parametrize("steps", [0.0, 0.5, 1.0, 5.0])
def test_intervals_hold_the_bias_of_simulated_judges(
    worlds: ModuleType, steps: float, is_balanced: bool
) -> None:
    """At every place, as often as they say; with 100 replays of dependent places the error is about .01."""
    bias = worlds.coverage_in_lists(6, 20, steps, is_balanced, 100, sees=3.0)
    assert bias.truth == pytest.approx({0: 0, 0.5: 0.417, 1: 0.833, 5: 2.5}[steps], abs=0.05)
    assert 0.92 <= bias.every <= 0.985


@pytest.mark.slow
def test_intervals_hold_the_share_of_simulated_judges(worlds: ModuleType) -> None:
    coverage, width = worlds.coverage_in_pairs(50, 0.05, 200)
    assert 0.91 <= coverage <= 0.99
    assert width < 0.12


@pytest.mark.slow
def test_a_balanced_design_makes_plain_means_twice_as_sharp_for_a_judge_that_sees_well(
    worlds: ModuleType,
) -> None:
    """Of the estimate, which allows for the answers, it makes little."""
    drawn, balanced = (
        worlds.coverage_in_lists(6, 20, 1.0, design, 100, sees=1.0) for design in (False, True)
    )
    assert drawn.plain > 1.7 * balanced.plain
    assert balanced.spread <= drawn.spread < 1.35 * balanced.spread


def test_a_query_whose_pair_was_shown_twice_counts_once() -> None:
    outcomes = np.random.default_rng(1).choice([0.0, 0.5, 1.0], (20, 2))

    def bias_of(times: int) -> PairBias | None:
        games = [
            (query, *pair, outcome)
            for query, (one, turned) in enumerate(outcomes.tolist())
            for other in range(1, times + 1)
            for pair, outcome in (((0, other), one), ((other, 0), turned))
        ]
        query, first, second, outcome = np.array(games).T
        return bias_in_pairs(query.astype(int), first.astype(int), second.astype(int), outcome)

    once, twice = bias_of(1), bias_of(2)
    assert once is not None
    assert once.low < once.first_wins == outcomes.mean() < once.high
    assert twice == once._replace(pairs=40)
