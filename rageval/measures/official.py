"""Named sets of measures: what a benchmark or a tool reports, as `-m official:NAME`."""

from __future__ import annotations

from rageval.measures import trec_eval

OFFICIAL: dict[str, tuple[str, ...]] = {
    # FreshStack's leaderboard (paper, section 6)
    "freshstack": ("alpha_ndcg@10", "coverage@20", "recall@50"),
    # the columns that ndeval prints
    "ndeval": tuple(
        [f"{name}@{k}" for name in ("err_ia", "nerr_ia") for k in (5, 10, 20)]
        + [f"{name}@{k}" for name in ("alpha_dcg(normalise=independent)", "alpha_ndcg") for k in (5, 10, 20)]
        + ["nrbp", "nnrbp", "map_ia"]
        + [f"{name}@{k}" for name in ("p_ia", "strec") for k in (5, 10, 20)]
    ),
    # the retrieval task of TREC 2024 RAG
    "rag24": ("ndcg@20", "ndcg@100", "recall@100"),
    # what trec_eval prints, and what it knows, as far as it is offered
    "trec_eval": trec_eval.official(),
    "all_trec": trec_eval.all_trec(),
    # what nuggetizer prints of answers, and what CRAG's and LiveRAG's papers report
    "nuggetizer": ("v_strict", "a_strict", "v", "a"),
    "crag": ("crag_score", "accuracy", "hallucination", "missing"),
    "liverag": ("correctness", "faithfulness"),
    # the support task of TREC RAG
    "support": ("citation_precision", "citation_recall"),
}
