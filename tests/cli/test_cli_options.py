"""Options that several commands share mean the same everywhere, and --help is in order."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

import click
import pytest

from commands import run_command
from rageval.cli import COMMANDS, main
from rageval.cli._options import Command

# What is called the same in two commands and holds something else.
DIFFERENT = {
    "--output",  # a file, a folder (build) or a store (store merge)
    "--corpus",  # `collection build` writes into its manifest what was typed
    "--nuggets",
    "--judge",  # one or several
    "--only",  # parts of a log, and of a collection
    "--against",  # what a pool or a collection is held against, and the rubric that one is
    "--label",  # of a table in a paper, and for how many topics of a track people shall label
    "--by",  # a field of the questions, and what labels are drawn by
    "--ties",  # of documents in a ranking, and of systems in a battle
    "--again",  # fetch a dataset, and the share of judgements that are asked twice
    "--compat",  # tools that we know, and whatever source a rubric file of one's own names
}
CHOICES = {"--format", "--compat", "--as", "--track"}  # what may be chosen depends on the command


def commands(command: click.Command, path: str = "") -> Iterator[tuple[str, click.Command]]:
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from commands(below, f"{path} {name}".strip())
    else:
        yield path, command


def every_command() -> Iterator[tuple[str, click.Command]]:
    """Yield the commands, and the groups that they are in."""
    groups = {path.rpartition(" ")[0] for path, _ in commands(main)} - {""}
    yield from commands(main)
    yield from ((group, main) for group in sorted(groups))


def kind(option: click.Option, name: str) -> tuple[object, ...]:
    """What an option holds: type, choices, whether it is a flag."""
    choices = option.type.choices if isinstance(option.type, click.Choice) and name not in CHOICES else None
    return type(option.type), choices, option.is_flag


def test_an_option_of_one_name_is_of_one_kind_in_every_command() -> None:
    kinds: dict[str, dict[object, list[str]]] = defaultdict(lambda: defaultdict(list))
    for path, command in commands(main):
        for option in command.params:
            if isinstance(option, click.Option) and not option.hidden:
                name = max(option.opts, key=len)
                kinds[name][kind(option, name)].append(path)
    assert len(kinds) > 60
    assert {name for name, uses in kinds.items() if len(uses) > 1} <= DIFFERENT


def test_a_letter_stands_for_one_option_in_every_command() -> None:
    meant: dict[str, set[str]] = defaultdict(set)
    letters: dict[str, set[str]] = defaultdict(set)
    for _, command in commands(main):
        for option in command.params:
            if isinstance(option, click.Option) and not option.hidden:
                long = max(option.opts, key=len)
                short = {name for name in option.opts if not name.startswith("--")}
                letters[long].add("".join(sorted(short)))
                for name in short:
                    meant[name].add(long)
    twice = {letter: names for letter, names in meant.items() if len(names) > 1}
    assert twice == {
        "-n": {"--no-summary", "--number"}
    }  # trec_eval's, and what statistics calls a sample's size
    assert {name: options for name, options in letters.items() if len(options) > 1} == {}
    assert meant["-q"] == {"--by-query"}


@pytest.mark.slow
@pytest.mark.parametrize("path", [path for path, _ in commands(main)])
def test_every_option_is_listed_once_in_help(path: str) -> None:
    command = dict(commands(main))[path]
    has_first = isinstance(command, Command) and bool(command.first)
    shown = run_command(*path.split(), "--help-all" if has_first else "--help").stdout
    for option in command.params:
        if isinstance(option, click.Option):
            name = max(option.opts, key=len)
            lines = re.findall(rf"^  (?:-\w, )?{name}(?= |$)", shown, re.MULTILINE)
            assert len(lines) == (not option.hidden), name
    assert "-h, --help" in shown


@pytest.mark.parametrize("path", [path for path, command in commands(main) if getattr(command, "first", ())])
def test_help_of_many_options_lists_the_first_ten(path: str) -> None:
    command = dict(commands(main))[path]
    assert isinstance(command, Command)
    shown = run_command(*path.split(), "--help").stdout
    listed = re.findall(r"^  (?:-\w, )?(--[\w-]+)", shown, re.MULTILINE)
    called = {param.name: max(param.opts, key=len) for param in command.params}
    assert listed == [*(called[name] for name in command.first), "--help-all", "--help"]
    assert len(command.first) <= 10


@pytest.mark.parametrize("path", ["", *(path for path, _ in every_command())])
def test_help_fits_on_a_screen(path: str) -> None:
    assert len(run_command(*path.split(), "--help").stdout.splitlines()) <= 30


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        ("comparre a.run b.run qrels --all-pairs", "compare"),
        ("scor a.run qrels", "score"),
        ("Validate answers.jsonl --track rag25", "validate"),
        ("datasets fetc x", "fetch"),
        ("store stat", "stats"),
        ("collection fuze a.run", "fuse"),
        ("label plna judged.jsonl", "plan"),
    ],
)
def test_a_mistyped_command_is_told_the_nearest(words: str, meant: str) -> None:
    result = run_command(*words.split())
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1
    assert result.stderr.endswith(f"; did you mean {meant}?\n")


@pytest.mark.parametrize("words", ["judged a.run qrels", "./scor", "xyz a.run", "datasets xyzzy"])
def test_what_is_no_command_by_mistake_is_told_none(words: str) -> None:
    result = run_command(*words.split())
    assert result.exit_code == 2
    assert all(f"did you mean {name}?" not in result.stderr for name in COMMANDS)
