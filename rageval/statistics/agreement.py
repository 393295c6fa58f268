"""How far judges agree: two of them, beyond chance; several, by how much of what varies is theirs.

Ratings are numbers (grades). With weights w(a, b) = 1 for equal grades, falling with their distance:
    observed   p_o = mean of w over the items
    κ          (p_o − p_e) / (1 − p_e)      p_e from both judges' own shares (Cohen)
    AC2        the same with p_e = T/(q(q−1)) Σ π_k(1 − π_k)      π: mean shares, T: Σ w, q grades (Gwet)
    α          1 − D_o/D_e over several judges, items judged by two or more (Krippendorff); D: mean of 1 − w
               over pairs of grades of one item (o), or of any two items (e)

With values x_{qj} of Q queries by J judges, x = μ + query + judge + rest, from the analysis of variance:
    rest  = MS_rest      query = (MS_query − MS_rest)/J      judge = (MS_judge − MS_rest)/Q
    Var(mean of Q queries by J judges) = query/Q + judge/J + rest/(Q·J)
Repeated votes of one judge have no judge of their own: then `judge` is 0, and `rest` varies within queries.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rageval.core.remark import Remark
from rageval.errors import InputError, UsageError
from rageval.statistics import LEVEL
from rageval.statistics.bootstrap import draws, ends_of, least_half
from rageval.statistics.samples import SLACK, Float, Sample

_Weights = Callable[[Float], Float]
RESAMPLES, SEED = 1000, 1960
_TRIAL = 1e-6  # share of the items that is made to disagree where none does
_FEWEST_JUDGES = 4
_MORE_QUERIES, _MORE_JUDGES = 40, 2  # of which it is said what they would help
_WEIGHTS = ("none", "linear", "quadratic")


@dataclass(frozen=True, slots=True)
class Agreement:
    """A coefficient with its bootstrap interval over queries."""

    name: str
    value: float
    low: float
    high: float


def _weights(levels: Float, kind: str = "none") -> Float:
    """Return w(a, b) for every pair of grades.

    >>> _weights(np.array([0.0, 1.0, 3.0]), "linear").tolist()[0]
    [1.0, 0.6666666666666667, 0.0]
    """
    if kind not in _WEIGHTS:
        raise UsageError(f"weights {kind!r}: expected one of {', '.join(_WEIGHTS)}")
    distance = np.abs(levels[:, None] - levels[None])
    # One level only: there is no distance to divide by, and all agree.
    if kind == "none" or not distance.max(initial=0.0):
        equal: Float = (distance == 0).astype(np.float64)
        return equal
    share: Float = distance / distance.max()
    return 1 - (share if kind == "linear" else share**2)


def _observed(table: Float, w: Float) -> float:
    """Return the weighted share of the items on which both agree; `table` counts items by both grades."""
    return float((table * w).sum() / table.sum())


def _kappa(table: Float, w: Float) -> float:
    """Return Cohen's κ, weighted; NaN if both judges always say the same one thing.

    >>> table = np.array([[20.0, 5.0], [10.0, 15.0]])
    >>> round(_kappa(table, _weights(np.array([0.0, 1.0]))), 12)
    0.4
    """
    share = table / table.sum()
    # What two judges would agree on who say their labels as often, but of items drawn at random.
    expected = float((np.outer(share.sum(axis=1), share.sum(axis=0)) * w).sum())
    return _chance_corrected(_observed(table, w), expected)


def _gwet(table: Float, w: Float) -> float:
    """Return Gwet's AC1 (no weights) or AC2: does not collapse where nearly all grades are the same.

    >>> table = np.array([[118.0, 5.0], [2.0, 0.0]])
    >>> round(_gwet(table, _weights(np.array([0.0, 1.0]))), 3), round(_kappa(table, np.eye(2)), 3)
    (0.941, -0.023)
    """
    number = len(table)
    if number < 2:
        return math.nan
    share = table / table.sum()
    pi = (share.sum(axis=1) + share.sum(axis=0)) / 2
    expected = float(w.sum() / (number * (number - 1)) * (pi * (1 - pi)).sum())
    return _chance_corrected(_observed(table, w), expected)


def _levels_of(one: Float, other: Float) -> Float:
    """Return the grades that there are, the lowest first; `np.unique` would load numpy.ma to find them."""
    return np.array(sorted({*one.tolist(), *other.tolist()}))


def table_of(one: Float, other: Float, weights: Float | float = 1.0) -> tuple[Float, Float]:
    """Return the grades, the lowest first, and how many items, or what weight, has each pair of them."""
    levels = _levels_of(one, other)
    counts = np.zeros((len(levels), len(levels)))
    # Unlike counts[...] += 1, add.at counts a pair that comes several times as often as it comes.
    np.add.at(counts, (np.searchsorted(levels, one), np.searchsorted(levels, other)), weights)
    return levels, counts


_COEFFICIENTS: Mapping[str, Callable[[Float, Float], float]] = {
    "agreement": _observed,
    "kappa": _kappa,
    "gwet": _gwet,
}


def agreement(
    one: Float,
    other: Float,
    query: Sequence[str],
    kind: str = "none",
    resamples: int = RESAMPLES,
    weights: Mapping[str, float] | None = None,
    clusters: Mapping[str, str] | None = None,
) -> list[Agreement]:
    """Return every coefficient of two judges' grades of the same items, with intervals over queries.

    Where they differ in fewer than 6 queries, the interval of their agreement has a floor, and the others
    get theirs from it. One query has no interval. Queries that were drawn with different chances count by
    `weights`, 1 over the chance; then the interval always has a floor, by the number of queries drawn alike
    that would tell as much. Queries of one of the `clusters` are drawn together.
    """
    levels = _levels_of(one, other)
    w = _weights(levels, kind)
    number = {name: place for place, name in enumerate(sorted(set(query)))}
    of_item = np.array([number[name] for name in query])
    places = np.searchsorted(levels, one), np.searchsorted(levels, other)
    tables = np.zeros((int(of_item.max(initial=-1)) + 1, len(levels), len(levels)))
    np.add.at(tables, (of_item, *places), 1)
    if weights is not None:
        tables *= np.array([weights[name] for name in number])[:, None, None]
    if clusters is not None:
        unit, tables = _by_cluster(list(number), tables, clusters)
        of_item = unit[of_item]
    # Drawing queries is adding up their tables: no item is looked at again.
    samples = [tables[rows].sum(axis=0) for rows in draws(len(tables), resamples, SEED)]
    agreeing = Sample(tuple(query), w[places][:, None], of_item)
    # Of a few queries half may differ and half not, and samples of them still are all alike.
    least = least_half(agreeing, LEVEL) if agreeing.units > 1 else math.nan
    if weights is not None and agreeing.units > 1:
        # Where weights differ: of a few queries that count much, all may agree.
        counted = [weights[name] for name in number]
        effective = math.fsum(counted) ** 2 / math.fsum(weight**2 for weight in counted)
        least = max(least, -math.log(1 - LEVEL) / effective)
    agreements = []
    for name, coefficient in _COEFFICIENTS.items():
        values = np.array([coefficient(sample, w) for sample in samples])
        values = values[~np.isnan(values)]
        # If half of the samples have no value, those that have are no fair sample.
        low = high = np.array(math.nan)
        if len(values) > resamples / 2:
            low, high = ends_of(values, LEVEL, len(tables))
        whole = tables.sum(axis=0)
        value, half = coefficient(whole, w), least * _slope(coefficient, whole, w)
        lowest = 0.0 if name == "agreement" else -1.0
        if half:
            low = np.minimum(low, np.maximum(value - half, lowest))
            high = np.maximum(high, np.minimum(value + half, 1.0))
        if not high - low > SLACK:  # one judge always says the same, so that no sample says anything else
            low = high = np.array(math.nan)
        agreements.append(Agreement(name, value, float(low), float(high)))
    return agreements


def alpha(
    grades: Float,
    query: Sequence[str],
    kind: str = "none",
    resamples: int = RESAMPLES,
    weights: Mapping[str, float] | None = None,
    clusters: Mapping[str, str] | None = None,
) -> Agreement:
    """Return Krippendorff's α of several judges, with its bootstrap interval over queries.

    `grades` has a row for each item and a column for each judge, NaN where the judge gave none. An item with
    one grade says nothing. α is NaN where all grades are the same. Queries that were drawn with different
    chances count by `weights`, 1 over the chance; those of one of the `clusters` are drawn together.

    >>> nan = math.nan
    >>> grades = np.array([[1.0, 1.0, nan], [2.0, 2.0, 2.0], [3.0, 3.0, 3.0], [1.0, 2.0, nan]])
    >>> round(alpha(grades, ["a", "b", "c", "d"]).value, 4)
    0.7273
    """
    levels = np.array(sorted(set(grades[~np.isnan(grades)].tolist())))
    distance = 1 - _weights(levels, kind)
    # How often each item has each grade; of an item with m grades each pair counts 1/(m − 1).
    counts = (grades[:, :, None] == levels).sum(axis=1).astype(np.float64)
    sizes = counts.sum(axis=1)
    counts, sizes = counts[sizes > 1], sizes[sizes > 1]
    names = [name for name, size in zip(query, (~np.isnan(grades)).sum(axis=1), strict=True) if size > 1]
    places = {name: place for place, name in enumerate(sorted(set(names)))}
    pairs = counts[:, :, None] * counts[:, None] - counts[:, :, None] * np.eye(len(levels))
    of_item = np.array([places[name] for name in names], np.int64)
    tables = np.zeros((len(places), len(levels), len(levels)))
    np.add.at(tables, of_item, pairs / np.maximum(sizes - 1, 1)[:, None, None])
    if weights is not None:
        tables *= np.array([weights[name] for name in places])[:, None, None]
    if clusters is not None:
        _, tables = _by_cluster(list(places), tables, clusters)

    def value_of(table: Float) -> float:
        shares, number = table.sum(axis=1), table.sum()
        expected = (np.outer(shares, shares) * distance).sum()
        return 1 - (number - 1) * (table * distance).sum() / expected if expected > 0 else math.nan

    samples = np.array([value_of(tables[rows].sum(axis=0)) for rows in draws(len(tables), resamples, SEED)])
    samples = samples[~np.isnan(samples)]
    low = high = math.nan
    if len(samples) > resamples / 2 and np.ptp(samples) > SLACK:
        low, high = map(float, ends_of(samples, LEVEL, len(tables)))
    return Agreement("alpha", float(value_of(tables.sum(axis=0))), low, high)


def _by_cluster(
    queries: Sequence[str], tables: Float, clusters: Mapping[str, str]
) -> tuple[NDArray[np.int64], Float]:
    """Return the number of each query's cluster, and the tables of queries added up by cluster."""
    _, unit = np.unique([clusters[query] for query in queries], return_inverse=True)
    sums = np.zeros((int(unit.max(initial=-1)) + 1, *tables.shape[1:]))
    np.add.at(sums, unit, tables)
    return unit.astype(np.int64), sums


