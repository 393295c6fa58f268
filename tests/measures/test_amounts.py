"""What answers state of their cost: a mean over what is stated, of answers with and without steps."""

from __future__ import annotations

import math
from typing import Any

import pytest

import rageval
from rageval.comparison import compare
from rageval.errors import UsageError
from rageval.measures import builtin
from rageval.subjects import ANSWERS, TRAJECTORIES, kinds_of_measure
from rageval.trajectories import read_trajectories

AMOUNTS = ("input_tokens", "output_tokens", "cost", "seconds")


def answer(query: str, run: str = "a", **stated: Any) -> dict[str, Any]:
    return {"query_id": query, "run_id": run, "answer": "x", **stated}


def value(answers: list[dict[str, Any]], name: str = "cost") -> rageval.Score:
    return rageval.evaluate_answers(name, answers)["a"][name]


@pytest.mark.parametrize("name", AMOUNTS)
def test_an_amount_is_a_measure_of_answers_and_of_trajectories(name: str) -> None:
    assert kinds_of_measure(builtin()[name]) == [TRAJECTORIES, ANSWERS]
    assert value([answer("q", **{name: 2}), answer("r", **{name: 4})], name).value == 3


def test_what_is_not_stated_is_missing_and_counted() -> None:
    score = value([answer("q", cost=2), answer("r"), answer("s", cost=None)])
    assert (score.value, score.queries, score.undefined) == (2, 1, 2)
    # 0 is stated.
    assert value([answer("q", cost=2), answer("r", cost=0)]).value == 1
    assert math.isnan(value([answer("q")]).value)


def test_a_failed_answer_has_its_cost() -> None:
    failed = answer("r", cost=4) | {"answer": None, "status": "error", "reason": "timeout"}
    assert value([answer("q", cost=2), failed]).value == 3


def test_repeats_are_averaged_before_queries_are() -> None:
    answers = [answer("q", repeat=number, cost=cost) for number, cost in enumerate((1, 3))]
    answers += [answer("r", repeat=number, cost=cost) for number, cost in enumerate((10, None))]
    assert value(answers).value == 6


def test_without_answers_the_error_asks_for_them() -> None:
    judged = [{"query_id": "q", "run_id": "a", "label": "accurate"}]
    with pytest.raises(UsageError, match="cost: needs the answers; give them"):
        rageval.evaluate_answers("cost", judged)
    assert rageval.evaluate_answers("cost", judged, answers=[answer("q", cost=2)])["a"]["cost"].value == 2


def test_a_difference_of_cost_is_a_claim_of_nobody() -> None:
    answers = [answer(f"q{number}", run, cost=cost + number / 100)
               for number in range(20) for run, cost in (("a", 1), ("b", 2))]  # fmt: skip
    results = list(rageval.evaluate_answers("cost", answers).values())
    (pair,) = compare(results).pairs
    assert (pair.better_run, pair.basis.is_judge, pair.basis.is_of_texts) == ("a", False, False)


@pytest.mark.parametrize(
    ("of_steps", "of_answer", "expected"),
    [(3, 5, 3), (3, None, 3), (None, 5, 5), (None, None, math.nan), (0, 5, 0)],
)
def test_the_steps_count_where_both_state_it(
    of_steps: float | None, of_answer: float | None, expected: float
) -> None:
    steps = [{"query_id": "q", "run_id": "a", "kind": kind, "cost": of_steps} for kind in ("model", "search")]
    steps[1]["cost"] = None
    agents = read_trajectories(steps, [answer("q", cost=of_answer)])
    score = rageval.evaluate("cost", agents, {"q": {}})["a"].scores[0]
    assert score.value == pytest.approx(expected, nan_ok=True)
