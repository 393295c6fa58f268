"""A judge's mean, corrected by people's values of some of the same queries.

The judge gave each of N queries a value e (a score, or the difference of two systems' scores), people gave
n of them, L, a value d. With ē the mean of all e, and means, b and residuals r over L (the regression
estimator: power-tuned prediction-powered inference with λ = b/(1 + n/(N − n)), not kept within 0 … 1):
    θ = d̄ + b(ē − ē_L)             b = Σ(e − ē_L)(d − d̄)/Σ(e − ē_L)², 0 if the judge never differs
    h = 1/n + (e − ē_L)²/Σ(e − ē_L)²        w = 1/n + (ē − ē_L)(e − ē_L)/Σ(e − ē_L)²
    V = Σ w²(r/(1 − h))²·(1 − n/N) + s²_d/N         θ ± t_{n−2}·√V
for queries *of this kind*; of this very *set* without s²_d/N. If people judged all, it is Student's t.

Few labels that differ are no proof that few do. With m of them (d ≠ 0, d ≠ e, or d that is not the commonest,
whichever are fewest; of a mean, not the first) and m < 6, V_L has 2.34·span²/n² more, and s²_d is at least
span²/n: half the width is about 3·span/n, the rule of three.

Labels that were not drawn alike count 1/π in each sum over L, (1 − π) stands where (1 − n/N) was, and n_eff
= (Σ1/π)²/Σ1/π² for n. Of clusters, sums of every query's part in the error, ψ = [L] w·r/(1 − h) + b(e − ē)/N,
are squared, V = G/(G − 1)·Σ(Σψ)², and the clusters that hold a label are counted in place of labels. Queries
on which two systems gave the *same* answer have d = 0 and need no label: θ = share of the others × θ of
these.

Where people judged a *part* of an answer's nuggets, d and e are people's and the judge's values on that part,
ē is still the mean on whole answers, and an answer counts r/π, r being its share that was judged: right if
nuggets were drawn at random from all of them, or whole answers were. If something was judged of every answer,
all count alike, which is right however many nuggets of each were drawn. A part tells less than its answer, so
the finite draw is no help, and V is that of clusters, each answer its own.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rageval.core.remark import Remark
from rageval.errors import TooFewLabels, UsageError
from rageval.statistics import LEVEL
from rageval.statistics.bootstrap import Limits, _least_error, _widen_coarse, few_differ, ranges_of
from rageval.statistics.samples import SLACK, Float, Int, Sample, settled
from rageval.statistics.significance import _TINY, DRAWS, _signs, holm, step_down

Population = Literal["kind", "set"]
FEWEST = 20  # labels
FEWEST_CLUSTERS = 10
FARTHEST = 8.0  # standard errors, so that a quantile is finite
_LEVERAGE = 0.95  # a label that alone decides the slope counts as if it did not quite


class Part(NamedTuple):
    """Of a label that covers a part of an answer: the judge's value there, and its share of the answer."""

    judged: float
    share: float


@dataclass(frozen=True, slots=True, eq=False)
class Corrected:
    """A mean of scores or differences, by the judge and corrected by human labels.

    `judge` is the judge's mean of all `queries`, `people` the mean of the `labels`, and `value` the corrected
    one with `low`, `high` and its standard `error`. `p` is against 0 by Student's t with `freedom`. `gain` is
    how many labels would tell as much without a judge; `slope` is b, how closely human values follow the
    judge's. `coarse` is how many labels differ if that is fewer than 6, else None. `influence` is each
    query's part in the error, or each cluster's, named in `units`.
    """

    judge: float
    people: float
    value: float
    low: float
    high: float
    p: float
    error: float
    freedom: float
    labels: int
    queries: int
    gain: float
    slope: float
    coarse: int | None
    influence: Float
    units: tuple[Hashable, ...]


