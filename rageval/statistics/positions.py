"""Position bias: what it is worth to an answer where it was shown, in lists and in pairs.

Lists. An answer to a query is shown at place s of N and put at place p; over all rankings
    p = μ_answer + β_s + ε        by least squares, Σ n_s β_s = 0 over the n_s times that something stood at s
so that a place is credited with what the same answer gets elsewhere. If every answer stood at every place
equally often (a balanced design), β_s is the mean place given there less the middle, (N + 1)/2; where orders
were drawn, it allows for the answers that chance put there. The `lead` of a place is −β_s: how many places
ahead of itself an answer is put for standing there. Places given cannot run off the list: a judge that moves
the first of ten answers five places up gives it a lead of 3.5, for nobody gets above the first.

Pairs. The share of games that the answer shown first wins, a tie being half a game: without bias ½ of pairs
that were shown in both orders, whoever is better.

Queries are the units: the influence ψ_q of each on an estimate (its mean over queries is the estimate) is
resampled like any other value of a query.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from rageval.statistics import LEVEL, SEED
from rageval.statistics.bootstrap import RESAMPLES, intervals, ranges_of
from rageval.statistics.samples import Float, Int, Sample

_SLACK = 1e-9


class _PlaceShown(NamedTuple):
    """A place at which answers were shown: how often, the mean place given there, and its lead."""

    place: int
    times: int
    given: float
    lead: float
    low: float
    high: float


class ListBias(NamedTuple):
    """The leads of all places, and the place given to each answer with that of its place taken off."""

    places: tuple[_PlaceShown, ...]
    corrected: Float
    queries: int


class PairBias(NamedTuple):
    """Pairs shown in both orders: which share kept its verdict, which share of games the first one won."""

    pairs: int
    consistent: float
    first_wins: float
    low: float
    high: float
    queries: int


def bias_in_lists(
    query: Int, answer: Int, shown: Int, given: Float, level: float = LEVEL, resamples: int = RESAMPLES
) -> ListBias | None:
    """Return the leads of the places shown; None where they cannot be told from the answers shown there.

    A row is an answer in one ranking; `answer` numbers what is compared with itself at other places.

    A judge that gives back what it is shown, whatever it is, moves the first of three one place up:

    >>> shown = np.array([1, 2, 3, 2, 3, 1, 3, 1, 2])
    >>> found = bias_in_lists(np.zeros(9, int), np.tile(np.arange(3), 3), shown, shown.astype(float))
    >>> [round(each.lead, 9) + 0.0 for each in found.places], np.round(found.corrected, 9).tolist()[:3]
    ([1.0, 0.0, -1.0], [2.0, 2.0, 2.0])
    """
    _, unit = np.unique(query, return_inverse=True)
    times = np.bincount(shown - 1).astype(np.float64)
    # One column a place: 1 in the rows of what was shown there.
    seen = np.zeros((len(shown), len(times)))
    seen[np.arange(len(shown)), shown - 1] = 1
    _, group = np.unique(answer, return_inverse=True)
    # Within each answer: how good it is falls out, and what is left is where it was shown.
    apart, rest = _within(seen, group), _within(given[:, None], group)[:, 0]
    squares = apart.T @ apart
    # Places that no answer joins cannot be compared. One degree is always lacking: only leads over one
    # another are known.
    if np.linalg.matrix_rank(squares, tol=_SLACK * len(shown)) < len(times) - 1:
        return None
    inverse = np.linalg.pinv(squares, rcond=_SLACK, hermitian=True)
    inverse = inverse - times @ inverse / times.sum()  # so that places count as often as they were shown
    effect = inverse @ (apart.T @ rest)
    units = int(unit.max()) + 1
    moment = np.zeros((units, len(times)))
    # Each query's part in the error of the effects (a sandwich estimate, clustered by query).
    np.add.at(moment, unit, apart * (rest - apart @ effect)[:, None])
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
    places = (_PlaceShown(at + 1, int(times[at]), *each) for at, each in enumerate(columns))
    return ListBias(tuple(places), given - effect[shown - 1], units)


def _within(columns: Float, group: Int) -> Float:
    """Return the columns less the mean of each group."""
    sums = np.zeros((int(group.max(initial=-1)) + 1, columns.shape[1]))
    np.add.at(sums, group, columns)
    found: Float = columns - (sums / np.bincount(group)[:, None])[group]
    return found


def bias_in_pairs(
    query: Int, first: Int, second: Int, outcome: Float, level: float = LEVEL, resamples: int = RESAMPLES
) -> PairBias | None:
    """Return the share won by the answer shown first; None where no pair was shown in both orders.

    A row is a game: who was shown first and second, and what the first one got (1, ½, 0).

    >>> game = np.array([0, 1]), np.array([1, 0])
    >>> bias_in_pairs(np.array([7, 7]), *game, np.array([1.0, 0.5])).first_wins
    0.75
    """
    games = np.array(list(_in_both_orders(query, first, second)), np.int64).reshape(-1, 2)
    if not len(games):
        return None
    one, turned = outcome[games].T
    names, unit = np.unique(query[games[:, 0]], return_inverse=True)
    number = np.bincount(unit).astype(np.float64)
    # A query counts once, with the mean of its pairs.
    share = np.bincount(unit, (one + turned) / 2) / number
    drawn = Sample(tuple(map(str, names)), share[:, None], np.arange(len(names)), number[:, None])
    low, high = intervals(drawn, level=level, resamples=resamples, seed=SEED)
    shares = float((one + turned == 1).mean()), float((one + turned).mean() / 2)
    return PairBias(len(games), *shares, float(low[0]), float(high[0]), len(names))


def _in_both_orders(query: Int, first: Int, second: Int) -> Iterator[tuple[int, int]]:
    """Yield the two games of each pair that was shown in either order; of several, one after the other."""
    games: dict[tuple[int, int, int], list[int]] = {}
    for at, key in enumerate(zip(query.tolist(), first.tolist(), second.tolist(), strict=True)):
        games.setdefault(key, []).append(at)
    for (asked, one, other), found in games.items():
        if one < other:
            yield from zip(found, games.get((asked, other, one), ()), strict=False)
