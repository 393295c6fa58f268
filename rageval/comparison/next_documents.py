"""Which unjudged documents can still turn a pair of runs round, and between what bounds the two differ.

Whatever the unjudged documents turn out to be, both runs are completed alike: a document that both retrieve
is the same document in both. Query by query the least and the most that A − B can be are bounded, and the
means of these over the queries decide.

A document is worth judging by what its grade moves the difference: relevant against not, once with all other
unjudged documents not relevant, once with all relevant.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import combinations
from operator import mul
from typing import NamedTuple

from rageval.measures.base import Measure
from rageval.measures.bounds import Changed, Retrieved
from rageval.measures.ranking import Ranking, Topic
from rageval.scoring.evaluation import bounds_of
from rageval.scoring.qrels import Qrels
from rageval.statistics.samples import SLACK

_Rankings = Mapping[str, Sequence[str]]
Pools = Mapping[str, _Rankings]  # what each run retrieved first for each query
Grades = dict[str, dict[str, dict[str, int | float]]]  # query -> nugget -> document -> grade


class Apart(NamedTuple):
    """Bounds on how much higher one run's mean is than another's, over all judgements of unjudged documents.

    `open` are the queries whose bounds are apart: of the others no document can change anything.
    """

    run: str
    other: str
    low: float
    high: float
    open: frozenset[str]

    @property
    def is_decided(self) -> bool:
        """Whether one of the two is certainly higher, or neither."""
        return self.low > SLACK or self.high < -SLACK or self.high - self.low <= SLACK


def apart(
    measure: Measure,
    topics: Mapping[str, Topic],
    names: tuple[str, str],
    rankings: tuple[_Rankings, _Rankings],
    values: tuple[Mapping[str, float], Mapping[str, float]],
) -> Apart:
    """Return the bounds of what the first run's mean can be above the second's, over all completions."""
    beside = PairBounds(measure, [names])
    for query in values[0]:
        beside.add(
            topics[query],
            {name: ranking.get(query, ()) for name, ranking in zip(names, rankings, strict=True)},
            {name: value[query] for name, value in zip(names, values, strict=True)},
        )
    return beside.found()[0]


class PairBounds:
    """The bounds of the differences of pairs of runs, which are given query by query.

    Parameters
    ----------
    measure
        By which runs are compared; its bounds have to be known.
    pairs
        The runs, two by two.
    """

    def __init__(self, measure: Measure, pairs: Iterable[tuple[str, str]]) -> None:
        self.measure, self.bounds = measure, bounds_of(measure)
        self._ends = [(pair, array("d"), array("d"), list[str]()) for pair in pairs]

    def add(self, topic: Topic, rankings: Mapping[str, Sequence[str]], values: Mapping[str, float]) -> None:
        """Take what each run ranks for a query, and its value."""
        parameters = self.measure.parameters
        seen = {run: Retrieved.of(docs, topic, self.measure.k, parameters) for run, docs in rankings.items()}
        for (one, other), lows, highs, unsure in self._ends:
            here = values[one], values[other]
            ends = self.bounds.difference(seen[one], seen[other], here, parameters)
            lows.append(ends.low)
            highs.append(ends.high)
            if ends.high - ends.low > SLACK:
                unsure.append(topic.query_id)

    def found(self) -> list[Apart]:
        """Return the bounds of the differences of the means."""
        return [
            Apart(*pair, math.fsum(lows) / len(lows), math.fsum(highs) / len(highs), frozenset(unsure))
            for pair, lows, highs, unsure in self._ends
        ]


class Moved(NamedTuple):
    """How far a document moves the differences of pairs: at most, and for any judgement of the others."""

    most: float
    least: float


class Moves:
    """How far each open document of a query can move the differences of pairs of runs.

    Parameters
    ----------
    measure
        By which runs are compared.
    rankings
        The documents of the query, best first, of each run.
    topic
        What is known of the query.
    open_
        The documents that are looked at.
    pairs
        The runs, two by two.
    highest
        The grade of a document that is as good as can be.
    """

    def __init__(
        self,
        measure: Measure,
        rankings: Mapping[str, Sequence[str]],
        topic: Topic,
        open_: Collection[str],
        pairs: Sequence[tuple[str, str]],
        highest: int | float,
    ) -> None:
        self._pairs = pairs
        self._runs = list(dict.fromkeys(run for pair in pairs for run in pair))
        meant = set(map(frozenset, pairs))
        self._others = [pair for pair in combinations(self._runs, 2) if frozenset(pair) not in meant]
        # Each two runs are meant once, or are among the others, which are fewer.
        self._by_order = len(meant) == len(pairs) > len(self._others)
        self._both = []  # the gains of each run: the other open documents are not relevant, or all are
        for others in (None, topic.adding(list(open_), highest)):
            found = [gains(measure, rankings[run], topic, open_, highest, others) for run in self._runs]
            elsewhere = {run: each.elsewhere for run, each in zip(self._runs, found, strict=True)}
            ranked: dict[str, dict[str, float]] = {}
            for run, each in zip(self._runs, found, strict=True):
                for doc, gain in each.ranked.items():
                    ranked.setdefault(doc, {})[run] = gain
            self._both.append((elsewhere, ranked))

    def of(self, doc: str) -> Moved:
        """Return how far one document moves them."""
        much = [
            math.fsum(abs(gain[one] - gain[other]) for one, other in self._pairs)
            if len(set(gain.values())) > 1
            else 0.0
            for gain in self._of(doc)
        ]
        return Moved(max(much), min(much))

    def about(self, doc: str) -> float:
        """Return how far one document moves them at most, but for rounding: sooner than `of`."""
        return max(map(self._sum, self._of(doc)))

    def _of(self, doc: str) -> list[dict[str, float]]:
        return [elsewhere | ranked.get(doc, {}) for elsewhere, ranked in self._both]

    def _sum(self, gain: Mapping[str, float]) -> float:
        """Return Σ |difference| over the pairs: of all runs in order, less the pairs that are not meant."""
        if not self._by_order:
            return sum(abs(gain[one] - gain[other]) for one, other in self._pairs)
        ordered, last = sorted(gain.values()), len(gain) - 1
        # In order each is taken from all before it, and all behind it are taken from it.
        whole: float = sum(map(mul, ordered, range(-last, last + 1, 2)))
        return whole - sum(abs(gain[one] - gain[other]) for one, other in self._others)


class Gains(NamedTuple):
    """What a run's value gains by documents that are relevant: by each that it ranks, and by any other."""

    ranked: dict[str, float]
    elsewhere: float