def corrected(
    judged: Sequence[float] | Float,
    labeled: Mapping[int, float] | Sequence[tuple[int, float]],
    *,
    paired: bool,
    level: float = LEVEL,
    population: Population = "kind",
    span: float = 1.0,
    chosen: Sequence[float] | Float | None = None,
    clusters: Sequence[Hashable] | None = None,
    same: Collection[int] = (),
    parts: Mapping[int, Part] | None = None,
    within: tuple[float, float] | None = None,
    fewest: int = FEWEST,
    slope: float | None = None,
    look: float | None = None,
) -> Corrected:
    """Return the corrected mean over queries, from the judge's values and some human labels.

    `judged` is the judge's value of every query (the difference of two systems', if `paired`). `labeled` has
    human values of some, by their place in `judged`. `span` is the largest possible error of one query: half
    the largest difference (1 on scales 0 … 1 and −1 … 1), or the width of the scale for means; 0 leaves the
    floor out. `chosen` gives every query's chance to be labeled; without it the labels are a uniform draw.
    `clusters` names every query's cluster. `same` are places where two systems gave the same answer, which
    needs no label. `parts` are of labels that cover parts of answers: then these hold on the parts. Value and
    interval stay `within` the scale. Raises TooFewLabels with fewer than `fewest`
    labels, or with labels in fewer than 10 clusters. A `slope` estimated from more labels is used as given.
    `look` is the level of the interval if labels are examined before all are there, and should hold at every
    look. The floor is then always added: the first few of skewed values say little about the rest.

    >>> judged = [0.0, 0.5, 1.0, 0.5] * 25
    >>> mean = corrected(judged, {index: judged[index] - 0.25 for index in range(0, 100, 3)}, paired=False)
    >>> round(mean.judge, 3), round(mean.value, 3), round(mean.slope, 3), mean.labels
    (0.5, 0.25, 1.0, 34)
    """
    world = _world(judged, labeled, chosen, clusters, same, parts, level, population, span, fewest)
    fit = _fit(world, slope)
    # A slope that was fitted to these labels costs a degree of freedom.
    freedom = world.independent - (1 if world.is_whole or slope is not None else 2)
    differ = _differing_labels(world, paired)
    is_coarse = bool(few_differ(differ, world.label_units))
    floor = span if is_coarse or look is not None else 0.0
    # Queries with the same answer differ by 0, and need no label: the mean is over the others, times their
    # share.
    value = world.share * fit.value
    variance, alone, added, influence, units = _variances(world, fit, floor, level)
    error = math.sqrt(variance + added)
    half = _reach(freedom, look or level) * error
    least, most = within or (-math.inf, math.inf)
    # No mean lies outside the scale. The test keeps the estimate as it is; the interval is about the value
    # that is shown, so that it keeps a width.
    shown = min(max(value, least), most)
    return Corrected(
        judge=_mean(world.judged),
        people=_mean(world.people),
        value=shown,
        low=max(shown - half, least),
        high=min(shown + half, most),
        p=_p(value, error, freedom),
        error=error,
        freedom=freedom,
        labels=len(world.places),
        queries=len(world.judged),
        gain=_gain(world, variance, alone),
        slope=fit.slope,
        coarse=differ if is_coarse else None,
        influence=influence,
        units=units,
    )


class _World(NamedTuple):
    """What is known: every query's value by the judge, people's of some, and how these were drawn."""

    judged: Float
    rest: NDArray[np.bool_]  # not the same answer of two systems
    places: Int  # of labels
    people: Float
    judge_values: Float  # the judge's values of what people judged
    weight: Float  # of each label; 1 where all were drawn alike
    seen: float  # so many whole queries people judged in all
    left: Float  # 1 − π of each label: how much of its kind is left unseen
    unit: Int | None  # number of each query's cluster
    names: tuple[Hashable, ...]
    independent: float  # so many labels of independent queries, drawn alike, these are worth
    is_set: bool

    @property
    def share(self) -> float:
        """Of queries on which the answers differ."""
        return float(self.rest.mean())

    @property
    def label_units(self) -> int:
        """The number of labels; with clusters, of clusters that have one."""
        return len(self.places) if self.unit is None else len(np.unique(self.unit[self.places]))

    @property
    def is_whole(self) -> bool:
        """Whether every query that could need a label has one."""
        return self.seen == int(self.rest.sum())

    @property
    def unseen(self) -> float:
        """The share of queries without a label, of those that could need one."""
        return 1 - self.seen / int(self.rest.sum())


