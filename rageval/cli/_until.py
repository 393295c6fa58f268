"""`rageval judge --until`: judging that ends when a claim is decided, and what it would take to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import click

from rageval.cli._output import print_lines
from rageval.errors import UsageError

if TYPE_CHECKING:
    from rageval.comparison.until import Pools, Until
    from rageval.judges.material import Material
    from rageval.judges.panel import Settings
    from rageval.judges.rubric import Rubric

_LOOKS = 5
_ALONE = ("against", "disagreements", "dry_run")


def until_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add --until and what belongs to it."""
    for option in (
        click.option(
            "--alpha", type=float, default=0.05, show_default=True, help="How often a claim may be false."
        ),
        click.option(
            "--looks",
            metavar="N|anytime",
            help=f"How often it is looked at, fixed before: a number (default {_LOOKS}), or after every"
            " question ('anytime'; always for 'best' and for --claim set).",
        ),
        click.option(
            "--claim",
            type=click.Choice(("kind", "set")),
            default="kind",
            show_default=True,
            help="What is claimed: something of questions of this kind, or of this very set of them.",
        ),
        click.option(
            "--until",
            metavar="CLAIM",
            help="Judge only until it is decided, by -m MEASURE: 'A>B' (or the other way round), 'A within 0.02"
            " of B' (or apart), or 'best', with names of systems.",
        ),
    ):
        command = option(command)
    return command


def until_of(options: dict[str, Any], judges: tuple[str, ...]) -> Until | None:
    """Return what is to be decided, if anything; refuse what does not go with it before anybody is asked."""
    from rageval.comparison.until import BEST, Until
    from rageval.measures.base import Measure
    from rageval.measures.parsing import parse_measures

    words, looks, claim = options["until"], options["looks"], options["claim"]
    if words is None:
        return None
    measures = parse_measures(options["measures"])
    if len(measures) != 1 or not isinstance(measures[0], Measure):
        raise UsageError(
            f"--until decides by one measure of rageval's: expected -m MEASURE, found {len(measures)}"
        )
    for other in ("against", "disagreements"):
        if options[other] is not None:
            raise UsageError(f"--until ends early, and --{other} wants all: expected one of them")
    every = words.strip() == BEST or claim == "set"
    if looks not in (None, "anytime") and not (looks.isdecimal() and 1 <= int(looks) <= 20):
        raise UsageError(f"--looks {looks!r}: expected a number from 1 to 20, or 'anytime'")
    if every and looks not in (None, "anytime"):
        raise UsageError(
            f"--looks {looks}: {'best' if claim == 'kind' else '--claim set'} looks after every question"
        )
    number = None if every or looks == "anytime" else int(looks or _LOOKS)
    return Until(words, measures[0], claim, number, options["alpha"], options["seed"])


def judged_lines(
    until: Until,
    rubric: Rubric,
    material: Material,
    judges: tuple[str, ...],
    settings: Settings,
    pools: Pools | None,
    failed: Any,
    is_printed: bool,
) -> Iterator[str]:
    """Judge, yield the lines, and say the claim: on stdout, unless the lines go there."""
    from rageval.comparison.until import judged_until
    from rageval.files.judgements import judgement_line
    from rageval.judges.voting import GRADED

    rows, ledger, before = judged_until(
        until, judges, rubric, material, settings, pools=pools,
        say=lambda line: None if settings.quiet else click.echo(f"rageval: {line}", err=True),
    )  # fmt: skip
    failed.update(row["status"] for row in rows if row["status"] not in GRADED)
    yield from map(judgement_line, rows)
    claims = [ledger.sentence(), *(f"claimed before of the same: {said}" for said in before)]
    if is_printed:
        for line in claims:
            click.echo(f"rageval: {line}", err=True)
    else:
        print_lines(claims)


def pools_of(runs: tuple[str, ...], depth: int) -> Pools | None:
    """Return the first documents of each run by query; None where no run is judged."""
    from rageval.scoring.sources import read_run, run_name

    if not runs:
        return None
    return {run_name(path): {query: docs[:depth] for query, docs in read_run(path).ranked()} for path in runs}
