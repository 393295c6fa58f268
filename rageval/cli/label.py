"""`rageval label`: what people say, drawn before they say it, and what it makes of a judge's scores."""

from __future__ import annotations

import click

from rageval.cli._options import Group


@click.group(
    cls=Group,
    in_files={
        "plan": "Draw what to label, before anybody labels.",
        "page": "Make a page for labeling what was drawn: one file, no network.",
        "agree": "Compare a judge with human labels, or two leaderboards.",
        "correct": "Correct a judge's scores with human labels of some answers.",
    },
)
def label() -> None:
    """Collect human labels for a sample, and compare judges with them.

    \b
    rageval label plan judged.jsonl -n 100 --answers answers.jsonl -o ask.jsonl
    rageval label page ask.jsonl --annotator kim -o kim.html
    rageval label agree judged.jsonl kim.jsonl
    rageval label correct judged.jsonl --gold kim.jsonl -m crag_score
    """
