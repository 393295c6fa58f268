"""What should be known beside the scores of runs, from how they met the judgements."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import replace
from typing import Protocol, TypeVar

from rageval.core.remark import Remark, Scope
from rageval.measures.base import Measure
from rageval.measures.parsing import AnyMeasure
from rageval.scoring.qrels import Qrels
from rageval.scoring.rules import EXPECTED, Rules
from rageval.scoring.scores import EXAMPLES, Scores, undefined_remarks

_Made = TypeVar("_Made")
_FEW_QUERIES = 0.05  # of the queries have nothing that is judged: fewer are not worth a word
_MANY_HOLES = 0.2  # of the top documents unjudged
POSITIVES_ONLY = 0.01  # judgements below the grade that counts: with fewer, holes say nothing


class Prepared(Protocol):
    """Measures and judgements under rules, as an `Evaluator` prepares them."""

    rules: Rules
    qrels: Qrels
    measures: list[AnyMeasure]

    def memo(self, key: Hashable, make: Callable[[], _Made]) -> _Made:
        """Return what is made of the judgements alone, made once."""

    def gap_to_greedy(self, measure: Measure) -> tuple[int, float]:
        """Return in how many queries the greedy ideal is not the best ranking, and by what share at most."""


def judgement_remarks(evaluator: Prepared, of_weights: Iterable[Remark]) -> list[Remark]:
    """Return what should be known of the judgements, whatever the run."""
    qrels = evaluator.qrels
    about = Scope(file=qrels.name)
    remarks = [Remark("adaptive_judgements", about)] if qrels.is_adaptive else []
    remarks += [*of_weights, *_nugget_remarks(evaluator)]
    if qrels.unread:
        remarks.append(Remark("ignored_columns", about, {"columns": qrels.unread}))
    return remarks


def _nugget_remarks(evaluator: Prepared) -> list[Remark]:
    qrels = evaluator.qrels
    if qrels.is_complete:
        return list(qrels.remarks())
    if remark := lacking_nuggets(evaluator):
        return [remark]
    asks = any(measure.wants_nuggets for measure in evaluator.measures)
    if evaluator.rules.nuggets_in_qrels is None and asks and qrels.looks_plain:
        return [Remark("plain_second_column", Scope(file=qrels.name))]
    return []


def lacking_nuggets(evaluator: Prepared) -> Remark | None:
    """Return what is wrong where a measure asks for nuggets, and the judgements name none."""
    qrels = evaluator.qrels
    asks = [measure for measure in evaluator.measures if measure.wants_nuggets]
    if not asks or evaluator.rules.nuggets_in_qrels is not None or not qrels.names_no_nuggets:
        return None
    return Remark("needs_nuggets", Scope(measure=str(asks[0]), file=qrels.name), {"unread": qrels.unread})


def run_remarks(scores: Scores, evaluator: Prepared) -> list[Remark]:
    """Return what should be known of one run's scores."""
    return [*_join_remarks(scores, evaluator), *_range_remarks(scores, evaluator)]


def _range_remarks(scores: Scores, evaluator: Prepared) -> Iterator[Remark]:
    """Yield the range of each score that has one, or should."""
    rules, qrels = evaluator.rules, evaluator.qrels
    for score in scores.scores:
        about = Scope((scores.run,), str(score.measure))
        if score.bounds:
            low, high = score.bounds
            over = "orders" if not rules.bounds else "chunks" if qrels.is_complete else "grades"
            bounds = score.measure.bounds
            is_graded = rules.bounds and bounds is not None and bounds.graded
            highest = max(1, qrels.highest) if is_graded else None
            facts = {"low": low, "high": high, "over": over, "highest": highest}
            yield Remark("range_of_value", about, facts)
        elif rules.ties == EXPECTED:
            yield Remark("too_many_orders", about)


def rule_remarks(evaluator: Prepared) -> Iterator[Remark]:
    """Yield what should be known of the scores of all runs."""
    if evaluator.rules.compat == "ndeval":
        yield Remark("ndeval_order")
    # How far the greedy ideal is from the best ranking, where that one was asked for.
    for measure in evaluator.measures:
        if isinstance(measure, Measure) and measure.parameters.get("ideal") == "exact":
            number, largest = evaluator.gap_to_greedy(measure)
            facts = {"number": number, "total": len(evaluator.qrels.query_ids), "largest": largest}
            yield Remark("gap_to_greedy", Scope(measure=str(measure)), facts)


