"""Slices as records, and which queries deserve a closer look."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rageval.comparison.slices import slices
from rageval.measures.base import LOWER
from rageval.report.columns import plain
from rageval.scores import Scores

Groups = Mapping[str, Mapping[str, str]]  # field -> query -> value


def sliced(results: Sequence[Scores], groups: Groups) -> list[dict[str, Any]]:
    """A record a run, measure and slice."""
    return [
        {
            "run": scores.run,
            "measure": str(score.measure),
            "field": found.field,
            "name": found.name,
            "value": plain(found.value),
            "low": plain(found.low),
            "high": plain(found.high),
            "queries": found.queries,
            "undefined": found.undefined,
            "small": found.is_small,
        }
        for scores in results
        for score in scores.scores
        for field, of_query in groups.items()
        for found in slices(score, field, of_query)
    ]


def most_telling(results: Sequence[Scores], number: int) -> list[str]:
    """The queries on which the runs differ most by the first measure; of one run, those it does worst on."""
    scores = [found.scores[0] for found in results if found.scores]
    queries = list(dict.fromkeys(query for score in scores for query in score.query_ids))
    values = np.array([[score.by_query.get(query, np.nan) for query in queries] for score in scores])
    known = np.where(np.isnan(values), 0.0, values)
    if len(scores) > 1:
        spread = known.max(axis=0) - known.min(axis=0)
    else:
        spread = known[0] if scores[0].measure.better == LOWER else -known[0]
    return [queries[at] for at in np.argsort(-spread, kind="stable")[:number].tolist()]
