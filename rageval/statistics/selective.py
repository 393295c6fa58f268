"""How many of a judge's surest verdicts may be kept, so that of these no more than a share is wrong.

Verdicts are ordered by doubt. Labels that were drawn at random from all of them say which of some are wrong.
The surest 5 %, 10 %, … are tried in this order: with k wrong of n labels the share of wrong ones is above E
with p = P(Bin(n, E) ≤ k), exactly. As long as p ≤ 1 − level the next step is tried; what passed last is kept.
Each step is tried only after all before it passed, so that all of them together are wrong no more often than
one alone would be. The first step is the first one with labels enough to pass with two wrong among them, or,
where labels are few, with none: which one that is depends on what was labeled, and not on what it says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from rageval.errors import TooFewLabels
from rageval.statistics import LEVEL

_STEPS = 20
_SPARED = 2  # wrong labels that the first step is to stand


class Kept(NamedTuple):
    """What may be kept: verdicts with a `doubt` up to this, their share, and the labels behind it."""

    doubt: float
    share: float
    labels: int
    wrong: int


def keep(doubts: Sequence[float], wrong: Mapping[int, bool], error: float) -> Kept | None:
    """Return how much may be kept, None if nothing; `wrong` has the labels' result, by place in `doubts`.

    TooFewLabels where not even labels that all agree could show it.

    >>> doubts = [at / 1000 for at in range(1000)]
    >>> wrong = {at: at > 800 for at in range(0, 1000, 4)}
    >>> keep(doubts, wrong, 0.05)
    Kept(doubt=0.799, share=0.8, labels=200, wrong=0)
    """
    needed = labels_needed(error)
    if len(wrong) < needed:
        raise TooFewLabels(
            f"{len(wrong):,} labels cannot show that at most {error:.3g} of verdicts are wrong, even if all"
            f" are right; expected {needed:,} or more, drawn at random"
        )
    ordered = sorted(doubts)
    steps = [ordered[max(0, len(ordered) * step // _STEPS - 1)] for step in range(1, _STEPS + 1)]
    counts = [
        (
            sum(doubts[index] <= most for index in wrong),
            sum(bad and doubts[index] <= most for index, bad in wrong.items()),
        )
        for most in steps
    ]
    first = labels_needed(error, _SPARED)
    enough = first if len(wrong) >= first else needed
    kept = None
    for most, (labels, bad) in zip(steps, counts, strict=True):
        if labels < enough:
            continue
        if _p(bad, labels, error) > 1 - LEVEL:
            break
        kept = Kept(most, sum(doubt <= most for doubt in doubts) / len(doubts), labels, bad)
    return kept


def labels_needed(error: float, wrong: int = 0) -> int:
    """Return the least number of labels, with this many wrong, that shows an error rate up to `error`.

    >>> labels_needed(0.05), labels_needed(0.05, wrong=2)
    (59, 124)
    """
    number = wrong + 1
    while _p(wrong, number, error) > 1 - LEVEL:
        number += 1
    return number


def _p(wrong: int, labels: int, error: float) -> float:
    from scipy.special import bdtr

    return float(bdtr(wrong, labels, error))
