"""The two sides of a gate: a run or judged answers that were scored, and a baseline as a file keeps it."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from rageval.comparison.gate_results import GateSide
from rageval.errors import MissingJudgements, UsageError
from rageval.files.baselines import Baseline, BaselineHeader, BaselineLine
from rageval.files.judgements import STOPPED, JudgementTable
from rageval.measures.base import Measure
from rageval.scoring.answers import AnswerRules, evaluate_all, measures_of_answers, read_judgements
from rageval.scoring.banks import lists_of_nuggets
from rageval.scoring.evaluation import EXPECTED, Evaluator, Rules, with_remarks
from rageval.scoring.gold import (
    People,
    beside_answers,
    beside_runs,
    drawn,
    gold_of_answers,
    gold_of_documents,
    why_lost,
)
from rageval.scoring.qrels import Qrels
from rageval.scoring.remarks import of_answers
from rageval.scoring.scores import ADAPTIVELY, Score, Scores
from rageval.scoring.sources import RunSource, run_source, whole_qrels
from rageval.scoring.universe import MOST_MISSING, with_labelled
from rageval.text import visible
from rageval.version import __version__

_SHORT = 16  # digits of a hash that tells rankings and answers apart
_POSITIVES_ONLY = 0.01  # judgements below the grade that counts: with fewer, holes say nothing

Facts = Mapping[str, Mapping[str, str]]  # question -> field -> value


def run_as_side(
    measures: Any, run: Any, qrels: Any, gold: Any = None, gold_chosen: Any = None, **rules: Any
) -> GateSide:
    """Score a run, and return it as one side; `NothingJudged` where nothing in it is judged."""
    evaluator = Evaluator(measures, qrels, **{**rules, "nothing_judged": "error"})
    evaluator.refuse_without_nuggets()
    source = run_source(run).in_memory()
    scores = with_remarks(evaluator.evaluate(source), evaluator)
    said: list[str] = []
    if gold is not None:
        people = gold_of_documents([gold], drawn(gold_chosen))
        ((scores,), said) = beside_runs([scores], [source], evaluator, people)
    remarks = (*evaluator.remarks, *scores.remarks, *said)
    return side_of_run(evaluator, source, replace(scores, remarks=remarks))


def answers_as_side(
    measures: Any,
    judgements: Any,
    system: str | None = None,
    gold: Any = None,
    gold_chosen: Any = None,
    *,
    answers: Any = None,
    nuggets: Any = None,
    questions: Any = None,
    **rules: Any,
) -> GateSide:
    """Score judged answers, and return the system as one side; there is one, or it is named."""
    grades = read_judgements(judgements, answers=answers, nuggets=nuggets, questions=questions)
    labels = None
    if gold is not None:
        sources = gold if isinstance(gold, list) else [gold]
        labels = gold_of_answers(read_judgements(gold, nuggets=nuggets), sources, drawn(gold_chosen))
        grades = with_labelled(grades, labels.labels, labels.draw)
    how = AnswerRules(**{**rules, "on_missing": "skip"})
    results = evaluate_all(measures_of_answers(measures), grades, how)
    said = of_answers(results, grades, how)
    if labels is not None:
        results, more = beside_answers(results, grades, labels)
        said += more
    return side_of_answers(grades, replace(chosen_system(results, system), remarks=tuple(said)))


def chosen_system(results: Sequence[Scores], system: str | None) -> Scores:
    """Return the scores of the system that is gated: the only one, or the one that is named."""
    names = [scores.run for scores in results]
    wanted = names[0] if system is None and len(names) == 1 else system
    if wanted not in names:
        known = ", ".join(map(visible, names))
        raise UsageError(f"expected one system, the candidate, found {known}; say --system RUN_ID")
    return results[names.index(wanted)]


def side_of_run(
    evaluator: Evaluator, source: RunSource, scores: Scores, facts: Facts | None = None, known: str = ""
) -> GateSide:
    """Return a run as one side; `known` is the hash of the file of the questions."""
    if scores.adaptive:
        what = "; ".join(map(visible, scores.adaptive))
        raise UsageError(
            f"{ADAPTIVELY}; nothing is gated either: {what}; judge a pool that was fixed before, or see what"
            " bounds say (rageval compare)"
        )
    ranked = evaluator.rankings(source)
    queries = evaluator.qrels.query_ids
    same = {query: _sha(ranked.get(query, ()))[:_SHORT] for query in queries}
    rel = evaluator.rules.rel if evaluator.rules.rel is not None else 1
    are_holes = not evaluator.rules.judged_only and evaluator.qrels.share_below(rel) >= _POSITIVES_ONLY
    notes, unjudged, bounds = scores.notes, None, {}
    if are_holes and notes is not None and notes.shown:
        unjudged = round(1 - notes.shown_judged / notes.shown, 6)
        bounds = _bounds(evaluator, source)
    judged = scores.judged_by_query
    unseen = sum(not number for number in judged.values()) / len(judged) if judged else None
    header = _header(scores, evaluator.qrels.judges, known)
    header.judgements = _sha_of_judgements(evaluator.qrels)
    header.unjudged, header.bounds = unjudged, bounds
    absent = frozenset(queries) - frozenset(source.query_ids)
    return GateSide(scores, header, absent, same, {}, facts or {}, {}, unseen if are_holes else None)


def side_of_answers(
    grades: JudgementTable, scores: Scores, facts: Facts | None = None, known: str = ""
) -> GateSide:
    """Return a system's judged answers as one side."""
    if scores.stopped:
        claims = "; ".join(map(visible, scores.stopped))
        raise UsageError(f"{STOPPED}, and nothing is gated: {claims}; judge all questions (without --until)")
    run = grades.runs[scores.run]
    rows: dict[str, list[str]] = {}
    for _, line in grades.each():
        if line.run_id == scores.run:
            said = line.item_id, line.aspect, line.judge, line.rubric, line.label, line.grade, line.status
            more = line.importance, line.weight, line.repeat
            rows.setdefault(str(line.query_id), []).append(repr((*said, *more)))
    for (of, query, repeat), answer in grades.facts.items():
        if of == run:
            told = repr(
                (grades.repeats.words[repeat], sorted(answer.lengths.items()), answer.cited, answer.sentences)
            )
            rows.setdefault(str(grades.queries.words[query]), []).append(told)
    same = {query: _sha(sorted(found))[:_SHORT] for query, found in rows.items()}
    lists = lists_of_nuggets(grades, run)
    nuggets = {query: _sha(map(repr, found))[:_SHORT] for query, found in lists.items()}
    header = _header(scores, [], known)
    header.rubrics = sorted(grades.rubrics())
    absent = frozenset(map(str, grades.queries.words)) - rows.keys()
    times = {str(grades.queries.words[at]): len(each) for at, each in grades.repeats_by_query(run).items()}
    lacking = _lacking(scores, absent)
    return GateSide(scores, header, absent, same, nuggets, facts or {}, times, None, lacking)