def gains(
    measure: Measure,
    ranking: Sequence[str],
    topic: Topic,
    open_: Collection[str],
    grade: int | float,
    others: Topic | None = None,
) -> Gains:
    """Return what a run's value gains if one of the open documents is relevant.

    The others are not; or all of them are, in the judgements `others`. A document that the run does not rank
    to the cut-off changes the ideal or the number of relevant documents alone: all of these are alike.
    """
    sign = 1 if others is None else -1
    usual = Ranking.of(ranking, others or topic)
    value = measure.value(usual)
    ranks = {doc: rank for rank, doc in enumerate(ranking[: measure.k], 1) if doc in open_}
    alone = measure.bounds.alone if measure.bounds is not None else None
    if alone is not None and grade >= (measure.rel or 0) and grade > 0:
        value_at = alone(usual, Changed(sign, grade), measure.k, measure.parameters)
        changed = {doc: value_at(rank) for doc, rank in ranks.items()}
        elsewhere = value_at(None)
    else:

        def value_with(doc: str) -> float:
            relevant = [doc] if others is None else [other for other in open_ if other != doc]
            return measure.value(Ranking.of(ranking, topic.adding(relevant, grade)))

        changed = {doc: value_with(doc) for doc in ranks}
        one = next((doc for doc in open_ if doc not in ranks), None)
        elsewhere = value if one is None else value_with(one)
    return Gains({doc: sign * (other - value) for doc, other in changed.items()}, sign * (elsewhere - value))


def open_documents(
    measure: Measure,
    pools: Pools,
    grades: Grades,
    highest: int | float,
    tried: Collection[tuple[str, str]] = (),
) -> dict[str, list[str]]:
    """Return by query the documents to judge next, until all differences of these runs are known.

    These are the documents that move the difference of two runs for any judgement of the others; without
    such, the one that may move it most. Queries whose differences are all known are left out.

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
    pairs = list(combinations(pools, 2))
    found: dict[str, list[str]] = {}
    topics = {topic.query_id: topic for topic in qrels.topics}
    for query in grades:
        topic, known = topics[query], topics[query].numbers
        rankings = {run: ranking[query] for run, ranking in pools.items()}
        beside = PairBounds(measure, pairs)
        beside.add(topic, rankings, {run: _value(measure, docs, topic) for run, docs in rankings.items()})
        runs = [run for pair in beside.found() if pair.open for run in (pair.run, pair.other)]
        docs = dict.fromkeys(doc for run in runs for doc in rankings[run])
        left = [doc for doc in docs if doc not in known and (query, doc) not in tried]
        if not left:
            continue
        moves = Moves(measure, rankings, topic, dict.fromkeys(left), pairs, highest)
        much = {doc: moves.of(doc) for doc in left}
        sure = [doc for doc in left if much[doc].least > SLACK]
        found[query] = sure or [max(left, key=lambda doc: much[doc].most)]
    return found


def run_values(measure: Measure, ranking: _Rankings, grades: Grades) -> dict[str, float]:
    """Return the value of every query that has grades; what is not judged counts as not relevant."""
    topics = Qrels.from_dict(grades).topics
    return {topic.query_id: _value(measure, ranking[topic.query_id], topic) for topic in topics}


def _value(measure: Measure, docs: Sequence[str], topic: Topic) -> float:
    return measure.value(Ranking.of(docs, topic))
