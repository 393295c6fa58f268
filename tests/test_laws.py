"""The property table: every measure answers every law, with True or with a counter-example.

A counter-example is the number of a random case, or a case written out. A measure or a law that is not
in the table is held to be True, so a new measure that breaks a law fails here until it says so.
"""

from __future__ import annotations

import os
import random
from itertools import pairwise

import pytest

import rageval
from laws import LAWS, K
from rageval.measures import builtin
from strategies import Case, case

CASES = 60 if os.environ.get("HYPOTHESIS_PROFILE") == "ci" or os.environ.get("CI") else 20

# Greedy takes dZ{1,3} first, because of its name; the run's dA{1,2} dB{3,4} is better.
ABOVE_1 = Case(
    {"q": {"dA": 3.0, "dB": 2.0, "dZ": 1.0}},
    {"q": {"1": {"dA": 1, "dZ": 1}, "2": {"dA": 1}, "3": {"dB": 1, "dZ": 1}, "4": {"dB": 1}}},
)
IDEAL = ("alpha_ndcg", "nerr_ia", "nnrbp")
FALSE: dict[str, dict[str, int | Case]] = {
    "renaming_documents_at_will_changes_nothing": dict.fromkeys(IDEAL, 65),
    "judging_a_document_0_changes_nothing": {"judged": 0, "hole": 0},
    "a_nugget_nobody_supports_changes_nothing": {"coverage": 0},
    "grows_with_k": dict.fromkeys((*IDEAL, "err_ia", "p_ia", "ndcg", "p", "judged", "hole"), 0),
    "is_the_same_beyond_the_runs_depth": dict.fromkeys((*IDEAL, "err_ia", "p_ia", "ndcg", "p", "hole"), 0),
    "appending_a_document_never_lowers": {"judged": 0},
    "moving_a_relevant_document_up_never_lowers": {"hole": 1},
    "is_at_most_1": {"alpha_dcg": 0, **dict.fromkeys(IDEAL, ABOVE_1)},
}


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("measure", builtin().values(), ids=str)
def test_the_table(measure: rageval.Measure, name: str) -> None:
    counter_example = FALSE.get(name, {}).get(measure.name)
    if counter_example is None:
        for seed in range(CASES):
            rng = random.Random(seed)
            drawn = case(rng)
            assert LAWS[name](measure, drawn, rng), (name, seed)
    else:
        rng = random.Random(counter_example if isinstance(counter_example, int) else 0)
        drawn = case(rng) if isinstance(counter_example, int) else counter_example
        assert not LAWS[name](measure, drawn, rng), f"{name} holds of {measure} after all"


def test_the_table_names_laws_and_measures_that_exist() -> None:
    assert set(FALSE) <= set(LAWS)
    assert {name for names in FALSE.values() for name in names} <= set(builtin())


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("alpha", [0, 0.3, 0.5, 1])
def test_the_cap_of_alpha_ndcg_holds_always(seed: int, alpha: float) -> None:
    rng = random.Random(seed)
    drawn = case(rng)
    for k in (1, 2, 3, 7):
        label = rageval.alpha_ndcg(alpha=alpha) @ k
        cap = 1 / (1 - (1 - 1 / k) ** k)
        assert max(rageval.evaluate(label, drawn.run, drawn.qrels)[label].values) <= cap + 1e-12


@pytest.mark.parametrize("seed", range(20))
def test_alpha_dcg_never_grows_with_alpha(seed: int) -> None:
    rng = random.Random(seed)
    drawn = case(rng)
    labels = [f"alpha_dcg(alpha={alpha})@{K}" for alpha in (0, 0.2, 0.5, 0.9, 1)]
    values = [score.values for score in rageval.evaluate(labels, drawn.run, drawn.qrels).values()]
    for lower, higher in pairwise(values):
        assert (higher <= lower + 1e-12).all()


@pytest.mark.parametrize("seed", range(20))
def test_any_measures_together_equal_each_alone(seed: int) -> None:
    rng = random.Random(seed)
    drawn = case(rng)
    names = [f"{name}@{k}" for name in builtin() for k in (1, 3)] + list(builtin())
    names += [f"alpha_ndcg(alpha={alpha})@5" for alpha in (0.1, 0.7)] + ["recall(rel=2)", "coverage(rel=2)@2"]
    chosen = rng.sample(names, rng.randint(2, len(names)))
    together = rageval.evaluate(chosen, drawn.run, drawn.qrels)
    for name in chosen:
        alone = rageval.evaluate(name, drawn.run, drawn.qrels)[name]
        assert together[name].by_query == alone.by_query
        assert together[name].value == alone.value


def test_the_mean_over_a_union_is_the_weighted_mean() -> None:
    drawn = case(random.Random(5))
    one, two = (
        Case({q + tag: docs for q, docs in drawn.run.items()}, {q + tag: n for q, n in drawn.qrels.items()})
        for tag in ("x", "y")
    )
    for measure in builtin().values():
        both = rageval.evaluate(measure @ 2, one.run | two.run, one.qrels | two.qrels)[measure @ 2]
        parts = [rageval.evaluate(measure @ 2, part.run, part.qrels)[measure @ 2] for part in (one, two)]
        total = sum(part.value * part.queries for part in parts) / sum(part.queries for part in parts)
        assert both.value == pytest.approx(total, abs=1e-12)