def _slope(coefficient: Callable[[Float, Float], float], table: Float, w: Float) -> float:
    """Return how much a coefficient falls if agreement does and what chance gives stays as it is."""
    seen = _observed(table, w)
    # At full agreement the slope is 0/0: take it next to it, where a millionth of the items disagrees.
    if seen == 1:
        disagreement = 1 - w
        if not disagreement.any():
            return 1.0  # one label is all there is
        table = table * (1 - _TRIAL) + table.sum() * _TRIAL * disagreement / disagreement.sum()
        seen = _observed(table, w)
    return (1 - coefficient(table, w)) / (1 - seen)


def _chance_corrected(seen: float, expected: float) -> float:
    return (seen - expected) / (1 - expected) if expected < 1 else math.nan


class _Components(NamedTuple):
    """Variances of queries, judges and the rest, and how many queries and judges they rest on.

    `repeated`: the judgements are votes of one judge, or of several answers (`what`), so that there is no
    variance of judges to be known.
    """

    query: float
    judge: float
    rest: float
    queries: int
    judges: int
    repeated: bool = False
    what: str = "votes"

    def standard_error(self, more_queries: int = 0, more_judges: int = 0) -> float:
        """Return the standard error of the mean with more queries or judges."""
        queries, judges = self.queries + more_queries, self.judges + more_judges
        return math.sqrt(self.query / queries + self.judge / judges + self.rest / (queries * judges))

    def advice(self) -> Remark:
        """Return what helps more, with what is known of each standard error at 95 %.

        The variance between judges is estimated from the judges present; with fewer than four nothing is
        reported.

        >>> print(_Components(query=0.09, judge=0.0, rest=0.01, queries=50, judges=3).advice())
        3 judges are too few to tell what more votes would help; at least 4 are needed
        >>> advice = _Components(query=0.09, judge=0.0, rest=0.01, queries=50, judges=6).advice()
        >>> print(*str(advice).split(', '), sep='\\n')
        standard error 0.0428 (0.0358 to 0.0535) now
        0.0319 (0.0266 to 0.0401) with 40 more queries
        0.0427 (0.0356 to 0.0534) with 2 more votes: more queries
        """
        if self.judges < _FEWEST_JUDGES and not self.repeated:
            return Remark("few_judges", facts={"number": self.judges, "needed": _FEWEST_JUDGES})
        ways = [(0, 0), (_MORE_QUERIES, 0), (0, _MORE_JUDGES)]
        now, queries, votes = (
            (
                self.standard_error(*way),
                *(math.sqrt(max(end, 0.0)) for end in self._variance_interval(self._coefficients(*way))),
            )
            for way in ways
        )
        low, high = self._variance_interval(self._coefficients(*ways[1]) - self._coefficients(*ways[2]))
        better = "queries" if high < 0 else self.what if low > 0 else "neither" if low == high else "unknown"
        errors = {"now": now, "with_queries": queries, "with_others": votes}
        more = {"queries": _MORE_QUERIES, "others": _MORE_JUDGES, "what": self.what}
        return Remark("what_helps", facts={**errors, **more, "better": better})

    def _coefficients(self, more_queries: int, more_judges: int) -> Float:
        """Return the coefficients of the mean squares (queries, judges, rest) in the variance of the mean."""
        queries, judges = self.queries + more_queries, self.judges + more_judges
        of_query, of_judge = (
            1 / (self.judges * queries),
            0.0 if self.repeated else 1 / (self.queries * judges),
        )
        return np.array([of_query, of_judge, 1 / (queries * judges) - of_query - of_judge])

    def _variance_interval(self, coefficients: Float) -> tuple[float, float]:
        """Return the interval of a linear combination of mean squares, whose coefficients may be negative.

        By the modified large-sample method (Graybill and Wang, 1980), extended to differences as Ting et al.
        (1990) do, but without their cross terms.
        """
        from scipy.special import chdtri

        terms = coefficients * np.array(
            [self.judges * self.query + self.rest, self.queries * self.judge + self.rest, self.rest]
        )
        rest_df = (self.queries if self.repeated else self.queries - 1) * (self.judges - 1)
        df = np.array([self.queries - 1, self.judges - 1, rest_df], np.float64)
        # Each mean square over its expectation is χ²/df. A term that is subtracted swaps its two ends.
        lower_factor = 1 - df / chdtri(df, (1 - LEVEL) / 2)
        upper_factor = df / chdtri(df, (1 + LEVEL) / 2) - 1
        factor_below = np.where(terms > 0, lower_factor, upper_factor)
        factor_above = np.where(terms > 0, upper_factor, lower_factor)
        total = float(terms.sum())
        return (
            total - math.sqrt(float(((factor_below * terms) ** 2).sum())),
            total + math.sqrt(float(((factor_above * terms) ** 2).sum())),
        )


