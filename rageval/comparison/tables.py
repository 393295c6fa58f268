"""One measure's values for every run, and the p-values of the pairs that are looked at."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np

from rageval.comparison.adjustment import holm
from rageval.comparison.parametric import t_test, wilcoxon
from rageval.comparison.randomisation import max_t, sign_flip
from rageval.comparison.settings import BEST, Settings
from rageval.comparison.verdicts import SLACK
from rageval.intervals.samples import Float, Int, Sample, sample
from rageval.measures.base import LOWER, NEITHER
from rageval.scores import Score, Scores, mean


class Table(NamedTuple):
    """The values by one measure; `pairs` are (run, other) and were adjusted together.

    `best` are the runs that no other is better than, `base` is the run that the others are compared with.
    """

    scores: list[Score]
    sample: Sample
    best: frozenset[int]
    base: int
    pairs: Int
    p: Float
    adjusted: Float

    @property
    def better(self) -> str:
        """Which values of the measure are good."""
        return self.scores[0].measure.better

    def shown(self, settings: Settings) -> Table:
        """The pairs that were asked for; where they are with the best run, that comes second."""
        if settings.all_pairs or settings.baseline != BEST:
            return self
        rows = np.flatnonzero((self.pairs == self.base).any(axis=1))
        pairs = self.pairs[rows]
        pairs = np.where(pairs[:, :1] == self.base, pairs[:, ::-1], pairs)
        return self._replace(pairs=pairs, p=self.p[rows], adjusted=self.adjusted[rows])

    def differences(self) -> Sample:
        """A column for each pair."""
        return differences(self.sample, self.pairs)


def tables(results: Sequence[Scores], settings: Settings, failed: Collection[str] = ()) -> list[Table]:
    """A table for each measure; a run that failed is never the best."""
    runs = [scores.run for scores in results]
    family = _family(runs, settings)
    found = []
    able = [at for at, run in enumerate(runs) if run not in failed]
    for at in range(len(results[0].scores)):
        scores = [result.scores[at] for result in results]
        values = sample(scores, settings.clusters)
        p = p_values(values, family, settings)
        adjusted = holm(p) if settings.adjust == "holm" else p
        best, base = _best(scores[0].measure.better, values, able)
        found.append(Table(scores, values, best, base, family, p, adjusted))
    return _with_max_t(found, runs, settings) if settings.adjust == "max_t" else found


def differences(values: Sample, pairs: Int) -> Sample:
    """A column of differences for each pair of runs."""
    return values.of(values.values[:, pairs[:, 0]] - values.values[:, pairs[:, 1]])


def p_values(values: Sample, pairs: Int, settings: Settings) -> Float:
    """The p-value of each pair by the test that was chosen, nothing adjusted."""
    if settings.test == "randomisation" and values.is_complete:
        return sign_flip(values.sums(), pairs, settings.draws, settings.seed)
    columns = differences(values, pairs)
    if settings.test == "randomisation":  # a query that one of the two lacks adds 0, whatever its sign
        padded = np.column_stack((columns.sums(), np.zeros(values.units)))
        against_zero = np.stack((np.arange(len(pairs)), np.full(len(pairs), len(pairs))), axis=1)
        return sign_flip(padded, against_zero, settings.draws, settings.seed)
    return t_test(columns) if settings.test == "t" else wilcoxon(columns)


def _family(runs: list[str], settings: Settings) -> Int:
    """The pairs whose p-values are adjusted together.

    The best run is picked by looking at all of them; so its p-values are adjusted for all pairs.
    """
    if settings.baseline == BEST:
        return np.stack(np.triu_indices(len(runs), 1), axis=1)
    base = runs.index(settings.baseline)
    return np.array([(run, base) for run in range(len(runs)) if run != base])


def _best(better: str, values: Sample, able: Sequence[int]) -> tuple[frozenset[int], int]:
    """The best of the runs that are able to be it, and the run that the others are compared with.

    Runs that share the best value are all best; if that is every run, or no way is better, none is, and the
    first stands where the best one would.
    """
    means = {at: mean(values.values[:, at]) for at in able}
    known = {at: value for at, value in means.items() if value == value}
    first = next(iter(known or means), 0)
    if not known or better == NEITHER:
        return frozenset(), first
    top = (min if better == LOWER else max)(known.values())
    best = [at for at, value in known.items() if abs(value - top) <= SLACK]
    shared = len(best) == len(known) > 1
    return frozenset() if shared else frozenset(best), best[0]


def _with_max_t(found: list[Table], runs: list[str], settings: Settings) -> list[Table]:
    base = None if settings.baseline == BEST else runs.index(settings.baseline)
    together = all(table.sample.is_complete for table in found)  # then one shuffle serves all measures
    parts = [found] if together else [[table] for table in found]
    results = []
    for part in parts:
        sums = [table.sample.complete().sums() for table in part]
        if len(sums[0]):
            adjusted = max_t(sums, part[0].pairs, base, settings.draws, settings.seed)
        else:
            adjusted = [np.full(len(part[0].pairs), np.nan)]
        results += [table._replace(adjusted=p) for table, p in zip(part, adjusted, strict=True)]
    return results
