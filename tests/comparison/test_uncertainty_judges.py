"""Soft labels, repeated judgements, sensitivity: against all worlds, by simulation, by hand."""

from __future__ import annotations

import json
import random
import re
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import rageval
from rageval.cli import main
from rageval.comparison.comparisons import _count_swaps, _judge_sensitivities, without_a_nugget
from rageval.errors import InputError
from rageval.scoring.answers import by_judge
from rageval.scoring.rules import Rules
from rageval.scoring.soft import soft_scores
from rageval.statistics.agreement import _Components, components

Chances = dict[str, dict[str, float]]


def worlds(chances: Chances) -> list[tuple[float, dict[str, dict[str, int]]]]:
    """Every way the judgements could be, with its chance."""
    cells = [(nugget, doc, p) for nugget, docs in chances.items() for doc, p in docs.items()]
    outcomes = []
    for says in product((0, 1), repeat=len(cells)):
        chance, judged = 1.0, {nugget: dict.fromkeys(docs, 0) for nugget, docs in chances.items()}
        for (nugget, doc, p), grade in zip(cells, says, strict=True):
            chance *= p if grade else 1 - p
            judged[nugget][doc] = grade
        outcomes.append((chance, judged))
    return outcomes


@pytest.mark.some(3)
@pytest.mark.parametrize("seed", range(8))
def test_soft_values_are_means_over_all_worlds(seed: int) -> None:
    rng = random.Random(seed)
    chances = {n: {d: rng.choice((0.0, 0.2, 0.5, 1.0, rng.random())) for d in "abcd"} for n in "12"}
    ranking = rng.sample("abcdu", 4)
    run = {doc: -float(rank) for rank, doc in enumerate(ranking)}
    k, alpha = rng.choice((1, 2, 4)), rng.choice((0.0, 0.3, 0.5, 1.0))
    soft = soft_scores({"q": run}, {"q": chances}, k, alpha)["q"]
    weights, judged = zip(*worlds(chances), strict=True)
    names = [str(index) for index in range(len(judged))]
    scores = rageval.evaluate(
        [f"alpha_dcg(alpha={alpha})@{k}", f"coverage@{k}"],
        dict.fromkeys(names, run),
        dict(zip(names, judged, strict=True)),
    )
    means = [float(np.dot(weights, score.values)) for score in scores.scores]
    assert (soft.alpha_dcg, soft.coverage) == pytest.approx(means, abs=1e-12)


def test_certain_chances_give_the_ordinary_values() -> None:
    for seed in range(20):
        rng = random.Random(seed)
        judged = {n: {d: int(rng.random() < 0.5) for d in "abcde"} for n in "123"}
        run = {"q": {doc: -float(rank) for rank, doc in enumerate(rng.sample("abcde", 4))}}
        chances = {n: {d: float(grade) for d, grade in docs.items()} for n, docs in judged.items()}
        soft = soft_scores(run, {"q": chances}, 3)["q"]
        plain = rageval.evaluate("alpha_dcg@3, coverage@3", run, {"q": judged})
        assert [soft.alpha_dcg, soft.coverage] == pytest.approx([score.value for score in plain.scores])


def test_the_greedy_order_of_mean_gains_scores_1() -> None:
    chances = {"1": {"a": 0.9, "b": 0.8}, "2": {"b": 0.3, "c": 0.6}}
    assert soft_scores({"q": {"b": 3.0, "a": 2.0, "c": 1.0}}, {"q": chances}, 1)["q"].alpha_ndcg == 1
    assert soft_scores({"other": {"a": 1.0}}, {"q": chances})["q"] == (0, 0, 0)


def test_the_ideal_takes_at_each_place_what_adds_most() -> None:
    """After `a`, `c` adds .5, and `b` only .8 · (1 − .5 · .9) = .44."""
    chances = {"n": {"a": 0.9, "b": 0.8}, "m": {"c": 0.5}}
    for order, is_best in (("acb", True), ("abc", False)):
        run = {"q": {doc: -float(index) for index, doc in enumerate(order)}}
        assert (soft_scores(run, {"q": chances})["q"].alpha_ndcg == pytest.approx(1)) is is_best


def test_chances_out_of_range_are_refused() -> None:
    with pytest.raises(InputError, match=r"expected a probability from 0 to 1, found 1\.5"):
        soft_scores({"q": {"a": 1.0}}, {"q": {"n": {"a": 1.5}}})
    with pytest.raises(InputError, match="alpha=2"):
        soft_scores({"q": {"a": 1.0}}, {"q": {"n": {"a": 0.5}}}, alpha=2)


def drawn(rng: np.random.Generator, queries: int, judges: int, sd: tuple[float, float, float]) -> Any:
    query, judge, rest = sd
    return (
        rng.normal(0, query, (queries, 1))
        + rng.normal(0, judge, (1, judges))
        + rng.normal(0, rest, (queries, judges))
    )


