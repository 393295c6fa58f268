"""Measures meet data: one run and one set of judgements in, a value a measure and query out."""

from __future__ import annotations

import gc
import math
import sys
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import compress
from operator import and_
from typing import TYPE_CHECKING, Any, Unpack, overload

from rageval.core.remark import Remark, Scope
from rageval.errors import InputError, MeasureError, NothingJudged, Place, UsageError
from rageval.measures.base import Measure
from rageval.measures.exact_ideal import gap_to_greedy
from rageval.measures.foreign import ForeignMeasure, by_provider
from rageval.measures.parsing import AnyMeasure, parse_measures
from rageval.measures.ranking import Ranking, Topic
from rageval.measures.ties import TiedRanking
from rageval.names import near_misses, unlike
from rageval.plugins import above
from rageval.scoring.qrels import Fingerprint, Qrels, at_grade, collapsed
from rageval.scoring.rules import (
    EXPECTED,
    FLOORS,
    JUDGED,
    NAMES,
    RUNS,
    USUAL,
    Rules,
    as_in,
    order_of,
    rules_of,
)
from rageval.scoring.runs import EVERYTHING, Documents, Order, View
from rageval.scoring.scores import (
    EXAMPLES,
    Held,
    Labels,
    Score,
    Scored,
    Scores,
    ScoresTable,
    digest,
    require_groups,
    short_digest,
    undefined_remarks,
)
from rageval.scoring.sources import (
    Joined,
    Joining,
    Notes,
    RunSource,
    as_qrels,
    one_run,
    portable,
    ranking_of,
    runs_of,
    whole_qrels,
)
from rageval.text import visible
from rageval.views.remarks import ADAPTIVE

if TYPE_CHECKING:
    from rageval.measures.bounds import Bounds
    from rageval.scoring.gold import Draw, Gold
    from rageval.scoring.likeness import Alike
    from rageval.spans.projection import Projected
    from rageval.typing import ChosenLike, Executor, MeasuresLike, QrelsLike, RunLike, RunOptions, RunsLike

_LOOKED_AT = 50_000  # documents, in search of why none is judged
_FEW_QUERIES = 0.05  # of the queries have nothing that is judged: fewer are not worth a word
_MANY_HOLES = 0.2  # of the top documents unjudged
POSITIVES_ONLY = 0.01  # judgements below the grade that counts: with fewer, holes say nothing


