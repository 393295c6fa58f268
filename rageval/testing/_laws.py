"""`check_measure`, which tries the laws that every measure must obey; and the laws of measures of runs.

A law is a function of a measure, a case and a random generator: True if it holds there. Some hold of every
measure, or of every one that declares so; the others are of some measures only, and a table in rageval's own
tests says of which.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import permutations, product
from typing import Any

from rageval.conformance.drawing import Case, case
from rageval.errors import MeasureError, RagevalError
from rageval.measures import run_measures
from rageval.measures.base import HIGHER, NEITHER, POOL, Measure
from rageval.scoring.evaluation import evaluate
from rageval.testing import _answer_laws
from rageval.testing._answer_laws import AnswerCase

Law = Callable[[Measure, Case, random.Random], bool]
LAWS: dict[str, Law] = {}
MUST: dict[str, Law] = {}  # those that hold of every measure
SLACK = 1e-12
K = 3
_MOST_ORDERS = 120
_COMPLETIONS = 3
_WITNESSES = ("alpha_ndcg", "ndcg", "hole", "p")  # they ask for nuggets, grades, what is judged, the depth
_QUIET: dict[str, Any] = {"nothing_judged": "zero"}


def check_measure(measure: Measure, *, cases: int = 30, seed: int = 0) -> None:
    """Raise `AssertionError` with a small example if a measure breaks a law on a random topic or table.

    The laws of both kinds: a number or NaN, and within the `limits` it declares; whatever the order of rows
    and whatever things are called, the same bits (add up with `math.fsum`); each query scored alone, and the
    same beside other measures; good is better than bad, in the way that it declares (`better`).

    Of a measure of runs: with a cut-off k, nothing below rank k matters; what it does not declare to see
    (`sees`) changes nothing; its mean over `ties` is that over all orders; and whatever the unjudged
    documents are, it lies between its `bounds`. Of one of answers: a judgement that failed is missing, and no
    grade; where nothing is judged it is undefined; what is missing may be taken for the best or the worst;
    what weighs nothing (`weighs`) changes nothing; and it is the share of the `labels` that it declares.

    Parameters
    ----------
    measure
        A measure of runs, or of judged answers.
    cases
        On how many random topics, or tables of judgements, each law is tried.
    seed
        Which topics, or tables, these are.

    Raises
    ------
    AssertionError
        A law is broken; the message holds the law and a small run, or a small table, that breaks it.
    MeasureError
        The measure's own function failed.

    Examples
    --------
    >>> import rageval
    >>> check_measure(rageval.recall @ 3, cases=2)
    >>> @rageval.measure(limits=(0, 1))
    ... def found(ranking, *, k: int | None = None):
    ...     "How many relevant documents there are in the top k, which can be more than 1."
    ...     return len(ranking.hits(k))
    >>> try:
    ...     check_measure(found)
    ... except AssertionError as broken:
    ...     print(str(broken).splitlines()[0])
    found@3 breaks a law: is between its limits
    """
    if not isinstance(measure, Measure):
        raise MeasureError(f"{measure!s:.80}: expected a measure, made with @rageval.measure")
    kind = _Answers if measure.of_answers else _Runs
    # Sorted, and with a seed a case: the same measure gives the same message on every machine.
    for name, number in product(sorted(kind.laws), range(cases)):
        trial = kind(measure, kind.laws[name], f"{seed}/{number}/{name}")
        drawn = trial.draw(random.Random(f"{seed}/{number}"))
        why = trial.broken(drawn)
        if why is not None:
            raise why(trial.said(trial.smallest(drawn, why)))


class _Trial:
    """One law tried on one measure: what is drawn, how it becomes smaller, what is said of it."""

    laws: Mapping[str, Callable[..., bool]]

    def __init__(self, measure: Measure, law: Callable[..., bool], place: str) -> None:
        self.measure, self.law, self.place = measure, law, place

    def draw(self, rng: random.Random) -> Any:
        """Return a random case."""
        raise NotImplementedError

    def without_one(self, case: Any) -> Iterator[Any]:
        """Yield the case without each of its parts."""
        raise NotImplementedError

    def values(self, case: Any) -> Mapping[Any, float]:
        """Return what the measure is there."""
        raise NotImplementedError

    def shown(self, case: Any) -> list[str]:
        """Return lines of Python that make the case."""
        raise NotImplementedError

    def broken(self, case: Any) -> type[Exception] | None:
        """Return what to raise if the law does not hold there, or the measure fails; None if all is well."""
        try:
            # The same random choices for a smaller case, or the law might break for another reason.
            return None if self.law(self.measure, case, random.Random(self.place)) else AssertionError
        except MeasureError:
            return MeasureError
        except RagevalError:  # a smaller case that is none
            return None

    def smallest(self, case: Any, why: type[Exception]) -> Any:
        """Return the case without each part that is not needed."""
        # Greedily, part by part, until nothing can be left out: people read small examples.
        for smaller in self.without_one(case):
            if self.broken(smaller) is why:
                return self.smallest(smaller, why)
        return case

    def said(self, small: Any) -> str:
        """Return which law is broken, by what values, and where."""
        name = getattr(self.law, "__name__", "").replace("_", " ")
        lines = [f"{cut(self.measure)} breaks a law: {name}", *(self.law.__doc__ or "").splitlines()[:1]]
        try:
            self.law(self.measure, small, random.Random(self.place))
            lines += [f"values = {self.values(small)}"]
        except MeasureError as error:
            lines = [str(error)]
        except RagevalError:  # nothing is left to be scored, and the law is broken all the same
            pass
        return "\n".join([*lines, *self.shown(small)])


class _Runs(_Trial):
    laws = MUST

    def draw(self, rng: random.Random) -> Case:
        return case(rng)

    def without_one(self, case: Case) -> Iterator[Case]:
        return _without_one(case)

    def values(self, case: Case) -> Mapping[str, float]:
        return by_query(cut(self.measure), case)

    def shown(self, case: Case) -> list[str]:
        return [f"run = {case.run}", f"qrels = {case.qrels}"]


class _Answers(_Trial):
    laws = _answer_laws.LAWS

    def draw(self, rng: random.Random) -> AnswerCase:
        return _answer_laws.drawn(self.measure, rng)

    def without_one(self, case: AnswerCase) -> Iterator[AnswerCase]:
        return _answer_laws.without_one(case)

    def values(self, case: AnswerCase) -> Mapping[tuple[str, str], float]:
        return _answer_laws.by_answer(self.measure, case)

    def shown(self, case: AnswerCase) -> list[str]:
        return [f"judged = {list(case.rows)}", f"answers = {list(case.answers)}"]


def _without_one(drawn: Case) -> Iterator[Case]:
    for query in sorted(drawn.run.keys() | drawn.qrels.keys()):
        yield Case(_without(drawn.run, query), _without(drawn.qrels, query))
    for query, docs in drawn.run.items():
        for doc in docs if len(docs) > 1 else ():
            yield replace(drawn, run=drawn.run | {query: _without(docs, doc)})
    for query, nuggets in drawn.qrels.items():
        for nugget, grades in nuggets.items():
            if len(nuggets) > 1:
                yield replace(drawn, qrels=drawn.qrels | {query: _without(nuggets, nugget)})
            for doc in grades if len(grades) > 1 else ():
                fewer = nuggets | {nugget: _without(grades, doc)}
                yield replace(drawn, qrels=drawn.qrels | {query: fewer})


def _without(items: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in items.items() if key != name}


def law(function: Law) -> Law:
    """Put a law in the table that every measure must obey, or every one that declares what it is about."""
    MUST[function.__name__] = function
    return of_some(function)


def of_some(function: Law) -> Law:
    """Put a law in the table that holds of some measures only."""
    LAWS[function.__name__] = function
    return function


def cut(measure: Measure, k: int = K) -> Measure:
    """Return the measure at a cut-off, if it takes one and has none yet."""
    return measure @ k if measure.takes_k and measure.k is None else measure


def by_query(measure: Measure, case: Case, **rules: Any) -> dict[str, float]:
    """Return the value of every query; inf where it is undefined, which equals itself."""
    found = evaluate(measure, case.run, case.qrels, **_QUIET, **rules)[measure].by_query
    return _comparable(found)


def _comparable(values: Mapping[str, float]) -> dict[str, float]:
    # NaN equals nothing, so that dicts with it never compare as equal.
    return {query: math.inf if value != value else value for query, value in values.items()}


@law
def row_order_changes_no_digit(measure: Measure, case: Case, rng: random.Random) -> bool:
    run = shuffled({query: shuffled(docs, rng) for query, docs in case.run.items()}, rng)
    qrels = shuffled(
        {
            q: shuffled({n: shuffled(docs, rng) for n, docs in judged.items()}, rng)
            for q, judged in case.qrels.items()
        },
        rng,
    )
    wanted, mixed = cut(measure), Case(run, qrels)
    one, other = (evaluate(wanted, each.run, each.qrels, **_QUIET)[wanted].value for each in (case, mixed))
    return by_query(wanted, case) == by_query(wanted, mixed) and (one == other or one != one)


@law
def nugget_names_change_no_digit(measure: Measure, case: Case, rng: random.Random) -> bool:
    def renamed(judged: dict[str, dict[str, int]]) -> dict[str, dict[str, int]]:
        # Nuggets have no order of their own: only which are the same matters.
        names = [f"new{at}" for at in range(len(judged))]
        rng.shuffle(names)
        return dict(sorted(zip(names, judged.values(), strict=True)))

    qrels = {query: renamed(judged) for query, judged in case.qrels.items()}
    return by_query(cut(measure), replace(case, qrels=qrels)) == by_query(cut(measure), case)


@law
def renaming_documents_in_order_changes_no_digit(measure: Measure, case: Case, rng: random.Random) -> bool:
    # In the order of bytes, as ties are broken: names that keep this order must change nothing at all.
    docs = sorted(all_documents(case), key=str.encode)
    names = dict(zip(docs, (f"{at:05d}" for at in range(len(docs))), strict=True))
    return by_query(cut(measure), with_documents(case, names)) == by_query(cut(measure), case)


@of_some
def renaming_documents_at_will_changes_nothing(measure: Measure, case: Case, rng: random.Random) -> bool:
    """Without ties in the run; the ideal of the novelty measures breaks its own ties by name."""
    untied = replace(
        case, run={q: {d: -float(at) for at, d in enumerate(docs)} for q, docs in case.run.items()}
    )
    docs = sorted(all_documents(case))
    rng.shuffle(docs)
    names = {doc: f"{at:05d}" for at, doc in enumerate(docs)}
    return close(by_query(cut(measure), with_documents(untied, names)), by_query(cut(measure), untied))


@law
def increasing_maps_of_scores_change_no_digit(measure: Measure, case: Case, rng: random.Random) -> bool:
    # 8 and 100 are exact in binary, so that equal scores stay equal.
    run = {query: {doc: 8 * score + 100 for doc, score in docs.items()} for query, docs in case.run.items()}
    return by_query(cut(measure), replace(case, run=run)) == by_query(cut(measure), case)


@law
def queries_only_in_the_run_change_nothing(measure: Measure, case: Case, rng: random.Random) -> bool:
    run = case.run | {"nobody judged this": {"d": 1.0}}
    return by_query(cut(measure), replace(case, run=run)) == by_query(cut(measure), case)


@law
def each_query_is_scored_alone(measure: Measure, case: Case, rng: random.Random) -> bool:
    together = by_query(cut(measure), case)
    for query in set(case.run) & set(case.qrels):
        alone = Case({query: case.run[query]}, {query: case.qrels[query]})
        if by_query(cut(measure), alone) != {query: together[query]}:
            return False
    return True


@law
def nothing_below_k_matters(measure: Measure, case: Case, rng: random.Random) -> bool:
    if not measure.takes_k:
        return True
    wanted = cut(measure)
    return by_query(wanted, case, depth=wanted.k) == by_query(wanted, case)


@law
def judging_a_document_0_changes_nothing(measure: Measure, case: Case, rng: random.Random) -> bool:
    """Not for a measure that declares to see what is `relevant` only, or which `nuggets` are supported."""
    if measure.sees_all:
        return True
    # Below what counts as relevant, also where a measure asks for grades below 0.
    below = min(0, (1 if measure.rel is None else measure.rel) - 1)
    qrels = {
        query: {n: dict.fromkeys(case.run.get(query, {}), below) | docs for n, docs in judged.items()}
        for query, judged in case.qrels.items()
    }
    return by_query(cut(measure), replace(case, qrels=qrels)) == by_query(cut(measure), case)


@of_some
def a_nugget_nobody_supports_changes_nothing(measure: Measure, case: Case, rng: random.Random) -> bool:
    qrels = {
        query: {**judged, "no such fact": dict.fromkeys({d for docs in judged.values() for d in docs}, 0)}
        for query, judged in case.qrels.items()
    }
    return by_query(cut(measure), replace(case, qrels=qrels)) == by_query(cut(measure), case)


@of_some
def grows_with_k(measure: Measure, case: Case, rng: random.Random) -> bool:
    return all(never_lower(by_query(measure @ (k + 1), case), by_query(measure @ k, case)) for k in (1, 2, 3))


@of_some
def is_the_same_beyond_the_runs_depth(measure: Measure, case: Case, rng: random.Random) -> bool:
    deep = max(map(len, case.run.values()))
    return close(by_query(measure @ deep, case), by_query(measure @ (deep + 5), case))


@of_some
def appending_a_document_never_lowers(measure: Measure, case: Case, rng: random.Random) -> bool:
    run = {}
    for query, docs in case.run.items():
        new = sorted(all_documents(case) - set(docs)) or ["new"]
        run[query] = {**docs, rng.choice(new): min(docs.values()) - 1}
    return never_lower(by_query(measure @ 10, replace(case, run=run)), by_query(measure @ 10, case))


@of_some
def moving_a_relevant_document_up_never_lowers(measure: Measure, case: Case, rng: random.Random) -> bool:
    """Two neighbours change places, the upper one supporting nothing."""
    run = dict(case.run)
    for query in set(run) & set(case.qrels):
        ranked = sorted(run[query], key=lambda doc: (run[query][doc], doc.encode()), reverse=True)
        relevant = [any(docs.get(doc, 0) > 0 for docs in case.qrels[query].values()) for doc in ranked]
        for at in range(len(ranked) - 1):
            if relevant[at + 1] and not relevant[at]:
                ranked[at : at + 2] = ranked[at + 1], ranked[at]
                break
        run[query] = {doc: -float(rank) for rank, doc in enumerate(ranked)}
    return never_lower(by_query(cut(measure), replace(case, run=run)), by_query(cut(measure), case))


@of_some
def is_at_most_1(measure: Measure, case: Case, rng: random.Random) -> bool:
    return all(value <= 1 + SLACK for k in (1, 2, 3) for value in by_query(measure @ k, case).values())


@of_some
def is_never_negative(measure: Measure, case: Case, rng: random.Random) -> bool:
    return all(value >= 0 for value in by_query(cut(measure), case).values())


@of_some
def an_absent_query_scores_0(measure: Measure, case: Case, rng: random.Random) -> bool:
    values = by_query(cut(measure), case)
    return all(values[query] == 0 for query in set(case.qrels) - set(case.run))


@law
def parses_back(measure: Measure, case: Case, rng: random.Random) -> bool:
    variants = [
        measure,
        cut(measure),
        *(measure(**{name: 1}) for name in measure.declared if name in ("rel", "alpha")),
    ]
    return all(map(_answer_laws.is_spelled_as_it_prints, variants))


@law
def is_between_its_limits(measure: Measure, case: Case, rng: random.Random) -> bool:
    """From the least to the greatest value that it declares as its `limits`."""
    low, high = measure.limits or (-math.inf, math.inf)
    return all(
        low - SLACK <= value <= high + SLACK
        for value in by_query(cut(measure), case).values()
        if value != math.inf
    )


@law
def is_the_same_beside_other_measures(measure: Measure, case: Case, rng: random.Random) -> bool:
    """Beside those that see every judgement, too; a measure that needs them declares `sees="judged"`."""
    wanted = cut(measure)
    others = [other for other in run_measures().values() if other.sees_all]
    together = evaluate([wanted, *others], case.run, case.qrels, **_QUIET)[wanted].by_query
    return _comparable(together) == by_query(wanted, case)


@law
def leaves_other_measures_as_they_are(measure: Measure, case: Case, rng: random.Random) -> bool:
    """Leave all that it is given as it was: the other measures of the query are given the same."""
    wanted = cut(measure)
    others = [other for other in run_measures().values() if other != measure and other.name in _WITNESSES]
    alone = evaluate(others, case.run, case.qrels, **_QUIET)
    beside = evaluate([wanted, *others], case.run, case.qrels, **_QUIET)
    return all(_comparable(alone[o].by_query) == _comparable(beside[o].by_query) for o in others)


@law
def relevant_documents_first_are_never_worse(measure: Measure, case: Case, rng: random.Random) -> bool:
    """All that is relevant at the top against all of it at the bottom, in the way that is `better`."""
    if measure.better == NEITHER:
        return True
    rel = 1 if measure.rel is None else measure.rel
    best, worst = {}, {}
    for query, nuggets in case.qrels.items():
        grades = {doc: max(docs.get(doc, rel - 1) for docs in nuggets.values()) for doc in judged_in(nuggets)}
        ordered = sorted(grades, key=lambda doc: (grades[doc] >= rel, doc), reverse=True)
        # Enough of them that the relevant ones, last, stand below the cut-off.
        ordered += [f"nobody judged this {at}" for at in range(len(grades) + K)]
        best[query] = {doc: -float(rank) for rank, doc in enumerate(ordered)}
        worst[query] = {doc: float(rank) for rank, doc in enumerate(ordered)}
    high, low = (by_query(cut(measure), replace(case, run=run)) for run in (best, worst))
    if measure.better != HIGHER:
        high, low = low, high
    pairs = ((high[query], low[query]) for query in high)
    return all(above >= below - SLACK for above, below in pairs if math.inf not in (above, below))


@law
def ties_in_expectation_are_the_mean_over_all_orders(
    measure: Measure, case: Case, rng: random.Random
) -> bool:
    """As closed form or not, and between its ends."""
    # The mean over orders is of each query's value; a function of all values need not be linear.
    if callable(measure.aggregate):
        return True
    wanted = cut(measure)
    every = {query: list(_orders(docs)) for query, docs in case.run.items() if query in case.qrels}
    every = {query: orders for query, orders in every.items() if 1 < len(orders) <= _MOST_ORDERS}
    if not every:
        return True
    alike = Case({query: case.run[query] for query in every}, {query: case.qrels[query] for query in every})
    score = evaluate(wanted, alike.run, alike.qrels, ties="expected", **_QUIET)[wanted]
    # Every order as a query of its own, so that all are scored in one pass.
    run = {f"{at} {q}": order for q, orders in every.items() for at, order in enumerate(orders)}
    qrels = {f"{at} {q}": case.qrels[q] for q, orders in every.items() for at in range(len(orders))}
    alone = by_query(wanted, Case(run, qrels))
    for query, value in score.by_query.items():
        values = [alone[f"{at} {query}"] for at in range(len(every[query]))]
        if math.inf not in values and abs(value - math.fsum(values) / len(values)) > SLACK:
            return False
    low, high = score.bounds or (-math.inf, math.inf)
    return score.value != score.value or low - SLACK <= score.value <= high + SLACK


@law
def whatever_is_unjudged_it_is_within_its_bounds(measure: Measure, case: Case, rng: random.Random) -> bool:
    """Over random ways to judge the documents that nobody judged."""
    if measure.bounds is None:
        return True
    wanted = cut(measure)
    low, high = evaluate(wanted, case.run, case.qrels, bounds=True, **_QUIET)[wanted].bounds or (0.0, 0.0)
    for _ in range(_COMPLETIONS):
        qrels = {query: _completed(case, query, measure.rel, rng) for query in case.qrels}
        value = evaluate(wanted, case.run, qrels, **_QUIET)[wanted].value
        if not low - SLACK <= value <= high + SLACK:
            return False
    return True


@law
def a_pooled_share_is_between_the_shares(measure: Measure, case: Case, rng: random.Random) -> bool:
    """Σ parts / Σ wholes of shares that have a whole."""
    if not measure.gives_shares:
        return True
    wanted = cut(measure)(over=POOL)
    score = evaluate(wanted, case.run, case.qrels, **_QUIET)[wanted]
    shares = [share for share in score.numbers if getattr(share, "whole", 0)]
    return not shares or min(shares) - SLACK <= score.value <= max(shares) + SLACK


def _completed(case: Case, query: str, rel: int | None, rng: random.Random) -> dict[str, dict[str, int]]:
    """Return the judgements of a query with those that are lacking, drawn at random."""
    nuggets = {nugget: dict(docs) for nugget, docs in case.qrels[query].items()}
    for doc in sorted(case.run.get(query, {}).keys() - judged_in(nuggets)):
        for docs in nuggets.values():
            if rng.random() < 0.5:
                docs[doc] = 1 if rel is None else rel
    return nuggets


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


def never_lower(after: dict[str, float], before: dict[str, float]) -> bool:
    """Return whether no query's value fell."""
    return all(after[query] >= before[query] - SLACK for query in before)


def shuffled(items: Mapping[str, Any], rng: random.Random) -> dict[str, Any]:
    """Return the same in another order."""
    keys = list(items)
    rng.shuffle(keys)
    return {key: items[key] for key in keys}


def close(left: dict[str, float], right: dict[str, float]) -> bool:
    return left.keys() == right.keys() and all(abs(left[query] - right[query]) <= SLACK for query in left)


def all_documents(case: Case) -> set[str]:
    judged = {doc for nuggets in case.qrels.values() for doc in judged_in(nuggets)}
    return judged | {doc for docs in case.run.values() for doc in docs}


def with_documents(case: Case, names: dict[str, str]) -> Case:
    run = {query: {names[doc]: score for doc, score in docs.items()} for query, docs in case.run.items()}
    qrels = {
        query: {nugget: {names[doc]: grade for doc, grade in docs.items()} for nugget, docs in judged.items()}
        for query, judged in case.qrels.items()
    }
    return Case(run, qrels)
