"""Other tools' rules, for when a published number must be matched. The default is the defensible rule.

`--compat NAME` changes, for each measure, the order of documents and perhaps a parameter:

ndeval      equal scores by document id ascending (as pyndeval); alpha-DCG and ERR-IA undivided at rank 1
trec_eval   scores as 32-bit floats, and only queries that the run holds (as trec_eval 9.0.8 without -c)
freshstack  three orders in one report: input order for coverage and holes; pyndeval's among the first 20 for
            alpha-nDCG; trec_eval's for the others
"""

from __future__ import annotations

from collections.abc import Sequence

from rageval.errors import UsageError
from rageval.measures.base import Measure
from rageval.names import suggestion
from rageval.tables.ranking import Order

COMPAT = ("ndeval", "trec_eval", "freshstack")
_PYNDEVAL = Order(ties="docid_asc")
_TREC_EVAL = Order(single=True)
_DEEPEST_NDEVAL = 20


def check(name: str | None) -> None:
    """`UsageError` unless this is a tool whose rules we know."""
    if name is not None and name not in COMPAT:
        raise UsageError(f"compat={name!r}: expected one of {', '.join(COMPAT)}" + suggestion(name, COMPAT))


def as_in(name: str, measure: Measure, all_measures: Sequence[object]) -> tuple[Measure, Order]:
    """The measure and the order of documents that make the tool's number."""
    if name == "ndeval":
        if "normalise" in measure.declared and "normalise" not in measure.changed:
            measure = measure(normalise="ndeval")
        return measure, _PYNDEVAL
    if name == "freshstack":
        return measure, _freshstack(measure, all_measures)
    return measure, _TREC_EVAL


def _freshstack(measure: Measure, all_measures: Sequence[object]) -> Order:
    if measure.name in ("coverage", "hole"):
        return Order(ties="input")
    if measure.name == "alpha_ndcg":
        cutoffs = [m.k for m in all_measures if isinstance(m, Measure) and m.name == "alpha_ndcg" and m.k]
        return Order(ties="docid_asc", pool=max((k for k in cutoffs if k <= _DEEPEST_NDEVAL), default=None))
    return _TREC_EVAL
