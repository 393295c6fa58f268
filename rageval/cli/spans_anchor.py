"""`rageval spans anchor`: gold that outlives the chunking it was judged on."""

from __future__ import annotations

from typing import Annotated, Literal

import click

from rageval import options as opt
from rageval.cli._options import Command, reading_of, takes_options
from rageval.cli._output import say
from rageval.scoring.sources import read_qrels
from rageval.spans import anchor as anchored


class Options(opt.Options):
    """The options of `rageval spans anchor`."""

    chunks: Annotated[opt.Chunks, "The judged chunks: lines {id, doc_id, start, end} or text."]
    sources: opt.Sources
    quotes: Annotated[
        str | None,
        opt.Option(
            "Judgements {query_id, item_id, aspect, evidence}: the words that decided them, or start and"
            " end.",
            metavar="FILE",
        ),
    ] = None
    nuggets: Annotated[opt.Nuggets, "The nuggets, whose texts may be in the chunks."] = None
    rel: Annotated[opt.Rel, "Lowest grade that counts as support."] = 1
    unanchored: Annotated[
        Literal["error", "drop"],
        opt.Option("Quotes that are not in their chunks: refuse (exit 3), or leave out."),
    ] = "error"
    output: Annotated[opt.Output, "File for the spans."]
    comments: opt.Comments = "error"
    limits: opt.Limits = ()


@click.command(
    "anchor",
    cls=Command,
    first=("chunks", "sources", "quotes", "nuggets", "rel", "unanchored", "output", "comments", "limits"),
)
@click.argument("qrels", metavar="QRELS")
@takes_options
def spans_anchor(qrels: str, options: Options) -> None:
    """Turn judgements of chunks into spans of their sources, once.

    Each judgement is attached to a stretch of text, found by the judge's quote, instead of a chunk. You can
    then rechunk the sources and keep the gold. A judgement without a quote keeps its whole chunk as a wide
    span.

    \b
    rageval spans anchor qrels.nugget --chunks old.jsonl --sources docs --quotes judged.jsonl -o spans.jsonl
    rageval run.trec spans.jsonl --chunks new.jsonl --sources docs -m official:freshstack
    """
    reading = reading_of(options.comments)
    spans = anchored(
        read_qrels(qrels, reading=reading),
        options.chunks,
        options.sources,
        quotes=options.quotes,
        nuggets=options.nuggets,
        rel=options.rel,
        unanchored=options.unanchored,
    )
    spans.save(options.output)
    say(*spans.remarks())
