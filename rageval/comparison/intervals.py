"""How sure a score is: its values as a sample, and its interval, the same one wherever it is printed.

Also by what is known of the queries: a slice a domain, a question type, ….
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rageval.comparison._labelled import Labelled, corrected_score, corrected_slice
from rageval.measures.parsing import AnyMeasure
from rageval.measures.ranking import BLENDS, Blend, Share, pooled
from rageval.scoring.scores import Score, combined, require_groups, says_something
from rageval.statistics import LEVEL, SEED
from rageval.statistics.bootstrap import intervals, ranges_of
from rageval.statistics.samples import Int, Sample, settled

if TYPE_CHECKING:
    from rageval.comparison.results import Settings

FEW = 20  # queries; an interval from fewer says little


def bootstrap(measure: AnyMeasure, values: Sequence[float], level: float = LEVEL) -> tuple[float, float]:
    """Return the interval of what the defined values become; the same values, the same interval.

    There is one for means and for pooled shares; sums, and what a function makes of a list, have none (NaN).

    >>> from rageval.measures import recall
    >>> low, high = bootstrap(recall, [0.5] * 30)  # not of width 0: others might differ
    >>> round(low, 2), round(high, 2)
    (0.4, 0.6)
    """
    known = [value for value in values if value == value or isinstance(value, Blend)]
    if len(known) < 2 or not _has_interval(measure):
        return float("nan"), float("nan")
    queries = tuple(map(str, range(len(known))))
    columns = _sample_of(measure, queries, [known], np.arange(len(known)))
    low, high = intervals(columns, level=level, seed=SEED, scale=ranges_of(columns.values, measure.limits))
    return float(low[0]), float(high[0])


def bootstrap_of(score: Score, level: float = LEVEL) -> tuple[float, float]:
    """Return the interval of a score; the same one, whatever the order of its queries."""
    numbers = sorted(zip(score.query_ids, score.numbers, strict=True), key=lambda each: each[0])
    return bootstrap(score.measure, [value for _, value in numbers], level)


def _sample(scores: Sequence[Score], clusters: Mapping[str, str] | None = None) -> Sample:
    """Return the values that several runs have by one measure.

    Queries are sorted by id, so that the order of lines in a file changes no digit of what is drawn.
    """
    queries = sorted({query for score in scores for query in score.query_ids})
    known = [dict(zip(score.query_ids, score.numbers, strict=True)) for score in scores]
    columns = [[found.get(query, math.nan) for query in queries] for found in known]
    unit = np.arange(len(queries))
    if clusters is not None:
        require_groups(clusters, queries, "clusters")
        _, unit = np.unique([clusters[query] for query in queries], return_inverse=True)
    return _sample_of(scores[0].measure, tuple(queries), columns, unit.astype(np.int64))


def _has_interval(measure: AnyMeasure) -> bool:
    """Return whether there are intervals of what a measure makes of the queries' values."""
    return measure.aggregate in ("mean", "pool")


def _sample_of(
    measure: AnyMeasure, queries: tuple[str, ...], columns: Sequence[Sequence[float]], unit: Int
) -> Sample:
    """Return a sample of these values by a measure, a column a run."""
    blended = measure.aggregate == "pool" and any(isinstance(value, Blend) for of in columns for value in of)
    if blended:
        columns = [_linear(column) for column in columns]
    values = settled(np.array(columns, np.float64).T)
    if measure.aggregate != "pool" or blended:
        return Sample(queries, values, unit)
    wholes = [[getattr(value, "whole", 0.0) for value in column] for column in columns]
    return Sample(queries, values, unit, np.array(wholes, np.float64).T)


def _linear(values: Sequence[float]) -> list[float]:
    """Return values whose mean is the pooled blend, and that vary as it would with other queries.

    These are the jackknife's: what the pooled blend would be without each query says how far it leans on it.
    """
    known = {at: value for at, value in enumerate(values) if isinstance(value, Blend)}
    whole = pooled(known.values())
    found, number = [math.nan] * len(values), len(known)
    if number < 2 or not isinstance(whole, Blend) or whole != whole:
        return found
    without = {at: _without(whole, value) for at, value in known.items()}
    middle = math.fsum(without.values()) / number
    for at, each in without.items():
        found[at] = whole + (number - 1) * (middle - each)
    return found


def _without(whole: Blend, one: Blend) -> float:
    """Return a pooled blend without one query; itself where nothing would be left of some share."""
    left = []
    for total, own in zip(whole.shares, one.shares, strict=True):
        part, rest = (own.part, own.whole) if isinstance(own, Share) else (0.0, 0.0)
        if not isinstance(total, Share) or total.whole - rest <= 1e-12 * total.whole:
            return float(whole)
        left.append((total.part - part) / (total.whole - rest))
    return BLENDS[whole.rule](left)


class Slice(NamedTuple):
    """A measure's value over the queries of one kind, with its 95 % bootstrap interval.

    It rests on the `queries` where the measure is defined; on the `undefined` ones it is not. `basis` is what
    `rageval.scoring.basis` writes. With labels it is the corrected value, NaN where these are too few
    (`why`), `judged` is the judge's, and `corrected_from` what that rests on.
    """

    field: str
    name: str
    value: float
    low: float
    high: float
    queries: int
    undefined: int = 0
    basis: str = ""
    judged: float | None = None
    labels: int | None = None
    corrected_from: str = ""
    why: str = ""

    @property
    def is_small(self) -> bool:
        """Whether it rests on too few queries to say much."""
        return self.queries < FEW


def slices(
    score: Score, field: str, groups: Mapping[str, str], settings: Settings | None = None
) -> list[Slice]:
    """Return one slice for each value of the field, in the order of the values."""
    found = []
    whole = corrected_score(score, settings) if score.people is not None else None
    for name, values in sorted(score.numbers_by(groups).items()):
        if whole is not None:
            queries = {query for query in score.query_ids if groups[query] == name}
            found.append(
                _corrected(score, field, name, corrected_slice(score, settings, queries, whole), values)
            )
            continue
        low, high = bootstrap(score.measure, values)
        pools = score.measure.aggregate == "pool"
        known = sum(value == value or (pools and says_something(value)) for value in values)
        value = combined(score.measure, values)
        found.append(Slice(field, name, value, low, high, known, len(values) - known, score.basis))
    return found


def _corrected(score: Score, field: str, name: str, slice_: Labelled, values: Sequence[float]) -> Slice:
    """Return a slice with the value that people's labels make of the judge's."""
    found = slice_.found
    value, low, high = (found.value, found.low, found.high) if found else (math.nan,) * 3
    known, judged = len(slice_.queries), combined(score.measure, values)
    basis, source = score.claimed_by
    rest = known, len(values) - known, basis, judged, len(slice_.people), source, slice_.why
    return Slice(field, name, value, low, high, *rest)
