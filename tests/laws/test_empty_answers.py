"""An answer of no characters is an answer, and null is none: in every reader, however the log is written."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import rageval
from declared import require_same
from rageval import logs
from rageval.errors import InputError
from rageval.files.answers import FORMS, read_answers
from rageval.logs import Log
from rageval.logs.readers import GENERIC, TOOLS

LOGS = Path(__file__).parents[1] / "golden" / "logs"
MAP = "question=question,answer=answer,query_id=query_id,grade:quality=quality"
Answered = str | None


def loaded(name: str) -> Any:
    text = (LOGS / name).read_text(encoding="utf-8-sig")
    return json.loads(text) if name.endswith(".json") else list(map(json.loads, text.splitlines()))


def lines_of(value: Any) -> bytes:
    return "\n".join(map(json.dumps, value if isinstance(value, list) else [value])).encode()


def parquet_of(rows: list[dict[str, Any]]) -> bytes:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    stream = pyarrow.BufferOutputStream()
    parquet.write_table(pyarrow.Table.from_pylist(rows), stream)
    return stream.getvalue().to_pybytes()  # type: ignore[no-any-return]


def promptfoo(answer: Answered) -> bytes:
    value = loaded("promptfoo/results.json")
    value["results"]["results"][0]["response"]["output"] = answer
    return lines_of(value)


def inspect(answer: Answered) -> bytes:
    value = loaded("inspect/log.json")
    sample = value["samples"][0]
    sample["output"] |= {"completion": answer, "choices": sample["output"]["choices"] if answer == "" else []}
    return lines_of(value)


def ragas(answer: Answered) -> bytes:
    rows = loaded("ragas/result.jsonl")
    rows[0]["response"] = answer
    return lines_of(rows)


def deepeval(answer: Answered) -> bytes:
    value = loaded("deepeval/latest_test_run.json")
    value["testRunData"]["testCases"][0]["actualOutput"] = answer
    return lines_of(value)


def lm_eval(answer: Answered) -> bytes:
    rows = loaded("lm-eval/samples_toy_rag.jsonl")
    rows[0]["filtered_resps"] = [answer]
    return lines_of(rows)


def otel(answer: Answered) -> bytes:
    spans = loaded("otel/spans.jsonl")
    messages = [{"role": "assistant", "content": answer}]
    spans[1]["attributes"]["gen_ai.output.messages"] = json.dumps(messages)
    return lines_of(spans)


def mlflow(answer: Answered) -> bytes:
    rows = loaded("mlflow/result_df.jsonl")
    rows[0]["response"] = answer
    for span in rows[0]["spans"]:
        if span.get("parent_span_id") is None:
            span["attributes"]["mlflow.spanOutputs"] = json.dumps(answer)
    return lines_of(rows)


def langfuse(answer: Answered) -> bytes:
    traces = loaded("langfuse/traces.jsonl")
    traces[0]["output"] = {"answer": answer}
    for observation in traces[0]["observations"]:
        if observation["type"] == "GENERATION":
            observation["output"] = {"role": "assistant", "content": answer}
    return lines_of(traces)


def langsmith(answer: Answered) -> bytes:
    runs = loaded("langsmith/runs.jsonl")
    next(run for run in runs if not run.get("parent_run_id"))["outputs"] = {"answer": answer}
    return lines_of(runs)


def autorag(answer: Answered) -> bytes:
    pytest.importorskip("pyarrow")
    from pyarrow import parquet

    rows = parquet.read_table(LOGS / "autorag/nodes.parquet").to_pylist()
    rows[0]["generated_texts"] = answer
    return parquet_of(rows)


def open_rag_eval(answer: Answered) -> bytes:
    text = (LOGS / "open-rag-eval/results.csv").read_text(encoding="utf-8")
    return text.replace("Seven [2]", "NO_ANSWER" if answer is None else answer).encode()


def messages(answer: Answered) -> bytes:
    rows = loaded("messages/trajectories.jsonl")
    rows[0]["messages"][-1]["content"] = answer
    return lines_of(rows)


def tau_bench(answer: Answered) -> bytes:
    rows = loaded("tau-bench/results.json")
    rows[0]["traj"][-2]["content"] = answer
    return json.dumps(rows).encode()


def browsecomp_plus(answer: Answered) -> bytes:
    rows = loaded("browsecomp-plus/runs.jsonl")
    rows[0]["result"][-1]["output"] = answer
    return lines_of(rows)


def every_eval_ever(answer: Answered) -> bytes:
    rows = loaded("every-eval-ever/samples.jsonl")
    rows[0] |= {"output": {"raw": [answer]}, "messages": None}
    return lines_of(rows)


def mt_rag(answer: Answered) -> bytes:
    rows = loaded("mt-rag/responses.jsonl")
    rows[0]["predictions"] = [{"text": answer}]
    return lines_of(rows)


def crag_mm(answer: Answered) -> bytes:
    rows = loaded("crag-mm/results.jsonl")
    rows[0]["agent_response"] = answer
    return lines_of(rows)


ROWS = [
    {"query_id": "q1", "question": "1?", "answer": "Oslo", "quality": 0.5},
    {"query_id": "q2", "question": "2?", "answer": "", "quality": 0.0},
    {"query_id": "q3", "question": "3?", "answer": None, "quality": None},
]


def records(answer: Answered) -> bytes:
    return lines_of([ROWS[0], ROWS[1] | {"answer": answer}])


# A log of each reader in which one answer is empty, or null; a new reader has to be put in here.
READERS: dict[str, Callable[[Answered], bytes]] = {
    **{"promptfoo": promptfoo, "inspect": inspect, "ragas": ragas, "deepeval": deepeval, "lm-eval": lm_eval},
    **{"otel": otel, "mlflow": mlflow, "langfuse": langfuse, "langsmith": langsmith, "autorag": autorag},
    **{"open-rag-eval": open_rag_eval, "messages": messages, "tau-bench": tau_bench},
    **{"browsecomp-plus": browsecomp_plus, "every-eval-ever": every_eval_ever, GENERIC: records},
    **{"mt-rag": mt_rag, "crag-mm": crag_mm},
}


def read(tool: str, content: bytes, folder: Path, name: str = "log") -> Log:
    (folder / name).write_bytes(content)
    log = logs.read(str(folder / name), MAP if tool == GENERIC else None)
    assert log.tool == tool
    return log


def test_every_reader_is_here() -> None:
    require_same(READERS, {*TOOLS, GENERIC} - {"ikat"}, "READERS of test_empty_answers.py")


@pytest.mark.parametrize("tool", READERS)
def test_empty_is_an_answer_and_null_is_none(tool: str, tmp_path: Path) -> None:
    empty, null = (read(tool, READERS[tool](answer), tmp_path) for answer in ("", None))
    assert [answer.status for answer in empty.answers].count("empty") == 1
    assert {answer.status for answer in empty.answers} == {"ok", "empty"}
    assert [answer.status for answer in null.answers].count("error") == 1
    assert {answer.status for answer in null.answers} == {"ok", "error"}
    assert len(empty.answers) == len(null.answers)
    assert not any("answer" in why for why in (*empty.left_out, *null.left_out))
    # What the tool said of the empty one is kept; of none there is nothing to say.
    (place,) = ((answer.run_id, answer.query_id, answer.repeat) for answer in null.answers if answer.error)
    kept, lost = (
        [row for row in log.judgements if (row["run_id"], row["query_id"], row.get("repeat", "")) == place]
        for log in (empty, null)
    )
    assert len(kept) >= len(lost)
    assert {row["status"] for row in lost} <= {"error"}


def csv_of(rows: list[dict[str, Any]]) -> bytes:
    """Return rows as pandas writes them: what is null and what is empty are both nothing."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def table_of_ragas() -> list[dict[str, Any]]:
    texts: list[Answered] = ["Oslo.", "", None]
    scores = [0.75, 0.0, None]
    return [
        {"user_input": f"Question {index}?", "response": text, "reference": "Oslo", "faithfulness": score}
        for index, (text, score) in enumerate(zip(texts, scores, strict=True))
    ]


