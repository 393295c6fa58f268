"""Made-up runs for the gate: `main`, a change that is as good, and one that loses what German questions need.

    python examples/data/gate/generate.py [FOLDER]

The baseline is made of main.run, as the page on the gate shows.
"""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path

QUERIES = 120
DOMAINS = ("docs", "forum", "german")


def ranking(query: int, name: str, draw: random.Random) -> list[str]:
    """Return the documents that a system finds: of three that are judged mostly two, and others."""
    docs = [f"d{query}-{index}" for index in range(3) if draw.random() < 0.7]
    kind = random.Random(f"{name} {query}")
    if name == "same" and kind.random() < 0.06 and docs:
        docs[0], docs[-1] = docs[-1], docs[0]
    if name == "worse" and DOMAINS[query % 3] == "german" and kind.random() < 0.5:
        docs = docs[1:]
    others = [f"x{query}-{index}" for index in range(5 - len(docs))]
    return [*docs, *others]


def write(folder: Path) -> None:
    """Write questions, judgements and runs."""
    questions = [
        {"query_id": f"q{query:03}", "question": f"Question {query}?", "domain": DOMAINS[query % 3]}
        for query in range(QUERIES)
    ]
    lines = [json.dumps(question) + "\n" for question in questions]
    (folder / "questions.jsonl").write_text("".join(lines))
    judged = [f"q{query:03} n{index} d{query}-{index} 1\n" for query in range(QUERIES) for index in range(3)]
    (folder / "qrels.nugget").write_text("".join(judged))
    for name in ("main", "same", "worse"):
        draw = random.Random(7)
        rows = [
            f"q{query:03} Q0 {doc} {rank} {10 - rank} {name}\n"
            for query in range(QUERIES)
            for rank, doc in enumerate(ranking(query, name, draw), 1)
        ]
        (folder / f"{name}.run").write_text("".join(rows))


if __name__ == "__main__":
    write(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
