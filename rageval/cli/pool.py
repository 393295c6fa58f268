"""`rageval pool check`: what a new run would leave unjudged."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rageval.cli._options import Group, output_option, shared
from rageval.cli._output import print_lines
from rageval.errors import InputError
from rageval.names import near_misses
from rageval.text import visible

if TYPE_CHECKING:
    from rageval.scoring.runs import Run

_DEPTHS = (5, 10, 20, 50, 100)
_SHOWN = 5


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
@shared("--depth", default=20, show_default=True, help="Of the new pool.")
@output_option("-o", "--output", metavar="FILE", help="The new pool.")
def _check(runs: tuple[str, ...], against: Path, depth: int, output: Path | None) -> None:
    """Show what RUN would leave unjudged at several depths, and what judging it would take.

    With -o the unjudged documents are written as a pool that `rageval build support` judges.
    """
    from rageval.building.collection import write
    from rageval.building.pools import Pool, pool_lines, unjudged
    from rageval.scoring.sources import read_run

    judged = _judged(against)
    more: Pool = {}
    for path in runs:
        run = read_run(path)
        if not judged.keys() & set(run.query_ids):
            raise InputError(
                f"{path}: no query in common with {against}; expected a run for the same queries"
                + near_misses(run.query_ids, judged)
            )
        print_lines(_lines(run, judged, depth, with_name=len(runs) > 1))
        for query, docs in unjudged(run, judged, depth).items():
            for doc, sources in docs.items():
                more.setdefault(query, {}).setdefault(doc, {}).update(sources)
    if output is not None:
        write(output, pool_lines(more))


def _judged(against: Path) -> Mapping[str, set[str]]:
    """Return the judged documents of every query, in judgements or in a pool."""
    if os.path.isdir(against):
        found = [against / name for name in ("qrels.nugget", "pool.jsonl") if os.path.isfile(against / name)]
        if not found:
            raise InputError(f"{against}: no collection; expected --against QRELS, POOL or a collection")
        against = found[0]
    from rageval.files.opening import head

    if head(str(against)).lstrip().startswith(b"{"):
        from rageval.building.pools import read_pool

        return {query: set(docs) for query, docs in read_pool(against).items()}
    from rageval.scoring.sources import read_qrels

    judged: dict[str, set[str]] = {}
    for row in read_qrels(against):
        judged.setdefault(row.query_id, set()).add(row.doc_id)
    return judged


def _lines(run: Run, judged: Mapping[str, set[str]], depth: int, with_name: bool) -> Iterator[str]:
    from rageval.building.pools import holes, size, unjudged

    name = f"{visible(run.name)}\t" if with_name else ""
    yield "\t".join((f"{name}depth", "unjudged", "of", "share", "queries", "calls"))
    for each in sorted({*_DEPTHS, depth}):
        found = holes(run, judged, each)
        calls = size(unjudged(run, judged, each)).calls
        share = f"{found.share:.1%}".replace("%", " %")
        row = (f"{found.unjudged:,}", f"{found.documents:,}", share, f"{found.queries:,}", f"{calls:,}")
        yield "\t".join((f"{name}{each}", *row))
    new = sorted(unjudged(run, judged, depth).items(), key=lambda item: (-len(item[1]), item[0]))
    if new:
        worst = ", ".join(f"{visible(query)} ({len(docs)})" for query, docs in new[:_SHOWN])
        yield f"{name}most at depth {depth}: {worst}"
