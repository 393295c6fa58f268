"""A measure over many versions: each held against the first, with intervals that hold over all looks at once.

The same questions are asked of one version after the other, so looks come without end, and the interval of
each alone would miss the truth some time. Look t has an error of α/(t(t + 1)), and all of them together, as
many as there will be, at most α: what was shown once stays as it was when another version comes. The interval
is Student's of the paired differences, with the floor for values that were not seen, always.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

from rageval.comparison.gate import GateSide, baseline_in, rules_in
from rageval.files.opening import Source, name_of
from rageval.files.scores import BaselineHeader
from rageval.statistics import LEVEL
from rageval.statistics.bootstrap import half_with_floor, ranges_of_differences
from rageval.statistics.samples import Sample, settled
from rageval.table import COUNT, NUMBER, Column, Displayed, Table, finite
from rageval.text import visible


class Version(NamedTuple):
    """A version of a system: its values by measure and query, and the rules and judges that made them."""

    name: str
    date: str
    values: Mapping[str, Mapping[str, float]]
    rules: Mapping[str, Sequence[str]]
    judges: frozenset[str] = frozenset()


def version_of(side: GateSide) -> Version:
    """Return a candidate as one of many versions."""
    header, scores = side.header, side.scores.scores
    values = {str(score.measure): score.by_query for score in scores}
    return _version(header, side.scores.run, "now", values)


def version_in(source: Source) -> Version:
    """Read a baseline as one of many versions."""
    header, lines = baseline_in(source)
    values = {
        name: {
            line.query_id: math.nan if (value := line.values[name]) is None else value
            for line in lines
            if name not in line.between
        }
        for name in header.measures
    }
    return _version(header, header.run or name_of(source), header.date, values)


def _version(
    header: BaselineHeader, name: str, date: str, values: Mapping[str, Mapping[str, float]]
) -> Version:
    rules = {
        measure: (*rules_in(signature), header.judgements) for measure, signature in header.measures.items()
    }
    return Version(name, date, values, rules, frozenset([*header.judges, *header.rubrics]))


@dataclass(frozen=True, slots=True)
class VersionLook:
    """A version by a measure, beside the first one: on how many queries, and by how much it differs.

    `difference`, `low` and `high` are NaN for the first, and where the two cannot be compared (`why`).
    """

    name: str
    date: str
    measure: str
    queries: int
    value: float
    difference: float = math.nan
    low: float = math.nan
    high: float = math.nan
    why: str = ""


@dataclass(frozen=True, slots=True, repr=False)
class Trend(Displayed):
    """The looks at all versions, measure by measure; printed it is a table of them."""

    looks: Sequence[VersionLook]
    level: float = LEVEL

    def sentences(self) -> list[str]:
        """Return where each measure stands now."""
        said = []
        for measure in dict.fromkeys(look.measure for look in self.looks):
            first, *others = (look for look in self.looks if look.measure == measure)
            if not others:
                continue
            last, begun = others[-1], f"{visible(first.name)}{f' of {first.date}' if first.date else ''}"
            ends = f"{last.difference:+.3f} [{last.low:+.3f}, {last.high:+.3f}]"
            is_apart = last.low > 0 or last.high < 0
            what = ends + ("" if is_apart else ", no change is shown") if not last.why else last.why
            said.append(f"{measure}: {what} since {begun}, over {len(others):,} looks")
        return said

    def as_dict(self) -> dict[str, Any]:
        """Return everything, for a program; what is undefined is None."""
        looks = [finite(asdict(look)) for look in self.looks]
        return {"level": self.level, "looks": looks, "said": self.sentences()}

    def _table(self) -> Table:
        columns = [Column("measure"), Column("version"), Column("date"), Column("n", COUNT)]
        columns += [Column("value", NUMBER, 3, none="-"), Column("since the first")]
        rows: list[list[Any]] = []
        for look in self.looks:
            ends = f"{look.difference:+.3f} [{look.low:+.3f}, {look.high:+.3f}]"
            shown = "-" if math.isnan(look.difference) else ends
            value = None if math.isnan(look.value) else look.value
            rows.append([look.measure, look.name, look.date, look.queries, value, look.why or shown])
        title = f"intervals {self.level:g} over all looks"
        return Table(columns, rows, title=title)

    def _records(self) -> list[dict[str, Any]]:
        return [asdict(look) for look in self.looks]


def level_of_look(number: int, level: float = LEVEL) -> float:
    """Return the level of the interval at a look; all looks together miss at most 1 − level of the time.

    >>> [round(level_of_look(look), 4) for look in (1, 2, 10)]
    [0.975, 0.9917, 0.9995]
    """
    return 1 - (1 - level) / (number * (number + 1))


def trend(
    versions: Sequence[Version], level: float = LEVEL, clusters: Mapping[str, str] | None = None
) -> Trend:
    """Return each version beside the first, by the measures of the last; the last is the newest."""
    looks = []
    for measure in versions[-1].values:
        known = [version for version in versions if measure in version.values]
        first, *others = known
        looks.append(_alone(first, measure))
        looks += [
            _look(first, version, measure, level_of_look(number, level), clusters or {})
            for number, version in enumerate(others, 1)
        ]
    return Trend(looks, level)


def _alone(version: Version, measure: str, why: str = "") -> VersionLook:
    values = [value for value in version.values[measure].values() if not math.isnan(value)]
    mean = math.fsum(values) / len(values) if values else math.nan
    return VersionLook(version.name, version.date, measure, len(values), mean, why=why)


def _look(
    first: Version, version: Version, measure: str, level: float, clusters: Mapping[str, str]
) -> VersionLook:
    alone = _alone(version, measure)
    if version.rules[measure] != first.rules[measure]:
        return _alone(version, measure, "scored by other rules, or other judgements")
    if version.judges != first.judges:
        return _alone(version, measure, "judged by another judge")
    before, now = first.values[measure], version.values[measure]
    queries = [query for query in now if not math.isnan(now[query] - before.get(query, math.nan))]
    units = [clusters.get(query, query) for query in queries]
    if len({*units}) < 2:
        return _alone(version, measure, "too few questions in both")
    both = np.array([[now[query], before[query]] for query in queries])
    scale = ranges_of_differences(both, np.array([[0, 1]]))
    unit = np.unique(units, return_inverse=True)[1].astype(np.int64)
    sample = Sample(tuple(queries), settled(both[:, 0] - both[:, 1])[:, None], unit)
    mean, half = float(sample.mean()[0]), float(half_with_floor(sample, level, scale.span)[0])
    # No further than the scale goes.
    low, high = max(mean - half, float(scale.low[0])), min(mean + half, float(scale.high[0]))
    return VersionLook(version.name, version.date, measure, len(queries), alone.value, mean, low, high)
