"""The leaderboard of a track: where runs stand by each measure, and the values of every topic."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rageval.comparison.leaderboards import HOW, Standing, standings
from rageval.files.answers import read_answers
from rageval.files.writing import write_lines
from rageval.text import visible
from rageval.track.bundle import Board, Mode, given_away, write_bundle
from rageval.track.plan import TrackPlan, questions_of, source_of
from rageval.track.submissions import Submission, answers_of
from rageval.track.values import (
    ScoringInputs,
    System,
    leaderboard_files,
    measures_of,
    read_qrels_once,
    topics_of_qrels,
    values_of,
)


def parsed(plan: TrackPlan) -> list[Any]:
    """Return the measures, which must fit the kind of the submissions."""
    return measures_of(plan.measures, plan.is_of_runs, f"--track {plan.track}")


def score(
    plan: TrackPlan, submissions: Sequence[Submission], judged: dict[str, str], say: Callable[[str], None]
) -> list[str]:
    """Score every run, and write the standings."""
    said: list[str] = []
    topics = questions_of(plan)
    inputs = ScoringInputs(
        plan.measures,
        plan.is_of_runs,
        [System(each.run, each.file, str(plan.folder / each.file)) for each in submissions],
        judged=[str(plan.out / name) for name in judged],
        answers=() if plan.is_of_runs else answers_of(plan, submissions),
        qrels=source_of(plan, "qrels"),
        nuggets=source_of(plan, "nuggets"),
        topics=None if topics is None else list(topics),
        gold=list(map(str, plan.gold)),
        gold_chosen=plan.gold_chosen,
        on_missing=plan.on_missing,
    )
    results = values_of(inputs, said.append)
    rows = standings(results)
    files = leaderboard_files(results, rows)
    for name, lines in files.items():
        write_lines(plan.out / name, lines)
    said += [f"{visible(row.run)}: {row.measure}: {'no corrected mean: ' * (row.value != row.value)}{row.why}"
             for row in rows if row.why]  # fmt: skip
    for remark in [f"{len(results):,} runs by {', '.join(map(str, results[0]))}", *said]:
        say(f"score: {remark}")
    return list(files)


def bundled(path: Path, inputs: ScoringInputs, board: Board, mode: Mode, say: Callable[[str], None]) -> str:
    """Score, and write a bundle of everything the leaderboard is computed from; return its SHA-256."""
    for line in given_away(inputs, board, mode):
        say(line)
    # What is iterated once is scored by, and then packed.
    answers = [answer for source in board.answers for answer in read_answers(str(source))]
    results = values_of(replace(inputs, answers=answers), say)
    if not inputs.systems:
        inputs = replace(inputs, systems=[System(scores.run, "", "") for scores in results])
    files = leaderboard_files(results, standings(results))
    content = {name: "".join(f"{line}\n" for line in lines).encode() for name, lines in files.items()}
    return write_bundle(path, inputs, replace(board, intervals=HOW, contents=content), mode)


def judged_topics(plan: TrackPlan) -> Iterator[str]:
    """Yield the topics of the qrels."""
    return topics_of_qrels(read_qrels_once(source_of(plan, "qrels")))


def read_standings(path: Path) -> list[Standing]:
    """Return where runs stand, as it was written."""
    found = []
    for line in path.read_bytes().splitlines():
        row: dict[str, Any] = json.loads(line)
        numbers: dict[str, Any] = {name: math.nan for name in ("value", "low", "high") if row[name] is None}
        found.append(Standing(**{**row, **numbers}))
    return found
