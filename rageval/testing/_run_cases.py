"""A case of runs, and the laws of measures of runs (`LAWS`)."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping
from itertools import permutations, product
from typing import Any, NamedTuple

from rageval.measures import measures_taking
from rageval.measures.base import NEITHER, Measure
from rageval.scoring.evaluation import evaluate
from rageval.scoring.scores import Score
from rageval.testing._cases import SLACK, K, Law, comparable, cut, listed_in, never_worse
from rageval.testing._inputs import run_and_qrels

LAWS: dict[str, Law] = {}
law = listed_in(LAWS)
_MOST_ORDERS = 120
_COMPLETIONS = 3
_WITNESSES = ("alpha_ndcg", "ndcg", "hole", "p")  # they ask for nuggets, grades, what is judged, the depth
_QUIET: dict[str, Any] = {"nothing_judged": "zero"}
_DEEPEST = 10**6


class RunCase(NamedTuple):
    """A run and judgements that have something in common."""

    run: dict[str, dict[str, float]]
    qrels: dict[str, dict[str, dict[str, int]]]

    @classmethod
    def draw(cls, measure: Measure, rng: random.Random) -> RunCase:
        """Return a random case; any suits every measure."""
        return cls(*run_and_qrels(rng))

    def score(self, measure: Measure, *others: Measure, **rules: Any) -> Score:
        """Return the run's score by a measure, at a cut-off if it takes one and has none yet."""
        measure = cut(measure)
        return evaluate([*others, measure], self.run, self.qrels, **_QUIET, **rules)[measure]

    def scores(self, measure: Measure, *others: Measure) -> dict[str, Score]:
        """Return the score of the one system that there is."""
        return {"run": self.score(measure, *others)}

    def values(self, measure: Measure, *others: Measure, **rules: Any) -> dict[str, float]:
        """Return the value of every query."""
        return comparable(self.score(measure, *others, **rules).by_query)

    def others(self) -> list[Measure]:
        """Return rageval's measures that see every judgement."""
        return [other for other in measures_taking("Ranking").values() if other.sees_all]

    def each_query(self) -> Iterator[RunCase]:
        """Yield each query that is retrieved for and judged, alone."""
        for query in sorted(self.run.keys() & self.qrels.keys()):
            yield RunCase({query: self.run[query]}, {query: self.qrels[query]})

    def in_another_order(self, rng: random.Random) -> RunCase:
        """Return the case with other orders of queries, of documents and of nuggets."""
        run = _shuffled({query: _shuffled(docs, rng) for query, docs in self.run.items()}, rng)
        qrels = {
            query: _shuffled({nugget: _shuffled(docs, rng) for nugget, docs in judged.items()}, rng)
            for query, judged in self.qrels.items()
        }
        return RunCase(run, _shuffled(qrels, rng))

    def without_one(self) -> Iterator[RunCase]:
        """Yield the case without each query, document, nugget and judgement."""
        for query in sorted(self.run.keys() | self.qrels.keys()):
            yield RunCase(_without(self.run, query), _without(self.qrels, query))
        for query, docs in self.run.items():
            for doc in docs if len(docs) > 1 else ():
                yield self._replace(run=self.run | {query: _without(docs, doc)})
        for query, nuggets in self.qrels.items():
            for nugget, grades in nuggets.items():
                if len(nuggets) > 1:
                    yield self._replace(qrels=self.qrels | {query: _without(nuggets, nugget)})
                for doc in grades if len(grades) > 1 else ():
                    fewer = nuggets | {nugget: _without(grades, doc)}
                    yield self._replace(qrels=self.qrels | {query: fewer})

    def lines(self) -> list[str]:
        """Return the run and the judgements as Python."""
        return [f"run = {self.run}", f"qrels = {self.qrels}"]


def _without(items: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in items.items() if key != name}


def _shuffled(items: Mapping[str, Any], rng: random.Random) -> dict[str, Any]:
    keys = list(items)
    rng.shuffle(keys)
    return {key: items[key] for key in keys}


