"""What must hold of measures, as functions of a measure and a case: True if the law holds there."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

import rageval
from rageval import Measure
from strategies import Case

Law = Callable[[Measure, Case, random.Random], bool]
LAWS: dict[str, Law] = {}
SLACK = 1e-12
K = 3


def law(function: Law) -> Law:
    LAWS[function.__name__] = function
    return function


def by_query(measure: Measure, case: Case) -> dict[str, float]:
    return rageval.evaluate(measure, case.run, case.qrels)[measure].by_query


def never_lower(after: dict[str, float], before: dict[str, float]) -> bool:
    return all(after[query] >= before[query] - SLACK for query in before)


def shuffled(items: dict[str, object], rng: random.Random) -> dict[str, object]:
    keys = list(items)
    rng.shuffle(keys)
    return {key: items[key] for key in keys}


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
    found, mixed = (
        rageval.evaluate(measure @ K, *data)[measure @ K] for data in ((case.run, case.qrels), (run, qrels))
    )
    return found.by_query == mixed.by_query and found.value == mixed.value


@law
def nugget_names_change_no_digit(measure: Measure, case: Case, rng: random.Random) -> bool:
    def renamed(judged: dict[str, dict[str, int]]) -> dict[str, dict[str, int]]:
        names = [f"new{at}" for at in range(len(judged))]
        rng.shuffle(names)
        return dict(sorted(zip(names, judged.values(), strict=True)))

    qrels = {query: renamed(judged) for query, judged in case.qrels.items()}
    return by_query(measure @ K, replace(case, qrels=qrels)) == by_query(measure @ K, case)


@law
def renaming_documents_in_order_changes_no_digit(measure: Measure, case: Case, rng: random.Random) -> bool:
    docs = sorted(all_documents(case), key=str.encode)
    names = dict(zip(docs, (f"{at:05d}" for at in range(len(docs))), strict=True))
    return by_query(measure @ K, with_documents(case, names)) == by_query(measure @ K, case)


@law
def renaming_documents_at_will_changes_nothing(measure: Measure, case: Case, rng: random.Random) -> bool:
    """Without ties in the run; the ideal of the novelty measures breaks its own ties by name."""
    untied = replace(
        case, run={q: {d: -float(at) for at, d in enumerate(docs)} for q, docs in case.run.items()}
    )
    docs = sorted(all_documents(case))
    rng.shuffle(docs)
    names = {doc: f"{at:05d}" for at, doc in enumerate(docs)}
    return close(by_query(measure @ K, with_documents(untied, names)), by_query(measure @ K, untied))


@law
def increasing_maps_of_scores_change_no_digit(measure: Measure, case: Case, rng: random.Random) -> bool:
    run = {query: {doc: 8 * score + 100 for doc, score in docs.items()} for query, docs in case.run.items()}
    return by_query(measure @ K, replace(case, run=run)) == by_query(measure @ K, case)


@law
def queries_only_in_the_run_change_nothing(measure: Measure, case: Case, rng: random.Random) -> bool:
    run = case.run | {"nobody judged this": {"d": 1.0}}
    return by_query(measure @ K, replace(case, run=run)) == by_query(measure @ K, case)


@law
def each_query_is_scored_alone(measure: Measure, case: Case, rng: random.Random) -> bool:
    together = by_query(measure @ K, case)
    for query in set(case.run) & set(case.qrels):
        alone = Case({query: case.run[query]}, {query: case.qrels[query]})
        if by_query(measure @ K, alone) != {query: together[query]}:
            return False
    return True


@law
def nothing_below_k_matters(measure: Measure, case: Case, rng: random.Random) -> bool:
    scores = rageval.evaluate(measure @ K, case.run, case.qrels, depth=K)
    return scores[measure @ K].by_query == by_query(measure @ K, case)


@law
def judging_a_document_0_changes_nothing(measure: Measure, case: Case, rng: random.Random) -> bool:
    qrels = {
        query: {nugget: dict.fromkeys(case.run.get(query, {}), 0) | docs for nugget, docs in judged.items()}
        for query, judged in case.qrels.items()
    }
    return by_query(measure @ K, replace(case, qrels=qrels)) == by_query(measure @ K, case)


@law
def a_nugget_nobody_supports_changes_nothing(measure: Measure, case: Case, rng: random.Random) -> bool:
    qrels = {
        query: {**judged, "no such fact": dict.fromkeys({d for docs in judged.values() for d in docs}, 0)}
        for query, judged in case.qrels.items()
    }
    return by_query(measure @ K, replace(case, qrels=qrels)) == by_query(measure @ K, case)


@law
def grows_with_k(measure: Measure, case: Case, rng: random.Random) -> bool:
    return all(never_lower(by_query(measure @ (k + 1), case), by_query(measure @ k, case)) for k in (1, 2, 3))


@law
def is_the_same_beyond_the_runs_depth(measure: Measure, case: Case, rng: random.Random) -> bool:
    deep = max(map(len, case.run.values()))
    return close(by_query(measure @ deep, case), by_query(measure @ (deep + 5), case))


@law
def appending_a_document_never_lowers(measure: Measure, case: Case, rng: random.Random) -> bool:
    run = {}
    for query, docs in case.run.items():
        new = sorted(all_documents(case) - set(docs)) or ["new"]
        run[query] = {**docs, rng.choice(new): min(docs.values()) - 1}
    return never_lower(by_query(measure @ 10, replace(case, run=run)), by_query(measure @ 10, case))


@law
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
    return never_lower(by_query(measure @ K, replace(case, run=run)), by_query(measure @ K, case))


@law
def is_at_most_1(measure: Measure, case: Case, rng: random.Random) -> bool:
    return all(value <= 1 + SLACK for k in (1, 2, 3) for value in by_query(measure @ k, case).values())


@law
def is_never_negative(measure: Measure, case: Case, rng: random.Random) -> bool:
    return all(value >= 0 for value in by_query(measure @ K, case).values())


@law
def an_absent_query_scores_0(measure: Measure, case: Case, rng: random.Random) -> bool:
    values = by_query(measure @ K, case)
    return all(values[query] == 0 for query in set(case.qrels) - set(case.run))


@law
def parses_back(measure: Measure, case: Case, rng: random.Random) -> bool:
    variants = [
        measure,
        measure @ K,
        *(measure(**{name: 1}) for name in measure.declared if name in ("rel", "alpha")),
    ]
    return all(rageval.parse_measure(str(variant)) == variant for variant in variants)


def close(left: dict[str, float], right: dict[str, float]) -> bool:
    return left.keys() == right.keys() and all(abs(left[query] - right[query]) <= SLACK for query in left)


def all_documents(case: Case) -> set[str]:
    judged = {doc for nuggets in case.qrels.values() for docs in nuggets.values() for doc in docs}
    return judged | {doc for docs in case.run.values() for doc in docs}


def with_documents(case: Case, names: dict[str, str]) -> Case:
    run = {query: {names[doc]: score for doc, score in docs.items()} for query, docs in case.run.items()}
    qrels = {
        query: {nugget: {names[doc]: grade for doc, grade in docs.items()} for nugget, docs in judged.items()}
        for query, judged in case.qrels.items()
    }
    return Case(run, qrels)
