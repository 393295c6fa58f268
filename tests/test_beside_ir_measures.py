"""Our measures are measures of ir_measures, and so of PyTerrier, as they stand."""

from __future__ import annotations

import subprocess
import sys
import warnings
from typing import Any

import pytest

import rageval
from rageval.measures import builtin, measures_taking

NUGGETS = [("q1", "n1", "a", 1), ("q1", "n2", "b", 1), ("q1", "n1", "b", 0), ("q2", "n1", "c", 2)]
QRELS = [*NUGGETS, ("q3", "n1", "e", 1)]
RANKED = [("q1", "x", 3.0), ("q1", "b", 2.0), ("q1", "a", 2.0), ("q2", "d", 1.5), ("q2", "c", 1.0)]
OF_RUNS = list(measures_taking("Ranking").values())


def their_data() -> tuple[list[Any], list[Any]]:
    import ir_measures

    qrels = [ir_measures.Qrel(query, doc, grade, iteration=nugget) for query, nugget, doc, grade in QRELS]
    return qrels, [ir_measures.ScoredDoc(*row) for row in RANKED]


def python(code: str) -> str:
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return process.stdout


ASKED = """
measure = pickle.loads(pickle.dumps(rageval.alpha_ndcg(alpha=0.7) @ 10))
assert isinstance(measure, ir_measures.Measure), measure.__class__
assert isinstance(measure, rageval.Measure) and type(measure) is rageval.Measure
assert measure == rageval.alpha_ndcg(alpha=0.7) @ 10
qrels = [ir_measures.Qrel("q", "d", 1)]
run = [ir_measures.ScoredDoc("q", "d", 1.0)]
found = ir_measures.calc_aggregate([measure, ir_measures.nDCG @ 10], qrels, run)
assert found == {measure: 1.0, ir_measures.nDCG @ 10: 1.0}, found
"""
EARLIER = (
    "import pickle, rageval; from rageval import alpha_ndcg; kept = alpha_ndcg @ 10; str(kept.__class__)\n"
)


@pytest.mark.slow
@pytest.mark.parametrize(
    "imports",
    [
        EARLIER + "import ir_measures\nassert isinstance(kept, ir_measures.Measure)",
        "import ir_measures, pickle, rageval",
        "import pickle, rageval, ir_measures",
    ],
)
def test_in_whichever_order_both_are_imported(imports: str) -> None:
    python(imports + ASKED)


def test_nobody_imports_ir_measures_for_it() -> None:
    code = (
        "import pickle, sys, rageval\nm = pickle.loads(pickle.dumps(rageval.coverage @ 3))\n"
        "assert m.__class__ is rageval.Measure and not hasattr(m, 'runtime_impl')\n"
        "assert 'ir_measures' not in sys.modules and 'rageval.interop' not in sys.modules"
    )
    python(code)


@pytest.mark.slow
@pytest.mark.parametrize("measure", OF_RUNS, ids=str)
def test_every_measure_of_runs_has_there_the_values_that_it_has_here(measure: rageval.Measure) -> None:
    import ir_measures

    qrels, run = their_data()
    requested = measure @ 2 if measure.takes_k else measure
    here = rageval.evaluate(requested, run, qrels)[requested]
    for measures in ([requested], [requested, ir_measures.AP]):
        there = ir_measures.calc(measures, qrels, run)
        assert there.aggregated[requested] == here.value
        values = {value.query_id: value.value for value in there.per_query if value.measure == requested}
        assert values == here.by_query
    assert requested.calc_aggregate(qrels, run) == here.value  # type: ignore[attr-defined]


def test_a_measure_of_ones_own_is_not_taken_for_theirs_of_the_same_name() -> None:
    import ir_measures

    @rageval.measure(better="lower", aggregate="sum")
    def P(ranking: rageval.Ranking, *, k: int | None = None) -> float:
        "Return how many documents were retrieved."
        return ranking.retrieved

    qrels, run = their_data()
    assert ir_measures.calc_aggregate([P, ir_measures.P @ 1], qrels, run) == {P: 5.0, ir_measures.P @ 1: 0.0}


def test_shares_are_pooled_there_too() -> None:
    import ir_measures

    qrels, run = their_data()
    pooled = rageval.recall(over="pool") @ 3
    values = ir_measures.calc_aggregate([pooled, rageval.recall @ 3], qrels, run)
    assert values == {pooled: 0.75, rageval.recall @ 3: pytest.approx(2 / 3)}


