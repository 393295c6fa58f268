"""Answers side by side: who beats whom, and how strong each system is, with intervals over queries."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

import numpy as np

from rageval.comparison.clusters import clusters_with_labels
from rageval.comparison.intervals import selection
from rageval.comparison.results import Clusters
from rageval.core.remark import Remark, Scope, joined_text
from rageval.core.signature import digest, join_signature
from rageval.errors import InputError, Place, TooFewLabels, UsageError
from rageval.files.judgements import GRADED, JudgementTable, folded
from rageval.measures.scales import OUTCOME, POSITION
from rageval.scoring.assessments import MOST_MISSING, is_permutation, on, rankings_of, required
from rageval.scoring.gold import Draw, Gold, chances_of, refuse_the_judge, why_lost
from rageval.scoring.scores import mean, require_groups
from rageval.statistics import LEVEL
from rageval.statistics.battles import (
    Battle,
    BattleDraw,
    Pairing,
    draw_battles,
    number_of_battles,
    touching,
)
from rageval.statistics.correction import Corrected, corrected
from rageval.statistics.preferences import (
    ListBias,
    PairBias,
    bias_in_lists,
    bias_in_pairs,
    corrected_strengths,
)
from rageval.statistics.samples import SLACK, Float, Int, settled
from rageval.statistics.strengths import GamesPlayed, Ties, counts_of, groups_that_met, standing, strengths_of
from rageval.table import finite
from rageval.text import visible
from rageval.version import __version__

_PAIRS = 3  # named in remarks
_ELO_START, _ELO_K = 1000, 5


@dataclass(frozen=True, slots=True)
class Games:
    """Comparisons of two systems each: the query, the two systems, and what the first one got (1, ½, 0).

    Queries are numbered by their ids, so that no order of lines changes what is drawn from them.
    `in_order` where the first one was shown first; False where nothing says which one was. `unit` numbers
    what was drawn independently, such as conversations; None where queries were. `drawn` says how pairs were
    drawn that were judged, where not all were.
    """

    systems: tuple[str, ...]
    query: Int
    first: Int
    second: Int
    outcome: Float
    in_order: bool = False
    unit: Int | None = None
    drawn: frozenset[str] = frozenset()

    def __len__(self) -> int:
        return len(self.query)

    def outcomes(self) -> Int:
        """Return [i, j] = games that i won against j, that neither won, that i lost."""
        wins, ties = counts_of(self.among(range(len(self.systems))))
        return np.stack((wins, ties, wins.T), axis=2).astype(np.int64)

    def among(self, systems: Sequence[int]) -> GamesPlayed:
        """Return the games between these systems, numbered as they stand there; clusters are as they are."""
        clusters = self.query if self.unit is None else self.unit
        columns = (self.first, self.second, self.outcome, clusters)
        return GamesPlayed(len(self.systems), *columns, self.in_order).among(np.array(systems, np.int64))

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
    """A system's strength and rank with their intervals, its share of wins, and how many games it played.

    NaN where there is none: who never lost has no strength, but a `low` end; who never won a `high` one.
    """

    system: str
    strength: float
    low: float
    high: float
    rank_low: int
    rank_high: int
    win_rate: float
    games: int


def games(grades: JudgementTable, clusters: Mapping[str, str] | None = None) -> Games:
    """Return the games: judgements that share query, aspect and judge are the two sides of one.

    `clusters` has the cluster of every query, where queries are not independent.
    """
    judged = required(grades, OUTCOME, "the arena")
    grades.require_no_repeats("the arena")
    comparisons: dict[tuple[int, int, int], list[_Side]] = {}
    failed = 0
    for answer, row in judged.rows():
        if not grades.statement_of(row).is_graded:
            failed += 1
            continue
        place = grades.query[answer], grades.row_aspect[row], grades.judge[answer]
        side = _Side(row, grades.run[answer], judged.worth(row), grades.shown_at(row))
        comparisons.setdefault(place, []).append(side)
    if not comparisons:
        raise InputError(
            at=Place(grades.name), problem=f"all {failed:,} judgements failed", remedy="judge them again"
        )
    _require_two_sides(grades, comparisons)
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
    rank = {code: index for index, code in enumerate(sorted(range(len(words)), key=words.__getitem__))}
    units = None
    if clusters is not None:
        require_groups(clusters, words, "clusters")
        units = _number_words([clusters[words[code]] for code in query])
    return Games(
        tuple(grades.runs.words),
        np.array([rank[code] for code in query], np.int64),
        np.array(first, np.int64),
        np.array(second, np.int64),
        np.array(outcome, np.float64),
        in_order,
        units,
        frozenset(grades.draws),
    )


class _Side(NamedTuple):
    """One side of a comparison: its row, the system, what it got, where it was shown (0: unknown)."""

    row: int
    run: int
    worth: float
    shown_at: int


def _require_two_sides(
    grades: JudgementTable, comparisons: Mapping[tuple[int, int, int], list[_Side]]
) -> None:
    """Refuse comparisons that are not of two systems, or whose sides contradict each other."""
    ordered = sorted(comparisons.items())
    for (query, aspect, _), sides in ordered:
        if len(sides) != 2:
            raise InputError(
                at=grades.where(sides[0].row),
                expected=f"two systems in the comparison {visible(grades.aspects.words[aspect])!r} of query"
                f" {visible(grades.queries.words[query])}",
                found=f"{len(sides)}",
            )
    for _, (one, other) in ordered:
        if one.run == other.run:
            raise InputError(
                at=grades.where(other.row),
                expected="two systems in a comparison",
                found=f"{visible(grades.runs.words[one.run])} on both sides",
            )
    for _, (one, other) in ordered:
        if one.worth + other.worth != 1:
            raise InputError(
                at=grades.where(other.row),
                problem="the two sides of a comparison disagree",
                expected="a win and a loss, or two ties",
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


def lacking_remarks(played: Games) -> Iterator[Remark]:
    """Yield which pairs did not meet in all queries; of many, how often they met."""
    pairs = lacking(played)
    if len(pairs) > _PAIRS:
        times = [number for _, _, number, _ in pairs]
        facts = {"number": len(pairs), "least": min(times), "most": max(times), "total": pairs[0][-1]}
        yield Remark("pairs_met_in_part", facts=facts)
        return
    for one, other, number, total in pairs:
        yield Remark("pair_met_in_part", Scope((one, other)), {"number": number, "total": total})


def failed_games(grades: JudgementTable) -> dict[tuple[str, str], set[str]]:
    """Return the queries of each pair of systems, by name, in which a comparison failed.

    Where only one side is there, nobody knows whom it was to meet; it counts for every pair of that system.
    """
    sides: dict[tuple[int, int, int], set[int]] = {}
    failed = set()
    for answer, row in on(grades, OUTCOME).rows():
        place = grades.query[answer], grades.row_aspect[row], grades.judge[answer]
        sides.setdefault(place, set()).add(grades.run[answer])
        if not grades.statement_of(row).is_graded:
            failed.add(place)
    words, queries = list(map(str, grades.runs.words)), dict[tuple[str, str], set[str]]()
    for place in failed:
        met = sides[place]
        others = met if len(met) > 1 else range(len(words))
        for one in met:
            for other in set(others) - {one}:
                pair = min(words[one], words[other]), max(words[one], words[other])
                queries.setdefault(pair, set()).add(str(grades.queries.words[place[0]]))
    return queries


def failed_sides(grades: JudgementTable) -> int:
    """Return how many judgements of pairs failed: their comparisons are no games."""
    return sum(not grades.statement_of(row).is_graded for _, row in on(grades, OUTCOME).rows())


def strengths(played: Games, ties: Ties = "half") -> list[_Strength]:
    """Return every system's strength, strongest first, with an interval over queries or clusters of them.

    Of systems that played, all of which games must join; see `statistics.strengths`.
    """
    present = {*played.first.tolist(), *played.second.tolist()}
    # By name, so that no order of lines decides anything.
    systems = sorted(present, key=lambda index: played.systems[index])
    games = played.among(systems)
    names = [played.systems[index] for index in systems]
    if len(parts := groups_that_met(games)) > 1:
        shown = " | ".join(", ".join(visible(names[system]) for system in part) for part in parts)
        raise UsageError(
            f"no strengths of one scale: no comparison joins these groups of systems: {shown}; judge pairs of"
            " answers across them"
        )
    table = strengths_of(games, ties)
    wins, tied = counts_of(games)
    number = (wins + wins.T + tied).sum(axis=1)
    rate = (wins.sum(axis=1) + tied.sum(axis=1) / 2) / number
    rows = []
    for index, name in enumerate(names):
        strength, low, high = (float(column[index]) for column in (table.strength, table.low, table.high))
        ranks = int(table.rank_low[index]), int(table.rank_high[index])
        row = _Strength(name, strength, low, high, *ranks, float(rate[index]), int(number[index]))
        rows.append((standing(int(table.tier[index]), strength, low, high), row))
    return [row for _, row in sorted(rows, key=lambda position: position[0])]


def next_battles(
    candidates: Mapping[str, Iterable[Pairing]],
    share_or_number: float,
    seed: int = 0,
    judged: JudgementTable | None = None,
) -> BattleDraw:
    """Draw pairs of answers to compare; with comparisons that were `judged`, those where ranks overlap."""
    pairs = {query: list(some) for query, some in candidates.items()}
    total = sum(map(len, pairs.values()))
    number = number_of_battles(share_or_number, total)
    if judged is None:
        return BattleDraw(tuple(draw_battles(pairs, number, seed)), total, seed)
    played = games(judged)
    battles = battles_in(judged, played)
    try:
        ranks = {row.system: (row.rank_low, row.rank_high) for row in strengths(played)}
    except UsageError:  # no scale: what joins the systems comes first, and nothing is preferred
        preferred = None
    else:
        preferred = touching(ranks)
    drawn = draw_battles(pairs, number, seed, judged=battles, preferred=preferred)
    lines = (f"{battle}" for battle in zip(battles, played.outcome.tolist(), strict=True))
    return BattleDraw(tuple(drawn), total, seed, digest(sorted(lines))[:8])


def battles_in(judged: JudgementTable, played: Games) -> list[Battle]:
    """Return which answers were compared in each of a table's games."""
    queries, names = sorted(map(str, judged.queries.words)), played.systems
    rows = zip(*(column.tolist() for column in (played.query, played.first, played.second)), strict=True)
    return [Battle(queries[query], names[first], names[second]) for query, first, second in rows]


