"""Write two agents that answer ten questions: one searches three times, the other once and reads.

    python examples/data/agents/generate.py

All of it is invented. The first agent finds more and cites less of it; the second one is cheaper.
"""

from __future__ import annotations

import json
import random
from pathlib import Path

HERE = Path(__file__).parent
QUESTIONS, GOLD = 10, 4


def main() -> None:
    rng = random.Random(7)
    qrels, steps, answers = [], [], []
    for number in range(1, QUESTIONS + 1):
        query = f"q{number}"
        gold = [f"{query}-{letter}" for letter in "abcd"[:GOLD]]
        other = [f"{query}-x{rank}" for rank in range(9)]
        qrels += [f"{query} {'cause' if place < 2 else 'effect'} {doc} 1" for place, doc in enumerate(gold)]
        qrels += [f"{query} cause {doc} 0" for doc in other]
        for run, searches, found, use in (("planner", 3, 0.45, 0.5), ("reader", 1, 0.45, 0.8)):
            seen: list[str] = []
            place = {"query_id": query, "run_id": run}
            number_of_step = 0
            for search in range(searches):
                tokens = rng.randint(300, 900)
                number_of_step += 1
                think = {"kind": "model", "input_tokens": tokens, "output_tokens": rng.randint(20, 60)}
                think |= {"cost": round(tokens * 3e-6, 6), "seconds": round(rng.uniform(0.5, 2.0), 2)}
                steps.append(place | {"step": number_of_step} | think)
                docs = [doc for doc in gold if rng.random() < found] + rng.sample(other, 2)
                rng.shuffle(docs)
                number_of_step += 1
                text = "the cause" if search % 2 == 0 else "what followed"
                call = {"kind": "search", "tool": "bm25", "query": text, "docs": docs, "seconds": 0.1}
                steps.append(place | {"step": number_of_step} | call)
                seen += docs
            if run == "reader" and seen:
                steps.append(
                    place | {"step": number_of_step + 1, "kind": "read", "tool": "open", "docs": seen[:1]}
                )
            used = [doc for doc in dict.fromkeys(seen) if doc in gold and rng.random() < use]
            answers.append(place | {"answer": [{"text": f"An answer to {query}.", "citations": used}]})
    for name, lines in (
        ("qrels.nugget", qrels),
        ("steps.jsonl", map(json.dumps, steps)),
        ("answers.jsonl", map(json.dumps, answers)),
    ):
        (HERE / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


if __name__ == "__main__":
    main()
