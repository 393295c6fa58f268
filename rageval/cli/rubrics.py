"""`rageval rubrics`: what judges can be asked."""

from __future__ import annotations

from collections.abc import Iterator

import click

from rageval.cli._options import Command, completing
from rageval.cli._output import print_lines
from rageval.text import visible


@click.command(cls=Command)
@click.argument("name", required=False, shell_complete=completing("rubrics"))
def rubrics(name: str | None) -> None:
    """List the rubrics, or print one: its labels, where it comes from, its prompt.

    What is printed is the rubric's file: save it, change it, and judge by it.

    \b
    rageval rubrics crag > mine.toml
    rageval judge mine.toml answers.jsonl --questions crag.jsonl --judge openai:MODEL
    """
    from rageval.judges.rubric import rubric_text

    print_lines(_listed() if name is None else [rubric_text(name).rstrip("\n")])


def _listed() -> Iterator[str]:
    from rageval.judges.rubric import rubric_names, rubric_text
    from rageval.plugins import plugin_names

    names, added = rubric_names(), plugin_names("rubrics")
    width = max(map(len, [*names, *map(visible, added)]))
    for name in names:
        summary = rubric_text(name).partition("\n")[0].removeprefix("# ")
        yield f"{name:<{width}}  {summary}"
    for name in added:
        yield f"{visible(name):<{width}}  of another package"
