"""Two judges of the same answers, side by side: what each did and cost, and where they part.

The first is ours, say, and the second the original's prompt: how far they agree is in their passport.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from rageval.comparison.passport import Judged, grade_of, spent_on
from rageval.judges.voting import GRADED, Place


class OneJudge(NamedTuple):
    """What one judge did: who it is, what it said how often, what failed, what it took."""

    judge: str
    rubric: str
    judgements: int
    failed: int
    mean_grade: float | None
    calls: int
    tokens: int
    cost: float | None
    labels: Mapping[str, int]


class Parting(NamedTuple):
    """What two judges do not agree on: their verdicts, how far these are apart, and their reasons."""

    query: str
    run: str
    item: str
    aspect: str
    first: str
    second: str
    gap: float
    reason: str
    other_reason: str


def one_judge(judged: Judged) -> OneJudge:
    """Return what a judge did."""
    said = list(judged.values())
    graded = [row for row in said if row["status"] in GRADED]
    grades = list(map(grade_of, graded))
    spent = spent_on(judged)
    return OneJudge(
        _named(said, "judge"),
        _named(said, "rubric"),
        len(said),
        len(said) - len(graded),
        sum(grades) / len(grades) if grades else None,
        sum(int(row.get("attempts") or 0) for row in said),
        spent["tokens"],
        spent["cost"],
        Counter(map(_verdict, graded)),
    )


def parting(one: Judged, other: Judged) -> list[Parting]:
    """Return what both judged and graded differently, the farthest apart first."""
    return sorted(_partings(one, other), key=lambda each: (-each.gap, each[:4]))


def _partings(one: Judged, other: Judged) -> Iterator[Parting]:
    for place, mine in one.items():
        theirs = other.get(place)
        if theirs is None or mine["status"] not in GRADED or theirs["status"] not in GRADED:
            continue
        gap = abs(grade_of(mine) - grade_of(theirs))
        if gap:
            yield _parting(place, mine, theirs, gap)


def _parting(place: Place, mine: Mapping[str, Any], theirs: Mapping[str, Any], gap: float) -> Parting:
    reasons = (str(row.get("reason") or row.get("evidence") or "") for row in (mine, theirs))
    return Parting(*place, _verdict(mine), _verdict(theirs), gap, *reasons)


def _verdict(judgement: Mapping[str, Any]) -> str:
    label = judgement.get("label")
    return str(label) if label is not None else f"{grade_of(judgement):g}"


def _named(said: list[Mapping[str, Any]], key: str) -> str:
    """Return whoever is named, one behind the other where there are several."""
    return ", ".join(dict.fromkeys(str(row[key]) for row in said if row.get(key)))