# Of the tools whose logs are written as rows: the same rows, once empty and once null.
TABLES: dict[str, list[dict[str, Any]]] = {"ragas": table_of_ragas(), GENERIC: ROWS}


@pytest.mark.parametrize("tool", TABLES)
def test_one_log_says_the_same_however_it_is_written(tool: str, tmp_path: Path) -> None:
    rows = TABLES[tool]
    pytest.importorskip("pyarrow")
    forms = {
        "lines": lines_of(rows),
        "value": json.dumps(rows).encode(),
        "csv": csv_of(rows),
        "parquet": parquet_of(rows),
    }
    logs = {form: read(tool, content, tmp_path, form) for form, content in forms.items()}
    for form, log in logs.items():
        assert [answer.status for answer in log.answers] == ["ok", "empty", "error"], form
        judgements = [
            {key: judgement[key] for key in judgement if key != "run_id"} for judgement in log.judgements
        ]
        first = logs["lines"].judgements
        assert judgements == [
            {key: judgement[key] for key in judgement if key != "run_id"} for judgement in first
        ], form
        (scores,) = rageval.evaluate_answers(
            f"grade(aspect={judgements[0]['aspect']})", log.judgements, on_missing="skip"
        ).values()
        assert scores.scores[0].value == pytest.approx((rows[0].get("quality") or 0.75) / 2), form


def test_a_csv_without_scores_has_empty_answers(tmp_path: Path) -> None:
    rows = [{"query_id": "q1", "question": "1?", "answer": text} for text in ("Oslo", "")]
    (tmp_path / "log.csv").write_bytes(csv_of(rows))
    log = logs.read(str(tmp_path / "log.csv"), "question=question,answer=answer")
    assert [answer.status for answer in log.answers] == ["ok", "empty"]