class Evaluator:
    """Measures and judgements, prepared once for any number of runs.

    Parameters
    ----------
    measures, qrels, **rules
        As for `evaluate`.

    Examples
    --------
    >>> evaluator = Evaluator("alpha_ndcg@2, recall@1", {"q": {"n1": {"a": 1}, "n2": {"b": 1}}})
    >>> for docs in ({"a": 2.0, "b": 1.0}, {"x": 2.0, "b": 1.0}):
    ...     scores = evaluator.evaluate({"q": docs})
    ...     print([round(score.value, 4) for score in scores.values()])
    [1.0, 0.5]
    [0.3869, 0.0]
    """

    def __init__(self, measures: MeasuresLike, qrels: QrelsLike, **rules: Unpack[RunOptions]) -> None:
        self.rules = rules_of(RUNS, rules)
        self.asked = parse_measures(measures)
        if not self.asked:
            raise MeasureError("no measure named; expected something like alpha_ndcg@10")
        for measure in self.asked:
            if isinstance(measure, Measure) and measure.of_answers:
                raise MeasureError(f"{measure} scores judged answers (JSON lines), not runs")
        # First the grade, then the provider: a provider is asked for the measure as it will be computed.
        self.measures: list[AnyMeasure] = []
        for measure in map(self._with_rel, self.asked):
            provider = self.rules.provider
            self.measures.append(by_provider(measure, provider) if provider else measure)
        if self.rules.ties == EXPECTED:
            from rageval.scoring._ties import check_expected

            check_expected(self.measures)
        if self.rules.bounds:
            for measure in self.measures:
                bounds_of(measure)
        self.qrels: Qrels = as_qrels(qrels, self._floor())
        if self.rules.nuggets_in_qrels is False:
            self.qrels = self.qrels.without_nuggets()
        self._refuse_levels()
        self._weight_remarks: list[Remark] = []
        self._weights_digest = ""
        if self.rules.intent_weights is not None:
            from rageval.scoring._weights import refuse_without_intents, weighed

            refuse_without_intents(self.measures)
            self.qrels, self._weight_remarks, self._weights_digest = weighed(
                self.qrels, self.rules.intent_weights
            )
        self._kept: dict[Any, Any] = {}
        self._plans = [self._plan(measure) for measure in self.measures]
        # Measures of one view share one pass over the run; providers of ir_measures read the run themselves.
        own = [view for measure, view in self._plans if isinstance(measure, Measure)]
        self._views = list(dict.fromkeys(own or [self._plans[0][1]]))
        # Whatever looks at the run a second time needs it kept; everything else reads it once and forgets it.
        is_read_once = len(self._views) == 1 and len(own) == len(self._plans) and self.qrels.spans is None
        self._looks_twice = self.rules.ties == EXPECTED or not is_read_once
        self._fingerprint = Fingerprint(self.qrels)
        if not self.qrels.query_ids:
            raise InputError(at=Place(self.qrels.name), problem="holds no judgements")
        if self.qrels.spans is None and any(map(_of_spans, self.measures)):
            raise MeasureError(
                f"{next(filter(_of_spans, self.measures))} needs gold spans: give a file of spans, with"
                " --chunks and --sources (in Python what rageval.spans.project returns)"
            )
        if self.qrels.spans is not None and not self.rules.bounds:
            self.qrels.spans.refuse_open("use --bounds to see the possible range,")
        # Judgements that were read for other measures may lack the low grades that these ones look at.
        if self.qrels.floor > self._floor():
            raise UsageError(f"{self.qrels.name}: was read without grades below {self.qrels.floor}")

    def __getstate__(self) -> dict[str, Any]:
        # Sent to a worker with all that is known of the judgements; what is kept can be made again there.
        return self.__dict__ | {"qrels": portable(self.qrels), "_kept": {}}

    @cached_property
    def remarks(self) -> list[Remark]:
        """What should be known of the judgements, whatever the run."""
        judgements = Scope(file=self.qrels.name)
        remarks = [Remark("adaptive_judgements", judgements)] if self.qrels.is_adaptive else []
        remarks += [*self._weight_remarks, *self._nugget_remarks()]
        if self.qrels.unread:
            remarks.append(Remark("ignored_columns", judgements, {"columns": self.qrels.unread}))
        return remarks

    def refuse_without_nuggets(self) -> None:
        """Raise `MeasureError` if a measure asks for nuggets, and the judgements name none."""
        if remark := self._needs_nuggets():
            raise MeasureError(str(remark))

    def _needs_nuggets(self) -> Remark | None:
        """Return what is wrong where a measure asks for nuggets, and the judgements name none."""
        asks = [measure for measure in self.measures if measure.wants_nuggets]
        if not asks or self.rules.nuggets_in_qrels is not None or not self.qrels.names_no_nuggets:
            return None
        about = Scope(measure=str(asks[0]), file=self.qrels.name)
        return Remark("needs_nuggets", about, {"unread": self.qrels.unread})

    def _nugget_remarks(self) -> list[Remark]:
        if self.qrels.spans is not None:
            return list(self.qrels.spans.remarks())
        if remark := self._needs_nuggets():
            return [remark]
        asks = any(measure.wants_nuggets for measure in self.measures)
        if self.rules.nuggets_in_qrels is None and asks and self.qrels.looks_plain:
            return [Remark("plain_second_column", Scope(file=self.qrels.name))]
        return []

    def evaluate(self, run: RunLike, executor: Executor | None = None) -> Scores:
        """Score one run.

        Parameters
        ----------
        run
            A path, a `Run`, `{query: {document: score}}`, a DataFrame or records.
        executor
            Read a large file in parts with the workers of this executor (of `concurrent.futures`, or alike).

        Returns
        -------
        Scores
            A mapping from measures to their scores; `remarks` has what the command would print about them.
        """
        from rageval.scoring.arguments import in_order

        with in_order("Evaluator.evaluate(run)", run=run):
            scores = self.score(one_run(run), executor)
            own, of_all = run_remarks(scores, self), rule_remarks(self)
            return replace(scores, remarks=(*self.remarks, *own, *of_all))

    def score(self, source: RunSource, executor: Executor | None = None) -> Scores:
        """Score one run, without remarks."""
        # Scoring makes many small objects and no cycles: the collector would only look through them again and
        # again.
        was_on = gc.isenabled()
        gc.disable()
        try:
            return self._score(source, executor)
        finally:
            if was_on:
                gc.enable()

    def _score(self, source: RunSource, executor: Any) -> Scores:
        if executor is not None:
            # Found by name: the room of workers stands above this one.
            source = above("parts")(source, executor)
        if self._looks_twice:
            source = source.in_memory()
        if self.qrels.spans is not None:
            self._refuse_other_chunks(source, self.qrels.spans)
        joinings = self._keep("joinings", lambda: {view: self._joining(view) for view in self._views})
        joined = {view: source.join(joining) for view, joining in joinings.items()}
        first = joined[self._views[0]]
        notes = first.notes
        # By the usual grade: each measure may mean another one, and this is said once for all of them.
        notes.queries_without_relevant = self._has_relevant().count(False)
        self._refuse_strangers(source, notes)
        self._mind_nothing_judged(source, notes)
        # Below 0 stands for a query that the run does not hold.
        included = [judged >= 0 or not self.rules.leaves_out for judged in notes.judged]
        names = self.qrels.query_ids
        tied = self._tied(source, first) if self.rules.ties == EXPECTED else None
        scores = []
        signatures = self._keep("signatures", lambda: [self._signature(*plan) for plan in self._plans])
        plans = zip(self._plans, self.measures, self.asked, signatures, strict=True)
        for (measure, view), shown, asked, signature in plans:
            rankings = joined[view].rankings if view in joined else ()
            if tied is None:
                values = self._values(measure, rankings, source, view)
                found = [values, *self._completed(measure, values, rankings, source, view)]
            else:
                found = self._over_orders(measure, rankings, tied)
            # Which queries count may differ by measure, as each has its own grade from which a document is
            # relevant.
            counted = self._counted(included, measure)
            query_ids = list(compress(names, counted))
            # `found` is the values, and perhaps the lower and the upper ends; all lose the queries that do
            # not count.
            values, *ends = (list(compress(value, counted)) for value in found)
            known: Any = {"groups": self._groups(query_ids), "asked": asked, "said_by": self.qrels.judges}
            score = Score(shown, query_ids, values, notes.queries_missing, signature, **known)
            if ends:
                # Means like the value itself, of the same queries, pooled or grouped the same way.
                bounds = tuple(replace(score, numbers=end).value for end in ends)
                score = replace(score, bounds=bounds)
            if self.qrels.spans is not None and self.qrels.spans.undecided:
                score = replace(score, numbers=[math.nan] * len(values))  # a range, and never a point
            scores.append(score)
        # Below 0 stands for a query that the run does not hold, which is something else than one of which
        # nothing is judged.
        judged = {name: number for name, number in zip(names, notes.judged, strict=True) if number >= 0}
        absent = frozenset(names) - judged.keys()
        # Judgements of spans are put on the chunks of each run, and so are not the same for all.
        made_by = None if self.qrels.spans is not None else self._fingerprint
        known = {"is_adaptive": self.qrels.is_adaptive, "absent": absent, "made_by": made_by}
        return Scores(source.name, tuple(scores), notes, judged, **known)

    def _signature(self, measure: AnyMeasure, view: View) -> str:
        """Return the measure's signature, with the judges of documents where they are known."""
        known = {"judge": "+".join(map(visible, self.qrels.judges))} if self.qrels.judges else {}
        if self.qrels.is_adaptive:
            known["pool"] = "adaptive"
        if self._weights_digest:
            known["intent_weights"] = self._weights_digest
        known |= self.qrels.spans.signature if self.qrels.spans is not None else {}
        return self.rules.signature(measure, view, **known)

    def by(
        self, qrels: QrelsLike, measures: MeasuresLike | None = None, **rules: Unpack[RunOptions]
    ) -> Evaluator:
        """Return measures, the same ones by default, under the same rules but these; without groups."""
        ours: dict[str, Any] = {name: getattr(self.rules, name) for name in NAMES[RUNS]}
        # Groups name the queries of these judgements; others may hold fewer, which is no error here.
        ours |= {"groups": None, "nothing_judged": "zero", **rules}
        return Evaluator(self.asked if measures is None else measures, qrels, **ours)

    def nothing_judged(self, source: RunSource, notes: Notes) -> NothingJudged:
        """Return the error that no document of a run is judged, with how its ids differ, and the way on."""
        common = {
            query for query, judged in zip(self.qrels.query_ids, notes.judged, strict=True) if judged >= 0
        }
        documents = whole_qrels(self.qrels).documents()
        # Ids are compared within one query only: that is where they should have been the same.
        theirs = {query: list(docs) for query, docs, _ in documents if query in common}
        ours = source.each(lambda queries: _first_documents(queries, common))
        # With a cause, if there seems to be one.
        said = unlike(visible(source.name), notes.retrieved, ours, theirs)
        return NothingJudged(
            problem=said,
            remedy="--nothing-judged zero (nothing_judged='zero' in Python) scores it all the same",
        )

    @property
    def orders(self) -> list[Order]:
        """In what orders the measures see documents: more than one only by rules that have several."""
        return list(dict.fromkeys(view.order for _, view in self._plans))

    def gap_to_greedy(self, measure: Measure) -> tuple[int, float]:
        """Return in how many queries the greedy ideal is not the best ranking, and by what share at most."""
        alpha, rel = measure.parameters["alpha"], measure.parameters["rel"]
        gaps = [gap_to_greedy(topic, measure.k, alpha, rel) for topic in self.qrels.topics]
        return sum(gap > 0 for gap in gaps), max(gaps, default=0.0)

    def _with_rel(self, measure: AnyMeasure) -> AnyMeasure:
        """Return the measure at the rules' grade, unless it names its own."""
        rel = self.rules.rel
        # A measure of ir_measures keeps its parameters itself, and has its own way to take another grade.
        if rel is not None and isinstance(measure, ForeignMeasure):
            return measure.at(rel)
        if rel is None or not isinstance(measure, Measure) or "rel" not in measure.declared:
            return measure
        # What is said of one measure goes before what is said of all.
        return measure if "rel" in measure.given else measure(rel=rel)

    def _plan(self, measure: AnyMeasure) -> tuple[AnyMeasure, View]:
        # Expected values start from the usual order, and are then taken over all orders of equal scores.
        order = Order() if self.rules.ties == EXPECTED else Order(self.rules.ties)
        # Each provider of ir_measures has an order of its own, which is the usual one of its measures.
        if isinstance(measure, ForeignMeasure) and self.rules.ties == USUAL.ties:
            order = order_of(measure)
        # Without another tool's rules every judgement counts, however low its grade.
        floor = EVERYTHING
        if self.rules.compat:
            measure, order = as_in(self.rules.compat, measure, self.measures)
            floor = FLOORS.get(self.rules.compat, EVERYTHING)
        # ir_measures writes it into the name of a measure: `nDCG(judged_only=True)`.
        judged_only = self.rules.judged_only or (isinstance(measure, ForeignMeasure) and measure.judged_only)
        floor = JUDGED if judged_only else floor
        return measure, View(order, self.rules.depth, judged_only, floor)

    def _floor(self) -> int:
        rules = self.rules
        everything = rules.judged_only or rules.bounds or rules.nuggets_in_qrels is False
        return lowest_grade(self.measures, self.rules.rel, everything)

    def _joining(self, view: View) -> Joining:
        """Return how runs meet the judgements."""
        cutoffs = tuple(sorted({measure.k for measure in self.measures if measure.k}))
        # A measure without a cut-off looks at the whole ranking. Taking unjudged documents out moves others
        # up, from any depth; and for bounds, what nobody judged below the cut-off may be relevant, too.
        is_whole = view.judged_only or self.rules.bounds or any(each.k is None for each in self.measures)
        deepest = None if is_whole else max(cutoffs, default=None)
        return Joining(self.qrels, view, cutoffs, deepest)

    def _refuse_other_chunks(self, source: RunSource, found: Projected) -> None:
        """Refuse a run that holds documents which are none of the chunks that the gold was put on."""
        judged = set(self.qrels.query_ids)
        wanted = [docs for query, docs in source.run().ranked(Order()) if query in judged]
        found.require_chunks(source.name, list(dict.fromkeys(doc for docs in wanted for doc in docs)))

    def _refuse_strangers(self, source: RunSource, notes: Notes) -> None:
        # No query in common is a mistake in the ids; scored, it would be 0.0000.
        if notes.queries_in_run == notes.queries_only_in_run:
            ids, ours = self.qrels.query_ids, source.query_ids
            such_as = f"the run's queries are such as {visible(ours[0])!r}" if ours else ""
            raise InputError(
                at=Place(visible(source.name)),
                problem=f"none of its {notes.queries_in_run:,} queries is judged in"
                f" {visible(self.qrels.name)} ({len(ids):,} queries, such as {visible(ids[0])!r})",
                expected="a run and judgements of the same topics",
                remedy=near_misses(ours, ids) or such_as,
            )

    def _mind_nothing_judged(self, source: RunSource, notes: Notes) -> None:
        if self.rules.nothing_judged == "zero" or any(judged > 0 for judged in notes.judged):
            return
        if self.qrels.spans is not None:  # its ids are of known chunks, and what is no gold there is no hole
            return
        found = self.nothing_judged(source, notes)
        if self.rules.nothing_judged == "error":
            raise found
        # Points at the line of the user's that called rageval, however deep this is.
        warnings.warn(found, stacklevel=_frames_of_ours())

    def _counted(self, included: list[bool], measure: AnyMeasure) -> list[bool]:
        """Return which queries a measure's mean is over."""
        if self.rules.zero_rel != "skip":
            return included
        return list(map(and_, included, self._has_relevant(measure)))

    def _has_relevant(self, measure: AnyMeasure | None = None) -> list[bool]:
        """Return whether each query's judgements hold anything that is relevant to the measure."""
        own, ruled = measure.rel if measure is not None else None, self.rules.rel
        # What is said of the measure goes before what is said of all, and that before the usual 1.
        rel = own if own is not None else ruled if ruled is not None else 1
        # Of gains, all above 0 count, where some are no whole numbers.
        gains = own is None and self.qrels.fractional

        def made() -> list[bool]:
            if gains:
                return [any(grade > 0 for grade in topic.grades) for topic in self.qrels.topics]
            return [topic.relevant(rel) > 0 for topic in self.qrels.topics]

        found: list[bool] = self._keep(("relevant", None if gains else rel), made)
        return found

    def _refuse_levels(self) -> None:
        """Raise `MeasureError` for a measure whose lowest grade is above all, where grades are fractions."""
        for measure in self.measures if self.qrels.fractional else ():
            if measure.rel is not None and measure.rel > self.qrels.highest:
                raise MeasureError(
                    f"{measure}: counts documents graded {measure.rel} or more, but the highest grade in"
                    f" {visible(self.qrels.name)} is {self.qrels.highest}; ask for a measure of gains"
                    " (ndcg@10), or give grades that reach it"
                )

    def _keep(self, key: Any, make: Callable[[], Any]) -> Any:
        """Return what `make` makes of the judgements alone, made once."""
        if key not in self._kept:
            self._kept[key] = make()
        return self._kept[key]

    def _values(
        self, measure: AnyMeasure, rankings: Sequence[Ranking], source: RunSource, view: View
    ) -> list[float]:
        if not isinstance(measure, Measure):
            values = self._foreign_values(measure, source, view)
        elif self.qrels.spans is not None and measure.of_spans:
            seen = ranking_of(source.run(), self.qrels, view)
            values = measure.values(self.qrels.spans.coverings(seen))
        else:
            values = measure.values(rankings)
        return self._defined(measure, values)

    def _defined(self, measure: AnyMeasure, values: Sequence[float]) -> list[float]:
        if self.rules.zero_rel != "nan":
            return list(values)
        relevant = self._has_relevant(measure)
        return [value if known else math.nan for value, known in zip(values, relevant, strict=True)]

    def _tied(self, source: RunSource, joined: Joined) -> dict[int, TiedRanking]:
        """Return the queries that have equal scores, with all their orders."""
        from rageval.scoring._ties import tied, tied_ranks

        ranks = source.each(lambda queries: tied_ranks(queries, self.qrels))
        # Orders of ties are laid over the whole ranking; the depth is cut only when each order is there.
        everything = source.join(Joining(self.qrels, View()))
        rules = self.rules
        return tied(ranks, everything.rankings, joined.rankings, rules.judged_only, rules.depth)

    def _completed(
        self,
        measure: Any,
        values: Sequence[float],
        rankings: Sequence[Ranking],
        source: RunSource,
        view: View,
    ) -> list[list[float]]:
        """Return both ends over all ways to judge the unjudged documents, if that was asked for.

        Where the gold is spans, what is not judged is not gold, but for chunks with a part of a wide span.
        """
        if not self.rules.bounds:
            return []
        from rageval.measures.bounds import Ends, ranked

        bounds, rel = bounds_of(measure), measure.rel if measure.rel is not None else 1
        ends = []
        undecided = self._undecided(source, view)
        for value, ranking in zip(values, rankings, strict=True):
            top = ranked(ranking, measure.k, rel, None if undecided is None else undecided[ranking.query_id])
            # With nothing unjudged the value is certain, and both ends are the value itself, to the last bit.
            is_open = top.unjudged or top.others
            ends.append(bounds.ends(top, measure.parameters) if is_open else Ends(value, value))
        return [self._defined(measure, [end[at] for end in ends]) for at in (0, 1)]

    def _undecided(self, source: RunSource, view: View) -> dict[str, tuple[list[int], int]] | None:
        """Return the ranks of each query's undecided chunks, and their number; None if gold is no spans."""
        if self.qrels.spans is None:
            return None

        seen = ranking_of(source.run(), self.qrels, view)
        chunks = self.qrels.spans.undecided
        return {
            query: (
                [at for at, doc in enumerate(docs, 1) if doc in chunks.get(query, ())],
                len(chunks.get(query, ())),
            )
            for query, docs in seen.items()
        }

    def rankings(self, source: RunSource) -> dict[str, Sequence[str]]:
        """Return the documents of every query, best first, as far as they count."""
        order, depth = Order(self.rules.ties), self.rules.depth
        return {query: docs[:depth] for query, docs in source.run().ranked(order)}

    @property
    def topics(self) -> Mapping[str, Topic]:
        """The judgements of every query."""
        return {topic.query_id: topic for topic in self.qrels.topics}

    def _over_orders(
        self, measure: Any, rankings: Sequence[Ranking], tied: Mapping[int, TiedRanking]
    ) -> list[list[float]]:
        """Return the mean over the orders of equal scores, and both ends if they are known."""
        from rageval.scoring._ties import spread

        # The mean, and the ends where they are known; None stands for an end that would take too long to
        # find.
        found = spread(measure, rankings, tied)
        return [self._defined(measure, values) for values in found if values is not None]

    def _foreign_values(self, measure: ForeignMeasure, source: RunSource, view: View) -> list[float]:
        """Ask ir_measures, in the forms that it takes."""
        rel = measure.rel
        # Some providers are programs that end at what they cannot hold; that is refused here.
        measure.refuse(self.qrels.highest, self.qrels.fractional)
        if measure.wants_nuggets:
            qrels = self._keep(("records", rel), lambda: at_grade(self.qrels, rel))
        else:
            qrels = self._keep(("documents", rel), lambda: collapsed(self.qrels, rel))
        # The run's own scores, unless another order than the provider's is asked for.
        scored = view.order == order_of(measure)
        ranking = ranking_of(source.run(), self.qrels, view, scored)
        values = measure.compute(qrels, ranking, self.qrels.query_ids)
        relevant = self._has_relevant(measure)  # pyndeval divides 0 by 0
        return [
            # Only where nothing is relevant; any other NaN stays NaN, and is counted as undefined.
            0.0 if math.isnan(value) and not known else float(value)
            for value, known in zip(values, relevant, strict=True)
        ]

    def _groups(self, query_ids: list[str]) -> Mapping[str, str] | None:
        groups = self.rules.groups
        if groups is None:
            return None
        require_groups(groups, query_ids, "groups")
        return groups


