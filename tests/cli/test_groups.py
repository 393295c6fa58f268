"""What commands there are, as a person finds them: one screen, all of them, and what a wrong word is told."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

from commands import run_command
from every_command import walked
from rageval.cli import _ELSEWHERE
from rageval.errors import EXIT_CODES

PATHS = {path for path, _ in walked() if path}


def test_all_help_lists_every_command_once_with_what_it_does_and_the_exit_codes() -> None:
    result = run_command("--help-all")
    assert result.exit_code == 0
    listed = re.findall(r"^  ([a-z]+(?: [a-z]+)?)  +[A-Z]", result.stdout, re.MULTILINE)
    assert sorted(listed) == sorted(PATHS)
    codes = result.stdout.partition("Exit codes: ")[2]
    assert all(f"{code} " in codes for code in EXIT_CODES)
    assert "--version" in result.stdout


def test_a_command_has_two_words_at_most_and_says_what_it_does() -> None:
    assert max(path.count(" ") for path in PATHS) == 1
    for path, command in walked():
        if isinstance(command, click.Group):
            shown = run_command(*path.split(), "--help").stdout
            for name in command.list_commands(click.Context(command)):
                assert path == "" or re.search(rf"^  {name}  +[A-Z]", shown, re.MULTILINE), f"{path} {name}"


@pytest.mark.parametrize("word", _ELSEWHERE)
def test_a_word_that_is_no_command_is_told_what_to_type(
    word: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # a checkout may have a folder `build`, which would be a file of runs
    result = run_command(word, "some", "more")
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (2, "", 1)
    suggestions = re.findall(r"rageval ((?:--)?[a-z]+(?: [a-z]+\b)?)", result.stderr.partition("; say ")[2])
    assert suggestions
    for typed in suggestions:
        assert typed in PATHS or typed in ("--help", "--version"), typed
