"""Other tools' rules, for when a published number must be matched. The default is the defensible rule.

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

from rageval.errors import UsageError
from rageval.measures.base import Measure
from rageval.measures.foreign import ForeignMeasure
from rageval.names import suggestion
from rageval.scoring.ordering import Order

AnyMeasure = Measure | ForeignMeasure

_NDEVALS: Mapping[str, Order] = {
    "pyndeval": Order(ties="docid_asc"),
    "ndeval": Order(by_rank=True),
    "ndeval-traditional": Order(),
}
COMPAT = (*_NDEVALS, "trec_eval", "freshstack")
OF_THE_RUN = (*_NDEVALS, "trec_eval")  # their means leave out queries that the run lacks
FLOORS = {"trec_eval": 0}  # the lowest grade that is a judgement
FULL_NAMES = {"trec_eval": "trec_eval-9.0.8"}  # where versions differ
_TREC_EVAL = Order(single=True)
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
