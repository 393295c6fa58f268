"""Recall curves of agents: the means and intervals that compare prints, at each budget."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import rageval
from commands import run_checked
from rageval.comparison import Settings
from rageval.comparison.trajectories import LOSSES, RecallCurve, estimates_of, recall_curves
from rageval.scoring.evaluation import Evaluator
from rageval.scoring.trajectories import Trajectories
from rageval.trajectories import read_trajectories

AGENTS = Path(__file__).parents[2] / "examples/data/agents"
STEPS, ANSWERS, QRELS = (str(AGENTS / name) for name in ("steps.jsonl", "answers.jsonl", "qrels.nugget"))
SETTINGS = Settings(resamples=200)


def subject(steps: Any = STEPS, measure: str = "seen_recall", **rules: Any) -> Trajectories:
    return Trajectories(Evaluator(measure, QRELS, **rules), read_trajectories(steps, ANSWERS).values())


def curves(agents: Trajectories) -> dict[tuple[str, str], RecallCurve]:
    return {(curve.run, curve.by): curve for curve in recall_curves(agents, agents.score().results, SETTINGS)}


def test_every_point_is_the_mean_and_the_interval_that_compare_has() -> None:
    # Rules that are of rankings alone change nothing.
    by_place = curves(subject(measure="alpha_ndcg@5", depth=2, judged_only=True, ties="expected"))
    assert list(by_place) == [(run, by) for by in ("searches", "cost") for run in ("planner", "reader")]
    assert by_place["planner", "searches"].budgets == (1, 2, 3)
    for (run, by), curve in by_place.items():
        names = [
            f"seen_recall@{budget}" if by == "searches" else f"seen_recall(cost={budget!r})"
            for budget in curve.budgets
        ]
        names = [names[0], names[len(names) // 2], names[-1]]
        scores = rageval.evaluate(names, read_trajectories(STEPS), QRELS)
        cells = rageval.compare(scores, resamples=200).cells
        expected = [(cell.value, cell.low, cell.high) for cell in cells if cell.run == run]
        points = [curve.estimates[0], curve.estimates[len(curve.budgets) // 2], curve.estimates[-1]]
        assert [(point.value, point.low, point.high) for point in points] == expected


def test_recall_by_cost_is_of_systems_whose_model_steps_all_state_it() -> None:
    steps = [json.loads(line) for line in Path(STEPS).read_text().splitlines()]
    del next(step for step in steps if step["run_id"] == "reader" and step["kind"] == "model")["cost"]
    assert [run for run, by in curves(subject(steps)) if by == "cost"] == ["planner"]
    only_search = [step for step in steps if step["kind"] == "search"]
    assert {by for _, by in curves(subject(only_search))} == {"searches"}
    assert curves(subject([step for step in steps if step["kind"] == "read"])) == {}


def test_the_shares_of_what_is_lost_add_up() -> None:
    for estimates in estimates_of(subject(), ["planner", "reader"], LOSSES, SETTINGS).values():
        assert sum(estimate.value for estimate in estimates) == pytest.approx(1, abs=1e-12)


@pytest.mark.slow
def test_compare_draws_them(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    path = tmp_path / "agents.svg"
    run_checked("compare", STEPS, QRELS, "-m", "seen_recall", "--plot", str(path))
    for name in ("Recall by searches", "Recall by cost", "planner", "reader"):
        assert f"<!-- {name} -->" in path.read_text()
