"""How a measure compares with other tools. What is measured of that elsewhere joins here, and only here."""

from __future__ import annotations

from making.marks import table
from peer_tools import PEERS, TOPICS, peer_named, reasons_of
from rageval.measures import Measure, _nuggets
from rageval.scoring.rules import COMPAT, COMPAT_OF_ANSWERS, as_in
from rageval.scoring.runs import Order
from rageval.subjects import ANSWERS, kind_of_measure

TIES = {
    "trec": "equal scores by document id descending",
    "docid_asc": "equal scores by document id ascending",
    "input": "equal scores as they stand in the file",
}
NUGGETIZER = "an undefined value counts as 0, a nugget that could not be judged as not supported"


def comparison(measure: Measure, remarks: str) -> str:
    """What its docstring remarks on peers, what it is called in ir_measures, what `--compat` makes of it."""
    name = measure.called_by("ir_measures")
    called = f"In ir_measures it is `{name}`." if name else ""
    rows = _of_answers(measure) if kind_of_measure(measure) is ANSWERS else _of_runs(measure)
    rules = table(("option", "computes", "by these rules"), rows) if rows else ""
    return "\n\n".join(filter(None, [remarks, called, rules, _differences(measure)]))


def _differences(measure: Measure) -> str:
    """What each tool that has the measure does otherwise, as its reasons say."""
    asked = [measure, measure @ 10] if measure.takes_k else [measure]
    rows = []
    for name in PEERS:
        peer = peer_named(name)
        if any(peer.has(one) for one in asked):
            reasons = reasons_of(name, measure.name, list(TOPICS))
            rows += [(name, TOPICS[key.partition("/")[0]], why) for key, why in reasons.items()]
    return table(("tool", "given", "differs"), rows) if rows else ""


def _of_runs(measure: Measure) -> list[tuple[str, str, str]]:
    asked = measure @ 10 if measure.takes_k else measure
    rows = [("none", f"`{asked}`", _rules(Order()))]
    for tool in COMPAT:
        found, order = as_in(tool, asked, [asked])
        rows.append((f"`--compat {tool}`", f"`{found}`", _rules(order)))
    return rows


def _rules(order: Order) -> str:
    if order.by_rank:
        return "by the rank column alone, whatever the scores are"
    rules = [TIES[order.ties]]
    rules += ["scores as 32-bit floats"] * order.single
    rules += [f"of the first {order.pool} documents"] * (order.pool is not None)
    return ", ".join(rules)


def _of_answers(measure: Measure) -> list[tuple[str, str, str]]:
    if measure.function.__module__ != _nuggets.__name__:
        return []
    return [(f"`--compat {tool}`", f"`{measure}`", NUGGETIZER) for tool in COMPAT_OF_ANSWERS]
