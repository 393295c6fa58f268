"""Recall@50 and nDCG@10 of one or more runs through pytrec_eval: QRELS RUN..."""

import sys

import pytrec_eval

NAMES = {"recall_50": "recall@50", "ndcg_cut_10": "ndcg@10"}

qrels_path, *run_paths = sys.argv[1:]
with open(qrels_path, encoding="utf-8") as lines:
    qrels = pytrec_eval.parse_qrel(lines)
evaluator = pytrec_eval.RelevanceEvaluator(qrels, {"recall.50", "ndcg_cut.10"})
for path in run_paths:
    with open(path, encoding="utf-8") as lines:
        by_query = evaluator.evaluate(pytrec_eval.parse_run(lines))
    for theirs, ours in NAMES.items():
        mean = sum(values[theirs] for values in by_query.values()) / len(qrels)
        print(f"{ours}\t{mean:.6f}")
