"""Answers side by side: strengths from shares of wins that labels correct, and what a place shown is worth.

Corrected shares of wins. Each pair of systems that people compared, too, has a share p = ½ + θ, with d and e
in {−½, 0, ½} a game and its queries as clusters. A share does not say how many games were ties, so a tie is
half a win, as in the model `half` of `statistics.strengths`: a wins against b with the odds exp(s_a − s_b).
The strengths fit the shares best, each pair by how many queries it has:
    Σ_b N_ab (p_ab − 1/(1 + exp(s_b − s_a))) = 0 for every a        Σ s = 0
Errors come from each query's part in the errors of all the shares at once, through the derivative of s by p;
the interval is as if the parts had random signs. As there, the largest group in which each can be reached
from every other by shares above 0 has strengths. A system beyond it has a bound: where its shares would be at
the near ends of their intervals.

Places in lists. An answer to a query is shown at place s of N and put at place p; over all rankings
    p = μ_answer + β_s + ε        by least squares, Σ n_s β_s = 0 over the n_s times that something stood at s
so that a place is credited with what the same answer gets elsewhere. If every answer stood at every place
equally often (a balanced design), β_s is the mean place given there less the middle, (N + 1)/2; where orders
were drawn, it allows for the answers that chance put there. The `lead` of a place is −β_s: how many places
ahead of itself an answer is put for standing there. Places given cannot run off the list: a judge that moves
the first of ten answers five places up gives it a lead of 3.5, for nobody gets above the first.

Places in pairs. The share of games that the answer shown first wins, a tie being half a game: without bias ½
of pairs that were shown in both orders, whoever is better.

Of places, queries are the units: the influence ψ_q of each on an estimate (its mean over queries is the
estimate) is resampled like any other value of a query.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from rageval.errors import TooFewLabels
from rageval.statistics import LEVEL, SEED
from rageval.statistics.bootstrap import RESAMPLES, intervals, ranges_of
from rageval.statistics.correction import Corrected, _align_parts, _reach
from rageval.statistics.samples import Float, Int, Sample
from rageval.statistics.strengths import components, tiers_of, without_noise

_STEPS = 100  # of Newton's method
_SMALL_STEP, _FARTHEST = 1e-12, 60.0
_UNEVEN, _FEWEST_BATTLES = 0.05, 4  # by how much a system may be first more often; of how many battles each
_SLACK = 1e-9


class CorrectedStrength(NamedTuple):
    """A system's strength by corrected shares, with its interval; NaN as in `Strengths`."""

    strength: float
    low: float
    high: float
    tier: int


def corrected_strengths(
    pairs: Mapping[tuple[int, int], Corrected], systems: int, level: float = LEVEL
) -> list[CorrectedStrength]:
    """Return the strength of each of so many systems, from the corrected half-wins of pairs of them.

    `pairs[a, b]` is of d = ½ where a won, 0 for a tie, −½ where b won, and names queries in its units.
    TooFewLabels if no path of pairs joins some systems.

    >>> from rageval.statistics.correction import corrected
    >>> people = {at: 0.5 if at % 4 else -0.5 for at in range(100)}  # three wins of four
    >>> pair = corrected([0.5] * 100, people, paired=True)
    >>> [round(each.strength, 3) for each in corrected_strengths({(0, 1): pair}, 2)]  # ln 3 apart
    [0.549, -0.549]
    """
    met, beats = np.zeros((systems, systems)), np.zeros((systems, systems))
    for (one, other), mean in pairs.items():
        met[one, other] = met[other, one] = 1.0
        beats[one, other], beats[other, one] = mean.value > -0.5, mean.value < 0.5
    # Whom system 0 can be compared with, by way of others; without a path strengths have no common scale.
    reached = len(components(met)[0])
    if reached < systems:
        raise TooFewLabels(
            f"labels connect {reached:,} of {systems:,} systems; each system needs a path of labeled"
            " pairs to every other"
        )
    half = _reach(min(mean.freedom for mean in pairs.values()), level)
    group, tier = tiers_of(beats, met.sum(axis=1))
    rows = [CorrectedStrength(math.nan, math.nan, math.nan, int(of)) for of in tier]
    inside = {pair: mean for pair, mean in pairs.items() if tier[pair[0]] == tier[pair[1]] == 0}
    strength, parts = _fit_shares(inside, systems)
    for system in group.tolist():
        off = half * float(np.sqrt((parts[:, system] ** 2).sum())) if inside else math.nan
        value = float(strength[system])
        rows[system] = CorrectedStrength(value, value - off, value + off, 0)
    for system in np.flatnonzero(tier).tolist():
        never_lost = bool(tier[system] > 0)
        against = {
            one if other == system else other: (mean, (one == system) == never_lost)
            for (one, other), mean in pairs.items()
            if system in (one, other) and 0 in (tier[one], tier[other])
        }
        if against:  # else only others join it to the group
            end = _bound(against, strength, parts, half, 1 if never_lost else -1)
            ends = (end, math.nan) if never_lost else (math.nan, end)
            rows[system] = CorrectedStrength(math.nan, *ends, int(tier[system]))
    return rows


