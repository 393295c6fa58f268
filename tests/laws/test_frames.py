"""A frame of any library is read as records are, by every verb and argument, or refused with what to pass."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import rageval
from rageval.cli import main
from rageval.errors import InputError, UsageError

Row = dict[str, Any]
QUERIES = [f"q{number}" for number in range(12)]
RUN = [{"query_id": q, "doc_id": d, "score": s} for q in QUERIES for d, s in (("a", 2.0), ("b", 1.0))]
OTHER = [{"query_id": q, "doc_id": d, "score": s} for q in QUERIES for d, s in (("a", 1.0), ("b", 2.0))]
QRELS = [{"query_id": q, "doc_id": "ab"[number % 3 == 0], "relevance": 1} for number, q in enumerate(QUERIES)]
JUDGED = [{"query_id": q, "run_id": "r", "aspect": "0", "label": "support"} for q in QUERIES]
NUGGETS = [{"qid": q, "nuggets": [{"text": "n", "importance": "vital"}]} for q in QUERIES]
ANSWERS = [{"query_id": q, "run_id": "r", "answer": "In Oslo."} for q in QUERIES]
ASKED = [{"query_id": q, "question": "Where?", "answer": "Oslo"} for q in QUERIES]
TABLE = [{"id": q, "question": f"Where is {q}?", "answer": "In Oslo.", "gold": "Oslo"} for q in QUERIES]


def of_pandas(rows: list[Row]) -> Any:
    return pytest.importorskip("pandas").DataFrame(rows)


def of_polars(rows: list[Row]) -> Any:
    return pytest.importorskip("polars").DataFrame(rows)


def of_polars_lazily(rows: list[Row]) -> Any:
    return pytest.importorskip("polars").LazyFrame(rows)


def of_pyarrow(rows: list[Row]) -> Any:
    return pytest.importorskip("pyarrow").Table.from_pylist(rows)


def in_a_batch(rows: list[Row]) -> Any:
    return pytest.importorskip("pyarrow").RecordBatch.from_pylist(rows)


Make = Callable[[list[Row]], Any]
FRAMES: list[Make] = [of_pandas, of_polars, of_pyarrow, in_a_batch]


def values(scores: Any) -> Any:
    return {run: result.scores[0].by_query for run, result in scores.items()}


def reported(tmp_path: Path, **given: Any) -> int:
    scores = rageval.evaluate_answers("a_strict", JUDGED)
    return len(rageval.report(scores, tmp_path / "r.html", **given).read_text())


# Each argument that takes a table, of every verb: (verb, argument) -> a call with one.
CALLS: dict[tuple[str, str], tuple[list[Row], Callable[[Any, Path], Any]]] = {
    ("evaluate", "run"): (RUN, lambda frame, _: rageval.evaluate("rr", frame, QRELS).scores[0].by_query),
    ("evaluate", "qrels"): (QRELS, lambda frame, _: rageval.evaluate("rr", RUN, frame).scores[0].by_query),
    ("compare", "runs"): (
        RUN,
        lambda frame, _: rageval.compare("rr", {"a": frame, "b": OTHER}, QRELS).pairs[0].difference,
    ),
    ("compare", "qrels"): (
        QRELS,
        lambda frame, _: rageval.compare("rr", {"a": RUN, "b": OTHER}, frame).pairs[0].difference,
    ),
    ("evaluate_answers", "judgements"): (
        JUDGED,
        lambda frame, _: values(rageval.evaluate_answers("a_strict", frame)),
    ),
    ("evaluate_answers", "answers"): (
        ANSWERS,
        lambda frame, _: values(rageval.evaluate_answers("nugget_density", JUDGED, answers=frame)),
    ),
    ("evaluate_answers", "nuggets"): (
        NUGGETS,
        lambda frame, _: values(rageval.evaluate_answers("v_strict", JUDGED, nuggets=frame)),
    ),
    ("evaluate_answers", "questions"): (
        ASKED,
        lambda frame, _: values(rageval.evaluate_answers("a_strict", JUDGED, questions=frame)),
    ),
    ("evaluate_answers", "gold"): (
        [{**row, "judge": "person:a"} for row in JUDGED],
        lambda frame, _: values(rageval.evaluate_answers("a_strict", JUDGED, gold=frame)),
    ),
    ("read_judgements", "judgements"): (JUDGED, lambda frame, _: len(rageval.read_judgements(frame).query)),
    ("judge", "answers"): (
        ANSWERS,
        lambda frame, _: rageval.judge("crag", frame, "contains", questions=ASKED).copy(),
    ),
    ("judge", "questions"): (
        ASKED,
        lambda frame, _: rageval.judge("crag", ANSWERS, "contains", questions=frame).copy(),
    ),
    ("gate", "candidate"): (
        TABLE,
        lambda frame, _: rageval.gate(frame, baseline=frame, margin=0.1, judge="contains").verdict,
    ),
    ("gate", "qrels"): (QRELS, lambda frame, path: gated(path, RUN, frame)),
    ("gate", "run"): (RUN, lambda frame, path: gated(path, frame, QRELS)),
    ("report", "judgements"): (JUDGED, lambda frame, path: reported(path, judgements=frame)),
    ("report", "questions"): (ASKED, lambda frame, path: reported(path, questions=frame)),
}


def gated(path: Path, run: Any, qrels: Any) -> str:
    lines = {
        "qrels": "".join(f"{row['query_id']} 0 {row['doc_id']} 1\n" for row in QRELS),
        "run": "".join(f"{row['query_id']} Q0 {row['doc_id']} 1 {row['score']} r\n" for row in RUN),
    }
    for name, text in lines.items():
        (path / name).write_text(text)
    words = ["gate", path / "run", path / "qrels", "-m", "rr", "--save-baseline", path / "base.jsonl"]
    result = CliRunner().invoke(main, list(map(str, words)))
    assert result.exit_code == 0, result.output
    return rageval.gate(run, qrels, "rr", baseline=path / "base.jsonl", margin=0.1).verdict


def test_every_verb_is_there() -> None:
    """A new verb, or argument, that takes a table has a line above."""
    tables = {"qrels", "judgements", "candidate", "runs"}
    there = {
        (name, argument)
        for name in ("evaluate", "compare", "evaluate_answers", "gate", "judge", "report", "read_judgements")
        for argument in inspect.signature(getattr(rageval, name)).parameters
        if argument in tables
    }
    assert there - CALLS.keys() <= {("report", "qrels"), ("report", "runs")}


@pytest.mark.slow
@pytest.mark.parametrize("call", CALLS, ids="-".join)
@pytest.mark.parametrize("make", FRAMES, ids=lambda make: make.__name__)
def test_a_frame_is_its_records(call: tuple[str, str], make: Make, tmp_path: Path) -> None:
    rows, function = CALLS[call]
    first = of_pandas(rows) if call == ("gate", "candidate") else rows
    assert function(make(rows), tmp_path) == function(first, tmp_path)


@pytest.mark.parametrize("call", CALLS, ids="-".join)
def test_a_lazy_frame_is_refused_with_what_to_pass(call: tuple[str, str], tmp_path: Path) -> None:
    rows, function = CALLS[call]
    with pytest.raises(
        (InputError, UsageError), match=r"found a polars\.LazyFrame.*pass the result of its collect"
    ):
        function(of_polars_lazily(rows), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("make", FRAMES, ids=lambda make: make.__name__)
@pytest.mark.parametrize("blank", [0, 3])
def test_the_gate_reads_a_frame_as_the_command_reads_its_file(make: Make, blank: int, tmp_path: Path) -> None:
    """A blank cell of a file is a gap in the frame that is read from it: an empty answer."""
    gaps = [{**row, "answer": None} if index < blank else row for index, row in enumerate(TABLE)]
    for name, rows in (("candidate", gaps), ("baseline", TABLE)):
        of_pandas(rows).to_csv(tmp_path / f"{name}.csv", index=False)
    words = ["gate", "candidate.csv", "--baseline", "baseline.csv", "--judge", "contains", "--margin", "0.5"]
    words = [str(tmp_path / word) if word.endswith(".csv") else word for word in words]
    result = CliRunner().invoke(main, words)
    report = rageval.gate(make(gaps), baseline=make(TABLE), judge="contains", margin=0.5)
    assert result.exit_code == {"ship": 0, "block": 1, "inconclusive": 5}[report.verdict], result.output
    assert f"{report.overall[0].candidate:.3f}" in result.stdout


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_what_is_no_table_in_its_place_says_what_takes_it(tmp_path: Path) -> None:
    of_pandas(TABLE).to_csv(tmp_path / "v1.csv", index=False)
    of_pandas(TABLE[:-1]).to_csv(tmp_path / "v2.csv", index=False)
    tables = [str(tmp_path / "v1.csv"), str(tmp_path / "v2.csv")]
    for given in (tables[0], of_pandas(TABLE)):
        with pytest.raises(InputError, match=r"rageval\.judge\(rubric, tables, judges, measures\)\.scores"):
            rageval.evaluate_answers("accuracy", given)
        with pytest.raises(UsageError, match=r"no judge is named; give judge=\"short\""):
            rageval.gate(given, baseline=tables[0], margin=0.1)
    judged = rageval.judge("crag", tables, "contains", "accuracy", on_missing="skip")
    (pair,) = rageval.compare(judged.scores).pairs
    assert rageval.compare("accuracy", tables, judge="contains").pairs == [pair]
    with pytest.raises(UsageError, match="baseline= is a DataFrame"):
        rageval.gate(JUDGED, measures="a_strict", baseline=of_pandas(TABLE), margin=0.1)


@pytest.mark.parametrize(
    ("wrong", "right"), [("judge", "judges"), ("measure", "measures"), ("question", "questions")]
)
def test_a_keyword_that_is_nearly_one_is_named(wrong: str, right: str) -> None:
    options: Any = {wrong: "short"}
    with pytest.raises(UsageError, match=f"unknown option '{wrong}'; did you mean {right}"):
        rageval.judge("crag", ANSWERS, **options)
