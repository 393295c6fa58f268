"""Logs of seven questions: five as in all logs, one that failed, one answered with no characters."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from rageval import logs
from rageval.cli import main
from rageval.errors import InputError
from rageval.files.answers import read_answers
from rageval.logs import Log
from rageval.logs.log import counts_of, outputs
from test_readers import ANSWERS, GOLD, LOGS, QUESTIONS, RETRIEVED, TEXTS

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
COST = {"cost": 0.000034, "input_tokens": 20, "output_tokens": 7}


def read(name: str) -> Log:
    return logs.read(str(LOGS / name))


def texts_of(log: Log) -> dict[str, str]:
    """The answers by what was asked: None where the system failed."""
    return {answer.question: "failed" if answer.error else answer.text for answer in log.answers}


def test_every_log_of_seven_is_counted() -> None:
    named = {str(path.relative_to(LOGS)) for path in LOGS.glob("*/seven/*")}
    assert named == {*COUNTS, "promptfoo/seven/two_systems.csv"}


@pytest.mark.parametrize("name", COUNTS)
def test_what_is_read_is_counted(name: str, tmp_path: Path) -> None:
    renamed = tmp_path / "renamed"
    shutil.copy(LOGS / name, renamed)
    for log in (read(name), logs.read(str(renamed))):
        counts = counts_of(log)
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


@pytest.mark.parametrize(
    "names",
    [
        ("mlflow/seven/result_df.csv", "mlflow/seven/result_df.jsonl", "mlflow/seven/result_df.parquet"),
        ("mlflow/seven/eval_results_table.csv", "mlflow/seven/eval_results_table.json"),
        ("ragas/seven/experiment.csv", "ragas/seven/experiment.jsonl"),
        ("ragas/seven/result.csv", "ragas/seven/result.jsonl", "ragas/seven/result.parquet"),
        ("promptfoo/seven/results.json", "promptfoo/seven/results.jsonl"),
    ],
)
def test_the_forms_of_one_log_are_equal_byte_for_byte(names: tuple[str, ...]) -> None:
    first, *others = ({name: list(lines()) for name, lines in outputs(read(name)).items()} for name in names)
    assert first["answers.jsonl"]
    for other in others:
        assert other == first


def test_the_forms_of_a_frame_of_phoenix_are_equal_but_for_the_digits_that_pandas_writes() -> None:
    first, *others = (read(f"otel/seven/phoenix.{form}") for form in ("parquet", "csv", "jsonl"))
    for other in others:
        assert (other.answers, other.questions, other.spent) == (first.answers, first.questions, first.spent)
        for one, two in zip(first.run["otel"], other.run["otel"], strict=True):
            assert one[:2] == two[:2]
            assert one.score == pytest.approx(two.score, abs=1e-9)


def test_a_csv_of_promptfoo_has_the_answers_and_grades_of_its_json() -> None:
    first, other = read("promptfoo/seven/results.json"), read("promptfoo/seven/results.csv")
    assert [(record.query_id, record.text, record.status) for record in other.answers] == [
        (record.query_id, record.text, record.status) for record in first.answers
    ]
    judgements = [
        [(record["query_id"], record["aspect"], record.get("grade")) for record in log.judgements]
        for log in (first, other)
    ]
    assert judgements[0] == judgements[1]


def test_a_csv_of_promptfoo_has_a_column_a_system() -> None:
    log = read("promptfoo/seven/two_systems.csv")
    assert {answer.run_id for answer in log.answers} == {"toy-base/prompt0", "toy-two/prompt1"}
    assert {answer.repeat for answer in log.answers} == {"1", "2"}
    assert (len(log.answers), sum(bool(answer.error) for answer in log.answers)) == (28, 4)


def test_promptfoo_disarms_formulas_and_reading_takes_that_back(tmp_path: Path) -> None:
    text = (LOGS / "promptfoo/seven/results.csv").read_text(encoding="utf-8")
    path = tmp_path / "log.csv"
    path.write_text(text.replace(",From 60 euros.,", ",'-5 degrees.,"), encoding="utf-8")
    assert texts_of(logs.read(str(path)))[SEVEN["a3"]] == "-5 degrees."


@pytest.mark.parametrize("answer", ["print('=' * 10)", "the users' -5 rating", "' or '-1"])
def test_a_quote_within_a_text_of_promptfoo_is_kept(answer: str, tmp_path: Path) -> None:
    text = (LOGS / "promptfoo/seven/results.csv").read_text(encoding="utf-8")
    path = tmp_path / "log.csv"
    path.write_text(text.replace(",From 60 euros.,", f",{answer},"), encoding="utf-8")
    assert texts_of(logs.read(str(path)))[SEVEN["a3"]] == answer


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


def test_an_error_in_a_csv_of_promptfoo_has_no_grades_as_in_its_json(tmp_path: Path) -> None:
    text = (LOGS / "promptfoo/seven/results.csv").read_text(encoding="utf-8")
    assert ",ERROR,0.00,," in text
    path = tmp_path / "log.csv"
    path.write_text(text.replace(",ERROR,0.00,,", ',ERROR,0.00,"{""odd"":0}",'), encoding="utf-8")
    log, whole = logs.read(str(path)), read("promptfoo/seven/results.csv")
    assert log.judgements == whole.judgements


@pytest.mark.parametrize(
    "name",
    [
        "promptfoo/seven/results.json",
        "otel/seven/langfuse.jsonl",
        "otel/seven/console.txt",
        "otel/seven/phoenix.csv",
    ],
)
def test_what_an_answer_cost_is_kept_beside_it(name: str, tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["import", str(LOGS / name), "-o", str(tmp_path / "prod")])
    assert result.exit_code == 0, result.output
    path = tmp_path / "prod" / "answers.jsonl"
    lines = {
        record["query_id"]: record
        for record in map(json.loads, path.read_text(encoding="utf-8").splitlines())
    }
    assert COST.items() <= lines["a1"].items()
    assert len(list(read_answers(str(path)))) == 7
    assert "cost" not in lines["a6"] or lines["a6"]["cost"] == 0


def test_answers_with_their_cost_are_judged_as_any_and_the_cost_is_no_judgement_s(tmp_path: Path) -> None:
    prod, judged = tmp_path / "prod", tmp_path / "judged.jsonl"
    result = CliRunner().invoke(
        main, ["import", str(LOGS / "deepeval/seven/latest_test_run.json"), "-o", str(prod)]
    )
    assert result.exit_code == 0, result.output
    for name in ("answers.jsonl", "questions.jsonl"):  # those with a right answer
        lines = (prod / name).read_text(encoding="utf-8").splitlines()
        (tmp_path / name).write_text("\n".join(lines[: len(GOLD)]), encoding="utf-8")
    few, questions = tmp_path / "answers.jsonl", ("--questions", str(tmp_path / "questions.jsonl"))
    result = CliRunner().invoke(
        main, ["judge", "crag", str(few), *questions, "--judge", "contains", "-o", str(judged)]
    )
    assert result.exit_code == 0, result.output
    assert '"cost":0.000034' in few.read_text(encoding="utf-8")
    for path in (prod / "judged.jsonl", judged):
        assert "0.000034" not in path.read_text(encoding="utf-8")


def test_a_path_may_say_what_an_answer_cost(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text('{"q": "Where?", "a": "Here.", "usd": "0.25"}\n', encoding="utf-8")
    log = logs.read(str(path), "question=q,answer=a,cost=usd")
    (line,) = outputs(log)["answers.jsonl"]()
    assert json.loads(line)["cost"] == 0.25


CONVERSATIONS = {
    "deepeval/conversations/evaluation_result.json": "--records test_results",
    "deepeval/conversations/test_run.json": "--records conversationalTestCases",
    "ragas/conversations/dataset.jsonl": "--tool records",
    "ragas/conversations/dataset.csv": "--tool records",
}


def test_every_log_of_conversations_is_tried() -> None:
    assert {str(path.relative_to(LOGS)) for path in LOGS.glob("*/conversations/*")} == set(CONVERSATIONS)


@pytest.mark.parametrize("name", CONVERSATIONS)
def test_several_questions_are_refused_with_words_that_read_one_of_each(name: str) -> None:
    import shlex

    words = ["import", str(LOGS / name), "--dry-run"]
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 2
    assert "is a conversation with 2 questions; expected one and its answer" in result.stderr
    more = shlex.split(result.stderr.partition("counted from 0: ")[2])
    assert " ".join(more[:2]) == CONVERSATIONS[name]
    result = CliRunner().invoke(main, [*words, *more])
    assert result.exit_code == 0, result.output
    assert "2 answers, 2 questions" in result.stdout


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
    assert any("1 answers are later turns of a conversation" in remark for remark in map(str, log.remarks))


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


@pytest.mark.parametrize(("value", "expected"), [("", ""), (None, "failed")])
def test_an_empty_output_of_a_frame_is_an_answer_and_none_is_none(
    value: str | None, expected: str, tmp_path: Path
) -> None:
    rows = list(map(json.loads, (LOGS / "otel/seven/phoenix.jsonl").read_text(encoding="utf-8").splitlines()))
    for row in rows:
        if row["name"] == "rag":
            row["attributes.output.mime_type"] = None
            row["attributes.output.value"] = row["attributes.output.value"] or value
        row["attributes.llm.output_messages"] = None
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    texts = texts_of(logs.read(str(path)))
    assert (texts[SEVEN["a7"]], texts[SEVEN["a6"]], texts[SEVEN["a1"]]) == (expected, "failed", ANSWERS["a1"])


def test_a_call_that_was_asked_again_is_no_failure(tmp_path: Path) -> None:
    spans = list(
        map(json.loads, (LOGS / "otel/seven/langfuse.jsonl").read_text(encoding="utf-8").splitlines())
    )
    (call,) = (
        span for span in spans if span["name"] == "chat" and QUESTIONS["a1"] in str(span["attributes"])
    )
    failed = json.loads(json.dumps(call)) | {"start_time": "2026-01-01T00:00:00.000000Z"}
    failed["status"] = {"status_code": "ERROR", "description": "429"}
    del failed["attributes"]["langfuse.observation.output"]
    (root,) = (span for span in spans if span["name"] == "rag" and QUESTIONS["a1"] in str(span["attributes"]))
    del root["attributes"]["langfuse.observation.output"]  # so that the call has the last word
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join(map(json.dumps, [failed, *spans])), encoding="utf-8")
    assert texts_of(logs.read(str(path)))[QUESTIONS["a1"]] == ANSWERS["a1"]
    path.write_text(
        "\n".join(map(json.dumps, [failed, *(item for item in spans if item is not call)])), "utf-8"
    )
    (answer,) = (item for item in logs.read(str(path)).answers if item.question == QUESTIONS["a1"])
    assert answer.error == "429"


def test_a_table_with_answers_of_its_own_is_none_of_ragas(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("user_input,reference,answer\nWhere?,Oslo,In Oslo.\n", encoding="utf-8")
    with pytest.raises(InputError, match="no reader knows this"):
        logs.read(str(path))