def _lacking(scores: Scores, absent: frozenset[str]) -> frozenset[str]:
    """Return those of the absent questions of judged answers that have no value for all that."""
    return frozenset(
        query
        for query in absent
        if any(
            query in each.between or each.by_query[query] != each.by_query[query] for each in scores.scores
        )
    )


def _header(scores: Scores, judges: Sequence[str], known: str) -> BaselineHeader:
    said_by = {judge for score in scores.scores for judge in score.said_by} | set(judges)
    draws = [score.people.draw for score in scores.scores if score.people is not None]
    labelled_by = {who for score in scores.scores if score.people is not None for who in score.people.by}
    return BaselineHeader(
        measures={str(score.measure): score.signature for score in scores.scores},
        questions=len(scores.scores[0].query_ids),
        run=scores.run,
        version=__version__,
        judges=sorted(said_by),
        gold=draws[0].sha if draws else "",
        labelled_by=sorted(labelled_by),
        known=known,
    )


def _sha(lines: Iterable[str]) -> str:
    found = hashlib.sha256()
    for line in lines:
        found.update(line.encode("utf-8", "surrogatepass") + b"\n")
    return found.hexdigest()


def _sha_of_judgements(qrels: Qrels) -> str:
    """Return the hash of the judgements as sorted lines, whatever file, order or packing they came in.

    Of spans it is theirs, whatever the chunks.
    """
    if qrels.spans is not None:
        return qrels.spans.sha
    return _sha(
        sorted(f"{row.query_id} {row.iteration} {row.doc_id} {row.relevance}" for row in whole_qrels(qrels))
    )


def _bounds(evaluator: Evaluator, source: RunSource) -> dict[str, tuple[float, float]]:
    """Return between what the means lie whatever the unjudged documents are, by measures that know it."""
    able = [each for each in evaluator.asked if isinstance(each, Measure) and each.bounds is not None]
    said = evaluator.rules
    if not able or said.ties == EXPECTED or said.judged_only or said.compat or said.provider:
        return {}
    rules: dict[str, Any] = {name: getattr(said, name) for name in Rules.__dataclass_fields__}
    rules |= {"bounds": True, "groups": None, "nothing_judged": "zero"}
    found = Evaluator(able, whole_qrels(evaluator.qrels), **rules).evaluate(source)
    return {str(each.measure): (each.bounds[0], each.bounds[-1]) for each in found.scores if each.bounds}


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


def side_of_baseline(baseline: Baseline, candidate: GateSide) -> GateSide:
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
        frozenset() if header.judgements else _lacking(found, absent),
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
