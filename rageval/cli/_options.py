"""Options that several commands share: files and ids, outputs, and how judges are asked."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from rageval.errors import UsageError
from rageval.text import visible

if TYPE_CHECKING:
    from pathlib import Path

    from rageval.judges.panel import Settings


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


Command = TypeVar("Command", bound=Callable[..., Any])
Words = dict[str, list[str]]  # what was typed, or is so when nothing is, by parameter
_TEXTS = {"title"}  # what is no name of a file, whatever it says
_BESIDE_STORE = ("", "-wal", "-shm", "-journal")


class _OutputPath(click.Path):
    """The name of a file, as a `Path`."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path; what makes one is imported only where one is named."""
        from pathlib import Path

        return Path(os.fsdecode(super().convert(value, param, ctx)))


class OutputOption(click.Option):
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
            outputs = [param.name or "" for param in ctx.command.params if isinstance(param, OutputOption)]
            places = {os.path.realpath(word) for name in outputs for word in others.pop(name, ())}
            if os.path.realpath(path) in places:
                raise UsageError(f"{visible(str(path))}: is named by two options; expected a file for each")
            refuse_place(cast("Path", path), *_named(others), *_stores(others))
        return found


def output_option(*names: str, **settings: Any) -> Callable[[Command], Command]:
    """An option that names a file to be written."""
    return click.option(*names, cls=OutputOption, type=_OutputPath(), **settings)


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
        from rageval.judges.store import default_path

        store = words["store"][0] if words["store"] else default_path()
        yield from (f"{store}{end}" for end in _BESIDE_STORE)


_ASKING = (
    *("store", "concurrency", "max_cost", "max_calls", "refresh", "quiet", "batch", "poll_every", "vote"),
    *("rebuy", "timeout", "patience", "price"),
)
rebuy_option = click.option(
    "--rebuy", is_flag=True, help="Hand over again what may be in a batch that cannot be found."
)
price_option = click.option(
    "--price",
    multiple=True,
    metavar="[MODEL=]IN[,OUT]",
    help="What a judge costs, in USD per million tokens; without MODEL: each whose price is not known"
    " (0: a server of your own).",
)
timeout_option = click.option(
    "--timeout",
    type=click.FloatRange(0, min_open=True),
    metavar="SECONDS",
    help="That one call may take (default: 120, and five times as long for the files of batches).",
)
patience_option = click.option(
    "--patience",
    type=click.FloatRange(0),
    metavar="SECONDS",
    help="To go on trying when a judge that has answered answers no more (default: 240)."
    " One that never answers ends the job at once.",
)
_ASKING_OPTIONS = (
    click.option("--store", metavar="FILE", help="Where replies are kept (default: the user's cache)."),
    click.option("--concurrency", type=click.IntRange(1), default=16, help="Calls at a time."),
    click.option("--max-cost", type=click.FloatRange(0), metavar="USD", help="Stop before more is spent."),
    click.option("--max-calls", type=click.IntRange(0), metavar="N", help="Stop after so many calls."),
    click.option("--batch", is_flag=True, help="In batches: half the price, and a reply may take a day."),
    click.option("--poll-every", type=click.FloatRange(0.01), default=60.0, help="Seconds between looks."),
    price_option,
    rebuy_option,
    timeout_option,
    patience_option,
    click.option("--refresh", is_flag=True, help="Ask again what is in the store."),
    click.option(
        "--vote", type=click.Choice(("mean", "median", "majority")), default="mean", help="Of several judges."
    ),
    click.option("-q", "--quiet", is_flag=True, help="No progress."),
)


def asking_options(command: Command) -> Command:
    """A command with these options."""
    for option in reversed(_ASKING_OPTIONS):
        command = option(command)
    return command


def settings_of(options: dict[str, Any]) -> Settings:
    """The settings that the options say."""
    from rageval.judges.panel import Settings

    return Settings(**{name: options[name] for name in _ASKING})


def end_if_failed(failed: int, what: str = "judgements") -> None:
    """Exit code 3 where something is missing because judging failed."""
    if failed:
        from rageval.errors import JudgeFailed

        message = f"rageval: {failed:,} {what} failed and are missing; the same command asks for them again"
        click.echo(message, err=True)
        raise click.exceptions.Exit(JudgeFailed.exit_code)
