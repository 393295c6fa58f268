"""Folders of output: what is another command's or a person's stays, what is left of earlier output goes."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from test_bad_input import command

WITH = ("--map", "question=question,answer=answer,contexts=contexts|json[]")
WITHOUT = ("--map", "question=question,answer=answer")


@pytest.fixture(autouse=True)
def _tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("v1", "v2"):
        with Path(f"{name}.csv").open("w", newline="", encoding="utf-8") as stream:
            writer = csv.writer(stream)
            writer.writerow(["question", "answer", "contexts"])
            writer.writerow(["Who?", f"{name}.", json.dumps([f"A passage of {name}."])])


def imported(table: str, *words: str, folder: str = "out") -> tuple[int, str]:
    outcome = command("import", table, *words, "-o", folder)
    return outcome.code, outcome.err


def test_what_somebody_changed_since_is_theirs() -> None:
    assert imported("v1.csv", *WITH)[0] == 0
    Path("out/run.trec").write_text("q Q0 d 1 1 mine\n")
    code, output = imported("v2.csv", *WITHOUT)
    assert code == 2
    assert "such as run.trec" in output
    assert imported("v2.csv", *WITHOUT, "--overwrite")[0] == 0
    assert Path("out/run.trec").read_text() == "q Q0 d 1 1 mine\n"


def test_an_input_is_not_removed() -> None:
    assert imported("v1.csv", *WITH)[0] == 0
    before = Path("out/run.trec").read_bytes()
    code, output = imported("out/answers.jsonl", *WITHOUT, "--overwrite")
    assert code == 2
    assert "is also an input" in output
    assert Path("out/run.trec").read_bytes() == before
