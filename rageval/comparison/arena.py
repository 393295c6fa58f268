"""Answers side by side: who beats whom, and how strong each system is, with intervals.

Strengths follow Bradley and Terry, with ties after Davidson (1970): system i meets j and
    wins with probability π_i / (π_i + π_j + ν √(π_i π_j)),    ties with ν √(π_i π_j) / (the same).
They are given as θ = ln π, with mean 0, so that θ_i − θ_j is the log odds of i winning when nobody ties.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rageval.errors import InputError, UsageError
from rageval.files.judgements import JudgementTable
from rageval.measures.scales import OUTCOME, POSITION
from rageval.scoring.assessing import is_permutation, on, rankings_of, required
from rageval.statistics.bootstrap import expanded
from rageval.statistics.samples import Float, Int, settled
from rageval.text import visible

RESAMPLES, LEVEL, SEED = 500, 0.95, 1952
_STEPS, _SMALL = 100, 1e-10
_ENOUGH = 0.9  # of the resamples must have finite strengths, or their percentiles say little
_POINT = 1e-6
_FARTHEST = 12.0  # a strength or an advantage beyond it is on its way to infinity
_ELO_START, _ELO_K = 1000, 5


@dataclass(frozen=True, slots=True)
class Games:
    """Comparisons of two systems each: the query, the two systems, and what the first one got (1, ½, 0).

    Queries are numbered by their ids, so that no order of lines changes what is drawn from them.
    `in_order` where the first one was shown first; False where nothing says which one was.
    """

    systems: tuple[str, ...]
    query: Int
    first: Int
    second: Int
    outcome: Float
    in_order: bool = False

    def __len__(self) -> int:
        return len(self.query)

    def outcomes(self) -> Int:
        """Return [i, j] = games that i won against j, that neither won, that i lost."""
        wins, ties = self.counts()
        return np.stack((wins, ties, wins.T), axis=2).astype(np.int64)

    def counts(self, games: Int | slice = slice(None)) -> tuple[Float, Float]:
        """Return (wins[i, j] of i over j, ties[i, j] both ways) among these games."""
        number = len(self.systems)
        first, second, outcome = self.first[games], self.second[games], self.outcome[games]
        wins, ties = np.zeros((number, number)), np.zeros((number, number))
        # add.at counts a pair as often as it comes; wins[…] += 1 would count it once.
        np.add.at(wins, (first[outcome == 1], second[outcome == 1]), 1)
        np.add.at(wins, (second[outcome == 0], first[outcome == 0]), 1)
        np.add.at(ties, (first[outcome == 0.5], second[outcome == 0.5]), 1)
        # A tie is one for both, whoever was shown first.
        return wins, ties + ties.T

    def elo(self) -> dict[str, int]:
        """Return ratings as Ragnarök's arena keeps them, for comparison only.

        They depend on the order of the games, and because each update is cut to a whole number, the sum
        of all ratings falls by about one point a game.
        """
        rating = dict.fromkeys(range(len(self.systems)), _ELO_START)
        rows = zip(self.first.tolist(), self.second.tolist(), self.outcome.tolist(), strict=True)
        for first, second, outcome in rows:
            expected = 1 / (1 + 10 ** ((rating[second] - rating[first]) / 400))
            gain = _ELO_K * (outcome - expected)
            # int() as the arena's program has it, which cuts towards zero.
            rating[first], rating[second] = int(rating[first] + gain), int(rating[second] - gain)
        return {self.systems[system]: value for system, value in rating.items()}


@dataclass(frozen=True, slots=True)
class _Strength:
    """A system's strength with its interval, its share of wins, and how many games it played."""

    system: str
    strength: float
    low: float
    high: float
    win_rate: float
    games: int
    corrected: float | None = None  # the strength, less what being shown first is worth


