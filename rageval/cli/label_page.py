"""`rageval label page`: a page on which a person labels what a plan asks."""

from __future__ import annotations

from typing import Annotated

import click

from rageval import options as opt
from rageval.cli._options import Command, takes_options
from rageval.cli._output import say, write_page
from rageval.errors import UsageError
from rageval.files.plans import read_plan
from rageval.pages.labels import LabelFile, LabelServer, page_to_label
from rageval.text import visible


@click.command("page", cls=Command)
@click.argument("plan", metavar="PLAN.jsonl")
@takes_options
def label_page(
    plan: str,
    output: opt.Page | None = None,
    annotator: Annotated[str, opt.Option("Name of the annotator.", metavar="NAME")] = "a",
    serve: Annotated[
        opt.File | None,
        opt.Option(
            "Instead of writing a page: serve it on this computer, and save each label in this file.",
            metavar="LABELS.jsonl",
            kind="output",
        ),
    ] = None,
    port: Annotated[
        int | None,
        opt.Option(
            "Port for --serve (default: the last one used, at first one derived from the plan; 0: a free"
            " one).",
            least=0,
            most=65535,
        ),
    ] = None,
) -> None:
    """Make a page for labeling what PLAN lists: one file, no network.

    The page names no system and no judge. Labels are saved in the browser and exported as judgements, which
    rageval score, label agree and label correct read. For a second person, make another page of the same plan
    with another NAME.

    \b
    rageval label page ask.jsonl -o page.html
    rageval label page ask.jsonl --annotator kim -o kim.html
    rageval label page ask.jsonl --serve labels.jsonl
    """
    if (output is None) == (serve is None):
        raise UsageError("expected -o FILE.html for the page, or --serve LABELS.jsonl")
    label_plan = read_plan(plan)
    if output is not None:
        write_page(page_to_label(label_plan, annotator), output)
    elif serve is not None:
        with LabelFile(serve, label_plan, annotator) as labels:
            say(*labels.remarks)
            with LabelServer(labels, port) as server:
                click.echo(server.address)
                say(f"{len(labels):,} labels so far; Ctrl-C stops")
                try:
                    server.serve_forever()
                except KeyboardInterrupt:
                    say(f"{len(labels):,} labels in {visible(str(serve))}")
