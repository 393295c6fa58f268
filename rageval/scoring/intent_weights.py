"""What each nugget weighs, where judgements are of documents; there nuggets are called intents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

from rageval.core.remark import Remark, Scope
from rageval.errors import InputError, MeasureError, Place
from rageval.files.nuggets import read_intent_weights, weight_of
from rageval.files.opening import name_of
from rageval.measures import measures_taking
from rageval.measures.base import Measure
from rageval.measures.ranking import of_mean_1
from rageval.scoring.qrels import Qrels
from rageval.text import visible


def with_intent_weights(
    qrels: Qrels, given: Any, measures: Sequence[object]
) -> tuple[Qrels, list[Remark], str]:
    """Return the judgements with the weights of their nuggets, remarks on these, and a digest.

    The digest is empty where all nuggets of each query weigh the same: then nothing is weighed.
    """
    for measure in measures:
        if not isinstance(measure, Measure) or not measure.about.intents:
            names = ", ".join(name for name, ours in measures_taking("Ranking").items() if ours.about.intents)
            raise MeasureError(
                f"{measure}: has no intents to weight ({names} do); leave out"
                f" --intent-weights (intent_weights= in Python) or the measure"
            )
    weights, name = _read_weights(given)
    of_query = []
    for query in qrels.query_ids:
        nuggets, query_weights = qrels.nuggets(query), weights.get(query, {})
        lacking = [nugget for nugget in nuggets if nugget not in query_weights]
        if lacking:
            raise InputError(
                at=Place(name),
                problem=f"no weight for nugget {visible(lacking[0])!r} of query {visible(query)!r}"
                f" ({len(lacking):,} of its {len(nuggets):,} have none), which {visible(qrels.name)} judges",
                expected="a weight for each",
            )
        own = [query_weights[nugget] for nugget in nuggets]
        if own and not any(own):
            raise InputError(
                at=Place(name),
                problem=f"every nugget of query {visible(query)!r} weighs 0",
                expected="a weight above 0",
            )
        of_query.append(of_mean_1(own))
    unjudged = sum(len(weights[query].keys() - qrels.nuggets(query)) for query in weights)
    about, facts = Scope(file=name), {"number": unjudged}
    remarks = [Remark("weights_of_unjudged_nuggets", about, facts)] if unjudged else []
    if not any(of_query):
        return qrels, remarks, ""
    # Sorted, so that the same weights have one digest, in whatever order they stand in their file.
    rows = sorted((query, nugget, weight) for query, of in weights.items() for nugget, weight in of.items())
    digest = sha256(repr(rows).encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return qrels.with_weights(of_query), remarks, digest


def _read_weights(given: Any) -> tuple[Mapping[str, Mapping[str, float]], str]:
    if not isinstance(given, Mapping):
        return read_intent_weights(given), visible(name_of(given))
    weights: dict[str, dict[str, float]] = {}
    for query, nuggets in given.items():
        if not isinstance(nuggets, Mapping):
            raise InputError(
                at=Place("intent_weights"),
                expected="{query: {nugget: weight}}",
                found=f"{nuggets!r:.80} for {visible(str(query))!r}",
            )
        where = Place("intent_weights", inside=f"query {visible(str(query))!r}")
        weights[str(query)] = {str(name): weight_of(weight, where) for name, weight in nuggets.items()}
    return weights, "intent_weights"
