"""Measures meet data: one run and one set of judgements in, a value a measure and query out."""

from __future__ import annotations

import gc
import math
import sys
import warnings
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import compress
from operator import and_
from typing import TYPE_CHECKING, Any, Self, TypeVar, Unpack, overload

from rageval import hooks
from rageval.core.remark import Remark, Scope
from rageval.core.signature import short_digest
from rageval.errors import InputError, MeasureError, NothingJudged, Place, UsageError
from rageval.measures.base import COVERING, Measure
from rageval.measures.exact_ideal import gap_to_greedy
from rageval.measures.foreign import ForeignMeasure, by_provider
from rageval.measures.parsing import AnyMeasure, parse_measures
from rageval.measures.ranking import Topic
from rageval.names import near_misses, unlike_ids
from rageval.scoring._ties import check_expected
from rageval.scoring.arguments import in_order
from rageval.scoring.likeness import Likenesses, find_likenesses
from rageval.scoring.qrels import Qrels
from rageval.scoring.rules import (
    EXPECTED,
    FLOORS,
    JUDGED,
    USUAL,
    Rules,
    as_in,
    order_of,
    rules_of,
)
from rageval.scoring.run_remarks import (
    POSITIVES_ONLY,
    judgement_remarks,
    lacking_nuggets,
    rule_remarks,
    run_remarks,
)
from rageval.scoring.runs import EVERYTHING, Documents, Order, View
from rageval.scoring.scorers import JoinedRun, bounds_of, scorer_for
from rageval.scoring.scores import (
    RunFingerprint,
    Score,
    Scored,
    Scores,
    ScoresTable,
    no_remarks,
    require_groups,
)
from rageval.scoring.sources import (
    Joining,
    Notes,
    RunSource,
    as_qrels,
    is_bare,
    one_run,
    portable,
    runs_of,
    whole_qrels,
)
from rageval.subjects import RUNS, SubjectKind, kind_of_measure, require_kind
from rageval.text import count_noun, visible

if TYPE_CHECKING:
    from rageval.scoring.gold import Draw, Gold
    from rageval.typing import ChosenLike, Executor, MeasuresLike, QrelsLike, RunLike, RunOptions, RunsLike

