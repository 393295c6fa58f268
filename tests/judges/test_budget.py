"""Limits and prices: never overspent, and what has no price does not look free."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rageval.errors import BudgetReached, InputError, UsageError
from rageval.judges.base import Request, Usage
from rageval.judges.budget import Budget, _prices, _upper_cost, _upper_usage, cost, estimate

MODEL = "openai:gpt-4o-mini"
REQUEST = Request("Judge.", "Is it so?", {"type": "object"}, max_tokens=100)
ONE = _upper_cost(REQUEST, MODEL) or 0.0


@given(st.integers(0, 40), st.lists(st.floats(0, 1), max_size=60), st.sampled_from([1.0, 0.5]))
def test_no_order_of_calls_exceeds_the_limit(fit: int, used: list[float], share: float) -> None:
    """Each call costs some part of its estimate; those under way are settled when no other one fits."""
    budget = Budget(max_cost=fit * ONE * share * (1 + 1e-9))
    under_way = []
    calls = 0
    for part in used:
        try:
            while (reservation := budget.reserve(REQUEST, MODEL, share)) is None:
                oldest, settled = under_way.pop(0)
                budget.settle(oldest, Usage(output=math.floor(settled * 100)), MODEL)
        except BudgetReached:
            break
        under_way.append((reservation, part))
        calls += 1
        assert budget.spent + len(under_way) * ONE * share <= fit * ONE * share * (1 + 1e-6)
    assert calls >= min(fit, len(used))
    assert budget.calls == calls


def test_what_nobody_knows_costs_its_estimate_and_what_has_no_price_is_counted() -> None:
    budget = Budget()
    for usage in (None, Usage(), Usage(input=10, output=10)):
        reservation = budget.reserve(REQUEST, MODEL)
        assert reservation is not None
        budget.settle(reservation, usage, MODEL)
    assert budget.spent == pytest.approx(ONE + (cost(Usage(10, 10), MODEL) or 0))
    assert budget.unpriced == 0
    assert budget.pay(Usage(1), "unheard:of") is None
    assert (budget.unpriced, cost(Usage(1), "unheard:of"), cost(Usage(1), "scripted")) == (1, None, 0.0)
    with pytest.raises(UsageError, match=r"no price is known for 'unheard:of'.*RAGEVAL_PRICES"):
        Budget(max_cost=1.0).check_prices("unheard:of")


@pytest.mark.parametrize("limit", [-1.0, math.nan, math.inf])
def test_limits_that_are_none(limit: float) -> None:
    with pytest.raises(UsageError, match="expected a number that is not negative"):
        Budget(max_cost=limit)


@pytest.mark.parametrize(
    "text", ["plain English words " * 50, "1234567890" * 50, "日本語の文章" * 50, "\ud800" * 9]
)
def test_the_estimate_is_not_below_what_tokenizers_make_of_a_text(text: str) -> None:
    tokens = {"plain": 3 * 50, "12345": 500 // 3, "日本語の文": 6 * 50}.get(text[:5], 9)
    assert _upper_usage(Request("", text, {})).input >= tokens
    assert _upper_usage(REQUEST).output == 100


def test_an_estimate_is_for_everything_or_for_nothing() -> None:
    spec = f"{MODEL}@https://api.openai.com/v1"
    assert estimate([REQUEST] * 3, spec) == pytest.approx(3 * ONE)
    assert estimate([], MODEL) == 0.0
    assert estimate([REQUEST], "openai:llama@http://127.0.0.1:8000/v1") is None
    assert cost(Usage(1000, 1000, cached=2000), MODEL) == pytest.approx((1000 * 0.075 + 1000 * 0.60) / 1e6)
    assert cost(Usage(5, 5), f"{MODEL}-2024-07-18") == cost(Usage(5, 5), MODEL)
    for dated in ("", "-2024-07-18"):
        assert cost(Usage(5, 5), f"openai-decisions:gpt-4o-mini{dated}") == cost(Usage(5, 5), MODEL)
    assert cost(Usage(5, 5), "openai-decisions:gpt-unheard-of") is None


def test_a_price_may_be_ones_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = tmp_path / "prices.toml"
    monkeypatch.setenv("RAGEVAL_PRICES", str(own))
    with pytest.raises(InputError, match="cannot be read"):
        _prices()
    for text in ("[", '[models]\n"a:b" = 3', '[models]\n"a:b" = {input = -1, output = 1}'):
        own.write_text(text)
        with pytest.raises(InputError, match=r"expected (prices|a price)"):
            _prices()
    own.write_text('as_of = "2027-01-01"\nfree = ["mine"]\n[models]\n"a:b" = {input = 1, output = 2}')
    assert _prices().as_of == "2027-01-01"
    assert cost(Usage(1_000_000, 1_000_000, cached=500_000), "a:b") == 3.0
    assert cost(Usage(1), "mine:anything") == 0.0
    assert cost(Usage(1_000_000), MODEL) == 0.15
