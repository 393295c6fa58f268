"""Which rows are of the same question, who answered, and what is right, in whatever order they stand."""

from __future__ import annotations

import csv
import json
import random
import warnings
from collections.abc import Callable
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import rageval
from commands import run_command
from rageval.cli import main
from rageval.errors import InputError, UsageError
from rageval.logs.tables import read_tables
from test_tables_of_answers import SCORES, as_csv, rows, values

Rows = list[dict[str, Any]]


def written(path: Path, records: Rows) -> str:
    path.parent.mkdir(exist_ok=True)
    lines = as_csv(records) if path.suffix == ".csv" else "".join(f"{json.dumps(row)}\n" for row in records)
    path.write_text(lines)
    return str(path)


def value(result: Result) -> float:
    """Return the score of the only system."""
    (score,) = values(result).values()
    return score


def numbered(records: Rows, order: int) -> Rows:
    """Rows with their numbers as ids, in another order: the same id is another question's."""
    shuffled = random.Random(order).sample(records, len(records))
    return [{"id": index, **row} for index, row in enumerate(shuffled)]


def test_an_id_of_two_questions_joins_nothing(tmp_path: Path) -> None:
    paths = [written(tmp_path / f"v{number}.csv", numbered(rows(10 * number), number)) for number in (1, 2)]
    for order in permutations(paths):
        result = run_command("score", *order)
        assert values(result) == pytest.approx(SCORES, abs=1e-4)
        assert "in another, so they are joined by their questions" in result.stderr
    result = run_command("gate", paths[1], "--baseline", paths[0], "--judge", "short", "--margin", "0.05")
    assert "-0.167 → 0.667" in result.stdout


def test_an_id_of_two_questions_and_no_question_in_common_is_refused(tmp_path: Path) -> None:
    other = [{**row, "question": f"Else: {row['question']}"} for row in rows(20)]
    tables = {"v1": rows(10), "v2": other}
    paths = [written(tmp_path / f"{name}.csv", numbered(table, 1)) for name, table in tables.items()]
    result = run_command("score", *paths)
    assert result.exit_code == 2
    assert "expected the same ids for the same questions in all tables" in result.stderr


@pytest.mark.parametrize("ids", [[1] * 24, [*range(23), ""]])
def test_ids_that_tell_no_questions_apart_are_not_used(tmp_path: Path, ids: list[Any]) -> None:
    path = written(tmp_path / "v1.csv", [{"id": i, **row} for i, row in zip(ids, rows(10), strict=True)])
    result = run_command("score", path)
    assert value(result) == pytest.approx(SCORES["v1"], abs=1e-4)
    assert "the ids do not identify questions" in result.stderr


def test_case_and_white_space_tell_no_questions_apart(tmp_path: Path) -> None:
    spelled = [{**row, "question": f" {row['question'].upper()}  "} for row in rows(20)]
    paths = written(tmp_path / "v1.csv", rows(10)), written(tmp_path / "v2.csv", spelled)
    assert values(run_command("score", *paths)) == pytest.approx(SCORES, abs=1e-4)