def strength_remarks(ratings: Sequence[_Strength] | Sequence[_StrengthByPeople]) -> Iterator[Remark]:
    """Yield which systems have a bound in place of a strength, or neither, and whether intervals lack."""
    for row in ratings:
        has_ends = not math.isnan(row.low), not math.isnan(row.high)
        if not math.isnan(row.strength) or all(has_ends):
            continue
        if has_ends[0]:
            yield Remark("never_lost", Scope((row.system,)))
        elif has_ends[1]:
            yield Remark("never_won", Scope((row.system,)))
        else:
            yield Remark("not_comparable", Scope((row.system,)))
    if all(math.isnan(row.low) and math.isnan(row.high) for row in ratings):
        yield Remark("no_strength_intervals")


def signature_of(played: Games, parts: Mapping[str, str], gold: str = "") -> str:
    """Return how strengths of these games were computed, in one line."""
    order = {"order": "corrected" if played.in_order else "unknown"}
    battles = {"battles": ",".join(sorted(played.drawn))} if played.drawn else {}
    signed = join_signature(
        "strength", {**parts, **order, "interval": "jackknife", "level": f"{LEVEL:g}", **battles}
    )
    return "|".join([signed, *([gold] if gold else []), f"v:{__version__}"])


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
    counts, number = dict.fromkeys(range(len(grades.runs.words)), 0), 0
    for query in range(len(grades.queries.words)):
        for ranking in filter(is_permutation, rankings_of(grades, query).values()):
            number += 1
            for run, _ in ranking:
                counts[run] += 1
    return {grades.runs.words[run]: (times, number) for run, times in counts.items() if times < number}


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