class Runs:
    """Runs beside judgements of documents: a `Subject`.

    Parameters
    ----------
    evaluator
        The measures, the judgements and the rules.
    sources
        The runs. Two of one name have scores each, and cannot be compared.
    refuses
        Whether a run of which nothing is judged has no scores, and is named with the reason.
    """

    def __init__(self, evaluator: Evaluator, sources: Iterable[RunSource], refuses: bool = False) -> None:
        self.evaluator = evaluator
        self.runs = list(sources)
        self.sources = {source.name: source for source in self.runs}
        self.refuses = refuses
        self.gold: Gold | None = None
        self._labellers: list[tuple[str, Mapping[str, frozenset[str]], Evaluator]] = []

    @cached_property
    def _judged(self) -> dict[str, frozenset[str]]:
        """What the judge judged, the documents of each query."""
        return _judged_documents(self.evaluator.qrels)

    @property
    def rules(self) -> Rules:
        """Everything besides measures and data that a number depends on."""
        return self.evaluator.rules

    @property
    def queries(self) -> list[str]:
        """The queries that count, whichever of them a system answered."""
        return self.evaluator.qrels.query_ids

    def judged_by(self, run: str) -> tuple[set[str], set[str]]:
        """Return who judged a system, and by which rubrics, as far as the judgements say."""
        return set(self.evaluator.qrels.judges), set()

    # What people said, and which runs are alike, is asked for by few: what it needs is imported there.

    def read_gold(self, sources: Sequence[Any], draw: Draw) -> Gold:
        """Return what people said of the same."""
        from rageval.scoring.gold import gold_of_documents

        return gold_of_documents(sources, draw)

    def beside(self, gold: Gold) -> Runs:
        """Return the runs with human labels."""
        found = Runs(self.evaluator, self.runs, self.refuses)
        found.gold = gold
        return found

    def score(self, each: Callable[..., Iterable[Scores]] = map) -> Scored:
        """Score every run; `each` takes what scores one, and all runs, as `map` does."""
        remarks, results, refused = list(self.evaluator.remarks), [], []
        of_all = list(rule_remarks(self.evaluator))
        for source, scores in zip(self.runs, each(self.evaluator.score, self.runs), strict=True):
            # Zeros of a run whose ids match nothing look like a bad system, and are mostly a wrong file.
            is_strange = not scores.judged and self.evaluator.qrels.spans is None
            if self.refuses and is_strange and scores.notes is not None:
                refused.append(self.evaluator.nothing_judged(source, scores.notes))
                continue
            own = run_remarks(scores, self.evaluator)
            results.append(replace(scores, remarks=(*own, *of_all)))
            remarks += own
        scored = Scored(results, [*remarks, *of_all], refused)
        if self.gold is None or not results:
            return scored
        from rageval.scoring.subject import beside

        return beside(self, scored, self.gold)

    def alike(self, results: Sequence[Scores]) -> Alike:
        """Return which systems are the same."""
        from rageval.scoring.likeness import alike

        return alike([self.sources[scores.run] for scores in results], self.evaluator.orders)

    def held(self, scores: Scores) -> Held:
        """Return what a system gave to each query."""
        evaluator, qrels = self.evaluator, self.evaluator.qrels
        source = self.sources[scores.run]
        ranked = evaluator.rankings(source)
        held = Held(
            frozenset(self.queries) - frozenset(source.query_ids),
            {query: short_digest(ranked.get(query, ())) for query in self.queries},
            judgements=_digest_of(qrels),
        )
        rel = self.rules.rel if self.rules.rel is not None else 1
        if self.rules.judged_only or qrels.share_below(rel) < POSITIVES_ONLY:
            return held  # what nobody judged is no hole
        judged, notes = scores.judged_by_query, scores.notes
        if judged:
            held = held._replace(unseen=sum(not number for number in judged.values()) / len(judged))
        if notes is not None and notes.shown:
            unjudged = round(1 - notes.shown_judged / notes.shown, 6)
            held = held._replace(unjudged=unjudged, bounds=self._bounds(source))
        return held

    def _bounds(self, source: RunSource) -> dict[str, tuple[float, float]]:
        """Return between what the means lie whatever unjudged documents are, by measures that know it."""
        able = [
            each for each in self.evaluator.asked if isinstance(each, Measure) and each.bounds is not None
        ]
        said = self.rules
        if not able or said.ties == EXPECTED or said.judged_only or said.compat or said.provider:
            return {}
        found = self.evaluator.by(whole_qrels(self.evaluator.qrels), able, bounds=True).score(source)
        return {str(each.measure): (each.bounds[0], each.bounds[-1]) for each in found.scores if each.bounds}

    def refuse_gold(self, gold: Gold) -> None:
        """Refuse labels that cannot tell the judge's errors."""
        from rageval.scoring.gold import refuse_same

        qrels = self.evaluator.qrels
        if qrels.is_adaptive:
            raise UsageError(f"{visible(qrels.name)}: {ADAPTIVE}; leave out the human labels")
        refuse_same(qrels.judges, gold.by, gold.draw.name)
        if qrels.origin is not None and any(each.origin == qrels.origin for each in gold.documents.values()):
            raise UsageError(f"{visible(gold.draw.name)}: has judgements by the judge; expected human labels")
        if not self._judged.keys() & gold.queries:
            raise InputError(
                at=Place(visible(gold.draw.name)), problem=f"has no query of {visible(qrels.name)}"
            )

    def strangers(self, gold: Gold) -> Iterator[tuple[str, Sequence[str]]]:
        """Yield the human labels without a verdict of the judge."""
        strange = sorted(gold.queries - self._judged.keys())
        if strange:
            yield "queries", strange

    def labels(self, gold: Gold, scores: Scores) -> Iterator[Labels]:
        """Yield what people said of a system, for each of its scores."""
        if not self._labellers:
            # Made once for all runs: each looks through all that was judged.
            self._labellers = [
                (name, _judged_documents(qrels), self.evaluator.by(qrels))
                for name, qrels in gold.documents.items()
            ]
        source, ours = self.sources[scores.run], self._judged
        ranked = self.evaluator.rankings(source)
        theirs = [(name, judged, by.score(source)) for name, judged, by in self._labellers]
        for at, score in enumerate(scores.scores):

            def seen(query: str, k: int | None = score.measure.k) -> frozenset[str]:
                """Return which documents the measure sees of those that the judge judged."""
                return ours[query].intersection(ranked.get(query, ())[:k])

            by_labeller = []
            for name, judged, found in theirs:
                values: dict[str, float | None] = {}
                for query, value in found.scores[at].by_query.items():
                    if query in ours and query in judged and value == value:
                        # A value is people's where they judged all that the measure sees.
                        values[query] = value if seen(query) <= judged[query] else None
                by_labeller.append((name, values))
            # What failed counts where the measure sees it.
            failed = [q for q, docs in gold.failed.items() if q in ours and not seen(q).isdisjoint(docs)]
            yield Labels(by_labeller, failed)


