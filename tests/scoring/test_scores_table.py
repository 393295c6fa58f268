"""Scores of several systems are a dict that is shown as a table, and a score computes as its value."""

from __future__ import annotations

import copy
import math
import operator
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rageval
from rageval import Run
from rageval.scoring.scores import ScoresTable

QRELS = {f"q{index}": {"a": 1, "b": 0} for index in range(6)}
RUNS = {
    "good": {query: {"a": 2.0, "b": 1.0} for query in QRELS},
    "b<a>d": {query: {"a": 1.0, "b": 2.0} for query in list(QRELS)[1:]},
}
JUDGED = [
    {"query_id": query, "run_id": run, "label": label}
    for query in ("p", "q")
    for run, label in (("ours", "perfect"), ("theirs", "incorrect"))
]


def scored() -> ScoresTable:
    return rageval.evaluate("rr,recall@1", RUNS, QRELS)


def test_scores_of_several_runs_are_a_dict_and_a_table() -> None:
    table = scored()
    assert isinstance(table, dict)
    assert list(table) == ["good", "b<a>d"]
    runs = [Run.from_dict(run, name) for name, run in RUNS.items()]
    alone = {run.name: rageval.evaluate("rr,recall@1", run, QRELS) for run in runs}
    assert table == alone
    lines = str(table).splitlines()
    assert lines[0] == "2 runs, 6 queries"
    assert lines[1].split() == ["run", "rr", "recall@1"]
    assert lines[3].split() == ["good", "1.0000", "1.0000"]
    assert "b<a>d: 1 of 6 judged queries are not in the run" in lines[5]
    assert repr(table) == str(table)
    html = table._repr_html_()
    assert html.count("<tr>") == 3
    assert "b&lt;a&gt;d</td>" in html
    assert "<p>b&lt;a&gt;d: 1 of 6 judged queries are not in the run" in html
    latex = table.to_latex(caption="Runs", label="tab:mine")
    assert r"run & RR & Recall@1 \\" in latex
    assert r"\caption{Runs}" in latex
    assert r"\label{tab:mine}" in latex


def test_a_frame_of_several_runs_has_a_row_a_run_query_and_measure() -> None:
    pandas = pytest.importorskip("pandas")
    table = scored()
    frame = table.to_pandas()
    assert list(frame) == ["run", "query_id", "measure", "value"]
    pandas.testing.assert_frame_equal(
        frame, pandas.concat([scores.to_pandas() for scores in table.values()], ignore_index=True)
    )


def test_a_table_is_copied_and_sent_with_its_remarks() -> None:
    table = scored()
    for copied in (copy.deepcopy(table), pickle.loads(pickle.dumps(table))):
        assert isinstance(copied, ScoresTable)
        assert (copied, copied.remarks) == (table, table.remarks)


def test_a_table_of_nothing_and_of_other_measures() -> None:
    assert str(ScoresTable()) == "0 runs, 0 queries\nrun\n───"
    results = [
        rageval.evaluate(name, Run.from_dict(RUNS["good"], run), QRELS)
        for name, run in (("rr", "a"), ("p@1", "b"))
    ]
    lines = [line.split() for line in str(ScoresTable(results)).splitlines()]
    assert lines[1] == ["run", "rr", "p@1"]
    assert lines[3:] == [["a", "1.0000"], ["b", "1.0000"]]


def test_every_way_to_several_scores_gives_a_table() -> None:
    asked = [{"query_id": "q", "run_id": "ours", "question": "Where?", "answer": "In Oslo."}]
    gold = [{"query_id": "q", "question": "Where?", "answer": "Oslo"}]
    judged = rageval.judge("crag", asked, "contains", "crag_score", questions=gold)
    unmeasured = rageval.judge("crag", asked, "contains", questions=gold)
    answers = rageval.evaluate_answers("crag_score", JUDGED)
    for table in (scored(), answers, judged.scores, judged.score("accuracy"), unmeasured.scores):
        assert isinstance(table, ScoresTable)
    assert [line.split() for line in str(judged).splitlines()][1::2] == [
        ["run", "crag_score"],
        ["ours", "1.0000"],
    ]
    assert unmeasured.scores == {}


