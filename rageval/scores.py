"""What an evaluation returns: a value a measure, with everything needed to trust and to repeat it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rageval.errors import InputError
from rageval.text import visible

if TYPE_CHECKING:
    import pandas

    from rageval.measures.parsing import AnyMeasure
    from rageval.scoring.joining import Notes


@dataclass(frozen=True)
class Score:
    """One measure's value for one run, its values a query, and how many queries it rests on.

    `undefined` counts queries whose value is NaN and which are left out of the mean; `missing` counts
    judged queries that the run lacks (they score 0 unless `intersection` leaves them out). `asked` is the
    measure as it was asked for, before options such as `rel` had their say. For judged answers, `missing`
    counts judgements, `lost` counts them by status, `bounds` is between what values it would lie with them,
    `judges` the value by each of several judges, `judged_by` the nuggets (or the opponents) of each query
    on which these are not the same for all systems. Of runs, `bounds` is over the orders of equal scores, or
    over what the unjudged documents may be, where that was asked for.
    """

    measure: AnyMeasure
    query_ids: Sequence[str]
    values: NDArray[np.float64]
    missing: int
    signature: str
    groups: Mapping[str, str] | None = None
    asked: AnyMeasure | None = None
    weights: Mapping[str, float] | None = None
    bounds: tuple[float, ...] | None = None
    judges: Mapping[str, float] = field(default_factory=dict)
    lost: Mapping[str, int] = field(default_factory=dict)
    judged_by: Mapping[str, frozenset[Any]] = field(default_factory=dict)

    @cached_property
    def value(self) -> float:
        """The mean over queries (over groups of queries, if there are groups); NaN if there are none."""
        if self.measure.totals:
            return math.fsum(self.values[~np.isnan(self.values)].tolist())
        if self.groups is None:
            return mean(self.values)
        means = {group: mean(values) for group, values in self.by_group(self.groups).items()}
        if self.weights is None:
            return mean(np.array(list(means.values())))
        return math.fsum(weight * means[group] for group, weight in self.weights.items() if weight)

    @cached_property
    def by_query(self) -> dict[str, float]:
        """The value of every query, in the order of the judgements."""
        return dict(zip(self.query_ids, self.values.tolist(), strict=True))

    def by_group(self, groups: Mapping[str, str]) -> dict[str, NDArray[np.float64]]:
        """The values of the queries of each group."""
        found: dict[str, list[float]] = {}
        for query, value in self.by_query.items():
            found.setdefault(groups[query], []).append(value)
        return {group: np.array(values) for group, values in found.items()}

    @property
    def queries(self) -> int:
        """How many queries the mean is over."""
        return len(self.values) - self.undefined

    @property
    def undefined(self) -> int:
        """How many queries have no value."""
        return int(np.isnan(self.values).sum())

    def __float__(self) -> float:
        return self.value

    def __repr__(self) -> str:
        return f"<Score {self.measure} = {self.value:.4f}, {self.queries:,} queries>"


def mean(values: NDArray[np.float64]) -> float:
    """The mean of the defined values, summed exactly, so that the order of queries changes no digit."""
    defined = values[~np.isnan(values)]
    return math.fsum(defined.tolist()) / len(defined) if len(defined) else math.nan


def require_groups(groups: Mapping[str, str], queries: Iterable[str], source: str) -> None:
    """Every query needs a group."""
    lost = [query for query in queries if query not in groups]
    if lost:
        raise InputError(
            f"{source}: {len(lost):,} judged queries have no group, such as {visible(lost[0])!r};"
            " expected one for each"
        )


@dataclass(frozen=True)
class Scores(Mapping[Any, Score]):
    """The scores of one run: a mapping from measures, in any spelling, to `Score` objects.

    `judged_by_query` is how many of the documents retrieved for a query are judged, at any rank and with any
    grade, for the judged queries that the run has; `judged` is their sum. Both are of runs only.

    >>> import rageval
    >>> scores = rageval.evaluate("recall@1,rr", {"q": {"a": 2.0, "b": 1.0}}, {"q": {"a": 1, "b": 1}})
    >>> scores["R@1"].value, scores["rr"].by_query
    (0.5, {'q': 1.0})
    >>> print(scores)
    run: 1 query
    recall@1  0.5000  recall@1|rel:1|ties:trec
    rr        1.0000  rr|rel:1|ties:trec
    """

    run: str
    scores: tuple[Score, ...]
    notes: Notes | None = field(default=None, repr=False, compare=False)
    judged_by_query: Mapping[str, int] = field(default_factory=dict, repr=False)

    @property
    def judged(self) -> int:
        """How many of the retrieved documents are judged; with 0 the values say nothing of the run."""
        return sum(self.judged_by_query.values())

    def __getitem__(self, measure: Any) -> Score:
        found = self._find(str(measure))
        if found is None and isinstance(measure, str):
            from rageval.measures.parsing import parse_measure

            found = self._find(str(parse_measure(measure)))
        if found is None:
            raise KeyError(f"{measure}; scored here: {', '.join(map(str, self))}")
        return found

    def _find(self, name: str) -> Score | None:
        """The score of the measure of this name, or of the one that was asked for by this name."""
        named = [score for score in self.scores if str(score.measure) == name]
        asked = [score for score in self.scores if str(score.asked) == name]
        return next(iter(named + asked), None)

    def __iter__(self) -> Iterator[str]:
        return (str(score.measure) for score in self.scores)

    def __len__(self) -> int:
        return len(self.scores)

    def to_pandas(self) -> pandas.DataFrame:
        """A DataFrame with a row a query and measure: run, query_id, measure, value."""
        try:
            import pandas
        except ImportError:
            from rageval.errors import MissingPackage

            raise MissingPackage("pandas", "to_pandas()", extra="pandas") from None
        rows = [
            (self.run, query, str(score.measure), value)
            for score in self.scores
            for query, value in score.by_query.items()
        ]
        return pandas.DataFrame(rows, columns=["run", "query_id", "measure", "value"])

    def __str__(self) -> str:
        names = [str(score.measure) for score in self.scores]
        width = max(map(len, names), default=0)
        count = max((score.queries for score in self.scores), default=0)
        head = f"{visible(self.run)}: {count:,} {'query' if count == 1 else 'queries'}"
        rows = [
            f"{name:<{width}}  {score.value:.4f}  {score.signature.rpartition('|v:')[0] or score.signature}"
            for name, score in zip(names, self.scores, strict=True)
        ]
        return "\n".join([head, *rows])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from html import escape

        rows = "".join(
            f"<tr><td>{escape(str(score.measure))}</td><td>{score.value:.4f}</td>"
            f"<td>{score.queries:,}</td><td><code>{escape(score.signature)}</code></td></tr>"
            for score in self.scores
        )
        head = "<tr><th>measure</th><th>value</th><th>queries</th><th>signature</th></tr>"
        return f"<table><caption>{escape(visible(self.run))}</caption>{head}{rows}</table>"
