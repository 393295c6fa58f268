"""The measures: each a function of columns, one value a query; a file a family."""

from __future__ import annotations

from functools import cache

from rageval.measures.base import Measure, measure
from rageval.measures.citations import citation_precision, citation_recall
from rageval.measures.crag import crag_score, crag_share
from rageval.measures.lengths import length
from rageval.measures.liverag import correctness, correctness_share, faithfulness, faithfulness_share
from rageval.measures.novelty import alpha_dcg, alpha_ndcg, err_ia, nerr_ia, nnrbp, nrbp
from rageval.measures.nuggets import nugget_density, nugget_f, nugget_recall, rubric_score
from rageval.measures.preferences import rank_score, win_rate
from rageval.measures.proxies import lexical_recall, token_f1
from rageval.measures.quality import audit_share, bank_groundedness, bank_precision, bank_recall
from rageval.measures.ranks import ap, map_ia, ndcg, rr
from rageval.measures.sets import all_gold, coverage, hole, judged, p, p_ia, recall, strec, success

__all__ = [
    "Measure",
    "all_gold",
    "alpha_dcg",
    "alpha_ndcg",
    "ap",
    "audit_share",
    "bank_groundedness",
    "bank_precision",
    "bank_recall",
    "builtin",
    "citation_precision",
    "citation_recall",
    "correctness",
    "correctness_share",
    "coverage",
    "crag_score",
    "crag_share",
    "err_ia",
    "faithfulness",
    "faithfulness_share",
    "hole",
    "judged",
    "length",
    "lexical_recall",
    "map_ia",
    "measure",
    "ndcg",
    "nerr_ia",
    "nnrbp",
    "nrbp",
    "nugget_density",
    "nugget_f",
    "nugget_recall",
    "p",
    "p_ia",
    "rank_score",
    "recall",
    "rr",
    "rubric_score",
    "strec",
    "success",
    "token_f1",
    "win_rate",
]


@cache
def builtin() -> dict[str, Measure]:
    """Every measure rageval brings, by name, in the order in which they are listed."""
    return run_measures() | answer_measures()


@cache
def run_measures() -> dict[str, Measure]:
    """The measures of runs."""
    nuggets = (alpha_ndcg, alpha_dcg, coverage, strec, err_ia, nerr_ia, nrbp, nnrbp, map_ia, p_ia)
    documents = (recall, ndcg, ap, rr, p, success, all_gold, judged, hole)
    return {found.name: found for found in (*nuggets, *documents)}


@cache
def answer_measures() -> dict[str, Measure]:
    """The measures of judged answers."""
    answers = (
        *(nugget_recall, nugget_density, nugget_f, rubric_score, crag_score, crag_share),
        *(correctness, correctness_share, faithfulness, faithfulness_share),
        *(citation_precision, citation_recall, rank_score, win_rate, length),
        *(bank_precision, bank_recall, bank_groundedness, audit_share, lexical_recall, token_f1),
    )
    return {found.name: found for found in answers}