def test_verbs_take_a_table_as_a_dict(tmp_path: Path) -> None:
    table = scored()
    comparison = rageval.compare(table)
    for given in (dict(table), list(table.values())):
        assert str(rageval.compare(given)) == str(comparison)
    assert comparison.scores == table
    for given in (table, dict(table), comparison):
        page = rageval.report(given, tmp_path / "page.html")
        assert "recall@1" in page.read_text(encoding="utf-8")


def test_verbs_call_runs_what_a_dict_calls_their_scores(tmp_path: Path) -> None:
    expected = rageval.compare("rr,recall@1", RUNS, QRELS, baseline="good")
    assert expected.remarks
    # Runs without names are all called "run"; and names of judged systems may be changed, too.
    alone = {name: rageval.evaluate("rr,recall@1", run, QRELS) for name, run in RUNS.items()}
    swapped = {"good": Run.from_dict(RUNS["good"], "b<a>d"), "b<a>d": Run.from_dict(RUNS["b<a>d"], "good")}
    named = {name: rageval.evaluate("rr,recall@1", run, QRELS) for name, run in swapped.items()}
    for given in (alone, named):
        assert str(rageval.compare(given, baseline="good")) == str(expected)
        page = rageval.report(given, tmp_path / "page.html", runs=RUNS, qrels=QRELS, baseline="good")
        assert expected.signature in page.read_text(encoding="utf-8")
    renamed = alone["good"].renamed_to("other")
    assert (renamed.run, renamed.scores) == ("other", alone["good"].scores)
    assert (
        pickle.loads(pickle.dumps(alone["b<a>d"].renamed_to("x"))).remarks
        == alone["b<a>d"].renamed_to("x").remarks
    )


def test_a_report_of_a_comparison_shows_that_comparison(tmp_path: Path) -> None:
    comparison = rageval.compare("rr", RUNS, QRELS, level=0.9, baseline="good")
    page = rageval.report(comparison, tmp_path / "page.html", runs=RUNS, qrels=QRELS)
    text = page.read_text(encoding="utf-8")
    assert comparison.signature in text
    with pytest.raises(
        rageval.RagevalError, match="a Comparison has its settings already; give level to compare instead"
    ):
        rageval.report(comparison, tmp_path / "page.html", level=0.9)


def half() -> Any:
    return rageval.evaluate("recall", {"q": {"a": 1.0}}, {"q": {"a": 1, "b": 1}})["recall"]


def test_a_score_is_a_float_in_use() -> None:
    score = half()
    assert (float(score), score.value) == (0.5, 0.5)
    assert (f"{score:.3f}", f"{score:>7.1%}", f"{score}") == ("0.500", "  50.0%", repr(score))
    assert (-score, abs(score), round(score, 1), sum([score, score])) == (-0.5, 0.5, 0.5, 1.0)
    assert max(scored().items(), key=lambda pair: pair[1]["rr"])[0] == "good"
    assert np.mean([float(score), 1.0]) == 0.75
    assert math.isclose(score, 0.5)


@pytest.mark.parametrize(
    "way", [operator.add, operator.sub, operator.mul, operator.truediv], ids=lambda way: way.__name__
)
@pytest.mark.parametrize("other", [2, 0.25, np.float64(0.5), np.float32(0.5), np.int64(2)], ids=repr)
def test_arithmetic_gives_floats(way: Callable[[Any, Any], Any], other: Any) -> None:
    score = half()
    for result, expected in (
        (way(score, other), way(0.5, float(other))),
        (way(other, score), way(float(other), 0.5)),
        (way(score, score), way(0.5, 0.5)),
    ):
        assert isinstance(result, float)
        assert result == expected
    for strange in ("1", None, [1]):
        with pytest.raises(TypeError):
            way(score, strange)


def test_scores_compare_with_numbers_and_with_one_another() -> None:
    score = half()
    assert score == 0.5
    assert score != 0.4
    assert 0.4 < score <= 0.5 <= score < 1
    assert (score > score, score >= score) == (False, True)
    assert score == half()
    # Two scores of one value are the same only if all else is: use the values to compare these.
    other = rageval.evaluate("recall", {"q": {"b": 1.0}, "r": {"b": 1.0}}, {"q": {"b": 1, "a": 1}})["recall"]
    assert other.value == score.value
    assert score != "0.5"
    with pytest.raises(TypeError):
        assert score < "1"
    with pytest.raises(TypeError, match="unhashable"):
        hash(score)
