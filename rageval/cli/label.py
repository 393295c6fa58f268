"""`rageval label`: what people say, drawn before they say it, and what it makes of a judge's scores."""

from __future__ import annotations

import click

from rageval.cli._options import Group


@click.group(
    cls=Group,
    in_files={
        "plan": "Draw what people shall label, before anybody labels.",
        "page": "Make a page on which a person labels what was drawn; one file, no network.",
        "agree": "Show how far a judge agrees with people, or two leaderboards do.",
        "correct": "Correct a judge's scores by what people said of some of the same answers.",
    },
)
def label() -> None:
    """Let people label a part, and hold the judge against them.

    \b
    rageval label plan judged.jsonl -n 100 --answers answers.jsonl -o ask.jsonl
    rageval label page ask.jsonl --annotator kim -o kim.html
    rageval label agree judged.jsonl kim.jsonl
    rageval label correct judged.jsonl --gold kim.jsonl -m crag_score
    """