# Whether it matters where an answer was shown: of judgements that compare answers, by judge.
#
# A judgement of a pair or a list says in `shown` which systems' answers were shown together, in their order.
# Pairs of rageval 0.1 name them in the aspect: `ours | theirs`. Where nothing says it the order is unknown.


@dataclass(frozen=True, slots=True)
class Positions:
    """How much position affects one judge: in lists and in pairs; None if unknown.

    `corrected` are the systems' points in lists (see `rank_score`), each place without the advantage of the
    position shown. `rankings` and `games` are how many there are, `unknown` how many of them do not record
    their order. `orders` are the different orders of a query's answers in which rankings were shown.
    """

    judge: str
    lists: ListBias | None
    pairs: PairBias | None
    corrected: Mapping[str, float] = field(default_factory=dict)
    rankings: int = 0
    games: int = 0
    unknown: int = 0
    orders: int = 0

    def as_dict(self) -> dict[str, Any]:
        """Return everything, for a program."""
        return {
            "judge": self.judge,
            "pairs": self.pairs and finite(self.pairs._asdict()),
            "lists": self.lists and [finite(place._asdict()) for place in self.lists.places],
            "corrected": dict(self.corrected),
            "rankings": self.rankings,
            "games": self.games,
            "unknown": self.unknown,
            "orders": self.orders,
        }


