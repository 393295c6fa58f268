"""Every command that there is, by what one types."""

from __future__ import annotations

from collections.abc import Iterator

import click

from rageval.cli import main


def walked(command: click.Command = main, path: str = "") -> Iterator[tuple[str, click.Command]]:
    """The command itself, and those that it consists of."""
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            subcommand = command.get_command(context, name)
            assert subcommand is not None
            yield from walked(subcommand, f"{path} {name}".strip())


def leaves() -> dict[str, click.Command]:
    """The commands that are no groups."""
    return {
        path: command_found for path, command_found in walked() if not isinstance(command_found, click.Group)
    }
