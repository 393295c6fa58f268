"""What failed in a log is missing in what is made of it: never an answer, never a grade, never 0."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import rageval
from rageval.errors import MissingJudgements
from spoilt_logs import loaded, log_of


def promptfoo(value: Any) -> None:
    failed = value["results"]["results"][6]
    failed |= {
        "failureReason": 2,
        "error": "API call error: 500",
        "score": 0,
        "success": False,
        "namedScores": {},
    }
    failed["response"] = {"error": "500"}
    failed["gradingResult"] = None


def deepeval(value: Any) -> None:
    metric = value["testRunData"]["testCases"][4]["metricsData"][0]
    metric |= {
        "success": False,
        "error": "Rate limit",
    }  # `success` is what it says of a metric that raised, too
    del metric["score"]


def deepeval_without_an_answer(value: Any) -> None:
    del value["testRunData"]["testCases"][4]["actualOutput"]


def inspect(value: Any) -> None:
    sample = value["samples"][4]
    sample |= {"error": {"message": "Timeout", "traceback": "…"}, "output": {"choices": []}}


def inspect_unscored(value: Any) -> None:
    del value["samples"][4]["scores"]


def inspect_one_scorer(value: Any) -> None:
    del value["samples"][4]["scores"]["grades"]


def mlflow(value: Any) -> None:
    last = next(trace for trace in value if "king" in trace["info"]["request_preview"])
    last["info"]["state"] = "ERROR"
    last["data"]["spans"][0]["attributes"]["mlflow.spanOutputs"] = "null"
    # Its scorer `short` gave a grade all the same: there is no answer, so there is no judgement.
    assert any(trace["assessment_name"] == "short" for trace in last["info"]["assessments"])


def mlflow_scorer(value: Any) -> None:
    last = next(entry for entry in value if "king" in entry["info"]["request_preview"])
    assessment = next(
        entry for entry in last["info"]["assessments"] if entry["assessment_name"] == "key_fact"
    )
    assessment["feedback"] = {"value": None, "error": {"error_code": "X", "error_message": "scorer raised"}}


def mlflow_lacking(value: Any) -> None:
    last = next(entry for entry in value if "king" in entry["info"]["request_preview"])
    assessments = last["info"]["assessments"]
    assessments[:] = [entry for entry in assessments if entry["assessment_name"] != "key_fact"]


def ragas(value: Any) -> None:
    assert value[4]["faithfulness"] is None


FAILED: list[tuple[str, Callable[[Any], None], str, bool]] = [
    ("promptfoo/results.json", promptfoo, "has-key-fact", False),
    ("deepeval/latest_test_run.json", deepeval, "Key_fact", True),
    ("deepeval/latest_test_run.json", deepeval_without_an_answer, "Key_fact", False),
    ("inspect/log.json", inspect, "complete", False),
    ("inspect/log.json", inspect_unscored, "complete", True),
    ("inspect/log.json", inspect_one_scorer, "complete", True),
    ("mlflow/traces.jsonl", mlflow_lacking, "key_fact", True),
    ("mlflow/traces.jsonl", mlflow, "key_fact", False),
    ("mlflow/traces.jsonl", mlflow_scorer, "key_fact", True),
    ("ragas/result.jsonl", ragas, "faithfulness", True),
]


@pytest.mark.parametrize(("name", "fail", "aspect", "has_answer"), FAILED)
def test_what_failed_is_missing(
    name: str, fail: Callable[[Any], None], aspect: str, has_answer: bool, tmp_path: Path
) -> None:
    value = loaded(name)
    fail(value)
    log = log_of(tmp_path, value)
    query = next(entry.query_id for entry in log.questions if "king" in entry.text)
    judgements = [
        entry for entry in log.judgements if entry["query_id"] == query and entry["aspect"] == aspect
    ]
    assert [entry["status"] for entry in judgements] == ["error"]
    assert "grade" not in judgements[0]
    assert "label" not in judgements[0]
    (answer,) = (answer for answer in log.answers if answer.query_id == query)
    assert (answer.status == "ok") == has_answer
    if not has_answer:
        assert {entry["status"] for entry in log.judgements if entry["query_id"] == query} == {"error"}
        assert (answer.status, answer.text) == ("error", "")
    all_grades = [
        entry["grade"] for entry in log.judgements if entry["aspect"] == aspect and "grade" in entry
    ]
    measure = f"grade(aspect={aspect})"
    with pytest.raises(MissingJudgements, match="1 error"):
        rageval.evaluate_answers(measure, log.judgements)
    # Of promptfoo two questions were asked twice: the question is the unit, and the others lack an answer.
    of_question: dict[str, list[float]] = {}
    for entry in log.judgements:
        if entry["aspect"] == aspect and "grade" in entry:
            of_question.setdefault(entry["query_id"], []).append(entry["grade"])
    means = [sum(grades) / len(grades) for grades in of_question.values()]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".* have fewer than 2 answers")
        (scores,) = rageval.evaluate_answers(measure, log.judgements, on_missing="skip").values()
    assert scores.scores[0].value == pytest.approx(sum(means) / len(means))
    assert len(all_grades) >= len(means) == 4


def test_passages_that_come_twice_are_kept_once_and_counted(tmp_path: Path) -> None:
    rows = loaded("ragas/result.jsonl")
    rows[0]["retrieved_contexts"] *= 2
    log = log_of(tmp_path, rows)
    assert log.left_out == {"passages that appear twice in a ranking": 2}
    assert len(log.answers[0].references) == 2
    ranking = [doc.score for doc in log.run["ragas"] if doc.query_id == log.answers[0].query_id]
    assert ranking == [1.0, 0.5]


def test_scores_that_are_distances_do_not_order_a_run(tmp_path: Path) -> None:
    value = loaded("langfuse/traces.jsonl")
    for trace in value:
        for index, document in enumerate(trace["observations"][0]["output"]):
            document["score"] = 0.1 * (index + 1)
    log = log_of(tmp_path, value)
    assert [doc.score for doc in log.run["toy-rag-a"][:2]] == [1.0, 0.5]
    assert any("are they distances?" in remark for remark in map(str, log.remarks))


def test_names_with_blanks_stand_in_a_run_all_the_same(tmp_path: Path) -> None:
    rows = [{"q": "Who?", "a": "x", "docs": [{"id": "my file.md#0", "text": "t"}], "run": "my rag"}]
    mapping = "question=q,answer=a,contexts=docs[].text,context_ids=docs[].id,run_id=run"
    log = log_of(tmp_path, rows, map=mapping)
    (doc,) = log.run["my%20rag"]
    assert doc.doc_id == "my%20file.md#0" == log.answers[0].references[0]


def test_grades_beyond_all_bounds_are_refused(tmp_path: Path) -> None:
    value = loaded("inspect/log.json")
    value["samples"][0]["scores"]["grades"]["value"] = {"faithful": 1e300}
    with pytest.raises(rageval.InputError, match="expected as faithful a number from -1,000,000"):
        log_of(tmp_path, value)


def test_metrics_of_other_names_do_not_become_one(tmp_path: Path) -> None:
    value = loaded("deepeval/latest_test_run.json")
    for case in value["testRunData"]["testCases"]:
        case["metricsData"].append(case["metricsData"][0] | {"name": "Key (fact)", "score": 0.25})
    log = log_of(tmp_path, value)
    assert {judgement["aspect"]: judgement["rubric"] for judgement in log.judgements} == {
        "Key_fact": "deepeval/Key fact",
        "Key_fact_2": "deepeval/Key (fact)",
    }


def test_ids_of_questions_are_given_everywhere_or_nowhere(tmp_path: Path) -> None:
    rows = [{"q": "Who?", "a": "x", "id": "1"}, {"q": "Where?", "a": "y"}]
    mapping = "question=q,answer=a,query_id=id"
    with pytest.raises(
        rageval.InputError, match=r"log:2: expected an id of the question at the path of --map"
    ):
        log_of(tmp_path, rows, map=mapping)
    rows[1]["id"] = "1"
    log = log_of(tmp_path, rows, map=mapping)
    assert [(answer.query_id, answer.repeat) for answer in log.answers] == [("1", "1"), ("1", "2")]
    assert any("an id stands for several questions" in remark for remark in map(str, log.remarks))


@pytest.mark.parametrize("name", ["x" * 2000, "d" * 300])
def test_ids_that_are_long(name: str, tmp_path: Path) -> None:
    value = loaded("deepeval/latest_test_run.json")
    for index, case in enumerate(value["testRunData"]["testCases"]):
        case["name"] = f"{name}{index}"  # more a text than an id
    log = log_of(tmp_path, value)
    assert all(len(question.query_id) == 12 for question in log.questions)
    value["testRunData"]["testCases"][0]["metadata"]["ids"] = [name, "b"]
    if len(name) > 1024:
        with pytest.raises(rageval.InputError, match="expected ids of at most 1,024 bytes"):
            log_of(tmp_path, value, map="context_ids=metadata.ids[]")
