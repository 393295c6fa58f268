"""Every verb takes data in every form, and says the right order where arguments stand in another."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import rageval
from rageval import Qrels, Run, alpha_ndcg
from rageval.records import ScoredDoc
from snippets import ROOT

pandas = pytest.importorskip("pandas")

DATA = ROOT / "examples" / "data"
RUN, BASE, QRELS = (str(DATA / name) for name in ("run.trec", "baseline.trec", "qrels.nugget"))
ROWS = list(rageval.read_run(RUN))
FORMS: dict[str, Any] = {
    "path": Path(RUN),
    "text": RUN,
    "object": rageval.read_run(RUN),
    "dict": {row.query_id: {r.doc_id: r.score for r in ROWS if r.query_id == row.query_id} for row in ROWS},
    "frame": pandas.DataFrame(ROWS),
    "frame of PyTerrier's": pandas.DataFrame(ROWS).rename(columns={"query_id": "qid", "doc_id": "docno"}),
    "records": ROWS,
    "dicts": [row._asdict() for row in ROWS],
}
VALUE = rageval.evaluate("recall@50", RUN, QRELS)["recall@50"].value
JUDGED = [{"query_id": "q", "run_id": "ours", "label": "perfect"}]
ANSWERS = [{"query_id": "q", "run_id": "ours", "question": "Where?", "answer": "In Oslo."}]


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_a_run_is_taken_in_every_form(form: str, tmp_path: Path) -> None:
    run = FORMS[form]
    assert rageval.evaluate("recall@50", run, QRELS)["recall@50"] == VALUE
    assert rageval.Evaluator("recall@50", QRELS).evaluate({"one": run})["recall@50"] == VALUE
    table = rageval.evaluate("recall@50", {"one": run, "base": BASE}, QRELS)
    assert (list(table), table["one"]["recall@50"].value) == (["one", "base"], VALUE)
    assert list(rageval.evaluate("recall@50", [run, Path(BASE)], QRELS)) == [
        RUN.rpartition("/")[2] if form in ("path", "text", "object") else "run",
        "baseline.trec",
    ]
    first, _ = rageval.evaluate("recall@50", iter([run, BASE]), QRELS).values()
    assert first["recall@50"] == VALUE
    comparison = rageval.compare("recall@50", {"one": run, "base": BASE}, QRELS)
    assert comparison.cell("one", "recall@50").value == VALUE
    page = rageval.report(comparison, tmp_path / "p.html", runs={"one": run, "base": BASE}, qrels=QRELS)
    assert page.exists()


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_a_gate_takes_a_run_in_every_form(form: str) -> None:
    gate = DATA / "gate"
    rows = list(rageval.read_run(gate / "same.run"))
    by_query = {row.query_id: {r.doc_id: r.score for r in rows if r.query_id == row.query_id} for row in rows}
    run = {
        "path": gate / "same.run",
        "text": str(gate / "same.run"),
        "object": Run.from_records(rows),
        "frame": pandas.DataFrame(rows),
        "records": rows,
        "dicts": [row._asdict() for row in rows],
    }.get(form, by_query)
    options = {"baseline": gate / "baseline.jsonl", "margin": 0.03}
    for given in (run, {"same": run}, [run]):
        assert rageval.gate(given, gate / "qrels.nugget", "recall@5", **options).verdict == "ship"


def test_one_run_is_expected_where_several_make_no_sense() -> None:
    with pytest.raises(rageval.RagevalError, match=r"expected one run, found 2: run.trec, baseline.trec"):
        rageval.gate([RUN, BASE], QRELS, "rr", baseline=DATA / "gate" / "baseline.jsonl", margin=0.03)
    with pytest.raises(rageval.RagevalError, match="expected one run, found 2"):
        rageval.Evaluator("rr", QRELS).evaluate([RUN, BASE])
    frame = FORMS["frame"]
    with pytest.raises(rageval.RagevalError, match=r"two runs are called 'run'; name them: \{name: run\}"):
        rageval.evaluate("rr", [frame, frame], QRELS)


def test_what_is_wrong_with_a_run_is_said_with_its_name() -> None:
    for run, message in (
        (pandas.DataFrame({"x": [1]}), "b: expected the columns"),
        ({"q": {"a": "high"}}, "b:1: expected a finite number as score"),
        (7, "b: expected a run"),
    ):
        with pytest.raises(rageval.RagevalError, match=message):
            rageval.evaluate("rr", {"a": RUN, "b": run}, QRELS)


def test_the_id_of_a_data_set_stands_for_judgements(monkeypatch: pytest.MonkeyPatch) -> None:
    from rageval.datasets import ids

    asked = []

    def load(name: str, what: str) -> Qrels:
        asked.append((name, what))
        return rageval.read_qrels(QRELS)

    monkeypatch.setattr(ids, "dataset_of", load)
    assert rageval.evaluate("recall@50", RUN, "some/set")["recall@50"] == VALUE
    assert rageval.compare("recall@50", [RUN, BASE], "some/set").cell("run.trec", "recall@50").value == VALUE
    assert set(asked) == {("some/set", "qrels")}


def test_what_stands_beside_answers_is_taken_in_every_form(tmp_path: Path) -> None:
    gold = [{"query_id": "q", "question": "Where?", "answer": "Oslo"}]
    path = tmp_path / "gold.jsonl"
    path.write_text(json.dumps(gold[0]))
    for answers in (ANSWERS, ANSWERS[0], pandas.DataFrame(ANSWERS), iter(ANSWERS)):
        judged = rageval.judge("crag", answers, "contains", "crag_score", questions=gold)
        assert judged.scores["ours"]["crag_score"] == 1
    for questions in (gold, gold[0], pandas.DataFrame(gold), path, str(path)):
        judged = rageval.judge("crag", ANSWERS, "contains", "crag_score", questions=questions)
        assert judged.scores["ours"]["crag_score"] == 1
        scores = rageval.evaluate_answers("crag_score", JUDGED, questions=questions)
        assert scores["ours"]["crag_score"] == 1
        inputs = {"judgements": JUDGED, "answers": ANSWERS}
        page = rageval.report(scores, tmp_path / "p.html", questions=questions, **inputs)
        assert "Where?" in page.read_text(encoding="utf-8")
    for answers in (ANSWERS, pandas.DataFrame(ANSWERS), ANSWERS[0]):
        assert rageval.evaluate_answers("sentence_count", answers=answers)["ours"]["sentence_count"] == 1


def test_answers_of_several_systems_are_named_as_runs_are(tmp_path: Path) -> None:
    gold = [{"query_id": "q", "question": "Where?", "answer": "Oslo"}]
    answers = {
        "v1": [{"query_id": "q", "answer": "Oslo"}],
        "v2": pandas.DataFrame([{"qid": "q", "answer": "Rome"}]),
    }
    judged = rageval.judge("crag", answers, "contains", "crag_score", questions=gold)
    assert {run: result["crag_score"].value for run, result in judged.scores.items()} == {"v1": 1, "v2": -1}
    # What names another system is of the one that it is given for.
    systems = {"new": JUDGED, "old": pandas.DataFrame([{"query_id": "q", "run_id": "x", "label": "missing"}])}
    scores = rageval.evaluate_answers("crag_score", systems)
    assert {run: result["crag_score"].value for run, result in scores.items()} == {"new": 1, "old": 0}
    assert rageval.report(scores, tmp_path / "p.html", judgements=systems).exists()
    lengths = rageval.evaluate_answers("sentence_count", answers=answers)
    assert list(lengths) == ["v1", "v2"]


GATE = {"baseline": DATA / "gate" / "baseline.jsonl", "margin": 0.03}
READ = rageval.read_run(RUN), rageval.read_qrels(QRELS)
FRAMES = FORMS["frame"], pandas.DataFrame(READ[1])
MISPLACED: dict[str, tuple[Callable[..., Any], tuple[Any, ...], str, str]] = {
    f"{verb.__name__}, {what}": (verb, arguments, finding, f"{verb.__name__}(measures, run")
    for verb in (rageval.evaluate, rageval.compare)
    for what, arguments, finding in (
        ("files", (RUN, QRELS, "rr"), "a run as measures"),
        ("paths", (Path(RUN), Path(QRELS), "rr"), "a run as measures"),
        ("files, run and qrels", ("rr", QRELS, RUN), "judgements of documents as run"),
        ("frames", (*FRAMES, "rr"), "a run as measures"),
        ("frames, run and qrels", ("rr", *FRAMES[::-1]), "judgements of documents as run"),
        ("objects", (*READ, alpha_ndcg @ 10), "a run as measures"),
        ("objects, run and qrels", ("rr", *READ[::-1]), "judgements of documents as run"),
        ("records", (ROWS, FRAMES[1], "rr"), "a run as measures"),
        ("dicts", (FORMS["dict"], {"q": {"a": 1}}, "rr"), "a run or judgements of documents as measures"),
        ("dicts named as measures", ({"rr": {"a": 1.0}}, {"rr": {"a": 1}}, "rr"), "a run or judgements"),
        ("a list", ([RUN, BASE], QRELS, "rr"), "a run as measures"),
        ("a dict of paths", ({"a": RUN}, QRELS, ["rr", "ap"]), "a run as measures"),
        ("measures between", (QRELS, "rr", RUN), "judgements of documents as measures"),
    )
}
FRAME, ASKED = pandas.DataFrame(JUDGED), pandas.DataFrame(ANSWERS)
SCORES = rageval.evaluate("rr", RUN, QRELS)
OF_ANSWERS = "answers, or judgements of them as "
for verb, order, cases in (
    (
        *(rageval.gate, "(candidate, qrels, measures, baseline=…, margin=…)"),
        {
            "measures first": (("rr", RUN, QRELS), "a measure as candidate"),
            "qrels first": ((QRELS, RUN, "rr"), "judgements of documents as candidate"),
            "answers": ((JUDGED, "crag_score"), "a measure as qrels"),
        },
    ),
    (
        *(rageval.evaluate_answers, "(measures, judgements)"),
        {
            "records": ((JUDGED, "crag_score"), f"{OF_ANSWERS}measures"),
            "a frame": ((FRAME, "crag_score"), f"{OF_ANSWERS}measures"),
        },
    ),
    (
        *(rageval.judge, "(rubric, answers, judges, measures)"),
        {
            "records": ((ANSWERS, "crag", "contains"), f"{OF_ANSWERS}rubric"),
            "a frame": ((ASKED, "crag"), f"{OF_ANSWERS}rubric"),
            "judges before": (("crag", "contains", ANSWERS), f"{OF_ANSWERS}judges"),
        },
    ),
    (
        *(rageval.report, "(scores, path)"),
        {"a page": (("page.html", SCORES), "the name of a page as scores")},
    ),
):
    for what, (arguments, finding) in cases.items():
        MISPLACED[f"{verb.__name__}, {what}"] = (verb, arguments, finding, f"{verb.__name__}{order}")


@pytest.mark.parametrize("case", MISPLACED)
def test_arguments_in_the_wrong_order_are_told_the_right_one(case: str) -> None:
    verb, arguments, finding, order = MISPLACED[case]
    options = GATE if verb is rageval.gate else {}
    with pytest.raises(rageval.RagevalError) as refused:
        verb(*arguments, **options)
    message = str(refused.value)
    assert message.startswith(f"{verb.__name__}: found ")
    assert finding in message
    assert f"; the order is {verb.__name__}(" in message
    assert order in message


def test_grades_are_not_taken_for_scores(tmp_path: Path) -> None:
    """Dicts in the order of ir_measures' are refused, as JSON files are told apart; all others score."""
    scores, grades = {"q": {"a": 0.9, "b": 0.1, "c": 2.0}}, {"q": {"a": 1, "b": 0, "c": 2}}
    gains = {"q": {"a": 0.9, "b": 0.1}}

    def forms(numbers: dict[str, dict[str, float]]) -> dict[str, Any]:
        file = tmp_path / f"{len(list(tmp_path.iterdir()))}.json"
        file.write_text(json.dumps(numbers), encoding="utf-8")
        return {"dict": numbers, "json": file}

    evaluator = rageval.Evaluator("ndcg", scores)
    for run, qrels in itertools.product(forms(grades).values(), forms(scores).values()):
        for refused in (
            lambda run=run, qrels=qrels: rageval.evaluate("ndcg", run, qrels),
            lambda run=run, qrels=qrels: rageval.compare("ndcg", {"one": run, "other": run}, qrels),
            lambda run=run: evaluator.evaluate(run),
        ):
            with pytest.raises(rageval.InputError, match=r"expected the run before the judgements; .*2\.0"):
                refused()
    floats = {query: {doc: float(score) for doc, score in docs.items()} for query, docs in grades.items()}
    large = {"q": {"a": 10**7, "b": 1}}
    frame = pandas.DataFrame([{"query_id": "q", "doc_id": "a", "score": 2}])
    others = (large, frame, Run.from_dict(grades))
    for run in (*forms(scores).values(), *forms(floats).values(), *others):
        assert rageval.evaluate("ndcg", run, gains)["ndcg"].value > 0
    for qrels in (grades, Qrels.from_dict(gains), {"q": {"n": gains["q"]}}):
        assert rageval.evaluate("ndcg", grades, qrels)["ndcg"].value > 0