def _world(
    judged: Sequence[float] | Float,
    labeled: Mapping[int, float] | Sequence[tuple[int, float]],
    chosen: Sequence[float] | Float | None,
    clusters: Sequence[Hashable] | None,
    same: Collection[int],
    parts: Mapping[int, Part] | None,
    level: float,
    population: str,
    span: float,
    fewest: int,
) -> _World:
    values, by_place = np.asarray(judged, np.float64), dict(labeled)
    if not 0 < level < 1:
        raise UsageError(f"level={level!r}: expected a number between 0 and 1")
    if population not in ("kind", "set"):
        raise UsageError(f"population={population!r}: expected 'kind' or 'set'")
    if not (span >= 0 and math.isfinite(span)):
        raise UsageError(f"span={span!r}: expected a number, 0 or more")
    if len(by_place) < len(labeled):
        raise UsageError("a place is labeled twice; expected one human value for each query")
    if any(not 0 <= place < len(values) for place in (*by_place, *same)):
        raise UsageError(f"expected places from 0 to {len(values) - 1}, one for each value of the judge's")
    settled_values = settled(np.concatenate((values, np.array(list(by_place.values()), np.float64))))
    values, by_place = (
        settled_values[: len(values)],
        dict(zip(by_place, settled_values[len(values) :].tolist(), strict=True)),
    )
    rest = np.ones(len(values), bool)
    rest[list(same)] = False
    places = np.array(sorted(place for place in by_place if rest[place]), np.int64)
    people = np.array([by_place[place] for place in places.tolist()], np.float64)
    if not (np.isfinite(values).all() and np.isfinite(people).all()):
        raise UsageError("a value is not a number; pass only queries that are defined")
    if len(places) < max(fewest, 3):
        counts = {"number": len(places), "total": int(rest.sum()), "needed": max(fewest, 3)}
        raise TooFewLabels(Remark("few_labels_of_queries", facts=counts))
    chance = np.full(len(places), len(places) / rest.sum())
    if chosen is not None:
        if len(chosen) != len(values):
            raise UsageError(f"{len(chosen):,} chances for {len(values):,} queries; expected one for each")
        chance = np.asarray(chosen, np.float64)[places]
        if not ((chance > 0) & (chance <= 1)).all():
            raise UsageError("a labeled query needs a chance to be labeled between 0 and 1")
    # Horvitz and Thompson: a query that was less likely to be labeled stands for more like it.
    weight = np.ones(len(places)) if chosen is None else 1 / chance
    judge_values, seen = values[places], float(len(places))
    if parts is not None:
        judge_values, share = np.array([parts[place] for place in places.tolist()], np.float64).T
        seen = float(share.sum())
        if population == "set" and seen < rest.sum():
            raise UsageError("population='set': labels of parts of answers are no labels of this set")
        # Something of every answer: the parts of one stand for all of it.
        weight = weight * share if len(places) < rest.sum() else np.ones(len(places))
        clusters = range(len(values)) if clusters is None else clusters
    # Kish: unequal weights tell as much as this many equal ones.
    count = float(weight.sum() ** 2 / (weight**2).sum())
    if count < min(fewest, 10):
        raise TooFewLabels(Remark("unequal_labels", facts={"number": len(places), "count": count}))
    unit: Int | None = None
    names: tuple[Hashable, ...] = tuple(range(len(values)))
    if clusters is not None:
        if len(clusters) != len(values):
            raise UsageError(f"{len(clusters):,} clusters for {len(values):,} queries; expected one for each")
        numbers: dict[Hashable, int] = {}
        unit = np.array([numbers.setdefault(name, len(numbers)) for name in clusters], np.int64)
        names = tuple(numbers)
        cluster_count = len(np.unique(unit[places]))
        if cluster_count < FEWEST_CLUSTERS:
            counts = {"number": cluster_count, "needed": FEWEST_CLUSTERS}
            raise TooFewLabels(Remark("labels_in_few_clusters", facts=counts))
        # Labels of one cluster may all say the same thing.
        count = min(count, float(cluster_count))
    is_set = population == "set"
    return _World(
        values, rest, places, people, judge_values, weight, seen, 1 - chance, unit, names, count, is_set
    )


