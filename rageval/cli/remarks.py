"""What should be known of a result beside the numbers, said on standard error."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from rageval.text import visible

if TYPE_CHECKING:
    from rageval.evaluation import Evaluator
    from rageval.scores import Scores

_FEW_QUERIES = 0.05  # of the queries have nothing that is judged: fewer are not worth a word
_MANY_HOLES = 0.2  # of the top documents unjudged
_POSITIVES_ONLY = 0.01  # judgements below the grade that counts: with fewer, holes say nothing


def said_of_sets(typed: Iterable[str]) -> Iterator[str]:
    """What sets of trec_eval's lack here."""
    from rageval.measures.trec_eval import left_out

    for text in typed:
        for part in text.replace(",", " ").split():
            yield from filter(
                None, [left_out(part.removeprefix("official:").replace("trec_eval", "official"))]
            )


def remarks(scores: Scores, evaluator: Evaluator) -> Iterator[str]:
    """One sentence for each thing a careful reader would ask about."""
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
    elif notes.nothing_relevant:
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
    if of_nuggets and not evaluator.qrels.has_nuggets and evaluator.rules.nuggets_in_qrels is None:
        yield "the judgements have one nugget a query everywhere; are these plain qrels?"


def undefined(scores: Scores) -> Iterator[str]:
    """On how many queries means rest that do not rest on all of them."""
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
    from rageval.scores import combined

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
    if notes is None or not scores.judged:
        return
    without = [query for query, number in scores.judged_by_query.items() if not number]
    total = len(scores.judged_by_query)
    if len(without) >= _FEW_QUERIES * total and without:
        first = ", ".join(map(visible, without[:3])) + (", …" if len(without) > 3 else "")
        yield f"no document is judged in {len(without):,} of {total:,} queries: {first}"
    holes = notes.shown - notes.shown_judged
    rel = rules.rel if rules.rel is not None else 1
    are_meant = rules.judged_only or evaluator.qrels.share_below(rel) < _POSITIVES_ONLY
    if not are_meant and holes and holes >= _MANY_HOLES * notes.shown:
        cutoffs = [measure.k for measure in evaluator.measures if measure.k]
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
