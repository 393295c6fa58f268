"""Turns of a conversation depend on each other: wherever intervals or tests are, they are one unit."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from commands import run_command, write_jsonl

MEASURE = "grade(aspect=quality)"
UNITS = "units:conversation_id"
Row = dict[str, Any]


def turns(conversations: int, length: int = 4, gap: float = 0.0) -> list[Row]:
    """Two systems; how good one is differs by conversation, and hardly by turn."""
    rng = random.Random(5)
    rows = []
    for conversation in range(conversations):
        shift = rng.uniform(-0.2, 0.2) + gap
        for turn in range(length):
            place = {"query_id": f"c{conversation}<::>{turn}", "conversation_id": f"c{conversation}"}
            base = rng.uniform(0.4, 0.5)
            grades = {"one": base, "two": base + shift + rng.uniform(-0.02, 0.02)}
            rows += [
                place | {"run_id": run, "aspect": "quality", "grade": grade, "turn": turn}
                for run, grade in grades.items()
            ]
    return rows


def without(rows: list[Row], *names: str) -> list[Row]:
    return [{name: value for name, value in row.items() if name not in names} for row in rows]


def pair_of(*words: Any) -> Row:
    printed = json.loads(run_command("compare", *words, "-m", MEASURE, "--format", "json").stdout)
    (pair,) = printed["pairs"]
    return pair | {"signature": printed["signature"]}


@pytest.mark.parametrize("is_of_questions", [False, True])
def test_conversations_are_clusters_unless_somebody_says_otherwise(
    is_of_questions: bool, tmp_path: Path
) -> None:
    rows = turns(20)
    given: list[Any] = [write_jsonl(tmp_path / "judged.jsonl", rows)]
    alone = pair_of(*given, "--cluster", "none")
    if is_of_questions:
        questions = [{"query_id": row["query_id"], "conversation_id": row["conversation_id"]} for row in rows]
        given = [write_jsonl(tmp_path / "bare.jsonl", without(rows, "conversation_id", "turn"))]
        assert pair_of(*given)["p"] == alone["p"]
        unique = {row["query_id"]: row | {"question": "?"} for row in questions}
        given += ["--questions", write_jsonl(tmp_path / "questions.jsonl", unique.values())]
    together = pair_of(*given)
    assert UNITS in together["signature"]
    assert "units" not in alone["signature"]
    assert pair_of(*given, "--cluster", "conversation_id") == together
    assert together["high"] - together["low"] > 1.5 * (alone["high"] - alone["low"])
    assert together["p"] > alone["p"]


@pytest.mark.parametrize(("conversations", "verdict"), [(9, "undecided"), (10, "higher")])
def test_fewer_than_ten_conversations_decide_nothing(
    conversations: int, verdict: str, tmp_path: Path
) -> None:
    judged = write_jsonl(tmp_path / "judged.jsonl", turns(conversations, gap=0.25))
    pair = pair_of(judged, "--baseline", "one")
    assert pair["verdict"].startswith(verdict), pair
    baseline = str(tmp_path / "baseline.jsonl")
    run_command("gate", judged, "-m", MEASURE, "--system", "one", "--save-baseline", baseline)
    words = ("gate", judged, "-m", MEASURE, "--system", "two", "--baseline", baseline, "--margin", "0.1")
    gated = run_command(*words)
    assert UNITS in gated.stdout
    assert gated.exit_code == (5 if verdict == "undecided" else 0), gated.stdout


def test_a_query_of_no_conversation_is_one_of_its_own(tmp_path: Path) -> None:
    rows = turns(12)
    rows += without([row | {"query_id": f"alone-{row['query_id']}"} for row in rows], "conversation_id")
    compared = run_command("compare", write_jsonl(tmp_path / "judged.jsonl", rows), "-m", MEASURE)
    assert "96 queries in 60 clusters (conversation_id)" in compared.stdout + compared.stderr
    # Where each conversation has one turn, there is nothing to say.
    single = run_command("compare", write_jsonl(tmp_path / "one.jsonl", turns(12, 1)), "-m", MEASURE)
    assert "units" not in single.stdout


def test_a_report_has_the_wider_intervals(tmp_path: Path) -> None:
    judged, page = write_jsonl(tmp_path / "judged.jsonl", turns(12)), tmp_path / "page.html"
    assert run_command("report", judged, "-m", MEASURE, "-o", str(page)).exit_code == 0
    assert UNITS in page.read_text(encoding="utf-8")
