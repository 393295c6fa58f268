"""`compat`: another tool's numbers, ties and all, for when a published one must be matched."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable

import pytest
import pytrec_eval

import rageval
from peer_tools import NDEVAL_WITH_CUTOFF as NDEVAL
from peer_tools import NDEVAL_WITHOUT_CUTOFF as NDEVAL_TO_THE_END
from rageval.scoring.scores import Score
from strategies import case

pytestmark = pytest.mark.slow

pyndeval = pytest.importorskip("pyndeval")

Run = dict[str, dict[str, float]]
Qrels = dict[str, dict[str, dict[str, int]]]

TOLERANCE = 1e-12
TREC_EVAL = {
    "ndcg": "ndcg",
    "ndcg@3": "ndcg_cut_3",
    "ap": "map",
    "rr": "recip_rank",
    "p@2": "P_2",
    "recall@3": "recall_3",
    "success@1": "success_1",
}


def random_data(seed: int, cases: int = 400) -> tuple[Run, Qrels]:
    """Small topics with many equal scores; some queries only in the run, some only judged."""
    rng = random.Random(seed)
    run: Run = {}
    qrels: Qrels = {}
    for number in range(cases):
        drawn = case(rng)
        qrels |= {f"{number}.{query}": judged for query, judged in drawn.qrels.items()}
        run |= {f"{number}.{query}": docs for query, docs in drawn.run.items()}
    return run, qrels


def documents(qrels: Qrels) -> dict[str, dict[str, int]]:
    """The highest grade over the nuggets, and 0 for grades below."""
    grades: dict[str, dict[str, int]] = {query: {} for query in qrels}
    for query, nuggets in qrels.items():
        for docs in nuggets.values():
            for doc, grade in docs.items():
                grades[query][doc] = max(grade, grades[query].get(doc, 0))
    return grades


def pyndeval_values(measure: str, run: Run, qrels: Qrels) -> dict[str, float]:
    """pyndeval's value of every judged query; 0 if the run lacks it, and for its 0/0."""
    rows = [
        (query, nugget, doc, grade)
        for query, nuggets in qrels.items()
        for nugget, docs in nuggets.items()
        for doc, grade in docs.items()
    ]
    ranked = [(query, doc, score) for query, docs in run.items() for doc, score in docs.items()]
    by_query = pyndeval.ndeval(rows, ranked, [measure])
    values = {query: by_query.get(query, {measure: 0.0})[measure] for query in qrels}
    return {query: 0.0 if math.isnan(value) else value for query, value in values.items()}


def pyndeval_means(measure: str, run: Run, qrels: Qrels) -> dict[str, float]:
    """What its mean is over: the judged queries that the run has."""
    values = pyndeval_values(measure, run, qrels)
    return {query: value for query, value in values.items() if query in run}


def scored(measure: str, run: Run, qrels: object, **options: object) -> Score:
    return rageval.evaluate(measure, run, qrels, **options)[measure]


def assert_equal(values: dict[str, float], expected: dict[str, float]) -> None:
    assert values == pytest.approx(expected, rel=0, abs=TOLERANCE)


