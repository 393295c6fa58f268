"""Logs of seven questions: five as in all logs, one that failed, one answered with no characters."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from rageval import logs
from rageval.errors import InputError
from rageval.logs import Log
from rageval.logs.outputs import LogFiles
from spoilt_logs import files_of
from test_readers import ANSWERS, LOGS, QUESTIONS, RETRIEVED, TEXTS

SEVEN = QUESTIONS | {"a6": "Is there a shop in Oslo?", "a7": "Say nothing, please."}
# answers, failed ones, passages, judgements, failed ones
COUNTS = {
    "promptfoo/seven/results.json": (6, 1, 0, 14, 2),
    "promptfoo/seven/results.jsonl": (6, 1, 0, 14, 2),
    "promptfoo/seven/results.csv": (6, 1, 0, 14, 2),
    "deepeval/seven/evaluation_result.json": (6, 0, 4, 6, 1),
    "deepeval/seven/latest_test_run.json": (6, 0, 4, 6, 1),
    "mlflow/seven/result_df.csv": (6, 1, 4, 14, 3),
    "mlflow/seven/result_df.jsonl": (6, 1, 4, 14, 3),
    "mlflow/seven/result_df.parquet": (6, 1, 4, 14, 3),
    "mlflow/seven/eval_results_table.csv": (6, 0, 0, 6, 0),
    "mlflow/seven/eval_results_table.json": (6, 0, 0, 6, 0),
    "otel/seven/langfuse.jsonl": (6, 1, 4, 0, 0),
    "otel/seven/console.txt": (6, 1, 4, 0, 0),
    "otel/seven/phoenix.csv": (6, 1, 4, 0, 0),
    "otel/seven/phoenix.jsonl": (6, 1, 4, 0, 0),
    "otel/seven/phoenix.parquet": (6, 1, 4, 0, 0),
    "ragas/seven/experiment.csv": (6, 0, 4, 12, 0),
    "ragas/seven/experiment.jsonl": (6, 0, 4, 12, 0),
    "ragas/seven/result.csv": (6, 0, 4, 6, 0),
    "ragas/seven/result.jsonl": (6, 0, 4, 6, 0),
    "ragas/seven/result.parquet": (6, 0, 4, 6, 0),
}


def read(name: str) -> Log:
    return logs.read(str(LOGS / name))


def texts_of(log: Log) -> dict[str, str]:
    """The answers by what was asked: None where the system failed."""
    return {answer.question: "failed" if answer.error else answer.text for answer in log.answers}


@pytest.mark.slow
@pytest.mark.parametrize("name", COUNTS)
def test_what_is_read_is_counted(name: str, tmp_path: Path) -> None:
    renamed = tmp_path / "renamed"
    shutil.copy(LOGS / name, renamed)
    for log in (read(name), logs.read(str(renamed))):
        files = LogFiles(None)
        log.pour(files)
        counts = files.counts
        named = ("answers", "failed answers", "passages", "judgements", "failed judgements")
        assert tuple(counts.get(name, 0) for name in named) == COUNTS[name]
        failed = {SEVEN["a6"]: "failed"} if COUNTS[name][1] else {}
        assert texts_of(log) == {SEVEN[query]: text for query, text in ANSWERS.items()} | failed | {
            SEVEN["a7"]: ""
        }
        if log.passages:
            assert set(log.passages.values()) == set(TEXTS.values())
            ((_, ranking),) = log.run.items()
            assert len(ranking) == sum(map(len, RETRIEVED.values()))


@pytest.mark.parametrize("name", ["results", "two_systems"])
def test_a_csv_of_promptfoo_that_pandas_saved_as_parquet_is_the_same_log(name: str, tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    path = tmp_path / "log.parquet"
    pandas.read_csv(LOGS / f"promptfoo/seven/{name}.csv").to_parquet(path)
    first, other = read(f"promptfoo/seven/{name}.csv"), logs.read(str(path))
    assert other.answers == first.answers
    assert other.questions == first.questions
    assert other.judgements == first.judgements


def test_a_path_may_say_what_an_answer_cost(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text('{"q": "Where?", "a": "Here.", "usd": "0.25"}\n', encoding="utf-8")
    log = logs.read(str(path), "question=q,answer=a,cost=usd")
    (line,) = files_of(log)["answers.jsonl"]
    assert json.loads(line)["cost"] == 0.25


def test_a_suggested_mapping_is_one_that_works_and_cost_is_no_grade(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    columns = "nr,asked,our_answer,expected_answer,passages_used,cost,latency_ms"
    cells = """1,Where?,In Oslo,"[""Oslo"", ""Norway""]","[""Oslo is there""]",0.1,0.5"""
    path.write_text(f"{columns}\n{cells}\n{cells.replace('1,Wh', '2,Wh')}\n")
    with pytest.raises(InputError) as refused:
        logs.read(str(path))
    mapping = str(refused.value).partition("--map '")[2].partition("'")[0]
    assert mapping.split(",")[1:] == [
        *("gold=expected_answer|json[]", "contexts=passages_used|json[]", "cost=cost"),
    ]
    log = logs.read(str(path), f"question=asked,{mapping}")
    assert [(answer.cost, answer.seconds) for answer in log.answers] == [(0.1, None), (0.1, None)]
    assert list(log.questions[0].gold) == ["Oslo", "Norway"]
    assert not log.judgements


CONVERSATIONS = {
    "deepeval/conversations/evaluation_result.json": "--records test_results",
    "deepeval/conversations/test_run.json": "--records conversationalTestCases",
    "ragas/conversations/dataset.jsonl": "--tool records",
    "ragas/conversations/dataset.csv": "--tool records",
}


@pytest.mark.parametrize("name", CONVERSATIONS)
def test_a_conversation_of_one_question_is_read(name: str, tmp_path: Path) -> None:
    text = (LOGS / name).read_text(encoding="utf-8")
    path = tmp_path / "log"
    if name.endswith(".json"):
        value = json.loads(text)
        (key,) = (key for key in ("test_results", "conversationalTestCases") if key in value)
        value[key] = value[key][1:]
        path.write_text(json.dumps(value), encoding="utf-8")
    else:
        lines = text.splitlines()
        path.write_text("\n".join([*lines[:-2], lines[-1]]), encoding="utf-8")
    log = logs.read(str(path))
    assert texts_of(log) == {QUESTIONS["a5"]: ANSWERS["a5"]}


def test_a_later_turn_is_told_by_what_was_said_before(tmp_path: Path) -> None:
    spans = list(map(json.loads, (LOGS / "otel/spans.jsonl").read_text(encoding="utf-8").splitlines()))
    turns = [("user", "Hello?"), ("assistant", "Hello!"), ("user", "What does a return cost?")]
    messages = [{"role": role, "parts": [{"type": "text", "content": text}]} for role, text in turns]
    spans = [span for span in spans if span["name"] != "retrieval kb"]
    for span in spans:
        if "a2" in str(span["attributes"].get("gen_ai.response.id")):
            span["attributes"]["gen_ai.input.messages"] = json.dumps(messages)
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join(map(json.dumps, spans)), encoding="utf-8")
    log = logs.read(str(path))
    assert texts_of(log) == {QUESTIONS[query]: text for query, text in ANSWERS.items()}
    facts = {question.query_id: dict(question.facts) for question in log.questions}
    assert facts["a2"] == {"turn": "2"}
    assert any("1 answer is later turns of a conversation" in remark for remark in map(str, log.remarks))


def test_objects_over_several_lines_are_told_with_the_line_where_they_begin(tmp_path: Path) -> None:
    text = (LOGS / "otel/seven/console.txt").read_text(encoding="utf-8")
    path = tmp_path / "log"
    path.write_text(text[: len(text) - 200], encoding="utf-8")
    begin = text[:-200].rindex("\n{\n")
    with pytest.raises(
        InputError, match=rf"log:{text.count(chr(10), 0, begin + 1) + 1}: expected a record of a log"
    ):
        logs.read(str(path))
    path.write_text("{\n" + json.dumps({"a": 1}) + "\n}\n{\n}\n", encoding="utf-8")
    with pytest.raises(InputError, match="log:"):
        logs.read(str(path))


def test_a_frame_by_columns_is_refused_with_the_words_that_write_it_by_rows(tmp_path: Path) -> None:
    rows = list(map(json.loads, (LOGS / "otel/seven/phoenix.jsonl").read_text(encoding="utf-8").splitlines()))
    path = tmp_path / "log.json"
    columns = {name: {str(index): row[name] for index, row in enumerate(rows)} for name in rows[0]}
    path.write_text(json.dumps(columns), encoding="utf-8")
    with pytest.raises(InputError, match="written by columns; expected one record per span"):
        logs.read(str(path))
