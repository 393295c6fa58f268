"""Tables of questions and answers (CSV): whatever parts the cells, whatever the columns are called."""

from __future__ import annotations

import csv
import io
import json
import math
import shlex
import tracemalloc
from contextlib import suppress
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from rageval import logs
from rageval.cli import main
from rageval.errors import InputError
from rageval.logs.tables import read_table
from snippets import ROOT, blocks
from spoilt_logs import LOGS

PAGE = (ROOT / "docs/import.md").read_text(encoding="utf-8").partition("## CSV tables\n")[2]
HEADER = ["question", "expected_answer", "our_answer", "contexts"]
TEXTS = ["Returns are for 30 days.", 'He said "no",\nand left.']
ROWS = [
    ['How "long"; really?', "30 days", "Within\n30 days, | I think.", json.dumps(TEXTS)],
    ["Who, then?", "Luxor", "", ""],
]


def run(*words: object) -> Result:
    return CliRunner().invoke(main, list(map(str, words)), prog_name="rageval")


def table(path: Path, header: list[str] = HEADER, rows: list[list[str]] = ROWS, **how: str) -> Path:
    with path.open("w", encoding=how.pop("encoding", "utf-8"), newline="") as file:
        writer = csv.writer(file, **how)  # type: ignore[arg-type]
        writer.writerows([header, *rows])
    return path


def guess(path: Path) -> str:
    """The `--map` that an error suggests."""
    result = run("import", path, "--dry-run")
    assert result.exit_code == 2
    words = shlex.split(result.stderr.partition("Say for instance ")[2])
    return words[1] if words else ""


@pytest.mark.parametrize(
    ("header", "cells", "expected", "passages"),
    [
        (
            "Question,Ground Truth,Bot Answer,Retrieved",
            ["a", "b", "c", "['d', 'e']"],
            'question=Question,answer=["Bot Answer"],gold=["Ground Truth"],contexts=Retrieved|literal[]',
            ["d", "e"],
        ),
        (
            "question,answer,prediction",
            ["a", "b", "c"],
            "question=question,answer=prediction,gold=answer",
            [],
        ),
        (
            "userQuestion,botReply,docs,question_id",
            ["a", "b", "c|d", "7"],
            'query_id=question_id,question=userQuestion,answer=botReply,contexts=docs|split("|")',
            ["c", "d"],
        ),
        ("query,response,context", ["a", "b", "c"], "question=query,answer=response,contexts=context", ["c"]),
        (
            "query,response,contexts",
            ["a", "b", '[{"text": "c"}]'],
            "question=query,answer=response,contexts=contexts|json[].text",
            ["c"],
        ),
        ("q,a", ["a", "b"], "", []),
    ],
)
def test_columns_are_guessed_by_their_names(
    header: str, cells: list[str], expected: str, passages: list[str], tmp_path: Path
) -> None:
    guessed = guess(table(tmp_path / "t.csv", header.split(","), [cells]))
    assert sorted(guessed.split(",")) == sorted(expected.split(","))
    if passages:
        assert list(logs.read(tmp_path / "t.csv", guessed).passages.values()) == passages


def test_a_column_of_shares_is_a_metric(tmp_path: Path) -> None:
    rows = [["a?", "b", "0.25", "5", "1"], ["c?", "d", "", "0.5", "1"], ["e?", "f", "1.0", "7", "1"]]
    path = table(tmp_path / "t.csv", ["question", "answer", "faithfulness", "latency", "top_k"], rows)
    assert guess(path) == "question=question,answer=answer,grade:faithfulness=faithfulness"
    judgements = [
        (judgement.get("grade"), judgement["status"]) for judgement in logs.read(path, guess(path)).judgements
    ]
    assert judgements == [(0.25, "ok"), (None, "error"), (1.0, "ok")]


def test_a_list_that_was_taken_for_one_passage_is_told(tmp_path: Path) -> None:
    path = table(tmp_path / "t.csv")
    log = logs.read(path, "question=question,answer=our_answer,contexts=contexts")
    assert len(log.passages) == 1
    assert any("--map 'contexts=contexts|json[]'" in remark for remark in map(str, log.remarks))
    log = logs.read(path, "question=question,answer=our_answer,contexts=contexts|json[]")
    assert not any("taken for one" in remark for remark in map(str, log.remarks))


@pytest.mark.parametrize("mark", [",", ";", "\t"])
def test_every_command_names_the_way(mark: str, tmp_path: Path) -> None:
    path = table(tmp_path / "t.csv", delimiter=mark)
    for words in (
        (path,),
        ("judge", "crag", path, "--judge", "contains"),
        ("compare", path, "-m", "crag_score"),
    ):
        result = run(*words)
        assert result.exit_code == 2
        assert len(result.stderr.splitlines()) == 1
        assert f"rageval import {path} -o DIR" in result.stderr
    result = run("doctor", path)
    assert result.exit_code == 1
    assert f"rageval import {path} -o DIR" in result.stdout


