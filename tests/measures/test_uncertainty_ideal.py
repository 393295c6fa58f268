"""The exact ideal of alpha-nDCG, against all orders of the judged documents."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import product
from math import log2
from pathlib import Path

import pytest
from click.testing import CliRunner

import oracle
import rageval
from oracle import RIGHT, Query
from rageval.cli import main
from rageval.errors import MeasureError
from rageval.measures import exact_ideal
from rageval.testing._cases import SLACK
from strategies import ALPHAS, RUN_LAWS, RunCase, case, mask_case

DATA = Path(__file__).parents[2] / "examples/data"
EXACT = rageval.alpha_ndcg(ideal="exact")
GREEDY = rageval.alpha_ndcg
ABOVE_1 = {"1": {"dA": 1, "dZ": 1}, "2": {"dA": 1}, "3": {"dB": 1, "dZ": 1}, "4": {"dB": 1}}
FOUR = {"A": "01456", "B": "01567", "C": "267", "D": "0135"}


def nuggets_of(documents: dict[str, str]) -> dict[str, dict[str, int]]:
    names = sorted(set("".join(documents.values())))
    return {name: {doc: 1 for doc, has in documents.items() if name in has} for name in names}


def small(drawn: RunCase) -> bool:
    return all(len({doc for docs in judged.values() for doc in docs}) <= 6 for judged in drawn.qrels.values())


@pytest.mark.slow
@pytest.mark.some(10)
@pytest.mark.parametrize("seed", range(60))
def test_it_is_the_best_of_all_orders(seed: int) -> None:
    rng = random.Random(seed)
    drawn = (case if seed % 2 else mask_case)(rng)
    if not small(drawn):
        return
    alpha = Fraction(rng.choice(ALPHAS))
    for k in (2, 3, 5):
        result = rageval.evaluate(EXACT(alpha=float(alpha)) @ k, drawn.run, drawn.qrels).scores[0].by_query
        for query, judged in drawn.qrels.items():
            asked = Query(drawn.run.get(query, {}), judged, 1, RIGHT)
            best = oracle.optimum(asked, k, alpha)
            expected = oracle.share(oracle.alpha_dcg(asked, k, alpha), best)
            assert result[query] == pytest.approx(expected, abs=1e-12)


@pytest.mark.slow
def test_all_ways_to_give_three_documents_three_nuggets() -> None:
    """Every assignment at once, a query each: 512 ideals."""
    qrels, run = {}, {}
    for index, mask in enumerate(product((0, 1), repeat=9)):
        judged = {n: {d: mask[3 * int(d) + int(n)] for d in "012"} for n in "012"}
        qrels[str(index)], run[str(index)] = judged, {"2": 3.0, "1": 2.0, "0": 1.0}
    result = rageval.evaluate(EXACT @ 2, run, qrels).scores[0].by_query
    for query, judged in qrels.items():
        asked = Query(run[query], judged, 1, RIGHT)
        assert result[query] == pytest.approx(
            oracle.share(oracle.alpha_dcg(asked, 2), oracle.optimum(asked, 2)), abs=1e-12
        )


@pytest.mark.parametrize(
    ("judged", "run", "k", "greedy"),
    [(ABOVE_1, "dA dB", 2, 1.1070681006), (nuggets_of(FOUR), "B C A D", 3, None)],
)
def test_where_greedy_is_above_1_exact_is_not(
    judged: dict[str, dict[str, int]], run: str, k: int, greedy: float | None
) -> None:
    ranked = {"q": {doc: -float(index) for index, doc in enumerate(run.split())}}
    scores = rageval.evaluate([GREEDY @ k, EXACT @ k], ranked, {"q": judged})
    if greedy is not None:
        assert scores[GREEDY @ k].value == pytest.approx(greedy, abs=1e-9)
        assert scores[EXACT @ k].value == 1.0
    assert scores[EXACT @ k].value <= 1 + SLACK


@pytest.mark.slow
@pytest.mark.parametrize("name", RUN_LAWS)
def test_every_law_that_greedy_breaks_for_being_greedy_holds(name: str) -> None:
    """Names of documents, values above 1; what normalizing alone breaks stays broken."""
    broken = {"grows_with_k", "is_the_same_beyond_the_runs_depth"}
    for seed in range(12):
        rng = random.Random(seed)
        drawn = case(rng)
        if name not in broken:
            assert RUN_LAWS[name](EXACT, drawn, rng), (name, seed)


def test_the_gap_to_greedy_is_told() -> None:
    evaluator = rageval.Evaluator(EXACT @ 2, {"q": ABOVE_1, "easy": {"1": {"a": 1}}})
    queries, most = evaluator.gap_to_greedy(EXACT @ 2)
    assert (queries, round(most, 4)) == (1, 0.1071)
    files = [str(DATA / "run.trec"), str(DATA / "qrels.nugget")]
    result = CliRunner().invoke(main, [*files, "-m", "alpha_ndcg(ideal=exact)@10"])
    assert "the greedy ideal is not the best ranking in" in result.stderr
    assert "of 12 queries" in result.stderr


def test_a_ranking_that_is_not_proved_in_so_many_steps_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """The steps of the search are counted, not seconds: the same file has the same answer on any machine."""
    rng = random.Random(5)
    judged = {str(n): {f"d{d}": int(rng.random() < 0.2) for d in range(25)} for n in range(12)}
    run = {"q": {"d0": 1.0}}
    assert 0 <= rageval.evaluate(EXACT @ 8, run, {"q": judged}).scores[0].value <= 1
    monkeypatch.setattr(exact_ideal, "_NODES", 0)
    with pytest.raises(MeasureError, match=r"was proved in 0 steps at depth 8.*; choose"):
        rageval.evaluate(EXACT @ 8, run, {"q": judged})


@pytest.mark.slow
def test_a_programme_that_is_too_large_is_refused_before_it_is_solved() -> None:
    rng = random.Random(1)
    judged = {str(n): {f"d{d}": int(rng.random() < 0.1) for d in range(200)} for n in range(100)}
    with pytest.raises(MeasureError, match=r"a question of [\d,]+ variables"):
        rageval.evaluate(EXACT, {"q": {"d0": 1.0}}, {"q": judged})


def test_only_nuggets_are_worth_something_to_the_solver() -> None:
    """Nugget 1 stands in two documents, the second time for half; 2 and 3 stand in one; at rank 1 or 2."""
    value, _ = exact_ideal._programme({(1, 2): 1, (1, 3): 1}, 2, 0.5, lambda _: 1.0)
    assert sum(value) == pytest.approx((1 + 0.5 + 1 + 1) * (1 + 1 / log2(3)))


def test_easy_queries_need_no_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact_ideal, "_best_order", lambda *_: pytest.fail("asked the solver"))
    one_each = {"q": {"1": {"a": 1, "b": 1}, "2": {"c": 1}}}
    alike = {"q": {"1": {"a": 1, "b": 1}, "2": {"a": 1, "b": 1}}}
    assert rageval.evaluate(EXACT @ 2, {"q": {"a": 2.0, "b": 1.0}}, alike).scores[0].value == 1
    assert rageval.evaluate(EXACT @ 3, {"q": {"a": 1.0}}, one_each).scores[0].value < 1
    assert rageval.evaluate(EXACT @ 1, {"q": {"dA": 1.0}}, {"q": ABOVE_1}).scores[0].value == 1
    assert rageval.evaluate(EXACT(alpha=0) @ 2, {"q": {"dA": 1.0}}, {"q": ABOVE_1}).scores[0].value < 1
