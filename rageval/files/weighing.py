"""Importance and weights of nuggets joined to judgements, which may not say them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from rageval.errors import InputError
from rageval.files.assignments import distinct
from rageval.files.limits import DEFAULT, Limits
from rageval.files.nuggets import read_nuggets
from rageval.files.opening import name_of
from rageval.records import Nugget
from rageval.tables.codes import NONE
from rageval.tables.grades import Grades
from rageval.tables.scales import LEXICAL, SUPPORT
from rageval.text import visible

Bank = Mapping[tuple[str, str], Nugget]  # by query, and id or text


def weigh(grades: Grades, source: Any, limits: Limits = DEFAULT) -> None:
    """Let judgements of nuggets have the importance and the weight that `source` says.

    Nuggets are known by query and id; those of assignments, which have no ids, by their text. A judgement
    that says something else is an error; what only one side knows is told in `grades.remarks`.
    """
    nuggets, name = _nuggets(source, limits)
    by_id = {(nugget.query_id, nugget.nugget_id): nugget for nugget in nuggets}
    by_text = _by_text(nuggets)
    rows = np.union1d(grades.belonging(SUPPORT), grades.belonging(LEXICAL))
    rows = rows if len(rows) else np.arange(len(grades))
    key = grades.query[rows].astype(np.int64) * len(grades.aspects) + grades.aspect[rows]
    first, of_row = np.unique(key, return_index=True, return_inverse=True)[1:]
    judged: list[Nugget | None] = [
        (by_text if int(grades.source[row]) in grades.by_text else by_id).get(_place(grades, row))
        for row in rows[first].tolist()
    ]
    if not any(judged):
        raise InputError(_nothing_shared(grades, rows, nuggets, name))
    _join(grades, rows, [judged[at] for at in of_row.tolist()], name)
    strange = [row for row, nugget in zip(rows[first].tolist(), judged, strict=True) if nugget is None]
    _remark(grades, nuggets, [nugget for nugget in judged if nugget is not None], strange, name)


def _nuggets(source: Any, limits: Limits) -> tuple[list[Nugget], str]:
    if isinstance(source, Iterable) and not isinstance(source, str) and not hasattr(source, "read"):
        found = list(source)
        if not all(isinstance(nugget, Nugget) for nugget in found):
            raise InputError(
                f"nuggets: expected a file, a data set or records of Nugget, found {found!r:.80}"
            )
        return found, "nuggets"
    return list(read_nuggets(source, limits)), name_of(source)


def _by_text(nuggets: Iterable[Nugget]) -> dict[tuple[str, str], Nugget]:
    """Nuggets by query and text, a repeated text numbered as assignments number it."""
    banks: dict[str, list[Nugget]] = {}
    for nugget in nuggets:
        banks.setdefault(nugget.query_id, []).append(nugget)
    return {
        (query, name): nugget
        for query, bank in banks.items()
        for name, nugget in zip(distinct([nugget.text for nugget in bank]), bank, strict=True)
    }


def _place(grades: Grades, row: int) -> tuple[str, str]:
    return grades.queries.words[grades.query[row]], grades.aspects.words[grades.aspect[row]]


def _join(grades: Grades, rows: Any, nuggets: list[Nugget | None], name: str) -> None:
    said = [None if nugget is None else nugget.importance for nugget in nuggets]
    importance = grades.importances.column(said)
    weight = np.array([None if nugget is None else nugget.weight for nugget in nuggets], np.float64)
    own, own_weight = grades.importance[rows], grades.weight[rows]
    unlike = (own != NONE) & (importance != NONE) & (own != importance)
    unlike |= ~np.isnan(own_weight) & ~np.isnan(weight) & (own_weight != weight)
    if unlike.any():
        at = int(np.flatnonzero(unlike)[0])
        raise InputError(_conflict(grades, int(rows[at]), nuggets[at], name, int(unlike.sum())))
    grades.importance[rows] = np.where(importance == NONE, own, importance)
    grades.weight[rows] = np.where(np.isnan(weight), own_weight, weight)


def _conflict(grades: Grades, row: int, nugget: Nugget | None, name: str, number: int) -> str:
    query, aspect = map(visible, _place(grades, row))
    own, weight = int(grades.importance[row]), float(grades.weight[row])
    here = [grades.importances.words[own]] if own != NONE else []
    here += [f"of weight {weight:g}"] if not np.isnan(weight) else []
    there = [nugget.importance] if nugget and nugget.importance else []
    there += [f"of weight {nugget.weight:g}"] if nugget and nugget.weight is not None else []
    more = f" ({number:,} such judgements)" if number > 1 else ""
    return (
        f"{grades.where(row)}: nugget {aspect[:80]!r} of query {query!r} is {' and '.join(here)} here, and"
        f" {' and '.join(there)} in {visible(name)}; expected the same in both{more}: judge by those nuggets,"
        " or leave the nuggets out"
    )


def _nothing_shared(grades: Grades, rows: Any, nuggets: list[Nugget], name: str) -> str:
    if not nuggets:
        return f"{visible(name)}: holds no nuggets"
    judged = "none"
    if len(rows):
        query, aspect = map(visible, _place(grades, int(rows[0])))
        judged = f"{aspect[:80]!r} of query {query!r}"
    first = nuggets[0]
    return (
        f"{visible(name)}: none of its nuggets was judged in {visible(grades.name)}; expected judgements"
        f" whose query_id and aspect are those of nuggets, such as {visible(first.nugget_id)!r} of query"
        f" {visible(first.query_id)!r}; found judgements of {judged}"
    )


def _remark(
    grades: Grades, nuggets: list[Nugget], judged: list[Nugget], strange: list[int], name: str
) -> None:
    """What only one side knows, of the queries that both know."""
    if strange:
        query, aspect = map(visible, _place(grades, strange[0]))
        grades.remarks.append(
            f"{len(strange):,} judged nuggets are not in {visible(name)}, the first {aspect[:60]!r} of query"
            f" {query!r}; they keep what the judgements say"
        )
    there = set(judged)
    unjudged = [n for n in nuggets if n not in there and n.query_id in grades.queries]
    if unjudged:
        first = unjudged[0]
        grades.remarks.append(
            f"{len(unjudged):,} nuggets of {visible(name)} were not judged, the first"
            f" {visible(first.nugget_id)[:60]!r} of query {visible(first.query_id)!r}; no measure counts them"
        )
    unrated = sum(nugget.importance is None and nugget.weight is None for nugget in judged)
    if unrated:
        grades.remarks.append(
            f"{unrated:,} judged nuggets have neither importance nor weight in {visible(name)}"
        )
