"""Agreement with ir_measures where it is right: one measure a call, no ties, rows grouped by query.

The cases are the small and nasty ones of `strategies`, with their ties broken at random.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path

import ir_measures
import pytest

import rageval
from strategies import case

pytestmark = pytest.mark.slow

Run = dict[str, dict[str, float]]
Qrels = dict[str, dict[str, dict[str, int]]]

TOLERANCE = 1e-12
CUTOFFS = (1, 2, 3, 5, 20)
OF_NUGGETS = {
    "alpha_ndcg": "alpha_nDCG",
    "alpha_dcg(normalize=ndeval)": "alpha_DCG",
    "err_ia(normalize=ndeval)": "ERR_IA",
    "nerr_ia": "nERR_IA",
    "p_ia": "P_IA",
    "strec": "StRecall",
}
OF_NUGGETS_TO_THE_END = {"nrbp": "NRBP", "map_ia": "AP_IA"}
OF_DOCUMENTS = {
    "ndcg": "nDCG",
    "ap": "AP",
    "rr": "RR",
    "p": "P",
    "recall": "R",
    "success": "Success",
    "judged": "Judged",
}
OF_DOCUMENTS_TO_THE_END = {"ndcg": "nDCG", "ap": "AP", "rr": "RR"}
OF_NDEVAL = Path(__file__).parents[1] / "golden" / "ndeval" / "qrels"


def random_data(seed: int, cases: int = 400) -> tuple[Run, Qrels]:
    rng = random.Random(seed)
    run: Run = {}
    qrels: Qrels = {}
    for number in range(cases):
        drawn = case(rng)
        qrels |= {f"{number}.{query}": judged for query, judged in drawn.qrels.items()}
        run |= {f"{number}.{query}": without_ties(rng, docs) for query, docs in drawn.run.items()}
    return run, qrels


def without_ties(rng: random.Random, docs: dict[str, float]) -> dict[str, float]:
    return dict(zip(docs, rng.sample([score / 8 for score in range(-99, 99)], len(docs)), strict=True))


def rows(qrels: Qrels) -> list[ir_measures.Qrel]:
    return [
        ir_measures.Qrel(query, doc, grade, nugget)
        for query, nuggets in qrels.items()
        for nugget, docs in nuggets.items()
        for doc, grade in docs.items()
    ]


def documents(qrels: Qrels) -> dict[str, dict[str, int]]:
    """The highest grade over the nuggets; none below 0."""
    grades: dict[str, dict[str, int]] = {query: {} for query in qrels}
    for query, nuggets in qrels.items():
        for docs in nuggets.values():
            for doc, grade in docs.items():
                grades[query][doc] = max(grade, grades[query].get(doc, 0))
    return grades


def assert_equal(ours: str, theirs: str, run: Run, qrels: Qrels, judgements: object) -> None:
    score = rageval.evaluate(ours, run, qrels)[ours]
    measure = ir_measures.parse_measure(theirs)
    expected = ir_measures.calc([measure], judgements, run)
    by_query = {metric.query_id: metric.value for metric in expected.per_query if metric.query_id in qrels}
    assert score.by_query == pytest.approx(by_query, rel=0, abs=TOLERANCE), ours
    assert score.value == pytest.approx(expected.aggregated[measure], rel=0, abs=TOLERANCE), ours


@pytest.mark.parametrize("k", CUTOFFS)
def test_measures_of_nuggets(k: int) -> None:
    run, qrels = random_data(seed=k)
    for ours, theirs in OF_NUGGETS.items():
        assert_equal(f"{ours}@{k}", f"{theirs}@{k}", run, qrels, rows(qrels))


@pytest.mark.parametrize("k", CUTOFFS)
def test_measures_of_documents(k: int) -> None:
    run, qrels = random_data(seed=k)
    for ours, theirs in OF_DOCUMENTS.items():
        assert_equal(f"{ours}@{k}", f"{theirs}@{k}", run, qrels, documents(qrels))


def test_measures_without_a_cutoff() -> None:
    run, qrels = random_data(seed=0)
    for ours, theirs in OF_NUGGETS_TO_THE_END.items():
        assert_equal(ours, theirs, run, qrels, rows(qrels))
    for ours, theirs in OF_DOCUMENTS_TO_THE_END.items():
        assert_equal(ours, theirs, run, qrels, documents(qrels))


@pytest.mark.parametrize("rel", [2, 3])
@pytest.mark.parametrize("name", ["AP", "RR", "P", "R", "Success"])
def test_other_grades_as_relevant(name: str, rel: int) -> None:
    run, qrels = random_data(seed=rel)
    measure = rageval.parse_measure(f"{name}(rel={rel})@5")
    assert_equal(str(measure), f"{name}(rel={rel})@5", run, qrels, documents(qrels))


@pytest.mark.parametrize("name", ["Rprec", "NumRet", "NumRel", "NumQ", "SetP", "infAP", "Compat"])
def test_measures_we_leave_to_it(name: str) -> None:
    """They get documents judged once, and our ranking. Compat expects scores above 0."""
    negative, qrels = random_data(seed=1)
    run = {query: {doc: score + 100 for doc, score in docs.items()} for query, docs in negative.items()}
    judged = {query: without_spam(nuggets) for query, nuggets in qrels.items() if query in run}
    assert_equal(name, name, run, judged, documents(judged))


@pytest.mark.parametrize("name", ["Bpref", "infAP", "P(judged_only=True)@5", "nDCG(judged_only=True)@5"])
def test_topics_of_negative_grades_alone_do_not_end_it(name: str) -> None:
    """They make pytrec_eval write outside its memory; elsewhere such a document is one that nobody judged."""
    run, _ = random_data(seed=3, cases=20)
    docs = {query: sorted(ranked) for query, ranked in run.items()}
    spam = {
        query: {doc: (-2, 1, 2)[index % 3] for index, doc in enumerate(judged)}
        for query, judged in docs.items()
    }
    spam |= {query: dict.fromkeys(docs[query], -5) for query in list(docs)[::4]}
    others = {query: judged for query, judged in spam.items() if max(judged.values(), default=-1) >= 0}
    expected = ir_measures.calc([ir_measures.parse_measure(name)], others, run).per_query
    values = in_another_process(name, run, spam)
    assert {query: value for query, value in values.items() if query not in others} == {
        query: 0.0 for query in spam if query not in others
    }
    assert {query: values[query] for query in others} == {
        metric.query_id: metric.value for metric in expected
    }


def in_another_process(name: str, run: Run, qrels: object) -> dict[str, float]:
    """The values, computed where a crash does no harm."""
    program = (
        "import json, rageval, sys\n"
        "print(json.dumps(dict(rageval.evaluate(*json.load(sys.stdin))[sys.argv[1]].by_query)))"
    )
    result = subprocess.run(
        [sys.executable, "-c", program, name],
        input=json.dumps([name, run, qrels]),
        capture_output=True,
        text=True,
        check=True,
    )
    return dict(json.loads(result.stdout))


def without_spam(nuggets: dict[str, dict[str, int]]) -> dict[str, dict[str, int]]:
    return {nugget: {doc: max(0, grade) for doc, grade in docs.items()} for nugget, docs in nuggets.items()}


def test_files_of_ndeval_read_by_each() -> None:
    judgements = list(ir_measures.read_trec_qrels(str(OF_NDEVAL)))
    rng = random.Random(0)
    retrieved: Run = {}
    for row in judgements:
        retrieved.setdefault(row.query_id, {})[row.doc_id] = rng.random()
    for ours, theirs in OF_NUGGETS.items():
        measure = ir_measures.parse_measure(f"{theirs}@10")
        expected = ir_measures.calc_aggregate([measure], judgements, retrieved)[measure]
        mean = rageval.evaluate(f"{ours}@10", retrieved, OF_NDEVAL)[f"{ours}@10"].value
        assert mean == pytest.approx(expected, rel=0, abs=TOLERANCE), ours