def position_remarks(positions: Mapping[str, Any], judge: str = "") -> Iterator[Remark]:
    """Yield what a person should know about `Positions.as_dict`; the judge is called so, if at all."""
    by = {"judge": judge}
    if pairs := positions["pairs"]:
        shares = {name: pairs[name] for name in ("consistent", "first_wins", "low", "high")}
        yield Remark("order_in_pairs", facts={**by, "number": pairs["pairs"], **shares})
    if lists := positions["lists"]:
        first, farthest = lists[0], max(lists, key=lambda place: abs(place["lead"]))
        facts = {
            **by,
            "number": positions["rankings"],
            # What was shown twice in the same order tells less than two orders.
            "different": positions["orders"],
            "known": positions["rankings"] - positions["unknown"],
            "first": (first["lead"], first["low"], first["high"]),
            "place": None if farthest is first else farthest["place"],
            "farthest": (farthest["lead"], farthest["low"], farthest["high"]),
        }
        yield Remark("order_in_lists", facts=facts)
    shown = positions["rankings"] + positions["games"]
    if positions["unknown"]:
        yield Remark("order_not_recorded", facts={**by, "number": positions["unknown"], "total": shown})
    elif shown and not pairs and not lists:
        yield Remark("order_unvaried", facts=by)


def why_biased(positions: Mapping[str, Any] | None, limit: float) -> Remark | None:
    """Return why a judge is not within so many places of fair; None if it is.

    >>> print(why_biased(None, 1.0))
    the order in which answers were shown is not recorded
    """
    places = [place["lead"] for place in (positions and positions["lists"]) or ()]
    pairs = positions and positions["pairs"]
    shifts = [*places, *([pairs["first_wins"] - 0.5] if pairs else [])]
    if not shifts:
        return Remark("no_order_recorded")
    most = max(map(abs, shifts))
    if most <= limit:
        return None
    return Remark("position_moves_answers", facts={"places": most})


class _Showing(NamedTuple):
    """An answer in a ranking or a game, at which place it was shown (0: nobody knows), what it got."""

    judge: str
    query: str
    aspect: str
    run: str
    position: int
    label: str | None
    grade: float | None


def positions_of(grades: JudgementTable) -> list[Positions]:
    """Return how much position affects each judge of a table, of those that compared answers."""
    return list(_positions_by_judge(_showings_in_table(grades)))


def positions_in(judged: Iterable[Mapping[str, Any]]) -> Positions | None:
    """Return how much position affects the judge of these judgements; None if it compared no answers.

    >>> rows = [{"query_id": "q", "run_id": run, "aspect": "-".join(shown), "label": label, "shown": shown}
    ...         for run, shown, label in [("a", ["a", "b"], "win"), ("b", ["a", "b"], "loss"),
    ...                                   ("a", ["b", "a"], "loss"), ("b", ["b", "a"], "win")]]
    >>> positions = positions_in(rows)
    >>> positions.pairs.pairs, positions.pairs.consistent, positions.pairs.first_wins
    (1, 0.0, 1.0)
    """
    return next(_positions_by_judge(_showings_in_records(judged)), None)