def games(grades: JudgementTable) -> Games:
    """Return the games: judgements that share query, aspect and judge are the two sides of one."""
    judged = required(grades, OUTCOME, "the arena")
    grades.require_no_repeats("the arena")
    comparisons: dict[tuple[int, int, int], list[_Side]] = {}
    failed = 0
    for answer, row in judged.rows():
        if not grades.said_in(row).is_graded:
            failed += 1
            continue
        place = grades.query[answer], grades.row_aspect[row], grades.judge[answer]
        side = _Side(row, grades.run[answer], judged.worth(row), grades.shown_at(row))
        comparisons.setdefault(place, []).append(side)
    if not comparisons:
        raise InputError(f"{grades.name}: all {failed:,} judgements failed; judge them again")
    _refuse_odd(grades, comparisons)
    # In the order of the file, on which Elo depends.
    sides = sorted(comparisons.items(), key=lambda item: grades.position(item[1][0].row))
    # If a single comparison does not say it, the place cannot be told from the systems.
    in_order = all(sorted(side.shown_at for side in both) == [1, 2] for _, both in sides)
    if in_order:
        sides = [(place, sorted(both, key=lambda side: side.shown_at)) for place, both in sides]
    query, first, second, outcome = zip(
        *((place[0], one.run, other.run, one.worth) for place, (one, other) in sides), strict=True
    )
    words = list(map(str, grades.queries.words))
    rank = {code: at for at, code in enumerate(sorted(range(len(words)), key=words.__getitem__))}
    return Games(
        tuple(grades.runs.words),
        np.array([rank[code] for code in query], np.int64),
        np.array(first, np.int64),
        np.array(second, np.int64),
        np.array(outcome, np.float64),
        in_order,
    )


class _Side(NamedTuple):
    """One side of a comparison: its row, the system, what it got, where it was shown (0: unknown)."""

    row: int
    run: int
    worth: float
    shown_at: int


def _refuse_odd(grades: JudgementTable, comparisons: Mapping[tuple[int, int, int], list[_Side]]) -> None:
    """Refuse comparisons that are not of two systems, or whose sides contradict each other."""
    ordered = sorted(comparisons.items())
    for (query, aspect, _), sides in ordered:
        if len(sides) != 2:
            raise InputError(
                f"{grades.where(sides[0].row)}: expected two systems in the comparison"
                f" {visible(grades.aspects.words[aspect])!r} of query"
                f" {visible(grades.queries.words[query])}, found {len(sides)}"
            )
    for _, (one, other) in ordered:
        if one.run == other.run:
            raise InputError(
                f"{grades.where(other.row)}: expected two systems in a comparison, found"
                f" {visible(grades.runs.words[one.run])} on both sides"
            )
    for _, (one, other) in ordered:
        if one.worth + other.worth != 1:
            raise InputError(
                f"{grades.where(other.row)}: the two sides of a comparison contradict each other;"
                " expected a win and a loss, or two ties"
            )


def lacking(played: Games) -> list[tuple[str, str, int, int]]:
    """Return (system, other, queries, of) of the pairs that met, and not in all queries of the arena.

    >>> from rageval.scoring.answers import read_judgements
    >>> rows = [{"query_id": query, "run_id": run, "aspect": runs, "label": "tie"}
    ...         for query, runs in (("1", "ab"), ("1", "bc"), ("2", "bc")) for run in runs]
    >>> lacking(games(read_judgements(rows)))
    [('a', 'b', 1, 2)]
    """
    met: dict[tuple[int, int], set[int]] = {}
    rows = zip(played.first.tolist(), played.second.tolist(), played.query.tolist(), strict=True)
    for first, second, query in rows:
        met.setdefault((min(first, second), max(first, second)), set()).add(query)
    total = len(set(played.query.tolist()))
    names = played.systems
    return [(names[a], names[b], len(of), total) for (a, b), of in sorted(met.items()) if len(of) < total]


