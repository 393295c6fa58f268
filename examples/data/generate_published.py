"""Writes made-up files for the tables of `rageval reproduce`, read with `--data examples/data/published`.

Nothing in them comes from a paper or a real benchmark: no answer, no run, no judgement. Systems have the
names of the paper, so that what was published stands beside.
`python examples/data/generate_published.py` makes the same files again.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent / "published"
SEED = 2025
TOPICS = ("langchain", "yolo", "laravel", "angular", "godot")
# A retriever knows more if it is given the answer's nuggets than if it is given questions.
NOISE = {
    "bm25.gpt-4o-sub-questions": 2.0,
    "dense.gpt-4o-sub-questions": 1.8,
    "bm25.stack-overflow-nuggets": 1.0,
    "dense.stack-overflow-nuggets": 1.2,
}
QUESTIONS, DOCUMENTS, KEPT = 4, 30, 20
STRATEGIES = {
    "sentences-1": ("A random", "B largest first", "C nearest last", "D nearest first"),
    "sentences-2": ("A random", "B best first", "C visiting", "D aggregation"),
    "sentences-3": ("A documents", "B random", "C best first", "D visiting", "CL clusters"),
    "sentences-4": ("0.000", "0.125", "0.250", "0.375", "0.500", "0.625", "1.000"),
    "sentences-5": ("similar neighbors", "CL clusters"),
}
LABELS = {
    "crag-auto": ("accurate", "incorrect", "missing"),
    "crag": ("perfect", "acceptable", "incorrect", "missing"),
}
SYSTEMS = {
    "crag-auto": ("LLM only: GPT-4 Turbo", "Task 3: GPT-4 Turbo"),
    "crag": ("Copilot Pro", "Perplexity.ai"),
    "ragtifier-1": ("InstructRAG", "IterDRAG"),
}
Record = dict[str, Any]


def main() -> None:
    rng = random.Random(SEED)
    HERE.mkdir(exist_ok=True)
    freshstack(rng)
    for name, labels in LABELS.items():
        write(
            f"{name}.judged.jsonl",
            (
                {"query_id": str(query), "run_id": system, "label": rng.choice(labels)}
                for system in SYSTEMS[name]
                for query in range(20)
            ),
        )
    write("freshstack-5.nuggets.jsonl", on_nuggets(rng))
    write("freshstack-5.pairs.jsonl", on_pairs(rng))
    write(
        "ragtifier-1.questions.jsonl",
        (
            {"query_id": str(query), "question": f"question {query}", "hops": ("single", "multi")[query % 2]}
            for query in range(20)
        ),
    )
    write("ragtifier-1.judged.jsonl", on_answers(rng))
    write("rag24.nuggets.jsonl", assigned(rng))
    write("rag24.support.jsonl", cited(rng))
    for name, strategies in STRATEGIES.items():
        write(f"{name}.judged.jsonl", ranked(rng, strategies))


def freshstack(rng: random.Random) -> None:
    for topic in TOPICS:
        qrels: list[str] = []
        runs: dict[str, list[str]] = {name: [] for name in NOISE}
        for number in range(QUESTIONS):
            query = f"{topic}-{number}"
            docs = [f"{topic}/{rng.choice('abcdefgh')}{rank}.md" for rank in range(DOCUMENTS)]
            worth = dict.fromkeys(docs, 0.0)
            for nugget in range(3):
                for doc in rng.sample(docs, rng.randint(1, 4)):
                    qrels.append(f"{query} {query}_{nugget} {doc} 1")
                    worth[doc] += 1
            for name, noise in NOISE.items():
                score = {doc: worth[doc] + rng.gauss(0, noise) for doc in docs}
                kept_docs = sorted(docs, key=lambda doc: -score[doc])[:KEPT]
                runs[name] += [
                    f"{query} Q0 {d} {rank} {score[d]:.3f} {name}" for rank, d in enumerate(kept_docs, 1)
                ]
        (HERE / f"{topic}.nugget").write_text("\n".join(qrels) + "\n", encoding="utf-8")
        for name, lines in runs.items():
            (HERE / f"{topic}.{name}.trec").write_text("\n".join(lines) + "\n", encoding="utf-8")


def on_nuggets(rng: random.Random) -> Iterator[Record]:
    """What an expert says of three nuggets a question, and how many are lacking."""
    for query in range(10):
        of = {"query_id": str(query), "run_id": "GPT-4o"}
        for nugget in range(3):
            for aspect in ("redundant", "hallucinated"):
                yield of | {"item_id": f"n{nugget}", "aspect": aspect, "grade": int(rng.random() < 0.1)}
        yield of | {"aspect": "lacking", "grade": int(rng.random() < 0.2)}


def on_pairs(rng: random.Random) -> Iterator[Record]:
    labels = ("relevant", "relevant", "relevant", "partially_relevant", "non_relevant")
    for query in range(20):
        label = rng.choice(labels)
        yield {"query_id": str(query), "run_id": "GPT-4o", "item_id": "d", "aspect": "n0", "label": label}


def on_answers(rng: random.Random) -> Iterator[Record]:
    for system in SYSTEMS["ragtifier-1"]:
        for query in range(20):
            of = {"query_id": str(query), "run_id": system}
            yield of | {"aspect": "correctness", "grade": rng.choice((1, 2, 2, 2))}
            yield of | {"aspect": "faithfulness", "grade": rng.choice((-1, 0, 1, 1))}


def assigned(rng: random.Random) -> Iterator[Record]:
    """Nuggets as NIST's assessors assigned them to answers."""
    for query in range(4):
        texts = [(f"fact {index}", rng.choice(("vital", "okay"))) for index in range(4)]
        for run in ("run-a", "run-b"):
            labels = [rng.choice(("support", "partial_support", "not_support")) for _ in texts]
            yield {
                "qid": f"2024-{query}",
                "query": f"question {query}",
                "run_id": run,
                "nuggets": [
                    {"text": text, "importance": importance, "assignment": label}
                    for (text, importance), label in zip(texts, labels, strict=True)
                ],
            }


def cited(rng: random.Random) -> Iterator[Record]:
    """Citations as NIST's assessors labeled them."""
    for query in range(4):
        for run in ("run-a", "run-b"):
            sentences = [
                {
                    "text": f"sentence {index}",
                    "citations": [{"reference": f"d{index}", "support": rng.choice((2, 1, 0))}],
                }
                for index in range(3)
            ]
            yield {"topic_id": f"2024-{query}", "run_id": run, "sentences": sentences}


def ranked(rng: random.Random, strategies: tuple[str, ...]) -> Iterator[Record]:
    """Places of the answers in ten permutations; the later a strategy stands here, the better."""
    for query in range(5):
        for permutation in range(10):
            order = sorted(strategies, key=lambda name: rng.gauss(-strategies.index(name) / 2, 1))
            for place, name in enumerate(order, 1):
                yield {"query_id": str(query), "run_id": name, "aspect": str(permutation), "grade": place}


def write(name: str, records: Iterable[Record]) -> None:
    lines = (json.dumps(record) + "\n" for record in records)
    (HERE / name).write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
