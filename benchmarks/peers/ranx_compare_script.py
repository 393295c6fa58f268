"""Fisher's randomization of every pair of runs through ranx: QRELS DRAWS RUN..."""

import sys

from ranx import Qrels, Run, compare

qrels_path, draws, *run_paths = sys.argv[1:]
qrels = Qrels.from_file(qrels_path, kind="trec")
runs = []
for number, path in enumerate(run_paths):
    run = Run.from_file(path, kind="trec")
    run.name = str(number)
    runs.append(run)
report = compare(
    qrels, runs, ["ndcg@10", "recall@50", "map"], stat_test="fisher", n_permutations=int(draws), max_p=0.05
)
for number in range(len(runs)):
    for metric, value in report.results[str(number)].items():
        print(f"{number}\t{metric}\t{value:.6f}")
