"""`rageval project`: spans as judgements of the chunks there are now."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from rageval.cli._options import Command, output_option, shared


@click.command(cls=Command)
@click.argument("spans", metavar="SPANS")
@shared("--chunks", required=True)
@shared("--sources", required=True)
@shared("--overlap")
@shared("--stale")
@output_option(
    "-o", "--output", metavar="FILE", required=True, help="The judgements: query nugget chunk grade."
)
@shared("--limit")
def project(spans: str, output: Path, **options: Any) -> None:
    """Write what spans come to for these chunks, for tools that take judgements of documents.

    A nugget that no chunk holds stands there with a grade of 0, so that it counts as not found.

    \b
    rageval project spans.jsonl --chunks new.jsonl --sources docs -o qrels.nugget
    rageval project spans.jsonl --chunks new.jsonl --sources docs --overlap whole -o qrels.nugget
    """
    from rageval.files.trec import qrel_lines
    from rageval.files.writing import whole_file
    from rageval.spans import project as projected

    said = {name: options[name] for name in ("overlap", "stale") if options[name] is not None}
    found = projected(spans, options["chunks"], options["sources"], **said)
    if found.spans is not None:
        found.spans.refuse_open("a file of judgements cannot say so:")
        for remark in found.spans.remarks():
            click.echo(f"rageval: {remark}", err=True)
    with whole_file(output) as stream:
        for line in qrel_lines(found):
            stream.write(f"{line}\n".encode())
