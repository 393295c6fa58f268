"""What should be known beside scores: what is missing, undefined, unjudged, tied."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rageval.measures.base import Measure
from rageval.measures.scales import ALL
from rageval.scoring.rules import EXPECTED
from rageval.scoring.scores import Score, Scores, combined
from rageval.text import visible

if TYPE_CHECKING:
    from rageval.files.judgements import JudgementTable
    from rageval.scoring.evaluation import Evaluator

_ORDERS = "over all orders of equal scores"
_FEW_QUERIES = 0.05  # of the queries have nothing that is judged: fewer are not worth a word
_MANY_HOLES = 0.2  # of the top documents unjudged
POSITIVES_ONLY = 0.01  # judgements below the grade that counts: with fewer, holes say nothing


def of_run(scores: Scores, evaluator: Evaluator) -> Iterator[str]:
    """Yield what should be known of one run's scores."""
    yield from _of_joining(scores, evaluator)
    for score in scores.scores:
        if score.bounds:
            low, high = score.bounds
            what = "whatever the unjudged documents are" if evaluator.rules.bounds else _ORDERS
            if evaluator.qrels.spans is not None and evaluator.rules.bounds:
                what = "whatever the undecided chunks hold"
            bounds = score.measure.bounds if isinstance(score.measure, Measure) else None
            if evaluator.rules.bounds and bounds is not None and bounds.graded:
                what += f", with no grade above {max(1, evaluator.qrels.highest):,}"
            yield f"{score.measure}: from {low:.4f} to {high:.4f} {what}"
        elif evaluator.rules.ties == EXPECTED:
            yield f"{score.measure}: there are too many orders of equal scores to say between what it lies"


def of_rules(evaluator: Evaluator) -> Iterator[str]:
    """Yield what should be known of the scores of all runs."""
    if evaluator.rules.compat == "ndeval":
        yield (
            "--compat ndeval goes by the rank column, as the C program does; what it meant before, equal"
            " scores by document id ascending, is --compat pyndeval"
        )
    yield from _said_of_ideals(evaluator)


def _said_of_ideals(evaluator: Evaluator) -> Iterator[str]:
    """How far the greedy ideal is from the best ranking, where that one was asked for."""
    for measure in evaluator.measures:
        if isinstance(measure, Measure) and measure.parameters.get("ideal") == "exact":
            queries, most = evaluator.gap_to_greedy(measure)
            total = len(evaluator.qrels.query_ids)
            yield (
                f"{measure}: the greedy ideal is not the best ranking in {queries:,} of {total:,} queries"
                + (f", by up to {most:.2%}" if queries else "")
            )


def _of_joining(scores: Scores, evaluator: Evaluator) -> Iterator[str]:
    """Yield one sentence for each thing a careful reader would ask about."""
    notes = scores.notes
    if notes is None:
        return
    if notes.read_here:
        yield f"could not be read {visible(notes.read_here)}; read by this process, in one piece, instead"
    total = len(evaluator.qrels.query_ids)
    if notes.queries_missing:
        what = "score 0; --intersection leaves them out"
        if evaluator.rules.leaves_out:
            way = f", as {evaluator.rules.compat} does; -c counts them" if evaluator.rules.compat else ""
            what = f"are left out{way}"
        yield f"{notes.queries_missing:,} of {total:,} judged queries are not in the run ({what})"
    if evaluator.rules.zero_rel == "skip" and notes.queries_without_relevant:
        number = notes.queries_without_relevant
        yield f"{number:,} of {total:,} judged queries have nothing that is relevant (are left out)"
    elif notes.nothing_relevant and not (evaluator.qrels.spans and evaluator.qrels.spans.undecided):
        yield "no judged query has anything that is relevant: no run can find anything"
    yield from undefined(scores)
    yield from _unjudged(scores, evaluator)
    if notes.queries_only_in_run:
        yield f"{notes.queries_only_in_run:,} queries of the run are not judged (ignored)"
    tied = [f"{count:,} at rank {cutoff}" for cutoff, count in sorted(notes.tied_at.items()) if count]
    if tied and evaluator.rules.compat is None:
        ties = evaluator.rules.ties
        yield f"queries with equal scores on both sides of a cut-off: {', '.join(tied)} (ties: {ties})"
    if notes.rank_conflicts:
        what = "ranks" if evaluator.rules.compat == "ndeval" else "scores"
        yield f"the rank column contradicts the scores in {notes.rank_conflicts:,} queries ({what} count)"
    yield from _above_one(scores)
    yield from _without_grade(scores, evaluator.rules.rel)
    of_nuggets = any(score.measure.wants_nuggets for score in scores.scores)
    is_told = evaluator.qrels.spans is not None or evaluator.rules.nuggets_in_qrels is not None
    if of_nuggets and not evaluator.qrels.has_nuggets and not is_told:
        yield "the judgements have one nugget a query everywhere; are these plain qrels?"