def failed_games(grades: JudgementTable) -> dict[tuple[str, str], set[str]]:
    """Return the queries of each pair of systems, by name, in which a comparison failed.

    Where only one side is there, nobody knows whom it was to meet; it counts for every pair of that system.
    """
    sides: dict[tuple[int, int, int], set[int]] = {}
    failed = set()
    for answer, row in on(grades, OUTCOME).rows():
        place = grades.query[answer], grades.row_aspect[row], grades.judge[answer]
        sides.setdefault(place, set()).add(grades.run[answer])
        if not grades.said_in(row).is_graded:
            failed.add(place)
    words, found = list(map(str, grades.runs.words)), dict[tuple[str, str], set[str]]()
    for place in failed:
        met = sides[place]
        others = met if len(met) > 1 else range(len(words))
        for one in met:
            for other in set(others) - {one}:
                pair = min(words[one], words[other]), max(words[one], words[other])
                found.setdefault(pair, set()).add(str(grades.queries.words[place[0]]))
    return found


def failed_sides(grades: JudgementTable) -> int:
    """Return how many judgements of pairs failed: their comparisons are no games."""
    return sum(not grades.said_in(row).is_graded for _, row in on(grades, OUTCOME).rows())


def strengths(played: Games, resamples: int = RESAMPLES, level: float = LEVEL) -> list[_Strength]:
    """Return every system's strength, strongest first, with a bootstrap interval over queries."""
    _refuse_islands(played)
    theta = bradley_terry(*played.counts())
    low, high = _interval(played, resamples, level)
    wins, ties = played.counts()
    # Games of each system: won, lost, and neither.
    number = (wins + wins.T + ties).sum(axis=1)
    rate = (wins.sum(axis=1) + ties.sum(axis=1) / 2) / number
    fair = _corrected(played)
    found = [
        _Strength(
            system,
            float(theta[i]),
            float(low[i]),
            float(high[i]),
            float(rate[i]),
            int(number[i]),
            None if fair is None else float(fair[i]),
        )
        for i, system in enumerate(played.systems)
        if number[i]
    ]
    return sorted(found, key=lambda each: -each.strength)


def bradley_terry(wins: Float, ties: Float) -> Float:
    """Return the maximum-likelihood strengths θ with mean 0 (Newton's method; the likelihood is concave).

    Two systems, three games to one: θ differ by ln 3.

    >>> theta = bradley_terry(np.array([[0.0, 3.0], [1.0, 0.0]]), np.zeros((2, 2)))
    >>> round(float(np.exp(theta[0] - theta[1])), 9)
    3.0
    """
    i, j = np.triu_indices(len(wins), 1)
    point = _fitted(_Outcomes(len(wins), i, j, np.stack((wins[i, j], wins[j, i], ties[i, j]))))
    theta: Float = point[:-2] - point[:-2].mean()
    return theta


def _corrected(played: Games) -> Float | None:
    """Return the strengths beside an advantage δ of whoever is shown first (Davidson and Beaver, 1977).

    System i, shown before j, wins with odds e^(θ_i + δ) to e^θ_j. None where it is not known who was shown
    first, or no finite δ is likeliest: then the place decides, and nothing is known of the systems.
    """
    number = len(played.systems)
    if not played.in_order:
        return None
    # All ordered pairs: i was shown before j.
    i, j = np.divmod(np.arange(number * number), number)
    seen = np.zeros((3, number * number))
    row = np.where(played.outcome == 1, 0, np.where(played.outcome == 0, 1, 2))
    np.add.at(seen, (row, played.first * number + played.second), 1)
    point = _fitted(_Outcomes(number, i, j, seen, has_order=True))
    theta: Float = point[:-2] - point[:-2].mean()
    # An infinite maximum shows as steps that never end; beyond this it is called none.
    return None if max(abs(point[-1]), np.abs(theta).max()) > _FARTHEST else theta


class _Outcomes(NamedTuple):
    """How often i won against j, lost, or neither, a column a pair; `has_order` where i was shown first."""

    systems: int
    i: Int
    j: Int
    seen: Float
    has_order: bool = False


def _fitted(games: _Outcomes) -> Float:
    """Return θ of each system, ln ν and δ: those that make the outcomes likeliest."""
    point = np.zeros(games.systems + 2)
    value, gradient, hessian = _likelihood(point, games)
    for _ in range(_STEPS):
        # lstsq and not solve: the Hessian is singular, as adding a number to all θ changes nothing.
        step = np.linalg.lstsq(hessian, -gradient, rcond=None)[0]
        size = 1.0
        while size > _SMALL:  # halve the step until the likelihood grows
            new = _likelihood(point + size * step, games)
            if new[0] >= value - _SMALL:
                break
            size /= 2
        point = point + size * step
        value, gradient, hessian = new
        if np.abs(step).max() * size < _SMALL:
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


