"""Say whether another judge, one vote or nugget less, or more judgements would have ranked systems otherwise.

The share of (pair of systems, change) in which the order of the two is turned round. A pair that is equal
before, or becomes equal, is not turned round.

Whatever the unjudged documents turn out to be: see `comparison.turning`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rageval.comparison.results import HIGHER, LOWER, REFUSED, UNDECIDED, Comparison, worded
from rageval.comparison.turning import apart
from rageval.errors import UsageError
from rageval.files.judgements import JudgementTable
from rageval.measures.base import Measure
from rageval.measures.ranking import Topic
from rageval.scoring.answers import Answers, by_judge
from rageval.scoring.evaluation import Evaluator, Runs
from rageval.scoring.qrels import Qrels
from rageval.scoring.rules import EXPECTED, Rules
from rageval.scoring.scores import Scores
from rageval.statistics.agreement import components
from rageval.statistics.samples import SLACK, Float
from rageval.text import visible

if TYPE_CHECKING:
    from rageval.scoring.subject import Subject

_Rankings = Mapping[str, Sequence[str]]


class _Sensitivity(NamedTuple):
    """What was changed, how often the order of a pair turned, of how many, and the pair that turned most."""

    change: str
    turned: int
    tried: int
    worst: tuple[str, str] | None

    @property
    def share(self) -> float:
        """Of all pairs and changes."""
        return self.turned / self.tried if self.tried else 0.0

    def __str__(self) -> str:
        text = f"{self.change}: the order of {self.share:.1%} of the pairs turns round"
        return text + (f", most often {' and '.join(map(visible, self.worst))}" if self.worst else "")


def _turned(change: str, names: Sequence[str], before: Float, after: Float) -> _Sensitivity:
    """Count how often pairs turn: `before` is a mean a system, `after` a row a change.

    >>> found = _turned("another judge", ["a", "b"], np.array([0.5, 0.4]), np.array([[0.5, 0.6], [0.6, 0.5]]))
    >>> found.turned, found.tried, str(found)
    (1, 2, 'another judge: the order of 50.0% of the pairs turns round, most often a and b')
    """
    first, second = np.triu_indices(len(names), 1)
    was = _sign(before[first] - before[second])
    is_now = _sign(after[:, first] - after[:, second])
    times = (was * is_now < 0).sum(axis=0)
    worst = None
    if times.any():
        at = int(np.argmax(times))
        worst = names[int(first[at])], names[int(second[at])]
    return _Sensitivity(change, int(times.sum()), len(after) * len(first), worst)


def _sign(difference: Float) -> Float:
    sign: Float = np.where(np.abs(difference) <= SLACK, 0.0, np.sign(difference))
    return sign


def without_a_nugget(
    measure: Measure, qrels: Qrels, runs: Mapping[str, _Rankings], values: Mapping[str, Mapping[str, float]]
) -> _Sensitivity:
    """Return what happens when any one nugget is not there; `values` are those of each run, by query.

    Every query is scored once for each of its nuggets, without it; one with a single nugget is left alone.
    """
    nuggets = _by_query(qrels)
    lacking = [(query, nugget) for query, found in nuggets.items() if len(found) > 1 for nugget in found]
    names = list(runs)
    before = np.array([list(values[run].values()) for run in names]).mean(axis=1)
    if not lacking:
        return _turned("one nugget less", names, before, np.zeros((0, len(names))))
    reduced = {
        str(at): {other: docs for other, docs in nuggets[query].items() if other != nugget}
        for at, (query, nugget) in enumerate(lacking)
    }
    evaluator = Evaluator(measure, Qrels.from_dict(reduced), nothing_judged="zero")
    columns = []
    for run, mean in zip(names, before.tolist(), strict=True):
        held = _values_without(evaluator, measure, [runs[run].get(query, ()) for query, _ in lacking])
        change = held - np.array([values[run][query] for query, _ in lacking])
        columns.append(mean + change / len(values[run]))
    return _turned("one nugget less", names, before, np.array(columns).T)


def _values_without(evaluator: Evaluator, measure: Measure, rankings: Sequence[Sequence[str]]) -> Float:
    run = {
        str(at): {doc: -float(rank) for rank, doc in enumerate(docs)}
        for at, docs in enumerate(rankings)
        if docs
    }
    if not run:
        return np.zeros(len(rankings))
    found: Float = evaluator.evaluate(run)[measure].values
    return found


def _by_query(qrels: Qrels) -> dict[str, dict[str, dict[str, int | float]]]:
    found: dict[str, dict[str, dict[str, int | float]]]
    found = {query: {nugget: {} for nugget in qrels.nuggets(query)} for query in qrels.query_ids}
    for query_id, doc_id, grade, nugget_id in qrels:
        found[query_id][nugget_id][doc_id] = grade
    return found


def _of_judges(names: Sequence[str], tables: Sequence[Float]) -> list[_Sensitivity]:
    """Try each judge alone, and each panel without one; a table a system, a row a judge, a column a query."""
    judges = len(tables[0])

    def means(kept: Sequence[int]) -> Float:
        return np.array([_mean(_over(table[list(kept)])) for table in tables])

    everyone = means(range(judges))
    alone = np.array([means([judge]) for judge in range(judges)])
    found = [_turned("another judge", names, everyone, alone)]
    if judges > 2:
        fewer = [means([other for other in range(judges) if other != judge]) for judge in range(judges)]
        found.append(_turned("one vote less", names, everyone, np.array(fewer)))
    return found


def _over(table: Float) -> Float:
    """Return the mean over judges of the defined values."""
    known = ~np.isnan(table)
    total = np.where(known, table, 0.0).sum(axis=0)
    mean: Float = np.full(table.shape[1], np.nan)
    np.divide(total, known.sum(axis=0), out=mean, where=known.any(axis=0))
    return mean


def _mean(values: Float) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else float("nan")


def _by_judge(measure: Measure, grades: JudgementTable, run: str) -> Mapping[str, Float]:
    """Return the values of a system by each judge who said anything on the scale, NaN where undefined."""
    found = by_judge([measure], grades, grades.runs[run], Rules(on_missing="skip"))[0]
    return {judge: np.array(values, np.float64) for judge, values in found.values.items()}


def under_every_completion(found: Comparison, runs: Runs, results: Sequence[Scores]) -> Comparison:
    """Return the comparison with what holds of each pair whatever the unjudged documents are."""
    pairs = []
    evaluator = runs.evaluator
    documents = {scores.run: evaluator.rankings(runs.sources[scores.run]) for scores in results}
    topics = evaluator.topics
    scored = {scores.run: scores for scores in results}
    for pair in found.pairs:
        if pair.verdict == REFUSED and not evaluator.qrels.adaptive:
            pairs.append(replace(pair, every_completion=UNDECIDED))
            continue
        measure: Any = scored[pair.run][pair.measure].measure
        one, other = ((documents[run], scored[run][pair.measure].by_query) for run in (pair.run, pair.other))
        certain = _certain_verdict(measure, topics, one, other)
        pairs.append(replace(pair, every_completion=worded(certain, measure.better, pair.basis)))
    return replace(found, pairs=pairs)


def _certain_verdict(
    measure: Measure,
    topics: Mapping[str, Topic],
    one: tuple[_Rankings, Mapping[str, float]],
    other: tuple[_Rankings, Mapping[str, float]],
) -> str:
    """Return `higher` or `lower` if the first run's mean is so under every completion, else `undecided`.

    Each run is its rankings and its values by query.
    """
    ends = apart(measure, topics, ("", ""), (one[0], other[0]), (one[1], other[1]))
    return HIGHER if ends.low > SLACK else LOWER if ends.high < -SLACK else UNDECIDED


def sensitivity(subject: Subject, results: Sequence[Scores]) -> Iterator[str]:
    """Yield how often two systems would change places by one nugget less, another judge, one vote less."""
    if isinstance(subject, Runs):
        yield from _without_nuggets(subject, results)
    if isinstance(subject, Answers):
        yield from _among_judges(results, subject.table)


def _without_nuggets(runs: Runs, results: Sequence[Scores]) -> Iterator[str]:
    rules, evaluator = runs.rules, runs.evaluator
    if rules.ties == EXPECTED or rules.judged_only or rules.zero_rel != "zero" or rules.compat:
        raise UsageError(
            "--sensitivity scores again without a nugget, by the usual rules; leave out --ties expected,"
            " --judged-only, --zero-rel and --compat"
        )
    ranked = {scores.run: evaluator.rankings(runs.sources[scores.run]) for scores in results}
    for at, score in enumerate(results[0].scores):
        measure: Any = score.measure
        values = {scores.run: scores.scores[at].by_query for scores in results}
        yield f"{measure}: {without_a_nugget(measure, evaluator.qrels, ranked, values)}"


def _among_judges(results: Sequence[Scores], grades: JudgementTable) -> Iterator[str]:
    """Yield how often two systems would change places by another judge, and what more votes would help."""
    for score in results[0].scores:
        measure: Any = score.measure
        found = {scores.run: _by_judge(measure, grades, scores.run) for scores in results}
        tables = [np.array(list(values.values())) for values in found.values()]
        if len(tables[0]) < 2:
            raise UsageError(f"{measure}: has one judge; --sensitivity asks what others would say")
        for changed in _of_judges(list(found), tables):
            yield f"{measure}: {changed}"
        for run, table in zip(found, tables, strict=True):
            yield f"{visible(run)}: {measure}: {components(table.T).advice()}"
