"""Were all systems judged by the same nuggets? If not, their scores are not comparable."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

from rageval.tables.grades import Grades, Int
from rageval.tables.scales import OUTCOME, POSITION, SUPPORT, Scale
from rageval.text import visible

_SHOWN = 60
_NO_WEIGHT = -1e300


def differences(grades: Grades) -> Iterator[str]:
    """A sentence on nuggets that only some systems were judged by, and on importances and weights."""
    rows = grades.rows_of(SUPPORT) if _speaks_of_nuggets(grades) else np.zeros(0, np.int64)
    if not len(rows) or len(grades.runs) < 2:
        return
    query, aspect, run = (
        column[rows].astype(np.int64) for column in (grades.query, grades.aspect, grades.run)
    )
    nugget = query * len(grades.aspects) + aspect
    systems = _distinct_pairs(query, run, len(grades.queries))
    nuggets, first, of_row = np.unique(nugget, return_index=True, return_inverse=True)
    judged = _distinct_pairs(of_row, run, len(nuggets))
    some = np.flatnonzero(judged < systems[query[first]])
    if len(some):
        at = int(first[some[0]])
        name = visible(grades.aspects.words[aspect[at]])[:_SHOWN]
        yield (
            f"the systems were judged by different nuggets in {_number_of(query[first[some]]):,} queries:"
            f" in {visible(grades.queries.words[query[at]])}, {int(judged[some[0]])} of"
            f" {int(systems[query[at]])} systems by {name!r}; their scores are not comparable there"
        )
    unlike = _said_differently(of_row, grades.importance[rows], len(nuggets))
    if unlike:
        yield f"{unlike:,} nuggets are vital for some systems and okay, or nothing, for others"
    unlike = _said_differently(of_row, np.nan_to_num(grades.weight[rows], nan=_NO_WEIGHT), len(nuggets))
    if unlike:
        yield f"{unlike:,} criteria have another weight, or none, for some systems than for others"


def _said_differently(group: Int, value: Any, groups: int) -> int:
    """In how many groups not all rows have the same value."""
    low, high = np.full(groups, np.inf), np.full(groups, -np.inf)
    np.minimum.at(low, group, value)
    np.maximum.at(high, group, value)
    return int((low != high).sum())


JudgedBy = Mapping[str, frozenset[Any]]


def judged_by(grades: Grades, run: int, scales: Iterable[Scale]) -> JudgedBy:
    """By what a system was judged in each query where not all were judged by the same: nuggets, opponents."""
    found: dict[str, frozenset[Any]] = {}
    for scale in scales:
        if scale is SUPPORT:
            everybody: dict[int, JudgedBy] = grades.keep("nuggets by run", partial(_nuggets_of_runs, grades))
            found |= everybody.get(run, {})
        elif scale in (OUTCOME, POSITION):
            met: dict[int, JudgedBy] = grades.keep(("met", scale.name), partial(_met, grades, scale))
            found |= met.get(run, {})
    return found


def _nuggets_of_runs(grades: Grades) -> dict[int, JudgedBy]:
    """The nuggets of each system, with their importance and weight; nothing if all have the same."""
    if next(differences(grades), None) is None:
        return {}
    rows = grades.rows_of(SUPPORT)
    columns = (
        grades.run,
        grades.query,
        grades.aspect,
        grades.importance,
        np.nan_to_num(grades.weight, nan=_NO_WEIGHT),
    )
    return _sets(grades, ((run, query, what) for run, query, *what in _rows_of(columns, rows)))


def _met(grades: Grades, scale: Scale) -> dict[int, JudgedBy]:
    """The systems beside which each was judged."""
    rows = grades.rows_of(scale)
    columns = (grades.query, grades.aspect, grades.judge, grades.run)
    groups: dict[tuple[int, ...], set[int]] = {}
    for query, aspect, judge, run in _rows_of(columns, rows):
        groups.setdefault((query, aspect, judge), set()).add(run)
    names = grades.runs.words
    pairs = ((run, key[0], names[other]) for key, runs in groups.items() for run in runs for other in runs)
    return _sets(grades, pairs)


def _rows_of(columns: Iterable[Any], rows: Int) -> Iterator[tuple[Any, ...]]:
    return zip(*(column[rows].tolist() for column in columns), strict=True)


def _sets(grades: Grades, found: Iterable[tuple[int, int, Any]]) -> dict[int, JudgedBy]:
    sets: dict[int, dict[str, set[Any]]] = {}
    words = grades.queries.words
    for run, query, what in found:
        sets.setdefault(run, {}).setdefault(words[query], set()).add(
            tuple(what) if isinstance(what, list) else what
        )
    return {run: {query: frozenset(those) for query, those in each.items()} for run, each in sets.items()}


def _speaks_of_nuggets(grades: Grades) -> bool:
    return bool(set(grades.labels) & {"support", "partial_support", "not_support"}) and not (
        set(grades.labels) - set(SUPPORT.labels) and not set(SUPPORT.rubrics) & set(grades.rubrics)
    )


def _distinct_pairs(group: Int, member: Int, groups: int) -> Int:
    """How many distinct members each group has."""
    members = int(member.max()) + 1
    return np.bincount(np.unique(group * members + member) // members, minlength=groups)


def _number_of(values: Int) -> int:
    return len(np.unique(values))
