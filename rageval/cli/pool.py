"""`rageval pool check`: what a new run would leave unjudged."""

from __future__ import annotations

from pathlib import Path

import click

from rageval.cli._options import Group, output_option, shared
from rageval.cli._output import print_lines


@click.group(no_args_is_help=True, cls=Group)
def pool() -> None:
    """Look into what is judged, and what is not.

    \b
    rageval pool check new.run --against collection
    rageval pool check new.run --against qrels.nugget --depth 20 -o more.jsonl
    """


@pool.command("check")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@click.option(
    "--against",
    type=click.Path(path_type=Path),
    default=Path(),
    help="Judgements, a pool, or the folder of a collection (default: this folder).",
)
@shared("--depth", default=20, show_default=True, help="How many documents of each run are in the new pool.")
@output_option("-o", "--output", metavar="FILE", help="The new pool.")
def _check(runs: tuple[str, ...], against: Path, depth: int, output: Path | None) -> None:
    """Show what RUN would leave unjudged at several depths, and what judging it would take.

    With -o the unjudged documents are written as a pool that `rageval build support` judges.
    """
    from rageval.building.collection import check_runs

    print_lines(check_runs(runs, against, depth, output))
