"""The options of commands that ask a judge, once for all of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from rageval.judges.panel import Settings

Command = TypeVar("Command", bound=Callable[..., Any])
NAMES = (
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
_OPTIONS = (
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
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def settings_of(options: dict[str, Any]) -> Settings:
    """The settings that the options say."""
    from rageval.judges.panel import Settings

    return Settings(**{name: options[name] for name in NAMES})


def end_if_failed(failed: int, what: str = "judgements") -> None:
    """Exit code 3 where something is missing because judging failed."""
    if failed:
        from rageval.errors import JudgeFailed

        message = f"rageval: {failed:,} {what} failed and are missing; the same command asks for them again"
        click.echo(message, err=True)
        raise click.exceptions.Exit(JudgeFailed.exit_code)
