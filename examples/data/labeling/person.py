"""Plays a person who labels a plan: prints the judgements that the page would export.

    python examples/data/labeling/person.py ask.jsonl kim > kim.jsonl

Knows how to add, reads numbers in words, and takes an answer that names two numbers for a wrong one.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from generate import LOST, number_in_letters

NUMBERS = {number_in_letters(number): number for number in range(100)}
GRADES = {"perfect": 1.0, "missing": 0.0, "incorrect": -1.0}
SLIPS = 29  # a person errs now and then: every so many labels, by name


def label_of(question: str, answer: str) -> str:
    """Return what somebody says who can add."""
    right = sum(map(int, re.findall(r"\d+", question)))
    words = re.findall(r"\d+|[a-z]+(?:-[a-z]+)?", answer.lower())
    named = {
        int(word) if word.isdigit() else NUMBERS[word] for word in words if word.isdigit() or word in NUMBERS
    }
    if answer == LOST:
        return "missing"
    return "perfect" if named == {right} else "incorrect"


def labels(plan: str, annotator: str) -> Iterator[dict[str, object]]:
    """Yield a judgement for everything the plan asks, in its order."""
    head, *queries = (json.loads(line) for line in Path(plan).read_text(encoding="utf-8").splitlines())
    order = 0
    for query in queries:
        for ask in query["asks"]:
            order += 1
            shown = query["contexts"][ask["context"]]
            label = label_of(shown["question"], shown["answer"])
            if (order + len(annotator)) % SLIPS == 0:
                label = "missing"
            yield {
                **{"query_id": query["query_id"], "run_id": ask["run_id"]},
                **{"item_id": ask["item_id"], "aspect": ask["aspect"]},
                **{"label": label, "grade": GRADES[label], "status": "ok", "rubric": head["rubric"]},
                **{"judge": f"person:{annotator}", "annotator": annotator},
                **{"order": order, "seconds": 4.0, "plan": head["sha"]},
            }


def main() -> None:
    for judgement in labels(*sys.argv[1:3]):
        print(json.dumps(judgement, sort_keys=True, separators=(",", ":")))


if __name__ == "__main__":
    main()