def _showings_in_table(grades: JudgementTable) -> Iterator[_Showing]:
    compares = [
        verdict.label in OUTCOME.labels or verdict.rubric in POSITION.rubrics for verdict in grades.said.words
    ]
    if not (any(compares) or grades.says_order):
        return  # a million judgements of nuggets need not be looked through
    words, judges, aspects = grades.runs.words, grades.judges.words, grades.aspects.words
    for answer, (begin, end) in enumerate(zip(grades.begin, grades.end, strict=True)):
        run, judge = words[grades.run[answer]], judges[grades.judge[answer]]
        query = grades.queries.words[grades.query[answer]]
        for row in range(begin, end):
            verdict, position = grades.statement_of(row), grades.shown_at(row)
            label = verdict.label if verdict.is_graded else None
            if position or compares[grades.row_statement[row]]:
                aspect = aspects[grades.row_aspect[row]]
                grade = grades.grade_in(row) if verdict.is_graded else None
                yield _Showing(
                    judge, query, aspect, run, position or _place_in_aspect(aspect, run, label), label, grade
                )


def compares_answers(judgement: Mapping[str, Any]) -> bool:
    """Return whether a judgement says which of several answers is better, or where one was shown."""
    shown, label = judgement.get("shown"), judgement.get("label")
    if (isinstance(shown, list) and shown) or (isinstance(label, str) and folded(label) in OUTCOME.labels):
        return True
    return str(judgement.get("rubric", "")).partition("@")[0] in POSITION.rubrics


def _showings_in_records(judged: Iterable[Mapping[str, Any]]) -> Iterator[_Showing]:
    for row in filter(compares_answers, judged):
        shown, label, grade = row.get("shown"), row.get("label"), row.get("grade")
        label = folded(label) if isinstance(label, str) else None
        names = list(map(str, shown)) if isinstance(shown, list) else []
        run = str(row["run_id"])
        position = names.index(run) + 1 if run in names and len(set(names)) == len(names) else 0
        if row.get("status", "ok") not in GRADED:
            label = grade = None
        place = str(row.get("judge", "")), str(row["query_id"]), str(row.get("aspect", "0"))
        if shown is None:
            position = _place_in_aspect(place[-1], run, label)
        yield _Showing(*place, run, position, label, float(grade) if isinstance(grade, int | float) else None)


def _place_in_aspect(aspect: str, run: str, label: str | None) -> int:
    """Return the place of a system that the aspect names, as in lines of rageval 0.1; else 0."""
    first, bar, second = aspect.partition(" | ")
    if not bar or label not in OUTCOME.labels or run not in (first, second):
        return 0
    return 1 if run == first else 2


def _positions_by_judge(sides: Iterable[_Showing]) -> Iterator[Positions]:
    by_judge: dict[str, dict[tuple[str, str], list[_Showing]]] = {}
    for side in sides:
        by_judge.setdefault(side.judge, {}).setdefault((side.query, side.aspect), []).append(side)
    for judge, by_comparison in by_judge.items():
        groups = {
            key: sorted(by_comparison[key], key=lambda side: side.position) for key in sorted(by_comparison)
        }
        games = [
            group
            for group in groups.values()
            if len(group) == 2 and all(side.label in OUTCOME.labels for side in group)
        ]
        # The places are 1 to N: other rankings are discarded.
        rankings = [
            group
            for group in groups.values()
            if all(side.label is None for side in group)
            and sorted(side.grade or 0 for side in group) == list(range(1, len(group) + 1))
        ]
        # Without all of its places a comparison tells nothing of what a place is worth.
        complete = [
            [
                group
                for group in comparisons
                if [side.position for side in group] == list(range(1, len(group) + 1))
            ]
            for comparisons in (games, rankings)
        ]
        lists, corrected = _bias_in_rankings(complete[1])
        unknown = len(games) + len(rankings) - sum(map(len, complete))
        orders = {(group[0].query, tuple(side.run for side in group)) for group in complete[1]}
        numbers = len(rankings), len(games), unknown, len(orders)
        systems = _number_words([side.run for game in complete[0] for side in game]).reshape(-1, 2)
        outcome = np.array([OUTCOME.labels[first.label or ""] for first, _ in complete[0]])
        query = _number_words([one.query for one, _ in complete[0]])
        pairs = bias_in_pairs(query, systems[:, 0], systems[:, 1], outcome)
        yield Positions(judge, lists, pairs, corrected, *numbers)


