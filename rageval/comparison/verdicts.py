"""What may be claimed of a pair of runs, and when nothing may be.

A run that failed, or produced nothing, is not "significantly worse": nothing was compared. And a difference
that rests on queries a run never answered, or on judgements that are missing, is not one of quality.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from rageval.comparison.results import HIGHER, IDENTICAL, LOWER, REFUSED, TIES_ONLY, UNDECIDED
from rageval.intervals.samples import Float
from rageval.scores import Score, Scores
from rageval.text import visible

_SLACK = 1e-12  # of a tie between two values
_FAULTS = ("incorrect", "missing")

Absent = Mapping[str, Collection[str]]
Alike = Mapping[frozenset[str], str]


class Ruling(NamedTuple):
    """A verdict, and what else should be known."""

    verdict: str
    why: str = ""


def lower_is_better(score: Score) -> bool:
    """Whether a low value of the measure is a good one: holes, and shares of bad answers."""
    parameters = getattr(score.measure, "parameters", {})
    return score.measure.name == "hole" or parameters.get("label") in _FAULTS


def outcomes(differences: Float) -> tuple[int, int, int]:
    """Queries won, tied and lost."""
    known = differences[~np.isnan(differences)]
    won, lost = int((known > _SLACK).sum()), int((known < -_SLACK).sum())
    return won, len(known) - won - lost, lost


def failures(results: Sequence[Scores]) -> dict[str, str]:
    """Runs with which nothing can be compared, and why."""
    found = {}
    for scores in results:
        values = [score.values for score in scores.scores]
        if all(np.isnan(value).all() for value in values):
            found[scores.run] = f"{visible(scores.run)} has no value for any query: it failed"
        elif all((value == 0).all() for value in values) and not all(map(lower_is_better, scores.scores)):
            found[scores.run] = f"{visible(scores.run)} scores 0 on every query: it produced nothing"
    return found


def ruling(adjusted: float, difference: float, level: float) -> Ruling:
    """The plain verdict: which is higher, if that is more than chance."""
    if not adjusted <= 1 - level:
        return Ruling(UNDECIDED)
    return Ruling(HIGHER if difference > 0 else LOWER)


def without_difference(wins: int, losses: int, likeness: str | None) -> Ruling | None:
    """The verdict on runs that are the same, or the same but for the order of equal scores."""
    if likeness == IDENTICAL:
        return Ruling(IDENTICAL, "the runs rank the same documents in the same order")
    if likeness == TIES_ONLY:
        return Ruling(TIES_ONLY, "the runs differ only in the order of documents that one of them ties")
    if not wins and not losses:
        return Ruling(IDENTICAL, "the values are the same on every query")
    return None


def refused(why: str) -> Ruling:
    """No verdict."""
    return Ruling(REFUSED, why)


def doubt_of_losses(one: Score, other: Score, verdict: str) -> str:
    """Why missing judgements forbid the verdict; empty if it holds whatever they are."""
    missing = sum(one.lost.values()) + sum(other.lost.values())
    if not missing:
        return ""
    (low, high), (other_low, other_high) = (score.bounds or (score.value,) * 2 for score in (one, other))
    certain = low > other_high if verdict == HIGHER else high < other_low
    return "" if certain else f"{missing:,} judgements are missing, which could turn it round"