@law
def nugget_names_change_no_digit(measure: Measure, case: RunCase, rng: random.Random) -> bool:
    def renamed(judged: dict[str, dict[str, int]]) -> dict[str, dict[str, int]]:
        # Nuggets have no order of their own: only which are the same matters.
        names = [f"new{number}" for number in range(len(judged))]
        rng.shuffle(names)
        return dict(sorted(zip(names, judged.values(), strict=True)))

    qrels = {query: renamed(judged) for query, judged in case.qrels.items()}
    return case._replace(qrels=qrels).values(measure) == case.values(measure)


@law
def renaming_documents_in_order_changes_no_digit(measure: Measure, case: RunCase, rng: random.Random) -> bool:
    # In the order of bytes, as ties are broken: names that keep this order must change nothing at all.
    docs = sorted(all_documents(case), key=str.encode)
    names = dict(zip(docs, (f"{number:05d}" for number in range(len(docs))), strict=True))
    return with_documents(case, names).values(measure) == case.values(measure)


@law
def increasing_maps_of_scores_change_no_digit(measure: Measure, case: RunCase, rng: random.Random) -> bool:
    # 8 and 100 are exact in binary, so that equal scores stay equal.
    run = {query: {doc: 8 * score + 100 for doc, score in docs.items()} for query, docs in case.run.items()}
    return case._replace(run=run).values(measure) == case.values(measure)


@law
def queries_only_in_the_run_change_nothing(measure: Measure, case: RunCase, rng: random.Random) -> bool:
    run = case.run | {"nobody judged this": {"d": 1.0}}
    return case._replace(run=run).values(measure) == case.values(measure)


@law
def nothing_below_k_matters(measure: Measure, case: RunCase, rng: random.Random) -> bool:
    if not measure.takes_k:
        return True
    return case.values(measure, depth=cut(measure).k) == case.values(measure)


@law
def judging_a_document_0_changes_nothing(measure: Measure, case: RunCase, rng: random.Random) -> bool:
    """Not for a measure that declares to see what is `relevant` only, or which `nuggets` are supported."""
    if measure.sees_all:
        return True
    # Below what counts as relevant, also where a measure asks for grades below 0.
    below = min(0, (1 if measure.rel is None else measure.rel) - 1)
    qrels = {
        query: {n: dict.fromkeys(case.run.get(query, {}), below) | docs for n, docs in judged.items()}
        for query, judged in case.qrels.items()
    }
    return case._replace(qrels=qrels).values(measure) == case.values(measure)


@law
def leaves_other_measures_as_they_are(measure: Measure, case: RunCase, rng: random.Random) -> bool:
    """Leave all that it is given as it was: the other measures of the query are given the same."""
    others = [
        other
        for other in measures_taking("Ranking").values()
        if other != measure and other.name in _WITNESSES
    ]
    # A depth below all that is retrieved changes nothing, but the compiled sums are for whole runs: what they
    # look at nobody can change.
    alone = evaluate(others, case.run, case.qrels, depth=_DEEPEST, **_QUIET)
    together = evaluate([cut(measure), *others], case.run, case.qrels, depth=_DEEPEST, **_QUIET)
    return all(comparable(alone[o].by_query) == comparable(together[o].by_query) for o in others)


@law
def relevant_documents_first_are_never_worse(measure: Measure, case: RunCase, rng: random.Random) -> bool:
    """All that is relevant at the top against all of it at the bottom, in the way that is `better`."""
    if measure.better == NEITHER:
        return True
    rel = 1 if measure.rel is None else measure.rel
    best, worst = {}, {}
    for query, nuggets in case.qrels.items():
        grades = {doc: max(docs.get(doc, rel - 1) for docs in nuggets.values()) for doc in judged_in(nuggets)}
        ordered = sorted(grades, key=lambda doc: (grades[doc] >= rel, doc), reverse=True)
        # Enough of them that the relevant ones, last, stand below the cut-off.
        ordered += [f"nobody judged this {number}" for number in range(len(grades) + K)]
        best[query] = {doc: -float(rank) for rank, doc in enumerate(ordered)}
        worst[query] = {doc: float(rank) for rank, doc in enumerate(ordered)}
    high, low = (case._replace(run=run).values(measure) for run in (best, worst))
    return never_worse(measure, high, low)


