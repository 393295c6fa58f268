"""The leaderboard of a track: where runs stand by each measure, and the values of every topic."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rageval.comparison.leaderboards import Standing, rows_of_scores, standings
from rageval.errors import InputError, UsageError
from rageval.files.jsonl import as_line, read_records
from rageval.files.leaderboards import LeaderboardRow, read_leaderboard, write_leaderboard
from rageval.files.writing import write_lines
from rageval.measures.base import Measure
from rageval.measures.parsing import parse_measures
from rageval.records import Qrel
from rageval.scoring.scores import Scores
from rageval.text import visible
from rageval.track._ledger import source_of
from rageval.track._submissions import Submission

if TYPE_CHECKING:
    from rageval.scoring.evaluation import Evaluator
    from rageval.track.organising import TrackPlan

STANDINGS, TABLE, VALUES = "leaderboard.jsonl", "leaderboard.tsv", "scores.jsonl"
_FINE = ("ok", "repaired")
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
    results = (_of_runs if plan.is_of_runs else _of_answers)(plan, submissions, files)
    rows = standings(results)
    write_lines(plan.out / STANDINGS, (as_line(_plain(row)) for row in rows))
    write_lines(plan.out / TABLE, _table(rows))
    write_lines(plan.out / VALUES, write_leaderboard(rows_of_scores(results), "jsonl"))
    say(f"score: {len(results):,} runs by {', '.join(map(str, results[0]))}")
    if lacking := _lacking(results):
        say(f"score: topics that a run lacks count as 0: {lacking}")
    return [STANDINGS, TABLE, VALUES]


def _lacking(results: Sequence[Scores]) -> str:
    """Return which runs lack judged topics, and how many: the leaderboard counts these for all runs."""
    counts = [(visible(scores.run), scores.notes.queries_missing) for scores in results if scores.notes]
    found = [f"{run} ({count:,})" for run, count in counts if count]
    more = f" and {len(found) - _NAMED:,} more runs" if len(found) > _NAMED else ""
    return ", ".join(found[:_NAMED]) + more


def _of_answers(plan: TrackPlan, submissions: Sequence[Submission], files: Sequence[Path]) -> list[Scores]:
    from rageval.scoring.answers import evaluate_answers

    answers = [str(plan.folder / each.file) for each in submissions]
    found = evaluate_answers(
        parsed(plan),
        list(map(str, files)),
        answers=answers,
        nuggets=source_of(plan, "nuggets"),
        on_missing=plan.on_missing,
    )
    known = {each.run for each in submissions}
    # Judgements made elsewhere may be of systems that did not hand in.
    kept = [scores for run, scores in found.items() if run in known]
    if not kept:
        shown = ", ".join(map(visible, list(found)[:3]))
        raise InputError(f"the judgements are of {shown}, which are no runs that were handed in")
    return kept


def _of_runs(plan: TrackPlan, submissions: Sequence[Submission], files: Sequence[Path]) -> list[Scores]:
    from rageval.scoring.evaluation import Evaluator
    from rageval.scoring.qrels import Qrels
    from rageval.scoring.sources import read_qrels

    if files:
        qrels: Any = Qrels.from_records(_judged(files), ", ".join(path.name for path in files))
    else:
        source = source_of(plan, "qrels")
        qrels = source if hasattr(source, "qrels_iter") else read_qrels(source)
    evaluator = Evaluator(parsed(plan), qrels)
    return [_scores_of(each, evaluator, plan) for each in submissions]


def _scores_of(one: Submission, evaluator: Evaluator, plan: TrackPlan) -> Scores:
    from rageval.scoring.sources import source_of_run

    try:
        return evaluator.evaluate(source_of_run(one.run, str(plan.folder / one.file)))
    except InputError as error:
        known = "" if plan.topics else ", or name --topics FILE, by which a run of other topics is not valid"
        raise InputError(f"{error}; take {visible(one.file)} out of the folder{known}") from error


def _judged(files: Sequence[Path]) -> Iterator[Qrel]:
    """Yield judgements of documents; one that failed is missing."""
    for path in files:
        for line, row in read_records(str(path), dict[str, Any], "judgements of documents"):
            # Not judged, that is; a grade of 0 would say that somebody looked.
            if row.get("status", "ok") not in _FINE:
                continue
            grade = row.get("grade")
            if not isinstance(grade, int | float) or not float(grade).is_integer():
                raise InputError(f"{path}:{line}: expected a whole number as grade, found {grade!s:.40}")
            yield Qrel(str(row["query_id"]), str(row["item_id"]), int(grade), str(row.get("aspect", "0")))


def _plain(row: Standing) -> dict[str, Any]:
    found = row._asdict()
    return {
        name: None if isinstance(value, float) and math.isnan(value) else value
        for name, value in found.items()
    }


def read_standings(path: Path) -> list[Standing]:
    """Return where runs stand, as it was written."""
    found = []
    for line in path.read_bytes().splitlines():
        row: dict[str, Any] = json.loads(line)
        numbers: dict[str, Any] = {name: math.nan for name in ("value", "low", "high") if row[name] is None}
        found.append(Standing(**{**row, **numbers}))
    return found


def read_values(path: Path) -> list[LeaderboardRow]:
    """Return the values of every run, topic and measure."""
    return read_leaderboard(path)


HEAD = ("measure", "rank", "from", "to", "run", "value", "low", "high", "queries")


def cells(row: Standing, places: int = 4) -> list[str]:
    """Return a row of the leaderboard as texts."""
    ranks = ("-" if rank is None else str(rank) for rank in (row.rank, row.rank_low, row.rank_high))
    numbers = ("-" if value != value else f"{value:.{places}f}" for value in (row.value, row.low, row.high))
    return [row.measure, *ranks, row.run, *numbers, str(row.queries)]


def _table(rows: Sequence[Standing]) -> Iterator[str]:
    yield "\t".join(HEAD)
    for row in rows:
        yield "\t".join(map(visible, cells(row)))