def test_nothing_retrieved_and_nothing_judged() -> None:
    """PyTerrier hands over parts: some have no documents, some no judgements."""
    import ir_measures

    qrels, run = their_data()
    assert ir_measures.calc_aggregate([rageval.coverage @ 2], qrels, []) == {rageval.coverage @ 2: 0.0}
    with pytest.warns(rageval.errors.NothingJudged, match="none of the run's queries is judged"):
        values = ir_measures.calc_aggregate([rageval.recall @ 2], qrels[:3], run[3:])
    assert values == {rageval.recall @ 2: 0.0}


def test_a_measure_of_answers_is_refused() -> None:
    import ir_measures

    with pytest.raises(
        rageval.MeasureError, match="crag_score scores judged answers, but ir_measures scores runs"
    ):
        ir_measures.calc_aggregate([builtin()["crag_score"]], *their_data())


@pytest.mark.slow
def test_their_parser_knows_our_names_once_these_are_installed() -> None:
    python(
        "import ir_measures, rageval.interop\nours = rageval.interop.install()\n"
        "assert rageval.interop.install() == ours and ours['coverage'] is rageval.coverage\n"
        "measure = ir_measures.parse_measure('alpha_ndcg(alpha=0.7)@5')\n"
        "assert measure == rageval.alpha_ndcg(alpha=0.7) @ 5\n"
        "assert str(ir_measures.parse_measure('alpha_nDCG@5')) == 'alpha_nDCG@5'"
    )


@pytest.mark.slow
def test_pyterrier_finds_what_is_installed() -> None:
    pytest.importorskip("pyterrier")
    python(
        "import warnings; warnings.simplefilter('ignore')\n"
        "import ir_measures, rageval.interop\nours = rageval.interop.install()\nimport pyterrier.measures\n"
        "assert pyterrier.measures.coverage == rageval.coverage\n"
        "assert rageval.coverage.__doc__ == rageval.coverage.page\n"
        "assert rageval.coverage.__module__ == 'rageval.measures.base'"
    )


def frames() -> tuple[Any, Any, Any]:
    """Topics, judgements and a run as PyTerrier has them."""
    import pandas

    topics = pandas.DataFrame([(query, query) for query in ("q1", "q2", "q3")], columns=["qid", "query"])
    plain = [(query, doc, grade) for query, nugget, doc, grade in QRELS if nugget == "n1"]
    qrels = pandas.DataFrame(plain, columns=["qid", "docno", "label"])
    run = pandas.DataFrame(RANKED, columns=["qid", "docno", "score"])
    run["rank"] = run.groupby("qid").cumcount()
    return topics, qrels, run


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"perquery": True}, {"batch_size": 1}])
def test_experiments_of_pyterrier(options: dict[str, Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTerrier's own
        pt = pytest.importorskip("pyterrier")
        topics, qrels, run = frames()
        systems = [pt.Transformer.from_df(run)] if "batch_size" in options else [run]
        expected = [rageval.recall @ 2, rageval.measures.ndcg @ 10]
        topics = topics[:2] if "batch_size" in options else topics  # it refuses batches without documents
        table = pt.Experiment(systems, topics, qrels, expected, names=["ours"], **options)
    scores = rageval.evaluate(expected, run, qrels[qrels["qid"].isin(topics["qid"])])
    for measure in expected:
        if "perquery" in options:
            rows = table[table["measure"] == str(measure)]
            assert dict(zip(rows["qid"], rows["value"], strict=True)) == scores[measure].by_query
        else:
            assert table[str(measure)].tolist() == [pytest.approx(scores[measure].value, abs=1e-12)]


def test_frames_of_pyterrier_and_ids_that_are_numbers() -> None:
    import pandas

    _, qrels, run = frames()
    as_ours = {"qid": "query_id", "docno": "doc_id", "label": "relevance"}
    expected = rageval.evaluate("ndcg@5", run.rename(columns=as_ours), qrels.rename(columns=as_ours))
    assert rageval.evaluate("ndcg@5", run, qrels)["ndcg@5"].by_query == expected["ndcg@5"].by_query
    numbered = pandas.DataFrame({"qid": [7, 7], "docno": [1, 2], "score": [1.0, 2.0]})
    judged = pandas.DataFrame({"qid": [7], "docno": [2], "label": [1]})
    assert rageval.evaluate("rr", numbered, judged)["rr"].by_query == {"7": 1.0}
    with pytest.raises(rageval.InputError, match=r"\(or PyTerrier's qid, docno, score\), found \['qid'\]"):
        rageval.evaluate("rr", numbered[["qid"]], judged)
