"""alpha-nDCG@10 through pyndeval: QRELS RUN"""

import sys

import pyndeval


def qrels(path):
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            query, nugget, document, grade = line.split()
            yield query, nugget, document, int(grade)


def run(path):
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            query, _, document, _, score, _ = line.split()
            yield query, document, float(score)


evaluator = pyndeval.RelevanceEvaluator(qrels(sys.argv[1]), ["alpha-nDCG@10"])
by_query = evaluator.evaluate(run(sys.argv[2]))
mean = sum(values["alpha-nDCG@10"] for values in by_query.values()) / len(evaluator.qrels)
print(f"alpha_ndcg@10\t{mean:.6f}")
