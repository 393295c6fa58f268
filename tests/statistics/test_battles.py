"""Few pairs of answers, drawn: balanced, joined, and those where ranks touch."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rageval.errors import UsageError
from rageval.statistics.battles import (
    Battle,
    BattleDraw,
    Pairing,
    draw_battles,
    number_of_battles,
    pairs_among,
    touching,
)
from rageval.statistics.strengths import GamesPlayed, groups_that_met

SYSTEMS, QUERIES = st.integers(2, 7), st.integers(1, 9)


def candidates_of(systems: int, queries: int) -> dict[str, list[Pairing]]:
    return {f"q{query}": pairs_among(map(str, range(systems))) for query in range(queries)}


@given(SYSTEMS, QUERIES, st.data())
def test_a_draw_is_balanced_joined_and_begins_every_longer_one(
    systems: int, queries: int, data: st.DataObject
) -> None:
    candidates = candidates_of(systems, queries)
    total = sum(map(len, candidates.values()))
    number, seed = data.draw(st.integers(1, total)), data.draw(st.integers(0, 3))
    battles = draw_battles(candidates, number, seed)
    assert len({(battle.query, battle.pair) for battle in battles}) == number
    assert draw_battles(candidates, total, seed)[:number] == battles
    shuffled = {query: candidates[query][::-1] for query in reversed(candidates)}
    assert draw_battles(shuffled, number, seed) == battles
    # Queries take turns, and so do systems, as far as there are pairs left.
    of_query = Counter(battle.query for battle in battles)
    assert max(of_query.values()) - min(of_query.get(query, 0) for query in candidates) <= 1
    first, second = (Counter(getattr(battle, side) for battle in battles) for side in ("first", "second"))
    played = [first[str(system)] + second[str(system)] for system in range(systems)]
    assert max(played) - min(played) <= 2
    assert all(abs(first[str(system)] - second[str(system)]) <= 2 for system in range(systems))
    numbers = np.array([[int(battle.first), int(battle.second)] for battle in battles])
    games = GamesPlayed(systems, *numbers.T, np.zeros(number), np.zeros(number, int))
    assert len(groups_that_met(games)) == max(1, systems - number)


def test_pairs_are_as_frequent_as_each_other() -> None:
    battles = draw_battles(candidates_of(8, 50), 140)
    times = Counter(battle.pair for battle in battles)
    assert len(times) == 28
    assert max(times.values()) - min(times.values()) <= 3


def test_queries_that_can_join_systems_come_first() -> None:
    """Three of ten queries have answers of both halves; five battles join six systems."""
    halves = {f"q{query}": pairs_among("abc" if query % 2 else "def") for query in range(7)}
    both = {f"x{query}": [("a", "d")] for query in range(3)}
    battles = draw_battles({**halves, **both}, 5)
    joined = {"a"}
    for _ in battles:
        joined |= {system for battle in battles if set(battle.pair) & joined for system in battle.pair}
    assert joined == set("abcdef")


def test_no_more_than_there_are() -> None:
    assert len(draw_battles(candidates_of(3, 2), 6)) == 6
    with pytest.raises(UsageError, match="7 pairs of answers to draw: expected at most 6"):
        draw_battles(candidates_of(3, 2), 7)
    judged = [Battle("q0", "0", "1"), Battle("elsewhere", "0", "1")]
    with pytest.raises(UsageError, match="expected at most 5"):
        draw_battles(candidates_of(3, 2), 6, judged=judged)


def test_pairs_that_touch_come_first_and_none_is_judged_twice() -> None:
    candidates, preferred = candidates_of(5, 10), {("0", "1"), ("1", "2")}
    judged = draw_battles(candidates, 30)
    battles = draw_battles(candidates, 30, 1, judged=judged, preferred=preferred)
    assert not {(battle.query, battle.pair) for battle in battles} & {
        (battle.query, battle.pair) for battle in judged
    }
    ahead = Counter(battle.first for battle in (*judged, *battles))
    ahead.subtract(battle.second for battle in (*judged, *battles))
    assert max(map(abs, ahead.values())) <= 2
    left = 20 - sum(battle.pair in preferred for battle in judged)
    assert [battle.pair in preferred for battle in battles] == [True] * left + [False] * (30 - left)
    assert touching({"0": (1, 2), "1": (2, 3), "2": (4, 4)}) == {("0", "1")}


@pytest.mark.parametrize(("share_or_number", "number"), [(0.001, 1), (0.1, 6), (0.999, 60), (1, 1), (7, 7)])
def test_a_share_below_one_or_a_number(share_or_number: float, number: int) -> None:
    assert number_of_battles(share_or_number, 60) == number


def test_half_a_battle_is_refused() -> None:
    with pytest.raises(UsageError, match=r"battles 2\.5: expected a share of all pairs, below 1, or a whole"):
        number_of_battles(2.5, 60)


def test_a_draw_says_its_seed_and_what_came_before() -> None:
    battles = (Battle("q", "a", "b"),)
    assert str(BattleDraw(battles, 10, 3)) == "1/10@3"
    assert str(BattleDraw(battles, 10, 3, "ab12")) == "1/10@3+ab12"