class _Fit(NamedTuple):
    """People's values as they follow the judge's, among queries on which answers differ."""

    value: float  # θ of these
    slope: float
    part: Float  # w·r/(1 − h) of each label
    alone: Float  # the same without a judge
    spread: float  # s²_d


def _fit(world: _World, given_slope: float | None = None) -> _Fit:
    e, d, total = world.judge_values, world.people, float(world.weight.sum())
    mean, judge_mean = (float((world.weight * values).sum()) / total for values in (d, e))
    g = world.weight / total
    deviations, off = e - judge_mean, d - mean
    square = float((g * deviations**2).sum())
    if square <= 1e-20 * float((e**2).max(initial=0.0)):  # rounding errors of a judge who never differs
        square, deviations = 1.0, np.zeros(len(e))
    # Least squares of people's values on the judge's; at slope 0 the judge is not used at all.
    slope = float((g * deviations * off).sum()) / square if given_slope is None else given_slope
    # How far the labeled queries lie from all queries, by the judge: what the correction moves by.
    ahead = float(world.judged[world.rest].mean()) - judge_mean
    is_fitted = 1.0 if given_slope is None else 0.0  # by these labels
    # Residuals at far-off points are too small by 1 − h, because the line is drawn towards them; undo that
    # (HC3).
    leverage = g * (1 + is_fitted * deviations**2 / square)
    weight = g * (1 + is_fitted * ahead * deviations / square)
    part = weight * (off - slope * deviations) / np.maximum(1 - leverage, 1 - _LEVERAGE)
    count = float(1 / (g**2).sum())
    spread = float((g * off**2).sum()) * count / (count - 1)
    return _Fit(mean + slope * ahead, slope, part, g * off / (1 - g), spread)


def _variances(
    world: _World, fit: _Fit, floor: float, level: float
) -> tuple[float, float, float, Float, tuple[Hashable, ...]]:
    """Return V, the same without a judge, what the floor adds, and parts in the error by unit."""
    share, number = world.share, len(world.judged)
    # Of a fixed set of queries only the labels are a draw; of a kind of queries, the queries are one, too.
    phase = 0.0 if world.is_set else 1 / number
    spread = share * fit.spread + share * (1 - share) * fit.value**2
    added = share**2 * floor_of(level) * (floor / world.independent) ** 2 * world.unseen
    added += phase * share * max(floor**2 / world.independent - fit.spread, 0.0)
    by_label = [_influence(world, fit, part, slope)
                for part, slope in ((fit.part, fit.slope), (fit.alone, 0.0))]  # fmt: skip
    if world.unit is None:
        variance, alone = (share**2 * float((part**2 * world.left).sum()) + spread * phase
                           for part in (fit.part, fit.alone))  # fmt: skip
        return variance, alone, added, by_label[0], world.names
    # Parts in the error are added within a cluster before they are squared, so what is alike in it counts.
    sums = [np.bincount(world.unit, parts, len(world.names)).astype(np.float64) for parts in by_label]
    factor = len(world.names) / (len(world.names) - 1) * (world.unseen if world.is_set else 1.0)
    variance, alone = (factor * float((parts**2).sum()) for parts in sums)
    return variance, alone, added, sums[0], world.names


def _influence(world: _World, fit: _Fit, part: Float, slope: float) -> Float:
    """Return each query's part in the error of θ."""
    share, number = world.share, len(world.judged)
    parts = np.zeros(number)
    if not world.is_set:
        ahead = world.judged - world.judged[world.rest].mean()
        parts = (np.where(world.rest, fit.value + slope * ahead, 0.0) - share * fit.value) / number
    parts[world.places] += share * part
    return parts


