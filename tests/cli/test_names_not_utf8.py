"""Names of files and words of commands that are not UTF-8: written out, or refused, and never a traceback."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from rageval.cli import main
from rageval.cli._output import print_lines

ODD = os.fsdecode(b"odd\xff")


def test_a_line_that_cannot_be_encoded_is_printed() -> None:
    @click.command()
    def printing() -> None:
        print_lines([f"first {ODD}", "second"])

    result = CliRunner().invoke(printing)
    assert (result.exit_code, result.stdout) == (0, "first odd\\udcff\nsecond\n")


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are text there")
def test_a_rubric_says_from_which_prompt_it_was_made(tmp_path: Path) -> None:
    (tmp_path / ODD).write_text("Query: {query}\nPassage: {passage}\nScore it from 0 to 3.\n##final score: ")
    rubric = tmp_path / "made.toml"
    words = ["rubrics", "import", str(tmp_path / ODD), "--as", "umbrela", "-o", str(rubric)]
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 0, result.output
    assert "Imported from odd\\udcff as umbrela" in rubric.read_text(encoding="utf-8")


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are text there")
def test_a_rubric_of_words_that_are_not_utf_8_is_refused(tmp_path: Path) -> None:
    (tmp_path / "prompt.txt").write_text("Query: {query}\nPassage: {passage}\n##final score: ")
    words = ["rubrics", "import", str(tmp_path / "prompt.txt"), "--as", "umbrela", "--system", ODD]
    result = CliRunner().invoke(main, [*words, "-o", str(tmp_path / "made.toml")])
    assert (result.exit_code, (tmp_path / "made.toml").exists()) == (2, False)
    assert "not UTF-8; a rubric must be UTF-8" in result.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are text there")
def test_a_pool_names_runs_that_any_file_can_hold(tmp_path: Path) -> None:
    path = tmp_path / ODD
    path.write_text("q Q0 a 1 1 t\n")
    result = CliRunner().invoke(main, ["collection", "pool", str(path), "-o", str(tmp_path / "pool")])
    assert result.exit_code == 0, result.stderr
    assert '"from":{"odd\\\\udcff":1}' in (tmp_path / "pool").read_text()