_Made = TypeVar("_Made")
_RemarksOf = Callable[[Scores], Iterable[Remark]]
_LOOKED_AT = 50_000  # documents, in search of why none is judged


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
        # Whether a run has the steps that some of them ask for is seen when it is scored.
        require_kind(RUNS, self.asked, or_narrower=True)
        self.rules.require_rankings(self.asked)
        # First the grade, then the provider: a provider is asked for the measure as it will be computed.
        self.measures: list[AnyMeasure] = []
        for measure in map(self._with_rel, self.asked):
            provider = self.rules.provider
            self.measures.append(by_provider(measure, provider) if provider else measure)
        if self.rules.ties == EXPECTED:
            check_expected(self.measures)
        if self.rules.bounds:
            for measure in self.measures:
                bounds_of(measure)
        self.qrels: Qrels = as_qrels(qrels, self._floor())
        # Told from a run by its numbers alone, and these are like scores.
        self._may_be_a_run = self.qrels.fractional and is_bare(qrels)
        if self.rules.nuggets_in_qrels is False:
            self.qrels = self.qrels.without_nuggets()
        self._refuse_levels()
        self._weight_remarks: list[Remark] = []
        self._weights_digest = ""
        if self.rules.intent_weights is not None:
            weighed = hooks.with_intent_weights(self.qrels, self.rules.intent_weights, self.measures)
            self.qrels, self._weight_remarks, self._weights_digest = weighed
        self._memo: dict[Any, Any] = {}
        self._plans = [self._plan(measure) for measure in self.measures]
        # Measures of one view share one pass over the run; providers of ir_measures read the run themselves.
        own = [view for measure, view in self._plans if isinstance(measure, Measure)]
        self._views = list(dict.fromkeys(own or [self._plans[0][1]]))
        # Whatever looks at the run a second time needs it kept; everything else reads it once and forgets it.
        is_read_once = len(self._views) == 1 and len(own) == len(self._plans) and not self.qrels.looks_at_run
        self._looks_twice = self.rules.ties == EXPECTED or not is_read_once
        self._fingerprint = self.qrels.fingerprint()
        if not self.qrels.query_ids:
            raise InputError(
                at=Place(self.qrels.name), problem="holds no judgements", expected="judgements of documents"
            )
        of_runs = [str(measure) for measure in self.measures if kind_of_measure(measure) is RUNS]
        if of_runs and self.qrels.is_empty:
            raise MeasureError(
                f"{of_runs[0]}: needs judgements of documents, and {self.qrels.name} holds none"
            )
        for measure in self.measures:
            if isinstance(measure, Measure) and measure.argument == COVERING:
                self.qrels.require_spans(measure)
        if not self.rules.bounds:
            self.qrels.refuse_undecided("use --bounds to see the possible range,")
        # Judgements that were read for other measures may lack the low grades that these ones look at.
        if self.qrels.floor > self._floor():
            raise UsageError(f"{self.qrels.name}: was read without grades below {self.qrels.floor}")

    def __getstate__(self) -> dict[str, Any]:
        # Sent to a worker with all that is known of the judgements; what is kept can be made again there.
        return self.__dict__ | {"qrels": portable(self.qrels), "_memo": {}}

    def refuse_without_nuggets(self) -> None:
        """Raise `MeasureError` if a measure asks for nuggets, and the judgements name none."""
        if remark := lacking_nuggets(self):
            raise MeasureError(str(remark))

    @property
    def signatures(self) -> dict[str, str]:
        """The signature of each measure, whatever the run."""
        plans = zip(self.measures, self._plans, strict=True)
        return {str(measure): self._signature(*plan, {}) for measure, plan in plans}

    @cached_property
    def remarks(self) -> list[Remark]:
        """What should be known of the judgements, whatever the run."""
        return judgement_remarks(self, self._weight_remarks)

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
        with in_order("Evaluator.evaluate(run)", run=run):
            return self._without_collecting(one_run(run), executor, self._remarks_of)

    def _remarks_of(self, scores: Scores) -> list[Remark]:
        return [*self.remarks, *run_remarks(scores, self), *rule_remarks(self)]

    def score(self, source: RunSource, executor: Executor | None = None) -> Scores:
        """Score one run, without remarks."""
        return self._without_collecting(source, executor, no_remarks)

    def _without_collecting(self, source: RunSource, executor: Any, remarks_of: _RemarksOf) -> Scores:
        # Scoring makes many small objects and no cycles: the collector would only look through them again and
        # again.
        was_on = gc.isenabled()
        gc.disable()
        try:
            return self._score(source, executor, remarks_of)
        finally:
            if was_on:
                gc.enable()

    def _score(self, source: RunSource, executor: Any, remarks_of: _RemarksOf) -> Scores:
        if executor is not None:
            source = hooks.run_in_parts(source, executor)
        if self._looks_twice:
            source = source.in_memory()
        source.require_measures(self.asked)
        if self._may_be_a_run and source.may_be_grades:
            raise InputError(
                at=Place(visible(source.name)),
                problem="this run has whole numbers, as grades are, and the judgements have fractions, as"
                " scores are",
                expected="the run before the judgements",
                remedy="if they are in order, write the scores with a decimal point (2.0)",
            )
        self.qrels.refuse_other_documents(source.name, source.run)
        joinings = self.memo("joinings", lambda: {view: self._joining(view) for view in self._views})
        joined = {view: source.join(joining) for view, joining in joinings.items()}
        first = joined[self._views[0]]
        notes = first.notes
        # By the usual grade: each measure may mean another one, and this is said once for all of them.
        notes.queries_without_relevant = self._has_relevant().count(False)
        self._require_common_queries(source, notes)
        self._check_nothing_judged(source, notes)
        # Below 0 stands for a query that the run does not hold.
        included = [judged >= 0 or not self.rules.leaves_out for judged in notes.judged]
        names = self.qrels.query_ids
        run = JoinedRun(source, joined, self.qrels, self.rules, self.measures)
        scores = []
        context = source.context
        signatures = self.memo(
            ("signatures", *context), lambda: [self._signature(*plan, context) for plan in self._plans]
        )
        scorers = self.memo(
            "scorers",
            lambda: [scorer_for(*plan, self.rules, self.memo, self._has_relevant) for plan in self._plans],
        )
        plans = zip(self._plans, scorers, self.measures, self.asked, signatures, strict=True)
        for (measure, _), scorer, shown, asked, signature in plans:
            # Which queries count may differ by measure, as each has its own grade from which a document is
            # relevant.
            counted = self._counted_queries(included, measure)
            query_ids = list(compress(names, counted))
            # The values, and perhaps the lower and the upper ends; all lose the queries that do not count.
            columns = (self._defined(measure, column) for column in scorer.score(run))
            values, *ends = (list(compress(column, counted)) for column in columns)
            fields: Any = {"groups": self._groups(query_ids), "asked": asked, "said_by": self.qrels.judges}
            fields["conversations"] = source.conversations
            score = Score(shown, query_ids, values, notes.queries_missing, signature, **fields)
            if ends:
                # Means like the value itself, of the same queries, pooled or grouped the same way.
                bounds = tuple(replace(score, numbers=end).value for end in ends)
                score = replace(score, bounds=bounds)
            if self.qrels.undecided:
                score = replace(score, numbers=[math.nan] * len(values))  # a range, and never a point
            scores.append(score)
        # Below 0 stands for a query that the run does not hold, which is something else than one of which
        # nothing is judged.
        judged = {name: number for name, number in zip(names, notes.judged, strict=True) if number >= 0}
        absent = frozenset(names) - judged.keys()
        fields = {"is_adaptive": self.qrels.is_adaptive, "absent": absent, "made_by": self._fingerprint}
        fields["is_foreign"] = self._is_foreign(notes)
        return Scores(source.name, tuple(scores), notes, judged, remarks_of=remarks_of, **fields)

    def _signature(self, measure: AnyMeasure, view: View, of_run: Mapping[str, str]) -> str:
        """Return the measure's signature, with the judges of documents where they are known."""
        context = dict(of_run) if kind_of_measure(measure) is RUNS else {}
        if self.qrels.judges:
            context["judge"] = "+".join(map(visible, self.qrels.judges))
        if self.qrels.is_adaptive:
            context["pool"] = "adaptive"
        if self._weights_digest:
            context["intent_weights"] = self._weights_digest
        context |= self.qrels.provenance
        return self.rules.signature(measure, view, **context)

    def by(
        self, qrels: QrelsLike, measures: MeasuresLike | None = None, **rules: Unpack[RunOptions]
    ) -> Evaluator:
        """Return measures, the same ones by default, under the same rules but these; without groups."""
        ours: dict[str, Any] = {name: getattr(self.rules, name) for name in RUNS.rules}
        # Groups name the queries of these judgements; others may hold fewer, which is no error here.
        ours |= {"groups": None, "nothing_judged": "zero", **rules}
        return Evaluator(self.asked if measures is None else measures, qrels, **ours)

    def why_nothing_judged(self, source: RunSource, notes: Notes) -> Remark:
        """Return how the ids of a run differ from the judged ones, where none is judged."""
        common = {
            query for query, judged in zip(self.qrels.query_ids, notes.judged, strict=True) if judged >= 0
        }
        documents = whole_qrels(self.qrels).documents()
        # Ids are compared within one query only: that is where they should have been the same.
        theirs = {query: list(docs) for query, docs, _ in documents if query in common}
        ours = source.each(lambda queries: _first_documents(queries, common))
        # With a cause, if there seems to be one.
        facts = unlike_ids(notes.retrieved, ours, theirs)._asdict()
        return Remark("nothing_judged_of_run", Scope((source.name,)), facts)

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
        # Cut-offs of other measures, as of trajectories, are no ranks.
        ranks = [measure.k if kind_of_measure(measure) is RUNS else None for measure in self.measures]
        cutoffs = tuple(sorted({rank for rank in ranks if rank}))
        # A measure without a cut-off looks at the whole ranking. Taking unjudged documents out moves others
        # up, from any depth; and for bounds, what nobody judged below the cut-off may be relevant, too.
        is_whole = view.judged_only or self.rules.bounds or None in ranks
        deepest = None if is_whole else max(cutoffs, default=None)
        return Joining(self.qrels, view, cutoffs, deepest)

    def _require_common_queries(self, source: RunSource, notes: Notes) -> None:
        # No query in common is a mistake in the ids; scored, it would be 0.0000.
        if notes.queries_in_run == notes.queries_only_in_run:
            ids, ours = self.qrels.query_ids, source.query_ids
            if not ours:
                raise InputError(
                    at=Place(visible(source.name)),
                    problem="is empty",
                    expected="documents and scores",
                )
            such_as = f"the run's queries are such as {visible(ours[0])!r}" if ours else ""
            raise InputError(
                at=Place(visible(source.name)),
                problem=f"none of its {count_noun(notes.queries_in_run, 'query')} is judged in"
                f" {visible(self.qrels.name)} ({count_noun(len(ids), 'query')}, such as {visible(ids[0])!r})",
                expected="a run and judgements of the same topics",
                remedy=near_misses(ours, ids) or such_as,
            )

    def _is_foreign(self, notes: Notes) -> bool:
        """Return whether somebody judged documents, and none of those that the run retrieved."""
        is_judged = any(judged > 0 for judged in notes.judged)
        return not (is_judged or self.qrels.is_complete or self.qrels.is_empty)

    def _check_nothing_judged(self, source: RunSource, notes: Notes) -> None:
        if self.rules.nothing_judged == "zero" or not self._is_foreign(notes):
            return
        problem = NothingJudged(problem=str(self.why_nothing_judged(source, notes)))
        if self.rules.nothing_judged == "error":
            raise problem
        # Points at the line of the user's that called rageval, however deep this is.
        warnings.warn(problem, stacklevel=_frames_of_ours())

    def _counted_queries(self, included: list[bool], measure: AnyMeasure) -> list[bool]:
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

        def compute() -> list[bool]:
            if gains:
                return [any(grade > 0 for grade in topic.grades) for topic in self.qrels.topics]
            return [topic.relevant(rel) > 0 for topic in self.qrels.topics]

        flags: list[bool] = self.memo(("relevant", None if gains else rel), compute)
        return flags

    def _refuse_levels(self) -> None:
        """Raise `MeasureError` for a measure whose lowest grade is above all, where grades are fractions."""
        for measure in self.measures if self.qrels.fractional else ():
            if measure.rel is not None and measure.rel > self.qrels.highest:
                raise MeasureError(
                    f"{measure}: counts documents graded {measure.rel} or more, but the highest grade in"
                    f" {visible(self.qrels.name)} is {self.qrels.highest}; ask for a measure of gains"
                    " (ndcg@10), or give grades that reach it"
                )

    def memo(self, key: Hashable, make: Callable[[], _Made]) -> _Made:
        """Return what `make` makes of the judgements alone, made once."""
        if key not in self._memo:
            self._memo[key] = make()
        value: _Made = self._memo[key]
        return value

    def _defined(self, measure: AnyMeasure, values: Sequence[float]) -> list[float]:
        if self.rules.zero_rel != "nan":
            return list(values)
        relevant = self._has_relevant(measure)
        return [value if is_defined else math.nan for value, is_defined in zip(values, relevant, strict=True)]

    def rankings(self, source: RunSource) -> dict[str, Sequence[str]]:
        """Return the documents of every query, best first, as far as they count."""
        order, depth = Order(self.rules.ties), self.rules.depth
        return {query: docs[:depth] for query, docs in source.run().ranked(order)}

    @property
    def topics(self) -> Mapping[str, Topic]:
        """The judgements of every query."""
        return {topic.query_id: topic for topic in self.qrels.topics}

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

    kind: SubjectKind = RUNS

    def __init__(self, evaluator: Evaluator, sources: Iterable[RunSource], refuses: bool = False) -> None:
        self.evaluator = evaluator
        self.runs = list(sources)
        self.sources = {source.name: source for source in self.runs}
        self.refuses = refuses
        self.gold: Gold | None = None

    @property
    def rules(self) -> Rules:
        """Everything besides measures and data that a number depends on."""
        return self.evaluator.rules

    @property
    def systems(self) -> list[str]:
        """The runs, by name, whether anything of them is judged or not."""
        return list(self.sources)

    @property
    def queries(self) -> list[str]:
        """The queries that count, whichever of them a system answered."""
        return self.evaluator.qrels.query_ids

    def judged_by(self, run: str) -> tuple[set[str], set[str]]:
        """Return who judged a system, and by which rubrics, as far as the judgements say."""
        return set(self.evaluator.qrels.judges), set()

    def require_comparable(self) -> None:
        """Raise `UsageError` for bounds of spans, which are of one run alone."""
        if self.rules.bounds and self.evaluator.qrels.is_complete:
            raise UsageError(
                "--bounds of spans works for single runs only (rageval score); leave it out here"
            )

    def read_gold(self, sources: Sequence[Any], draw: Draw) -> Gold:
        """Return what people said of the same."""
        gold: Gold = hooks.gold_of_documents(sources, draw)
        return gold

    def with_gold(self, gold: Gold) -> Self:
        """Return the runs with human labels."""
        labeled = type(self)(self.evaluator, self.runs, self.refuses)
        labeled.gold = gold
        return labeled

    def score(self, run_all: Callable[..., Iterable[Scores]] = map) -> Scored:
        """Score every run; `run_all` takes what scores one, and all runs, as `map` does."""
        remarks, results, refused = list(self.evaluator.remarks), [], []
        of_all = list(rule_remarks(self.evaluator))
        for source, scores in zip(self.runs, run_all(self.evaluator.score, self.runs), strict=True):
            # Zeros of a run whose ids match nothing look like a bad system, and are mostly a wrong file.
            if self.refuses and scores.is_foreign and scores.notes is not None:
                refused.append(self.evaluator.why_nothing_judged(source, scores.notes))
                continue
            own = run_remarks(scores, self.evaluator)
            results.append(scores.with_remarks([*own, *of_all]))
            remarks += own
        scored = Scored(results, [*remarks, *of_all], refused)
        if self.gold is None or not results:
            return scored
        labels = hooks.run_labels(self.evaluator, self.sources, self.gold)
        with_people: Scored = hooks.with_people(scored, labels)
        return with_people

    def likenesses(self, results: Sequence[Scores]) -> Likenesses:
        """Return which systems are the same."""
        return find_likenesses([self.sources[scores.run] for scores in results], self.evaluator.orders)

    def fingerprint(self, scores: Scores) -> RunFingerprint:
        """Return what a system gave to each query."""
        evaluator, qrels = self.evaluator, self.evaluator.qrels
        source = self.sources[scores.run]
        ranked = evaluator.rankings(source)
        content = RunFingerprint(
            frozenset(self.queries) - frozenset(source.query_ids),
            {query: short_digest(self._content(source, query, ranked)) for query in self.queries},
            judgements=whole_qrels(qrels).digest(),
        )
        rel = self.rules.rel if self.rules.rel is not None else 1
        if self.rules.judged_only or qrels.share_below(rel) < POSITIVES_ONLY:
            return content  # what nobody judged is no hole
        judged, notes = scores.judged_by_query, scores.notes
        if judged:
            content = content._replace(unseen=sum(not number for number in judged.values()) / len(judged))
        if notes is not None and notes.shown:
            unjudged = round(1 - notes.shown_judged / notes.shown, 6)
            content = content._replace(unjudged=unjudged, bounds=self._bounds(source))
        return content

    @staticmethod
    def _content(source: RunSource, query: str, ranked: Mapping[str, Sequence[str]]) -> Sequence[str]:
        """Return the documents of a query, and what else tells what the run holds of it."""
        docs = ranked.get(query, ())
        return [*docs, source.details[query]] if query in source.details else docs

    def _bounds(self, source: RunSource) -> dict[str, tuple[float, float]]:
        """Return between what the means lie whatever unjudged documents are, by measures that know it."""
        able = [measure for measure in self.evaluator.asked if measure.bounds is not None]
        rules = self.rules
        if not able or rules.ties == EXPECTED or rules.judged_only or rules.compat or rules.provider:
            return {}
        scores = self.evaluator.by(whole_qrels(self.evaluator.qrels), able, bounds=True).score(source)
        return {
            str(score.measure): (score.bounds[0], score.bounds[-1]) for score in scores.scores if score.bounds
        }


