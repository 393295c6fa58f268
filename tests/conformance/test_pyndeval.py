"""Agreement with pyndeval (ndeval 4.5) where it is right: k up to 20, no ties, one measure a call.

Only values of alpha for which 1 - alpha is a short binary fraction are compared: with others pyndeval's
rounding, not its rule, decides which of two equally good documents its ideal ranking takes.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import rageval

pytestmark = pytest.mark.slow

pyndeval = pytest.importorskip("pyndeval")

Run = dict[str, dict[str, float]]
Qrels = dict[str, dict[str, dict[str, int]]]

TOLERANCE = 1e-12
ALPHAS = (0.0, 0.25, 0.5, 0.75, 1.0)
CUTOFFS = (1, 2, 3, 5, 7, 10, 19, 20)
WITH_CUTOFF = {
    "alpha_ndcg": "alpha-nDCG",
    "alpha_dcg(normalize=independent)": "alpha-DCG",
    "err_ia": "ERR-IA",
    "nerr_ia": "nERR-IA",
    "p_ia": "P-IA",
    "strec": "strec",
}
ODD_AT_RANK_1 = ("alpha-DCG", "ERR-IA")  # pyndeval does not normalize there: see test_compat.py
WITHOUT_CUTOFF = {"nrbp": "NRBP", "nnrbp": "nNRBP", "map_ia": "MAP-IA"}
OF_NDEVAL = Path(__file__).parents[1] / "golden" / "ndeval" / "qrels"


def pairs(k: int) -> list[tuple[str, str]]:
    """Our measures and theirs: those with a cut-off at k, and the others."""
    cut = [pair for pair in WITH_CUTOFF.items() if k > 1 or pair[1] not in ODD_AT_RANK_1]
    return [*((f"{ours}@{k}", f"{theirs}@{k}") for ours, theirs in cut), *WITHOUT_CUTOFF.items()]


def judgements(rng: random.Random) -> dict[str, dict[str, int]]:
    """Up to 40 documents and 8 nuggets; at least one document supports something, even at rel = 4."""
    docs = [f"d{number}" for number in rng.sample(range(100), rng.randint(1, 40))]
    judged = {
        f"n{nugget}": {doc: rng.choice((-2, 0, 0, 1, 1, 2, 3)) for doc in docs if rng.random() < 0.5}
        for nugget in range(rng.randint(1, 8))
    }
    judged["n0"][docs[0]] = 4
    return judged


def ranking(rng: random.Random, judged: dict[str, dict[str, int]]) -> dict[str, float]:
    """Judged and unjudged documents in any order, sometimes deeper than 20, no two scores equal."""
    docs_known = sorted(
        {doc for docs in judged.values() for doc in docs} | {f"u{number}" for number in range(9)}
    )
    docs = rng.sample(docs_known, rng.randint(1, len(docs_known)))
    return dict(zip(docs, rng.sample([score / 4 for score in range(-2000, 2000)], len(docs)), strict=True))


def random_data(seed: int, queries: int = 400) -> tuple[Run, Qrels]:
    rng = random.Random(seed)
    qrels = {f"q{number}": judgements(rng) for number in range(queries)}
    return {query: ranking(rng, judged) for query, judged in qrels.items()}, qrels


def pyndeval_values(
    measure: str, run: Run, qrels: Qrels, rel: int = 1, **parameters: float
) -> dict[str, float]:
    rows = [
        (query, nugget, doc, grade)
        for query, nuggets in qrels.items()
        for nugget, docs in nuggets.items()
        for doc, grade in docs.items()
    ]
    ranked = [(query, doc, score) for query, docs in run.items() for doc, score in docs.items()]
    evaluator = pyndeval.RelevanceEvaluator(rows, [measure], relevance_level=rel, **parameters)
    return {query: values[measure] for query, values in evaluator.evaluate(ranked).items()}


def assert_equal(ours: str, theirs: str, run: Run, qrels: Qrels, rel: int = 1, **parameters: float) -> None:
    measure = rageval.parse_measure(ours)(rel=rel)
    values = rageval.evaluate(measure, run, qrels)[measure].by_query
    assert values == pytest.approx(
        pyndeval_values(theirs, run, qrels, rel, **parameters), rel=0, abs=TOLERANCE
    )


@pytest.mark.some(3)
@pytest.mark.parametrize("k", CUTOFFS)
def test_random_topics(k: int) -> None:
    run, qrels = random_data(seed=k)
    for ours, theirs in pairs(k):
        assert_equal(ours, theirs, run, qrels)


@pytest.mark.parametrize("rel", [2, 3, 4])
def test_other_grades_as_relevant(rel: int) -> None:
    run, qrels = random_data(seed=rel, queries=300)
    for ours, theirs in pairs(10):
        assert_equal(ours, theirs, run, qrels, rel)


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("k", [1, 2, 20])
def test_alpha(alpha: float, k: int) -> None:
    run, qrels = random_data(seed=k, queries=200)
    assert_equal(f"alpha_ndcg(alpha={alpha})@{k}", f"alpha-nDCG@{k}", run, qrels, alpha=alpha)
    assert_equal(f"nerr_ia(alpha={alpha})@{k}", f"nERR-IA@{k}", run, qrels, alpha=alpha)


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("beta", [0.0, 0.3, 0.8, 1.0])
def test_alpha_and_beta(alpha: float, beta: float) -> None:
    run, qrels = random_data(seed=7, queries=100)
    inner = f"(alpha={alpha},beta={beta})"
    assert_equal(f"nrbp{inner}", "NRBP", run, qrels, alpha=alpha, beta=beta)
    if (1 - alpha) * beta < 1:  # else pyndeval divides 0 by 0
        assert_equal(f"nnrbp{inner}", "nNRBP", run, qrels, alpha=alpha, beta=beta)


@pytest.fixture(scope="module")
def of_ndeval() -> Qrels:
    qrels: Qrels = {}
    for line in OF_NDEVAL.read_text().splitlines():
        query, nugget, doc, grade = line.split()
        qrels.setdefault(query, {}).setdefault(nugget, {})[doc] = int(grade)
    return qrels


@pytest.mark.parametrize("k", [5, 20])
def test_judgements_of_ndeval(of_ndeval: Qrels, k: int) -> None:
    rng = random.Random(k)
    run = {query: ranking(rng, judged) for query, judged in of_ndeval.items()}
    for ours, theirs in pairs(k):
        assert_equal(ours, theirs, run, of_ndeval)
        from_file = rageval.evaluate(ours, run, OF_NDEVAL)[ours].by_query
        assert from_file == rageval.evaluate(ours, run, of_ndeval)[ours].by_query


THREE = {"a": "13", "b": "02", "c": "03"}
TIED = {"dA": "12", "dB": "34", "dZ": "13"}
UNTIED = {"A": "01456", "B": "01567", "C": "267", "D": "0135"}


@pytest.mark.parametrize(
    ("supported", "order", "ours", "theirs", "value"),
    [
        (THREE, ["a", "b", "c"], "alpha_ndcg@20", "alpha-nDCG@20", 1.01771),
        (TIED, ["dA", "dB"], "alpha_ndcg@2", "alpha-nDCG@2", 1.1070681006),
        (TIED, ["dA", "dB"], "nerr_ia@2", "nERR-IA@2", 12 / 11),
        (TIED, ["dA", "dB", "dZ"], "nnrbp", "nNRBP", 1.04),
        (UNTIED, ["A", "D", "C"], "alpha_ndcg@3", "alpha-nDCG@3", 1.007664),
    ],
)
def test_rankings_better_than_the_greedy_ideal(
    supported: dict[str, str], order: list[str], ours: str, theirs: str, value: float
) -> None:
    """No fault of either: greedy is what everybody publishes, and it is not optimal."""
    nuggets = sorted(set("".join(supported.values())))
    qrels = {"q": {n: {doc: 1 for doc, nuggets in supported.items() if n in nuggets} for n in nuggets}}
    run = {"q": {doc: -float(rank) for rank, doc in enumerate(order)}}
    assert rageval.evaluate(ours, run, qrels)[ours].value == pytest.approx(value, abs=1e-6)
    assert_equal(ours, theirs, run, qrels)
