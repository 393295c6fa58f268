"""What a document would change: in closed form what scoring the changed judgements gives, to the last bit."""

from __future__ import annotations

import math
import random
from itertools import combinations, starmap
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval import evaluate
from rageval.comparison.next_documents import Moves, gains
from rageval.measures import builtin
from rageval.measures.base import Measure
from rageval.measures.parsing import parse_measure
from rageval.measures.ranking import Ranking, Topic

DOCS = [f"d{at}" for at in range(9)]
BOUNDED = [
    name for name, ours in builtin().items() if isinstance(ours, Measure) and ours.about.bounds is not None
]
OTHERS = [
    "ap(rel=2)",
    "ndcg(dcg=exp_log2)",
    "p(rel=2)",
    "recall(rel=2)",
    "rr(rel=2)",
    "alpha_ndcg(alpha=0.9)",
]
Judged = dict[str, dict[str, int | float]]


def measure_of(name: str, k: int | None) -> Measure:
    found = parse_measure(name if k is None else f"{name}@{k}")
    assert isinstance(found, Measure)
    return found


@st.composite
def worlds(draw: st.DrawFn) -> tuple[list[str], Judged, list[str], int | float]:
    """Draw a ranking, judgements, documents that nobody judged (the last is retrieved nowhere), a grade."""
    ranking = draw(st.permutations(DOCS))[: draw(st.integers(0, 9))]
    known = draw(st.lists(st.sampled_from(DOCS), max_size=7, unique=True))
    fractions = draw(st.booleans())
    grade = st.sampled_from([0, 0.5, 1.0, 2.25] if fractions else [-1, 0, 0, 1, 2])
    nuggets = draw(st.integers(1, 3))
    judged: Judged = {str(n): {doc: draw(grade) for doc in known} for n in range(nuggets)}
    open_ = [doc for doc in DOCS if doc not in known]
    return ranking, judged, [*open_, "nowhere"], draw(st.sampled_from([1, 2, 3]))


def scored(measure: Measure, ranking: list[str], each_judged: list[Judged]) -> list[float]:
    """Return its value by each of these judgements, each of them those of a query of its own."""
    ranked = {doc: -float(rank) for rank, doc in enumerate(ranking)}
    judgements = {f"q{at}": judged for at, judged in enumerate(each_judged)}
    run = dict.fromkeys(judgements, ranked) | {"r": {"x": 1.0}}
    scores = evaluate(measure, run, judgements | {"r": {"0": {"x": 3}}}, nothing_judged="zero")
    return [scores[measure].by_query[query] for query in judgements]


def adding(judged: Judged, docs: list[str], grade: int | float) -> Judged:
    return {nugget: {**grades, **dict.fromkeys(docs, grade)} for nugget, grades in judged.items()}


@pytest.mark.some(2)
@pytest.mark.parametrize("name", [*BOUNDED, *OTHERS])
@given(world=worlds(), k=st.sampled_from([None, 1, 3, 20]))
def test_a_gain_is_what_scoring_the_changed_judgements_gives(name: str, world: Any, k: int | None) -> None:
    ranking, judged, open_, grade = world
    measure, topic = measure_of(name, k), Topic.of(judged)
    alone = gains(measure, ranking, topic, dict.fromkeys(open_), grade)
    beside = gains(measure, ranking, topic, dict.fromkeys(open_), grade, topic.adding(open_, grade))
    each = [[], open_, *([doc] for doc in open_), *([o for o in open_ if o != doc] for doc in open_)]
    usual, whole, *values = scored(measure, ranking, [adding(judged, docs, grade) for docs in each])
    for doc, with_it, without in zip(open_, values, values[len(open_) :], strict=False):
        assert alone.ranked.get(doc, alone.elsewhere) == with_it - usual
        assert beside.ranked.get(doc, beside.elsewhere) == whole - without


@pytest.mark.slow
@given(worlds())
def test_judgements_with_more_documents_are_those_that_hold_them(world: Any) -> None:
    _, judged, open_, grade = world
    more, anew = Topic.of(judged).adding(open_, grade), Topic.of(adding(judged, open_, grade))
    assert more.ids == anew.ids
    assert more.grades == anew.grades
    assert more.listed == anew.listed
    assert more.highest == anew.highest
    assert more.supported(1) == anew.supported(1)
    assert more.ideal(None, 0.5) == anew.ideal(None, 0.5)


def test_nuggets_keep_their_weights_beside_more_documents() -> None:
    topic = Topic.of({"1": {"a": 1}, "2": {"a": 0}}, {"1": 3.0, "2": 1.0})
    assert topic.adding(["x"], 1).weights == topic.weights
    assert Ranking.of(["x"], topic.adding(["x"], 1)).gains(None, 0.5) == [(1, 2.0)]


@settings(max_examples=50, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    runs=st.integers(2, 7),
    name=st.sampled_from(["ap", "rr@5", "ndcg@4", "p@3", "recall"]),
)
def test_what_a_document_moves_is_the_sum_over_the_pairs(seed: int, runs: int, name: str) -> None:
    rng = random.Random(seed)
    measure, topic = measure_of(name, None), Topic.of({"0": {doc: rng.choice([0, 1]) for doc in DOCS[:3]}})
    rankings = {f"r{at}": rng.sample(DOCS, rng.randint(0, 9)) for at in range(runs)}
    all_pairs = list(combinations(rankings, 2))
    pairs = rng.sample(all_pairs, rng.randint(1, len(all_pairs)))
    open_ = dict.fromkeys(DOCS[3:])
    moves = Moves(measure, rankings, topic, open_, pairs, 1)
    for doc in open_:
        much = []
        for others in (None, topic.adding(list(open_), 1)):
            found = {run: gains(measure, docs, topic, open_, 1, others) for run, docs in rankings.items()}
            gain = {run: each.ranked.get(doc, each.elsewhere) for run, each in found.items()}
            much.append(math.fsum(starmap(lambda one, other, gain=gain: abs(gain[one] - gain[other]), pairs)))
        assert moves.of(doc) == (max(much), min(much))
        assert moves.about(doc) == pytest.approx(max(much), abs=1e-12)
