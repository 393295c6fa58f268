"""Systems beside one another: values with intervals, differences with tests, and what may be claimed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

import numpy as np

from rageval import hooks
from rageval.comparison.clusters import clusters_among
from rageval.comparison.difference_tests import RANDOMIZATION, STUDENT, STUDENTIZED
from rageval.comparison.estimates import estimate_mean, estimate_means
from rageval.comparison.frontier import frontier_of, require_frontier
from rageval.comparison.intervals import _sample, with_conversations
from rageval.comparison.pairs import (
    RunFacts,
    Tested,
    best_among,
    best_of,
    better_direction,
    doubt_of_best,
    failures,
    gold_remarks,
    gold_signature,
    is_corrected,
    pairs_by_kind,
    tables,
    why_incomparable,
)
from rageval.comparison.results import (
    BEST,
    Cell,
    Comparison,
    Pair,
    Settings,
    claimed,
)
from rageval.core.estimate import Estimate
from rageval.core.remark import Remark, Scope, unique
from rageval.core.ruling import Ruling
from rageval.errors import MeasureError, UsageError
from rageval.measures.base import LOWER as LOW_IS_GOOD
from rageval.measures.base import MEAN, NEITHER, POOL, SUM, TOGETHER, Measure
from rageval.measures.bounds import Retrieved
from rageval.measures.ranking import Topic
from rageval.names import suggestion
from rageval.scoring.answers import Answers, by_judge
from rageval.scoring.evaluation import Evaluator, Runs
from rageval.scoring.gold import drawn
from rageval.scoring.likeness import Likenesses
from rageval.scoring.qrels import Qrels
from rageval.scoring.rules import EXPECTED, Rules
from rageval.scoring.scorers import bounds_of
from rageval.scoring.scores import EXAMPLES, Score, Scored, Scores, ScoresTable
from rageval.scoring.sources import named_sources
from rageval.scoring.subject import Subject
from rageval.statistics.agreement import components
from rageval.statistics.bootstrap import FEW, few_differ, is_coarse
from rageval.statistics.power import fewest
from rageval.statistics.samples import SLACK, Float
from rageval.statistics.significance import is_skewed
from rageval.text import visible

if TYPE_CHECKING:
    from rageval.typing import ChosenLike, MeasuresLike, QrelsLike, RunLike, RunOptions


# Say whether another judge, one vote or nugget less, or more judgements would have ranked systems otherwise.
#
# The share of (pair of systems, change) in which the order of the two is turned round. A pair that is equal
# before, or becomes equal, is not turned round.

_Rankings = Mapping[str, Sequence[str]]


class _Sensitivity(NamedTuple):
    """What was changed, how often the order of a pair turned, of how many, and the pair that turned most.

    The change is one `nugget` or `vote` less, or another `judge`.
    """

    change: str
    swaps: int
    trials: int
    worst: tuple[str, str] | None

    @property
    def share(self) -> float:
        """Of all pairs and changes."""
        return self.swaps / self.trials if self.trials else 0.0

    def as_facts(self) -> dict[str, Any]:
        """Return what a remark says of it."""
        return {"change": self.change, "share": self.share, "most_often": self.worst or ()}


def _count_swaps(change: str, names: Sequence[str], before: Float, after: Float) -> _Sensitivity:
    """Count how often pairs turn: `before` is a mean a system, `after` a row a change.

    >>> after = np.array([[0.5, 0.6], [0.6, 0.5]])
    >>> sensitivity = _count_swaps("judge", ["a", "b"], np.array([0.5, 0.4]), after)
    >>> sensitivity.swaps, sensitivity.trials, sensitivity.worst
    (1, 2, ('a', 'b'))
    """
    first, second = np.triu_indices(len(names), 1)
    was = _sign(before[first] - before[second])
    is_now = _sign(after[:, first] - after[:, second])
    times = (was * is_now < 0).sum(axis=0)
    worst = None
    if times.any():
        index = int(np.argmax(times))
        worst = names[int(first[index])], names[int(second[index])]
    return _Sensitivity(change, int(times.sum()), len(after) * len(first), worst)


def _sign(difference: Float) -> Float:
    sign: Float = np.where(np.abs(difference) <= SLACK, 0.0, np.sign(difference))
    return sign


def without_a_nugget(
    measure: Measure, qrels: Qrels, runs: Mapping[str, _Rankings], values: Mapping[str, Mapping[str, float]]
) -> _Sensitivity:
    """Return what happens when any one nugget is not there; `values` are those of each run, by query.

    Every query is scored once without each of its nuggets; a query with a single nugget is skipped.
    """
    nuggets: dict[str, dict[str, dict[str, int | float]]]
    nuggets = {query: {nugget: {} for nugget in qrels.nuggets(query)} for query in qrels.query_ids}
    for query_id, doc_id, grade, nugget_id in qrels:
        nuggets[query_id][nugget_id][doc_id] = grade
    lacking = [
        (query, nugget) for query, by_nugget in nuggets.items() if len(by_nugget) > 1 for nugget in by_nugget
    ]
    names = list(runs)
    before = np.array([list(values[run].values()) for run in names]).mean(axis=1)
    if not lacking:
        return _count_swaps("nugget", names, before, np.zeros((0, len(names))))
    reduced = {
        str(index): {other: docs for other, docs in nuggets[query].items() if other != nugget}
        for index, (query, nugget) in enumerate(lacking)
    }
    evaluator = Evaluator(measure, Qrels.from_dict(reduced), nothing_judged="zero")
    columns = []
    for run, mean in zip(names, before.tolist(), strict=True):
        rankings = {str(index): runs[run].get(query, ()) for index, (query, _) in enumerate(lacking)}
        ranked = {
            query: {doc: -float(rank) for rank, doc in enumerate(docs)}
            for query, docs in rankings.items()
            if docs
        }
        # Who retrieved nothing for any of them has 0 everywhere, and is no run.
        scores = evaluator.evaluate(ranked)[measure].values if ranked else np.zeros(len(lacking))
        change = scores - np.array([values[run][query] for query, _ in lacking])
        columns.append(mean + change / len(values[run]))
    return _count_swaps("nugget", names, before, np.array(columns).T)


def _judge_sensitivities(names: Sequence[str], tables: Sequence[Float]) -> list[_Sensitivity]:
    """Try each judge alone, and each panel without one; a table a system, a row a judge, a column a query."""
    judges = len(tables[0])

    def means(kept: Sequence[int]) -> Float:
        return np.array([_mean_of_panel(table[list(kept)]) for table in tables])

    everyone = means(range(judges))
    alone = np.array([means([judge]) for judge in range(judges)])
    sensitivities = [_count_swaps("judge", names, everyone, alone)]
    if judges > 2:
        fewer = [means([other for other in range(judges) if other != judge]) for judge in range(judges)]
        sensitivities.append(_count_swaps("vote", names, everyone, np.array(fewer)))
    return sensitivities


def _mean_of_panel(table: Float) -> float:
    """Return the mean over queries of the mean over judges, of the defined values."""
    is_defined = ~np.isnan(table)
    total = np.where(is_defined, table, 0.0).sum(axis=0)
    over_judges: Float = np.full(table.shape[1], np.nan)
    np.divide(total, is_defined.sum(axis=0), out=over_judges, where=is_defined.any(axis=0))
    defined = over_judges[~np.isnan(over_judges)]
    return float(defined.mean()) if len(defined) else float("nan")


def under_every_completion(comparison: Comparison, runs: Runs, results: Sequence[Scores]) -> Comparison:
    """Return the comparison with what holds for each pair, however the unjudged documents are judged."""
    pairs = []
    evaluator = runs.evaluator
    documents = {scores.run: evaluator.rankings(runs.sources[scores.run]) for scores in results}
    topics = evaluator.topics
    scored = {scores.run: scores for scores in results}
    for pair in comparison.pairs:
        if pair.ruling is Ruling.REFUSED and not evaluator.qrels.is_adaptive:
            pairs.append(replace(pair, every_completion=Ruling.UNDECIDED))
            continue
        measure: Any = scored[pair.run][pair.measure].measure
        one, other = ((documents[run], scored[run][pair.measure].by_query) for run in (pair.run, pair.other))
        certain = _certain_ruling(measure, topics, one, other)
        pairs.append(replace(pair, every_completion=claimed(certain, measure.better, pair.basis)))
    return replace(comparison, pairs=pairs)


def _certain_ruling(
    measure: Measure,
    topics: Mapping[str, Topic],
    one: tuple[_Rankings, Mapping[str, float]],
    other: tuple[_Rankings, Mapping[str, float]],
) -> Ruling:
    """Return `higher` or `lower` if the first run's mean is so under every completion, else `undecided`.

    Each run is its rankings and its values by query.
    """
    bounds, parameters = bounds_of(measure), measure.parameters
    ends = []
    for query in one[1]:
        first, second = (
            Retrieved.of(rankings.get(query, ()), topics[query], measure.k, parameters)
            for rankings, _ in (one, other)
        )
        ends.append(bounds.difference(first, second, (one[1][query], other[1][query]), parameters))
    low, high = (math.fsum(end) / len(ends) for end in zip(*ends, strict=True))
    return Ruling.HIGHER if low > SLACK else Ruling.LOWER if high < -SLACK else Ruling.UNDECIDED


def sensitivity(subject: Subject, results: Sequence[Scores]) -> Iterator[Remark]:
    """Yield how often two systems would swap places with one nugget less, another judge, or one vote less."""
    if subject.kind.sensitivity is not None:
        yield from subject.kind.sensitivity(subject, results)


def sensitivity_of_runs(subject: Runs, results: Sequence[Scores]) -> Iterator[Remark]:
    """Yield how often two runs would swap places with one nugget less."""
    rules, evaluator = subject.rules, subject.evaluator
    if rules.ties == EXPECTED or rules.judged_only or rules.zero_rel != "zero" or rules.compat:
        raise UsageError(
            "--sensitivity scores again without a nugget, by the default rules; leave out --ties expected,"
            " --judged-only, --zero-rel and --compat"
        )
    ranked = {scores.run: evaluator.rankings(subject.sources[scores.run]) for scores in results}
    for index, score in enumerate(results[0].scores):
        measure: Any = score.measure
        values = {scores.run: scores.scores[index].by_query for scores in results}
        changed = without_a_nugget(measure, evaluator.qrels, ranked, values)
        yield Remark("swapped_pairs", Scope(measure=str(measure)), changed.as_facts())


def sensitivity_of_answers(subject: Answers, results: Sequence[Scores]) -> Iterator[Remark]:
    """Yield how often two systems would change places by another judge, and what more votes would help."""
    grades = subject.table
    for score in results[0].scores:
        measure: Any = score.measure
        runs = [scores.run for scores in results]
        # Of each system a row a judge who said anything on the scale, NaN where undefined.
        tables = []
        for run in runs:
            values_by_judge = by_judge([measure], grades, grades.runs[run], Rules(on_missing="skip"))[0]
            tables.append(
                np.array([np.array(values, np.float64) for values in values_by_judge.values.values()])
            )
        if len(tables[0]) < 2:
            raise UsageError(f"{measure}: has one judge only; --sensitivity needs several")
        for changed in _judge_sensitivities(runs, tables):
            yield Remark("swapped_pairs", Scope(measure=str(measure)), changed.as_facts())
        for run, table in zip(runs, tables, strict=True):
            about = Scope((run,), str(measure))
            yield replace(components(table.T).advice(), about=about)


_FEW = 10
_UNTESTED: dict[str, Any] = {  # where earlier judgements chose what was judged
    **dict.fromkeys(("low", "high", "p", "adjusted", "effect", "detectable"), math.nan),
    **dict.fromkeys(("needed_least", "needed_most")),
}


def compare(
    results: Sequence[Scores],
    settings: Settings | None = None,
    *,
    alike: Likenesses | None = None,
) -> Comparison:
    """Compare runs that were scored on the same queries by the same measures.

    Parameters
    ----------
    results
        The scores of each run.
    settings
        Which pairs, which test, which intervals.
    alike
        Pairs of runs that are `identical`, or differ in `ties only`.

    Returns
    -------
    Comparison
        Means with intervals, and for each pair a difference, a test and a verdict.

    Examples
    --------
    >>> import rageval
    >>> qrels = {str(q): {"a": 1} for q in range(8)}
    >>> good, bad = ({str(q): {"a": 1.0, "b": score} for q in range(8)} for score in (0.0, 2.0))
    >>> comparison = compare([rageval.evaluate("rr", rageval.Run.from_dict(run, name), qrels)
    ...                       for name, run in (("good", good), ("bad", bad))])
    >>> pair = comparison.pairs[0]
    >>> pair.run, pair.other, pair.difference, pair.p == 2 / 2**8, pair.verdict
    ('bad', 'good', -0.5, True, 'lower')
    """
    settings = with_conversations(settings or Settings(), results)
    runs = [scores.run for scores in results]
    _check_inputs(results, runs, settings)
    if settings.against:
        require_frontier(results, settings.against)
    absent = {scores.run: scores.absent for scores in results if scores.absent}
    run_facts = RunFacts(failures(results), absent, alike or {}, {scores.run: scores for scores in results})
    tested = tables(results, settings, run_facts.failed, run_facts.absent)
    # A run whose judge failed has numbers, and they are no reason to call anything best.
    able = [run not in run_facts.failed for run in runs]
    cells: list[Cell] = []
    pairs: list[Pair] = []
    for index, table in enumerate(tested):
        # By a judge alone, or people alone: the usual tests. Where people's labels correct a judge, other
        # intervals and tests hold.
        estimates = estimate_means(table.scores, settings, table.sample)
        if is_corrected(table):
            tested[index] = table = best_of(table, estimates, able)
        pairs += pairs_by_kind(table, runs, settings, run_facts)
        rows = enumerate(zip(runs, table.scores, estimates, strict=True))
        cells += [_cell(*row, number in table.best) for number, row in rows]
    contested = {
        str(table.scores[0].measure) for table in tested if _is_contested(table, runs, pairs, run_facts)
    }
    cells = [replace(cell, is_best=False) if cell.measure in contested else cell for cell in cells]
    if any(scores.is_adaptive for scores in results):
        cells = [replace(cell, low=math.nan, high=math.nan) for cell in cells]
        pairs = [replace(pair, **_UNTESTED) for pair in pairs]
        return _build_comparison(
            results, settings, cells, pairs, unique(run_facts.failed.values()), "", tested
        )
    # What corrected tables lack is said with them, in words of their own.
    uncorrected = [table for table in tested if not is_corrected(table) and table.joint is None]
    remarks = [
        *_comparison_remarks(tested, runs, settings),
        *_limit_remarks(uncorrected, pairs, runs, able, settings),
    ]
    remarks += _repeat_remarks(results, pairs)
    remarks = [*run_facts.failed.values(), *remarks, *gold_remarks(tested, cells, pairs)]
    comparison = _build_comparison(
        results, settings, cells, pairs, remarks, gold_signature(tested, pairs), tested
    )
    if not settings.against:
        return comparison
    corrected = {str(table.scores[0].measure) for table in tested if is_corrected(table)}
    return replace(comparison, frontier=tuple(frontier_of(results, cells, pairs, settings, corrected)))


def _is_contested(table: Tested, runs: list[str], pairs: Sequence[Pair], run_facts: RunFacts) -> bool:
    """Return whether a best run cannot be compared with some other, so that nobody knows the best one."""
    name = str(table.scores[0].measure)
    rulings = {frozenset((pair.run, pair.other)): pair.ruling for pair in pairs if pair.measure == name}
    has_labels = is_corrected(table)
    # Of several that are best alike the first stands for all: each against each would be their square.
    for best in sorted(table.best)[:1]:
        for other, score in enumerate(table.scores):
            names = runs[best], runs[other]
            # A run that could not be the best itself takes nothing from the others: it failed, or it lacks
            # queries, which count as 0 where low is good.
            is_idle = names[1] in run_facts.failed or (
                table.better == LOW_IS_GOOD and run_facts.absent.get(names[1])
            )
            if other == best or is_idle:
                continue
            ruling = rulings.get(frozenset(names), Ruling.UNDECIDED)
            # What is shown was tested. Labels that correct a judge say what the judge's bounds cannot.
            untested = ruling is Ruling.UNDECIDED and not has_labels
            doubt = untested and doubt_of_best(table.scores[best], score, names)
            if ruling is Ruling.REFUSED or run_facts.forbids(names, name) or doubt:
                return True
    return False


def _build_comparison(
    results: Sequence[Scores],
    settings: Settings,
    cells: list[Cell],
    pairs: list[Pair],
    remarks: list[Remark],
    gold: str,
    tested: Sequence[Tested],
) -> Comparison:
    by_measure = {str(table.scores[0].measure): table.test for table in tested}
    measures = {str(score.measure): score.measure for score in results[0].scores}
    number = len({pair.measure for pair in pairs if not math.isnan(pair.p)})
    family = hooks.family_of(settings, len(results), number)
    pairs = [
        pair
        if math.isnan(pair.p)
        else replace(pair, test=STUDENT if pair.basis.corrected else by_measure[pair.measure], family=family)
        for pair in pairs
    ]
    better = {name: measure.better for name, measure in measures.items()}
    # What is known of the scores is known of what they are compared by.
    remarks = unique([*remarks, *(remark for scores in results for remark in scores.remarks)])
    runs = [scores.run for scores in results]
    shown = cells, pairs, remarks, settings, better, gold, measures
    return Comparison(runs, list(better), *shown, ScoresTable(results))


def _check_inputs(results: Sequence[Scores], runs: list[str], settings: Settings) -> None:
    if len(runs) < 2:
        raise UsageError(f"expected two or more runs to compare, found {len(runs)}")
    # Everything below knows runs by their names.
    twice = next((run for index, run in enumerate(runs) if run in runs[:index]), None)
    if twice is not None:
        raise UsageError(
            f"{visible(twice)}: two runs have this name; expected a name for each: pass two files, or in"
            " Python {name: run}"
        )
    if settings.baseline not in (BEST, *runs):
        names = ", ".join(map(visible, runs))
        raise UsageError(
            f"baseline {visible(settings.baseline)!r}: expected one of {names}, or {BEST}"
            + suggestion(settings.baseline, runs)
        )
    measures = [tuple(score.measure for score in scores.scores) for scores in results]
    if len(set(measures)) > 1:
        raise UsageError("the runs were scored by different measures; expected the same for each")
    for score in results[0].scores:
        why = why_untestable(score)
        # A mean of groups' means is the only thing that is said of a measure that can be averaged.
        if why and score.measure.aggregate == MEAN:
            raise UsageError(f"{score.measure} {why}; compare plain means")
        if why:
            # What no single topic has is pooled by nature, and has no other way.
            by_nature = score.measure.about.over == POOL
            way = ", or compare over=topics" if score.measure.aggregate == POOL and not by_nature else ""
            raise MeasureError(f"{score.measure} {why}; leave it out{way}")


def why_untestable(score: Score) -> Remark | None:
    """Return why no test applies to a value; None for a plain mean over queries, and resampled outcomes."""
    aggregate = score.measure.aggregate
    if aggregate == SUM:
        return Remark("sum_over_queries")
    # A pooled share divides two sums that both vary: differences of single queries are no differences of it.
    if aggregate == POOL:
        return Remark("pooled_over_queries")
    if aggregate == TOGETHER and score.measure.together.resampled is not None:  # type: ignore[union-attr]
        return Remark("mean_of_groups") if score.groups is not None else None
    if aggregate != MEAN:
        return Remark("function_of_all_queries")
    return Remark("mean_of_groups") if score.groups is not None else None


def best_runs(results: Sequence[Scores]) -> dict[str, frozenset[str]]:
    """Return the best runs by each measure, of plain means; none where a comparison would name none.

    >>> import rageval
    >>> runs = {"good": {"q": {"a": 1.0}}, "bad": {"q": {"b": 2.0, "a": 1.0}}}
    >>> best_runs([rageval.evaluate("rr, success", rageval.Run.from_dict(run, name), {"q": {"a": 1}})
    ...            for name, run in runs.items()])
    {'rr': frozenset({'good'}), 'success': frozenset()}
    """
    failed = failures(results)
    able = [index for index, scores in enumerate(results) if scores.run not in failed]
    whole = [index for index in able if (notes := results[index].notes) is None or not notes.queries_missing]
    best_by_measure = {}
    for index, first in enumerate(results[0].scores):
        scores = [result.scores[index] for result in results]
        if not any(map(why_untestable, scores)):
            chosen = whole if whole and first.measure.better == LOW_IS_GOOD else able
            best, _ = best_among(better_direction(first), _sample(scores, clusters_among(scores)), chosen)
            names = frozenset(results[number].run for number in best)
            doubts = (
                why_incomparable(results[one], results[other]).get(str(first.measure))
                or doubt_of_best(scores[one], scores[other], (results[one].run, results[other].run))
                for one in best
                for other in chosen
                if other != one
            )
            best_by_measure[str(first.measure)] = frozenset() if any(doubts) else names
    return best_by_measure


def cell_of(run: str, score: Score, settings: Settings) -> Cell:
    """Return the mean of a single run, with its interval."""
    return _cell(run, score, estimate_mean(score, settings))


def _cell(run: str, score: Score, estimate: Estimate, is_best: bool = False) -> Cell:
    return Cell(
        run=run,
        measure=str(score.measure),
        value=estimate.value,
        low=estimate.low,
        high=estimate.high,
        queries=estimate.queries,
        undefined=estimate.undefined,
        is_best=is_best,
        signature=score.signature,
        basis=estimate.basis,
        judged=estimate.judged,
        labels=estimate.labels,
        gain=estimate.gain,
        reasons=estimate.reasons,
    )


def _comparison_remarks(tested: list[Tested], runs: list[str], settings: Settings) -> Iterator[Remark]:
    """Say what should be known of the means and the pairs."""
    for table in tested:
        about = Scope(measure=str(table.scores[0].measure))
        if (
            better_direction(table.scores[0]) == NEITHER
            and settings.baseline == BEST
            and not settings.all_pairs
        ):
            facts = {"is_of_texts": table.better != NEITHER, "base": runs[table.base]}
            yield Remark("no_best_run", about, facts)
        # Said, as the means then rest on more queries than the differences.
        lacking = np.isnan(table.sample.values)
        partly = int(lacking.any(axis=1).sum())
        if table.scores[0].measure.about.by_conversation:
            partly -= int(lacking.all(axis=1).sum())
        if table.joint is not None:
            yield Remark("resampled_differences", about)
        elif partly:
            yield Remark("queries_without_value", about, {"number": partly})
        if len({score.signature for score in table.scores}) > 1:
            yield Remark("unlike_signatures", about)
    first = tested[0].sample
    if settings.units is not None:
        counts = {"queries": len(first.queries), "clusters": first.units}
        yield Remark("clusters", facts={**counts, "by": settings.clustered_by})
    if first.units < _FEW:
        yield Remark("few_units", facts={"number": first.units})
    # The word stands for the best run, and a run happens to bear it.
    if settings.baseline == BEST and not settings.all_pairs and BEST in runs:
        yield Remark("baseline_named_best", facts={"name": BEST})


def _limit_remarks(
    tested: list[Tested], pairs: Sequence[Pair], runs: Sequence[str], able: Sequence[bool], settings: Settings
) -> Iterator[Remark]:
    """Say where an interval or a test rests on less than it should."""
    for table in tested:
        name = str(table.scores[0].measure)
        about = Scope(measure=name)
        few = [
            runs[index]
            for index in np.flatnonzero(is_coarse(table.sample) & (table.sample.counts() > 1) & able).tolist()
        ]
        if few:
            facts = {"number": len(few), "examples": few[:EXAMPLES], "fewest": FEW}
            yield Remark("coarse_values", about, facts)
        # The pairs of all measures come in one list.
        of_measure = [pair for pair in pairs if pair.measure == name]
        total = len(of_measure)
        differ = [(pair.wins + pair.losses, pair.ties) for pair in of_measure]
        # Few that differ among many ties: resampling mostly draws zeros, and its interval is too short.
        gaps = sum(number > 0 and bool(few_differ(number, number + ties)) for number, ties in differ)
        if gaps:
            yield Remark("coarse_pairs", about, {"number": gaps, "total": total, "fewest": FEW})
        yield from _power_remarks(table, name, of_measure, settings)
        yield from _skew_remarks(table, name, of_measure, settings)
        stuck = sum(
            any(reason.code in ("one_differs", "p_at_least") for reason in pair.reasons)
            for pair in of_measure
        )
        if stuck:
            yield Remark("no_small_p", about, {"number": stuck, "total": total})


def _repeat_remarks(results: Sequence[Scores], pairs: Sequence[Pair]) -> Iterator[Remark]:
    """Say what more answers to each question could bring, where nothing was decided."""
    by_run = {scores.run: {str(score.measure): score for score in scores.scores} for scores in results}
    for pair in pairs:
        one, other = by_run[pair.run][pair.measure], by_run[pair.other][pair.measure]
        if pair.ruling is not Ruling.UNDECIDED or one.spread is None or other.spread is None:
            continue
        spread = float(np.nanvar(one.values - other.values, ddof=1)) if pair.queries > 1 else 0.0
        if spread > 0:
            share = min((one.spread.of_mean + other.spread.of_mean) / spread, 1.0)
            most = 1 / (1 - share) if share < 0.99 else None
            about = Scope((pair.run, pair.other), pair.measure)
            yield Remark("repeats_help", about, {"share": share, "most": most})


def _power_remarks(table: Tested, name: str, pairs: Sequence[Pair], settings: Settings) -> Iterator[Remark]:
    """Say where so few queries differ that no difference could be shown."""
    # By unit: within a cluster differences may cancel out.
    differ = (np.abs(table.shown(settings).differences().sums()) > SLACK).sum(axis=0).tolist()
    far = [number for pair, number in zip(pairs, differ, strict=True)
           if pair.queries > 1 and math.isnan(pair.detectable)]  # fmt: skip
    if far:
        yield Remark(
            "not_detectable",
            Scope(measure=name),
            {
                "number": len(far),
                "total": len(pairs),
                "differ": max(far),
                "is_clustered": table.sample.is_clustered,
                "needed": fewest(settings.level),
            },
        )


def _skew_remarks(table: Tested, name: str, pairs: Sequence[Pair], settings: Settings) -> Iterator[Remark]:
    """Say where a few large differences stand against many small ones, which flipped signs take for alike."""
    # Student's t is asked for by those who know what it supposes.
    if table.test not in (RANDOMIZATION, STUDENTIZED):
        return
    sums = table.shown(settings).differences().sums()
    lopsided = [
        pair
        for pair, column in zip(pairs, sums.T, strict=True)
        if (pair.is_significant or any(reason.code == "skewed" for reason in pair.reasons))
        and is_skewed(column)
    ]
    if lopsided:
        counts = {"number": len(lopsided), "total": len(pairs)}
        yield Remark("skewed_differences", Scope(measure=name), counts)


def compare_runs(
    measures: MeasuresLike,
    runs: Mapping[str, RunLike] | Iterable[RunLike],
    qrels: QrelsLike,
    settings: Settings | None = None,
    gold: QrelsLike | None = None,
    gold_chosen: ChosenLike | None = None,
    **rules: Unpack[RunOptions],
) -> Comparison:
    """Score runs and compare them.

    It knows which queries a run lacks, and which runs differ only in the order of equal scores.

    Parameters
    ----------
    measures, qrels
        As for `rageval.evaluate`.
    runs
        `{name: run}`, or runs that have names, such as paths.
    settings
        Which pairs, which test, which intervals.
    gold
        Human labels for some of the queries, with which the values by `qrels` are corrected.
    gold_chosen
        How these queries were chosen: `"uniform"`, a plan (a file of `rageval label plan`), or each query's
        chance, as {query: chance} or a file.
    **rules
        The options of `rageval.evaluate`.

    Returns
    -------
    Comparison
        Means with intervals, and for each pair a difference, a test and a verdict.

    Examples
    --------
    >>> qrels = {"q1": {"a": 1}, "q2": {"a": 1}}
    >>> run = {"q1": {"a": 1.0}, "q2": {"a": 1.0}}
    >>> compare_runs("rr", {"one": run, "other": run}, qrels).pairs[0].verdict
    'identical'
    """
    evaluator = Evaluator(measures, qrels, **rules)
    subject = Runs(evaluator, named_sources(runs))
    if gold is not None:
        subject = subject.with_gold(subject.read_gold([gold], drawn(gold_chosen)))
    return compare_subject(subject, subject.score(), settings)


def compare_subject(subject: Subject, scored: Scored, settings: Settings | None = None) -> Comparison:
    """Return the comparison of systems that were scored, with all that is known of them."""
    # What their scores say is among what is said of all, where each remark stands once.
    results = [scores.with_remarks(()) for scores in scored.results]
    comparison = compare(results, settings, alike=subject.likenesses(results))
    if subject.rules.bounds and subject.kind.completions is not None:
        comparison = subject.kind.completions(comparison, subject, results)
    remarks = unique([*comparison.remarks, *scored.remarks])
    return replace(comparison, remarks=remarks, scores=scored.table)