def _bias_in_rankings(rankings: list[list[_Showing]]) -> tuple[ListBias | None, dict[str, float]]:
    sides = [side for ranking in rankings for side in ranking if len(ranking) > 1]
    if not sides:
        return None, {}
    among = np.array([len(ranking) for ranking in rankings for _ in ranking if len(ranking) > 1])
    query = _number_words([side.query for side in sides])
    shown, given = (
        np.array([side.position for side in sides]),
        np.array([float(side.grade or 0) for side in sides]),
    )
    answer, system = (
        _number_words([(side.query, side.run) for side in sides]),
        _number_words([s.run for s in sides]),
    )
    bias = bias_in_lists(query, answer, shown, given)
    if bias is None:  # one order a query: then a system is compared with itself on other queries
        bias = bias_in_lists(query, system, shown, given)
    if bias is None:
        return None, {}
    points = (among + 1 - bias.corrected) / among
    of_answer: dict[str, dict[str, list[float]]] = {}
    for side, point in zip(sides, points.tolist(), strict=True):
        of_answer.setdefault(side.run, {}).setdefault(side.query, []).append(point)
    return bias, {run: mean([mean(some) for some in of.values()]) for run, of in of_answer.items()}


def _number_words(words: list[Any]) -> Int:
    number = {word: index for index, word in enumerate(sorted(set(words)))}
    return np.array([number[word] for word in words], np.int64)


# As people would have it: strengths from shares of wins that their labels correct.

_Outcomes = dict[str, float]  # query -> mean outcome of the first system, from -½ to ½
_Pairs = dict[tuple[str, str], _Outcomes]


class _StrengthByPeople(NamedTuple):
    """A system's strength as people would have it, with its interval, beside the judge's.

    The judge's is that of `strengths`, by the same model, in which a tie is half a win. `games` are the
    judge's comparisons with the system, `labels` the queries on which people compared it that are used.
    """

    system: str
    strength: float
    low: float
    high: float
    judged: float
    games: int
    labels: int


def strengths_by_people(
    judged: JudgementTable,
    gold: Gold,
    population: Literal["kind", "set"] = "kind",
    clusters: Clusters | None = None,
) -> tuple[list[_StrengthByPeople], list[Remark]]:
    """Return every system's strength, strongest first, and which pairs have too few human labels.

    A pair of systems has the judge's outcome of every query on which they met (½ for a win, −½ for a loss,
    the mean of several games), and human outcomes of some. Queries are independent, or `clusters` of them
    are; games of one query are not.
    """
    people = gold.answers
    refuse_the_judge(judged, people)
    by_plan = clusters_with_labels(clusters, [gold.draw], map(str, judged.queries.words))
    clusters = None if by_plan == "none" else by_plan
    played = games(judged)
    ours, theirs = _outcomes_by_pair(played, judged), _outcomes_by_pair(games(people), people)
    if not any(labels.keys() & ours.get(pair, {}).keys() for pair, labels in theirs.items()):
        raise InputError(
            at=Place(visible(people.name)),
            problem=f"shares no comparison with {visible(judged.name)}",
            expected="the same query_id and run_id in both",
        )
    estimates, remarks = {}, list[Remark]()
    failed, not_told = failed_games(judged), failed_games(people)
    used: _Pairs = {}
    for pair, outcomes in ours.items():
        about = Scope(pair)
        labels = theirs.get(pair, {})
        # The judge was asked of what failed, and of what people compared.
        missing = (failed.get(pair, set()) | labels.keys()) - outcomes.keys()
        lost = not_told.get(pair, set()) - labels.keys()
        if missing:
            counts = {"number": len(missing), "total": len(missing) + len(outcomes)}
            remarks.append(Remark("missing_comparisons", about, counts))
        if lost:
            remarks.append(Remark("failed_comparisons", about, {"number": len(lost)}))
        try:
            if len(missing) > MOST_MISSING * (len(missing) + len(outcomes)):
                raise TooFewLabels(Remark("many_comparisons_missing", facts={"most": MOST_MISSING}))
            if refused := why_lost(len(lost), len(labels)):
                raise TooFewLabels(refused)
            estimates[pair], doubt = _correct_outcomes(
                pair,
                outcomes,
                labels,
                draw=gold.draw,
                population=population,
                tests=len(ours),
                of_query=clusters,
            )
            if doubt is not None:
                remarks.append(replace(doubt, about=about))
            used[pair] = {query: value for query, value in labels.items() if query in outcomes}
        except TooFewLabels as error:
            remarks.append(Remark("pair_left_out", about, {"reason": error.reason}))
    if not estimates:
        raise TooFewLabels(f"no strengths: {joined_text(remarks)}")
    rows = _rank_systems(played, estimates, used, gold.draw.look_level(LEVEL) or LEVEL)
    if any(row.high - row.low <= SLACK for row in rows):
        remarks.append(Remark("labels_cover_all_comparisons"))
    return rows, remarks


