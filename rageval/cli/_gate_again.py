"""A judge asked again about answers that did not change: how often it says something else, at what cost."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from random import Random
from typing import TYPE_CHECKING, Any

from rageval.errors import UsageError
from rageval.text import visible

if TYPE_CHECKING:
    from rageval.comparison.gate_results import GateReport, GateSide


def judged_again(side: GateSide, report: GateReport, options: dict[str, Any]) -> list[str]:
    """Return what should be said of a judge that is asked about some of the candidate's answers once more."""
    for name in ("judge", "rubric", "answers"):
        if not options[name]:
            raise UsageError(f"--aa asks the judge again: expected --{name}, too")
    queries = sorted(side.same)
    picked = Random(options["seed"]).sample(queries, min(options["aa"], len(queries)))
    scores = _again(side.scores.run, set(picked), [str(name) for name in side.scores], options)
    return [
        _said(name, side.scores[name].by_query, scores[name].by_query, picked, report) for name in side.scores
    ]


def _again(run: str, picked: set[str], measures: Sequence[str], options: dict[str, Any]) -> Any:
    """Judge the answers with a store of their own, so that no stored reply is replaced."""
    from tempfile import TemporaryDirectory

    from rageval.files.answers import read_answers, write_answers
    from rageval.verbs import judge

    answers = [
        answer
        for source in options["answers"]
        for answer in read_answers(source)
        if answer.run_id == run and answer.query_id in picked
    ]
    if not answers:
        raise UsageError(f"--aa: --answers holds none of {visible(run)}'s answers that were judged")
    rows = [json.loads(line) for line in write_answers(answers, "plain")]
    with TemporaryDirectory() as folder:
        judged = judge(
            options["rubric"],
            rows,
            options["judge"],
            questions=options["questions"],
            nuggets=options["nuggets"],
            store=f"{folder}/store.sqlite",
            quiet=True,
        )
        return judged.score(measures, on_missing="skip")[run]


def _said(
    name: str, before: dict[str, float], now: dict[str, float], picked: Sequence[str], report: GateReport
) -> str:
    both = [(before[q], now[q]) for q in picked if q in now and now[q] == now[q] and before[q] == before[q]]
    if not both:
        return f"A/A: {name}: nothing was judged again"
    flips = sum(abs(one - other) > 1e-12 for one, other in both)
    share = f"{flips:,} of {len(both):,} unchanged answers are judged otherwise ({flips / len(both):.0%})"
    said = f"A/A: {name}: {share}"
    noise = math.fsum((one - other) ** 2 for one, other in both) / (2 * len(both))
    decision = next(each for each in report.overall if each.measure == name)
    spread = decision.questions * ((decision.high - decision.low) / 2 / 1.645) ** 2
    if not noise or not spread:
        return said
    lost = min(2 * noise / spread, 1.0) * decision.questions
    return f"{said}; that costs up to {lost:,.0f} of {decision.questions:,} questions"
