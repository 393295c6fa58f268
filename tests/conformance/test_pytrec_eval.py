"""Agreement with pytrec_eval (trec_eval 9.0.8) where it is right: scores that differ as 32-bit floats."""

from __future__ import annotations

import random

import pytest
import pytrec_eval

import rageval
from peer_tools import TREC_EVAL_WITH_CUTOFF, TREC_EVAL_WITHOUT_CUTOFF

pytestmark = pytest.mark.slow

Run = dict[str, dict[str, float]]
Qrels = dict[str, dict[str, int]]

TOLERANCE = 1e-12
CUTOFFS = (1, 2, 3, 5, 10, 20, 100, 1000)


def pairs(k: int) -> list[tuple[str, str]]:
    """Our measures and theirs: those with a cut-off at k, and the others."""
    return [
        *((f"{o}@{k}", f"{t}_{k}") for o, t in TREC_EVAL_WITH_CUTOFF.items()),
        *TREC_EVAL_WITHOUT_CUTOFF.items(),
    ]


def judgements(rng: random.Random) -> dict[str, int]:
    docs = [f"d{number}" for number in rng.sample(range(200), rng.randint(1, 60))]
    return {doc: rng.choice((0, 0, 0, 1, 1, 2, 3, 10)) for doc in docs}


def ranking(rng: random.Random, judged: dict[str, int]) -> dict[str, float]:
    """Judged and unjudged documents in any order, no two scores equal."""
    docs_known = sorted({*judged, *(f"u{number}" for number in range(60))})
    docs = rng.sample(docs_known, rng.randint(1, len(docs_known)))
    return dict(zip(docs, rng.sample([score / 8 for score in range(-999, 999)], len(docs)), strict=True))


def random_data(seed: int, queries: int = 400) -> tuple[Run, Qrels]:
    rng = random.Random(seed)
    qrels = {f"q{number}": judgements(rng) for number in range(queries)}
    return {query: ranking(rng, judged) for query, judged in qrels.items()}, qrels


def peer_values(measure: str, run: Run, qrels: Qrels, **options: int) -> dict[str, float]:
    values = pytrec_eval.RelevanceEvaluator(qrels, {measure}, **options).evaluate(run)
    return {query: by_measure[measure] for query, by_measure in values.items()}


def assert_equal(values: dict[str, float], expected: dict[str, float]) -> None:
    assert values == pytest.approx(expected, rel=0, abs=TOLERANCE)


@pytest.mark.some(3)
@pytest.mark.parametrize("k", CUTOFFS)
def test_random_topics(k: int) -> None:
    run, qrels = random_data(seed=k)
    for ours, theirs in pairs(k):
        assert_equal(rageval.evaluate(ours, run, qrels)[ours].by_query, peer_values(theirs, run, qrels))


@pytest.mark.parametrize("rel", [2, 3, 11])
def test_other_grades_as_relevant(rel: int) -> None:
    run, qrels = random_data(seed=rel, queries=200)
    for ours, theirs in pairs(10):
        if not ours.startswith("ndcg"):
            measure = rageval.parse_measure(ours)(rel=rel)
            values = rageval.evaluate(measure, run, qrels)[measure].by_query
            assert_equal(values, peer_values(theirs, run, qrels, relevance_level=rel))


@pytest.mark.parametrize("k", [1, 10, 100])
def test_judged_documents_only(k: int) -> None:
    run, qrels = random_data(seed=k, queries=200)
    for ours, theirs in pairs(k):
        values = rageval.evaluate(ours, run, qrels, judged_only=True)[ours].by_query
        assert_equal(values, peer_values(theirs, run, qrels, judged_docs_only_flag=1))


def test_negative_grades_are_worth_as_much_as_0() -> None:
    """pytrec_eval gets the zeros: a negative grade makes it write outside its memory, and crash at times."""
    run, qrels = random_data(seed=5, queries=300)
    spam = {query: {doc: grade or -2 for doc, grade in docs.items()} for query, docs in qrels.items()}
    for ours, theirs in pairs(10):
        assert_equal(rageval.evaluate(ours, run, spam)[ours].by_query, peer_values(theirs, run, qrels))


def test_a_document_is_worth_its_highest_grade_over_the_nuggets() -> None:
    run, qrels = random_data(seed=6, queries=300)
    rng = random.Random(6)
    nuggets = {query: spread(rng, docs) for query, docs in qrels.items()}
    for ours, theirs in pairs(10):
        assert_equal(rageval.evaluate(ours, run, nuggets)[ours].by_query, peer_values(theirs, run, qrels))


def spread(rng: random.Random, docs: dict[str, int]) -> dict[str, dict[str, int]]:
    """Judgements of three nuggets: for each document one nugget has the grade, the others no higher one."""
    nuggets: dict[str, dict[str, int]] = {"n1": {}, "n2": {}, "n3": {}}
    for doc, grade in docs.items():
        for number, nugget in enumerate(rng.sample(sorted(nuggets), 3)):
            nuggets[nugget][doc] = grade if number == 0 else rng.randint(-1, grade)
    return nuggets
