"""Every measure equals its slow twin on inputs made for ties; `test_exhaustive` tries all small ones."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest
from hypothesis import given

import rageval
from declared import require_same
from oracle import MEASURES, NOVELTY, evaluate
from our_measures import OF_RUNS
from strategies import ALPHAS, RunCase, case, cases, cutoffs

TOLERANCE = 1e-12


def spelled(name: str, k: int | None, **parameters: object) -> str:
    inner = ",".join(f"{key}={value}" for key, value in parameters.items())
    return name + (f"({inner})" if inner else "") + (f"@{k}" if k else "")


def close(values: dict[str, float], expected: dict[str, float]) -> bool:
    return values.keys() == expected.keys() and all(
        abs(values[query] - expected[query]) <= TOLERANCE for query in expected
    )


def test_the_oracle_knows_every_measure() -> None:
    require_same(MEASURES, OF_RUNS, "MEASURES of tests/oracle.py", "with its slow twin")


@given(cases, cutoffs)
def test_every_measure_equals_the_oracle(drawn: RunCase, k: int | None) -> None:
    names = [spelled(name, k) for name in MEASURES]
    scores = rageval.evaluate(names, drawn.run, drawn.qrels)
    for name, label in zip(MEASURES, names, strict=True):
        assert close(scores[label].by_query, evaluate(name, drawn.run, drawn.qrels, k)), label


@pytest.mark.some(5)
@pytest.mark.parametrize("alpha", ALPHAS)
@given(cases, cutoffs)
def test_novelty_measures_equal_the_oracle_at_every_alpha(alpha: str, drawn: RunCase, k: int | None) -> None:
    for function in NOVELTY:
        label = spelled(function.__name__, k, alpha=alpha)
        values = rageval.evaluate(label, drawn.run, drawn.qrels)[label].by_query
        assert close(values, evaluate(function.__name__, drawn.run, drawn.qrels, k, alpha=Fraction(alpha))), (
            label
        )


@pytest.mark.some(3)
@pytest.mark.parametrize("rel", [-1, 0, 2])
@given(cases, cutoffs)
def test_every_measure_equals_the_oracle_at_other_grades(rel: int, drawn: RunCase, k: int | None) -> None:
    for name in (name for name in MEASURES if "rel" in OF_RUNS[name].declared):
        label = spelled(name, k, rel=rel)
        values = rageval.evaluate(label, drawn.run, drawn.qrels)[label].by_query
        assert close(values, evaluate(name, drawn.run, drawn.qrels, k, rel=rel)), label


@pytest.mark.slow
@pytest.mark.some(5)
@pytest.mark.parametrize("seed", range(5))
def test_thousands_of_random_queries_in_one_call(seed: int) -> None:
    rng = random.Random(seed)
    run, qrels = {}, {}
    for number in range(400):
        drawn = case(rng)
        qrels |= {f"{number}.{query}": judged for query, judged in drawn.qrels.items()}
        run |= {f"{number}.{query}": ranking for query, ranking in drawn.run.items()}
    for name in MEASURES:
        label = spelled(name, 1 + seed)
        assert close(
            rageval.evaluate(label, run, qrels)[label].by_query, evaluate(name, run, qrels, 1 + seed)
        )
