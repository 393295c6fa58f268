"""Intervals and tests of values that all queries have together, from the same resamples for all systems.

A resample draws queries, or clusters of them, and has a value of each system, so that the differences of
pairs are of the same queries. An interval is read off the resamples, widened for few units (`expanded`). p is
the risk at which such an interval just reaches 0, so that the two never contradict each other.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from rageval.comparison.clusters import clusters_among
from rageval.comparison.results import Settings
from rageval.measures.together import Outcomes, value_of_all
from rageval.scoring.scores import Score, require_groups
from rageval.statistics import LEVEL, SEED
from rageval.statistics.bootstrap import RESAMPLES, ends_of, p_of_resamples, resampled
from rageval.statistics.samples import Float, Int
from rageval.statistics.significance import step_down


def is_joint(score: Score) -> bool:
    """Return whether only all queries together have a value, which is resampled."""
    return score.measure.aggregate == "together"


class ResampledGap(NamedTuple):
    """The difference of two systems on the queries that both have outcomes of: its interval and its p."""

    value: float
    low: float
    high: float
    p: float
    error: float
    units: int
    queries: tuple[str, ...]


@dataclass
class JointSample:
    """The outcomes of several systems by one measure, and the units that are drawn together."""

    scores: Sequence[Score]
    clusters: Mapping[str, str] | None = None
    level: float = LEVEL
    resamples: int = RESAMPLES
    seed: int = SEED
    _drawn: dict[tuple[int, tuple[str, ...]], Float] = field(default_factory=dict)

    @classmethod
    def of_settings(cls, settings: Settings | None, scores: Sequence[Score]) -> JointSample:
        """Return the sample that a comparison resamples."""
        clusters = clusters_among(scores, settings)
        if settings is None:
            return cls(scores, clusters)
        return cls(scores, clusters, settings.level, settings.resamples, settings.seed)

    def __post_init__(self) -> None:
        self._outcomes = [
            {
                query: value
                for query, value in zip(score.query_ids, score.numbers, strict=True)
                if isinstance(value, Outcomes)
            }
            for score in self.scores
        ]

    def interval(self, index: int) -> tuple[float, float]:
        """Return the interval of a system's value; NaN where there is none."""
        queries = tuple(sorted(self._outcomes[index]))
        units = len(set(self._units(queries)))
        drawn = self._resampled(index, queries)
        drawn = drawn[np.isfinite(drawn)]
        if units < 2 or not len(drawn):
            return math.nan, math.nan
        low, high = ends_of(drawn, self.level, units)
        return float(low), float(high)

    def gap(self, first: int, second: int, without: Collection[str] = ()) -> ResampledGap:
        """Return the difference of two systems on the queries that both have, but for some."""
        shared = self._outcomes[first].keys() & self._outcomes[second].keys() - set(without)
        queries = tuple(sorted(shared))
        units = len(set(self._units(queries)))
        values = [self._value(index, queries) for index in (first, second)]
        drawn = self._resampled(first, queries) - self._resampled(second, queries)
        drawn = drawn[np.isfinite(drawn)]
        if units < 2 or not len(drawn):
            unknown = math.nan
            return ResampledGap(values[0] - values[1], unknown, unknown, unknown, unknown, units, queries)
        low, high = map(float, ends_of(drawn, self.level, units))
        p = p_of_resamples(drawn, units)
        return ResampledGap(values[0] - values[1], low, high, p, float(drawn.std(ddof=1)), units, queries)

    def max_t(self, pairs: Int) -> Float:
        """Return the family-wise p of pairs: that of the largest |difference* − difference|/error of all.

        Resamples of pairs with the same queries draw the same ones. NaN where a pair has no p.
        """
        gaps = [self.gap(*pair) for pair in pairs.tolist()]
        able = [index for index, gap in enumerate(gaps) if gap.error > 0]
        adjusted = np.array([math.nan if math.isnan(gap.p) else 1.0 for gap in gaps])
        if not able:
            return adjusted
        drawn = np.empty((self.resamples, len(able)))
        for place, index in enumerate(able):
            first, second = (self._resampled(side, gaps[index].queries) for side in pairs[index].tolist())
            # As in `p_of_resamples`: what n units vary, times n/(n − 1).
            units = max(gaps[index].units, 2)
            drawn[:, place] = (first - second - gaps[index].value) * math.sqrt(units / (units - 1))
        errors = np.array([gaps[index].error for index in able])
        far = np.abs(np.nan_to_num(drawn / errors, nan=np.inf))
        reached, number = step_down(np.abs([gaps[index].value for index in able]) / errors, [far])
        adjusted[able] = (reached + 1) / (number + 1)
        return adjusted

    def _value(self, index: int, queries: Sequence[str]) -> float:
        together = self.scores[index].measure.together  # type: ignore[union-attr]
        return value_of_all(together, map(self._outcomes[index].__getitem__, queries))  # type: ignore[arg-type]

    def _units(self, queries: Sequence[str]) -> list[str]:
        if self.clusters is None:
            return list(queries)
        require_groups(self.clusters, queries, "clusters")
        return [self.clusters[query] for query in queries]

    def _resampled(self, index: int, queries: tuple[str, ...]) -> Float:
        """Return a system's value in each resample of these queries."""
        key = index, queries
        if key not in self._drawn:
            together = self.scores[index].measure.together  # type: ignore[union-attr]
            if together is None or together.resampled is None or not queries:
                return np.full(self.resamples, np.nan)
            _, unit = np.unique(self._units(queries), return_inverse=True)
            rows = [
                (*row, of)
                for query, of in zip(queries, unit.tolist(), strict=True)
                for row in self._outcomes[index][query].rows
            ]
            numbers, right, weights, places = np.array(rows, np.float64).T
            statistic, units = together.resampled, places.astype(np.int64)
            self._drawn[key] = resampled(
                lambda times: statistic(numbers, right, times[:, units] * weights),
                int(units.max()) + 1,
                len(rows),
                self.resamples,
                self.seed,
            )
        return self._drawn[key]
