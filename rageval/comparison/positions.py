"""Whether it matters where an answer was shown: of judgements that compare answers, by judge.

A judgement of a pair or a list says in `shown` which systems' answers were shown together, in their order.
Pairs of rageval 0.1 name them in the aspect: `ours | theirs`. Where nothing says it the order is unknown.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from rageval.files.judgements import GRADED, JudgementTable, folded
from rageval.measures.scales import OUTCOME, POSITION
from rageval.scoring.scores import mean
from rageval.statistics.preferences import ListBias, PairBias, bias_in_lists, bias_in_pairs
from rageval.statistics.samples import Int
from rageval.table import finite


@dataclass(frozen=True, slots=True)
class Positions:
    """What one judge makes of places: in lists, in pairs; None where it cannot be told.

    `corrected` are the systems' points in lists (see `rank_score`), each place given less the lead of the
    place shown. `rankings` and `games` are what there is, `unknown` those of them whose order nothing says;
    `orders` are the different orders of a query's answers that rankings were shown in.
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


def said_of(found: Mapping[str, Any]) -> Iterator[str]:
    """Yield what a person should know of what `Positions.as_dict` holds."""
    if pairs := found["pairs"]:
        yield (
            f"of {pairs['pairs']:,} pairs shown in both orders {pairs['consistent']:.1%} keep their verdict;"
            f" the answer shown first wins {pairs['first_wins']:.1%}{_within(pairs, '.1%')}"
        )
    if lists := found["lists"]:
        first, farthest = lists[0], max(lists, key=lambda place: abs(place["lead"]))
        rankings = f"{found['rankings']:,} rankings"
        # What was shown twice in the same order tells less than two orders.
        if found["orders"] < found["rankings"] - found["unknown"]:
            rankings += f" ({found['orders']:,} different)"
        yield (
            f"in {rankings} an answer is put {_moved(first)} for being shown first"
            + ("" if farthest is first else f", {_moved(farthest)} for being shown at {farthest['place']}")
        )
    if found["unknown"]:
        yield (
            f"{found['unknown']:,} of {found['rankings'] + found['games']:,} rankings and games do not say in"
            " which order answers were shown (`shown`)"
        )
    if not pairs and not lists and (found["rankings"] or found["games"]) and not found["unknown"]:
        yield "whether it matters where an answer was shown cannot be told: each was shown at one place only"


def _moved(place: Mapping[str, Any]) -> str:
    lead = place["lead"]
    return f"{abs(lead):.2f} places {'behind' if lead < 0 else 'ahead'}{_within(place, '.2f')}"


def _within(found: Mapping[str, Any], places: str) -> str:
    low, high = found["low"], found["high"]
    return (
        " (no interval: too few queries, or all alike)"
        if low is None
        else f" [{low:{places}}, {high:{places}}]"
    )


def too_much(found: Mapping[str, Any] | None, limit: float) -> str | None:
    """Return why a judge is not within so many places of fair; None if it is.

    >>> too_much(None, 1.0)
    'nothing says in which order answers were shown'
    """
    places = [place["lead"] for place in (found and found["lists"]) or ()]
    pairs = found and found["pairs"]
    moved = [*places, *([pairs["first_wins"] - 0.5] if pairs else [])]
    if not moved:
        return "nothing says in which order answers were shown"
    most = max(map(abs, moved))
    if most <= limit:
        return None
    return f"where it is shown moves an answer by {most:.2f} places"


class _Showing(NamedTuple):
    """An answer in a ranking or a game, at which place it was shown (0: nobody knows), what it got."""

    judge: str
    query: str
    aspect: str
    run: str
    at: int
    label: str | None
    grade: float | None


def positions_of(grades: JudgementTable) -> list[Positions]:
    """Return what each judge of a table makes of places, of those that compared answers."""
    return list(_by_judge(_of_table(grades)))


def positions_in(judged: Iterable[Mapping[str, Any]]) -> Positions | None:
    """Return what the judge of these judgements makes of places; None where it compared no answers.

    >>> rows = [{"query_id": "q", "run_id": run, "aspect": "-".join(shown), "label": label, "shown": shown}
    ...         for run, shown, label in [("a", ["a", "b"], "win"), ("b", ["a", "b"], "loss"),
    ...                                   ("a", ["b", "a"], "loss"), ("b", ["b", "a"], "win")]]
    >>> found = positions_in(rows)
    >>> found.pairs.pairs, found.pairs.consistent, found.pairs.first_wins
    (1, 0.0, 1.0)
    """
    return next(_by_judge(_of_records(judged)), None)


