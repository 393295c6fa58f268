"""`rageval judge --until`: judging that ends when a claim is decided, and what it would take to."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from rageval import options as opt
from rageval.cli._output import print_lines
from rageval.errors import InputError, UsageError
from rageval.text import visible

if TYPE_CHECKING:
    from rageval.cli.judge import Options
    from rageval.comparison.next_documents import Pools
    from rageval.comparison.until import Until
    from rageval.judges.material import Material
    from rageval.judges.panel import Settings
    from rageval.judges.rubric import Rubric


@dataclass(frozen=True, kw_only=True)
class Claiming:
    """The options of all commands that may end when a claim is decided."""

    until: opt.Until | None = None
    claim: opt.Claimed = "kind"
    looks: opt.Looks | None = None
    alpha: opt.Alpha = 0.05


def wanted_of(options: Options) -> Until | None:
    """Return what is to be decided, if anything; refuse what does not go with it before anybody is asked."""
    from rageval.comparison.until import until_of
    from rageval.measures.parsing import parse_measures

    if options.until is None:
        if options.pilot is not None:
            raise UsageError("--pilot is for --until and --dry-run: expected them, too")
        return None
    for other, value in {"against": options.against, "disagreements": options.disagreements}.items():
        if value is not None:
            raise UsageError(f"--until ends early, and --{other} wants all: expected one of them")
    measures = parse_measures(options.measures)
    return until_of(options.until, measures, options.claim, options.looks, options.alpha, options.seed)


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
    from rageval.judges.votes import GRADED

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


def forecast_lines(
    until: Until, rubric: Rubric, material: Material, pools: Pools | None, pilot: str | None
) -> Iterator[str]:
    """Yield how many calls each rule would need."""
    from rageval.comparison.until import expected
    from rageval.table import drawn

    values = None
    if pilot is not None:
        values = _values(until, pilot) if pools is None else _values_of_runs(until, pilot, pools)
    table = expected(until, rubric, material, pools, values)
    yield ""
    yield "Simulated share of the calls that each rule makes, and how often it decides:"
    yield ""
    yield from drawn(table)


def _values(until: Until, pilot: str) -> dict[str, list[float]]:
    """Return each system's values of the questions that all of them have, by the measure."""
    from rageval.scoring.answers import scored

    found = scored([until.measure], pilot, on_missing="skip")
    return _shared({run: scores.scores[0].by_query for run, scores in found.items()}, pilot)


def _values_of_runs(until: Until, pilot: str, pools: Pools) -> dict[str, list[float]]:
    """Return each run's values of the questions whose documents were judged before."""
    from rageval.scoring.evaluation import evaluate
    from rageval.scoring.sources import read_qrels

    found = {}
    qrels = read_qrels(pilot)
    for run, ranked in pools.items():
        scored = {query: {doc: -float(at) for at, doc in enumerate(docs)} for query, docs in ranked.items()}
        scores = evaluate([until.measure], scored, qrels, nothing_judged="zero", intersection=True)
        found[run] = scores.scores[0].by_query
    return _shared(found, pilot)


def _shared(by_query: dict[str, dict[str, float]], pilot: str) -> dict[str, list[float]]:
    shared = [
        q
        for q in next(iter(by_query.values()))
        if all(v.get(q, math.nan) == v.get(q) for v in by_query.values())
    ]
    if len(by_query) < 2 or not shared:
        raise InputError(
            f"--pilot {visible(pilot)}: expected values of two systems or more on the same questions"
        )
    return {run: [values[query] for query in shared] for run, values in by_query.items()}


def pools_of(runs: tuple[str, ...], depth: int) -> Pools | None:
    """Return the first documents of each run by query; None where no run is judged."""
    from rageval.scoring.sources import read_run, run_name

    if not runs:
        return None
    return {run_name(path): {query: docs[:depth] for query, docs in read_run(path).ranked()} for path in runs}
