"""How strong systems are by whom they beat: one strength each, corrected for the order answers were shown in.

Two models of a game between i, shown first, and j. d = θ_i − θ_j, and δ is what it is worth to be shown
first.

`half` (the default; a tie is half a win). The share of wins of i, a tie being half of one, over both orders
is

    p = 1/(1 + e^−d) = ½(σ(η + δ) + σ(η − δ))        with σ(η + δ) where i is shown first

so that e^d are the odds of i in a pair that is shown in both orders equally often. With r = e^d and c = cosh
δ, e^η is the positive root of u² − uc(r − 1) − r = 0. With outcomes y (1, ½, 0) the strengths solve

    Σ_games of i ± (y − μ) = 0 for every i,        Σ (y − μ) + ½ − σ(δ) = 0,        Σ θ = 0        (μ = σ(η +
    δ))

Where every pair stands in both orders equally often, δ drops out of the first: θ is then Bradley and Terry's
by plain shares of wins. The equations need only that the shares are right, and not how many games are ties.

`davidson` (Davidson, 1970; Davidson and Beaver, 1977). With π = e^θ, i wins, j wins, or nobody does, in
proportion to π_i e^δ, π_j, ν √(π_i e^δ π_j); the strengths are likeliest, so that d are the log odds of i
when nobody ties. ν is the same in all pairs.

In both, the lead δ has one more game, half won, between equals (½ − σ(δ)): it is finite, whatever happened.
If no game has an order, δ is 0.

Errors. Clusters c of games (those of a query, or of a conversation) are independent. Without one of them, the
strengths move by −(A − A_c)⁻¹ s_c to the first order, with s the equations above and A their derivative
with the sign turned: the jackknife over clusters (Bell and McCaffrey's CR3),

    V = (G − 1)/G · Σ_c δ_c δ_cᵀ        θ ± t_{G−1} √V

Where no game of a system is off by more than ¼, or all clusters say the same, the rule of three is added.

Who never lost. Systems are of one scale where each can be reached from every other by wins (a tie is one for
both; by `davidson` only where wins go round, too). The largest such group has strengths of mean 0. A system
above or below it has a bound: the strength at which games without a loss (or a win) against the group have a
chance of 2.5 %, where the games of a cluster count as one together; how far its opponents may be off is added
to it in squares.

Ranks. Within the group, as of `rank_intervals`, on the parts that clusters have in the strengths. A system
beyond its bound counts as better (or worse) than those whose interval ends before it, both at 1 − 5 %/k of k
systems.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np

from rageval.errors import UsageError
from rageval.statistics import LEVEL
from rageval.statistics.bootstrap import _least_error
from rageval.statistics.correction import _reach
from rageval.statistics.rankings import rank_intervals
from rageval.statistics.samples import SLACK, Float, Int, Sample

Ties = Literal["half", "davidson"]
_STEPS, _LONGEST, _SMALL_STEP = 200, 1.0, 1e-12  # of Newton's method
_PLACES = 12  # of strengths: a last step of Newton's method leaves noise behind these
_FAR = 60.0  # beyond all strengths
_HALVINGS = 60
_UPSET = 0.25  # a share that is off by more
_WORST = 1e10  # condition of a matrix that is as good as singular


class GamesPlayed(NamedTuple):
    """Games of so many systems: who was shown first and second, what the first got (1, ½, 0), which cluster.

    `in_order` is False where nothing says who was first: then first and second are names only.
    """

    systems: int
    first: Int
    second: Int
    outcome: Float
    cluster: Int
    in_order: bool = False

    def among(self, some: Int) -> GamesPlayed:
        """Return the games between these systems, numbered as they stand there."""
        place = np.full(self.systems, -1)
        place[some] = np.arange(len(some))
        first, second = place[self.first], place[self.second]
        inside = (first >= 0) & (second >= 0)
        return GamesPlayed(
            len(some),
            first[inside],
            second[inside],
            self.outcome[inside],
            self.cluster[inside],
            self.in_order,
        )


class Strengths(NamedTuple):
    """Strengths of systems with intervals, of them and of their ranks; NaN where there is none.

    `tier` is 0 of the systems that have a strength, 1 of those above them, −1 of those below or beside them:
    these have no more than one end of an interval. `clusters` is how many there are.
    """

    strength: Float
    low: Float
    high: Float
    rank_low: Int
    rank_high: Int
    tier: Int
    lead: float
    clusters: int


class _Solution(NamedTuple):
    """What solves the equations: θ, δ and ln ν as far as there are any; and what clusters do to θ."""

    theta: Float
    lead: float
    log_ties: float
    shifts: Float  # [cluster, system]: how the strengths move without the cluster


def strengths_of(games: GamesPlayed, ties: Ties = "half", level: float = LEVEL) -> Strengths:
    """Return the strengths, with mean 0 in the largest group that has finite ones.

    UsageError if who was shown first cannot be told from who is good. Systems must be joined by games.

    Two systems, three games to one: ln 3 apart.

    >>> first, outcome = np.zeros(40, int), np.array([1.0, 1.0, 0.0, 1.0] * 10)
    >>> table = strengths_of(GamesPlayed(2, first, first + 1, outcome, np.arange(40)))
    >>> round(float(np.exp(table.strength[0] - table.strength[1])), 9)
    3.0
    """
    if is_confounded(games):
        raise UsageError(
            "no strengths: every pair of answers was shown in one order only, so that nobody can tell a good"
            " system from the first place; judge the pairs in both orders, or in balanced ones"
        )
    number = games.systems
    group, tier = _tiers(games, ties)
    inside = games.among(group)
    fit = _fitted(inside, ties)
    strength = np.full(number, np.nan)
    strength[group] = fit.theta
    error = _errors(inside, fit, level)
    # Two ends of an interval of each system: by itself, and at once with those of all others.
    ends, far_ends = np.full((2, number), np.nan), np.full((2, number), np.nan)
    for of, sides in ((level, ends), (1 - (1 - level) / number, far_ends)):
        half = _reach(max(len(fit.shifts) - 1, 1), of) * error
        sides[:, group] = fit.theta - half, fit.theta + half
        for system in np.flatnonzero(tier).tolist():
            never_lost = bool(tier[system] > 0)
            sides[0 if never_lost else 1, system] = _bound(games, fit, ties, group, system, never_lost, of)
    # Of two systems that both have strengths the differences decide, which are known better than each end.
    far_ends[:, group] = np.where(len(group) > 1, far_ends[:, group], 0.0)
    is_better = far_ends[0][:, None] > far_ends[1][None, :]
    is_better[np.ix_(group, group)] = False
    rank_low, rank_high = 1 + is_better.sum(axis=0), number - is_better.sum(axis=1)
    if len(fit.shifts) > 1:
        least, most = _ranks(fit)
        rank_low[group] += least - 1
        rank_high[group] -= len(group) - most
    clusters = len(np.unique(games.cluster))
    return Strengths(strength, ends[0], ends[1], rank_low, rank_high, tier, fit.lead, clusters)


def is_confounded(games: GamesPlayed) -> bool:
    """Return whether an advantage of the first place fits as well as other strengths do, whatever it is."""
    if not games.in_order or not len(games.first):
        return False
    pairs = np.unique(np.stack((games.first, games.second), axis=1), axis=0)
    rows = np.zeros((len(pairs), games.systems + 1))
    index = np.arange(len(pairs))
    rows[index, pairs[:, 0]], rows[index, pairs[:, 1]], rows[:, -1] = 1.0, -1.0, 1.0
    return int(np.linalg.matrix_rank(rows)) <= int(np.linalg.matrix_rank(rows[:, :-1]))


def groups_that_met(games: GamesPlayed) -> list[list[int]]:
    """Return groups of systems that no game joins, the larger first."""
    met = np.zeros((games.systems, games.systems))
    met[games.first, games.second] = met[games.second, games.first] = 1.0
    return sorted(components(met), key=lambda part: (-len(part), part))


def _tiers(games: GamesPlayed, ties: Ties) -> tuple[Int, Int]:
    """Return the largest group with finite strengths, and of every system whether it is above or below it."""
    wins, tied = counts_of(games)
    # Of `davidson`, ties join two systems only if some wins go round: else an infinite difference with an
    # infinite ν fits wins and ties best.
    only_wins = ties == "davidson" and len(components(wins)) == games.systems
    return tiers_of(wins if only_wins else wins + tied, (wins + wins.T + tied).sum(axis=1))


def tiers_of(beats: Float, played: Float) -> tuple[Int, Int]:
    """Return the largest group in which each reaches every other, and where others are.

    That is 0 in the group, 1 of whoever reaches it, −1 of the rest. Of groups that are as large, that with
    the most games counts, and then the one in the middle.
    """
    reach = _reach_of(beats)

    def order(group: list[int]) -> tuple[float, float, float, int]:
        winners, losers = reach[:, group[0]].sum(), reach[group[0]].sum()
        return -len(group), -float(played[group].sum()), abs(float(winners) - float(losers)), group[0]

    group = np.array(min(components(beats), key=order))
    tier = np.where(reach[:, group[0]], 1, -1)
    tier[group] = 0
    return group, tier


def standing(tier: int, strength: float, low: float, high: float) -> tuple[int, bool, float]:
    """Return by what systems are sorted, the strongest first: by a bound if there is no strength."""
    value = next((end for end in (strength, low, high) if end == end), None)
    return -tier, value is None, -(value or 0.0)


def counts_of(games: GamesPlayed) -> tuple[Float, Float]:
    """Return (wins[i, j] of i over j, ties[i, j] both ways)."""
    wins, tied = (np.zeros((games.systems, games.systems)) for _ in range(2))
    first, second, outcome = games.first, games.second, games.outcome
    # add.at counts a pair as often as it comes; wins[…] += 1 would count it once.
    np.add.at(wins, (first[outcome == 1], second[outcome == 1]), 1)
    np.add.at(wins, (second[outcome == 0], first[outcome == 0]), 1)
    np.add.at(tied, (first[outcome == 0.5], second[outcome == 0.5]), 1)
    # A tie is one for both, whoever was shown first.
    return wins, tied + tied.T


def components(beats: Float) -> list[list[int]]:
    """Return strongly connected groups of systems."""
    reach = _reach_of(beats)
    # Each row is a component; equal rows are the same one.
    return [np.flatnonzero(row).tolist() for row in np.unique(reach & reach.T, axis=0)[::-1]]


def _reach_of(beats: Float) -> np.ndarray[tuple[int, int], np.dtype[np.bool_]]:
    reach = (beats > 0) | np.eye(len(beats), dtype=bool)
    for through in range(len(beats)):
        # Warshall: whoever reaches `through` reaches whatever it reaches.
        reach |= np.outer(reach[:, through], reach[through])
    return reach


def _sigmoid(x: Float) -> Float:
    from scipy.special import expit

    share: Float = expit(x)
    return share


class _Local(NamedTuple):
    """Of each game: the parameters that it depends on, its part in the equations, and in their derivative."""

    parameter: Int
    score: Float
    slope: Float


_Model = Callable[[GamesPlayed, Float], _Local]


def _of_half(games: GamesPlayed, point: Float) -> _Local:
    number = games.systems
    difference = point[games.first] - point[games.second]
    lead = point[number] if games.in_order else 0.0
    share, by_difference, by_lead = _share_of_first(difference, lead)
    signs = np.array([1.0, -1.0, 1.0])[: 3 if games.in_order else 2]
    slopes = np.stack((by_difference, -by_difference, by_lead), axis=1)[:, : len(signs)]
    return _Local(
        _parameters_of_games(games, number if games.in_order else None, None),
        (games.outcome - share)[:, None] * signs,
        signs[None, :, None] * slopes[:, None, :],
    )


def _share_of_first(difference: Float, lead: float) -> tuple[Float, Float, Float]:
    """Return μ of each difference, and its derivatives by difference and by lead."""
    away = np.abs(difference)
    # Of η(−d) = −η(d) the positive side is taken, where nothing cancels; far out it is d − ln cosh δ.
    r, c = np.exp(np.minimum(away, _FAR)), np.cosh(lead)
    eta = np.sign(difference) * (np.log((c * (r - 1) + np.sqrt((c * (r - 1)) ** 2 + 4 * r)) / 2))
    ahead, behind = _sigmoid(eta + lead), _sigmoid(eta - lead)
    ahead_slope, behind_slope = ahead * (1 - ahead), behind * (1 - behind)
    both = np.maximum(ahead_slope + behind_slope, np.finfo(float).tiny)
    fair = _sigmoid(difference)
    return ahead, 2 * ahead_slope * fair * (1 - fair) / both, 2 * ahead_slope * behind_slope / both


def _of_davidson(games: GamesPlayed, point: Float) -> _Local:
    number, has_ties = games.systems, bool((games.outcome == 0.5).any())
    lead_at = number if games.in_order else None
    ties_at = (number + games.in_order) if has_ties else None
    # What the logit of a win of the first, of the second, of a tie has of each parameter.
    design = np.array([[1.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.5, 0.5, 0.5, 1.0]])
    design = design[:, [True, True, games.in_order, has_ties]]
    parameter = _parameters_of_games(games, lead_at, ties_at)
    logits = point[parameter] @ design.T
    if not has_ties:
        logits[:, 2] = -np.inf
    chance = np.exp(logits - np.logaddexp.reduce(logits, axis=1, keepdims=True))
    mean = chance @ design
    row = np.where(games.outcome == 1, 0, np.where(games.outcome == 0, 1, 2))
    square = np.einsum("go,om,on->gmn", chance, design, design) - mean[:, :, None] * mean[:, None, :]
    return _Local(parameter, design[row] - mean, square)


def _parameters_of_games(games: GamesPlayed, lead_at: int | None, ties_at: int | None) -> Int:
    more = [np.full(len(games.first), index) for index in (lead_at, ties_at) if index is not None]
    return np.stack((games.first, games.second, *more), axis=1)


_MODELS: dict[Ties, _Model] = {"half": _of_half, "davidson": _of_davidson}


def _fitted(games: GamesPlayed, ties: Ties) -> _Solution:
    """Return what solves the equations, by Newton's method."""
    number, model = games.systems, _MODELS[ties]
    has_ties = ties == "davidson" and bool((games.outcome == 0.5).any())
    point = np.zeros(number + games.in_order + has_ties)
    if number == 1 or not len(games.first):
        return _Solution(np.zeros(number), 0.0, -np.inf, np.zeros((0, number)))
    # Games that are alike are computed once.
    kinds, numbers = np.unique(
        np.stack((games.first, games.second, np.round(2 * games.outcome).astype(np.int64)), axis=1),
        axis=0,
        return_counts=True,
    )
    alike = GamesPlayed(number, kinds[:, 0], kinds[:, 1], kinds[:, 2] / 2, kinds[:, 0], games.in_order)
    for _ in range(_STEPS):
        score, slope = _equations(alike, model(alike, point), point, numbers.astype(np.float64))
        step = np.linalg.solve(slope, score)
        # Far from the solution a whole step may go too far.
        step *= min(1.0, _LONGEST / max(float(np.abs(step).max()), _SMALL_STEP))
        point = point + step
        if np.abs(step).max() < _SMALL_STEP:
            break
    theta = without_noise(point[:number] - point[:number].mean())
    lead = float(point[number]) if games.in_order else 0.0
    return _Solution(theta, lead, float(point[-1]) if has_ties else -np.inf, _shifts(games, model, point))


