"""alpha-nDCG@10 of many runs through ir_measures, the qrels read once: QRELS RUN..."""

import sys

import ir_measures

measure = ir_measures.parse_measure("alpha_nDCG@10")
qrels, *runs = sys.argv[1:]
evaluator = ir_measures.evaluator([measure], ir_measures.read_trec_qrels(qrels))
for run in runs:
    values = evaluator.calc_aggregate(ir_measures.read_trec_run(run))
    print(f"alpha_ndcg@10\t{values[measure]:.6f}")
