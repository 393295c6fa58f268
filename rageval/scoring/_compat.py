"""Other tools' rules, for when a published number must be matched. The default is the defensible rule.

Below stand our ranking and our judgements in the forms that ir_measures takes.

`--compat NAME` changes which queries count and, for each measure, the order of documents and perhaps a
parameter:

pyndeval            equal scores by document id ascending; alpha-DCG and ERR-IA undivided at rank 1; only
                    queries that the run holds
ndeval              the C program: documents by the rank column alone, whatever the scores are
ndeval-traditional  the C program with -traditional: by score, equal scores by document id descending
trec_eval           trec_eval 9.0.8: scores as 32-bit floats; grades below 0 are not judged; only queries
                    that the run holds, as without -c
freshstack          three orders in one report: for each measure the one that it declares (`orders`), which is
                    input order or, among the first 20, pyndeval's; trec_eval's for the others
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import floor as floor_of

from rageval.errors import UsageError
from rageval.measures.base import Measure
from rageval.measures.foreign import ForeignMeasure
from rageval.names import suggestion
from rageval.records import Qrel
from rageval.scoring.qrels import Qrels
from rageval.scoring.runs import EVERYTHING, Order, Run, View

AnyMeasure = Measure | ForeignMeasure

_NDEVALS: Mapping[str, Order] = {
    "pyndeval": Order(ties="docid_asc"),
    "ndeval": Order(by_rank=True),
    "ndeval-traditional": Order(),
}
COMPAT = (*_NDEVALS, "trec_eval", "freshstack")
OF_THE_RUN = (*_NDEVALS, "trec_eval")  # their means leave out queries that the run lacks
JUDGED = 0  # the lowest grade that --judged-only takes for a judgement, as trec_eval -J does
FLOORS = {"trec_eval": JUDGED}  # the lowest grade that is a judgement
FULL_NAMES = {"trec_eval": "trec_eval-9.0.8"}  # where versions differ
_TREC_EVAL = Order(single=True)
_BY_TREC_EVAL = Order()
# How the providers of ir_measures order documents, where not as trec_eval 10 does.
_PROVIDERS: Mapping[str, Order] = {
    "pytrec_eval": _TREC_EVAL,
    "pyndeval": Order(ties="docid_asc"),
    "compat": Order(ties="docid_asc"),
    "judged": Order(ties="docid_asc"),
    "msmarco": Order(ties="docid_asc"),
    "accuracy": Order(ties="input"),
}
_DEEPEST_NDEVAL = 20


def check(name: str) -> None:
    """Raise `UsageError` unless this is a tool whose rules we know."""
    if name not in COMPAT:
        raise UsageError(f"compat={name!r}: expected one of {', '.join(COMPAT)}" + suggestion(name, COMPAT))


def as_in(name: str, measure: AnyMeasure, all_measures: Sequence[AnyMeasure]) -> tuple[AnyMeasure, Order]:
    """Return the measure and the order of documents that make the tool's number."""
    if name in _NDEVALS:
        return _undivided(measure), _NDEVALS[name]
    if name == "freshstack":
        return measure, _freshstack(measure, all_measures)
    return measure, _TREC_EVAL


def _undivided(measure: AnyMeasure) -> AnyMeasure:
    """Return the measure not normalised at rank 1, if normalising was left to us."""
    if isinstance(measure, ForeignMeasure) or "normalise" not in measure.declared:
        return measure
    return measure if "normalise" in measure.given else measure(normalise="ndeval")


def _freshstack(measure: AnyMeasure, all_measures: Sequence[AnyMeasure]) -> Order:
    ties = _freshstack_ties(measure)
    if ties != _NDEVALS["pyndeval"].ties:
        return _TREC_EVAL if ties is None else Order(ties=ties)
    cutoffs = [other.k for other in all_measures if _freshstack_ties(other) == ties]
    return Order(ties=ties, pool=max((k for k in cutoffs if k and k <= _DEEPEST_NDEVAL), default=None))


def _freshstack_ties(measure: AnyMeasure) -> str | None:
    """Return FreshStack's rule for equal scores, where pytrec_eval is not what it asks for the measure."""
    return measure.about.orders.get("freshstack")


def order_of(measure: ForeignMeasure) -> Order:
    """Return the order in which the provider of a measure puts documents, equal scores among them."""
    return _PROVIDERS.get(measure.by, _BY_TREC_EVAL)


def ranking_of(run: Run, qrels: Qrels, view: View, scored: bool = False) -> dict[str, dict[str, float]]:
    """Return {query: {document: score}} of the judged queries, best first.

    The scores are the run's own if they are asked for (`scored`), else whole numbers down to 1: then no tool
    can order the documents otherwise.
    """
    ranking: dict[str, dict[str, float]] = {query: {} for query in qrels.query_ids}
    judged = collapsed(qrels, floor=view.floor) if view.judged_only else None
    for found in run.queries:
        query = found.query.decode("utf-8", "surrogatepass")
        if query not in ranking:
            continue
        rows = found.ranked(view.order).rows
        docs = [(found.docs[row].decode("utf-8", "surrogatepass"), found.scores[row]) for row in rows]
        if judged is not None:
            docs = [(doc, score) for doc, score in docs if doc in judged[query]]
        docs = docs[: view.depth]
        ranking[query] = {
            doc: score if scored else float(len(docs) - at) for at, (doc, score) in enumerate(docs)
        }
    return ranking


def collapsed(
    qrels: Qrels, rel: int | None = None, floor: int = EVERYTHING
) -> dict[str, dict[str, int | float]]:
    """Return {query: {document: grade}}, the grade being the highest over the query's nuggets.

    With `rel`, 1 for a grade that reaches it and 0 for others; a grade below 0 that does not reach it stays
    as it is, as each provider has its own rule for those. What is below `floor` is not judged.
    """

    def shown(grade: int | float) -> int | float:
        return grade if rel is None else 1 if grade >= rel else floor_of(min(grade, 0))

    return {
        query: {doc: shown(grade) for doc, grade in zip(docs, grades, strict=True) if grade >= floor}
        for query, docs, grades in qrels.documents()
    }


def nuggets(qrels: Qrels, rel: int | None = None) -> list[Qrel]:
    """Return every judgement as a record; with `rel`, graded 1 if it reaches it, else 0."""
    records = list(qrels)
    return records if rel is None else [row._replace(relevance=int(row.relevance >= rel)) for row in records]
