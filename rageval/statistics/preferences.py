"""Answers side by side: how strong systems are by whom they beat, and what it is worth to be shown first.

Games. System i meets j (Bradley and Terry, with ties after Davidson, 1970) and
    wins with probability π_i / (π_i + π_j + ν √(π_i π_j)),    ties with ν √(π_i π_j) / (the same).
Strengths are given as θ = ln π, with mean 0, so that θ_i − θ_j is the log odds of i winning when nobody ties.

Corrected shares of wins. Each pair of systems that people compared, too, has a share p = ½ + θ, with d and e
in {−½, 0, ½} a game and its queries as clusters. A share does not say how many games were ties, so a tie is
half a win, and a wins against b with the odds exp(s_a − s_b). The strengths fit the shares best, each pair by
how many queries it has:
    Σ_b N_ab (p_ab − 1/(1 + exp(s_b − s_a))) = 0 for every a        Σ s = 0
with n labels of a pair p lies within .5/n … 1 − .5/n. Errors come from each query's part in the errors of all
the shares at once, through the derivative of s by p; the interval is as if the parts had random signs.

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

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from rageval.errors import TooFewLabels
from rageval.statistics import LEVEL, SEED
from rageval.statistics.bootstrap import RESAMPLES, intervals, ranges_of
from rageval.statistics.correction import Corrected, _align_parts, _reach
from rageval.statistics.samples import Float, Int, Sample

_STEPS = 100  # of Newton's method
_SMALL_STEP, _SMALL_GAIN = 1e-12, 1e-10
_FARTHEST = 12.0  # a strength or an advantage beyond it is on its way to infinity
_SLACK = 1e-9
_DIGITS = 12  # of strengths


def bradley_terry(wins: Float, ties: Float) -> Float:
    """Return the maximum-likelihood strengths θ with mean 0 (Newton's method; the likelihood is concave).

    Two systems, three games to one: θ differ by ln 3.

    >>> theta = bradley_terry(np.array([[0.0, 3.0], [1.0, 0.0]]), np.zeros((2, 2)))
    >>> round(float(np.exp(theta[0] - theta[1])), 9)
    3.0
    """
    i, j = np.triu_indices(len(wins), 1)
    point = _likeliest(_Outcomes(len(wins), i, j, np.stack((wins[i, j], wins[j, i], ties[i, j]))))
    return _centered(point[:-2])


def strengths_with_lead(systems: int, first: Int, second: Int, outcome: Float) -> Float | None:
    """Return the strengths besides an advantage δ of the system shown first (Davidson and Beaver, 1977).

    System i, shown before j, wins with odds e^(θ_i + δ) to e^θ_j. None where no finite δ is most likely: then
    only position decides, and nothing is known about the systems.
    """
    # All ordered pairs: i was shown before j.
    i, j = np.divmod(np.arange(systems * systems), systems)
    seen = np.zeros((3, systems * systems))
    row = np.where(outcome == 1, 0, np.where(outcome == 0, 1, 2))
    np.add.at(seen, (row, first * systems + second), 1)
    point = _likeliest(_Outcomes(systems, i, j, seen, has_order=True))
    theta = _centered(point[:-2])
    # An infinite maximum shows as steps that never end; beyond this it is called none.
    return None if max(abs(point[-1]), np.abs(theta).max()) > _FARTHEST else theta


def _centered(theta: Float) -> Float:
    """Return strengths with mean 0, without the last digits, in which machines differ: 0, and not ±1e-16."""
    rounded: Float = np.round(theta - theta.mean(), _DIGITS) + 0.0
    return rounded


class _Outcomes(NamedTuple):
    """How often i won against j, lost, or neither, a column a pair; `has_order` where i was shown first."""

    systems: int
    i: Int
    j: Int
    seen: Float
    has_order: bool = False


def _likeliest(games: _Outcomes) -> Float:
    """Return θ of each system, ln ν and δ: those that make the outcomes likeliest."""
    point = np.zeros(games.systems + 2)
    value, gradient, hessian = _likelihood(point, games)
    for _ in range(_STEPS):
        # lstsq and not solve: the Hessian is singular, as adding a number to all θ changes nothing.
        step = np.linalg.lstsq(hessian, -gradient, rcond=None)[0]
        size = 1.0
        while size > _SMALL_GAIN:  # halve the step until the likelihood grows
            new = _likelihood(point + size * step, games)
            if new[0] >= value - _SMALL_GAIN:
                break
            size /= 2
        point = point + size * step
        value, gradient, hessian = new
        if np.abs(step).max() * size < _SMALL_GAIN:
            break
    return point


def _likelihood(point: Float, games: _Outcomes) -> tuple[float, Float, Float]:
    """Return the log-likelihood with gradient and Hessian; ν is fixed at 0 where nobody tied, δ likewise."""
    theta, (_, i, j, seen, has_order) = point[:-2], games
    tied, lead = seen[2].sum() > 0, point[-1] if has_order else 0.0
    played = seen.sum(axis=0)
    logits = np.stack(
        (theta[i] + lead, theta[j], (theta[i] + theta[j] + lead) / 2 + (point[-2] if tied else -np.inf))
    )
    # log Σ exp with the largest taken out, so that nothing overflows.
    top = logits.max(axis=0)
    norm = top + np.log(np.exp(logits - top).sum(axis=0))
    chance = np.exp(logits - norm)
    value = float(np.where(seen > 0, seen * np.where(seen > 0, logits - norm, 0.0), 0.0).sum())
    design = np.zeros((3, len(i), len(point)))  # derivative of each logit
    pair = np.arange(len(i))
    design[0, pair, i] = design[1, pair, j] = 1
    design[2, pair, i] = design[2, pair, j] = 0.5
    design[2, :, -2] = 1.0 if tied else 0.0
    design[0, :, -1], design[2, :, -1] = (1.0, 0.5) if has_order else (0.0, 0.0)
    gradient = np.einsum("op,opm->m", seen - played * chance, design)
    mean = np.einsum("op,opm->pm", chance, design)
    hessian = np.einsum("pm,pn,p->mn", mean, mean, played) - np.einsum(
        "op,opm,opn->mn", played * chance, design, design
    )
    return value, gradient, hessian


def finite_groups(wins: Float, ties: Float) -> list[list[int]]:
    """Return groups of systems within which strengths are finite.

    Within a group every system can be reached from every other by wins. Ties join two systems only if some
    wins go round in a circle: else, an infinite difference with an infinite ν fits wins and ties best.
    """
    groups = _components(wins)
    return _components(wins + ties) if len(groups) < len(wins) else groups


def _components(beats: Float) -> list[list[int]]:
    """Return strongly connected groups of systems."""
    reach = (beats > 0) | np.eye(len(beats), dtype=bool)
    for through in range(len(beats)):
        # Warshall: whoever reaches `through` reaches whatever it reaches.
        reach |= np.outer(reach[:, through], reach[through])
    # Each row is a component; equal rows are the same one.
    together = reach & reach.T
    return [np.flatnonzero(row).tolist() for row in np.unique(together, axis=0)[::-1]]


class _CorrectedStrength(NamedTuple):
    """A system's strength by corrected shares, with its interval; `judged` is by the judge's own shares."""

    strength: float
    low: float
    high: float
    judged: float


def corrected_strengths(
    pairs: Mapping[tuple[int, int], Corrected], systems: int, level: float = LEVEL
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
    met = np.zeros((systems, systems))
    for one, other in pairs:
        met[one, other] = met[other, one] = 1.0
    # Whom system 0 can be compared with, by way of others; without a path strengths have no common scale.
    reached = len(_components(met)[0])
    if reached < systems:
        raise TooFewLabels(
            f"labels connect {reached:,} of {systems:,} systems; each system needs a path of labeled"
            " pairs to every other"
        )
    means = list(pairs.values())
    design = np.zeros((len(means), systems))
    for row, (one, other) in enumerate(pairs):
        design[row, one], design[row, other] = 1.0, -1.0
    weight = np.array([float(mean.queries) for mean in means])
    strength = _fit_shares(design, weight, _shares([(mean.value, mean.labels) for mean in means]))
    # By the same model, so that the two differ by what people say and by nothing else.
    judged = _fit_shares(design, weight, _shares([(mean.judge, mean.queries) for mean in means]))
    expected = 1 / (1 + np.exp(-design @ strength))
    hessian = design.T @ (design * (weight * expected * (1 - expected))[:, None])
    derivative = np.linalg.pinv(hessian) @ (design * weight[:, None]).T  # of strengths by shares
    error = np.sqrt(((_error_parts(means) @ derivative.T) ** 2).sum(axis=0))
    half = _reach(min(mean.freedom for mean in means), level) * error
    columns = (mean.tolist() for mean in (strength, strength - half, strength + half, judged))
    return [_CorrectedStrength(*row) for row in zip(*columns, strict=True)]


def _shares(means: list[tuple[float, int]]) -> Float:
    """Return shares of wins from means of −½ … ½: those of n queries are never nearer to 0 or 1 than .5/n."""
    return np.array([np.clip(0.5 + mean, 0.5 / number, 1 - 0.5 / number) for mean, number in means])


def _fit_shares(design: Float, weight: Float, share: Float) -> Float:
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
        step *= min(1.0, 2.0 / max(float(np.abs(step).max()), _SMALL_STEP))
        strength = strength + step
        if np.abs(step).max() < _SMALL_STEP:
            break
    centered: Float = strength - strength.mean()
    return centered


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
    """Pairs shown in both orders: the share that kept its verdict, and the share won by the first."""

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
    for game, key in enumerate(zip(query.tolist(), first.tolist(), second.tolist(), strict=True)):
        games.setdefault(key, []).append(game)
    for (asked, one, other), numbers in games.items():
        if one < other:
            yield from zip(numbers, games.get((asked, other, one), ()), strict=False)
