"""What a Python user waits for: dicts and frames to scores, beside pytrec_eval, ir_measures and ranx.

    python benchmarks/dicts.py

672 queries of 100 documents, 30 of them judged. Each peer and rageval take turns in one process, and the
least of twelve turns counts. Prints rows for the table of `run.py`; a peer that is not installed is left out.
Ends with 1 if an aim is missed.
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
from run import HEADER, PLAIN
from timing import Row, markdown, note, verdict

try:
    import ranx
except ImportError:
    ranx = None

QUERIES, POOL, DOCS, JUDGED, TURNS, EPOCHS = 672, 300, 100, 30, 12, 50
THEIRS = {"recall.50", "ndcg_cut.10"}
CUTOFFS = range(1, 101)
Dicts = Mapping[str, Mapping[str, Any]]
Call = Callable[[], object]


def main() -> int:
    rng = random.Random(1)
    names = {f"q{query}": [f"doc{query}_{index}" for index in range(POOL)] for query in range(QUERIES)}
    qrels = {
        query: {doc: rng.choice((0, 0, 1, 2)) for doc in rng.sample(docs, JUDGED)}
        for query, docs in names.items()
    }
    run = {query: ranked(rng, docs) for query, docs in names.items()}
    table: list[Row] = []
    for data, what, ours, peers in (*calls(run, qrels), *evaluators(run, qrels)):
        for peer, (theirs, aim) in peers.items():
            table.append(row(data, what, ours, peer, theirs, aim))
            note(f"{data}, {what}, {peer}: done")
    print(markdown(HEADER, table))
    return int(any(" over" in cell for cells in table for cell in cells))


def calls(run: Dicts, qrels: Dicts) -> list[tuple[str, str, Call, dict[str, tuple[Call, float | None]]]]:
    """Return what reads run and judgements anew in every call."""
    run_frame, qrels_frame = frame(run, "score"), frame(qrels, "relevance")
    both = [R @ 50, nDCG @ 10]
    peers: dict[str, tuple[Call, float | None]] = {
        "pytrec_eval": (lambda: pytrec_eval.RelevanceEvaluator(qrels, THEIRS).evaluate(run), 1.1),
        "ir_measures": (lambda: ir_measures.calc_aggregate(both, qrels, run), None),
    }
    if ranx is not None:
        of_ranx = ["recall@50", "ndcg@10"]
        peers["ranx"] = (lambda: ranx.evaluate(ranx.Qrels(qrels), ranx.Run(run), of_ranx), None)
    in_frames = lambda: ir_measures.calc_aggregate(both, qrels_frame, run_frame)  # noqa: E731
    deep, theirs = ",".join(f"ndcg@{k}" for k in CUTOFFS), {f"ndcg_cut.{','.join(map(str, CUTOFFS))}"}
    return [
        ("dicts", PLAIN, lambda: rageval.evaluate(PLAIN, run, qrels), peers),
        (
            "dicts",
            "ndcg@1,…,100",
            lambda: rageval.evaluate(deep, run, qrels),
            {"pytrec_eval": (lambda: pytrec_eval.RelevanceEvaluator(qrels, theirs).evaluate(run), 4)},
        ),
        (
            "frames",
            PLAIN,
            lambda: rageval.evaluate(PLAIN, run_frame, qrels_frame),
            {"ir_measures": (in_frames, 0.5)},
        ),
    ]


def evaluators(run: Dicts, qrels: Dicts) -> list[tuple[str, str, Call, dict[str, tuple[Call, float | None]]]]:
    """Return what reads judgements once: making it, and runs and single queries that are scored by it."""
    of_one, one = {"q0": qrels["q0"]}, {"q0": run["q0"]}
    ours, theirs = rageval.Evaluator(PLAIN, qrels), pytrec_eval.RelevanceEvaluator(qrels, THEIRS)
    ours_of_one = rageval.Evaluator(PLAIN, of_one)
    theirs_of_one = pytrec_eval.RelevanceEvaluator(of_one, THEIRS)

    def compared(what: str, mine: Call, other: Call, aim: float) -> Any:
        return "dicts", what, mine, {"pytrec_eval": (other, aim)}

    return [
        compared(
            "an evaluator",
            lambda: rageval.Evaluator(PLAIN, qrels),
            lambda: pytrec_eval.RelevanceEvaluator(qrels, THEIRS),
            4,
        ),
        compared(
            f"{EPOCHS} epochs of one evaluator",
            lambda: [ours.evaluate(run) for _ in range(EPOCHS)],
            lambda: [theirs.evaluate(run) for _ in range(EPOCHS)],
            1.1,
        ),
        compared(
            "one query, 100 times",
            lambda: [ours_of_one.evaluate(one) for _ in range(100)],
            lambda: [theirs_of_one.evaluate(one) for _ in range(100)],
            2.2,
        ),
    ]


def row(data: str, what: str, ours: Call, peer: str, theirs: Call, aim: float | None) -> Row:
    """Return what two take, ours first: wall clock and processor time, the least of several turns."""
    turns = [(*taken(ours), *taken(theirs)) for _ in range(2 if "epochs" in what else TURNS)]
    wall, own, their_wall, their = map(min, zip(*turns, strict=True))
    ratio = own / their
    times = (f"{wall:.3f} / {their_wall:.3f}", f"{own:.3f} / {their:.3f}")
    return (data, what, peer, *times, f"{ratio:.3f}", verdict(ratio, aim), "", "")


def ranked(rng: random.Random, docs: list[str]) -> dict[str, float]:
    sampled = rng.sample(docs, DOCS)
    return dict(zip(sampled, sorted((rng.random() for _ in sampled), reverse=True), strict=True))


def frame(dicts: Dicts, value: str) -> pd.DataFrame:
    rows = [(query, doc, number) for query, docs in dicts.items() for doc, number in docs.items()]
    return pd.DataFrame(rows, columns=["query_id", "doc_id", value])


def taken(what: Call) -> tuple[float, float]:
    """Return the seconds that a call takes, and those of the processor."""
    wall, cpu = time.perf_counter(), time.process_time()
    what()
    return time.perf_counter() - wall, time.process_time() - cpu


if __name__ == "__main__":
    sys.exit(main())