class TestPyndeval:
    @pytest.mark.parametrize("k", [1, 2, 3, 20])
    def test_equal_scores_and_rank_1(self, k: int) -> None:
        run, qrels = random_data(seed=k)
        for ours, theirs in NDEVAL.items():
            values = scored(f"{ours}@{k}", run, qrels, compat="pyndeval").by_query
            assert_equal(values, pyndeval_means(f"{theirs}@{k}", run, qrels))

    @pytest.mark.parametrize("name", NDEVAL_TO_THE_END)
    def test_measures_without_a_cutoff(self, name: str) -> None:
        run, qrels = random_data(seed=5)
        values = scored(name, run, qrels, compat="pyndeval").by_query
        assert_equal(values, pyndeval_means(NDEVAL_TO_THE_END[name], run, qrels))

    def test_equal_scores_go_by_document_ascending(self) -> None:
        run, qrels = {"q": {"c": 1.0, "a": 1.0, "b": 1.0}}, {"q": {"n": {"a": 1}}}
        assert rageval.evaluate("alpha_ndcg@1", run, qrels)["alpha_ndcg@1"].value == 0.0
        assert rageval.evaluate("alpha_ndcg@1", run, qrels, compat="pyndeval")["alpha_ndcg@1"].value == 1.0

    def test_values_at_rank_1_are_not_normalized(self) -> None:
        run, qrels = {"q": {"a": 1.0}}, {"q": {nugget: {"a": 1} for nugget in ("n1", "n2", "n3")}}
        for name in ("alpha_dcg@1", "err_ia@1"):
            assert scored(name, run, qrels, compat="pyndeval").value == 3.0
        for name in ("alpha_dcg@2", "err_ia@2"):
            assert scored(name, run, qrels, compat="pyndeval").value < 1

    @pytest.mark.parametrize("depth", [1, 3])
    def test_depth_is_that_of_the_ranking_it_makes(self, depth: int) -> None:
        """As ndeval -M: the first documents, by its own rule for ties."""
        run, qrels = random_data(seed=depth)
        cut = {query: dict(pyndeval_order(docs)[:depth]) for query, docs in run.items()}
        for ours, theirs in NDEVAL_TO_THE_END.items():
            values = scored(ours, run, qrels, compat="pyndeval", depth=depth).by_query
            assert_equal(values, pyndeval_means(theirs, cut, qrels))

    def test_beyond_its_depth_of_20_the_formula_goes_on(self) -> None:
        run = {"q": {**{f"u{rank}": 100.0 - rank for rank in range(30)}, "a": 1.0}}
        qrels = {"q": {"n": {"a": 1}}}
        means = [scored(f"alpha_ndcg@{k}", run, qrels, compat="pyndeval").value for k in (20, 30, 31)]
        assert means == [0.0, 0.0, pytest.approx(1 / math.log2(32))]


def pyndeval_order(docs: dict[str, float]) -> list[tuple[str, float]]:
    return sorted(docs.items(), key=lambda item: (-item[1], item[0]))


class TestTrecEval:
    @pytest.mark.parametrize("seed", range(3))
    def test_equal_scores_and_missing_queries(self, seed: int) -> None:
        run, qrels = random_data(seed)
        assert_as_trec_eval(run, qrels)

    @pytest.mark.parametrize("seed", range(3))
    def test_scores_that_only_32_bits_cannot_tell_apart(self, seed: int) -> None:
        rng = random.Random(seed)
        coarse, qrels = random_data(seed)
        run = {
            q: {doc: 1000 + s + rng.random() / 1e5 for doc, s in docs.items()} for q, docs in coarse.items()
        }
        assert_as_trec_eval(run, qrels)
        assert scored("rr", run, qrels).value != scored("rr", coarse, qrels).value

    def test_the_mean_is_over_queries_in_both(self) -> None:
        run: Run = {"p": {"a": 1.0}, "unjudged": {"a": 1.0}}
        qrels = {"p": {"a": 1}, "q": {"a": 1}}
        score = rageval.evaluate("rr", run, qrels, compat="trec_eval")["rr"]
        assert (score.value, score.by_query) == (1.0, {"p": 1.0})
        assert rageval.evaluate("rr", run, qrels)["rr"].value == 0.5


def assert_as_trec_eval(run: Run, qrels: Qrels) -> None:
    for ours, theirs in TREC_EVAL.items():
        values = pytrec_eval.RelevanceEvaluator(documents(qrels), {theirs}).evaluate(run)
        score = scored(ours, run, qrels, compat="trec_eval")
        assert_equal(score.by_query, {query: by_measure[theirs] for query, by_measure in values.items()})
        assert score.value == pytest.approx(math.fsum(v[theirs] for v in values.values()) / len(values))