def components(values: Float, repeated: bool = False) -> _Components:
    """Return the components of a table, a row a query, a column a judge; rows with a gap are left out.

    With `repeated` the columns are votes of one judge, in no order.

    >>> components(np.array([[1.0, 1.0], [0.0, 0.0], [0.5, 0.5]]))
    _Components(query=0.25, judge=0.0, rest=0.0, queries=3, judges=2, repeated=False, what='votes')
    """
    table = values[~np.isnan(values).any(axis=1)]
    queries, judges = table.shape
    if queries < 2 or judges < 2:
        raise InputError(
            expected="two or more queries with two or more judgements each",
            found=f"{queries:,} with {judges:,}",
        )
    mean, of_query, of_judge = table.mean(), table.mean(axis=1), table.mean(axis=0)
    between = judges * float(((of_query - mean) ** 2).sum()) / (queries - 1)
    if repeated:
        rest = float(((table - of_query[:, None]) ** 2).sum()) / (queries * (judges - 1))
        return _Components(max(between - rest, 0.0) / judges, 0.0, rest, queries, judges, repeated)
    residuals = table - of_query[:, None] - of_judge[None] + mean
    rest = float((residuals**2).sum()) / ((queries - 1) * (judges - 1))
    of_judges = queries * float(((of_judge - mean) ** 2).sum()) / (judges - 1)
    return _Components(
        max(between - rest, 0.0) / judges, max(of_judges - rest, 0.0) / queries, rest, queries, judges
    )