def _join_remarks(scores: Scores, evaluator: Prepared) -> Iterator[Remark]:
    """Yield a remark for each thing a careful reader would ask about."""
    notes, rules, about = scores.notes, evaluator.rules, Scope((scores.run,))
    if notes is None:
        return
    if notes.read_here is not None:
        yield replace(notes.read_here, about=about)
    total = len(evaluator.qrels.query_ids)
    if notes.queries_missing:
        yield Remark(
            "missing_queries",
            about,
            {
                "number": notes.queries_missing,
                "total": total,
                "is_left_out": rules.leaves_out,
                "compat": rules.compat,
            },
        )
    if rules.zero_rel == "skip" and notes.queries_without_relevant:
        counts = {"number": notes.queries_without_relevant, "total": total}
        yield Remark("queries_without_relevant", about, counts)
    elif notes.nothing_relevant and not (evaluator.qrels.undecided or evaluator.qrels.is_empty):
        yield Remark("nothing_relevant", about)
    yield from undefined_remarks(scores)
    yield from _unjudged_remarks(scores, evaluator)
    if notes.queries_only_in_run:
        yield Remark("unjudged_queries_of_run", about, {"number": notes.queries_only_in_run})
    tied = [(cutoff, count) for cutoff, count in sorted(notes.tied_at.items()) if count]
    if tied and rules.compat is None:
        yield Remark("tied_cutoffs", about, {"queries": tied, "ties": rules.ties})
    if notes.rank_conflicts:
        used = "ranks" if rules.compat == "ndeval" else "scores"
        yield Remark("rank_conflicts", about, {"number": notes.rank_conflicts, "used": used})
    for score in scores.scores:
        why = score.measure.about.above_1
        exceeding = len([value for value in score.numbers if value > 1 + 1e-9]) if why else 0
        if exceeding:
            of_measure = Scope((scores.run,), str(score.measure))
            yield Remark("above_1", of_measure, {"number": exceeding, "reason": why})
    # Whoever names a lowest grade should hear which measures it says nothing to.
    ruled = scores.scores if rules.rel is not None else ()
    deaf = [str(score.measure) for score in ruled if score.measure.rel is None]
    if deaf:
        yield Remark("rel_without_effect", about, {"rel": rules.rel, "measures": deaf})
    of_nuggets = any(score.measure.wants_nuggets for score in scores.scores)
    is_told = evaluator.qrels.is_complete or rules.nuggets_in_qrels is not None
    if of_nuggets and not evaluator.qrels.has_nuggets and not is_told:
        yield Remark("one_nugget_per_query", about)


def _unjudged_remarks(scores: Scores, evaluator: Prepared) -> Iterator[Remark]:
    """How many queries, and what share of the top documents, nobody judged."""
    notes, rules, about = scores.notes, evaluator.rules, Scope((scores.run,))
    if notes is None or not scores.judged or evaluator.qrels.is_complete:
        return
    without = [query for query, number in scores.judged_by_query.items() if not number]
    total = len(scores.judged_by_query)
    # A few queries without judgements are usual in pooled collections.
    if len(without) >= _FEW_QUERIES * total and without:
        facts = {"number": len(without), "total": total, "examples": without[:EXAMPLES]}
        yield Remark("unjudged_queries", about, facts)
    holes = notes.shown - notes.shown_judged
    rel = rules.rel if rules.rel is not None else 1
    # Where only relevant documents were kept, everything else is unjudged by design.
    share = evaluator.memo(("share below", rel), lambda: evaluator.qrels.share_below(rel))
    are_meant = rules.judged_only or share < POSITIVES_ONLY
    if not are_meant and holes and holes >= _MANY_HOLES * notes.shown:
        cutoffs = [measure.k for measure in evaluator.measures if measure.k]
        # What is looked at is not deeper than --depth.
        depth = min(max(cutoffs), rules.depth or max(cutoffs))
        facts = {"share": holes / notes.shown, "depth": depth, "has_bounds": bool(rules.bounds)}
        yield Remark("unjudged_documents", about, facts)
