"""`rageval demo`: what it prints can be typed, what it shows is clear, and nothing of others is replaced."""

from __future__ import annotations

import csv
import json
import shlex
from pathlib import Path

import pytest

from rageval.cli.demo import _CONTENTS, _FILES
from snippets import ROOT, blocks
from test_bad_input import command


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def printed(*words: str) -> list[list[str]]:
    """The commands that are printed, each as words."""
    outcome = command("demo", *words)
    assert (outcome.code, outcome.err) == (0, "")
    return [shlex.split(line) for line in outcome.out.splitlines()[1:]]


def test_the_page_shows_what_is_printed() -> None:
    page = (ROOT / "docs" / "installing.md").read_text(encoding="utf-8")
    (block,) = (block for block in blocks("text", page) if block.startswith("$ rageval demo"))
    assert block == f"$ rageval demo\n{command('demo').out}"


@pytest.mark.parametrize("folder", ["", "examples", "a folder/with 'quotes'"])
def test_every_command_that_is_printed_works(folder: str) -> None:
    lines = printed(*([folder] if folder else []))
    assert len(lines) >= 3
    for name, *words in lines:
        assert name == "rageval"
        outcome = command(*words)
        assert outcome.code == 0, outcome
        assert outcome.out
    assert {path.name for path in Path(folder or "rageval-demo").iterdir()} == set(_FILES)


def test_the_second_version_is_clearly_better() -> None:
    (_, *runs), (_, *tables) = (words for words in printed() if words[1] == "compare")
    for words, worse in ((tables, "v1"), (runs, "baseline.trec")):
        (pair,) = json.loads(command(*words, "--format", "json").out)["pairs"]
        assert (pair["run"], pair["ruling"]) == (worse, "lower")


def test_the_files_belong_together_and_are_small() -> None:
    assert {path.name for path in _CONTENTS.iterdir()} == set(_FILES)
    assert sum((_CONTENTS / name).stat().st_size for name in _FILES) < 50_000
    tables = []
    for version in ("v1", "v2"):
        with (_CONTENTS / f"{version}.csv").open(newline="", encoding="utf-8") as stream:
            tables.append(list(csv.DictReader(stream)))
        assert all(len(json.loads(row["contexts"])) == 3 for row in tables[-1])
    for name in ("id", "question", "gold", "domain"):
        assert [row[name] for row in tables[0]] == [row[name] for row in tables[1]]
    asked = {row["id"] for row in tables[0]}
    assert len(asked) == len(tables[0]) >= 24
    for name in ("run.trec", "baseline.trec", "qrels.nugget"):
        assert {line.split()[0] for line in (_CONTENTS / name).read_text().splitlines()} == asked


def test_what_is_there_stays_unless_somebody_says_so() -> None:
    printed("d")
    printed("d")  # nothing changed, so nothing is lost
    Path("d/v2.csv").write_text("mine")
    Path("d/notes").write_text("mine, too")
    for name in ("v2.csv", "notes"):
        outcome = command("demo", "d")
        assert (outcome.code, outcome.out) == (2, "")
        assert f"d: holds other files, such as {min('v2.csv', 'notes')}" in outcome.err
        assert "--overwrite" in outcome.err
        assert Path("d", name).read_text().startswith("mine")
    printed("d", "--overwrite")
    assert Path("d/v2.csv").read_bytes() == (_CONTENTS / "v2.csv").read_bytes()
    assert Path("d/notes").read_text() == "mine, too"
    Path("file").write_text("")
    assert "file: is a file, expected a folder" in command("demo", "file").err
    Path("e/v1.csv").mkdir(parents=True)
    outcome = command("demo", "e", "--overwrite")
    assert outcome.code == 2
    assert "e/v1.csv: is a folder" in outcome.err
    assert not Path("e/run.trec").exists()
