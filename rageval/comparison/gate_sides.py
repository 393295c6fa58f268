"""The two sides of a gate: a run or judged answers that were scored, and a baseline as a file keeps it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from rageval.comparison.gate_results import GateSide
from rageval.errors import MissingJudgements, UsageError
from rageval.files.judgements import STOPPED
from rageval.files.scores import Baseline, BaselineHeader, BaselineLine
from rageval.scoring.answers import without_value
from rageval.scoring.assessments import MOST_MISSING
from rageval.scoring.gold import People, why_lost
from rageval.scoring.scores import ADAPTIVELY, Score, Scores
from rageval.scoring.subject import Subject
from rageval.text import visible
from rageval.version import __version__

Facts = Mapping[str, Mapping[str, str]]  # question -> field -> value


def chosen_system(results: Sequence[Scores], system: str | None) -> Scores:
    """Return the scores of the system that is gated: the only one, or the one that is named."""
    names = [scores.run for scores in results]
    wanted = names[0] if system is None and len(names) == 1 else system
    if wanted not in names:
        known = ", ".join(map(visible, names))
        raise UsageError(f"expected one system, the candidate, found {known}; say --system RUN_ID")
    return results[names.index(wanted)]


def side_of(subject: Subject, scores: Scores, facts: Facts | None = None, known: str = "") -> GateSide:
    """Return a system as one side; `known` is the hash of the file of the questions."""
    if scores.adaptive:
        what = "; ".join(map(visible, scores.adaptive))
        raise UsageError(
            f"{ADAPTIVELY}; nothing is gated either: {what}; judge a pool that was fixed before, or see what"
            " bounds say (rageval compare)"
        )
    if scores.stopped:
        claims = "; ".join(map(visible, scores.stopped))
        raise UsageError(f"{STOPPED}, and nothing is gated: {claims}; judge all questions (without --until)")
    held = subject.held(scores)
    people = [score.people for score in scores.scores if score.people is not None]
    said_by = {judge for score in scores.scores for judge in score.said_by}
    header = BaselineHeader(
        measures={str(score.measure): score.signature for score in scores.scores},
        questions=len(scores.scores[0].query_ids),
        run=scores.run,
        version=__version__,
        judges=sorted(said_by),
        gold=people[0].draw.sha if people else "",
        labelled_by=sorted({who for each in people for who in each.by}),
        known=known,
        judgements=held.judgements,
        rubrics=list(held.rubrics),
        unjudged=held.unjudged,
        bounds=dict(held.bounds),
    )
    given = held.absent, held.same, held.nuggets, facts or {}, held.repeats, held.unseen, held.lacking
    return GateSide(scores, header, *given)


# --- the file


def saved(side: GateSide, date: str) -> Baseline:
    """Return a side as a baseline; `MissingJudgements` if too many of its judgements are missing."""
    scores = side.scores.scores
    queries = list(scores[0].query_ids)
    missing = {query for score in scores for query in score.between}
    if len(missing) > MOST_MISSING * len(queries):
        raise MissingJudgements(
            f"judgements are missing in {len(missing):,} of {len(queries):,} questions, more than"
            f" {MOST_MISSING:.0%}; judge them again before this becomes a baseline"
        )
    for people in (score.people for score in scores if score.people is not None):
        if why := why_lost(len(people.failed), len(people.values)):
            raise MissingJudgements(f"{why} before this becomes a baseline")
    side.header.date, side.header.questions = date, len(queries)
    return Baseline(side.header, [_line(side, query) for query in queries])


def _line(side: GateSide, query: str) -> BaselineLine:
    scores = {str(score.measure): score for score in side.scores.scores}
    values = {name: score.by_query[query] for name, score in scores.items()}
    people = {name: score.people.values for name, score in scores.items() if score.people is not None}
    return BaselineLine(
        query_id=query,
        values={name: value if value == value else None for name, value in values.items()},
        between={name: score.between[query] for name, score in scores.items() if query in score.between},
        people={name: found[query] for name, found in people.items() if query in found},
        facts=dict(side.facts.get(query, {})),
        repeats=side.repeats.get(query, 1),
        absent=query in side.absent,
        same=side.same.get(query, ""),
        nuggets=side.nuggets.get(query, ""),
    )


def baseline_side(baseline: Baseline, candidate: GateSide) -> GateSide:
    """Return a baseline as the side that a candidate is held against, by the candidate's measures."""
    header, lines = baseline
    ids = [line.query_id for line in lines]
    scores = []
    for ours in candidate.scores.scores:
        name = str(ours.measure)
        if name in header.measures:
            scores.append(_score(ours, name, ids, baseline))
    found = Scores(header.run or "baseline", tuple(scores))
    absent = frozenset(line.query_id for line in lines if line.absent)
    return GateSide(
        found,
        header,
        absent,
        {line.query_id: line.same for line in lines if line.same},
        {line.query_id: line.nuggets for line in lines if line.nuggets},
        {line.query_id: line.facts for line in lines},
        {line.query_id: line.repeats for line in lines},
        None,
        frozenset() if header.judgements else without_value(found, absent),
    )


def _score(ours: Score, name: str, ids: Sequence[str], baseline: Baseline) -> Score:
    numbers = [line.values[name] for line in baseline.lines]
    people = None
    if ours.people is not None:
        said = {line.query_id: line.people[name] for line in baseline.lines if name in line.people}
        by = tuple(baseline.header.labelled_by)
        people = People(said, ours.people.draw, by=by, tests=ours.people.tests)
    return Score(
        ours.measure,
        ids,
        [math.nan if number is None else number for number in numbers],
        0,
        baseline.header.measures[name],
        said_by=ours.said_by,
        of_words=ours.of_words,
        people=people,
        between={line.query_id: line.between[name] for line in baseline.lines if name in line.between},
    )