def test_a_question_with_two_right_answers_is_refused(tmp_path: Path) -> None:
    other = [{**row, "gold": "Somebody"} for row in rows(10)]
    one, two = written(tmp_path / "v1.csv", rows(10)), written(tmp_path / "v2.csv", other)
    both = written(tmp_path / "v3.csv", [*rows(10), *other])
    for paths in ((one, two), (two, one), (both,)):
        result = run_command("score", *paths)
        assert result.exit_code == 2, result.output
        assert "the right answers to this question differ from those in" in result.stderr
    # A file of questions says which is meant.
    gold = written(tmp_path / "gold.csv", [{k: row[k] for k in ("question", "gold")} for row in rows(10)])
    assert values(run_command("score", one, two, "--questions", gold))["v2"] == pytest.approx(
        SCORES["v1"], abs=1e-4
    )
    # The same ones in another order, or in a list of a cell, are no others.
    listed = [{**row, "gold": json.dumps([row["gold"], "X"])} for row in rows(10)]
    turned = [{**row, "gold": json.dumps(["X", row["gold"]])} for row in rows(20)]
    paths = [written(tmp_path / "v1.csv", listed), written(tmp_path / "v2.csv", turned)]
    assert values(run_command("score", *paths)) == pytest.approx(SCORES, abs=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("nothing", ["", "  ", None, []])
@pytest.mark.parametrize("form", ["csv", "jsonl"])
@pytest.mark.parametrize("index", [0, 5])
def test_no_right_answer_is_none(tmp_path: Path, nothing: object, form: str, index: int) -> None:
    records = rows(10)
    records[index]["gold"] = nothing
    result = run_command("score", written(tmp_path / f"v1.{form}", records))
    assert result.exit_code == 0, result.output
    assert "1 of 24 questions have no gold answer and are left out" in result.stderr
    result = run_command("judge", "crag", written(tmp_path / f"v1.{form}", records))
    assert result.exit_code == 2, result.output
    assert f"number {index} of the land?'): has no gold answer" in result.stderr
    assert "missing for 1 of 24 questions" in result.stderr


ERROR_TEXTS = ("Error code: 429 - slow down", "Traceback (most recent call last):\n  File", "Error code: 500")
MESSY: dict[str, tuple[Callable[[Rows], object], int, str]] = {  # the mess, questions left, what is said
    "no gold": (
        lambda rows: [row.update(gold="") for row in rows[4:6]],
        22,
        "2 of 24 questions have no gold",
    ),
    "absent": (lambda rows: rows.pop(5), 23, "answered 23 of 24 queries"),
    "twice": (lambda rows: rows.append(dict(rows[2])), 24, "has several rows with the same answer"),
    "differ": (lambda rows: rows.append(rows[2] | {"answer": "Oslo"}), 23, "rows with different answers"),
    "gaps": (lambda rows: rows[3].update(answer="nan"), 24, "judged by short"),
    "errors": (
        lambda rows: [row.update(answer=text) for row, text in zip(rows[6:9], ERROR_TEXTS, strict=True)],
        21,
        "3 answers are error messages and count as missing",
    ),
}


@pytest.mark.parametrize("mess", sorted(MESSY))
def test_real_tables_have_a_verdict_at_once(tmp_path: Path, mess: str) -> None:
    """What can be compared is, and what was left out is counted with its reason."""
    spoil, left, remark = MESSY[mess]
    first, second = rows(3), rows(23)
    spoil(second)
    if mess == "no gold":  # a right answer in one of the tables is one for both
        spoil(first)
    words = [written(tmp_path / f"{name}.csv", table) for name, table in (("v1", first), ("v2", second))]
    result = run_command("compare", *words, "--details", "--format", "json")
    assert result.exit_code == 0, result.output
    (pair,) = json.loads(result.stdout)["pairs"]
    assert (pair["run"], pair["ruling"], pair["queries"]) == ("v2", "higher", left)
    assert remark in result.stderr


def test_the_order_of_rows_decides_nothing(tmp_path: Path) -> None:
    """The first row may lack what others have, or hold a list where they hold a text."""
    records = rows(10)
    records[3]["answer"] = None
    del records[4]["contexts"]
    records[5]["contexts"] = "a text"
    records[6]["contexts"] = ["one", "two"]
    records[7]["gold"] = [records[7]["gold"], "another"]
    records[8]["domain"] = 8
    seen = set()
    for first in range(9):
        order = [records[first], *records[:first], *records[first + 1 :]]
        result = run_command("judge", "crag", written(tmp_path / "v1.jsonl", order), "--quiet")
        assert result.exit_code == 0, result.output
        seen.add("".join(sorted(result.stdout.splitlines(keepends=True))))
    assert len(seen) == 1


@pytest.mark.slow
def test_two_tables_of_one_name_are_called_after_their_folders(tmp_path: Path) -> None:
    paths = [written(tmp_path / f"d{number}" / "answers.csv", rows(10 * number)) for number in (1, 2)]
    expected = {"d1/answers": SCORES["v1"], "d2/answers": SCORES["v2"]}
    assert values(run_command("score", *paths)) == pytest.approx(expected, abs=1e-4)
    gate = ("gate", paths[1], "--baseline", paths[0], "--judge", "short", "--margin", "0.05")
    assert run_command(*gate).stdout.startswith("ship: d2/answers against d1/answers")
    judged = tmp_path / "judged.jsonl"
    assert run_command("judge", "crag", *paths, "-o", judged).exit_code == 0
    assert values(run_command("score", judged, "-m", "crag_score")) == values(run_command("score", *paths))
    result = run_command("compare", paths[0], paths[0])
    assert (result.exit_code, "nothing else distinguishes them" in result.stderr) == (2, True)


def test_a_model_that_both_name_is_no_name_of_a_system(tmp_path: Path) -> None:
    paths = [
        written(tmp_path / f"v{number}.csv", [{**row, "model": "m"} for row in rows(10 * number)])
        for number in (1, 2)
    ]
    result = run_command("score", *paths)
    assert values(result) == pytest.approx(SCORES, abs=1e-4)
    assert "several tables call their system m: they are v1, v2 here" in result.stderr
    result = run_command("compare", *paths, "--baseline", paths[0], "--format", "json")
    (pair,) = json.loads(result.stdout)["pairs"]
    assert (pair["run"], pair["other"]) == ("v2", "v1"), result.output


@pytest.mark.slow
@pytest.mark.parametrize("constant", ["model", "system", "run_id", "experiment"])
@pytest.mark.parametrize("telling", ["run", "variant", "model", "run_id"])
def test_the_column_that_tells_systems_apart_names_them(constant: str, telling: str, tmp_path: Path) -> None:
    if constant == telling:
        return
    both = [{**row, constant: "m", telling: f"v{number}"} for number in (1, 2) for row in rows(10 * number)]
    result = run_command("score", written(tmp_path / "both.csv", both))
    assert values(result) == pytest.approx(SCORES, abs=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("form", ["gold.csv", "gold.jsonl", "named.jsonl"])
def test_right_answers_may_stand_beside_at_every_command(tmp_path: Path, form: str) -> None:
    bare = [[{k: row[k] for k in ("question", "answer")} for row in rows(n)] for n in (10, 20)]
    paths = [written(tmp_path / f"v{index}.csv", table) for index, table in enumerate(bare, 1)]
    asked = [{"question": row["question"], "gold": row["gold"]} for row in reversed(rows(10))]
    if form == "named.jsonl":
        asked = [{"query_id": f"q{index}", **row} for index, row in enumerate(asked)]
    gold = written(tmp_path / form, asked)
    result = run_command("score", *paths, "--questions", gold)
    assert values(result) == pytest.approx(SCORES, abs=1e-4), result.output
    assert run_command("compare", *paths, "--questions", gold).exit_code == 0
    assert run_command("report", *paths, "--questions", gold, "-o", tmp_path / "page.html").exit_code == 0
    gate = ("gate", paths[1], "--baseline", paths[0], "--questions", gold, "--judge", "short")
    assert run_command(*gate, "--margin", "0.05").exit_code == 0
    result = run_command(
        "judge", "crag", paths[0], "--questions", gold, "-o", tmp_path / "j.jsonl", "-m", "crag_score"
    )
    assert value(result) == pytest.approx(SCORES["v1"], abs=1e-4), result.output


def test_questions_with_other_ids_of_the_same_name_join_by_text(tmp_path: Path) -> None:
    bare = [{k: row[k] for k in ("id", "question", "answer")} for row in numbered(rows(10), 1)]
    gold = [{k: row[k] for k in ("id", "question", "gold")} for row in numbered(rows(10), 2)]
    paths = written(tmp_path / "v1.csv", bare), written(tmp_path / "gold.csv", gold)
    result = run_command("score", paths[0], "--questions", paths[1])
    assert value(result) == pytest.approx(SCORES["v1"], abs=1e-4)
    other = [{**row, "question": f"Else {row['question']}"} for row in gold]
    result = run_command("score", paths[0], "--questions", written(tmp_path / "other.csv", other))
    assert result.exit_code == 2
    assert "no question in common with the answers, by id or by text" in result.stderr


def test_whole_numbers_are_whole_whatever_a_gap_makes_of_them(tmp_path: Path) -> None:
    asked = {"Moons?": (2, 2.0), "Legs?": ("4", 4.0)}
    records = [{"question": q, "answer": answer, "gold": gold} for q, (answer, gold) in asked.items()]
    assert value(run_command("score", written(tmp_path / "v1.jsonl", records))) == 1


def test_a_table_on_standard_input(tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["judge", "crag", "-", "--quiet"], input=as_csv(rows(10)).encode())
    assert [json.loads(line)["label"] for line in result.stdout.splitlines()].count("perfect") == 10


def test_headers_of_a_table_are_no_judgements(tmp_path: Path) -> None:
    path = tmp_path / "v1.csv"
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow([" Question ", "Model Answer", "Ground Truth"])
        writer.writerows([row["question"], row["answer"], row["gold"]] for row in rows(3))
    result = run_command("score", path)
    assert result.exit_code == 2
    assert "of the columns Question, Model Answer, Ground Truth none is called" in result.stderr


def test_errors_name_what_was_typed(tmp_path: Path) -> None:
    path = written(tmp_path / "v1.csv", rows(10))
    result = run_command("score", path, "-m", "token_f1")
    assert result.exit_code == 2
    assert f"judgements of {path} holds no judgements" in result.stderr


def test_a_table_of_columns_is_a_table(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    for name, right in (("v1", 10), ("v2", 20)):
        pandas.DataFrame(rows(right)).to_parquet(tmp_path / f"{name}.parquet")
    paths = [tmp_path / "v1.parquet", tmp_path / "v2.parquet"]
    assert values(run_command("score", *paths)) == pytest.approx(SCORES, abs=1e-4)
    assert run_command("judge", "crag", paths[0], "--quiet").stdout.count("perfect") == 10


def scores_of(*given: Any, **options: Any) -> dict[str, float]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        judging = rageval.judge("crag", *given, measures="crag_score", **options).scores
    return {name: scores["crag_score"].value for name, scores in judging.items()}


def test_frames_are_joined_as_files_are(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    one, two = pandas.DataFrame(rows(10)), pandas.DataFrame(rows(20))
    assert scores_of({"v1": one, "v2": two}) == pytest.approx(SCORES)
    with pytest.raises(UsageError, match="nothing in them says of which system"):
        scores_of([one, two])
    bare, gold = one[["question", "answer"]], one[["question", "gold"]]
    gold.to_csv(tmp_path / "gold.csv")
    for questions in (gold, str(tmp_path / "gold.csv")):
        assert scores_of(bare, questions=questions)["records"] == pytest.approx(SCORES["v1"])
    dated = one.assign(when=pandas.Timestamp("2026-01-01"))
    assert scores_of(dated)["records"] == pytest.approx(SCORES["v1"])
    with pytest.raises(InputError, match="holds an object of the class object"):
        scores_of(one.assign(when=[object()] * len(one)))


def test_frames_by_a_tool_s_names_are_systems_by_theirs() -> None:
    pandas = pytest.importorskip("pandas")
    names = {"question": "user_input", "answer": "response", "gold": "reference"}
    frames = {
        name: pandas.DataFrame(rows(right))[list(names)].rename(columns=names)
        for name, right in (("v1", 10), ("v2", 20))
    }
    assert scores_of(frames) == pytest.approx(SCORES)


def test_a_candidate_that_is_the_baseline_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "v1.csv", rows(10))
    result = run_command("gate", path, "--baseline", path, "--judge", "short", "--margin", "0.05")
    assert (result.exit_code, "is the baseline itself" in result.stderr) == (2, True)


def test_the_doctor_reads_tables(tmp_path: Path) -> None:
    records = [*rows(10), *rows(10)[:2], rows(10)[2] | {"answer": "Oslo"}]
    records[3]["answer"], records[4]["answer"], records[5]["gold"] = ERROR_TEXTS[0], None, None
    result = run_command("doctor", written(tmp_path / "v1.jsonl", records))
    assert result.exit_code == 0, result.output
    for finding in (
        "questions without a right answer: 1",
        "answers that are error messages: 1",
        "empty answers: 1",
        "questions with several rows of the same answer: 2",
        "questions with several rows of different answers: 1",
    ):
        assert finding in result.stdout
    result = run_command("doctor", written(tmp_path / "v2.csv", rows(10)))
    assert result.stdout == "nothing suspicious in 1 file\n"


def test_a_gate_of_tables_says_the_same_in_python(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    one, two = written(tmp_path / "v1.csv", rows(10)), written(tmp_path / "v2.csv", rows(20))
    result = run_command("gate", two, "--baseline", one, "--judge", "short", "--margin", "0.05")
    report = rageval.gate(two, baseline=one, judge="short", margin=0.05)
    assert str(report).splitlines()[:4] == result.stdout.splitlines()[:4]
    frames = (pandas.DataFrame(rows(20)), pandas.DataFrame(rows(10)))
    report = rageval.gate(frames[0], baseline=frames[1], judge="short", margin=0.05)
    assert str(report).startswith("ship: candidate against baseline, by short")
    with pytest.raises(UsageError, match="is a table of answers, and no judge is named"):
        rageval.gate(two, baseline=one, margin=0.05)
    run_command("judge", "crag", one, "-o", tmp_path / "j.jsonl")
    with pytest.raises(UsageError, match="the candidate is not one"):
        rageval.gate(tmp_path / "j.jsonl", baseline=one, judge="short", margin=0.05)
    with pytest.raises(InputError, match="expected the answers of one system, found 2"):
        rageval.gate({"a": frames[0], "b": frames[1]}, baseline=one, judge="short", margin=0.05)


def test_several_answers_of_a_row_s_question_are_repeats(tmp_path: Path) -> None:
    path = written(tmp_path / "v1.csv", [*rows(10), *rows(20)])
    tables = read_tables([path])
    assert "24 rows answer the same question again and count as repeats" in str(tables.remarks[0])
