"""Options that name an output: one kind for all, which never takes the place of what a command reads."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from rageval.errors import UsageError
from rageval.text import visible

if TYPE_CHECKING:
    from pathlib import Path

Command = TypeVar("Command", bound=Callable[..., Any])
Words = dict[str, list[str]]  # what was typed, or is so when nothing is, by parameter
_TEXTS = {"title"}  # what is no name of a file, whatever it says
_BESIDE_STORE = ("", "-wal", "-shm", "-journal")


class Place(click.Path):
    """The name of a file, as a `Path`."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path; what makes one is imported only where one is named."""
        from pathlib import Path

        return Path(os.fsdecode(super().convert(value, param, ctx)))


class Output(click.Option):
    """A file to be written; refused if it is a folder, an input, the store, or another output."""

    def handle_parse_result(
        self, ctx: click.Context, opts: Mapping[str, Any], args: list[str]
    ) -> tuple[Any, list[str]]:
        """Take the value, once it is known to be none of the other words of the command line."""
        found = super().handle_parse_result(ctx, opts, args)
        path = ctx.params.get(self.name or "")
        if isinstance(path, os.PathLike) and not ctx.resilient_parsing:
            from rageval.files.writing import refuse_place

            others = {param.name or "": _words(param, ctx, opts) for param in ctx.command.params}
            del others[self.name or ""]
            outputs = [param.name or "" for param in ctx.command.params if isinstance(param, Output)]
            places = {os.path.realpath(word) for name in outputs for word in others.pop(name, ())}
            if os.path.realpath(path) in places:
                raise UsageError(f"{visible(str(path))}: is named by two options; expected a file for each")
            refuse_place(cast("Path", path), *_named(others), *_stores(others))
        return found


def output_option(*names: str, **settings: Any) -> Callable[[Command], Command]:
    """An option that names a file to be written."""
    return click.option(*names, cls=Output, type=Place(), **settings)


def _words(param: click.Parameter, ctx: click.Context, opts: Mapping[str, Any]) -> list[str]:
    said = opts.get(param.name or "") or param.get_default(ctx)
    every = said if isinstance(said, list | tuple) else [said]
    return [str(word) for word in every if isinstance(word, str | os.PathLike)]


def _named(words: Words) -> Iterator[str]:
    """Every file that may be meant, also as in SETTING=FILE and frozen:FILE."""
    for name in words.keys() - _TEXTS:
        for word in words[name]:
            yield from (word, word.partition("=")[2], word.partition(":")[2])
            if os.path.isdir(word):
                from rageval.building.collection import ALL_FILES

                yield from (os.path.join(word, file) for file in ALL_FILES)


def _stores(words: Words) -> Iterator[str]:
    """The files of the store that the command uses."""
    if "store" in words:
        from rageval.judges.database import default_path

        store = words["store"][0] if words["store"] else default_path()
        yield from (f"{store}{end}" for end in _BESIDE_STORE)
