"""Use rageval's measures in a PyTerrier experiment."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pyterrier as pt

import rageval
from rageval import alpha_ndcg, coverage, measures

DATA = Path(__file__).parent / "data"
NAMES = ("run.trec", "baseline.trec")


def run(name: str) -> pt.Transformer:
    """A run as PyTerrier has it; in a program of yours, this is the retriever."""
    rows = pd.DataFrame(rageval.read_run(DATA / name), columns=["qid", "docno", "score"])
    rows["rank"] = rows.groupby("qid")["score"].rank(method="first", ascending=False) - 1
    return pt.Transformer.from_df(rows)


def main() -> None:
    # The column `iteration` names the nugget; PyTerrier hands it on to the measures.
    qrels = pd.DataFrame(
        rageval.read_qrels(DATA / "qrels.nugget"), columns=["qid", "docno", "label", "iteration"]
    )
    topics = pd.DataFrame({"qid": qrels["qid"].unique(), "query": "as you ask it"})
    measures_asked = [coverage @ 20, alpha_ndcg @ 10, measures.rr]
    table = pt.Experiment([run(name) for name in NAMES], topics, qrels, measures_asked, names=NAMES)
    columns = ["name", *map(str, measures_asked)]
    print(table[columns].round(4).to_csv(index=False, lineterminator="\n"), end="")


if __name__ == "__main__":
    main()
