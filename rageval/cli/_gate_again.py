"""A judge asked again about answers that did not change: how often it says something else, at what cost."""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Sequence, Set
from typing import TYPE_CHECKING, Any

from rageval.errors import UsageError
from rageval.text import visible

if TYPE_CHECKING:
    from rageval.cli._inputs import Inputs
    from rageval.cli.gate import Options
    from rageval.comparison.gate import GateReport, GateSide

_FROZEN = "frozen"  # judgements of a file, in place of a model


def refuse_unasked(options: Options, inputs: Inputs) -> None:
    """Refuse to ask a judge again that nobody named, or about what was not judged."""
    if not inputs.answers:
        raise UsageError("--aa is about judged answers; leave it out for runs")
    if _FROZEN in map(_named, options.judge):
        raise UsageError(
            "--aa: judgements of a file are the same each time, so that nothing is measured; expected a"
            " --judge that is asked, or no --aa"
        )
    for name, value in {"rubric": options.rubric, "answers": options.answers}.items():
        if not value:
            raise UsageError(f"--aa asks the judge again: expected --{name}, too")


def refuse_other_judge(judges: Set[str], rubrics: Set[str], options: Options) -> None:
    """Refuse judgements by anybody else than the judges that are named; --aa needs one that is."""
    found = ", ".join(sorted(map(visible, judges))) or "nobody that is named"
    if options.aa and not options.judge:
        from shlex import quote

        words = [f"--judge {quote(visible(_without_version(each)))}" for each in sorted(judges)]
        words += [f"--rubric {quote(visible(_without_version(each)))}" for each in sorted(rubrics)]
        raise UsageError(
            f"--aa asks the judge again, and none is named: expected --judge, too; the answers were judged by"
            f" {found}: say {' '.join(words)}, with the address if it is a server of your own"
        )
    named = set(map(_named, options.judge))
    others = {each for each in judges if not {each, _without_version(each)} & named}
    # A file of judgements speaks for whoever judged it.
    if options.judge and others and _FROZEN not in named:
        raise UsageError(
            f"--judge {', '.join(map(visible, options.judge))}: the candidate was judged by {found};"
            " expected judgements by the judge that is named, or another --judge"
        )


def _named(spec: str) -> str:
    """Return what a judge is called in judgements: without its address.

    >>> _named("openai:m@http://127.0.0.1:8000/v1"), _named("frozen:judged.jsonl")
    ('openai:m', 'frozen')
    """
    return _FROZEN if spec.startswith(f"{_FROZEN}:") else spec.partition("@http")[0]


def _without_version(name: str) -> str:
    """Return the name of a judge or a rubric without the version behind it.

    >>> _without_version("openai:m@1234abcd+unfenced"), _without_version("contains")
    ('openai:m', 'contains')
    """
    return name.rpartition("@")[0] or name


def judged_again(side: GateSide, report: GateReport, options: Options) -> list[str]:
    """Return what should be said of a judge that is asked about some of the candidate's answers once more."""
    from random import Random

    queries = sorted(side.same)
    picked = Random(options.seed).sample(queries, min(options.aa or 0, len(queries)))
    scores = _again(side.scores.run, set(picked), [str(name) for name in side.scores], options)
    return [
        _said(name, side.scores[name].by_query, scores[name].by_query, picked, report) for name in side.scores
    ]


def _again(run: str, picked: set[str], measures: Sequence[str], options: Options) -> Any:
    """Judge the answers as a repetition, whose replies stand in the store beside those of the first time."""
    from rageval.files.answers import read_answers, write_answers
    from rageval.verbs import judge

    answers = [
        answer
        for source in options.answers
        for answer in read_answers(source)
        if answer.run_id == run and answer.query_id in picked
    ]
    if not answers:
        raise UsageError(f"--aa: --answers holds none of {visible(run)}'s answers that were judged")
    rows = [json.loads(line) for line in write_answers(answers, "plain")]
    with warnings.catch_warnings():
        # That not all questions are judged again is meant.
        warnings.simplefilter("ignore", UserWarning)
        judged = judge(
            options.rubric or "",
            rows,
            options.judge,
            questions=options.questions,
            nuggets=options.nuggets,
            store=options.store,
            max_cost=options.max_cost,
            max_calls=options.max_calls,
            price=options.price,
            repetition=1,
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