def _bound(
    against: Mapping[int, tuple[Corrected, bool]], strength: Float, parts: Float, half: float, sign: int
) -> float:
    """Return how low a system may be that never lost against the group, or how high one that never won.

    `against` has the pair with each system of the group, and whether the winner is the first of it.
    """
    others, means = list(against), [mean for mean, _ in against.values()]
    weight = np.array([float(mean.queries) for mean in means])
    nearest = np.array([1 - 0.5 / mean.labels for mean in means])
    least = np.array([0.5 + (mean.low if is_first else -mean.high) for mean, is_first in against.values()])

    def ahead(shares: Float) -> float:
        """Return by how much the winner of such shares is above 0, or the loser below it."""
        low, high = -_FARTHEST, _FARTHEST
        for _ in range(_STEPS):
            middle = (low + high) / 2
            expected = 1 / (1 + np.exp(sign * strength[others] - middle))
            low, high = (low, middle) if (weight * (expected - shares)).sum() > 0 else (middle, high)
        return (low + high) / 2

    towards = np.bincount(others, weight / weight.sum(), len(strength))
    off = half * float(np.sqrt(((parts @ towards) ** 2).sum()))
    return sign * (ahead(nearest) - math.hypot(ahead(nearest) - ahead(np.minimum(least, nearest)), off))


def _fit_shares(pairs: Mapping[tuple[int, int], Corrected], systems: int) -> tuple[Float, Float]:
    """Return the strengths with mean 0, by Newton's method, and parts in their errors; a column a system."""
    strength: Float = np.zeros(systems)
    if not pairs:
        return strength, np.zeros((0, systems))
    means = list(pairs.values())
    design = np.zeros((len(means), systems))
    for row, (one, other) in enumerate(pairs):
        design[row, one], design[row, other] = 1.0, -1.0
    weight = np.array([float(mean.queries) for mean in means])
    share = np.array([0.5 + mean.value for mean in means])
    for _ in range(_STEPS):
        expected = 1 / (1 + np.exp(-design @ strength))
        gradient = design.T @ (weight * (share - expected))
        hessian = design.T @ (design * (weight * expected * (1 - expected))[:, None])
        # Only differences of strengths are known, so the matrix has no inverse; the pseudo-inverse leaves the
        # sum as it is.
        step = np.linalg.pinv(hessian, hermitian=True) @ gradient
        # Far from the maximum a whole step may go too far.
        step *= min(1.0, 2.0 / max(float(np.abs(step).max()), _SMALL_STEP))
        strength = strength + step
        if np.abs(step).max() < _SMALL_STEP:
            break
    # Of strengths by shares.
    derivative = np.linalg.pinv(hessian, hermitian=True) @ (design * weight[:, None]).T
    strength = without_noise(strength - strength[np.abs(design).any(axis=0)].mean())
    return strength, _error_parts(means) @ derivative.T


