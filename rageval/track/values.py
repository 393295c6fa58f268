"""The values of a leaderboard, from what they rest on: runs and qrels, or answers and their judgements.

A track scores by it what was handed in, and `rageval board verify` what is in a bundle.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec

from rageval.core.turn import CONVERSATION
from rageval.errors import InputError, MissingJudgements, Place, UsageError
from rageval.files.jsonl import as_line, read_records
from rageval.files.judgements import GRADED
from rageval.files.scores import ALL, LeaderboardRow, write_leaderboard
from rageval.measures.parsing import parse_measures
from rageval.records import Answer, Qrel, Question
from rageval.scoring.answers import read_judgements, scored
from rageval.scoring.evaluation import Evaluator
from rageval.scoring.qrels import Qrels
from rageval.scoring.scores import Scores
from rageval.scoring.sources import read_qrels, source_of_run
from rageval.subjects import SubjectKind, kinds_of_measure
from rageval.table import COUNT, NUMBER, PRINTERS, Column, Table, or_none
from rageval.text import visible

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
_NAMED = 5  # runs or topics in a remark
_LARGEST_GRADE = 2**31
OnMissing = Literal["error", "skip", "worst", "best"]
_Say = Callable[[str], None]


class System(NamedTuple):
    """A system of a leaderboard: its name, the file it was handed in as, and where that lies now."""

    name: str
    file: str
    path: str


@dataclass(frozen=True, slots=True)
class ScoringInputs:
    """What the values of a leaderboard are computed from.

    `judged` are files of judgements, `qrels` existing judgements of documents, `topics` the ids of all topics
    (None if unknown), `conversations` those of topics that are turns. `answers` are given for answers only.
    `systems` are those of the leaderboard; without them, all judged systems.
    """

    measures: str
    kind: SubjectKind
    systems: Sequence[System]
    judged: Sequence[str] = ()
    answers: Iterable[Answer] = ()
    qrels: Any = None
    nuggets: Any = None
    topics: Collection[str] | None = None
    conversations: Mapping[str, str] = field(default_factory=dict)
    gold: Sequence[str] = ()
    gold_chosen: str = ""
    on_missing: OnMissing = "error"


def measures_of(text: str, kind: SubjectKind, what: str) -> list[Any]:
    """Return the measures, which must fit the submissions; `what` names the option that sets them."""
    measures = parse_measures(text)
    for measure in measures:
        others = kinds_of_measure(measure)
        # Before anything is judged or paid for.
        if kind not in others:
            nouns = " or ".join(other.noun for other in others)
            raise UsageError(f"{measure} scores {nouns}, which does not fit {what}")
    return measures


def values_of(inputs: ScoringInputs, say: _Say) -> list[Scores]:
    """Score every system."""
    if inputs.kind.standings is None:
        raise UsageError(f"a leaderboard of {inputs.kind.noun} is not available")
    return inputs.kind.standings(inputs, say)


def rows_of_scores(results: Iterable[Scores]) -> Iterator[LeaderboardRow]:
    """Yield our own scores as rows of a leaderboard: each topic's, and then `all`."""
    for scores in results:
        for score in scores.scores:
            for query, value in score.by_query.items():
                yield LeaderboardRow(scores.run, query, str(score.measure), value)
            yield LeaderboardRow(scores.run, ALL, str(score.measure), score.value)


def equal_runs(values: Iterable[LeaderboardRow]) -> list[list[str]]:
    """Return the runs that have the same value on every topic, by every measure, as groups."""
    by_run: dict[str, set[tuple[str, str, float | None]]] = {}
    for row in values:
        if row.query_id != ALL:
            place = row.measure, row.query_id, or_none(row.value)
            by_run.setdefault(row.run_id, set()).add(place)
    groups: dict[frozenset[Any], list[str]] = {}
    for run, of_run in by_run.items():
        groups.setdefault(frozenset(of_run), []).append(run)
    return [runs for runs in groups.values() if len(runs) > 1]


def value_lines(results: Iterable[Scores]) -> Iterator[str]:
    """Yield the values of every topic as lines."""
    return write_leaderboard(rows_of_scores(results), "jsonl")


def leaderboard_files(results: Sequence[Scores], rows: Sequence[Any]) -> dict[str, Iterator[str]]:
    """Return the lines of the files that a leaderboard is, by name; `rows` are its standings."""
    is_corrected = any(row.judged is not None for row in rows)
    columns = [*_COLUMNS, *(_JUDGED if is_corrected else ())]
    cells = ([getattr(row, _FIELDS.get(column.name, column.name)) for column in columns] for row in rows)
    return {
        # A value that is not defined, NaN, becomes null.
        STANDINGS: (as_line(row._asdict()) for row in rows),
        TABLE: PRINTERS["tsv"].table(Table(columns, cells)),
        VALUES: value_lines(results),
    }


def some_of(runs: Sequence[str]) -> str:
    """Return the first of some runs, and how many more there are, for a remark."""
    more = f" and {len(runs) - _NAMED:,} more runs" if len(runs) > _NAMED else ""
    return ", ".join(runs[:_NAMED]) + more