def test_components_are_right_on_average_and_so_is_the_standard_error() -> None:
    rng, times = np.random.default_rng(1), 1500
    tables = [drawn(rng, 30, 4, (0.3, 0.2, 0.4)) for _ in range(times)]
    estimates = [components(table) for table in tables]
    assert np.mean([estimate.query for estimate in estimates]) == pytest.approx(0.09, abs=0.005)
    assert np.mean([estimate.judge for estimate in estimates]) == pytest.approx(0.04, abs=0.005)
    assert np.mean([estimate.rest for estimate in estimates]) == pytest.approx(0.16, abs=0.005)
    truth = _Components(0.09, 0.04, 0.16, 30, 4)
    assert np.std([table.mean() for table in tables]) == pytest.approx(truth.standard_error(), rel=0.06)
    more = np.std([drawn(rng, 70, 6, (0.3, 0.2, 0.4)).mean() for _ in range(times)])
    assert more == pytest.approx(truth.standard_error(40, 2), rel=0.06)


def test_votes_of_one_judge_have_no_judge_of_their_own() -> None:
    rng = np.random.default_rng(2)
    estimates = [components(drawn(rng, 40, 3, (0.3, 0.0, 0.4)), repeated=True) for _ in range(800)]
    assert {estimate.judge for estimate in estimates} == {0.0}
    assert np.mean([estimate.query for estimate in estimates]) == pytest.approx(0.09, abs=0.005)
    assert np.mean([estimate.rest for estimate in estimates]) == pytest.approx(0.16, abs=0.005)


@pytest.mark.slow
@pytest.mark.parametrize(("judges", "repeated"), [(4, False), (8, False), (3, True)])
def test_the_advice_holds_the_true_standard_error(judges: int, repeated: bool) -> None:
    """A standard error from two judges alone lay anywhere from a third of the true one to twice it."""
    rng, true, covered = np.random.default_rng(judges), (0.09, 0.0 if repeated else 0.01, 0.02), 0
    expected = _Components(*true, 40, judges).standard_error()
    spreads = true[0] ** 0.5, true[1] ** 0.5, true[2] ** 0.5
    for _ in range(400):
        advice = str(components(drawn(rng, 40, judges, spreads), repeated).advice())
        low, high = map(float, re.findall(r"[(]([.0-9]+) to ([.0-9]+)[)] now", advice)[0])
        covered += low <= expected <= high
    assert 0.9 < covered / 400 < 0.99


@pytest.mark.parametrize(("judges", "repeated"), [(4, False), (8, False), (3, True)])
def test_the_interval_of_a_difference_of_variances_covers_it(judges: int, repeated: bool) -> None:
    """Which of two plans has the smaller standard error is a combination with negative coefficients."""
    rng, true, covered = np.random.default_rng(judges), (0.09, 0.0 if repeated else 0.01, 0.02), 0
    truth = _Components(*true, 40, judges)
    expected = truth.standard_error(40, 0) ** 2 - truth.standard_error(0, 2) ** 2
    spreads = true[0] ** 0.5, true[1] ** 0.5, true[2] ** 0.5
    for _ in range(400):
        estimate = components(drawn(rng, 40, judges, spreads), repeated)
        low, high = estimate._variance_interval(estimate._coefficients(40, 0) - estimate._coefficients(0, 2))
        covered += low <= expected <= high
    assert 0.92 < covered / 400 < 0.99


@pytest.mark.parametrize("judges", [2, 3])
def test_fewer_than_four_judges_advise_nothing(judges: int) -> None:
    advice = str(components(drawn(np.random.default_rng(1), 40, judges, (0.09, 0.01, 0.02))).advice())
    assert advice.startswith(f"{judges} judges are too few")
    assert "standard error" not in advice


def test_the_advice_follows_the_components() -> None:
    assert _Components(0.09, 0.0, 0.01, 50, 6).advice().facts["better"] == "queries"
    assert _Components(0.001, 0.05, 0.01, 50, 6).advice().facts["better"] == "votes"
    assert _Components(0.0, 0.0, 0.0, 50, 4).advice().facts["better"] == "neither"
    # .001 or .04 may well be.
    assert _Components(0.09, 0.003, 0.01, 50, 4).advice().facts["better"] == "unknown"
    with pytest.raises(InputError, match="found 1 with 3"):
        components(np.array([[1.0, 1.0, 0.5], [np.nan, 1.0, 1.0]]))


