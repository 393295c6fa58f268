"""In what orders a list of answers is shown: different ones, and all of them where there are few."""

from __future__ import annotations

import math
from itertools import permutations

import pytest

from rageval.judges.material import Material, _orders


@pytest.mark.parametrize("number", [1, 2, 3, 4, 5, 12])
@pytest.mark.parametrize("requested", [1, 6, 10, 24])
def test_orders_are_drawn_without_replacement(number: int, requested: int) -> None:
    given = Material((), {}, permutations=requested, seed=3)
    for query in map(str, range(20)):
        orders = [tuple(order) for order in _orders(number, given, query)]
        assert len(orders) == len(set(orders)) == min(requested, math.factorial(number))
        assert all(sorted(order) == list(range(number)) for order in orders)
        if math.factorial(number) <= requested:
            assert set(orders) == set(permutations(range(number)))
        assert orders == [tuple(order) for order in _orders(number, given, query)]


def test_another_query_has_other_orders() -> None:
    given = Material((), {}, permutations=10)
    assert len({tuple(map(tuple, _orders(5, given, str(query)))) for query in range(20)}) == 20