def _first_documents(queries: Iterable[Documents], requested: Collection[str]) -> dict[str, list[str]]:
    """Return the documents of the requested queries, as they stand in the run, until there are many."""
    docs_by_query: dict[str, list[str]] = {}
    left = _LOOKED_AT
    for documents in queries:
        # Ids were checked when they were read; half a character is passed on as it is.
        query = documents.query.decode("utf-8", "surrogatepass")
        if query in requested:
            docs_by_query[query] = [doc.decode("utf-8", "surrogatepass") for doc in documents.docs[:left]]
            left -= len(docs_by_query[query])
        if not left:
            break
    return docs_by_query


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
    order = "evaluate(measures, run, qrels)"
    files = {"run": run, "qrels": qrels, "gold": gold}
    with in_order(order, files, measures=measures, run=run, qrels=qrels):
        evaluator = Evaluator(measures, qrels, **rules)
        sources, are_several = runs_of(run)
        subject = Runs(evaluator, sources if gold is None else [source.in_memory() for source in sources])
        if gold is not None:
            subject = subject.with_gold(subject.read_gold([gold], hooks.drawn(gold_chosen)))
        scored = subject.score(lambda score, sources: (score(source, executor) for source in sources))
    for remark in scored.unsaid:
        warnings.warn(str(remark), stacklevel=2)
    return scored.table if are_several else next(iter(scored.table.values()))


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
