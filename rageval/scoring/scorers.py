"""One scorer a measure: the values of all queries, from a run that was joined with judgements.

`OwnScorer` asks a measure of ours, `ForeignScorer` a provider of ir_measures, `SpanScorer` looks at the
characters of chunks. `WithBounds` and `OverTiedOrders` stand around one of them, and add the lower and the
upper end of each value.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from rageval.errors import MeasureError
from rageval.measures import builtin
from rageval.measures.base import Measure
from rageval.measures.bounds import Bounds, Ends, ranked
from rageval.measures.foreign import ForeignMeasure
from rageval.measures.parsing import AnyMeasure
from rageval.measures.ranking import Ranking
from rageval.scoring._ties import spread, tied, tied_ranks
from rageval.scoring.qrels import Qrels, at_grade, collapsed
from rageval.scoring.rules import EXPECTED, Rules, order_of
from rageval.scoring.runs import View
from rageval.scoring.sources import Joined, Joining, RunSource, ranking_of
from rageval.subjects import scorer_of

if TYPE_CHECKING:
    from rageval.measures.ties import TiedRanking

Values = list[float]
Memo = Callable[
    [Hashable, Callable[[], Any]], Any
]  # what is made of judgements alone is made once, under a key


@dataclass
class JoinedRun:
    """A run that was joined with judgements, in each of the views that its measures need."""

    source: RunSource
    joined: Mapping[View, Joined]
    qrels: Qrels
    rules: Rules
    measures: Sequence[AnyMeasure] = ()
    values: dict[Measure, Values] = field(default_factory=dict)  # of those that are found together

    def rankings(self, view: View) -> Sequence[Ranking]:
        """Return the judged documents of each query in the order of this view."""
        return self.joined[view].rankings if view in self.joined else ()

    @cached_property
    def tied(self) -> dict[int, TiedRanking]:
        """The queries that have equal scores, by number, with all their orders."""
        ranks = self.source.each(lambda queries: tied_ranks(queries, self.qrels))
        # Orders of ties are laid over the whole ranking; the depth is cut only when each order is there.
        everything = self.source.join(Joining(self.qrels, View()))
        seen = next(iter(self.joined.values())).rankings
        return tied(ranks, everything.rankings, seen, self.rules.judged_only, self.rules.depth)


class Scorer(Protocol):
    """Scores one measure."""

    def score(self, run: JoinedRun) -> list[Values]:
        """Return the value of every query; then, where they are known, the lower and the upper ends."""


@dataclass(frozen=True)
class OwnScorer:
    """Asks a function of one query's ranking."""

    measure: Measure
    view: View

    def score(self, run: JoinedRun) -> list[Values]:
        """Return the value of every query."""
        return [self.measure.values(run.rankings(self.view))]


@dataclass(frozen=True)
class SpanScorer:
    """Asks a function of the characters that chunks cover."""

    measure: Measure
    view: View

    def score(self, run: JoinedRun) -> list[Values]:
        """Return the value of every query."""
        seen = ranking_of(run.source.run(), run.qrels, self.view)
        return [self.measure.values(run.qrels.coverings(seen))]


@dataclass(frozen=True)
class ForeignScorer:
    """Asks ir_measures, in the forms that it takes."""

    measure: ForeignMeasure
    view: View
    memo: Memo
    has_relevant: Callable[[AnyMeasure], Sequence[bool]]

    def score(self, run: JoinedRun) -> list[Values]:
        """Return the value of every query."""
        measure, qrels, rel = self.measure, run.qrels, self.measure.rel
        # Some providers are programs that end at what they cannot hold; that is refused here.
        measure.refuse(qrels.highest, qrels.fractional)
        judgements: Any
        if measure.wants_nuggets:
            judgements = self.memo(("records", rel), lambda: at_grade(qrels, rel))
        else:
            judgements = self.memo(("documents", rel), lambda: collapsed(qrels, rel))
        # The run's own scores, unless another order than the provider's is asked for.
        with_scores = self.view.order == order_of(measure)
        ranking = ranking_of(run.source.run(), qrels, self.view, with_scores)
        values = measure.compute(judgements, ranking, qrels.query_ids)
        # pyndeval divides 0 by 0 where nothing is relevant; any other NaN stays NaN, and is undefined.
        relevant = self.has_relevant(measure)
        return [
            [
                0.0 if math.isnan(value) and not is_relevant else float(value)
                for value, is_relevant in zip(values, relevant, strict=True)
            ]
        ]


@dataclass(frozen=True)
class WithBounds:
    """Adds both ends over all ways to judge the unjudged documents.

    Where gold is spans, what is not judged is not gold, but for chunks with a part of a wide span.
    """

    scorer: Scorer
    measure: Measure
    view: View

    def score(self, run: JoinedRun) -> list[Values]:
        """Return the value of every query, and its ends."""
        (values,) = self.scorer.score(run)
        measure, bounds = self.measure, bounds_of(self.measure)
        rel = measure.rel if measure.rel is not None else 1
        undecided = self._undecided(run)
        ends = []
        for value, ranking in zip(values, run.rankings(self.view), strict=True):
            top = ranked(ranking, measure.k, rel, None if undecided is None else undecided[ranking.query_id])
            # With nothing unjudged the value is certain, and both ends are the value itself, to the last bit.
            is_open = top.unjudged or top.others
            ends.append(bounds.ends(top, measure.parameters) if is_open else Ends(value, value))
        return [values, [end.low for end in ends], [end.high for end in ends]]

    def _undecided(self, run: JoinedRun) -> dict[str, tuple[list[int], int]] | None:
        """Return the ranks of each query's undecided chunks, and their number; None if anything may be."""
        if not run.qrels.is_complete:
            return None
        chunks = run.qrels.undecided
        return {
            query: (
                [rank for rank, doc in enumerate(docs, 1) if doc in chunks.get(query, ())],
                len(chunks.get(query, ())),
            )
            for query, docs in ranking_of(run.source.run(), run.qrels, self.view).items()
        }


@dataclass(frozen=True)
class OverTiedOrders:
    """Takes the mean over the orders of equal scores, and both ends where they can be found in time."""

    measure: Measure
    view: View

    def score(self, run: JoinedRun) -> list[Values]:
        """Return the mean of every query, and its ends if they are known."""
        # Also where a run has no ties: its ends are then the values.
        spreads = spread(self.measure, run.rankings(self.view), run.tied)
        return [values for values in spreads if values is not None]


def scorer_for(
    measure: AnyMeasure,
    view: View,
    rules: Rules,
    memo: Memo,
    has_relevant: Callable[[AnyMeasure], Sequence[bool]],
) -> Scorer:
    """Return what scores a measure under these rules."""
    if not isinstance(measure, Measure):
        return ForeignScorer(measure, view, memo, has_relevant)
    if rules.ties == EXPECTED:
        return OverTiedOrders(measure, view)
    scorer: Scorer = scorer_of(measure, view)
    return WithBounds(scorer, measure, view) if rules.bounds else scorer


def bounds_of(measure: AnyMeasure) -> Bounds:
    """Return the bounds that a measure declares; `MeasureError` if it declares none."""
    bounds = measure.bounds
    if bounds is None:
        names = ", ".join(name for name, ours in builtin().items() if ours.about.bounds)
        raise MeasureError(
            f"{measure}: no bounds are known (only for {names}); leave out bounds or the measure"
        )
    return bounds
