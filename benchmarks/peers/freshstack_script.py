"""alpha-nDCG, coverage and recall through FreshStack's evaluator: QRELS RUN"""

import importlib.util
import sys
from collections import defaultdict
from pathlib import Path

from freshstack.retrieval.evaluation import EvaluateRetrieval

import freshstack

CUTOFFS = [10, 20, 50]  # gives eight values: alpha-nDCG stops at 20


def load_join():
    """FreshStack's join of nuggets to queries, from its file: the package around it imports `datasets`."""
    path = Path(freshstack.__file__).parent / "datasets" / "util.py"
    spec = importlib.util.spec_from_file_location("freshstack_join", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.nuggets_to_query_qrels


def read_nuggets(path):
    nuggets = defaultdict(dict)
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            query, nugget, document, grade = line.split()
            nuggets[f"{query}_{nugget}"][document] = int(grade)
    return dict(nuggets)


def read_run(path):
    run = defaultdict(dict)
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            query, _, document, _, score, _ = line.split()
            run[query][document] = float(score)
    return dict(run)


nugget_qrels = read_nuggets(sys.argv[1])
query_nuggets, query_qrels = load_join()(nugget_qrels)
alpha_ndcg, coverage, recall = EvaluateRetrieval(CUTOFFS).evaluate(
    nugget_qrels, query_nuggets, query_qrels, read_run(sys.argv[2])
)
print(f"alpha_ndcg@10\t{alpha_ndcg['alpha-nDCG@10']:.6f}")
print(f"coverage@20\t{coverage['Coverage@20']:.6f}")
print(f"recall@50\t{recall['Recall@50']:.6f}")
