"""Writes the five made-up topics of examples/freshstack.py: judgements, and runs of two retrievers.

Nothing in it comes from a real benchmark. A retriever knows more if it is given the answer's nuggets (the
oracle setting) than if it is given the question (the inference setting), as in FreshStack's Table 4.
`python examples/data/generate_freshstack.py` makes the same files again.
"""

from __future__ import annotations

import random
from pathlib import Path

HERE = Path(__file__).parent / "freshstack"
SEED = 2025
TOPICS = ("langchain", "yolo", "laravel", "angular", "godot")
NOISE = {"bm25.question": 2.0, "dense.question": 1.8, "bm25.nuggets": 1.0, "dense.nuggets": 1.2}
QUESTIONS, DOCUMENTS, KEPT = 4, 30, 20


def main() -> None:
    rng = random.Random(SEED)
    HERE.mkdir(exist_ok=True)
    for topic in TOPICS:
        qrels: list[str] = []
        runs: dict[str, list[str]] = {name: [] for name in NOISE}
        for number in range(QUESTIONS):
            query = f"{topic}-{number}"
            docs = [f"{topic}/{rng.choice('abcdefgh')}{at}.md" for at in range(DOCUMENTS)]
            worth = dict.fromkeys(docs, 0.0)
            for nugget in range(3):
                for doc in rng.sample(docs, rng.randint(1, 4)):
                    qrels.append(f"{query} {query}_{nugget} {doc} 1")
                    worth[doc] += 1
            for name, noise in NOISE.items():
                score = {doc: worth[doc] + rng.gauss(0, noise) for doc in docs}
                ranked = sorted(docs, key=lambda doc: -score[doc])[:KEPT]
                runs[name] += [f"{query} Q0 {d} {at} {score[d]:.3f} {name}" for at, d in enumerate(ranked, 1)]
        (HERE / f"{topic}.nugget").write_text("\n".join(qrels) + "\n", encoding="utf-8")
        for name, lines in runs.items():
            (HERE / f"{topic}.{name}.trec").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
