"""`rageval agree`: a judge beside people, or beside another judge."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import click

from rageval.cli.printing import on_terminal, print_lines
from rageval.text import visible

if TYPE_CHECKING:
    from rageval.passport import Passport

STYLES = ("table", "md", "json")


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("judged")
@click.argument("gold")
@click.option(
    "--weights",
    type=click.Choice(("none", "linear", "quadratic")),
    default="none",
    show_default=True,
    help="How much near misses count as agreement.",
)
@click.option("--format", "style", type=click.Choice(STYLES), help="Default: table on a terminal, else md.")
def agree(judged: str, gold: str, weights: str, style: str | None) -> None:
    """The passport of a judge: how far JUDGED agrees with GOLD, beyond chance.

    Both are files of judgements; the things that both judged are compared. Prints agreement, Cohen's kappa,
    Gwet's AC and Krippendorff's alpha with 95 % intervals over queries, the confusion of labels, in which
    direction the judge errs, whether systems are ranked alike, how many judgements failed, what they cost.

    \b
    rageval agree judged.jsonl human.jsonl --weights quadratic
    """
    from rageval.passport import passport, read

    found = passport(read(judged), read(gold), weights)
    style = style or ("table" if on_terminal() else "md")
    print_lines([json.dumps(found.as_dict(), indent=2)] if style == "json" else _lines(found, style))


def _lines(found: Passport, style: str) -> Iterator[str]:
    from rageval.cli import grids

    draw = {"md": grids.md_lines, "table": grids.table_lines}[style]
    yield from draw([["", "value", "low", "high"], *_coefficients(found)], 1)
    yield ""
    labels = [visible(label) for label in found.labels]
    rows = [[label, *map(str, row)] for label, row in zip(labels, found.confusion, strict=True)]
    yield from draw([["judge \\ gold", *labels], *rows], 1)
    yield ""
    yield from _sentences(found.as_dict())


def _coefficients(found: Passport) -> Iterator[list[str]]:
    for each in found.coefficients:
        yield [each.name, *(f"{number:.3f}" for number in (each.value, each.low, each.high))]


def _sentences(facts: Mapping[str, Any]) -> Iterator[str]:
    counts = f"{facts['queries']:,} queries and {facts['systems']:,} systems"
    yield f"{facts['compared']:,} judgements compared, of {counts}"
    if facts["bias"]:
        direction = "more generous" if facts["bias"] > 0 else "stricter"
        yield f"the judge is {direction} by {abs(facts['bias']):.3f} on average"
    if facts["tau_b"] is not None:
        yield f"systems are ranked alike: tau_b {facts['tau_b']:.3f}, tau_AP {facts['tau_ap']:.3f}"
    if facts["failed"]:
        yield f"{facts['failed']:,} of the judge's judgements failed ({facts['failure_rate']:.1%})"
    if facts["only_judged"] or facts["only_gold"]:
        first, second = facts["only_judged"], facts["only_gold"]
        yield f"not compared: {first:,} only in the first file, {second:,} only in the second"
    if facts["tokens"]:
        yield f"{facts['tokens']:,} tokens were spent"
