"""Recall@50 and nDCG@10 of one or more runs through ranx: QRELS RUN..."""

import sys

from ranx import Qrels, Run, evaluate

qrels_path, *run_paths = sys.argv[1:]
qrels = Qrels.from_file(qrels_path, kind="trec")
for path in run_paths:
    values = evaluate(qrels, Run.from_file(path, kind="trec"), ["recall@50", "ndcg@10"])
    for name, value in values.items():
        print(f"{name}\t{value:.6f}")
