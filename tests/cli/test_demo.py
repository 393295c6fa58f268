"""`rageval demo`: what it prints can be typed, what it shows is clear, and nothing of others is replaced."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from rageval.samples import sample_files
from test_bad_input import command


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def printed(*words: str) -> list[list[str]]:
    """The commands that are printed, each as words."""
    outcome = command("demo", *words)
    assert (outcome.code, outcome.err) == (0, "")
    return [shlex.split(line) for line in outcome.out.splitlines()[1:]]


@pytest.mark.slow
@pytest.mark.parametrize("folder", ["", "examples", "a folder/with 'quotes'"])
def test_every_command_that_is_printed_works(folder: str) -> None:
    lines = printed(*([folder] if folder else []))
    assert len(lines) >= 3
    for name, *words in lines:
        assert name == "rageval"
        outcome = command(*words)
        assert outcome.code == 0, outcome
        assert outcome.out
    assert {path.name for path in Path(folder or "rageval-demo").iterdir()} == sample_files().keys()


def test_the_second_version_is_clearly_better() -> None:
    (_, *runs), (_, *tables) = (words for words in printed() if words[1] == "compare")
    for words, second in ((tables, ("v2", "higher")), (runs, ("baseline.trec", "lower"))):
        (pair,) = json.loads(command(*words, "--format", "json").out)["pairs"]
        assert (pair["run"], pair["ruling"]) == second
