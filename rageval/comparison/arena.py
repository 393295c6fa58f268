"""Answers side by side: who beats whom, and how strong each system is, with intervals over queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rageval.errors import InputError, UsageError
from rageval.files.judgements import JudgementTable
from rageval.measures.scales import OUTCOME, POSITION
from rageval.scoring.assessments import is_permutation, on, rankings_of, required
from rageval.statistics.bootstrap import draws, ends_of
from rageval.statistics.preferences import bradley_terry, finite_groups, strengths_beside_lead
from rageval.statistics.samples import Float, Int, settled
from rageval.text import visible

RESAMPLES, LEVEL, SEED = 500, 0.95, 1952
_ENOUGH = 0.9  # of the resamples must have finite strengths, or their percentiles say little
_POINT = 1e-6
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
    groups = finite_groups(*played.counts())
    if len(groups) > 1:
        names = [", ".join(visible(played.systems[i]) for i in group) for group in groups]
        raise UsageError(
            "no finite strengths: between these groups of systems wins go one way only, or there are none:"
            f" {' | '.join(names)}; expected each system to win, over some path, against each other"
            " (win_rate needs no such thing)"
        )
    theta = bradley_terry(*played.counts())
    low, high = _interval(played, resamples, level)
    wins, ties = played.counts()
    # Games of each system: won, lost, and neither.
    number = (wins + wins.T + ties).sum(axis=1)
    rate = (wins.sum(axis=1) + ties.sum(axis=1) / 2) / number
    fair = None
    # Where nothing says who was shown first, nobody knows what the place is worth.
    if played.in_order:
        fair = strengths_beside_lead(len(played.systems), played.first, played.second, played.outcome)
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


def _interval(played: Games, resamples: int, level: float) -> tuple[Float, Float]:
    """Return percentiles over resampled queries; NaN if strengths are infinite in many or the same in all."""
    # Queries are drawn and not games: games of one query are not independent.
    queries, of_game = np.unique(played.query, return_inverse=True)
    games_of = np.split(np.argsort(of_game, kind="stable"), np.cumsum(np.bincount(of_game))[:-1])
    found = []
    for drawn in draws(len(queries), resamples, SEED):
        wins, ties = played.counts(np.concatenate([games_of[query] for query in drawn.tolist()]))
        # A resample may fall into groups that never met; it has no finite strengths and is left out.
        if len(finite_groups(wins, ties)) == 1:
            found.append(bradley_terry(wins, ties))
    if len(found) < _ENOUGH * resamples:
        nothing = np.full(len(played.systems), np.nan)
        return nothing, nothing
    low, high = ends_of(np.array(found), level, len(queries))
    point = high - low < _POINT  # every query says the same, so nothing is known of other ones
    return np.where(point, np.nan, low), np.where(point, np.nan, high)


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