def run_remarks(scores: Scores, evaluator: Evaluator) -> list[Remark]:
    """Return what should be known of one run's scores."""
    return [*_join_remarks(scores, evaluator), *_range_remarks(scores, evaluator)]


def _range_remarks(scores: Scores, evaluator: Evaluator) -> Iterator[Remark]:
    """Yield the range of each score that has one, or should."""
    rules, qrels = evaluator.rules, evaluator.qrels
    for score in scores.scores:
        about = Scope((scores.run,), str(score.measure))
        if score.bounds:
            low, high = score.bounds
            over = "orders" if not rules.bounds else "grades" if qrels.spans is None else "chunks"
            bounds = score.measure.bounds if isinstance(score.measure, Measure) else None
            is_graded = rules.bounds and bounds is not None and bounds.graded
            highest = max(1, qrels.highest) if is_graded else None
            facts = {"low": low, "high": high, "over": over, "highest": highest}
            yield Remark("range_of_value", about, facts)
        elif rules.ties == EXPECTED:
            yield Remark("too_many_orders", about)


def rule_remarks(evaluator: Evaluator) -> Iterator[Remark]:
    """Yield what should be known of the scores of all runs."""
    if evaluator.rules.compat == "ndeval":
        yield Remark("ndeval_order")
    # How far the greedy ideal is from the best ranking, where that one was asked for.
    for measure in evaluator.measures:
        if isinstance(measure, Measure) and measure.parameters.get("ideal") == "exact":
            number, largest = evaluator.gap_to_greedy(measure)
            facts = {"number": number, "total": len(evaluator.qrels.query_ids), "largest": largest}
            yield Remark("gap_to_greedy", Scope(measure=str(measure)), facts)


