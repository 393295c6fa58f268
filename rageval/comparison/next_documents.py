"""The documents that somebody judges next, batch by batch, until a claim of runs is decided.

As a job that stops (`comparison.until`): the order of the questions is drawn and stored before, questions are
judged to where their differences are known, and it is looked only where all questions before a look are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rageval.comparison.turning import Grades, Pools, open_documents, run_values
from rageval.comparison.until import ClaimPlan, Ledger, Until, decide, order_of, plan_of
from rageval.errors import InputError
from rageval.judges.store import Store
from rageval.measures.base import LOWER
from rageval.scoring.evaluation import bounds_of
from rageval.scoring.qrels import Qrels
from rageval.text import visible

_Wanted = dict[str, list[str]]  # by query


@dataclass(frozen=True, slots=True)
class NextOfClaim:
    """What to judge next for a claim, how far it is, and what was claimed of the same before."""

    documents: dict[str, list[str]]
    ledger: Ledger
    before: list[str]

    def lines(self, listed: int) -> Iterator[str]:
        """Yield in words how far it is, where so many of the documents are listed."""
        yield self.ledger.sentence()
        yield from (f"claimed before of the same: {said}" for said in self.before)
        if self.documents:
            open_, more = len(self.documents), sum(map(len, self.documents.values()))
            yield (
                f"{more:,} documents of {open_:,} questions come before the next look; {listed:,} of them are"
                " listed"
            )
        else:
            yield "no more has to be judged"


class _Judged:
    """Runs, and what is judged of their documents by now."""

    def __init__(self, until: Until, pools: Pools, qrels: Qrels) -> None:
        self.until = until
        self.systems, self.margin = until.of(list(pools))
        self.pools = {system: pools[system] for system in self.systems}
        self.order = order_of(until, list(self.pools.values()))
        self.highest = max(1, qrels.highest)
        self.grades = _grades_of(qrels, self.order)
        self.wanted: _Wanted = {}

    def plan(self) -> ClaimPlan:
        """Return what is fixed before anything is looked at."""
        docs = [[self.pools[system][query] for query in self.order] for system in self.systems]
        return plan_of(self.until, self.systems, self.margin, self.order, docs, "judgements", ())

    def whole(self, block: Sequence[str], systems: Sequence[str]) -> _Wanted:
        """Return all documents of these systems."""
        return {
            query: list(dict.fromkeys(doc for system in systems for doc in self.pools[system][query]))
            for query in block
        }

    def part(self, rows: object, block: Sequence[str], systems: Sequence[str]) -> _Wanted | None:
        """Return what is to be judged of these questions; None where all their differences are known."""
        pools = {system: {query: self.pools[system][query] for query in block} for system in systems}
        grades = {query: self.grades[query] for query in block}
        self.wanted = open_documents(self.until.measure, pools, grades, self.highest)
        return self.wanted or None

    def calls(self, part: _Wanted) -> int:
        """Return how many documents these are."""
        return sum(map(len, part.values()))

    def judged(self, block: Sequence[str]) -> int:
        """Return how many documents of these questions are judged."""
        pooled = self.whole(block, self.systems)
        known = {query: {doc for docs in self.grades[query].values() for doc in docs} for query in block}
        return sum(doc in known[query] for query, docs in pooled.items() for doc in docs)

    def values(self, rows: object, block: Sequence[str], systems: Sequence[str]) -> dict[str, list[float]]:
        """Return each system's value of each question, so turned that more is better."""
        grades = {query: self.grades[query] for query in block}
        sign = -1.0 if self.until.measure.better == LOWER else 1.0
        found = {}
        for system in systems:
            values = run_values(self.until.measure, self.pools[system], grades)
            found[system] = [sign * values[query] for query in block]
        return found


def next_until(until: Until, pools: Pools, qrels: Qrels, store: str | None = None) -> NextOfClaim:
    """Return the documents to judge next until a claim is decided; none where it is, or all is judged.

    Parameters
    ----------
    until
        What is to be decided, and how.
    pools
        Of each run the documents by query, best first, as deep as they are to be judged.
    qrels
        What is judged by now.
    store
        Where the claim is kept, from before anything is looked at; the user's own store if None.

    Raises
    ------
    UsageError, MeasureError
        A system that is not there, or a measure of which nothing can be claimed or bounded.
    InputError
        A question without its nuggets, where judgements name them.
    """
    bounds_of(until.measure)  # or there is no telling what is known
    job = _Judged(until, pools, qrels)
    plan = job.plan()
    plan.rule()
    with Store(store) as kept:
        before = kept.ledgers(plan.topic, but=plan.key)
        kept.keep_ledger(plan.key, plan.topic, Ledger(plan).as_record())
    ledger, _ = decide(job, plan, _nobody, lambda line: None)
    ledger = replace(ledger, calls=job.judged(job.order[: ledger.judged]))
    with Store(store) as kept:
        kept.keep_ledger(plan.key, plan.topic, ledger.as_record())
    is_over = ledger.is_decided or ledger.judged == plan.questions
    said = list(dict.fromkeys(str(record.get("said")) for record in before))
    return NextOfClaim({} if is_over else job.wanted, ledger, said)


def _nobody(part: _Wanted) -> list[dict[str, Any]] | None:
    """Answer nothing: whoever judges does it when this is over."""
    return None


def _grades_of(qrels: Qrels, queries: Sequence[str]) -> Grades:
    found: Grades = {query: {} for query in queries}
    for row in qrels:
        if row.query_id in found:
            found[row.query_id].setdefault(row.iteration, {})[row.doc_id] = row.relevance
    lacking = [query for query in queries if not found[query]]
    if lacking and qrels.has_nuggets:
        raise InputError(
            f"{visible(qrels.name)}: query {visible(lacking[0])} has no nuggets; expected some judgement of"
            " it"
        )
    return {query: by_nugget or {"0": {}} for query, by_nugget in found.items()}
