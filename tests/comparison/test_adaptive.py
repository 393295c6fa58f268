"""Judgements of what earlier judgements asked for: they are read, and nothing is tested on them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import rageval
from commands import run_checked
from reasons import why

GOLDEN = Path(__file__).parents[1] / "golden" / "adaptive"
SAID = "what was judged was chosen by earlier judgements"
QRELS = ("next.qrels", "claim.qrels")
RUNS = ("a.trec", "b.trec")


@pytest.fixture(autouse=True)
def _in_a_copy_of_the_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(GOLDEN, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)


def records(path: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(path).read_text("utf-8").splitlines()]


def write(path: str, rows: list[dict[str, Any]]) -> str:
    Path(path).write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        ("answers.jsonl", "-m", "crag_score"),
        ("pairs.jsonl", "-m", "win_rate"),
        (*RUNS, "next.qrels", "-m", "p@2"),
        (*RUNS, "claim.qrels", "-m", "rr@3"),
    ],
)
def test_nothing_is_tested_on_them(words: tuple[str, ...]) -> None:
    comparison = json.loads(run_checked("compare", *words, "--all-pairs", "--format", "json").stdout)
    (pair,) = comparison["pairs"]
    assert pair["verdict"] == "refused"
    assert SAID in why(pair)
    assert pair["p"] is pair["low"] is pair["high"] is pair["detectable"] is None
    assert all(row["low"] is row["high"] is None for row in comparison["values"])
    assert SAID in run_checked("report", *words, "-o", "r.html").stderr
    assert "refused" in Path("r.html").read_text("utf-8")
    side = ("--system", "ours") if "jsonl" in words[0] else ()
    words = words if side else words[1:]
    assert SAID in run_checked("gate", *words, *side, "--save-baseline", "base", code=2).output
    assert not Path("base").exists()


def test_human_labels_do_not_correct_them() -> None:
    label = [{**row, "judge": "person:kim", "claim": None} for row in records("answers.jsonl")]
    words = ("answers.jsonl", "-m", "crag_score", "--gold", write("labels.jsonl", label))
    assert SAID in run_checked("compare", *words, code=2).output
    assert SAID in run_checked("label", "correct", *words, code=2).output
    Path("gold").write_text("q00 0 x0 1\n", "utf-8")
    for qrels in QRELS:
        assert SAID in run_checked("compare", *RUNS, qrels, "-m", "p@2", "--gold", "gold", code=2).output


@pytest.mark.slow
def test_the_arena_gives_no_interval() -> None:
    result = run_checked("arena", "pairs.jsonl", "--format", "json")
    assert SAID in result.stderr
    assert {row["low"] for row in json.loads(result.stdout)} == {None}
    plain = write("plain.jsonl", [{**row, "claim": None} for row in records("pairs.jsonl")])
    result = run_checked("arena", plain, "--format", "json")
    assert SAID not in result.stderr
    assert None not in {row["low"] for row in json.loads(result.stdout)}


def test_qrels_of_such_lines_have_the_note_beside_them() -> None:
    assert "add -o FILE" in run_checked("collection", "qrels", "documents.jsonl", code=2).output
    run_checked("collection", "qrels", "documents.jsonl", "-o", "made.qrels")
    with pytest.warns(UserWarning, match=SAID):
        assert rageval.evaluate("rr@3", "a.trec", "made.qrels", nothing_judged="zero").is_adaptive


def test_what_holds_for_every_judgement_is_said_where_bounds_are_asked_for() -> None:
    words = ("compare", *RUNS, "next.qrels", "-m", "p@2", "--bounds", "--format", "json")
    (pair,) = json.loads(run_checked(*words).stdout)["pairs"]
    assert (pair["verdict"], pair["every_completion"]) == ("refused", "undecided")


@pytest.mark.parametrize("line", ["{", "[]", '{"query_id": "p"}', '{"query_id": "p", "doc_id": "a\\n"}'])
def test_a_note_that_cannot_be_read_is_an_error(line: str) -> None:
    Path("next.qrels.adaptive.jsonl").write_text(f"{line}\n")
    assert "next.qrels.adaptive.jsonl:1: " in run_checked("a.trec", "next.qrels", "-m", "p@2", code=2).output
