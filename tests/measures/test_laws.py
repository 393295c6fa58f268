"""The property table: every measure answers every law, with True or with a counter-example.

A counter-example is the number of a random case, or a case written out. A measure or a law that is not
in the table is held to be True, so a new measure that breaks a law fails here until it says so.
"""

from __future__ import annotations

import os
import random
from fractions import Fraction
from itertools import pairwise
from math import log2

import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracle
import rageval
from oracle import NOVELTY, RIGHT, Query
from our_measures import OF_RUNS
from rageval import alpha_ndcg, coverage
from rageval.measures import alpha_dcg
from rageval.testing._cases import SLACK, K
from strategies import ALPHAS, NON_DYADIC, RUN_LAWS, RunCase, case, cases, cutoffs, mask_case, mask_cases

CASES = 200 if os.environ.get("HYPOTHESIS_PROFILE") == "nightly" else 20

# Greedy takes dZ{1,3} first, because of its name; the run's dA{1,2} dB{3,4} is better.
ABOVE_1 = RunCase(
    {"q": {"dA": 3.0, "dB": 2.0, "dZ": 1.0}},
    {"q": {"1": {"dA": 1, "dZ": 1}, "2": {"dA": 1}, "3": {"dB": 1, "dZ": 1}, "4": {"dB": 1}}},
)
IDEAL = ("alpha_ndcg", "nerr_ia", "nnrbp")
GRADED = ("ndcg", "d_ndcg", "d_sharp")  # whose ideal grows with the cut-off, too
FALSE: dict[str, dict[str, int | RunCase]] = {
    "renaming_documents_at_will_changes_nothing": dict.fromkeys(IDEAL, 65),
    "a_nugget_nobody_supports_changes_nothing": {"coverage": 0},
    "grows_with_k": dict.fromkeys((*IDEAL, *GRADED, "err_ia", "p_ia", "p", "judged", "hole"), 0),
    "is_the_same_beyond_the_runs_depth": dict.fromkeys((*IDEAL, *GRADED, "err_ia", "p_ia", "p", "hole"), 0),
    "appending_a_document_never_lowers": {"judged": 0},
    "moving_a_relevant_document_up_never_lowers": {"hole": 1},
    "is_at_most_1": {"alpha_dcg": 0, **dict.fromkeys(IDEAL, ABOVE_1)},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", RUN_LAWS)
@pytest.mark.parametrize("measure", OF_RUNS.values(), ids=str)
def test_every_law_holds_or_has_its_counterexample(measure: rageval.Measure, name: str) -> None:
    counter_example = FALSE.get(name, {}).get(measure.name)
    if counter_example is None:
        for seed in range(CASES):
            rng = random.Random(seed)
            drawn = case(rng)
            broken = f"{measure}: {name} does not hold of random case {seed}; mend the measure, or"
            where = f"add {measure.name!r}: {seed} to {name} in FALSE of tests/measures/test_laws.py"
            assert RUN_LAWS[name](measure, drawn, rng), f"{broken} {where}"
    else:
        rng = random.Random(counter_example if isinstance(counter_example, int) else 0)
        drawn = case(rng) if isinstance(counter_example, int) else counter_example
        assert not RUN_LAWS[name](measure, drawn, rng), f"{name} holds of {measure}: remove it from FALSE"


def variants(measure: rageval.Measure) -> list[rageval.Measure]:
    """The measure with every choice and every end of each of its parameters, without and with cut-offs."""
    chosen = [
        (of.name, of.kind(value))
        for of in measure.declared.values()
        for value in of.choices or of.limits or ()
    ]
    forms = [measure, *(measure(**{name: value}) for name, value in chosen if name != "rel")]
    return [
        form if k is None else form @ k
        for form in forms
        for k in (None, 1, 2, K)
        if k is None or form.takes_k
    ]


@pytest.mark.slow
def test_values_are_between_the_ends_that_parameters_have() -> None:
    """Of topics with several nuggets a document; the greedy ideal alone may be passed."""
    measures = list(dict.fromkeys(form for measure in OF_RUNS.values() for form in variants(measure)))
    for seed in range(CASES // 4):
        drawn = case(random.Random(seed))
        for measure, score in zip(
            measures, rageval.evaluate(measures, drawn.run, drawn.qrels).values(), strict=True
        ):
            low, high = measure.ends
            values = [value for value in score.numbers if value == value]
            top = float("inf") if measure.about.above_1 else high + SLACK
            assert all(low - SLACK <= value <= top for value in values), (measure, seed, values)


def test_the_table_names_laws_and_measures_that_exist() -> None:
    assert set(FALSE) <= set(RUN_LAWS)
    assert {name for names in FALSE.values() for name in names} <= set(OF_RUNS)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("alpha", [0, 0.3, 0.5, 1])
@pytest.mark.slow
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


@pytest.mark.slow
@pytest.mark.some(10)
@pytest.mark.parametrize("seed", range(20))
def test_any_measures_together_equal_each_alone(seed: int) -> None:
    rng = random.Random(seed)
    drawn = case(rng)
    names = [f"{name}@{k}" for name in OF_RUNS for k in (1, 3)] + list(OF_RUNS)
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
        RunCase(
            {q + tag: docs for q, docs in drawn.run.items()}, {q + tag: n for q, n in drawn.qrels.items()}
        )
        for tag in ("x", "y")
    )
    for measure in OF_RUNS.values():
        both = rageval.evaluate(measure @ 2, one.run | two.run, one.qrels | two.qrels)[measure @ 2]
        parts = [rageval.evaluate(measure @ 2, part.run, part.qrels)[measure @ 2] for part in (one, two)]
        total = sum(part.value * part.queries for part in parts) / sum(part.queries for part in parts)
        assert both.value == pytest.approx(total, abs=1e-12)


# With 1 - alpha = 0.7 sums of gains round, so that any order they are taken in could show.
ORDER_LAWS = [
    *("nugget_names_change_no_digit", "row_order_changes_no_digit", "each_query_is_scored_alone"),
    "renaming_documents_in_order_changes_no_digit",
]


@pytest.mark.some(8)
@pytest.mark.parametrize("name", ORDER_LAWS)
@pytest.mark.parametrize("measure", [OF_RUNS[f.__name__](alpha=0.3) for f in NOVELTY], ids=str)
def test_no_digit_changes_where_sums_round(measure: rageval.Measure, name: str) -> None:
    for seed in range(CASES):
        rng = random.Random(seed)
        drawn = mask_case(rng)
        assert RUN_LAWS[name](measure, drawn, rng), seed


some_cases = st.one_of(cases, mask_cases)
alphas = st.sampled_from(ALPHAS + NON_DYADIC)
Judged = dict[str, dict[str, int]]


def with_cutoff(measure: rageval.Measure, k: int | None) -> rageval.Measure:
    return measure if k is None else measure @ k


def by_query(measure: rageval.Measure, run: oracle.Run, qrels: oracle.Qrels) -> dict[str, float]:
    return rageval.evaluate(measure, run, qrels)[measure].by_query


def in_order(docs: list[str]) -> dict[str, float]:
    return {doc: -float(rank) for rank, doc in enumerate(docs)}


def supported(judged: Judged) -> dict[str, frozenset[str]]:
    return Query({}, judged, 1, RIGHT).supports


@pytest.mark.slow
@given(some_cases, alphas, cutoffs)
def test_the_cap_holds_on_inputs_made_for_ties(drawn: RunCase, alpha: str, k: int | None) -> None:
    deepest = k or max(len(supported(judged)) for judged in drawn.qrels.values())
    cap = 1 / (1 - (1 - 1 / deepest) ** deepest)
    assert (
        max(by_query(with_cutoff(alpha_ndcg(alpha=alpha), k), drawn.run, drawn.qrels).values()) <= cap + SLACK
    )


@pytest.mark.slow
@given(some_cases, alphas, cutoffs)
def test_the_greedy_order_scores_exactly_1(drawn: RunCase, alpha: str, k: int | None) -> None:
    oracles = {query: Query({}, judged, 1, RIGHT) for query, judged in drawn.qrels.items()}
    ideal = {query: q.ideal_order(Fraction(alpha), k) for query, q in oracles.items()}
    run = {query: in_order(docs or ["nothing relevant"]) for query, docs in ideal.items()}
    for measure in (OF_RUNS[name](alpha=alpha) for name in ("alpha_ndcg", "nerr_ia", "nnrbp")):
        values = by_query(with_cutoff(measure, k), run, drawn.qrels)
        assert values == {query: float(bool(docs)) for query, docs in ideal.items()}


@pytest.mark.slow
@given(some_cases, cutoffs)
def test_alpha_0_is_ndcg_with_the_number_of_nuggets_as_grade(drawn: RunCase, k: int | None) -> None:
    counted = {q: {doc: len(n) for doc, n in supported(judged).items()} for q, judged in drawn.qrels.items()}
    values = by_query(with_cutoff(alpha_ndcg(alpha=0), k), drawn.run, drawn.qrels)
    assert values == pytest.approx(
        by_query(with_cutoff(rageval.measures.ndcg, k), drawn.run, counted), rel=0, abs=SLACK
    )


@pytest.mark.slow
@given(some_cases, alphas)
def test_at_rank_1_it_is_the_share_of_the_most_nuggets_a_document_has(drawn: RunCase, alpha: str) -> None:
    values = by_query(alpha_ndcg(alpha=alpha) @ 1, drawn.run, drawn.qrels)
    for query, judged in drawn.qrels.items():
        q = Query(drawn.run.get(query, {}), judged, 1, RIGHT)
        first = sum(len(q.supports.get(doc, ())) for doc in q.top(1))
        most = max(map(len, q.supports.values()))
        assert values[query] == (first / most if most else 0.0)


@pytest.mark.slow
@given(some_cases)
def test_alpha_1_with_one_nugget_is_the_discount_of_its_first_document(drawn: RunCase) -> None:
    qrels = {query: dict([next(iter(judged.items()))]) for query, judged in drawn.qrels.items()}
    values = by_query(alpha_dcg(alpha=1), drawn.run, qrels)
    for query, judged in qrels.items():
        q = Query(drawn.run.get(query, {}), judged, 1, RIGHT)
        rank = next((rank for rank, doc in enumerate(q.ranking, 1) if q.supports.get(doc)), None)
        assert values[query] == pytest.approx(1 / log2(1 + rank) if rank else 0.0, abs=1e-15)


BLIND_TO_SETS = ("hole", "ndcg")  # one rises with unjudged documents, the other looks at grades


@pytest.mark.slow
@given(some_cases, cutoffs)
def test_a_superset_above_its_subset_never_lowers(drawn: RunCase, k: int | None) -> None:
    before = {query: in_order(Query(docs, {}, 1, RIGHT).ranking) for query, docs in drawn.run.items()}
    after = {q: in_order(supersets_up(list(docs), drawn.qrels.get(q, {}))) for q, docs in before.items()}
    chosen = [with_cutoff(measure, k) for name, measure in OF_RUNS.items() if name not in BLIND_TO_SETS]
    low, high = (rageval.evaluate(chosen, run, drawn.qrels) for run in (before, after))
    for measure in chosen:
        assert (high[measure].values >= low[measure].values - SLACK).all(), measure


def supersets_up(docs: list[str], judged: Judged) -> list[str]:
    """Neighbours change places once, where the lower one supports more than all that the upper one does."""
    sets = supported(judged)
    for upper, (one, other) in enumerate(pairwise(docs)):
        if sets.get(one, frozenset()) < sets.get(other, frozenset()):
            return [*docs[:upper], other, one, *docs[upper + 2 :]]
    return docs


@pytest.mark.slow
@given(some_cases)
def test_a_document_adds_less_to_the_coverage_of_a_longer_ranking(drawn: RunCase) -> None:
    for judged in drawn.qrels.values():
        *docs, last = [*supported(judged), "not judged"][::-1]
        shorter = {str(length): in_order(docs[:length]) for length in range(1, len(docs) + 1)}
        longer = {length: in_order([*value, last]) for length, value in shorter.items()}
        qrels = dict.fromkeys(shorter, judged)
        before, after = by_query(coverage, shorter, qrels), by_query(coverage, longer, qrels)
        added = [after[length] - before[length] for length in shorter]
        assert all(later <= earlier + SLACK for earlier, later in pairwise(added))


@pytest.mark.slow
@given(some_cases, st.data())
def test_any_increasing_map_of_scores_changes_no_digit(drawn: RunCase, data: st.DataObject) -> None:
    levels = sorted({score for docs in drawn.run.values() for score in docs.values()})
    floats = st.floats(allow_nan=False, allow_infinity=False).map(lambda score: score + 0.0)  # -0.0 is 0.0
    mapped = sorted(data.draw(st.lists(floats, min_size=len(levels), max_size=len(levels), unique=True)))
    to = dict(zip(levels, mapped, strict=True))
    run = {query: {doc: to[score] for doc, score in docs.items()} for query, docs in drawn.run.items()}
    chosen = [measure @ K for measure in OF_RUNS.values()]
    pair_of_scores, expected = (
        rageval.evaluate(chosen, ranking, drawn.qrels) for ranking in (run, drawn.run)
    )
    assert [score.by_query for score in pair_of_scores.values()] == [
        score.by_query for score in expected.values()
    ]
