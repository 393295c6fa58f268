"""Several answers to a question: the chance that any, or all, of k pass, and how much answers differ."""

from __future__ import annotations

import importlib
import itertools
import json
import math
import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import rageval
from rageval.cli import main
from rageval.errors import MissingJudgements, UsageError
from rageval.measures.base import Measure
from snippets import ROOT

Rows = list[dict[str, Any]]


def rows(passed: dict[str, list[bool]], run: str = "r", judge: str = "m") -> Rows:
    return [
        {"query_id": query, "run_id": run, "repeat": index, "judge": judge, "rubric": "crag"}
        | {"label": "accurate" if is_right else "incorrect"}
        for query, answers in passed.items()
        for index, is_right in enumerate(answers)
    ]


def drawn(answers: list[bool], k: int, over: Any) -> float:
    """The share of all draws of k answers, one by one."""
    draws = list(itertools.combinations(answers, k))
    return float(Fraction(sum(map(over, draws)), len(draws)))


@pytest.mark.parametrize(("n", "k"), [(n, k) for n in range(1, 6) for k in range(1, n + 1)])
def test_they_are_the_shares_of_all_draws(n: int, k: int) -> None:
    every = {
        f"q{index}": list(outcome) for index, outcome in enumerate(itertools.product((True, False), repeat=n))
    }
    scores = rageval.evaluate_answers(f"pass@{k}, pass^{k}", rows(every))["r"]
    for name, over in ((f"pass@{k}", any), (f"pass^{k}", all)):
        for query, answers in every.items():
            assert scores[name].by_query[query] == pytest.approx(drawn(answers, k, over))


@pytest.mark.parametrize("n", [2, 3, 5])
def test_agreement_is_the_mean_over_pairs(n: int) -> None:
    for outcome in itertools.product((True, False), repeat=n):
        pairs = [1 if one == other else -1 for one, other in itertools.combinations(outcome, 2)]
        scores = rageval.evaluate_answers("agreement", rows({"q": list(outcome)}))["r"]
        assert scores["agreement"].value == pytest.approx(sum(pairs) / len(pairs))


def test_one_answer_has_no_other_to_agree_with() -> None:
    value = rageval.evaluate_answers("agreement", rows({"q": [True]}))["r"]["agreement"].value
    assert math.isnan(value)


def test_without_k_it_is_one_answer() -> None:
    scores = rageval.evaluate_answers("pass_all, pass_any", rows({"q": [True, False]}))["r"]
    assert [score.value for score in scores.scores] == [0.5, 0.5]


def test_over_all_chances_they_are_unbiased() -> None:
    for n, k, p in ((3, 2, 0.3), (5, 3, 0.9), (4, 4, 0.5)):
        every = {
            f"q{index}": list(outcome)
            for index, outcome in enumerate(itertools.product((True, False), repeat=n))
        }
        scores = rageval.evaluate_answers(f"pass@{k}, pass^{k}", rows(every))["r"]
        weights = {query: p ** sum(of) * (1 - p) ** (n - sum(of)) for query, of in every.items()}
        expected = {f"pass@{k}": 1 - (1 - p) ** k, f"pass^{k}": p**k}
        for name, truth in expected.items():
            mean = math.fsum(weights[query] * value for query, value in scores[name].by_query.items())
            assert mean == pytest.approx(truth)


def test_pass_at_and_pass_hat_are_names_of_measures() -> None:
    for text, name in (
        ("pass@3", "pass_any@3"),
        ("pass^3", "pass_all@3"),
        ("PASS^2", "pass_all@2"),
        ("pass(aspect=ok)^2", "pass_all(aspect=ok)@2"),
    ):
        measure = rageval.parse_measure(text)
        assert isinstance(measure, Measure)
        assert str(measure) == name


def test_fewer_answers_than_k_are_an_error() -> None:
    with pytest.raises(UsageError, match="no query has more answers than 1, expected 2 or more"):
        rageval.evaluate_answers("pass^2", rows({"a": [True]}) + rows({"b": [True]}, "s"))


def test_fewer_answers_than_to_other_questions_are_missing() -> None:
    judged = rows({"a": [True, False, False], "b": [True]})
    with pytest.raises(MissingJudgements, match="1 of 2 queries have fewer than 3 answers"):
        rageval.evaluate_answers("pass^2", judged)
    with pytest.warns(UserWarning, match="the answers that they lack are missing"):
        score = rageval.evaluate_answers("pass^2", judged, on_missing="skip")["r"]["pass^2"]
    assert score.by_query["a"] == 0.0
    assert math.isnan(score.by_query["b"])
    assert (score.bounds, score.missing) == ((0.0, 0.5), 2)


def test_an_answer_that_failed_is_not_a_pass_nor_left_out() -> None:
    judged = rows({"a": [True, True, True], "b": [True, False, True]})
    judged[0] = {key: value for key, value in judged[0].items() if key != "label"} | {"status": "invalid"}
    score = rageval.evaluate_answers("pass^3", judged, on_missing="worst")["r"]["pass^3"]
    assert score.by_query == {"a": 0.0, "b": 0.0}
    assert score.bounds == (0.0, 0.5)


def test_variances_of_questions_answers_and_judges() -> None:
    rng = random.Random(3)
    truth = {f"q{index}": [rng.random() < 0.5 for _ in range(3)] for index in range(40)}
    one = rageval.evaluate_answers("crag_score", rows(truth))["r"]["crag_score"].spread
    assert one is not None
    assert math.isnan(one.judge)
    # A second judge who always says the same adds nothing to the variance of one answer.
    twice = rows(truth) + rows(truth, judge="n")
    same = rageval.evaluate_answers("crag_score", twice)["r"]["crag_score"].spread
    assert same is not None
    assert (same.judge, same.judges, same.answers, same.questions) == (0.0, 2, 3, 40)
    assert same.answer == pytest.approx(one.answer)
    # One who is moody does, and what is the judge's is not the system's.
    steady = {query: [answers[0]] * 3 for query, answers in truth.items()}
    moody = {query: [rng.random() < 0.5 for _ in range(3)] for query in truth}
    mixed = rows(steady) + rows(moody, judge="n")
    spread = rageval.evaluate_answers("crag_score", mixed)["r"]["crag_score"].spread
    assert spread is not None
    assert spread.judge > 0.5
    assert spread.answer < 0.1
    assert spread.as_facts()["judges"] == math.sqrt(spread.judge)
    assert (
        rageval.evaluate_answers("crag_score", rows({"a": [True], "b": [True]}))["r"].scores[0].spread is None
    )


def test_compare_says_more_questions_or_more_answers(tmp_path: Path) -> None:
    rng = random.Random(1)
    judged = [
        row
        for run in "ab"
        for row in rows({f"q{index}": [rng.random() < 0.5 for _ in range(4)] for index in range(20)}, run)
    ]
    file = tmp_path / "judged.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in judged))
    words = ["compare", str(file), "-m", "crag_score,pass^2", "--draws", "100", "--resamples", "100"]
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 0
    assert "of the variance is between answers to one question: more of them (repeat) help" in result.stderr
    assert "more answers each" in result.stderr
    assert "pass^2" in result.stdout


@pytest.mark.nightly
def test_intervals_of_pass_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    claims = importlib.import_module("claims")
    for interval in claims.of_repeats(200):
        low, high = interval.limits.cell
        assert all(low - 0.02 <= value <= high + 0.02 for value in interval.values), interval