def _join_remarks(scores: Scores, evaluator: Evaluator) -> Iterator[Remark]:
    """Yield a remark for each thing a careful reader would ask about."""
    notes, rules, about = scores.notes, evaluator.rules, Scope((scores.run,))
    if notes is None:
        return
    if notes.read_here:
        yield Remark("not_read_by_workers", about, {"reason": notes.read_here})
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
    elif notes.nothing_relevant and not (evaluator.qrels.spans and evaluator.qrels.spans.undecided):
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
        above = len([value for value in score.numbers if value > 1 + 1e-9]) if why else 0
        if above:
            of_measure = Scope((scores.run,), str(score.measure))
            yield Remark("above_1", of_measure, {"number": above, "reason": why})
    # Whoever names a lowest grade should hear which measures it says nothing to.
    ruled = scores.scores if rules.rel is not None else ()
    deaf = [str(score.measure) for score in ruled if score.measure.rel is None]
    if deaf:
        yield Remark("rel_without_effect", about, {"rel": rules.rel, "measures": deaf})
    of_nuggets = any(score.measure.wants_nuggets for score in scores.scores)
    is_told = evaluator.qrels.spans is not None or rules.nuggets_in_qrels is not None
    if of_nuggets and not evaluator.qrels.has_nuggets and not is_told:
        yield Remark("one_nugget_per_query", about)