class TestFreshStack:
    """Against its formulas (retrieval/metrics.py of freshstack 0.0.6), without its roundings."""

    @pytest.mark.parametrize("ks", [(1,), (2, 5), (3, 50), (10, 20)])
    def test_alpha_ndcg(self, ks: tuple[int, ...]) -> None:
        run, qrels = random_data(seed=sum(ks))
        scores = rageval.evaluate([f"alpha_ndcg@{k}" for k in ks], run, qrels, compat="freshstack")
        for k in (k for k in ks if k <= 20):
            assert_equal(scores[f"alpha_ndcg@{k}"].by_query, freshstack_alpha_ndcg(qrels, run, ks, k))

    @pytest.mark.parametrize("k", [1, 2, 3, 20])
    def test_coverage(self, k: int) -> None:
        run, qrels = random_data(seed=k)
        values = scored(f"coverage@{k}", run, qrels, compat="freshstack").by_query
        assert_equal(values, freshstack_coverage(qrels, run, k))

    @pytest.mark.parametrize("k", [1, 2, 3, 50])
    def test_recall(self, k: int) -> None:
        run, qrels = random_data(seed=k)
        values = scored(f"recall@{k}", run, qrels, compat="freshstack").by_query
        assert_equal(values, freshstack_recall(qrels, run, k))

    def test_its_report_of_one_tied_run(self) -> None:
        """One ranking, three orders: the reason why this is no default."""
        run: Run = {"q": {"b": 1.0, "a": 1.0, "c": 1.0}}
        names = ("alpha_ndcg@1", "coverage@1", "recall@1")
        for relevant, expected in (("a", [1, 0, 0]), ("b", [0, 1, 0]), ("c", [0, 0, 1])):
            qrels = {"q": {"n": {relevant: 1}}}
            scores = rageval.evaluate([*names, "alpha_ndcg@10"], run, qrels, compat="freshstack")
            assert [scores[name].value for name in names] == expected
            assert len({scored(name, run, qrels).value for name in names}) == 1

    @pytest.mark.parametrize(("deepest", "expected"), [(1, 0.0), (2, 0.0), (3, 1.0), (20, 1.0), (21, 0.0)])
    def test_the_pool_of_the_deepest_cutoff(self, deepest: int, expected: float) -> None:
        """It breaks ties inside the first documents of the input, as many as the deepest cut-off up to 20."""
        run: Run = {"q": {"b": 1.0, "c": 1.0, "a": 1.0}}
        names = ["alpha_ndcg@1", f"alpha_ndcg@{deepest}"]
        scores = rageval.evaluate(names, run, {"q": {"n": {"a": 1}}}, compat="freshstack")
        assert scores["alpha_ndcg@1"].value == expected


def freshstack_top(docs: dict[str, float], k: int) -> list[tuple[str, float]]:
    return sorted(docs.items(), key=lambda item: item[1], reverse=True)[:k]


def freshstack_alpha_ndcg(qrels: Qrels, run: Run, ks: Iterable[int], k: int) -> dict[str, float]:
    deepest = max(cutoff for cutoff in ks if cutoff <= 20)
    pool = {query: dict(freshstack_top(docs, deepest)) for query, docs in run.items()}
    return pyndeval_values(f"alpha-nDCG@{k}", pool, qrels)


def freshstack_coverage(qrels: Qrels, run: Run, k: int) -> dict[str, float]:
    covered: dict[str, float] = {}
    for query, nuggets in qrels.items():
        top = [doc for doc, _ in freshstack_top(run.get(query, {}), k)]
        covered[query] = sum(any(docs.get(doc, 0) > 0 for doc in top) for docs in nuggets.values()) / len(
            nuggets
        )
    return covered


def freshstack_recall(qrels: Qrels, run: Run, k: int) -> dict[str, float]:
    recalls = pytrec_eval.RelevanceEvaluator(documents(qrels), {f"recall.{k}"}).evaluate(run)
    return {query: recalls.get(query, {}).get(f"recall_{k}", 0.0) for query in qrels}
