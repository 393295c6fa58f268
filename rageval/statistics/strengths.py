"""Strengths of systems from corrected shares of wins.

Each pair of systems that people compared, too, has a corrected share of wins p = ½ + θ, with d and e in
{−½, 0, ½} a game and its queries as clusters. Strengths are Bradley and Terry's (a wins against b with the
odds exp(s_a − s_b), a tie is half a win), which fit the shares best, each pair by how many queries it has:
    Σ_b N_ab (p_ab − 1/(1 + exp(s_b − s_a))) = 0 for every a        Σ s = 0
with n labels of a pair p lies within .5/n … 1 − .5/n. Errors come from each query's part in the errors of all
the shares at once, through the derivative of s by p; the interval is as if the parts had random signs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from rageval.errors import TooFewLabels
from rageval.statistics.correction import Corrected, _aligned, _reach
from rageval.statistics.samples import Float

_STEPS, _SMALL = 100, 1e-12


class _CorrectedStrength(NamedTuple):
    """A system's strength by corrected shares, with its interval; `judged` is by the judge's own shares."""

    strength: float
    low: float
    high: float
    judged: float


def corrected_strengths(
    pairs: Mapping[tuple[int, int], Corrected], systems: int, level: float = 0.95
) -> list[_CorrectedStrength]:
    """Return the strength of each of so many systems, from the corrected half-wins of pairs of them.

    `pairs[a, b]` is of d = ½ where a won, 0 for a tie, −½ where b won, and names queries in its units.
    TooFewLabels if no path of pairs joins some systems.

    >>> from rageval.statistics.correction import corrected
    >>> people = {at: 0.5 if at % 4 else -0.5 for at in range(100)}  # three wins of four
    >>> pair = corrected([0.5] * 100, people, paired=True)
    >>> [round(each.strength, 3) for each in corrected_strengths({(0, 1): pair}, 2)]  # ln 3 apart
    [0.549, -0.549]
    """
    _refuse_islands(pairs, systems)
    found = list(pairs.values())
    design = np.zeros((len(found), systems))
    for row, (one, other) in enumerate(pairs):
        design[row, one], design[row, other] = 1.0, -1.0
    weight = np.array([float(each.queries) for each in found])
    strength = _fitted(design, weight, _shares([(each.value, each.labels) for each in found]))
    # By the same model, so that the two differ by what people say and by nothing else.
    judged = _fitted(design, weight, _shares([(each.judge, each.queries) for each in found]))
    expected = 1 / (1 + np.exp(-design @ strength))
    hessian = design.T @ (design * (weight * expected * (1 - expected))[:, None])
    derivative = np.linalg.pinv(hessian) @ (design * weight[:, None]).T  # of strengths by shares
    error = np.sqrt(((_parts(found) @ derivative.T) ** 2).sum(axis=0))
    half = _reach(min(each.freedom for each in found), level) * error
    columns = (each.tolist() for each in (strength, strength - half, strength + half, judged))
    return [_CorrectedStrength(*row) for row in zip(*columns, strict=True)]


def _shares(means: list[tuple[float, int]]) -> Float:
    """Return shares of wins from means of −½ … ½: those of n queries are never nearer to 0 or 1 than .5/n."""
    return np.array([np.clip(0.5 + mean, 0.5 / number, 1 - 0.5 / number) for mean, number in means])


def _fitted(design: Float, weight: Float, share: Float) -> Float:
    """Return the strengths with mean 0, by Newton's method; the likelihood is concave."""
    strength: Float = np.zeros(design.shape[1])
    for _ in range(_STEPS):
        expected = 1 / (1 + np.exp(-design @ strength))
        gradient = design.T @ (weight * (share - expected))
        hessian = design.T @ (design * (weight * expected * (1 - expected))[:, None])
        # Only differences of strengths are known, so the matrix has no inverse; the pseudo-inverse leaves the
        # sum as it is.
        step = np.linalg.pinv(hessian) @ gradient
        # Far from the maximum a whole step may go too far.
        step *= min(1.0, 2.0 / max(float(np.abs(step).max()), _SMALL))
        strength = strength + step
        if np.abs(step).max() < _SMALL:
            break
    mended: Float = strength - strength.mean()
    return mended


def _parts(found: list[Corrected]) -> Float:
    """Return parts in the errors of shares, a column each, whose squares sum to the square of its error.

    What the floor adds is nobody's part, and a row of its own.
    """
    table = _aligned(found)
    error, size = np.array([each.error for each in found]), np.sqrt((table**2).sum(axis=0))
    # Scaled to the error that is printed, where a finite set of queries makes it smaller than its parts.
    table *= np.minimum(np.divide(error, size, out=np.ones(len(found)), where=size > 0), 1.0)
    rest = np.maximum(error**2 - (table**2).sum(axis=0), 0.0)
    return np.vstack((table, np.diag(np.sqrt(rest))))


def _refuse_islands(pairs: Mapping[tuple[int, int], Corrected], systems: int) -> None:
    # Whom system 0 can be compared with, by way of others; without a path strengths have no common scale.
    reached, ahead = {0}, [0]
    while ahead:
        one = ahead.pop()
        for pair in pairs:
            if one in pair:
                new = set(pair) - reached
                reached |= new
                ahead.extend(new)
    if len(reached) < systems:
        raise TooFewLabels(
            f"people's labels join {len(reached):,} of {systems:,} systems; expected pairs with labels enough"
            " on a path from each system to each other"
        )
