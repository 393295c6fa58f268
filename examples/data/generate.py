"""Writes the bundled sample: a made-up FreshStack-like collection of 12 questions and two runs.

Nothing in it comes from a real benchmark. `python examples/data/generate.py` makes the same files again.
"""

from __future__ import annotations

import random
from pathlib import Path

HERE = Path(__file__).parent
SEED = 771
TOPICS = ("loaders", "agents", "memory", "tracing", "parsers", "caching")


def main() -> None:
    rng = random.Random(SEED)
    qrels: list[str] = []
    runs: dict[str, list[str]] = {"run.trec": [], "baseline.trec": []}
    for number in range(12):
        query = str(7640 + number)
        docs = [
            f"docs/{rng.choice(TOPICS)}/{rng.choice('abcdefgh')}{rng.randrange(100)}.md_{index * 512}"
            for index in range(40)
        ]
        worth = dict.fromkeys(docs, 0.0)
        for nugget in range(rng.randint(2, 5)):
            relevant = set(rng.sample(docs, rng.randint(1, 4)))
            judged = relevant | set(rng.sample(docs, 8))
            for doc in sorted(judged):
                qrels.append(f"{query} {query}_n{nugget} {doc} {int(doc in relevant)}")
                worth[doc] += doc in relevant
        for name, noise in (("run.trec", 1.5), ("baseline.trec", 2.5)):
            score = {doc: worth[doc] + rng.gauss(0, noise) for doc in docs}
            ranked = sorted(docs, key=lambda doc: -score[doc])[:25]
            tag = name.partition(".")[0]
            runs[name] += [
                f"{query} Q0 {doc} {rank} {score[doc]:.4f} {tag}" for rank, doc in enumerate(ranked, 1)
            ]
    (HERE / "qrels.nugget").write_text("\n".join(qrels) + "\n", encoding="utf-8")
    for name, lines in runs.items():
        (HERE / name).write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
