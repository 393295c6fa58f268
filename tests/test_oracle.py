"""Every measure equals its slow twin, on exhaustive small inputs and on inputs made for ties."""

from __future__ import annotations

import random
from fractions import Fraction
from functools import cache
from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given

import rageval
from oracle import MEASURES, NOVELTY, RIGHT, Query, Rules, dcg, evaluate, gains, share
from rageval.measures import builtin
from strategies import ALPHAS, Case, case, cases, cutoffs

TOLERANCE = 1e-12
DOCS, NUGGETS = "abc", range(4)
SUBSETS = [frozenset(f"n{n}" for n in NUGGETS if mask >> n & 1) for mask in range(16)]
RUNS = [order for length in (1, 2, 3) for order in permutations(DOCS, length)]


def spelled(name: str, k: int | None, **parameters: object) -> str:
    inner = ",".join(f"{key}={value}" for key, value in parameters.items())
    return name + (f"({inner})" if inner else "") + (f"@{k}" if k else "")


def close(found: dict[str, float], expected: dict[str, float]) -> bool:
    return found.keys() == expected.keys() and all(
        abs(found[query] - expected[query]) <= TOLERANCE for query in expected
    )


def test_the_oracle_knows_every_measure() -> None:
    assert set(MEASURES) == set(builtin())


@given(cases, cutoffs)
def test_every_measure_equals_the_oracle(drawn: Case, k: int | None) -> None:
    names = [spelled(name, k) for name in MEASURES]
    scores = rageval.evaluate(names, drawn.run, drawn.qrels)
    for name, label in zip(MEASURES, names, strict=True):
        assert close(scores[label].by_query, evaluate(name, drawn.run, drawn.qrels, k)), label


@pytest.mark.parametrize("alpha", ALPHAS)
@given(cases, cutoffs)
def test_novelty_measures_equal_the_oracle_at_every_alpha(alpha: str, drawn: Case, k: int | None) -> None:
    for function in NOVELTY:
        label = spelled(function.__name__, k, alpha=alpha)
        found = rageval.evaluate(label, drawn.run, drawn.qrels)[label].by_query
        assert close(found, evaluate(function.__name__, drawn.run, drawn.qrels, k, alpha=Fraction(alpha))), (
            label
        )


@pytest.mark.parametrize("rel", [-1, 0, 2])
@given(cases, cutoffs)
def test_every_measure_equals_the_oracle_at_other_grades(rel: int, drawn: Case, k: int | None) -> None:
    for name in set(MEASURES) - {"ndcg", "judged", "hole"}:
        label = spelled(name, k, rel=rel)
        found = rageval.evaluate(label, drawn.run, drawn.qrels)[label].by_query
        assert close(found, evaluate(name, drawn.run, drawn.qrels, k, rel=rel)), label


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


@pytest.fixture(scope="module")
def everything() -> tuple[dict[str, dict[str, float]], dict[str, dict[str, dict[str, int]]]]:
    """All 4,096 ways in which three documents support four nuggets, under all 15 rankings."""
    run, qrels = {}, {}
    for number, supported in enumerate(product(SUBSETS, repeat=3)):
        judged = {
            f"n{nugget}": {doc: int(f"n{nugget}" in s) for doc, s in zip(DOCS, supported, strict=True)}
            for nugget in NUGGETS
        }
        for order in RUNS:
            query = f"{number}.{''.join(order)}"
            qrels[query] = judged
            run[query] = {doc: -float(rank) for rank, doc in enumerate(order)}
    return run, qrels


def test_alpha_ndcg_on_every_small_input_at_every_alpha(everything) -> None:
    run, qrels = everything
    keys = [(k, alpha) for alpha in ALPHAS for k in (1, 2, 3, 4)]
    scores = rageval.evaluate([spelled("alpha_ndcg", k, alpha=alpha) for k, alpha in keys], run, qrels)
    found = np.stack([score.values for score in scores.values()])
    expected = np.empty_like(found)
    gained = cache(lambda sets, alpha: dcg(gains(sets, 1 - Fraction(alpha))))
    for number, supported in enumerate(product(SUBSETS, repeat=3)):
        first = number * len(RUNS)
        q = Query({}, qrels[f"{number}.a"], 1, RIGHT)
        ideal = {alpha: q.ideal(Fraction(alpha), None) for alpha in ALPHAS}
        for row, (k, alpha) in enumerate(keys):
            best = dcg(ideal[alpha][:k])
            for at, order in enumerate(RUNS):
                sets = tuple(supported[DOCS.index(doc)] for doc in order[:k])
                expected[row, first + at] = share(gained(sets, alpha), best)
    assert np.abs(found - expected).max() <= TOLERANCE


def test_every_measure_on_a_sample_of_the_small_inputs(everything) -> None:
    run, qrels = everything
    sample = {query: qrels[query] for query in list(qrels)[::97]}
    for name, k in product(MEASURES, (1, 2, 4)):
        label = spelled(name, k)
        assert close(rageval.evaluate(label, run, sample)[label].by_query, evaluate(name, run, sample, k)), (
            label
        )


def test_how_often_the_greedy_ideal_is_beaten(everything) -> None:
    run, qrels = everything
    values = rageval.evaluate("alpha_ndcg@2", run, qrels)["alpha_ndcg@2"].values
    assert int((values > 1 + 1e-9).sum()) == 96
    assert values.max() <= 1 / (1 - (1 - 1 / 2) ** 2)


FAULTS = {
    "ties by id ascending": Rules(tie=lambda doc: doc.encode()),
    "ideal ties by id ascending": Rules(ideal_tie=lambda doc: doc.encode()),
    "no decay in the ideal": Rules(ideal_decay=lambda alpha: Fraction(1)),
    "discount off by one": Rules(first_discount_rank=3),
    "last grade wins": Rules(document_grade=lambda grades: grades[-1]),
    "lowest grade wins": Rules(document_grade=min),
    "unsupported nuggets forgotten": Rules(listed=False),
    "only the first nugget gains": Rules(gain_sum=lambda terms: terms[0] if terms else Fraction(0)),
}


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("fault", FAULTS)
def test_the_inputs_would_find_a_planted_fault(fault: str, seed: int) -> None:
    """Within 2,000 draws some measure must differ; else these tests could not fail."""
    rng = random.Random(seed)
    for _ in range(2000):
        drawn = case(rng)
        k = rng.choice((1, 2, 3, 5, None))
        for name in ("alpha_ndcg", "coverage", "recall", "ndcg", "alpha_dcg"):
            right = rageval.evaluate(spelled(name, k), drawn.run, drawn.qrels)[spelled(name, k)].by_query
            if not close(right, evaluate(name, drawn.run, drawn.qrels, k, FAULTS[fault])):
                return
    pytest.fail(f"{fault!r} was not found")