def _outcomes_by_pair(played: Games, table: JudgementTable) -> _Pairs:
    """Return what the first system of each pair got, by query."""
    outcomes: dict[tuple[str, str], dict[str, list[float]]] = {}
    names = sorted(map(str, table.queries.words))
    rows = zip(*(column.tolist() for column in (played.query, played.first, played.second)), strict=True)
    for (query, first, second), outcome in zip(rows, played.outcome.tolist(), strict=True):
        one, other = played.systems[first], played.systems[second]
        pair, sign = ((one, other), 1) if one <= other else ((other, one), -1)
        outcomes.setdefault(pair, {}).setdefault(names[query], []).append(sign * (outcome - 0.5))
    return {
        pair: {query: sum(values) / len(values) for query, values in sorted(queries.items())}
        for pair, queries in outcomes.items()
    }


def _correct_outcomes(
    pair: tuple[str, str],
    judged: _Outcomes,
    labels: _Outcomes,
    *,
    draw: Draw,
    population: Literal["kind", "set"],
    tests: int,
    of_query: Mapping[str, str] | None,
) -> tuple[Corrected, Remark | None]:
    """Return the mean outcome of a pair as human labels correct it, and why the labels might not be random.

    `tests` is the number of pairs. Raise `TooFewLabels` if the labels cannot correct this pair.
    """
    if draw.compares and draw.compares != set(pair):
        raise TooFewLabels(Remark("labels_of_other_systems"))
    queries, values = list(judged), list(judged.values())
    labeled = {index: labels[query] for index, query in enumerate(queries) if query in labels}
    chosen, doubt = selection(draw, values, labeled, tests)
    if chosen is not None:
        raise TooFewLabels(chosen)
    estimate = corrected(
        values,
        labeled,
        paired=True,
        level=LEVEL,
        look=draw.look_level(LEVEL),
        population=population,
        chosen=chances_of(draw, queries, [queries[index] for index in labeled]),
        clusters=queries if of_query is None else [of_query[query] for query in queries],
        same=[index for index, query in enumerate(queries) if draw.compares and query in draw.same],
        within=(-0.5, 0.5),
    )
    return estimate, doubt


def _rank_systems(
    played: Games, estimates: Mapping[tuple[str, str], Corrected], used: _Pairs, level: float
) -> list[_StrengthByPeople]:
    systems = list(played.systems)
    places = {
        (systems.index(one), systems.index(other)): estimate for (one, other), estimate in estimates.items()
    }
    by_people = corrected_strengths(places, len(systems), level)
    try:
        by_judge = {row.system: row.strength for row in strengths(played)}
    except UsageError:  # all pairs in one order: labels show who is better, and the judge alone does not
        by_judge = {}
    wins, ties = counts_of(played.among(range(len(systems))))
    number = (wins + wins.T + ties).sum(axis=1).astype(np.int64).tolist()
    rows = []
    for system, estimate, games_of_system in zip(systems, by_people, number, strict=True):
        labels = {query for pair, queries in used.items() if system in pair for query in queries}
        judged = by_judge.get(system, math.nan)
        ends = estimate.strength, estimate.low, estimate.high
        place = standing(estimate.tier, *ends)
        rows.append((place, _StrengthByPeople(system, *ends, judged, games_of_system, len(labels))))
    return [row for _, row in sorted(rows, key=lambda position: position[0])]
