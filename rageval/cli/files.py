"""Options that take a file, or the id of a data set in its place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

METAVAR = "FILE|ID"


class FileOrId(click.ParamType):  # type: ignore[type-arg]
    """A file of this name, or the data set of this id; `what` it must hold."""

    name = METAVAR

    def __init__(self, what: str) -> None:
        self.what = what

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The word itself, or a data set that stands for a file."""
        if "/" not in str(value):  # no id, and nothing to import for it
            return value
        from rageval.datasets.standing import standing_for

        return standing_for(value, self.what)


QUESTIONS, NUGGETS, DOCUMENTS = FileOrId("questions"), FileOrId("nuggets"), FileOrId("documents")
ANSWERS, QRELS = FileOrId("answers"), FileOrId("qrels")


def nuggets_option(
    text: str = "The nuggets that were judged: which are vital, or of what weight.",
) -> Callable[[Any], Any]:
    """`--nuggets`, of commands that score judged answers."""
    return click.option("--nuggets", type=NUGGETS, metavar=METAVAR, help=text)
