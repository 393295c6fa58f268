"""Options that several commands share mean the same everywhere, and --help is in order."""

from __future__ import annotations

import re
from collections.abc import Iterator

import click
import pytest

from commands import run_command
from rageval.cli import COMMANDS, main
from rageval.cli._options import Command


def commands(command: click.Command, path: str = "") -> Iterator[tuple[str, click.Command]]:
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from commands(below, f"{path} {name}".strip())
    else:
        yield path, command


@pytest.mark.parametrize("path", [path for path, command in commands(main) if getattr(command, "first", ())])
def test_help_of_many_options_lists_the_first_ten(path: str) -> None:
    command = dict(commands(main))[path]
    assert isinstance(command, Command)
    shown = run_command(*path.split(), "--help").stdout
    listed = re.findall(r"^  (?:-\w, )?(--[\w-]+)", shown, re.MULTILINE)
    called = {param.name: max(param.opts, key=len) for param in command.params}
    assert listed == [*(called[name] for name in command.first), "--help-all", "--help"]
    assert len(command.first) <= 10
    assert len(shown.splitlines()) <= 55


@pytest.mark.parametrize("words", ["judged a.run qrels", "./scor", "xyz a.run", "datasets xyzzy"])
def test_what_is_no_command_by_mistake_is_told_none(words: str) -> None:
    result = run_command(*words.split())
    assert result.exit_code == 2
    assert all(f"did you mean {name}?" not in result.stderr for name in COMMANDS)
