"""`rageval spans`: gold that outlives the chunking it was judged on."""

from __future__ import annotations

import click

from rageval.cli._options import Group


@click.group(
    cls=Group,
    in_files={
        "anchor": "Turn judgements of chunks into spans of their sources, once.",
        "project": "Convert span judgements to qrels for the current chunks.",
    },
)
def spans() -> None:
    """Store judgements of chunks as spans of their sources, so they still apply after rechunking.

    \b
    rageval spans anchor qrels.nugget --chunks old.jsonl --sources docs -o spans.jsonl
    rageval spans project spans.jsonl --chunks new.jsonl --sources docs -o qrels.nugget
    """