def _interval(played: Games, resamples: int, level: float) -> tuple[Float, Float]:
    """Return percentiles over resampled queries; NaN if strengths are infinite in many or the same in all."""
    generator = np.random.default_rng(SEED)
    # Queries are drawn and not games: games of one query are not independent.
    queries, of_game = np.unique(played.query, return_inverse=True)
    games_of = np.split(np.argsort(of_game, kind="stable"), np.cumsum(np.bincount(of_game))[:-1])
    found = []
    for _ in range(resamples):
        drawn = generator.integers(0, len(queries), len(queries))
        wins, ties = played.counts(np.concatenate([games_of[query] for query in drawn.tolist()]))
        # A resample may fall into groups that never met; it has no finite strengths and is left out.
        if len(_groups(wins, ties)) == 1:
            found.append(bradley_terry(wins, ties))
    if len(found) < _ENOUGH * resamples:
        nothing = np.full(len(played.systems), np.nan)
        return nothing, nothing
    ends = [float(end[0]) for end in expanded(level, np.array([len(queries)]))]
    low, high = np.quantile(np.array(found), ends, axis=0)
    point = high - low < _POINT  # every query says the same, so nothing is known of other ones
    return np.where(point, np.nan, low), np.where(point, np.nan, high)


def _refuse_islands(played: Games) -> None:
    groups = _groups(*played.counts())
    if len(groups) > 1:
        names = [", ".join(visible(played.systems[i]) for i in group) for group in groups]
        raise UsageError(
            "no finite strengths: between these groups of systems wins go one way only, or there are none:"
            f" {' | '.join(names)}; expected each system to win, over some path, against each other"
            " (win_rate needs no such thing)"
        )


def _groups(wins: Float, ties: Float) -> list[list[int]]:
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


def outcome_matrix(values: Sequence[Float]) -> Int:
    """Return [i, j] = (queries where i scores higher than j, equal, lower), from each system's values.

    >>> outcome_matrix([np.array([1.0, 0.5]), np.array([0.0, 0.5])])[0, 1].tolist()
    [1, 1, 0]
    """
    table = settled(
        np.array(values)
    )  # equal means differ in their last bits where they were added up otherwise
    higher = (table[:, None] > table[None]).sum(axis=2)
    equal = (table[:, None] == table[None]).sum(axis=2)
    return np.stack((higher, equal, higher.T), axis=2)


def invalid_rankings(grades: JudgementTable) -> tuple[int, int, int]:
    """Return how many rankings are not of 1 to N, of how many, and of how many queries those are."""
    wrong, number, queries = 0, 0, 0
    for query in range(len(grades.queries.words)):
        rankings = rankings_of(grades, query).values()
        invalid = sum(not is_permutation(ranking) for ranking in rankings)
        wrong, number, queries = wrong + invalid, number + len(rankings), queries + bool(invalid)
    return wrong, number, queries


def incomplete(grades: JudgementTable) -> dict[str, tuple[int, int]]:
    """Return in how many rankings each system is that is not in all, and of how many."""
    found, number = dict.fromkeys(range(len(grades.runs.words)), 0), 0
    for query in range(len(grades.queries.words)):
        for ranking in filter(is_permutation, rankings_of(grades, query).values()):
            number += 1
            for run, _ in ranking:
                found[run] += 1
    return {grades.runs.words[run]: (times, number) for run, times in found.items() if times < number}


def has_rankings(grades: JudgementTable) -> bool:
    """Return whether the table holds listwise rankings rather than comparisons of two."""
    if {"win", "tie", "loss"} & set(grades.labels()) or not on(grades, POSITION):
        return False
    rankings = (
        ranking
        for query in range(len(grades.queries.words))
        for ranking in rankings_of(grades, query).values()
    )
    return any(map(is_permutation, rankings))
