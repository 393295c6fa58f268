"""Which unjudged documents can still turn a pair of runs round, and between what bounds the two differ.

Whatever the unjudged documents turn out to be, both runs are completed alike: a document that both retrieve
is the same document in both. Query by query the least and the most that A − B can be are bounded, and the
means of these over the queries decide.

A document is worth judging by what its grade moves the difference: relevant against not, once with all other
unjudged documents not relevant, once with all relevant.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

from rageval.measures.base import Measure
from rageval.measures.bounds import Both
from rageval.measures.ranking import Topic
from rageval.scoring.evaluation import bounds_of, evaluate
from rageval.scoring.qrels import Qrels
from rageval.statistics.samples import SLACK

_Rankings = Mapping[str, Sequence[str]]
Pools = Mapping[str, _Rankings]  # what each run retrieved first for each query
Grades = dict[str, dict[str, dict[str, int | float]]]  # query -> nugget -> document -> grade


class Apart(NamedTuple):
    """Between what bounds the mean of a run is above that of another, whatever the unjudged documents are.

    `open` are the queries whose bounds are apart: of the others no document can change anything.
    """

    run: str
    other: str
    low: float
    high: float
    open: frozenset[str]

    @property
    def is_decided(self) -> bool:
        """Whether one of the two is above the other, or none, for certain."""
        return self.low > SLACK or self.high < -SLACK or self.high - self.low <= SLACK


def apart(
    measure: Measure,
    topics: Mapping[str, Topic],
    names: tuple[str, str],
    rankings: tuple[_Rankings, _Rankings],
    values: tuple[Mapping[str, float], Mapping[str, float]],
) -> Apart:
    """Return the bounds of what the first run's mean can be above the second's, over all completions."""
    bounds = bounds_of(measure)
    lows, highs, unsure = [], [], set()
    for query in values[0]:
        here = values[0][query], values[1][query]
        numbers = topics[query].numbers
        # By number where they are judged, by id where they are not.
        first, second = ([numbers.get(doc, doc) for doc in run.get(query, ())] for run in rankings)
        ends = bounds.difference(topics[query], Both(first, second), here, measure.k, measure.parameters)
        lows.append(ends.low)
        highs.append(ends.high)
        if ends.high - ends.low > SLACK:
            unsure.add(query)
    low, high = (math.fsum(ends) / len(ends) for ends in (lows, highs))
    return Apart(*names, low, high, frozenset(unsure))


class Moved(NamedTuple):
    """How far a document moves the differences of pairs: at most, and whatever the others are."""

    most: float
    least: float


def moved(
    measure: Measure,
    rankings: Mapping[str, _Rankings],
    judged: Grades,
    open_: Mapping[str, Iterable[str]],
    pairs: Sequence[tuple[str, str]],
    highest: int | float,
) -> dict[tuple[str, str], Moved]:
    """Return how far each open document of a query can move the differences of the pairs of runs.

    Parameters
    ----------
    measure
        By which runs are compared.
    rankings
        The documents of each query, best first, of each run.
    judged
        The grades that are known, of all queries that have open documents.
    open_
        By query the documents that are looked at.
    pairs
        The runs, two by two.
    highest
        The grade of a document that is as good as can be.
    """
    found: dict[tuple[str, str], list[float]] = {}
    for others_relevant in (False, True):
        gains = {
            run: _gains(measure, rankings[run], judged, open_, others_relevant, highest)
            for run in dict.fromkeys(run for pair in pairs for run in pair)
        }
        for query, docs in open_.items():
            for doc in docs:
                place = query, doc
                much = math.fsum(abs(gains[one][place] - gains[other][place]) for one, other in pairs)
                found.setdefault(place, []).append(much)
    return {place: Moved(max(each), min(each)) for place, each in found.items()}


def _gains(
    measure: Measure,
    ranking: _Rankings,
    judged: Grades,
    open_: Mapping[str, Iterable[str]],
    others_relevant: bool,
    highest: int | float,
) -> dict[tuple[str, str], float]:
    """Return what a run's value of a query gains if a document is relevant; the others are, or are not.

    Each document is a query of its own: the topic with the one document changed, all scored at once.
    """
    run: dict[str, dict[str, float]] = {}
    qrels: Grades = {}
    for number, (query, docs) in enumerate(open_.items()):
        ranked = {doc: -float(place) for place, doc in enumerate(ranking.get(query, ()))}
        run[f"{number}"] = ranked
        qrels[f"{number}"] = _with(judged[query], docs if others_relevant else (), highest)
        for at, doc in enumerate(docs):
            name = f"{number}.{at}"
            rest = [other for other in docs if other != doc] if others_relevant else [doc]
            run[name], qrels[name] = ranked, _with(judged[query], rest, highest)
    found = evaluate([measure], run, qrels, nothing_judged="zero").scores[0].by_query
    gains = {}
    for number, (query, docs) in enumerate(open_.items()):
        for at, doc in enumerate(docs):
            change = found[f"{number}.{at}"] - found[f"{number}"]
            gains[query, doc] = -change if others_relevant else change
    return gains


def _with(
    judged: Mapping[str, Mapping[str, int | float]], docs: Iterable[str], highest: int | float
) -> dict[str, dict[str, int | float]]:
    """Return a topic's judgements with these documents supporting every nugget, as well as can be."""
    more = dict.fromkeys(docs, highest)
    return {nugget: {**graded, **more} for nugget, graded in judged.items()}


def open_documents(
    measure: Measure,
    pools: Pools,
    grades: Grades,
    highest: int | float,
    tried: Collection[tuple[str, str]] = (),
) -> dict[str, list[str]]:
    """Return by query the documents to judge next, until all differences of these runs are known.

    Those that move the difference of two runs whatever the others are; where there is none, the one that may
    move it most. A query where all differences are known is not there.

    Parameters
    ----------
    measure
        By which runs are compared; its bounds have to be known.
    pools
        What each run retrieved, best first.
    grades
        What is known, of every query that is looked at.
    highest
        The grade of a document that is as good as can be.
    tried
        Documents of which nobody will say a grade.
    """
    qrels = Qrels.from_dict(grades)
    qrels.highest = highest
    topics = {topic.query_id: topic for topic in qrels.topics}
    values = {run: run_values(measure, ranking, grades) for run, ranking in pools.items()}
    pairs = list(combinations(pools, 2))
    found: dict[str, list[str]] = {}
    for one, other in pairs:
        docs_of, values_of = (pools[one], pools[other]), (values[one], values[other])
        for query in apart(measure, topics, (one, other), docs_of, values_of).open:
            known = topics[query].numbers
            docs = dict.fromkeys(doc for run in docs_of for doc in run[query])
            left = [doc for doc in docs if doc not in known and (query, doc) not in tried]
            found[query] = list(dict.fromkeys([*found.get(query, ()), *left]))
    found = {query: found[query] for query in grades if found.get(query)}
    much = moved(measure, pools, grades, found, pairs, highest) if found else {}
    for query, open_ in found.items():
        sure = [doc for doc in open_ if much[query, doc].least > SLACK]
        found[query] = sure or [max(open_, key=lambda doc: much[query, doc].most)]
    return found


def run_values(measure: Measure, ranking: _Rankings, grades: Grades) -> dict[str, float]:
    """Return the value of every query that has grades; what is not judged counts as not relevant."""
    run = {query: {doc: -float(at) for at, doc in enumerate(ranking[query])} for query in grades}
    return evaluate([measure], run, grades, nothing_judged="zero").scores[0].by_query
