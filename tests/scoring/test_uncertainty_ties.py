"""Means and extremes over the orders of equal scores, against all orders."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import groupby, islice, permutations, product
from math import comb, isnan

import numpy as np
import pytest
from click.testing import CliRunner

import rageval
from rageval.cli import main
from rageval.errors import MeasureError
from rageval.measures import measures_taking, ties
from rageval.measures.ties import _group_gains
from strategies import RunCase, case

VARIANTS = [
    *("alpha_ndcg(alpha=0.3)", "alpha_ndcg(alpha=1)", "alpha_dcg(normalize=independent)"),
    *("err_ia(normalize=ndeval)", "nrbp(beta=0.8)", "coverage(denominator=attainable)", "coverage(rel=2)"),
    *("recall(rel=0)", "ndcg(dcg=exp_log2)"),
]
MEASURES = [*map(str, measures_taking("Ranking").values()), *VARIANTS]
Ranking = dict[str, float]


def all_orders(docs: Ranking) -> Iterator[Ranking]:
    """Every ranking without ties that agrees with this one."""
    ranked = sorted(docs, key=lambda doc: -docs[doc])
    groups = [list(group) for _, group in groupby(ranked, key=lambda doc: docs[doc])]
    for chosen in product(*(permutations(group) for group in groups)):
        yield {doc: -float(index) for index, doc in enumerate(doc for group in chosen for doc in group)}


def small_case(seed: int) -> RunCase:
    """A case with at most 60 orders a query, in some query more than one."""
    rng = random.Random(seed)
    while True:
        drawn = case(rng)
        counts = [len(list(islice(all_orders(docs), 61))) for docs in drawn.run.values()]
        if 1 < max(counts) <= 60:
            return drawn


def over_all_orders(
    measures: list[str], drawn: RunCase, **rules: object
) -> dict[str, dict[str, list[float]]]:
    """measure -> query -> its values, each order of each query being a query of its own."""
    run: dict[str, Ranking] = {}
    qrels = {}
    for query, judged in drawn.qrels.items():
        for index, ranking in enumerate(all_orders(drawn.run.get(query, {}))):
            run[f"{query}\t{index}"], qrels[f"{query}\t{index}"] = ranking, judged
    scores = rageval.evaluate(measures, run, qrels, **rules)
    totals: dict[str, dict[str, list[float]]] = {}
    for name, score in zip(measures, scores.scores, strict=True):
        for query, value in score.by_query.items():
            totals.setdefault(name, {}).setdefault(query.partition("\t")[0], []).append(value)
    return totals


RULES = [{}, {"depth": 3}, {"judged_only": True}, {"judged_only": True, "depth": 2}]


@pytest.mark.slow
@pytest.mark.some(16)
@pytest.mark.parametrize("rules", RULES, ids=str)
@pytest.mark.parametrize("k", [1, 2, 4, None])
def test_mean_and_ends_are_those_of_all_orders(k: int | None, rules: dict[str, object]) -> None:
    measures = [f"{name}@{k}" if k else name for name in MEASURES]
    for seed in range(8):
        drawn = small_case(seed)
        truth = over_all_orders(measures, drawn, **rules)
        scores = rageval.evaluate(measures, drawn.run, drawn.qrels, ties="expected", **rules)
        for name, score in zip(measures, scores.scores, strict=True):
            mean = {query: sum(values) / len(values) for query, values in truth[name].items()}
            assert score.by_query == pytest.approx(mean, abs=1e-12), (name, seed)
            ends = [np.mean([end(values) for values in truth[name].values()]) for end in (min, max)]
            assert score.bounds == pytest.approx(ends, abs=1e-12), (name, seed)


def test_the_worst_order_counts_the_documents_of_a_nugget_from_one() -> None:
    """Four tied documents; worst are c, b, d, a in this order or one as bad: 47/36 for two nuggets."""
    qrels = {"q": {"x": {"a": 1, "d": 1}, "y": {"a": 1, "b": 1, "c": 1}}}
    run = {"q": dict.fromkeys("abcd", 1.0)}
    score = rageval.evaluate("map_ia", run, qrels, ties="expected").scores[0]
    orders = over_all_orders(["map_ia"], RunCase(run, qrels))["map_ia"]["q"]
    assert score.bounds == (min(orders), max(orders))
    assert min(orders) == pytest.approx(47 / 36 / 2, abs=1e-15)


def test_ties_that_matter_are_found_often_enough_to_test_anything() -> None:
    spread = 0
    for seed in range(12):
        drawn = small_case(seed)
        bounds = rageval.evaluate("alpha_ndcg@2", drawn.run, drawn.qrels, ties="expected").scores[0].bounds
        assert bounds is not None
        spread += bounds[1] > bounds[0]
    assert spread >= 6


def test_without_ties_nothing_changes() -> None:
    run, qrels = {"q": {"a": 3.0, "b": 2.0}}, {"q": {"n": {"b": 1}}}
    plain = rageval.evaluate(MEASURES, run, qrels)
    expected = rageval.evaluate(MEASURES, run, qrels, ties="expected")
    for one, other in zip(plain.scores, expected.scores, strict=True):
        assert one.by_query == other.by_query
        assert other.bounds == (one.value, one.value)
        assert "ties:expected" in other.signature


@pytest.mark.parametrize(("size", "marked", "alpha"), [(5, 3, 0.5), (7, 7, 0.3), (6, 1, 0.9), (4, 2, 1.0)])
def test_gains_of_a_group_are_the_formulas(size: int, marked: int, alpha: float) -> None:
    """m/g · Σ_h P(H = h) (1−α)^h with hypergeometric H, from binomial coefficients."""
    for place in range(1, size + 1):
        total = comb(size - 1, place - 1)
        ways = [comb(marked - 1, h) * comb(size - marked, place - 1 - h) for h in range(place)]
        mean = sum(way / total * (1 - alpha) ** h for h, way in enumerate(ways))
        assert _group_gains(size, marked, alpha)[place - 1] == pytest.approx(marked / size * mean, abs=1e-15)


@pytest.mark.slow
def test_a_thousand_equal_scores_are_no_trouble() -> None:
    """One big group: the mean of @k is the same whatever the names are, and near what sampling finds."""
    rng = random.Random(3)
    docs = [f"d{index}" for index in range(1000)]
    qrels = {"q": {str(n): dict.fromkeys(rng.sample(docs, 60), 1) for n in range(3)}}
    measures = ["alpha_ndcg@10", "coverage@10", "ap", "recall@100", "rr"]
    scores = rageval.evaluate(measures, {"q": dict.fromkeys(docs, 0.0)}, qrels, ties="expected")
    run, many = {}, {}
    for index in range(400):
        run[str(index)] = dict(zip(rng.sample(docs, 1000), range(1000), strict=True))
        many[str(index)] = qrels["q"]
    drawn = rageval.evaluate(measures, run, many)
    for name in measures:
        values = drawn[name].values
        assert scores[name].value == pytest.approx(values.mean(), abs=4 * values.std() / 20)
    assert not any(isnan(score.value) for score in scores.scores)


def test_too_many_orders_leave_the_mean_and_no_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ties, "_MOST_STATES", 3)
    run = {"q": dict.fromkeys("abcd", 1.0)}
    qrels = {"q": {"1": {"a": 1, "b": 1}, "2": {"b": 1, "c": 1}, "3": {"d": 1}}}
    scores = rageval.evaluate("alpha_ndcg@2, recall@2", run, qrels, ties="expected")
    assert scores["alpha_ndcg@2"].bounds is None
    assert scores["alpha_ndcg@2"].value > 0
    assert scores["recall@2"].bounds == (0.5, 0.5)


def test_more_than_five_thousand_states_are_too_many() -> None:
    """Of two documents alike 0 to 2 are taken, of 1,666 others 0 to 1,666: 3 · 1,667 = 5,001 states."""
    group = ties.TieGroup(0, 1668, (0, 1))
    assert ties._extreme(group, {0: (1,), 1: (1,)}, {}, lambda *_: 0.0, 1668, True) is None


def test_measures_that_are_no_function_of_a_ranking_are_refused() -> None:
    with pytest.raises(MeasureError, match="not known; choose another rule for ties"):
        rageval.evaluate("Rprec", {"q": {"a": 1.0}}, {"q": {"a": 1}}, ties="expected")


@pytest.mark.slow
def test_a_measure_without_a_closed_form_takes_all_orders_where_they_are_few() -> None:
    @rageval.measure
    def mine(ranking, *, k=None, rel: int = 1):  # type: ignore[no-untyped-def]
        "Recall, as if nothing were known of it."
        return len(ranking.hits(k, rel)) / ranking.relevant(rel)

    run = {"q": {"z": 9.0} | dict.fromkeys("abcdefg", 1.0)}
    qrels = {"q": {"a": 1, "b": 1, "c": 0, "x": 1}}
    for k in range(1, 8):
        one, other = (
            rageval.evaluate(m @ k, run, qrels, ties="expected")[m @ k] for m in (mine, rageval.recall)
        )
        assert one.value == pytest.approx(other.value, abs=1e-15)
        assert one.bounds == other.bounds
    crowd = {"q": dict.fromkeys("abcdefgh", 1.0)}
    with pytest.raises(MeasureError, match=r"mine@8: .* the query 'q' has more than 5,040 orders"):
        rageval.evaluate(mine @ 8, crowd, qrels, ties="expected")


def test_on_the_command_line_the_ends_are_told(tmp_path) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "run").write_text("q Q0 a 1 1 t\nq Q0 b 2 1 t\n")
    (tmp_path / "qrels").write_text("q 0 a 1\nq 0 c 1\n")
    words = [str(tmp_path / "run"), str(tmp_path / "qrels"), "-m", "recall@1", "--ties", "expected"]
    result = CliRunner().invoke(main, words)
    assert result.stdout.split() == ["recall@1", "all", "0.2500"]
    assert "recall@1: from 0.0000 to 0.5000 over all orders of equal scores" in result.stderr
