"""Score a retriever after every epoch. The judgements are prepared once."""

from __future__ import annotations

import random
from pathlib import Path

import rageval
from rageval import alpha_ndcg, recall

QRELS = Path(__file__).parent / "data" / "qrels.nugget"


def retrieve(evaluator: rageval.Evaluator, skill: float, rng: random.Random) -> dict[str, dict[str, float]]:
    """Stands for your model: better scores for relevant documents as `skill` grows."""
    run: dict[str, dict[str, float]] = {}
    for judgement in evaluator.qrels:
        docs = run.setdefault(judgement.query_id, {})
        docs.setdefault(judgement.doc_id, rng.random())
        docs[judgement.doc_id] += skill * judgement.relevance
    return run


def main() -> None:
    evaluator = rageval.Evaluator([alpha_ndcg @ 10, recall @ 5], rageval.read_qrels(QRELS))
    rng = random.Random(0)
    for epoch, skill in enumerate((0.0, 0.2, 1.0)):
        scores = evaluator.evaluate(retrieve(evaluator, skill, rng))
        print(epoch, *(f"{score.measure}={score.value:.4f}" for score in scores.values()))


if __name__ == "__main__":
    main()
