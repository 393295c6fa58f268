"""`rageval skill`: a page for coding agents."""

from __future__ import annotations

from importlib.resources import files

import click

from rageval.cli._options import Command
from rageval.cli._output import print_lines


@click.command(cls=Command)
def skill() -> None:
    """Print a page for coding agents: commands by question, file formats, exit codes, pitfalls.

    Save it where your agent reads its skills.

    \b
    rageval skill > .claude/skills/rageval/SKILL.md
    """
    page = files("rageval").joinpath("views/SKILL.md").read_text(encoding="utf-8")
    print_lines(page.splitlines())
