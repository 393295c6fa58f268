"""Were all systems judged by the same nuggets? If not, their scores are not comparable."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rageval.tables.grades import Grades, Int
from rageval.tables.scales import SUPPORT
from rageval.text import visible

_SHOWN = 60


def differences(grades: Grades) -> Iterator[str]:
    """A sentence on the nuggets that some systems were judged by and others were not, and on importances."""
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
    partial = np.flatnonzero(judged < systems[query[first]])
    if len(partial):
        at = int(first[partial[0]])
        name = visible(grades.aspects.words[aspect[at]])[:_SHOWN]
        yield (
            f"the systems were judged by different nuggets in {_number_of(query[first[partial]]):,} queries:"
            f" in {visible(grades.queries.words[query[at]])}, {int(judged[partial[0]])} of"
            f" {int(systems[query[at]])} systems by {name!r}; their scores are not comparable there"
        )
    importance = grades.importance[rows]
    low, high = np.full(len(nuggets), 99), np.full(len(nuggets), -99)
    np.minimum.at(low, of_row, importance)
    np.maximum.at(high, of_row, importance)
    unlike = int((low != high).sum())
    if unlike:
        yield f"{unlike:,} nuggets are vital for some systems and okay, or nothing, for others"


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
