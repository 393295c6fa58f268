"""What the intents (nuggets) of queries weigh, joined to judgements of documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rageval.errors import InputError, MeasureError
from rageval.measures.base import Measure
from rageval.measures.ranking import of_mean_1
from rageval.scoring.qrels import Qrels
from rageval.text import visible

_OPTION = "--intent-weights (intent_weights= in Python)"


def refuse_without_intents(measures: Sequence[object]) -> None:
    """Raise `MeasureError` for a measure in which intents cannot weigh anything."""
    for measure in measures:
        if not isinstance(measure, Measure) or not measure.about.intents:
            from rageval.measures import run_measures

            known = ", ".join(name for name, ours in run_measures().items() if ours.about.intents)
            raise MeasureError(
                f"{measure}: asks for no intents that could weigh something, as {known} do; leave out"
                f" {_OPTION} or the measure"
            )


def weighed(qrels: Qrels, given: Any) -> tuple[Qrels, list[str], str]:
    """Return the judgements with the weights of their nuggets, what should be said of these, and a digest.

    The digest is empty where all nuggets of each query weigh the same: then nothing is weighed.
    """
    weights, name = _read(given)
    of_query = []
    for query in qrels.query_ids:
        nuggets, known = qrels.nuggets(query), weights.get(query, {})
        lacking = [nugget for nugget in nuggets if nugget not in known]
        if lacking:
            raise InputError(
                f"{name}: no weight for nugget {visible(lacking[0])!r} of query {visible(query)!r}"
                f" ({len(lacking):,} of its {len(nuggets):,} have none), which {visible(qrels.name)} judges;"
                " expected a weight for each"
            )
        own = [known[nugget] for nugget in nuggets]
        if own and not any(own):
            raise InputError(
                f"{name}: every nugget of query {visible(query)!r} weighs 0; expected one that counts"
            )
        of_query.append(of_mean_1(own))
    strange = sum(len(weights[query].keys() - qrels.nuggets(query)) for query in weights)
    said = [f"{strange:,} weights of {name} are of nuggets that nobody judged (ignored)"] if strange else []
    if not any(of_query):
        return qrels, said, ""
    return qrels.with_weights(of_query), said, _digest(weights)


def _read(given: Any) -> tuple[Mapping[str, Mapping[str, float]], str]:
    from rageval.files.nuggets import read_intent_weights, weight_of

    if not isinstance(given, Mapping):
        from rageval.files.opening import name_of

        return read_intent_weights(given), visible(name_of(given))
    found: dict[str, dict[str, float]] = {}
    for query, nuggets in given.items():
        if not isinstance(nuggets, Mapping):
            raise InputError(
                f"intent_weights: expected {{query: {{nugget: weight}}}}, found {nuggets!r:.80} for"
                f" {visible(str(query))!r}"
            )
        where = f"intent_weights: query {visible(str(query))!r}"
        found[str(query)] = {str(name): weight_of(weight, where) for name, weight in nuggets.items()}
    return found, "intent_weights"


def _digest(weights: Mapping[str, Mapping[str, float]]) -> str:
    """Return what tells these weights from others, in a signature."""
    from hashlib import sha256

    rows = sorted((query, nugget, weight) for query, of in weights.items() for nugget, weight in of.items())
    return sha256(repr(rows).encode("utf-8", "surrogatepass")).hexdigest()[:8]