@pytest.mark.parametrize(
    ("measures", "run", "qrels", "message"),
    [
        ("rrr", RUN, QRELS, "unknown measure 'rrr'"),
        ("rr", "nowhere.run", QRELS, "nowhere.run"),
        ("rr", RUN, BASE, "expected judgements of documents"),
        ("rr", QRELS, QRELS, "expected a run"),
        ("rr", 7, QRELS, "expected a run"),
        ("rr", [ScoredDoc("zz", "a", 1.0)], QRELS, "none of its 1 query is judged"),
        ("rr", {}, QRELS, "run: is empty; expected documents and scores"),
        ("rr", {"7640": {}}, QRELS, "run: is empty; expected documents and scores"),
    ],
)
def test_other_mistakes_keep_their_message(measures: Any, run: Any, qrels: Any, message: str) -> None:
    with pytest.raises(rageval.RagevalError) as refused:
        rageval.evaluate(measures, run, qrels)
    assert message in str(refused.value)
    assert "the order is" not in str(refused.value)


def test_a_measure_that_is_no_rubric_is_not_in_the_wrong_place() -> None:
    for rubric in ("faithfulness", "crag_score"):
        with pytest.raises(rageval.UsageError, match=f"^rubric '{rubric}': expected one of"):
            rageval.judge(rubric, ANSWERS, "contains")