def _error_parts(means: list[Corrected]) -> Float:
    """Return parts in the errors of shares, a column each, whose squares sum to the square of its error.

    What the floor adds is nobody's part, and a row of its own.
    """
    table = _align_parts(means)
    error, size = np.array([mean.error for mean in means]), np.sqrt((table**2).sum(axis=0))
    # Scaled to the error that is printed, where a finite set of queries makes it smaller than its parts.
    table *= np.minimum(np.divide(error, size, out=np.ones(len(means)), where=size > 0), 1.0)
    rest = np.maximum(error**2 - (table**2).sum(axis=0), 0.0)
    return np.vstack((table, np.diag(np.sqrt(rest))))


class _PlaceShown(NamedTuple):
    """A place at which answers were shown: how often, the mean place given there, and its lead."""

    place: int
    times: int
    given: float
    lead: float
    low: float
    high: float


class ListBias(NamedTuple):
    """The advantage of each position, and the place of each answer with that advantage removed."""

    places: tuple[_PlaceShown, ...]
    corrected: Float
    queries: int


class PairBias(NamedTuple):
    """Pairs shown in both orders: the share that kept its verdict, and the share won by the first.

    Where each pair was shown in one order, NaN kept it.
    """

    pairs: int
    consistent: float
    first_wins: float
    low: float
    high: float
    queries: int


def bias_in_lists(
    query: Int, answer: Int, shown: Int, given: Float, level: float = LEVEL, resamples: int = RESAMPLES
) -> ListBias | None:
    """Return the advantage of each position; None where the answers shown there cannot tell.

    A row is an answer in one ranking; `answer` identifies the same answer at different positions.

    A judge that returns the order it was shown moves the first of three one place up:

    >>> shown = np.array([1, 2, 3, 2, 3, 1, 3, 1, 2])
    >>> bias = bias_in_lists(np.zeros(9, int), np.tile(np.arange(3), 3), shown, shown.astype(float))
    >>> [round(place.lead, 9) + 0.0 for place in bias.places], np.round(bias.corrected, 9).tolist()[:3]
    ([1.0, 0.0, -1.0], [2.0, 2.0, 2.0])
    """
    _, unit = np.unique(query, return_inverse=True)
    times = np.bincount(shown - 1).astype(np.float64)
    # One column a place: 1 in the rows of what was shown there.
    seen = np.zeros((len(shown), len(times)))
    seen[np.arange(len(shown)), shown - 1] = 1
    _, group = np.unique(answer, return_inverse=True)
    # Within each answer: how good it is falls out, and what is left is where it was shown.
    centered, rest = _center_within(seen, group), _center_within(given[:, None], group)[:, 0]
    squares = centered.T @ centered
    # Places that no answer joins cannot be compared. One degree is always lacking: only leads over one
    # another are known.
    if np.linalg.matrix_rank(squares, tol=_SLACK * len(shown)) < len(times) - 1:
        return None
    inverse = np.linalg.pinv(squares, rcond=_SLACK, hermitian=True)
    inverse = inverse - times @ inverse / times.sum()  # so that places count as often as they were shown
    effect = inverse @ (centered.T @ rest)
    units = int(unit.max()) + 1
    moment = np.zeros((units, len(times)))
    # Each query's part in the error of the effects (a sandwich estimate, clustered by query).
    np.add.at(moment, unit, centered * (rest - centered @ effect)[:, None])
    influence = -(effect + units * moment @ inverse.T)
    drawn = Sample(tuple(map(str, range(units))), influence, np.arange(units))
    farthest = (len(times) - 1) / 2  # from the middle of the list to its ends
    scale = ranges_of(influence, (-farthest, farthest))
    low, high = intervals(drawn, level=level, resamples=resamples, seed=SEED, scale=scale)
    is_point = ~(high - low > _SLACK)  # every query says the same, so nothing is known of other ones
    low, high = np.where(is_point, np.nan, low), np.where(is_point, np.nan, high)
    # bincount with weights adds up by place; no loop over rows.
    mean = np.bincount(shown - 1, given) / np.maximum(times, 1)
    columns = np.stack((mean, -effect, low, high), axis=1).tolist()
    places = (_PlaceShown(place + 1, int(times[place]), *row) for place, row in enumerate(columns))
    return ListBias(tuple(places), given - effect[shown - 1], units)