def without_noise(strengths: Float) -> Float:
    """Return strengths without the digits in which computers differ: equal ones are equal, none is -0."""
    kept: Float = np.round(strengths, _PLACES) + 0.0
    return kept


def _equations(games: GamesPlayed, local: _Local, point: Float, numbers: Float) -> tuple[Float, Float]:
    """Return the equations, which shall be 0, and minus their derivative, which has an inverse."""
    size, number = len(point), games.systems
    score, slope = np.zeros(size), np.zeros((size, size))
    np.add.at(score, local.parameter, numbers[:, None] * local.score)
    rows, columns = local.parameter[:, :, None], local.parameter[:, None, :]
    np.add.at(slope, (rows, columns), numbers[:, None, None] * local.slope)
    if games.in_order:
        # One more game between equals, half won by the first.
        fair = float(_sigmoid(point[number]))
        score[number] += 0.5 - fair
        slope[number, number] += fair * (1 - fair)
    # Only differences of strengths are known: their sum stays as it is.
    slope[:number, :number] += slope[:number, :number].trace() / number**2
    return score, slope


def _shifts(games: GamesPlayed, equations_of: _Model, point: Float) -> Float:
    """Return [cluster, system]: how strengths move without each cluster, to the first order."""
    _, cluster = np.unique(games.cluster, return_inverse=True)
    local, units, size = equations_of(games, point), int(cluster.max()) + 1, len(point)
    _, whole = _equations(games, local, point, np.ones(len(games.first)))
    score = np.zeros((units, size))
    np.add.at(score, (cluster[:, None], local.parameter), local.score)
    shifts = np.empty((units, size))
    # A few clusters at a time: a matrix of each of them.
    order = np.argsort(cluster, kind="stable")
    ends = np.searchsorted(cluster[order], np.arange(units + 1))
    some = max(1, 2**20 // size**2)
    for begin in range(0, units, some):
        end = min(begin + some, units)
        part = order[ends[begin] : ends[end]]
        slope = np.zeros((end - begin, size, size))
        rows, columns = local.parameter[part][:, :, None], local.parameter[part][:, None, :]
        np.add.at(slope, (cluster[part][:, None, None] - begin, rows, columns), local.slope[part])
        rest = whole - slope
        # A cluster that alone joins systems cannot be left out: then it counts as one of many.
        bad = ~(np.linalg.cond(rest) < _WORST)
        rest[bad] = whole
        shifts[begin:end] = np.linalg.solve(rest, score[begin:end, :, None])[:, :, 0]
    shift: Float = shifts[:, : games.systems]
    shift -= shift.mean(axis=1, keepdims=True)
    return shift


def _errors(games: GamesPlayed, fit: _Solution, level: float) -> Float:
    """Return the standard error of each strength."""
    units, number = len(fit.shifts), games.systems
    if units < 2:
        return np.full(number, np.nan)
    variance = (units - 1) / units * (fit.shifts**2).sum(axis=0)
    # Where every game went as expected, as if all were ties, or every cluster says the same, nobody knows how
    # others would go.
    expected = _share_of_first(fit.theta[games.first] - fit.theta[games.second], fit.lead)[0]
    off, fair = np.abs(games.outcome - expected), expected * (1 - expected)
    for system in range(number):
        ours = (games.first == system) | (games.second == system)
        if variance[system] <= SLACK**2 or not (off[ours] > _UPSET).any():
            played = len(np.unique(games.cluster[ours]))
            variance[system] += (_least_error(played, level) / float(fair[ours].mean())) ** 2
    error: Float = np.sqrt(variance)
    return error


def _ranks(fit: _Solution) -> tuple[Int, Int]:
    """Return the intervals of ranks in the group, of values whose means are the strengths."""
    units = len(fit.shifts)
    parts = (units - 1) * fit.shifts
    values = fit.theta + parts - parts.mean(axis=0)
    return rank_intervals(Sample(tuple(map(str, range(units))), values, np.arange(units)))


def _bound(
    games: GamesPlayed, fit: _Solution, ties: Ties, group: Int, system: int, never_lost: bool, level: float
) -> float:
    """Return how low a system that never lost to the group may be, or how high one that never won; or NaN."""
    place = np.full(games.systems, -1)
    place[group] = np.arange(len(group))
    is_first = games.first == system
    others = np.where(is_first, place[games.second], place[games.first])
    ours = (is_first | (games.second == system)) & (others >= 0)
    if not ours.any():
        return float("nan")
    others, is_first = others[ours], is_first[ours]
    _, cluster, number = np.unique(games.cluster[ours], return_inverse=True, return_counts=True)
    weight = 1 / number[cluster]  # the games of a cluster are one together
    sign, tie = (1.0 if never_lost else -1.0), np.exp(fit.log_ties)

    def chances_of_games(strength: float) -> Float:
        """Return the chance of each game not to be lost (or won) by a system of this strength."""
        difference = sign * (strength - fit.theta[others])
        lead = fit.lead if games.in_order else 0.0
        # Whoever wins here may be second: then the lead is the other one's.
        ahead = np.where(is_first, sign, -sign) * lead
        if ties == "half":
            shares = [_share_of_first(difference, value)[0] for value in (lead, -lead)]
            return np.asarray(np.where(ahead == lead, *shares), np.float64)
        win, even = np.exp(difference + ahead), tie * np.exp((difference + ahead) / 2)
        return np.asarray((win + even) / (1 + win + even), np.float64)

    def strength_at(chance: float) -> float:
        low, high = -_FAR, _FAR
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            is_likelier = float(
                (weight * np.log(np.maximum(chances_of_games(sign * middle), 1e-300))).sum()
            ) > np.log(chance)
            low, high = (low, middle) if is_likelier else (middle, high)
        return sign * (low + high) / 2

    least, middle = strength_at((1 - level) / 2), strength_at(0.5)
    shares = weight * (1 - chances_of_games(least))
    towards = np.bincount(others, shares, len(group)) / shares.sum()
    units, off = len(fit.shifts), 0.0
    if units > 1:
        off = _reach(units - 1, level) * float(
            np.sqrt((units - 1) / units * ((fit.shifts @ towards) ** 2).sum())
        )
    return middle - sign * float(np.hypot(middle - least, off))