def _unjudged_remarks(scores: Scores, evaluator: Evaluator) -> Iterator[Remark]:
    """How many queries, and what share of the top documents, nobody judged."""
    notes, rules, about = scores.notes, evaluator.rules, Scope((scores.run,))
    if notes is None or not scores.judged or evaluator.qrels.spans is not None:
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
    share = evaluator._keep(("share below", rel), lambda: evaluator.qrels.share_below(rel))
    are_meant = rules.judged_only or share < POSITIVES_ONLY
    if not are_meant and holes and holes >= _MANY_HOLES * notes.shown:
        cutoffs = [measure.k for measure in evaluator.measures if measure.k]
        # What is looked at is not deeper than --depth.
        depth = min(max(cutoffs), rules.depth or max(cutoffs))
        facts = {"share": holes / notes.shown, "depth": depth, "has_bounds": bool(rules.bounds)}
        yield Remark("unjudged_documents", about, facts)


def _judged_documents(qrels: Qrels) -> dict[str, frozenset[str]]:
    return {query: frozenset(docs) for query, docs, _ in whole_qrels(qrels).documents()}


def _digest_of(qrels: Qrels) -> str:
    """Return the digest of judgements as sorted lines, whatever file, order or packing they came in.

    Of spans it is theirs, whatever the chunks.
    """
    if qrels.spans is not None:
        return qrels.spans.sha
    rows = whole_qrels(qrels)
    return digest(sorted(f"{row.query_id} {row.iteration} {row.doc_id} {row.relevance}" for row in rows))


