"""What a Python user waits for: dicts and frames to scores, beside pytrec_eval and ir_measures.

    python benchmarks/dicts.py

672 queries of 100 documents, 30 of them judged; recall@50 and nDCG@10. Each peer and rageval take turns in
one process, and the least CPU of twelve turns counts. Ends with 1 if an aim is missed.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

import ir_measures
import pandas as pd
import pytrec_eval
from ir_measures import R, nDCG

import rageval
from timing import markdown, verdict

QUERIES, POOL, DOCS, JUDGED, TURNS, EPOCHS = 672, 300, 100, 30, 12, 50
OURS, THEIRS = "recall@50, ndcg@10", {"recall.50", "ndcg_cut.10"}
Dicts = Mapping[str, Mapping[str, Any]]


def main() -> int:
    rng = random.Random(1)
    names = {f"q{query}": [f"doc{query}_{at}" for at in range(POOL)] for query in range(QUERIES)}
    qrels = {
        query: {doc: rng.choice((0, 0, 1, 2)) for doc in rng.sample(docs, JUDGED)}
        for query, docs in names.items()
    }
    run = {query: ranked(rng, docs) for query, docs in names.items()}
    one = {"q0": run["q0"]}
    run_frame, qrels_frame = frame(run, "score"), frame(qrels, "relevance")
    theirs, ours = pytrec_eval.RelevanceEvaluator(qrels, THEIRS), rageval.Evaluator(OURS, qrels)
    theirs_of_one = pytrec_eval.RelevanceEvaluator({"q0": qrels["q0"]}, THEIRS)
    ours_of_one = rageval.Evaluator(OURS, {"q0": qrels["q0"]})
    rows: dict[str, tuple[Callable[[], object], Callable[[], object], str, float]] = {
        "dicts, a call": (
            lambda: rageval.evaluate(OURS, run, qrels),
            lambda: pytrec_eval.RelevanceEvaluator(qrels, THEIRS).evaluate(run),
            "pytrec_eval",
            1.1,
        ),
        "frames, a call": (
            lambda: rageval.evaluate(OURS, run_frame, qrels_frame),
            lambda: ir_measures.calc_aggregate([R @ 50, nDCG @ 10], qrels_frame, run_frame),
            "ir_measures",
            0.5,
        ),
        "evaluator of dicts": (
            lambda: rageval.Evaluator(OURS, qrels),
            lambda: pytrec_eval.RelevanceEvaluator(qrels, THEIRS),
            "pytrec_eval",
            4.0,
        ),
        f"{EPOCHS} epochs of one evaluator": (
            lambda: [ours.evaluate(run) for _ in range(EPOCHS)],
            lambda: [theirs.evaluate(run) for _ in range(EPOCHS)],
            "pytrec_eval",
            1.1,
        ),
        "one query, 100 times": (
            lambda: [ours_of_one.evaluate(one) for _ in range(100)],
            lambda: [theirs_of_one.evaluate(one) for _ in range(100)],
            "pytrec_eval",
            2.2,
        ),
    }
    table, missed = [], False
    for what, (mine, other, peer, aim) in rows.items():
        turns = 2 if "epochs" in what else TURNS
        own, their = (
            min(column) for column in zip(*(map(cpu, (mine, other)) for _ in range(turns)), strict=True)
        )
        missed |= own / their > aim
        numbers = (f"{own:.4f}", f"{their:.4f}", f"{own / their:.2f}")
        table.append([what, peer, *numbers, verdict(own / their, aim)])
    header = ["what", "beside", "rageval, CPU s", "peer, CPU s", "ratio", "aim"]
    print(markdown(header, table))
    return int(missed)


def ranked(rng: random.Random, docs: list[str]) -> dict[str, float]:
    found = rng.sample(docs, DOCS)
    return dict(zip(found, sorted((rng.random() for _ in found), reverse=True), strict=True))


def frame(dicts: Dicts, value: str) -> pd.DataFrame:
    rows = [(query, doc, number) for query, docs in dicts.items() for doc, number in docs.items()]
    return pd.DataFrame(rows, columns=["query_id", "doc_id", value])


def cpu(what: Callable[[], object]) -> float:
    began = time.process_time()
    what()
    return time.process_time() - began


if __name__ == "__main__":
    sys.exit(main())