def advice_on_repeats(values: Sequence[Sequence[float]]) -> Remark:
    """Return whether more questions or more answers help more; rows are questions, columns answers.

    >>> advice = advice_on_repeats([[1.0, 0.0], [0.0, 0.0], [1.0, 1.0], [1.0, 1.0]])
    >>> print(*str(advice).split(", "), sep="\\n")
    standard error 0.2394 (0.1356 to 0.8925) now
    0.0722 (0.0409 to 0.2691) with 40 more queries
    0.2224 (0.0000 to 0.8881) with 2 more answers each: not known
    """
    return components(np.array(values), repeated=True)._replace(what="answers each").advice()


class _Correctness(NamedTuple):
    """How right a judge is: the share of its verdicts, and over labels precision, recall and their F1.

    Means over the labels that gold has; a label that the judge never gives has precision 0.
    """

    accuracy: float
    precision: float
    recall: float
    f1: float


def correctness(table: Float) -> _Correctness:
    """Return it from counts of (judge's label, gold's label).

    >>> correctness(np.array([[2.0, 1.0], [0.0, 1.0]]))
    _Correctness(accuracy=0.75, precision=0.8333333333333333, recall=0.75, f1=0.7333333333333334)
    """
    mine, theirs, both = table.sum(axis=1), table.sum(axis=0), table.diagonal()
    there = theirs > 0
    means = [
        float(np.divide(both, whole, out=np.zeros(len(both)), where=whole > 0)[there].mean())
        for whole in (mine, theirs, (mine + theirs) / 2)
    ]
    return _Correctness(float(both.sum() / table.sum()), *means)
