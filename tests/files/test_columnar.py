"""Runs and judgements as Parquet: the same numbers as from text, whatever type of column they lie in."""

from __future__ import annotations

import math
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import rageval
from rageval.errors import InputError

pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

ROWS = [(f"q{index % 9}", f"dé{index * 7 % 100}", float((100 - index) // 3)) for index in range(90)]
ROWS.sort(key=lambda row: row[0])
JUDGED = [
    (f"q{index % 9}", f"n{index % 4}", f"dé{index * 7 % 100}", index % 3 - 1) for index in range(0, 90, 2)
]
MEASURES = "alpha_ndcg@5, coverage, ndcg@10, ap"


def run_table() -> pyarrow.Table:
    query, doc, score = zip(*ROWS, strict=True)
    return pyarrow.table({"tag": ["t"] * len(ROWS), "query_id": query, "doc_id": doc, "score": score})


def qrels_table() -> pyarrow.Table:
    query, nugget, doc, grade = zip(*JUDGED, strict=True)
    return pyarrow.table({"query_id": query, "doc_id": doc, "relevance": grade, "iteration": nugget})


def values(run: Any, qrels: Any) -> list[list[str]]:
    return [
        [score.signature, *(value.hex() for value in score.values.tolist())]
        for score in rageval.evaluate(MEASURES, run, qrels).scores
    ]


@pytest.fixture
def text(tmp_path: Path) -> tuple[Path, Path]:
    run, qrels = tmp_path / "run", tmp_path / "qrels"
    run.write_text("".join(f"{query} Q0 {doc} 1 {score} t\n" for query, doc, score in ROWS))
    qrels.write_text("".join(f"{query} {nugget} {doc} {grade}\n" for query, nugget, doc, grade in JUDGED))
    return run, qrels


def saved(table: pyarrow.Table, path: Path, group: int = 13, **options: Any) -> Path:
    parquet.write_table(table, path, row_group_size=group, **options)
    return path


def test_judgements_without_a_nugget_are_plain(tmp_path: Path) -> None:
    qrels = saved(qrels_table().drop_columns(["iteration"]).slice(0, 9), tmp_path / "qrels.parquet")
    assert {record.iteration for record in rageval.read_qrels(qrels)} == {"0"}


@pytest.mark.parametrize(("column", "is_declared"), [("iteration", False), ("nugget_id", True)])
def test_a_column_of_nuggets_holds_nuggets_and_one_of_iterations_may_not(
    column: str, is_declared: bool, tmp_path: Path
) -> None:
    columns = {"query_id": ["q", "q"], column: ["1", "2"], "doc_id": ["d", "e"], "relevance": [1, 1]}
    qrels = rageval.read_qrels(saved(pyarrow.table(columns), tmp_path / "qrels.parquet"))
    assert qrels.looks_plain is not is_declared


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"score": [1.0, math.nan]}, "p:2: expected a finite number as score, found nan"),
        ({"score": [1.0, None]}, "p:2: expected a value in every row as score, found None"),
        ({"score": ["1", "2"]}, "p:1: expected numbers as score, found '1'"),
        ({"score": [True, False]}, "p:1: expected numbers as score, found True"),
        (
            {"query_id": [1.0, 2.0]},
            r"p:1: expected text or whole numbers \(ids are strings: cast the column\) as query_id, found 1",
        ),
        ({"doc_id": ["d", ""]}, "p:2: expected 1 to 1,024 bytes"),
        ({"doc_id": ["d", "x" * 1025]}, "p:2: expected 1 to 1,024 bytes"),
        ({"doc_id": ["d", "d"], "query_id": ["q", "q"]}, "p:2: document d is ranked twice"),
    ],
)
def test_what_is_wrong_is_said_with_its_row(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    columns = {"query_id": ["q", "r"], "doc_id": ["d", "e"], "score": [Decimal(1), Decimal(2)]} | change
    path = saved(pyarrow.table(columns), tmp_path / "p")
    with pytest.raises(InputError, match=message):
        rageval.evaluate("rr", path, {"q": {"d": 1}})


@pytest.mark.parametrize("grade", [1e7, math.nan, math.inf])
def test_grades_are_finite_numbers(tmp_path: Path, grade: float) -> None:
    columns = {"query_id": ["q", "r"], "doc_id": ["d", "e"], "relevance": [1.0, grade]}
    with pytest.raises(InputError, match="p:2: expected a"):
        rageval.read_qrels(saved(pyarrow.table(columns), tmp_path / "p"))


def test_text_that_is_not_utf_8_is_refused(tmp_path: Path) -> None:
    doc = pyarrow.array([b"d", b"\xff"]).view(pyarrow.string())
    table = pyarrow.table({"query_id": ["q", "r"], "doc_id": doc, "score": [1.0, 2.0]})
    with pytest.raises(InputError, match="doc_id"):
        rageval.read_run(saved(table, tmp_path / "p"))


def test_damaged_and_unlike_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "p").write_bytes(b"PAR1 and nothing else")
    with pytest.raises(InputError, match="p: is damaged or not a Parquet file"):
        rageval.read_run(tmp_path / "p")
    saved(pyarrow.table({"qid": ["q"]}), tmp_path / "p")
    with pytest.raises(InputError, match="p: expected the columns query_id, doc_id, score, found qid"):
        rageval.read_run(tmp_path / "p")
    saved(run_table().slice(0, 0), tmp_path / "p")
    with pytest.raises(InputError, match="p: is empty"):
        rageval.read_run(tmp_path / "p")


def command(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "rageval", *words]
    return subprocess.run(line, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_the_command_tells_runs_from_judgements_and_writes_values(
    text: tuple[Path, Path], tmp_path: Path
) -> None:
    saved(run_table(), tmp_path / "r.parquet")
    saved(qrels_table(), tmp_path / "j.parquet")
    expected = command(tmp_path, "run", "qrels", "-m", MEASURES, "-q")
    result = command(
        tmp_path, "j.parquet", "r.parquet", "-m", MEASURES, "-q", "-j", "2", "--values", "v.parquet"
    )
    assert (result.stdout, result.returncode) == (expected.stdout, 0)
    written = parquet.read_table(tmp_path / "v.parquet")
    scores = rageval.evaluate(MEASURES, *text)
    assert written.column_names == ["run", "query_id", "measure", "value", "signature", "basis"]
    assert written["value"].to_pylist() == [value for score in scores.scores for value in score.values]
    assert set(written["run"].to_pylist()) == {"r.parquet"}
    refused = command(tmp_path, "run", "qrels", "-m", "rr", "--values", "v.csv")
    assert (refused.returncode, "must end in .parquet" in refused.stderr) == (2, True)
    saved(pyarrow.table({"qid": ["q"]}), tmp_path / "odd")
    refused = command(tmp_path, "odd", "qrels", "-m", "rr")
    assert (refused.returncode, "(a run) or query_id" in refused.stderr) == (2, True)


def test_without_pyarrow_the_way_out_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = saved(run_table(), tmp_path / "p")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(rageval.RagevalError, match=r"pip install 'rageval\[parquet\]'"):
        rageval.read_run(path)