def _differing_labels(world: _World, paired: bool) -> int:
    """Return how many labels tell that anything differs; those of one cluster tell it once."""
    people, judged = world.people, world.judge_values
    values, times = np.unique(people, return_counts=True)
    # The least of three counts: labels that differ from one another, (of differences) from 0, and from the
    # judge, of which nothing is used where every query has a label.
    differ = [people != values[times.argmax()], *([people != 0] if paired else [])]
    differ += [] if world.is_whole else [settled(people - judged) != 0]
    if world.unit is None:
        return min(int(differs.sum()) for differs in differ)
    return min(len(np.unique(world.unit[world.places[differs]])) for differs in differ)


def floor_of(level: float) -> float:
    """Return V·n² of labels that are all alike: 2.34 at 95 %."""
    return round(_least_error(1, level) ** 2, 2)


def _gain(world: _World, variance: float, alone: float) -> float:
    """Return how many labels without a judge would have the variance; both without the floor."""
    number, labels = len(world.judged), len(world.places)
    if world.is_whole or variance <= 0:
        return float(labels)
    if not world.is_set:
        return min(labels * alone / variance, float(number))
    one = alone * labels / world.unseen  # variance of a single label
    return 1 / (variance / one + 1 / number) if one else float(labels)


def _reach(freedom: float, level: float) -> float:
    """Return how many standard errors Student's interval reaches to either side."""
    from scipy.special import stdtrit

    return float(stdtrit(freedom, (1 + level) / 2))


def _p(value: float, error: float, freedom: float) -> float:
    from scipy.special import stdtr

    if not error:
        return 1.0 if value == 0 else _TINY
    return max(2 * float(stdtr(freedom, -abs(value) / error)), _TINY)


def _mean(values: Float) -> float:
    return math.fsum(values.tolist()) / len(values)


def max_t(
    means: Sequence[Corrected],
    *,
    units: Sequence[Sequence[Hashable]] | None = None,
    draws: int = DRAWS,
    seed: int = 0,
) -> list[float]:
    """Return family-wise p of corrected means: parts in the error with random signs, the same in all of them.

    Each p is that of the largest |Σ s·ψ|/‖ψ‖ of all whose own p is not smaller, where Student's t of each
    stands at the normal quantile of its p. `units` names the queries (or clusters) of each, if they are not
    the same in all.

    >>> judged = [0.0, 1.0] * 50
    >>> one = corrected(judged, {at: judged[at] - at % 3 / 4 for at in range(0, 100, 3)}, paired=True)
    >>> abs(max_t([one])[0] - one.p) < 0.01
    True
    """
    from scipy.special import ndtri

    seen = -ndtri(np.maximum(np.array([mean.p for mean in means]), _TINY) / 2)
    far = (np.abs(rows) for rows in _noise(means, units, draws, seed))
    reached, _ = step_down(seen - 1e-9, far)
    alone = np.array([mean.p for mean in means])
    p = (reached + 1) / (draws + 1)
    # Holm's bounds it: of what no draw reaches it says more.
    p = np.where(reached == 0, np.fmin(p, holm(alone)), p)
    adjusted: list[float] = np.maximum(p, alone).tolist()
    return adjusted


def at_once(
    means: Sequence[Corrected],
    *,
    draws: int = DRAWS,
    seed: int = 0,
    sides: Sequence[int] | None = None,
) -> list[tuple[float, float]]:
    """Return intervals of corrected means that all hold at once, widened to 95 %.

    By as much as the 95 % quantile of the largest |Σ s·ψ|/‖ψ‖ of all (see `max_t`) is farther out than a
    single one, in Student's terms. `sides` are the signs of means that are known to differ from 0, and can
    only be wrong by having the other sign; 0 of others.

    >>> judged = [0.0, 1.0] * 50
    >>> one = corrected(judged, {at: judged[at] - at % 3 / 4 for at in range(0, 100, 3)}, paired=True)
    >>> ((low, high),) = at_once([one])
    >>> low <= one.low <= one.high <= high
    True
    """
    from scipy.special import ndtr

    if not means:
        return []
    side = np.zeros(len(means)) if sides is None else np.array(sides)
    noise = _noise(means, None, draws, seed)
    farthest = [np.where(side == 0, np.abs(rows), -side * rows).max(axis=1) for rows in noise]
    far = min(float(np.quantile(np.concatenate(farthest), LEVEL)), FARTHEST)
    inside = 2 * float(ndtr(far)) - 1
    wider = [max(_reach(mean.freedom, inside) / _reach(mean.freedom, LEVEL), 1.0) for mean in means]
    return [
        (mean.value - factor * (mean.value - mean.low), mean.value + factor * (mean.high - mean.value))
        for mean, factor in zip(means, wider, strict=True)
    ]