def _first_documents(queries: Iterable[Documents], wanted: Collection[str]) -> dict[str, list[str]]:
    """Return the documents of the wanted queries, as they stand in the run, until there are many."""
    found: dict[str, list[str]] = {}
    left = _LOOKED_AT
    for documents in queries:
        # Ids were checked when they were read; half a character is passed on as it is.
        query = documents.query.decode("utf-8", "surrogatepass")
        if query in wanted:
            found[query] = [doc.decode("utf-8", "surrogatepass") for doc in documents.docs[:left]]
            left -= len(found[query])
        if not left:
            break
    return found


@overload
def evaluate(  # type: ignore[overload-overlap]  # text is one run, though a sequence of texts
    measures: MeasuresLike,
    run: RunLike,
    qrels: QrelsLike,
    *,
    executor: Executor | None = None,
    gold: QrelsLike | None = None,
    gold_chosen: ChosenLike | None = None,
    **rules: Unpack[RunOptions],
) -> Scores: ...


@overload
def evaluate(
    measures: MeasuresLike,
    run: RunsLike,
    qrels: QrelsLike,
    *,
    executor: Executor | None = None,
    gold: QrelsLike | None = None,
    gold_chosen: ChosenLike | None = None,
    **rules: Unpack[RunOptions],
) -> ScoresTable: ...


