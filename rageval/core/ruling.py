"""What may be claimed of two systems by one measure."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from rageval.core.remark import Remark


class Ruling(StrEnum):
    """What a test, and all that is known beside it, lets be claimed of a first system against a second.

    `HIGHER` and `LOWER` are of values. Of a measure that is good when low, they are told as `WORSE` and
    `BETTER`. `TIES_ONLY` are rankings that differ only in the order of equal scores, `NO_WINNER` values that
    are computed from the texts alone.
    """

    HIGHER = "higher"
    LOWER = "lower"
    BETTER = "better"
    WORSE = "worse"
    IDENTICAL = "identical"
    TIES_ONLY = "ties only"
    UNDECIDED = "undecided"
    REFUSED = "refused"
    NO_WINNER = "no winner"

    @property
    def is_direction(self) -> bool:
        """Whether one of the two is told from the other."""
        return self in _DIRECTIONS

    @property
    def is_claim(self) -> bool:
        """Whether anything is claimed."""
        return self in _DIRECTIONS or self is Ruling.IDENTICAL

    @property
    def of_low_is_good(self) -> Ruling:
        """The same of a measure that is good when low."""
        return {Ruling.HIGHER: Ruling.WORSE, Ruling.LOWER: Ruling.BETTER}.get(self, self)


_DIRECTIONS = (Ruling.HIGHER, Ruling.LOWER, Ruling.BETTER, Ruling.WORSE)


class ReasonedRuling(NamedTuple):
    """A ruling with its reasons, and with what should be known beside it."""

    ruling: Ruling
    reasons: tuple[Remark, ...] = ()