def _center_within(columns: Float, group: Int) -> Float:
    """Return the columns less the mean of each group."""
    sums = np.zeros((int(group.max(initial=-1)) + 1, columns.shape[1]))
    np.add.at(sums, group, columns)
    centered: Float = columns - (sums / np.bincount(group)[:, None])[group]
    return centered


def bias_in_pairs(
    query: Int, first: Int, second: Int, outcome: Float, level: float = LEVEL, resamples: int = RESAMPLES
) -> PairBias | None:
    """Return the share won by the answer shown first, of pairs that were shown in both orders.

    Where there are none, of all pairs if each system was first about as often as second, as in battles that
    are drawn; else None. A row is a game: who was shown first and second, and what the first got (1, ½, 0).

    >>> game = np.array([0, 1]), np.array([1, 0])
    >>> bias_in_pairs(np.array([7, 7]), *game, np.array([1.0, 0.5])).first_wins
    0.75
    """
    games = np.array(list(_in_both_orders(query, first, second)), np.int64).reshape(-1, 2)
    if not len(games):
        return _bias_in_battles(query, first, second, outcome, level, resamples)
    one, turned = outcome[games].T
    share = _share_by_query(query[games[:, 0]], (one + turned) / 2, level, resamples)
    return PairBias(len(games), float((one + turned == 1).mean()), float((one + turned).mean() / 2), *share)


def _bias_in_battles(
    query: Int, first: Int, second: Int, outcome: Float, level: float, resamples: int
) -> PairBias | None:
    systems = int(max(first.max(initial=-1), second.max(initial=-1))) + 1
    as_first, as_second = (np.bincount(side, minlength=systems) for side in (first, second))
    # Else a good system that is often first would pass for an advantage of the place.
    if not len(query) or (np.abs(as_first - as_second) > _UNEVEN * (as_first + as_second) + 1).any():
        return None
    if (as_first + as_second)[(as_first + as_second) > 0].min() < _FEWEST_BATTLES:
        return None
    share = _share_by_query(query, outcome, level, resamples)
    return PairBias(len(query), math.nan, float(outcome.mean()), *share)


def _share_by_query(query: Int, share: Float, level: float, resamples: int) -> tuple[float, float, int]:
    """Return the interval of a mean share over queries, and their number."""
    names, unit = np.unique(query, return_inverse=True)
    number = np.bincount(unit).astype(np.float64)
    # A query counts once, with the mean of its pairs.
    means = np.bincount(unit, share) / number
    drawn = Sample(tuple(map(str, names)), means[:, None], np.arange(len(names)), number[:, None])
    low, high = intervals(drawn, level=level, resamples=resamples, seed=SEED)
    return float(low[0]), float(high[0]), len(names)


def _in_both_orders(query: Int, first: Int, second: Int) -> Iterator[tuple[int, int]]:
    """Yield the two games of each pair that was shown in either order; of several, one after the other."""
    games: dict[tuple[int, int, int], list[int]] = {}
    for game, key in enumerate(zip(query.tolist(), first.tolist(), second.tolist(), strict=True)):
        games.setdefault(key, []).append(game)
    for (asked, one, other), numbers in games.items():
        if one < other:
            yield from zip(numbers, games.get((asked, other, one), ()), strict=False)
