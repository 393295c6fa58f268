"""What commands there are, as a person finds them: one screen, all of them, and what a wrong word is told."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

from commands import run_command
from every_command import walked
from rageval.cli import _ELSEWHERE, COMMANDS, GROUPS
from rageval.errors import EXIT_CODES

PATHS = {path for path, _ in walked() if path}
LINES, CHARACTERS = 24, 80  # of a terminal


@pytest.mark.parametrize("words", [["-h"], ["--help"], []], ids=" ".join)
def test_the_first_screen_is_one_screen_and_names_every_command_once(words: list[str]) -> None:
    shown = run_command(*words).output
    assert len(shown.splitlines()) <= LINES
    assert max(map(len, shown.splitlines())) <= CHARACTERS
    listed = re.findall(r"^  (\w+)  +[A-Z]", shown, re.MULTILINE)
    assert listed == list(GROUPS["Used first"])
    rest = re.findall(r"\w+", shown.partition("\nGroups: ")[2].partition("rageval --help-all")[0])
    others = [name for name in COMMANDS if name not in listed]
    assert [word for word in rest if word in COMMANDS] == others
    assert "--help-all" in shown


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


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("label plna j.jsonl", "plna: no such command; did you mean plan?"),
        ("spans ancor q", "ancor: no such command; did you mean anchor?"),
        ("collection nugetize q", "nugetize: no such command; did you mean nuggetize?"),
        ("store exprt", "exprt: no such command; did you mean export?"),
        ("label xyzzy", "xyzzy: no such command; expected one of plan, page, agree, correct"),
        ("colection build q", "colection: not a command, file or measure; did you mean collection?"),
    ],
)
def test_after_a_group_the_nearest_command_is_told(words: str, message: str) -> None:
    result = run_command(*words.split())
    assert (result.exit_code, result.stdout, result.stderr) == (2, "", f"rageval: {message}\n")