def test_pairs_that_turn_round_are_counted_and_equal_ones_are_not() -> None:
    before = np.array([0.5, 0.4, 0.4])
    after = np.array([[0.4, 0.5, 0.3], [0.5, 0.4, 0.3], [0.5, 0.5, 0.9]])
    swaps = _count_swaps("x", ["a", "b", "c"], before, after)
    assert (swaps.swaps, swaps.trials, swaps.worst) == (2, 9, ("a", "b"))
    assert _count_swaps("x", ["a", "b"], np.array([1.0, 0.0]), np.zeros((0, 2))).share == 0


@pytest.mark.slow
@pytest.mark.parametrize("name", ["coverage@2", "alpha_ndcg@3", "recall@2"])
def test_leaving_out_a_nugget_is_as_scoring_without_it(name: str) -> None:
    measure: Any = rageval.parse_measure(name)
    for seed in range(6):
        rng = random.Random(seed)
        qrels = {q: {n: {d: int(rng.random() < 0.5) for d in "abcd"} for n in "123"[: rng.randint(1, 3)]}
                 for q in "xyz"}  # fmt: skip
        runs = {run: {q: rng.sample("abcd", 3) for q in "xyz"} for run in "AB"}
        tables = {run: {q: {d: -float(index) for index, d in enumerate(docs)} for q, docs in ranking.items()}
                  for run, ranking in runs.items()}  # fmt: skip
        scored = {run: rageval.evaluate(measure, table, qrels) for run, table in tables.items()}
        values = {run: scores[measure].by_query for run, scores in scored.items()}
        without = without_a_nugget(measure, rageval.Qrels.from_dict(qrels), runs, values)
        count, tried = 0, 0
        was = np.sign(_mean(tables["A"], qrels, measure) - _mean(tables["B"], qrels, measure))
        for query, nuggets in qrels.items():
            for nugget in nuggets if len(nuggets) > 1 else ():
                fewer = qrels | {query: {n: docs for n, docs in nuggets.items() if n != nugget}}
                gap = _mean(tables["A"], fewer, measure) - _mean(tables["B"], fewer, measure)
                count += bool(abs(gap) > 1e-12 and was * np.sign(gap) < 0)
                tried += 1
        assert (without.swaps, without.trials) == (count, tried), seed


def _mean(run: Any, qrels: Any, measure: Any) -> float:
    value = rageval.evaluate(measure, run, qrels)[measure].value
    return 0.0 if abs(value) < 1e-12 else value


def test_judges_alone_and_panels_that_lack_one() -> None:
    a, b = np.array([[1.0, 1.0], [0.0, 0.0], [1.0, np.nan]]), np.array([[0.0, 0.5], [1.0, 0.5], [0.0, 0.5]])
    alone, fewer = _judge_sensitivities(["a", "b"], [a, b])
    assert (alone.change, alone.swaps, alone.trials) == ("judge", 1, 3)
    assert (fewer.change, fewer.swaps, fewer.trials) == ("vote", 1, 3)
    assert len(_judge_sensitivities(["a", "b"], [a[:2], b[:2]])) == 1


def rows(judge: str, run: str, labels: str) -> list[dict[str, str]]:
    words = {"p": "perfect", "m": "missing", "i": "incorrect"}
    return [{"query_id": str(index), "run_id": run, "label": words[label], "rubric": "crag", "judge": judge}
            for index, label in enumerate(labels)]  # fmt: skip


def test_the_command_tells_how_stable_the_order_is(tmp_path: Path) -> None:
    judged = rows("x", "a", "ppmp") + rows("x", "b", "pmmi") + rows("y", "a", "mpmi") + rows("y", "b", "pmmp")
    path = tmp_path / "judged.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in judged))
    result = CliRunner().invoke(main, ["compare", str(path), "-m", "crag_score", "--sensitivity"])
    assert result.exit_code == 0, result.output
    assert "crag_score: another judge: 50.0% of the pairs swap places" in result.stderr
    assert "a: crag_score: 2 judges are too few" in result.stderr
    grades = rageval.read_judgements(str(path))
    measure: Any = rageval.parse_measure("crag_score")
    (stability,) = by_judge([measure], grades, grades.runs["a"], Rules(on_missing="skip"))
    assert stability.values["y"] == [0.0, 1.0, 0.0, -1.0]
    path.write_text("".join(json.dumps(row) + "\n" for row in judged[:8]))
    alone = CliRunner().invoke(main, ["compare", str(path), "-m", "crag_score", "--sensitivity"])
    assert (alone.exit_code, "has one judge" in alone.stderr) == (2, True)
    data = Path(__file__).parents[2] / "examples/data"
    words = [str(data / name) for name in ("run.trec", "baseline.trec", "qrels.nugget")]
    result = CliRunner().invoke(main, ["compare", *words, "-m", "coverage@10", "--sensitivity"])
    assert "coverage@10: one nugget less: 0.0% of the pairs swap places" in result.stderr
