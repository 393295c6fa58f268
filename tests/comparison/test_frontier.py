"""Which systems are on the frontier of quality and cost: shares of resamples, and what pairs tell."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rageval
from commands import run_checked, run_command, write_jsonl
from rageval.comparison import Comparison, FrontierPoint, FrontierStatus
from rageval.errors import UsageError
from rageval.trajectories import read_trajectories

Values = Mapping[
    str, Sequence[tuple[float, float]]
]  # system -> (how many of 10 are seen, cost), a query each
QUERIES = [f"q{number}" for number in range(16)]
QRELS = {query: {f"d{number}": 1 for number in range(10)} for query in QUERIES}


def steps_of(values: Values) -> list[dict[str, Any]]:
    return [
        {
            "query_id": query,
            "run_id": run,
            "kind": "search",
            "docs": [f"d{i}" for i in range(int(count))],
            "cost": cost,
        }
        for run, row in values.items()
        for query, (count, cost) in zip(QUERIES, row, strict=False)
    ]


def compared(values: Values, **more: Any) -> Comparison:
    scores = rageval.evaluate("seen_recall, cost", read_trajectories(steps_of(values)), QRELS)
    return rageval.compare(scores, against="cost", resamples=200, **more)


def points(values: Values, **more: Any) -> dict[str, FrontierPoint]:
    return {point.run: point for point in compared(values, **more).frontier}


def around(count: int, cost: float, seed: int = 0) -> list[tuple[float, float]]:
    rng = random.Random(seed)
    return [(count + rng.choice([-1, 0, 1]), round(cost * rng.uniform(0.9, 1.1), 6)) for _ in QUERIES]


GOOD, CHEAP, POOR = around(8, 2.0), around(4, 1.0, 1), around(1, 3.0, 2)


def test_a_system_that_another_is_better_than_by_both_is_dominated() -> None:
    by_run = points({"good": GOOD, "cheap": CHEAP, "poor": POOR})
    assert {run: point.status for run, point in by_run.items()} == {
        "good": FrontierStatus.ON,
        "cheap": FrontierStatus.ON,
        "poor": FrontierStatus.DOMINATED,
    }
    assert by_run["poor"].dominators == ("good", "cheap")
    assert [point.share for point in by_run.values()] == [1, 1, 0]
    assert by_run["good"].value == pytest.approx(np.mean([count for count, _ in GOOD]) / 10)
    assert by_run["good"].against_value == pytest.approx(np.mean([cost for _, cost in GOOD]))


def test_equal_systems_do_not_dominate_each_other_and_what_is_not_known_is_undecided() -> None:
    twins = points({"one": GOOD, "other": GOOD, "poor": POOR})
    assert [twins[run].status for run in ("one", "other")] == [FrontierStatus.ON, FrontierStatus.ON]
    assert [twins[run].share for run in ("one", "other")] == [1, 1]
    # As good, and cheaper: one of the two measures is equal.
    cheaper = points({"one": GOOD, "other": [(count, cost / 2) for count, cost in GOOD]})
    assert [cheaper[run].status for run in ("one", "other")] == [FrontierStatus.DOMINATED, FrontierStatus.ON]
    near = points({"one": GOOD, "other": around(8, 2.0, 5)})
    assert {point.status for point in near.values()} == {FrontierStatus.UNDECIDED}
    assert all(0 < point.share < 1 for point in near.values())


@given(st.integers(0, 10**6), st.integers(2, 4))
@settings(max_examples=10)
def test_shares_are_those_of_resamples_that_are_looked_at_one_by_one(seed: int, number: int) -> None:
    rng = random.Random(seed)
    values = {
        f"s{i}": [(rng.randint(3, 6), rng.choice([1.0, 2.0, 3.0])) for _ in QUERIES] for i in range(number)
    }
    drawn = np.random.default_rng(20130).integers(0, len(QUERIES), (200, len(QUERIES)))
    order = sorted(range(len(QUERIES)), key=lambda index: QUERIES[index])
    on = dict.fromkeys(values, 0)
    for units in drawn:
        rows = [order[unit] for unit in units]
        sums = {
            run: (sum(row[i][0] for i in rows), sum(row[i][1] for i in rows)) for run, row in values.items()
        }
        for run, (count, cost) in sums.items():
            on[run] += not any(
                more >= count and less <= cost and (more, less) != (count, cost)
                for more, less in sums.values()
            )
    by_run = points(values)
    assert {run: point.share for run, point in by_run.items()} == pytest.approx(
        {run: number / 200 for run, number in on.items()}
    )


@given(st.integers(0, 10**6))
@settings(max_examples=10)
def test_no_order_name_or_unit_of_cost_changes_where_a_system_stands(seed: int) -> None:
    rng = random.Random(seed)
    values = {f"s{i}": around(rng.randint(3, 7), rng.choice([1.0, 1.1, 3.0]), seed + i) for i in range(3)}
    before = points(values)
    other = {f"x{run}": [(count, 8 * cost) for count, cost in row] for run, row in reversed(values.items())}
    after = points(other)
    for run, point in before.items():
        same = after[f"x{run}"]
        assert (same.status, same.share) == (point.status, point.share)
        assert {f"x{name}" for name in point.dominators} == {*same.dominators}
    # Who is dominated is nobody else's news: without these, all others stand as well or better.
    rest = points(
        {run: row for run, row in values.items() if before[run].status is not FrontierStatus.DOMINATED}
        | {"t": POOR}
    )
    for run, point in rest.items():
        if run != "t":
            assert point.share >= before[run].share


@pytest.mark.parametrize(("row", "status"), [(GOOD, FrontierStatus.UNDECIDED), (CHEAP, FrontierStatus.ON)])
def test_a_system_without_a_cost_has_no_place_but_may_dominate(row: Any, status: FrontierStatus) -> None:
    steps = steps_of({"good": GOOD, "poor": POOR})
    steps += [{**step, "run_id": "silent", "cost": None} for step in steps_of({"good": row})]
    scores = rageval.evaluate("seen_recall, cost", read_trajectories(steps), QRELS)
    comparison = rageval.compare(scores, against="cost", resamples=200)
    assert [(point.run, point.status) for point in comparison.frontier] == [
        ("good", status),
        ("poor", FrontierStatus.DOMINATED),
    ]
    alone = [{**step, "cost": None} if step["run_id"] == "poor" else step for step in steps]
    scores = rageval.evaluate("seen_recall, cost", read_trajectories(alone), QRELS)
    (point,) = rageval.compare(scores, against="cost", resamples=200).frontier
    assert (point.run, point.status) == ("good", status)


@pytest.mark.slow
def test_the_command_says_what_python_says(tmp_path: Path) -> None:
    values = {"good": GOOD, "cheap": CHEAP, "poor": POOR}
    steps = write_jsonl(tmp_path / "steps.jsonl", steps_of(values))
    qrels = tmp_path / "qrels"
    qrels.write_text("".join(f"{query} 0 {doc} 1\n" for query, row in QRELS.items() for doc in row))
    words = ("compare", steps, str(qrels), "-m", "seen_recall", "--against", "cost", "--resamples", "200")
    record = json.loads(run_command(*words, "--format", "json").stdout)
    assert record["frontier"] == compared(values).as_dict()["frontier"]
    assert "|frontier:cost|" in record["signature"]
    printed = run_command(*words).stdout
    assert re.search(r" dominated +a b\n", printed)
    rows = [row.split(",") for row in run_command(*words, "--format", "csv").stdout.splitlines()]
    assert [(row[0], row[-2], row[-1]) for row in rows] == [
        ("run", "status", "dominators"),
        ("good", "on", ""),
        ("cheap", "on", ""),
        ("poor", "dominated", "good cheap"),
    ]
    result = run_checked(*words, "--format", "latex", code=2)
    assert "--against is not available with --format latex; use one of" in result.output
    pytest.importorskip("matplotlib")
    plot = tmp_path / "plot.svg"
    run_command(*words, "--plot", str(plot))
    assert plot.stat().st_size > 10_000


@pytest.mark.parametrize(
    ("measures", "against", "problem"),
    [
        (
            "seen_recall",
            "cost",
            "expected one of the measures that is good when low (cost, seconds); found none",
        ),
        ("seen_recall, cost", "seen_recall", "found cost"),
        ("cost", "cost", "expected also a measure that is good when high, found none"),
    ],
)
def test_both_a_measure_of_cost_and_another_are_needed(measures: str, against: str, problem: str) -> None:
    scores = rageval.evaluate(measures, read_trajectories(steps_of({"good": GOOD, "poor": POOR})), QRELS)
    with pytest.raises(UsageError, match=problem.replace("(", r"\(").replace(")", r"\)")):
        rageval.compare(scores, against=against)
    with pytest.raises(UsageError, match="has no baseline"):
        rageval.compare(scores, against="cost", baseline="good")


@pytest.mark.nightly
@pytest.mark.parametrize("is_clustered", [False, True])
@pytest.mark.parametrize("kind", ["graded", "rare"])
def test_few_dominated_systems_are_said_to_be_on_the_frontier(kind: str, is_clustered: bool) -> None:
    """The worst case: the other system is better by next to nothing, by both measures."""
    rng, wrong, trials = np.random.default_rng(55), 0, 400
    clusters = {query: str(int(query[1:]) // 2) for query in QUERIES} if is_clustered else None
    for _ in range(trials):
        shared = rng.normal(0, 1, 16)
        values = {}
        for run in ("dominated", "other"):
            own = np.repeat(rng.normal(0, is_clustered, 8), 2)
            drawn = shared + own + rng.normal(0, 1, 16)
            count = 10.0 * (drawn > 1.5) if kind == "rare" else np.clip(np.round(5 + 2 * drawn), 0, 10)
            cost = np.exp(rng.normal(0, 1, 16) + own)
            values[run] = list(zip(count.tolist(), cost.tolist(), strict=True))
        frontier = points(values, draws=1000, **({"clusters": clusters} if clusters else {}))
        wrong += frontier["dominated"].status is FrontierStatus.ON if "dominated" in frontier else 0
    assert wrong <= 0.05 * trials + 2 * (0.05 * 0.95 * trials) ** 0.5
