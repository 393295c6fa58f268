"""Answers side by side as people would have them: strengths from shares of wins that their labels correct."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

from rageval.comparison._labelled import selection
from rageval.comparison.arena import Games, failed_games, games
from rageval.errors import InputError, TooFewLabels
from rageval.files.judgements import JudgementTable
from rageval.scoring.assessments import MOST_MISSING
from rageval.scoring.gold import Draw, Gold, chances_of, refuse_the_judge, why_lost
from rageval.statistics.correction import Corrected, corrected
from rageval.statistics.preferences import corrected_strengths
from rageval.statistics.samples import SLACK
from rageval.text import visible

_LEVEL = 0.95
_Outcomes = dict[str, float]  # query -> mean outcome of the first system, from -½ to ½
_Pairs = dict[tuple[str, str], _Outcomes]


class _StrengthByPeople(NamedTuple):
    """A system's strength as people would have it, with its interval, beside the judge's.

    Both are by the same model, in which a tie is half a win (`statistics.strengths`). `games` are the judge's
    comparisons with the system, `labels` the queries on which people compared it that are used.
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
    level: float = _LEVEL,
    population: Literal["kind", "set"] = "kind",
) -> tuple[list[_StrengthByPeople], list[str]]:
    """Return every system's strength, strongest first, and which pairs people compared too seldom.

    A pair of systems has the judge's outcome of every query on which they met (½ for a win, −½ for a loss,
    the mean of several games), and people's of some; queries are independent, games of one query are not.
    """
    people = gold.answers
    if people is None:
        raise InputError(f"{gold.draw.name}: holds judgements of documents; expected comparisons of answers")
    refuse_the_judge(judged, people)
    if gold.draw.look is not None and gold.draw.look.next is not None:
        raise TooFewLabels(
            f"{gold.draw.name}: the plan may stop before all its labels are there, which rageval compare"
            f" decides; strengths are of all, and {gold.draw.labelled:,} queries are labelled"
        )
    played = games(judged)
    ours, theirs = _by_pair(played, judged), _by_pair(games(people), people)
    if not any(labels.keys() & ours.get(pair, {}).keys() for pair, labels in theirs.items()):
        raise InputError(
            f"{visible(people.name)}: compares nothing that {visible(judged.name)} does; expected the same"
            " query_id and run_id in both"
        )
    found, said = {}, []
    failed, not_told = failed_games(judged), failed_games(people)
    used: _Pairs = {}
    for pair, outcomes in ours.items():
        one, other = map(visible, pair)
        labels = theirs.get(pair, {})
        # The judge was asked of what failed, and of what people compared.
        gone = (failed.get(pair, set()) | labels.keys()) - outcomes.keys()
        lost = not_told.get(pair, set()) - labels.keys()
        if gone:
            total = len(gone) + len(outcomes)
            said.append(
                f"{one} and {other}: the judge's comparison is missing in {len(gone):,} of {total:,} queries"
            )
        if lost:
            said.append(f"{one} and {other}: human comparisons failed in {len(lost):,} queries")
        try:
            if len(gone) > MOST_MISSING * (len(gone) + len(outcomes)):
                raise TooFewLabels(f"more than {MOST_MISSING:.0%} is missing; judge these again")
            if why := why_lost(len(lost), len(labels)):
                raise TooFewLabels(why)
            found[pair] = _corrected(outcomes, labels, pair, gold.draw, level, population, len(ours))
            used[pair] = {query: value for query, value in labels.items() if query in outcomes}
        except TooFewLabels as error:
            said.append(f"{one} and {other}: left out: {error}")
    if not found:
        raise TooFewLabels("no strengths: " + "; ".join(said))
    rows = _ranked(played, found, used, level)
    if any(row.high - row.low <= SLACK for row in rows):
        said.append("human labels cover every comparison of this set, so that nothing is uncertain")
    return rows, said


def _by_pair(played: Games, table: JudgementTable) -> _Pairs:
    """Return what the first system of each pair got, by query."""
    got: dict[tuple[str, str], dict[str, list[float]]] = {}
    names = sorted(map(str, table.queries.words))
    rows = zip(*(column.tolist() for column in (played.query, played.first, played.second)), strict=True)
    for (query, first, second), outcome in zip(rows, played.outcome.tolist(), strict=True):
        one, other = played.systems[first], played.systems[second]
        pair, sign = ((one, other), 1) if one <= other else ((other, one), -1)
        got.setdefault(pair, {}).setdefault(names[query], []).append(sign * (outcome - 0.5))
    return {
        pair: {query: sum(each) / len(each) for query, each in sorted(queries.items())}
        for pair, queries in got.items()
    }


def _corrected(
    outcomes: _Outcomes,
    labels: _Outcomes,
    pair: tuple[str, str],
    draw: Draw,
    level: float,
    population: Literal["kind", "set"],
    tests: int,
) -> Corrected:
    if draw.compares and draw.compares != set(pair):
        raise TooFewLabels("the labels were drawn to compare others")
    queries = list(outcomes)
    labelled = {at: labels[query] for at, query in enumerate(queries) if query in labels}
    if chosen := selection(draw, list(outcomes.values()), labelled, tests)[0]:
        raise TooFewLabels(chosen)
    return corrected(
        list(outcomes.values()),
        labelled,
        paired=True,
        level=level,
        population=population,
        chosen=chances_of(draw, queries, [queries[at] for at in labelled]),
        clusters=queries,
        same=[at for at, query in enumerate(queries) if draw.compares and query in draw.same],
        within=(-0.5, 0.5),
    )


def _ranked(
    played: Games, found: Mapping[tuple[str, str], Corrected], used: _Pairs, level: float
) -> list[_StrengthByPeople]:
    systems = list(played.systems)
    places = {(systems.index(one), systems.index(other)): each for (one, other), each in found.items()}
    strengths = corrected_strengths(places, len(systems), level)
    wins, ties = played.counts()
    number = (wins + wins.T + ties).sum(axis=1).tolist()
    rows = []
    for at, (system, each) in enumerate(zip(systems, strengths, strict=True)):
        labels = {query for pair, queries in used.items() if system in pair for query in queries}
        rows.append(_StrengthByPeople(system, *each, int(number[at]), len(labels)))
    return sorted(rows, key=lambda row: -row.strength)
