"""Use rageval's measures with ir_measures."""

from __future__ import annotations

from pathlib import Path

import ir_measures

import rageval
from rageval import interop

DATA = Path(__file__).parent / "data"


def main() -> None:
    interop.install()
    qrels = list(rageval.read_qrels(DATA / "qrels.nugget"))
    run = list(rageval.read_run(DATA / "run.trec"))
    # Its own RR takes a document's last judgement for its grade; our rr takes the highest over the nuggets.
    for name in ("coverage@20", "alpha_ndcg(alpha=0.7)@10", "RR", "rr"):
        measure = ir_measures.parse_measure(name)
        print(name, f"{ir_measures.calc_aggregate([measure], qrels, run)[measure]:.4f}")


if __name__ == "__main__":
    main()
