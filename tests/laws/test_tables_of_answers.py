"""A table of answers is read as it is at every command that judges, however it is called and written."""

from __future__ import annotations

import csv
import io
import json
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

import rageval
from commands import run_command
from rageval.files.synonyms import SYNONYMS, columns_of, field_of
from rageval.logs.tables import read_table, read_tables

QUESTIONS = 24


def rows(right: int) -> list[dict[str, Any]]:
    """Answers to two dozen questions, of which so many are right."""
    return [
        {
            "question": f"Who was king number {number} of the land?",
            "answer": f"It was Name{number} Word{number % 5}." if number < right else "It was somebody else.",
            "gold": f"Name{number} Word{number % 5}",
            "contexts": [f"Name{number} Word{number % 5} was a king."],
            "domain": "ab"[number % 2],
        }
        for number in range(QUESTIONS)
    ]


def as_csv(records: list[dict[str, Any]], mark: str = ",") -> str:
    stream = io.StringIO()
    writer = csv.DictWriter(stream, list(records[0]), delimiter=mark, lineterminator="\n")
    writer.writeheader()
    for row in records:
        writer.writerow({k: json.dumps(v) if isinstance(v, list) else v for k, v in row.items()})
    return stream.getvalue()


WRITTEN: dict[str, Callable[[list[dict[str, Any]]], str]] = {
    "csv": as_csv,
    "tsv": lambda records: as_csv(records, "\t"),
    "semicolons.csv": lambda records: as_csv(records, ";"),
    "jsonl": lambda records: "".join(json.dumps(row) + "\n" for row in records),
    "json": lambda records: json.dumps(records, indent=1),
}


