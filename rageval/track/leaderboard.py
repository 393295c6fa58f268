"""The leaderboard of a track: where runs stand by each measure, and the values of every topic."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from rageval.comparison.leaderboards import Standing, rows_of_scores, standings
from rageval.errors import InputError, MissingJudgements, UsageError
from rageval.files.jsonl import as_line, read_records
from rageval.files.judgements import GRADED
from rageval.files.scores import write_leaderboard
from rageval.files.writing import write_lines
from rageval.measures.base import Measure
from rageval.measures.parsing import parse_measures
from rageval.records import Qrel
from rageval.scoring.scores import Scores
from rageval.table import COUNT, NUMBER, PRINTERS, Column, Table
from rageval.text import visible
from rageval.track.plan import TrackPlan, questions_of, source_of
from rageval.track.submissions import Submission, answers_of, some_of

STANDINGS, TABLE, VALUES = "leaderboard.jsonl", "leaderboard.tsv", "scores.jsonl"
_COLUMNS = (
    Column("measure"),
    *(Column(name, COUNT, none="-") for name in ("rank", "from", "to")),
    Column("run"),
    *(Column(name, NUMBER, nan="-") for name in ("value", "low", "high")),
    Column("queries", COUNT),
)
# What people's labels correct, and how many there are.
_JUDGED = (Column("judged", NUMBER, nan="-", none="-"), Column("labels", COUNT, none="-"))
_FIELDS = {"from": "rank_low", "to": "rank_high"}  # of a standing, where its column is called otherwise
_NAMED = 5  # runs in a remark


def parsed(plan: TrackPlan) -> list[Any]:
    """Return the measures, which must be of what was handed in."""
    found = parse_measures(plan.measures)
    for measure in found:
        of_answers = isinstance(measure, Measure) and measure.of_answers
        # Before anything is judged or paid for.
        if of_answers == plan.is_of_runs:
            what = "judged answers" if of_answers else "runs"
            raise UsageError(f"{measure} scores {what}, and --track {plan.track} is of the other")
    return found


def score(
    plan: TrackPlan, submissions: Sequence[Submission], judged: dict[str, str], say: Callable[[str], None]
) -> list[str]:
    """Score every run, and write where they stand."""
    files = [plan.out / name for name in judged]
    said: list[str] = []
    results = (_of_runs if plan.is_of_runs else _of_answers)(plan, submissions, files, said.append)
    rows = standings(results)
    # A value that is not defined, NaN, becomes null.
    write_lines(plan.out / STANDINGS, (as_line(row._asdict()) for row in rows))
    columns = [*_COLUMNS, *(_JUDGED if plan.gold else ())]
    cells = ([getattr(row, _FIELDS.get(each.name, each.name)) for each in columns] for row in rows)
    write_lines(plan.out / TABLE, PRINTERS["tsv"].table(Table(columns, cells)))
    write_lines(plan.out / VALUES, write_leaderboard(rows_of_scores(results), "jsonl"))
    said += [f"{visible(row.run)}: {row.measure}: {'no corrected mean: ' * (row.value != row.value)}{row.why}"
             for row in rows if row.why]  # fmt: skip
    for remark in [f"{len(results):,} runs by {', '.join(map(str, results[0]))}", *said]:
        say(f"score: {remark}")
    return [STANDINGS, TABLE, VALUES]


def _of_answers(
    plan: TrackPlan, submissions: Sequence[Submission], files: Sequence[Path], say: Callable[[str], None]
) -> list[Scores]:
    from rageval.scoring.answers import scored

    topics = questions_of(plan)
    if topics is not None and files:
        said = (row for path in files for _, row in read_records(str(path), dict[str, Any], "judgements"))
        judged = {str(row.get("query_id")) for row in said}
        unjudged = [topic for topic in topics if topic not in judged]
        if unjudged:
            shown = ", ".join(map(visible, unjudged[:_NAMED])) + ", …" * (len(unjudged) > _NAMED)
            remark = f"{len(unjudged):,} of {len(topics):,} topics are unjudged for every run ({shown})"
            # A topic that nobody judged would make of every run one that lacks it: said, if not refused.
            if plan.on_missing == "error":
                raise MissingJudgements(f"{remark}; judge them, or say --on-missing skip")
            say(remark)
    # What scores need to know of an answer, with ids of documents as citations.
    answers: list[dict[str, Any]] = []
    for each in answers_of(plan, submissions):
        parts = [{"text": part.text, "citations": part.citations} for part in each.sentences]
        failed = {"answer": None, "status": "error", "reason": each.error}
        record: dict[str, Any] = {"query_id": each.query_id, "run_id": each.run_id}
        record |= failed if each.error else {"answer": parts}
        answers.append(record | ({"repeat": each.repeat} if each.repeat else {}))
    found = scored(
        parsed(plan),
        list(map(str, files)),
        say,
        answers=answers,
        nuggets=source_of(plan, "nuggets"),
        questions=None if topics is None else [{"query_id": topic} for topic in topics],
        gold=[str(path) for path in plan.gold] or None,
        gold_chosen=plan.gold_chosen or None,
        on_missing=plan.on_missing,
    )
    known = {submission.run for submission in submissions}
    kept = [scores for run, scores in found.items() if run in known]
    if not kept:
        shown = ", ".join(map(visible, list(found)[:3]))
        raise InputError(f"the judgements are of {shown}, which are no runs that were handed in")
    return kept


def _of_runs(
    plan: TrackPlan, submissions: Sequence[Submission], files: Sequence[Path], say: Callable[[str], None]
) -> list[Scores]:
    from rageval.scoring.evaluation import Evaluator
    from rageval.scoring.qrels import Qrels
    from rageval.scoring.sources import source_of_run

    if files:
        rows = []
        for path in files:
            for line, row in read_records(str(path), dict[str, Any], "judgements of documents"):
                # Not judged, that is; a grade of 0 would say that somebody looked.
                if row.get("status", "ok") not in GRADED:
                    continue
                grade = row.get("grade")
                if not isinstance(grade, int | float) or not float(grade).is_integer():
                    raise InputError(f"{path}:{line}: expected a whole number as grade, found {grade!s:.40}")
                place = str(row["query_id"]), str(row["item_id"])
                rows.append(Qrel(*place, int(grade), str(row.get("aspect", "0"))))
        judged = {row.query_id for row in rows}
        qrels: Any = Qrels.from_records(rows, ", ".join(path.name for path in files))
    else:
        qrels, judged = _qrels(plan), set(judged_topics(plan))
    evaluator = Evaluator(parsed(plan), qrels)
    results = []
    for each in submissions:
        try:
            results.append(evaluator.score(source_of_run(each.run, str(plan.folder / each.file))))
        except InputError as error:
            # A run that can be read, and of which no judge judged anything: the others have their scores.
            say(f"{visible(each.file)} has no scores and no rank: {visible(str(error))}")
            lost = error
    if not results:
        raise lost
    counts = [(visible(scores.run), scores.notes.queries_missing) for scores in results if scores.notes]
    lacking = [f"{run} ({count:,})" for run, count in counts if count]
    if lacking:  # the leaderboard counts these for all runs
        say(f"topics that a run lacks count as 0: {some_of(lacking)}")
    topics = questions_of(plan) or {}
    if unjudged := [topic for topic in topics if topic not in judged]:
        say(f"{len(unjudged):,} of {len(topics):,} topics are unjudged; means are over the judged ones")
    return results


def _qrels(plan: TrackPlan) -> Any:
    from rageval.scoring.sources import read_qrels

    source = source_of(plan, "qrels")
    return source if hasattr(source, "qrels_iter") else read_qrels(source)


def judged_topics(plan: TrackPlan) -> Iterator[str]:
    """Yield the topics of the qrels."""
    qrels = _qrels(plan)
    rows = qrels.qrels_iter() if hasattr(qrels, "qrels_iter") else qrels
    return (row.query_id for row in rows)


def read_standings(path: Path) -> list[Standing]:
    """Return where runs stand, as it was written."""
    found = []
    for line in path.read_bytes().splitlines():
        row: dict[str, Any] = json.loads(line)
        numbers: dict[str, Any] = {name: math.nan for name in ("value", "low", "high") if row[name] is None}
        found.append(Standing(**{**row, **numbers}))
    return found
