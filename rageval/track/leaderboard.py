"""A leaderboard: where runs stand by each measure, the values of every topic, and the bundle of both."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, get_type_hints

import msgspec

from rageval.comparison.leaderboards import Standing, intervals_of_standings, standings
from rageval.errors import InputError, Place
from rageval.files.answers import read_answers
from rageval.files.jsonl import Count, read_records
from rageval.files.whole import digest_of, open_regular
from rageval.files.writing import write_lines
from rageval.text import visible
from rageval.track.bundle import Board, Mode, given_away, write_bundle
from rageval.track.plan import ANSWERS_FILE, TrackPlan, questions_of, source_of
from rageval.track.submissions import Submission, answers_of
from rageval.track.values import (
    STANDINGS,
    ScoringInputs,
    System,
    conversations_of,
    equal_runs,
    leaderboard_files,
    measures_of,
    read_qrels_once,
    rows_of_scores,
    some_of,
    topics_of_qrels,
    values_of,
)

ARCHIVE = "board.tar.gz"
# What is known where no citation was named.
_CITATION = """\
cff-version: 1.2.0
message: If you use these runs, judgements or scores, please cite them.
title: {}
type: dataset
authors:
  - name: "The organizers"
"""
_Say = Callable[[str], None]


def parsed(plan: TrackPlan) -> list[Any]:
    """Return the measures, which must fit the kind of the submissions."""
    return measures_of(plan.measures, plan.kind, f"--track {plan.track}")


def score(plan: TrackPlan, submissions: Sequence[Submission], judged: Iterable[str], say: _Say) -> list[str]:
    """Score every run, and write the standings."""
    notices: list[str] = []
    inputs = replace(
        _inputs(plan, submissions, judged),
        answers=() if plan.is_of_runs else answers_of(plan, submissions),
        qrels=source_of(plan, "qrels"),
        nuggets=source_of(plan, "nuggets"),
        gold=list(map(str, plan.gold)),
        gold_chosen=plan.gold_chosen,
    )
    results = values_of(inputs, notices.append)
    rows = standings(results)
    files = leaderboard_files(results, rows)
    for name, lines in files.items():
        write_lines(plan.out / name, lines)
    for row in rows:
        if row.why:
            lacking = "no corrected mean: " * (row.value != row.value)
            notices.append(f"{visible(row.run)}: {row.measure}: {lacking}{row.why}")
    notices += [
        f"the same value on every topic: {some_of(list(map(visible, runs)))}"
        for runs in equal_runs(rows_of_scores(results))
    ]
    for remark in [f"{len(results):,} runs by {', '.join(map(str, results[0]))}", *notices]:
        say(f"score: {remark}")
    return list(files)


def write_archive(
    plan: TrackPlan, submissions: Sequence[Submission], judged: Iterable[str], files: Sequence[str], say: _Say
) -> list[str]:
    """Write everything that others need to recompute the leaderboard, as a bundle."""
    for submission in submissions:
        try:
            with open_regular(plan.folder / submission.file) as handed_in:
                sha256 = hashlib.file_digest(handed_in, "sha256").hexdigest()
        except OSError as error:
            raise InputError(
                at=Place(visible(submission.file)), problem=f"cannot be read: {error.strerror or error}"
            ) from None
        # What is published has to be what was validated.
        if sha256 != submission.sha256:
            raise InputError(
                at=Place(visible(submission.file)),
                problem="changed after it was validated",
                remedy="run the command again",
            )
    chosen = next((str(plan.out / name) for name in files if name.startswith("labels/chosen")), "")
    inputs = replace(
        _inputs(plan, submissions, judged),
        gold=[str(plan.out / name) for name in files if name.startswith("labels/gold-")],
        gold_chosen=chosen or plan.gold_chosen,
    )
    rows = list(read_standings(plan.out / STANDINGS))
    signatures = dict.fromkeys(row.signature for row in rows)
    # A title in quotes is JSON, which YAML reads.
    citation = _CITATION.format(json.dumps(visible(plan.heading), ensure_ascii=False))
    board = Board(
        plan.heading,
        plan.track,
        {name: source_of(plan, name) for name in ("qrels", "nuggets", "topics", "passages")},
        intervals_of_standings(rows),
        answers=[plan.out / ANSWERS_FILE] if plan.is_of_tables else [],
        rubrics=plan.rubrics,
        contents={
            **{name: plan.out / name for name in files},
            "signatures.txt": "".join(f"{line}\n" for line in signatures).encode(),
            "CITATION.cff": plan.citation if plan.citation is not None else citation.encode(),
        },
    )
    for line in given_away(inputs, board, plan.bundle):
        say(f"archive: {line}")
    write_bundle(plan.out / ARCHIVE, inputs, board, plan.bundle)
    return [ARCHIVE]


def _inputs(plan: TrackPlan, submissions: Sequence[Submission], judged: Iterable[str]) -> ScoringInputs:
    topics = questions_of(plan)
    return ScoringInputs(
        plan.measures,
        plan.kind,
        [
            System(submission.run, submission.file, str(plan.folder / submission.file))
            for submission in submissions
        ],
        judged=[str(plan.out / name) for name in judged],
        topics=None if topics is None else list(topics),
        conversations=conversations_of(topics),
        on_missing=plan.on_missing,
    )


def bundled(path: Path, inputs: ScoringInputs, board: Board, mode: Mode, say: _Say) -> str:
    """Score, and write a bundle of everything the leaderboard is computed from; return its SHA-256."""
    # In an order of their own, so that it does not matter in which they were given.
    inputs = replace(
        inputs, systems=sorted(inputs.systems), judged=_in_order(inputs.judged), gold=_in_order(inputs.gold)
    )
    board = replace(board, answers=_in_order(board.answers), rubrics=sorted(board.rubrics))
    for line in given_away(inputs, board, mode):
        say(line)
    # What is iterated once is scored by, and then packed.
    answers = [answer for source in board.answers for answer in read_answers(str(source))]
    results = values_of(replace(inputs, answers=answers), say)
    if not inputs.systems:
        inputs = replace(inputs, systems=[System(scores.run, "", "") for scores in results])
    rows = standings(results)
    files = leaderboard_files(results, rows)
    content = {name: "".join(f"{line}\n" for line in lines).encode() for name, lines in files.items()}
    return write_bundle(
        path, inputs, replace(board, intervals=intervals_of_standings(rows), contents=content), mode
    )


def _in_order(files: Iterable[str | Path]) -> list[str]:
    """Return files by their names, and those of one name by what they hold."""
    return sorted(map(str, files), key=lambda file: (Path(file).name, digest_of(file, "a file of a bundle")))


def judged_topics(plan: TrackPlan) -> Iterator[str]:
    """Yield the topics of the qrels."""
    return topics_of_qrels(read_qrels_once(source_of(plan, "qrels")))


def read_standings(path: Path) -> list[Standing]:
    """Return where runs stand, as it was written."""
    rows = []
    for _, row in read_records(str(path), _StandingLine, "where a run stands"):
        fields = msgspec.structs.asdict(row)
        numbers = {name: math.nan for name in _UNDEFINED if fields[name] is None}
        rows.append(Standing(**{**fields, **numbers}))
    return rows


_UNDEFINED = ("value", "low", "high")  # are null where they are not defined
_COUNTS: dict[Any, Any] = {int: Count, int | None: Count | None}
_StandingLine = msgspec.defstruct(
    "_StandingLine",
    [
        (
            name,
            float | None if name in _UNDEFINED else _COUNTS.get(kind, kind),
            Standing._field_defaults.get(name, msgspec.NODEFAULT),
        )
        for name, kind in get_type_hints(Standing).items()
    ],
)