# A line of each form of answers, without its answer; what is empty there, and under which name.
LINES: dict[str, tuple[dict[str, Any], str, Any]] = {
    "plain": ({"query_id": "q", "run_id": "r"}, "answer", ""),
    "rag24": ({"run_id": "r", "topic_id": "q", "topic": "", "references": []}, "answer", []),
    "report": ({"metadata": {"run_id": "r", "topic_id": "q"}}, "responses", []),
    "rag26": (
        {"metadata": {"run_id": "r", "narrative_id": "q", "run_desc": ""}, "references": []},
        "answer",
        [],
    ),
    "rag25": ({"metadata": {"run_id": "r", "narrative_id": "q"}, "references": []}, "answer", []),
    "liverag": ({"id": "q", "passages": []}, "answer", ""),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_answers_tells_empty_from_null(form: str) -> None:
    record, key, empty = LINES[form]
    for value, status in ((empty, "empty"), (None, "error")):
        source = io.BytesIO(lines_of(record | {key: value}))
        (answer,) = read_answers(source)
        assert (answer.query_id, answer.status) == ("q", status)


def test_a_null_in_a_field_is_a_field_that_is_not_there() -> None:
    """As pandas writes the gaps of a frame: in judgements, answers, questions, nuggets, of every field."""
    from rageval.files.nuggets import read_nuggets
    from rageval.files.questions import read_questions

    def judgements(record: dict[str, Any]) -> Any:
        scores = rageval.evaluate_answers("crag_score", [record])
        return {run: result.scores[0].value for run, result in scores.items()}

    judged = {"query_id": "q", "run_id": "r", "label": "perfect"}
    answered = {"query_id": "q", "answer": "Oslo"}
    asked = {"query_id": "q", "question": "Where?"}
    bank = {"qid": "q", "query": "Where?", "nuggets": [{"text": "Oslo", "importance": "vital"}]}
    more = {
        judgements: (judged, ("item_id", "aspect", "grade", "status", "judge", "rubric", "importance",
                              "weight", "sentences", "answerable", "shown", "repeat")),
        lambda record: list(read_answers(io.BytesIO(lines_of(record)))): (
            answered, ("run_id", "question", "prompt", "references", "passages", "repeat", "status", "reason")
        ),
        lambda record: list(read_questions(io.BytesIO(lines_of(record)))): (asked, ("answer", "domain")),
        lambda record: list(read_nuggets(io.BytesIO(lines_of(record)))): (bank, ("creator", "title_text")),
    }  # fmt: skip
    for read_it, (record, fields) in more.items():
        without = read_it(record)
        for field in fields:
            assert read_it(record | {field: None}) == without, field
        assert read_it(record | dict.fromkeys(fields)) == without


@pytest.mark.parametrize("written", ["NaN", "Infinity", "-Infinity"])
def test_a_number_that_is_none_is_a_missing_grade(written: str, tmp_path: Path) -> None:
    value = loaded("inspect/log.json")
    name = next(iter(value["samples"][0]["scores"]))
    value["samples"][0]["scores"][name]["value"] = "@"
    value["samples"][1]["metadata"] = {"note": f'a "{written}" in a text'}
    text = json.dumps(value).replace('"@"', written)
    log = read("inspect", text.encode(), tmp_path)
    judgements = [judgement for judgement in log.judgements if judgement["aspect"] == name]
    assert [judgement["status"] for judgement in judgements].count("error") == 1
    assert {answer.status for answer in log.answers} == {"ok"}


def test_float_grades_are_scored_or_a_measure_says_what_it_needs() -> None:
    rows = [
        {"query_id": f"q{index}", "run_id": "r", "grade": grade} for index, grade in enumerate((0.73, 0.5))
    ]
    scores = rageval.evaluate_answers("grade(aspect=0)", rows)["r"].scores[0]
    assert scores.value == pytest.approx(0.615)
    levels = "expected one of perfect.*found grade 0.73.*" + re.escape("grade(aspect=0)")
    with pytest.raises(InputError, match=levels):
        rageval.evaluate_answers("crag_score", rows)
    of_liverag = [row | {"aspect": "correctness"} for row in rows]
    assert rageval.evaluate_answers("correctness", of_liverag)["r"].scores[0].value == pytest.approx(0.615)


def test_an_answer_of_no_characters_has_no_sentences() -> None:
    answers = [
        {"query_id": f"q{index}", "run_id": "r", "answer": text}
        for index, text in enumerate(("", " ", "One."))
    ]
    score = rageval.evaluate_answers("sentence_count", answers=answers)["r"]["sentence_count"]
    assert list(score.values) == [0.0, 0.0, 1.0]
