"""`rageval anchor`: gold that outlives the chunking it was judged on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from rageval.cli._options import Command, output_option, reading_of, shared


@click.command(cls=Command)
@click.argument("qrels", metavar="QRELS")
@shared(
    "--chunks", required=True, help="The chunks that were judged: lines {id, doc_id, start, end} or text."
)
@shared("--sources", required=True)
@click.option(
    "--quotes",
    metavar="FILE",
    help="Judgements {query_id, item_id, aspect, evidence}: the words that decided them, or start and end.",
)
@shared("--nuggets", help="The nuggets, whose own texts may stand in the chunks.")
@click.option("-l", "--rel", type=int, default=1, show_default=True, help="The lowest grade that is support.")
@click.option(
    "--unanchored",
    type=click.Choice(("error", "drop")),
    default="error",
    show_default=True,
    help="Quotes that stand nowhere in their chunks: refuse (exit 3), or leave out.",
)
@output_option("-o", "--output", metavar="FILE", required=True, help="The spans.")
@shared("--comments")
@shared("--limit")
def anchor(qrels: str, output: Path, **options: Any) -> None:
    """Turn judgements of chunks into spans of their sources, once.

    What was judged is then a stretch of text, found by the judge's quote, and no chunk: sources may be cut
    otherwise, and the gold stays. A judgement without a quote keeps its whole chunk as a wide span.

    \b
    rageval anchor qrels.nugget --chunks old.jsonl --sources docs --quotes judged.jsonl -o spans.jsonl
    rageval run.trec spans.jsonl --chunks new.jsonl --sources docs -m official:freshstack
    """
    from rageval.scoring.sources import read_qrels
    from rageval.spans import anchor as anchored

    reading = reading_of(options["comments"])
    found = anchored(
        read_qrels(qrels, reading=reading),
        options["chunks"],
        options["sources"],
        quotes=options["quotes"],
        nuggets=options["nuggets"],
        rel=options["rel"],
        unanchored=options["unanchored"],
    )
    found.save(output)
    for remark in found.remarks():
        click.echo(f"rageval: {remark}", err=True)
