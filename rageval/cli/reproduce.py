"""`rageval reproduce`: a table that a paper published, made again."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import click

from rageval import options as opt
from rageval.cli._options import Command, takes_options
from rageval.cli._output import TableFormat, deliver, say
from rageval.files.writing import refuse_place
from rageval.published import declared, names
from rageval.published import reproduce as reproduced
from rageval.table import Column, Prose, Table, lines
from rageval.text import visible

if TYPE_CHECKING:
    from rageval.published import Reproduced


@click.command(cls=Command)
@click.argument("name", required=False, metavar="[TABLE]")
@takes_options
def reproduce(
    name: str | None,
    data: Annotated[str, opt.read("The folder with runs or judgements.", metavar="DIR")] = ".",
    style: Annotated[TableFormat, "Output format."] = "table",
    output: opt.Output | None = None,
) -> None:
    """Recompute a table from a paper, and show the published values beside it.

    The files come from one folder: runs, or judgements of answers. Missing files are listed, with how to get
    them. Systems are matched to the paper's names by letters and digits. Without TABLE, lists the tables.

    \b
    rageval reproduce
    rageval reproduce freshstack-4 --data runs
    rageval reproduce ragtifier-1 --data judged --format csv
    """
    if name is None:
        tables = {table_name: declared(table_name) for table_name in names()}
        rows = [[table_name, table.title, table.where] for table_name, table in tables.items()]
        listed = Table([Column("table"), Column("title"), Column("where")], rows, 3)
        deliver(lines(style, lambda: [listed], lambda: listed), output)
        return
    if output is not None and os.path.isdir(data):
        with os.scandir(data) as entries:
            refuse_place(output, *(entry.path for entry in entries))
    result = reproduced(name, data)
    say(*(visible(file) for file in result.missing))
    deliver(lines(style, lambda: _reproduction_parts(result), result.records), output)


def _reproduction_parts(result: Reproduced) -> Iterator[Table | str]:
    table = result.declared
    yield Prose(f"{table.title}. {table.where}.")
    if table.about:
        yield Prose(table.about)
    if table.published:
        yield Prose("In brackets: published values.")
    yield ""
    yield result.table()
    if result.absent:
        yield ""
        yield Prose(f"Published, but not in this folder: {'; '.join(result.absent)}. {table.get}")