def _of_table(grades: JudgementTable) -> Iterator[_Showing]:
    compares = [said.label in OUTCOME.labels or said.rubric in POSITION.rubrics for said in grades.said.words]
    if not (any(compares) or grades.says_order):
        return  # a million judgements of nuggets need not be looked through
    words, judges, aspects = grades.runs.words, grades.judges.words, grades.aspects.words
    for answer, (begin, end) in enumerate(zip(grades.begin, grades.end, strict=True)):
        run, judge = words[grades.run[answer]], judges[grades.judge[answer]]
        query = grades.queries.words[grades.query[answer]]
        for row in range(begin, end):
            said, at = grades.said_in(row), grades.shown_at(row)
            label = said.label if said.is_graded else None
            if at or compares[grades.row_said[row]]:
                aspect = aspects[grades.row_aspect[row]]
                grade = grades.grade_in(row) if said.is_graded else None
                yield _Showing(
                    judge, query, aspect, run, at or _named_first(aspect, run, label), label, grade
                )


def _of_records(judged: Iterable[Mapping[str, Any]]) -> Iterator[_Showing]:
    for row in judged:
        shown, label, grade = row.get("shown"), row.get("label"), row.get("grade")
        label = folded(label) if isinstance(label, str) else None
        names = list(map(str, shown)) if isinstance(shown, list) else []
        rubric = str(row.get("rubric", "")).partition("@")[0]
        if not (names or label in OUTCOME.labels or rubric in POSITION.rubrics):
            continue
        run = str(row["run_id"])
        at = names.index(run) + 1 if run in names and len(set(names)) == len(names) else 0
        if row.get("status", "ok") not in GRADED:
            label = grade = None
        place = str(row.get("judge", "")), str(row["query_id"]), str(row.get("aspect", "0"))
        if shown is None:
            at = _named_first(place[-1], run, label)
        yield _Showing(*place, run, at, label, float(grade) if isinstance(grade, int | float) else None)


def _named_first(aspect: str, run: str, label: str | None) -> int:
    """Return the place of a system that the aspect names, as in lines of rageval 0.1; else 0."""
    first, bar, second = aspect.partition(" | ")
    if not bar or label not in OUTCOME.labels or run not in (first, second):
        return 0
    return 1 if run == first else 2


def _by_judge(sides: Iterable[_Showing]) -> Iterator[Positions]:
    together: dict[str, dict[tuple[str, str], list[_Showing]]] = {}
    for side in sides:
        together.setdefault(side.judge, {}).setdefault((side.query, side.aspect), []).append(side)
    for judge, some in together.items():
        found = {key: sorted(some[key], key=lambda side: side.at) for key in sorted(some)}
        games = [group for group in found.values() if _is_game(group)]
        rankings = [group for group in found.values() if _is_ranking(group)]
        known = [[group for group in each if _is_in_order(group)] for each in (games, rankings)]
        lists, corrected = _lists(known[1])
        unknown = len(games) + len(rankings) - sum(map(len, known))
        orders = {(group[0].query, tuple(side.run for side in group)) for group in known[1]}
        numbers = len(rankings), len(games), unknown, len(orders)
        yield Positions(judge, lists, _pairs(known[0]), corrected, *numbers)


def _is_game(group: list[_Showing]) -> bool:
    return len(group) == 2 and all(side.label in OUTCOME.labels for side in group)


def _is_ranking(group: list[_Showing]) -> bool:
    """Return whether the places given are 1 to N: other rankings are discarded."""
    places = [side.grade for side in group if side.label is None and side.grade is not None]
    return len(places) == len(group) and sorted(places) == list(range(1, len(group) + 1))


def _is_in_order(group: list[_Showing]) -> bool:
    return [side.at for side in group] == list(range(1, len(group) + 1))


def _pairs(games: list[list[_Showing]]) -> PairBias | None:
    systems = _numbers([side.run for game in games for side in game]).reshape(-1, 2)
    outcome = np.array([OUTCOME.labels[first.label or ""] for first, _ in games])
    return bias_in_pairs(_numbers([one.query for one, _ in games]), systems[:, 0], systems[:, 1], outcome)


def _lists(rankings: list[list[_Showing]]) -> tuple[ListBias | None, dict[str, float]]:
    sides = [side for ranking in rankings for side in ranking if len(ranking) > 1]
    if not sides:
        return None, {}
    among = np.array([len(ranking) for ranking in rankings for _ in ranking if len(ranking) > 1])
    query = _numbers([side.query for side in sides])
    shown, given = np.array([side.at for side in sides]), np.array([float(side.grade or 0) for side in sides])
    answer, system = _numbers([(side.query, side.run) for side in sides]), _numbers([s.run for s in sides])
    found = bias_in_lists(query, answer, shown, given)
    if found is None:  # one order a query: then a system is compared with itself on other queries
        found = bias_in_lists(query, system, shown, given)
    if found is None:
        return None, {}
    points = (among + 1 - found.corrected) / among
    of_answer: dict[str, dict[str, list[float]]] = {}
    for side, point in zip(sides, points.tolist(), strict=True):
        of_answer.setdefault(side.run, {}).setdefault(side.query, []).append(point)
    return found, {run: mean([mean(some) for some in of.values()]) for run, of in of_answer.items()}


def _numbers(words: list[Any]) -> Int:
    number = {word: at for at, word in enumerate(sorted(set(words)))}
    return np.array([number[word] for word in words], np.int64)
