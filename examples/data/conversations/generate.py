"""Write two systems that answer the turns of fourteen conversations, and what a judge says of it.

    python examples/data/conversations/generate.py

All of it is invented. `memory` rewrites each question with the turns before it, `single` answers the question
as it stands, and gets worse from turn to turn. Some questions cannot be answered.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
CONVERSATIONS, JUDGE = 14, "made-up"
FIRST = "Tell me about the {}."
LATER = ("When was it built?", "And by whom?", "How high is it?", "Is it open today?", "What else is near?")
PLACES = (
    *("tower", "bridge", "castle", "museum", "harbor", "garden", "market", "library"),
    *("station", "theater", "temple", "mill", "gate", "dome"),
)


def main() -> None:
    rng = random.Random(3)
    questions: list[dict[str, Any]] = []
    answers, judged = [], []
    for number in range(CONVERSATIONS):
        name, level = f"c{number + 1:02}", rng.gauss(0.75, 0.15)
        for turn in range(1, rng.randint(3, 6) + 1):
            query = {"query_id": f"{name}-{turn}", "conversation_id": name, "turn": turn}
            text = FIRST.format(PLACES[number]) if turn == 1 else LATER[turn - 2]
            answerable = rng.random() < 0.85
            questions.append(query | {"question": text, "answerable": answerable})
            for run, loss in (("memory", 0.0), ("single", 0.13)):
                is_right = rng.random() < level - loss * (turn - 1)
                wrong = rng.choice(["missing", "incorrect", "incorrect"])
                label = "perfect" if is_right else wrong
                if not answerable:
                    label = "missing" if is_right else "incorrect"
                place = query | {"run_id": run}
                words = "I do not know." if label == "missing" else f"An answer to turn {turn} of {name}."
                answers.append(place | {"answer": words})
                judged.append(place | {"label": label, "rubric": "crag", "judge": JUDGE})
    for name, rows in (("questions", questions), ("answers", answers), ("judged", judged)):
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (HERE / f"{name}.jsonl").write_text(lines, encoding="utf-8")


if __name__ == "__main__":
    main()