def conversations_of(questions: Mapping[str, Question] | None) -> dict[str, str]:
    """Return the conversation of each question that is a turn of one."""
    facts = {query: dict(question.facts) for query, question in (questions or {}).items()}
    return {query: of_query[CONVERSATION] for query, of_query in facts.items() if CONVERSATION in of_query}


def topic_records(inputs: ScoringInputs) -> Iterator[dict[str, str]]:
    """Yield what is known of each topic when answers are scored: its id, and its conversation."""
    for topic in inputs.topics or ():
        conversation = inputs.conversations.get(topic)
        yield {"query_id": topic} | ({CONVERSATION: conversation} if conversation is not None else {})


def score_answers(inputs: ScoringInputs, say: _Say) -> list[Scores]:
    """Score the systems whose answers were judged."""
    topics = inputs.topics
    if topics is not None and inputs.judged:
        judged = set(read_judgements(list(inputs.judged)).queries.words)
        unjudged = [topic for topic in topics if topic not in judged]
        if unjudged:
            shown = ", ".join(map(visible, unjudged[:_NAMED])) + ", …" * (len(unjudged) > _NAMED)
            remark = f"{len(unjudged):,} of {len(topics):,} topics are unjudged for every run ({shown})"
            # A topic that nobody judged would make of every run one that lacks it: said, if not refused.
            if inputs.on_missing == "error":
                raise MissingJudgements(f"{remark}; judge them, or use --on-missing skip")
            say(remark)
    # What scores need to know of an answer, with ids of documents as citations.
    answers: list[dict[str, Any]] = []
    for answer in inputs.answers:
        parts = [{"text": part.text, "citations": part.citations} for part in answer.sentences]
        failed = {"answer": None, "status": "error", "reason": answer.error}
        record: dict[str, Any] = {"query_id": answer.query_id, "run_id": answer.run_id}
        record |= failed if answer.error else {"answer": parts}
        answers.append(record | ({"repeat": answer.repeat} if answer.repeat else {}))
    results = scored(
        measures_of(inputs.measures, inputs.kind, "this"),
        list(inputs.judged),
        say,
        answers=answers,
        nuggets=inputs.nuggets,
        questions=None if topics is None else list(topic_records(inputs)),
        gold=list(inputs.gold) or None,
        gold_chosen=inputs.gold_chosen or None,
        on_missing=inputs.on_missing,
    )
    names = {system.name for system in inputs.systems}
    kept = [scores for run, scores in results.items() if run in names or not names]
    if not kept:
        shown = ", ".join(map(visible, list(results)[:3]))
        raise InputError(problem=f"the judgements are of {shown}, which are not among the submitted runs")
    return kept


def score_runs(inputs: ScoringInputs, say: _Say) -> list[Scores]:
    """Score the runs; one without any judged document has no scores."""
    if inputs.judged:
        rows = []
        for path in inputs.judged:
            for line, row in read_records(path, _GradedDocument, "judgements of documents"):
                # Not judged, that is; a grade of 0 would say that somebody looked.
                if row.status not in GRADED:
                    continue
                if row.grade is None or not row.grade.is_integer() or abs(row.grade) > _LARGEST_GRADE:
                    raise InputError(
                        at=Place(path, line), expected="a whole number as grade", found=f"{row.grade}"
                    )
                rows.append(Qrel(str(row.query_id), str(row.item_id), int(row.grade), str(row.aspect)))
        qrels: Any = Qrels.from_records(rows, ", ".join(Path(path).name for path in inputs.judged))
    else:
        qrels = read_qrels_once(inputs.qrels)
    judged = set(topics_of_qrels(qrels))
    evaluator = Evaluator(measures_of(inputs.measures, inputs.kind, "this"), qrels)
    results = []
    for system in inputs.systems:
        try:
            source = replace(source_of_run(system.name, system.path), conversations=inputs.conversations)
            results.append(evaluator.score(source))
        except InputError as error:
            # A run that can be read, and of which no judge judged anything: the others have their scores.
            say(f"{visible(system.file)} has no scores and no rank: {visible(str(error))}")
            lost = error
    if not results:
        raise lost
    counts = [(visible(scores.run), scores.notes.queries_missing) for scores in results if scores.notes]
    lacking = [f"{run} ({count:,})" for run, count in counts if count]
    if lacking:  # the leaderboard counts these for all runs
        say(f"topics that a run lacks count as 0: {some_of(lacking)}")
    topics = inputs.topics or ()
    if unjudged := [topic for topic in topics if topic not in judged]:
        say(f"{len(unjudged):,} of {len(topics):,} topics are unjudged; means are over the judged ones")
    return results


class _GradedDocument(msgspec.Struct):
    """A judgement of a document."""

    query_id: str | int
    item_id: str | int
    grade: float | None = None
    aspect: str | int = "0"
    status: str = "ok"


def read_qrels_once(source: Any) -> Any:
    """Return judgements of documents, of a file or a dataset."""
    return source if hasattr(source, "qrels_iter") else read_qrels(source)


def topics_of_qrels(qrels: Any) -> Iterator[str]:
    """Yield the topics of judgements of documents, a topic once a judgement."""
    return (row.query_id for row in (qrels.qrels_iter() if hasattr(qrels, "qrels_iter") else qrels))