def _noise(
    means: Sequence[Corrected], units: Sequence[Sequence[Hashable]] | None, draws: int, seed: int
) -> Iterator[Float]:
    """Yield Σ s·ψ/‖ψ‖ of each, a row a draw of signs."""
    table = _align_parts(means, units)
    size = np.sqrt((table**2).sum(axis=0))
    table = np.divide(table, size, out=np.zeros_like(table), where=size > 0)
    yield from (signs @ table for signs in _signs(len(table), draws, seed, len(table)))


def _align_parts(means: Sequence[Corrected], units: Sequence[Sequence[Hashable]] | None = None) -> Float:
    """Return parts in the error, a row a query or cluster, a column each."""
    named = [mean.units for mean in means] if units is None else units
    rows: dict[Hashable, int] = {}
    for names in named:
        for name in names:
            rows.setdefault(name, len(rows))
    table = np.zeros((len(rows), len(means)))
    for column, (mean, names) in enumerate(zip(means, named, strict=True)):
        table[[rows[name] for name in names], column] = mean.influence
    return table


def selection_p(judged: Sequence[float] | Float, labeled: Collection[int]) -> float:
    """Return p of the judge's values being alike in labeled and other queries (Student's t).

    Where labels were drawn at random, p is below .01 once in a hundred times.

    >>> selection_p([0.0, 0.1, 0.0, 0.1, 0.0, 1.0, 0.9, 1.0, 0.9, 1.0], {0, 1, 2, 3, 4}) < 0.01
    True
    """
    from scipy.special import stdtr

    values, inside = np.asarray(judged, np.float64), np.zeros(len(judged), bool)
    inside[list(labeled)] = True
    groups = [values[inside], values[~inside]]
    if min(map(len, groups)) < 2:
        return 1.0
    gap = abs(float(groups[0].mean() - groups[1].mean()))
    if gap <= SLACK * float(np.abs(values).max()):
        return 1.0
    few, rest = map(len, groups)
    # Both are drawn from the same values if labels are a draw, so the variance is one. Welch's two would take
    # twenty labels that happen to be alike for a group without any variance.
    freedom = few + rest - 2
    variance = sum(float(np.var(group)) * len(group) for group in groups) / freedom
    error = math.sqrt(variance * (1 / few + 1 / rest))
    p = 2 * float(stdtr(freedom, -gap / error)) if error else 0.0
    # No draw is less likely than any other.
    return max(p, math.exp(-math.log(math.comb(few + rest, few))), _TINY)


def peoples_interval(
    people: Float, level: float = LEVEL, limits: Limits | None = None
) -> tuple[float, float]:
    """Return the interval of the mean of human labels: Student's, or Wilson's where there are two values.

    >>> low, high = peoples_interval(np.array([0.0] * 30))
    >>> low, round(high, 4)
    (0.0, 0.1135)
    """
    if len(people) < 2:
        return math.nan, math.nan
    half = _reach(len(people) - 1, level) * float(np.std(people, ddof=1)) / math.sqrt(len(people))
    ends = np.array([people.mean() - half]), np.array([people.mean() + half])
    places = np.arange(len(people))
    column = Sample(tuple(map(str, places.tolist())), people[:, None], places)
    low, high = _widen_coarse(column, *ends, level, ranges_of(people[:, None], limits))
    return float(low[0]), float(high[0])
