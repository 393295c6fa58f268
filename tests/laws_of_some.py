"""Laws of some measures of runs: the table of `tests/measures/test_laws.py` says of which."""

from __future__ import annotations

import random

from rageval.measures.base import Measure
from rageval.testing._cases import SLACK, Law, listed_in
from rageval.testing._run_cases import RunCase, all_documents, with_documents

SOME_LAWS: dict[str, Law] = {}
law_of_some = listed_in(SOME_LAWS)


@law_of_some
def renaming_documents_at_will_changes_nothing(measure: Measure, case: RunCase, rng: random.Random) -> bool:
    """Without ties in the run; the ideal of the novelty measures breaks its own ties by name."""
    run = {q: {d: -float(index) for index, d in enumerate(docs)} for q, docs in case.run.items()}
    untied = case._replace(run=run)
    docs = sorted(all_documents(case))
    rng.shuffle(docs)
    names = {doc: f"{index:05d}" for index, doc in enumerate(docs)}
    return close(with_documents(untied, names).values(measure), untied.values(measure))


@law_of_some
def a_nugget_nobody_supports_changes_nothing(measure: Measure, case: RunCase, rng: random.Random) -> bool:
    qrels = {
        query: {**judged, "no such fact": dict.fromkeys({d for docs in judged.values() for d in docs}, 0)}
        for query, judged in case.qrels.items()
    }
    return case._replace(qrels=qrels).values(measure) == case.values(measure)


@law_of_some
def grows_with_k(measure: Measure, case: RunCase, rng: random.Random) -> bool:
    return all(never_lower(case.values(measure @ (k + 1)), case.values(measure @ k)) for k in (1, 2, 3))


@law_of_some
def is_the_same_beyond_the_runs_depth(measure: Measure, case: RunCase, rng: random.Random) -> bool:
    deep = max(map(len, case.run.values()))
    return close(case.values(measure @ deep), case.values(measure @ (deep + 5)))


@law_of_some
def appending_a_document_never_lowers(measure: Measure, case: RunCase, rng: random.Random) -> bool:
    run = {}
    for query, docs in case.run.items():
        new = sorted(all_documents(case) - set(docs)) or ["new"]
        run[query] = {**docs, rng.choice(new): min(docs.values()) - 1}
    return never_lower(case._replace(run=run).values(measure @ 10), case.values(measure @ 10))


@law_of_some
def moving_a_relevant_document_up_never_lowers(measure: Measure, case: RunCase, rng: random.Random) -> bool:
    """Two neighbors change places, the upper one supporting nothing."""
    run = dict(case.run)
    for query in set(run) & set(case.qrels):
        ranked = sorted(run[query], key=lambda doc: (run[query][doc], doc.encode()), reverse=True)
        relevant = [any(docs.get(doc, 0) > 0 for docs in case.qrels[query].values()) for doc in ranked]
        for index in range(len(ranked) - 1):
            if relevant[index + 1] and not relevant[index]:
                ranked[index : index + 2] = ranked[index + 1], ranked[index]
                break
        run[query] = {doc: -float(rank) for rank, doc in enumerate(ranked)}
    return never_lower(case._replace(run=run).values(measure), case.values(measure))


@law_of_some
def is_at_most_1(measure: Measure, case: RunCase, rng: random.Random) -> bool:
    return all(value <= 1 + SLACK for k in (1, 2, 3) for value in case.values(measure @ k).values())


@law_of_some
def an_absent_query_scores_0(measure: Measure, case: RunCase, rng: random.Random) -> bool:
    values = case.values(measure)
    return all(values[query] == 0 for query in set(case.qrels) - set(case.run))


def never_lower(after: dict[str, float], before: dict[str, float]) -> bool:
    """Return whether no query's value fell."""
    return all(after[query] >= before[query] - SLACK for query in before)


def close(left: dict[str, float], right: dict[str, float]) -> bool:
    return left.keys() == right.keys() and all(abs(left[query] - right[query]) <= SLACK for query in left)