@pytest.mark.parametrize(
    ("line", "way"),
    [
        ("q1,Q0,d1,1,2.5,tag", "cat FILE | tr ',' ' '"),
        ("qid;Q0;docid;rank;score;tag", "sed 1d FILE | tr ';' ' '"),
        ("q1,0,d1,1", "cat FILE | tr ',' ' '"),
    ],
)
def test_runs_and_judgements_as_tables_become_lines(line: str, way: str, tmp_path: Path) -> None:
    path = tmp_path / "table"
    path.write_text(f"{line}\n", encoding="utf-8")
    result = run(path, "-m", "ndcg@10")
    assert result.exit_code == 2
    assert way.replace("FILE", str(path)) in result.stderr


def test_the_page_leads_from_two_tables_to_a_claim(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    asked, shown = blocks("text", PAGE)[:2]
    command, _, stderr = asked.partition("\n")
    assert run(*shlex.split(command)[2:]).stderr == stderr
    for line in blocks("sh", PAGE)[0].splitlines():
        result = run(*shlex.split(line)[1:])
        assert result.exit_code == 0, result.output
    assert shown in result.stdout


def test_the_page_does_the_same_in_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    exec(blocks("python", PAGE)[0], {})


def test_the_next_command_is_said_and_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = table(tmp_path / "t.csv")
    stderr = run("import", path, "--map", guess(path), "-o", "a folder").stderr
    command = stderr.partition("next, for example: rageval ")[2]
    assert "crag_score" in run(*shlex.split(command)).stdout
    for words in (["--dry-run"], ["--only", "answers"], ["--map", "grade:x=our_answer", "-o", "judged"]):
        assert "next" not in run("import", path, "--map", guess(path), *words).stderr
    assert "next" not in run("import", path, "--map", "question=question,answer=our_answer", "-o", "b").stderr


def test_a_column_that_nobody_reads_is_named(tmp_path: Path) -> None:
    header = ["user_input", "response", "remark", "half"]
    path = table(tmp_path / "t.csv", header, [["q1", "a", "fine", "1"], ["q2", "a", "", "N/A"]])
    assert run("import", path, "-o", tmp_path / "out").exit_code == 0
    manifest = json.loads((tmp_path / "out/manifest.json").read_text(encoding="utf-8"))
    assert manifest["left_out"] == {"cells of the column 'half'": 2, "cells of the column 'remark'": 1}
    assert any("ignored columns: half, remark" in remark["text"] for remark in manifest["remarks"])
    assert logs.read(path, {"fact:kind": "remark"}).left_out == {"cells of the column 'half'": 2}


def test_mlflow_fails_where_a_metric_of_numbers_said_none(tmp_path: Path) -> None:
    frame = [
        {"trace_id": f"t{index}", "request": f"q{index}", "response": "a", "f1/value": value}
        for index, value in enumerate([1, "N/A", 0.5])
    ]
    (tmp_path / "t.jsonl").write_text("\n".join(map(json.dumps, frame)), encoding="utf-8")
    assert [judgement["status"] for judgement in logs.read(tmp_path / "t.jsonl").judgements] == [
        "ok",
        "error",
        "ok",
    ]


_TABLES = [
    *("promptfoo/seven/results.csv", "promptfoo/seven/two_systems.csv", "open-rag-eval/results.csv"),
    *("ragas/result.parquet", "ragas/seven/result.parquet", "ragas/conversations/dataset.csv"),
    *("autorag/nodes.parquet", "mlflow/seven/result_df.parquet", "mlflow/seven/eval_results_table.csv"),
    "otel/seven/phoenix.parquet",
]
_ODD = {"null": None, "a float": 0.5, "not a number": math.nan, "true": True, "a list": ["a"], "blank": ""}


@pytest.mark.slow
@pytest.mark.parametrize("odd", _ODD)
@pytest.mark.parametrize("name", _TABLES)
def test_a_column_of_any_type_is_read_or_refused(name: str, odd: str, tmp_path: Path) -> None:
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path = LOGS / name
    if name.endswith(".csv"):
        header, *rows = csv.reader(io.StringIO(path.read_text(encoding="utf-8-sig")))
        columns = [pa.array(cells) for cells in zip(*rows, strict=True)]
    else:
        table = parquet.read_table(path)
        header, columns = table.column_names, table.columns
    for number, column in enumerate(columns):
        changed = [*columns]
        changed[number] = pa.array([_ODD[odd]] * len(column))
        parquet.write_table(pa.table(changed, names=header), tmp_path / "log.parquet")
        with suppress(InputError):
            logs.read(str(tmp_path / "log.parquet"))


@pytest.mark.slow
def test_rows_are_in_memory_once(tmp_path: Path) -> None:
    rows = [[str(number), "q", "a", "b"] for number in range(2000)]
    path = table(tmp_path / "log.csv", ["id", "question", "answer", "gold"], rows)
    read_table(path)  # what is loaded and kept stays
    tracemalloc.start()
    log, _ = read_table(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(log.answers) == 2000
    assert peak < 1700 * 2000, peak / 2000