def evaluate(
    measures: MeasuresLike,
    run: RunLike | RunsLike,
    qrels: QrelsLike,
    *,
    executor: Executor | None = None,
    gold: QrelsLike | None = None,
    gold_chosen: ChosenLike | None = None,
    **rules: Unpack[RunOptions],
) -> Scores | ScoresTable:
    """Score a run, or several, against judgements.

    Parameters
    ----------
    measures
        A measure, its name, several names in one text, or a list of these.
    run
        A path, a `Run`, `{query: {document: score}}`, a DataFrame or records. Several runs are `{name: run}`,
        or a list of runs that have names (paths, or `Run`).
    qrels
        The judgements: a path, the id of a dataset, a `Qrels`, `{query: {nugget: {document: grade}}}`, a
        DataFrame or records.
    executor
        Read a large file in parts with the workers of this executor (of `concurrent.futures`, or alike).
    gold
        Human labels of some of the queries, with which `compare` corrects a model's `qrels`.
    gold_chosen
        How these queries were chosen: `"uniform"`, a plan (a file of `rageval label plan`), or the
        probability of each query, as {query: probability} or a file.
    **rules
        The options of `rageval.scoring.rules.Rules`: `ties`, `depth`, `compat`, `bounds`, …

    Returns
    -------
    Scores or ScoresTable
        The scores of one run; of several runs a dict from their names to these, which is shown as a table.

    Raises
    ------
    InputError
        A file or data that cannot be scored as it is.
    MeasureError
        An unknown measure, or one that cannot take these inputs.

    Examples
    --------
    >>> scores = evaluate("coverage@1", {"q": {"a": 2.0, "b": 1.0}}, {"q": {"n1": {"a": 1}, "n2": {"b": 1}}})
    >>> scores["coverage@1"].value
    0.5
    >>> runs = {"one": {"q": {"a": 2.0, "b": 1.0}}, "other": {"q": {"b": 2.0, "a": 1.0}}}
    >>> evaluate("rr", runs, {"q": {"a": 1}})["other"]["rr"].value
    0.5
    """
    from rageval.scoring.arguments import in_order

    order = "evaluate(measures, run, qrels)"
    files = {"run": run, "qrels": qrels, "gold": gold}
    with in_order(order, files, measures=measures, run=run, qrels=qrels):
        evaluator = Evaluator(measures, qrels, **rules)
        sources, are_several = runs_of(run)
        subject = Runs(evaluator, sources if gold is None else [source.in_memory() for source in sources])
        if gold is not None:
            from rageval.scoring.gold import drawn

            subject = subject.beside(subject.read_gold([gold], drawn(gold_chosen)))
        scored = subject.score(_with(executor))
    for remark in scored.unsaid:
        warnings.warn(str(remark), stacklevel=2)
    return scored.table if are_several else next(iter(scored.table.values()))


def _with(executor: Executor | None) -> Callable[..., Iterable[Scores]]:
    """Return what scores all runs, as `map` does, with the workers of an executor."""
    return lambda score, sources: (score(source, executor) for source in sources)


def _frames_of_ours() -> int:
    """Return how many calls up the code stands that called rageval, seen from the caller of this."""
    level, frame = 1, sys._getframe(1).f_back
    # Warnings are to point at the user's line: we go up until a frame is not of this package.
    while frame is not None and str(frame.f_globals.get("__name__")).partition(".")[0] == "rageval":
        level, frame = level + 1, frame.f_back
    return level + 1


def lowest_grade(measures: Sequence[AnyMeasure], rel: int | None, everything: bool = False) -> int:
    """Return the lowest grade that any measure asks for; judgements below need not be kept."""
    if everything or any(measure.sees_all for measure in measures):
        return EVERYTHING
    # 1 is the usual grade of relevance; a measure may look for lower ones, never need only higher ones.
    return min([1, *(grade for grade in (rel, *(measure.rel for measure in measures)) if grade is not None)])


def _of_spans(measure: object) -> bool:
    return isinstance(measure, Measure) and measure.of_spans


def bounds_of(measure: object) -> Bounds:
    """Return the bounds that a measure declares; `MeasureError` if it declares none."""
    bounds = measure.bounds if isinstance(measure, Measure) else None
    if bounds is None:
        from rageval.measures import builtin

        known = ", ".join(name for name, ours in builtin().items() if ours.about.bounds)
        raise MeasureError(
            f"{measure}: no bounds are known (only for {known}); leave out bounds or the measure"
        )
    return bounds