def undefined(scores: Scores) -> Iterator[str]:
    """Say on how many queries means rest that do not rest on all of them."""
    names: dict[tuple[int, int], list[str]] = {}
    for score in scores.scores:
        if score.undefined:
            names.setdefault((score.queries, score.undefined), []).append(str(score.measure))
    for (queries, number), measures in names.items():
        which, verb = ", ".join(measures), "rests" if len(measures) == 1 else "rest"
        if queries:
            yield f"{which} {verb} on {queries:,} of {queries + number:,} queries; on the others undefined"
        else:
            yield f"{which}: undefined on each of {number:,} queries"
    yield from _groups_without(scores)


def _groups_without(scores: Scores) -> Iterator[str]:
    """Which groups have no value, of a mean over groups."""

    for score in scores.scores:
        if score.groups is None or not score.queries:
            continue
        found = score.numbers_by(score.groups)
        means = {group: combined(score.measure, values) for group, values in found.items()}
        empty = [visible(group) for group, value in means.items() if math.isnan(value)]
        if empty:
            of = f"{len(empty):,} of {len(found):,} groups have no value ({', '.join(empty[:3])}"
            then = "there is no weighted mean" if score.weights else "the mean is over the others"
            yield f"{score.measure}: {of}{', …' if len(empty) > 3 else ''}), so {then}"


def _unjudged(scores: Scores, evaluator: Evaluator) -> Iterator[str]:
    """How many queries, and what share of the top documents, nobody judged."""
    notes, rules = scores.notes, evaluator.rules
    if notes is None or not scores.judged or evaluator.qrels.spans is not None:
        return
    without = [query for query, number in scores.judged_by_query.items() if not number]
    total = len(scores.judged_by_query)
    # A few queries without judgements are usual in pooled collections.
    if len(without) >= _FEW_QUERIES * total and without:
        first = ", ".join(map(visible, without[:3])) + (", …" if len(without) > 3 else "")
        yield f"no document is judged in {len(without):,} of {total:,} queries: {first}"
    holes = notes.shown - notes.shown_judged
    rel = rules.rel if rules.rel is not None else 1
    # Where only relevant documents were kept, everything else is unjudged by design.
    are_meant = rules.judged_only or evaluator.qrels.share_below(rel) < POSITIVES_ONLY
    if not are_meant and holes and holes >= _MANY_HOLES * notes.shown:
        cutoffs = [measure.k for measure in evaluator.measures if measure.k]
        # What is looked at is not deeper than --depth.
        top = min(max(cutoffs), rules.depth or max(cutoffs))
        way = "" if rules.bounds else "; --bounds says between what values a measure lies"
        yield f"{holes / notes.shown:.0%} of the top {top:,} is unjudged, and counts as not relevant{way}"


def _above_one(scores: Scores) -> Iterator[str]:
    for score in scores.scores:
        why = score.measure.about.above_1
        above = sum(value > 1 + 1e-9 for value in score.numbers) if why else 0
        if above:
            yield f"{score.measure} is above 1 in {above:,} queries: {why}"


def _without_grade(scores: Scores, rel: int | None) -> Iterator[str]:
    """Which measures a lowest grade says nothing to."""
    deaf = [str(score.measure) for score in scores.scores if score.measure.rel is None]
    if rel is not None and deaf:
        yield f"--rel {rel} changes nothing in {', '.join(deaf)}, which have no lowest grade"


def of_table(results: Sequence[Scores], grades: JudgementTable) -> Iterator[str]:
    """Yield what should be known of the scores of judged answers."""
    from rageval.scoring.banks import differences

    yield from grades.remarks
    yield from differences(grades)
    yield from _passed_over(grades)
    for scores in results:
        yield from (f"{visible(scores.run)}: {said}" for said in undefined(scores))
        for score in scores.scores:
            yield from (f"{visible(scores.run)}: {score.measure}: {said}" for said in _of_answer_score(score))


def _passed_over(grades: JudgementTable) -> Iterator[str]:
    """Judgements that were left out for their rubric, and say what others do."""
    from rageval.scoring.assessing import passed_over

    for scale in ALL:
        for rubric, number in passed_over(grades, scale).items():
            named = f"the rubric {visible(rubric)!r}, which is not known," if rubric else "no rubric"
            yield (
                f"{number:,} judgements have {named} and are left out: others with labels of {scale.name}"
                f" name theirs; expected one of {', '.join(scale.rubrics)} for each"
            )


def _of_answer_score(score: Score) -> Iterator[str]:
    if score.missing:
        counts = ", ".join(f"{count:,} {status}" for status, count in sorted(score.lost.items()))
        bounds = f"; from {score.bounds[0]:.4f} to {score.bounds[1]:.4f}" if score.bounds else ""
        yield f"{score.missing:,} judgements are missing ({counts}){bounds}"
    if score.judges:
        yield "by judge: " + ", ".join(f"{visible(name)} {value:.4f}" for name, value in score.judges.items())