@pytest.fixture(name="tables", params=sorted(WRITTEN))
def _tables(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[list[Path]]:
    paths = []
    for name, right in (("v1", 10), ("v2", 20)):
        path = tmp_path / f"{name}.{request.param.rpartition('.')[2]}"
        path.write_text(WRITTEN[request.param](rows(right)))
        paths.append(path)
    return paths


def values(result: Result) -> dict[str, float]:
    lines = (line.split("\t") for line in result.stdout.splitlines())
    return {name: float(value) for name, *_, value in lines}


SCORES = {"v1": (10 - 14) / 24, "v2": (20 - 4) / 24}


@pytest.mark.slow
@pytest.mark.some(5)
def test_every_command_that_judges_takes_every_form(tables: list[Path], tmp_path: Path) -> None:
    one, other = tables
    result = run_command("score", *tables)
    assert result.exit_code == 0, result.output
    assert values(result) == pytest.approx(SCORES, abs=1e-4)
    assert "no measure named, so crag_score" in result.stderr
    assert "judged by short, rubric crag" in result.stderr
    result = run_command("compare", *tables, "--format", "json")
    (pair,) = json.loads(result.stdout)["pairs"]
    assert (pair["ruling"], pair["basis"], pair["queries"]) == ("higher", "judge:short", QUESTIONS)
    result = run_command("gate", other, "--baseline", one, "--margin", "0.05", "--judge", "short")
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("ship: v2 against v1, by short, not checked against people")
    result = run_command("gate", one, "--baseline", other, "--margin", "0.05", "--judge", "short")
    assert result.exit_code == 1, result.output
    result = run_command("report", *tables, "-o", tmp_path / "page.html")
    assert result.exit_code == 0, result.output
    assert "Name3 Word3" in (tmp_path / "page.html").read_text()
    result = run_command("judge", "crag", one, "--quiet")
    assert [json.loads(line)["label"] for line in result.stdout.splitlines()].count("perfect") == 10


@pytest.mark.some(3)
def test_how_it_was_read_is_said(tables: list[Path]) -> None:
    result = run_command("score", tables[0])
    note = next(line for line in result.stderr.splitlines() if "question = question" in line)
    assert "answer = answer, gold = gold, contexts = contexts; kept as fields: domain" in note
    assert "ids are made from the questions" in note
    result = run_command("score", tables[0], "--by", "domain")
    assert result.exit_code == 0, result.output
    assert "n=12" in result.stdout


def _with(mark: str) -> Callable[[str], str]:
    return lambda name: name.replace("_", mark)


NAMES = [(field, name) for field, names in SYNONYMS.items() for name in names]


@pytest.mark.slow
@pytest.mark.some(4)
@pytest.mark.parametrize(("field", "name"), NAMES)
@pytest.mark.parametrize("spelling", [str, str.title, _with(" "), _with("-")])
def test_every_name_is_taken(field: str, name: str, spelling: Callable[[str], str]) -> None:
    assert field_of(spelling(name)) == field
    others = {"question": "Q?", "answer": "An answer.", "gold": "Gold."}
    record = {spelling(name) if key == field else key: value for key, value in others.items()}
    if field not in others:
        record[spelling(name)] = "text"
    if len({field_of(key) for key in record}) < len(record):
        return  # it is called as another field is
    log, _ = read_table(io.BytesIO(as_csv([record]).encode()))
    (answer,) = log.answers
    assert answer.text == "An answer."
    assert log.questions[0].gold == ("Gold.",)
    if field == "run_id":
        assert answer.run_id == "text"
    if field == "query_id":
        assert answer.query_id == "text"
    if field == "contexts":
        assert answer.passages[0][1] == "text"


def test_of_two_columns_the_field_s_own_name_wins_then_the_first() -> None:
    columns = columns_of(["response", "output", "prompt", "question"])
    assert columns.fields == {"question": "question", "answer": "response"}
    assert columns.others == ("output", "prompt")
    assert columns_of(["query", "answer", "reference"], gold_alone=True).fields == {
        "question": "query",
        "gold": "reference",
    }


def test_what_an_answer_is_depends_on_the_place(tmp_path: Path) -> None:
    answers, gold = tmp_path / "a.csv", tmp_path / "g.csv"
    asked = [{"id": index, "question": row["question"]} for index, row in enumerate(rows(10))]
    for path, field in ((answers, "answer"), (gold, "gold")):
        other_answers = [{"answer": row[field]} for row in rows(10)]
        path.write_text(as_csv([{**one, **other} for one, other in zip(asked, other_answers, strict=True)]))
    result = run_command("score", answers)
    assert result.exit_code == 2
    assert "no right answers" in result.stderr
    result = run_command("judge", "crag", answers, "--questions", gold, "--quiet")
    assert [json.loads(line)["label"] for line in result.stdout.splitlines()].count("perfect") == 10


def test_tables_without_shared_ids_are_joined_by_questions(tmp_path: Path) -> None:
    paths = []
    for name, right in (("v1", 10), ("v2", 20)):
        path = tmp_path / f"{name}.csv"
        path.write_text(as_csv([{"id": f"{name}-{index}", **row} for index, row in enumerate(rows(right))]))
        paths.append(path)
    result = run_command("score", *paths)
    assert values(result) == pytest.approx(SCORES, abs=1e-4)
    assert "the tables share no ids, so they are joined by their questions" in result.stderr
    paths[1].write_text(as_csv([{**row, "question": row["question"] + " Really?"} for row in rows(20)]))
    result = run_command("score", *paths)
    assert result.exit_code == 2
    assert "no question in common" in result.stderr
    assert result.stderr.count("v1-0, v1-1, v1-2") == 1


def test_tables_beside_other_things_are_refused(tmp_path: Path) -> None:
    table = tmp_path / "v1.csv"
    table.write_text(as_csv(rows(3)))
    judged = tmp_path / "judged.jsonl"
    judged.write_text(run_command("judge", "crag", table, "--quiet").stdout)
    result = run_command("compare", table, judged)
    assert result.exit_code == 2
    assert "a table of answers, which must be judged first" in result.stderr
    result = run_command("gate", table, "--baseline", judged, "--margin", "0.1")
    assert result.exit_code == 2
    assert "--judge short" in result.stderr


def test_a_baseline_of_a_table_is_that_of_its_file(tmp_path: Path) -> None:
    """A gate says the same of a table beside it, and of the baseline that was saved of it."""
    for name, right in (("v1", 10), ("v2", 20)):
        (tmp_path / f"{name}.csv").write_text(as_csv(rows(right)))
    one, other, base = tmp_path / "v1.csv", tmp_path / "v2.csv", tmp_path / "base.jsonl"
    assert run_command("gate", one, "--save-baseline", base, "--judge", "short").exit_code == 0
    printed = [
        run_command(
            "gate", other, "--baseline", baseline, "--margin", "0.05", "--judge", "short"
        ).stdout.splitlines()[1:]
        for baseline in (one, base)
    ]
    assert printed[0] == printed[1]


def test_python_takes_what_the_command_takes(tmp_path: Path) -> None:
    path = tmp_path / "v1.csv"
    path.write_text(as_csv(rows(10)))
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(rows(10))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for given in (str(path), [str(path)], frame, rows(10)):
            judged = rageval.judge("crag", given, measures="crag_score")
            (scores,) = judged.scores.values()
            assert scores["crag_score"].value == pytest.approx(SCORES["v1"])


def test_two_logs_of_a_tool_are_two_systems(tmp_path: Path) -> None:
    for name, right in (("v1", 10), ("v2", 20)):
        records = [
            {"user_input": r["question"], "response": r["answer"], "reference": r["gold"]}
            for r in rows(right)
        ]
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in records))
    records = read_tables([str(tmp_path / "v1.jsonl"), str(tmp_path / "v2.jsonl")])
    assert {answer.run_id for answer in records.answers} == {"v1", "v2"}
    assert values(run_command("score", tmp_path / "v1.jsonl", tmp_path / "v2.jsonl")) == pytest.approx(
        SCORES, abs=1e-4
    )
