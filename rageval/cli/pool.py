"""`rageval pool`: what a new run would leave unjudged, and what to judge next."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from rageval.cli._options import METAVAR, QRELS, Group, output_option, shared
from rageval.cli._output import print_lines
from rageval.errors import UsageError


@click.group(no_args_is_help=True, cls=Group)
def pool() -> None:
    """Look into what is judged, and what is not.

    \b
    rageval pool check new.run --against collection
    rageval pool check new.run --against qrels.nugget --depth 20 -o more.jsonl
    rageval pool next a.trec b.trec --judged qrels.txt -m ap -n 100 -o more.jsonl
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


@pool.command("next")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@click.option("--judged", type=QRELS, metavar=METAVAR, required=True, help="The judgements there are.")
@shared("--measure", multiple=False, required=True, help="By which runs are compared, such as ap or p@10.")
@click.option("-n", "--number", type=click.IntRange(1), default=100, show_default=True, help="Of documents.")
@shared("--depth", help="Only documents above this rank (default: above the measure's cut-off).")
@output_option("-o", "--output", metavar="FILE", help="The documents, as a pool (default: standard output).")
def _next(
    runs: tuple[str, ...], judged: Any, measures: str, number: int, depth: int | None, output: Path | None
) -> None:
    """Show which unjudged documents can still change which RUN is better, the weightiest first.

    Between what bounds two runs differ, whatever the unjudged documents are, is printed for each pair; where
    these leave out 0 it is decided, and asks for nothing more. Judge what is listed, add it to the file of
    the judgements, and ask again, until every pair is decided or nothing that is left matters.

    What is listed is noted beside the judgements, in FILE.adaptive.jsonl. A mean over documents that were
    chosen so is no estimate: rageval then prints bounds with every number, says pool:adaptive in its
    signature, and decides between runs by bounds alone. Who copies the judgements copies the note with them.

    \b
    rageval pool next a.trec b.trec --judged qrels.txt -m ap -n 100 -o more.jsonl
    rageval build support more.jsonl --questions … --nuggets … --corpus … --judge openai:MODEL -o judged.jsonl
    rageval build qrels judged.jsonl >> qrels.txt
    """
    from rageval.building.adaptive import next_batch
    from rageval.files.adaptive import note_asked
    from rageval.files.writing import write_lines
    from rageval.measures.base import Measure
    from rageval.measures.parsing import parse_measures
    from rageval.scoring.evaluation import Evaluator
    from rageval.scoring.sources import run_name, run_source

    found = parse_measures(measures)
    if len(found) != 1 or not isinstance(found[0], Measure):
        raise UsageError(f"-m {measures}: expected one measure of rageval's, such as ap")
    evaluator = Evaluator(found, judged, nothing_judged="zero", bounds=True)
    batch = next_batch(found[0], list(map(run_source, runs)), evaluator, number, depth)
    asked = {(query, doc): ranks for query, docs in batch.pool.items() for doc, ranks in docs.items()}
    note_asked(judged, asked, f"{found[0]} of {', '.join(map(run_name, runs))}")
    if output is not None:
        write_lines(output, batch.pool_lines())
        print_lines(batch.lines())
        return
    for line in batch.lines():
        click.echo(f"rageval: {line}", err=True)
    print_lines(batch.pool_lines())
