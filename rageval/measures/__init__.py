"""The measures: each a function of columns, one value a query; a file a family."""

from __future__ import annotations

from functools import cache

from rageval.measures.base import Measure, measure
from rageval.measures.novelty import alpha_dcg, alpha_ndcg, err_ia, nerr_ia, nnrbp, nrbp
from rageval.measures.ranks import ap, map_ia, ndcg, rr
from rageval.measures.sets import all_gold, coverage, hole, judged, p, p_ia, recall, strec, success

__all__ = [
    "Measure",
    "all_gold",
    "alpha_dcg",
    "alpha_ndcg",
    "ap",
    "builtin",
    "coverage",
    "err_ia",
    "hole",
    "judged",
    "map_ia",
    "measure",
    "ndcg",
    "nerr_ia",
    "nnrbp",
    "nrbp",
    "p",
    "p_ia",
    "recall",
    "rr",
    "strec",
    "success",
]


@cache
def builtin() -> dict[str, Measure]:
    """Every measure rageval brings, by name, in the order in which they are listed."""
    nuggets = (alpha_ndcg, alpha_dcg, coverage, strec, err_ia, nerr_ia, nrbp, nnrbp, map_ia, p_ia)
    documents = (recall, ndcg, ap, rr, p, success, all_gold, judged, hole)
    return {found.name: found for found in (*nuggets, *documents)}
