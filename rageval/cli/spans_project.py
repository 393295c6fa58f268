"""`rageval spans project`: spans as judgements of the chunks there are now."""

from __future__ import annotations

from typing import Annotated, Any

import click

from rageval import options as opt
from rageval.cli._options import Command, takes_options
from rageval.cli._output import deliver, say
from rageval.files.trec import qrel_lines
from rageval.spans import project as projected


class Options(opt.Options):
    """The options of `rageval spans project`."""

    chunks: opt.Chunks
    sources: opt.Sources
    overlap: opt.Overlap | None = None
    stale: opt.Stale | None = None
    output: Annotated[opt.Output, "File for the judgements: query nugget chunk grade."]
    limits: opt.Limits = ()


@click.command("project", cls=Command)
@click.argument("spans", metavar="SPANS")
@takes_options
def spans_project(spans: str, options: Options) -> None:
    """Convert span judgements to qrels for these chunks, for tools that take judgements of documents.

    A nugget in no chunk gets a line with grade 0, so that it counts as not found.

    \b
    rageval spans project spans.jsonl --chunks new.jsonl --sources docs -o qrels.nugget
    rageval spans project spans.jsonl --chunks new.jsonl --sources docs --overlap whole -o qrels.nugget
    """
    rules: dict[str, Any] = {"overlap": options.overlap, "stale": options.stale}
    given = {name: value for name, value in rules.items() if value is not None}
    qrels = projected(spans, options.chunks, options.sources, **given)
    qrels.refuse_undecided("not possible in a file of judgements:")
    say(*qrels.remarks())
    deliver(qrel_lines(qrels), options.output)