@law
def ties_in_expectation_are_the_mean_over_all_orders(
    measure: Measure, case: RunCase, rng: random.Random
) -> bool:
    """As closed form or not, and between its ends."""
    # The mean over orders is of each query's value; a function of all values need not be linear.
    if callable(measure.aggregate):
        return True
    every = {query: list(_orders(docs)) for query, docs in case.run.items() if query in case.qrels}
    every = {query: orders for query, orders in every.items() if 1 < len(orders) <= _MOST_ORDERS}
    if not every:
        return True
    tied = RunCase({query: case.run[query] for query in every}, {query: case.qrels[query] for query in every})
    score = tied.score(measure, ties="expected")
    # Every order as a query of its own, so that all are scored in one pass.
    run = {f"{number} {q}": order for q, orders in every.items() for number, order in enumerate(orders)}
    qrels = {f"{number} {q}": case.qrels[q] for q, orders in every.items() for number in range(len(orders))}
    alone = RunCase(run, qrels).values(measure)
    for query, value in score.by_query.items():
        values = [alone[f"{number} {query}"] for number in range(len(every[query]))]
        if math.inf not in values and abs(value - math.fsum(values) / len(values)) > SLACK:
            return False
    low, high = score.bounds or (-math.inf, math.inf)
    return score.value != score.value or low - SLACK <= score.value <= high + SLACK


@law
def whatever_is_unjudged_it_is_within_its_bounds(measure: Measure, case: RunCase, rng: random.Random) -> bool:
    """Over random ways to judge the documents that nobody judged."""
    if measure.bounds is None:
        return True
    low, high = case.score(measure, bounds=True).bounds or (0.0, 0.0)
    for _ in range(_COMPLETIONS):
        # What nobody judged is judged at random.
        qrels = {
            query: {nugget: dict(docs) for nugget, docs in nuggets.items()}
            for query, nuggets in case.qrels.items()
        }
        for query, nuggets in qrels.items():
            for doc in sorted(case.run.get(query, {}).keys() - judged_in(nuggets)):
                for docs in nuggets.values():
                    if rng.random() < 0.5:
                        docs[doc] = 1 if measure.rel is None else measure.rel
        if not low - SLACK <= case._replace(qrels=qrels).score(measure).value <= high + SLACK:
            return False
    return True


def _orders(docs: Mapping[str, float]) -> Iterator[dict[str, float]]:
    """Yield every order of equal scores, as a ranking without any."""
    levels: dict[float, list[str]] = {}
    for doc in sorted(docs, key=docs.__getitem__, reverse=True):
        levels.setdefault(docs[doc], []).append(doc)
    # Counted before any is made.
    if math.prod(math.factorial(len(level)) for level in levels.values()) > _MOST_ORDERS:
        return
    for chosen in product(*map(permutations, levels.values())):
        yield {doc: -float(rank) for rank, doc in enumerate(doc for level in chosen for doc in level)}


def judged_in(nuggets: Mapping[str, Mapping[str, int]]) -> set[str]:
    """Return the documents that somebody judged for a query."""
    return {doc for docs in nuggets.values() for doc in docs}


def all_documents(case: RunCase) -> set[str]:
    judged = {doc for nuggets in case.qrels.values() for doc in judged_in(nuggets)}
    return judged | {doc for docs in case.run.values() for doc in docs}


def with_documents(case: RunCase, names: dict[str, str]) -> RunCase:
    run = {query: {names[doc]: score for doc, score in docs.items()} for query, docs in case.run.items()}
    qrels = {
        query: {nugget: {names[doc]: grade for doc, grade in docs.items()} for nugget, docs in judged.items()}
        for query, judged in case.qrels.items()
    }
    return RunCase(run, qrels)
