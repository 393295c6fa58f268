"""Write two systems that answer 200 questions, state how sure they are, and what each answer cost.

    python examples/data/confidence/generate.py

All of it is invented. `modest` is right about as often as it says; `bold` is right more often, costs three
times as much, and is surer than it should be. `judged.jsonl` says which answers are right.
"""

from __future__ import annotations

import json
import random
from pathlib import Path

HERE = Path(__file__).parent
QUESTIONS = 200


def main() -> None:
    rng = random.Random(11)
    answers, judged = [], []
    for number in range(1, QUESTIONS + 1):
        ease = rng.betavariate(1.6, 1.2)
        for run, bonus, boast, price in (("modest", 0.0, 0.0, 0.004), ("bold", 0.08, 0.35, 0.012)):
            chance = min(0.98, ease + bonus)
            place = {"query_id": f"q{number}", "run_id": run}
            sure = min(0.99, max(0.02, rng.gauss(chance + boast * (1 - chance), 0.06)))
            tokens = rng.randint(40, 160)
            answer = place | {"answer": f"An answer to q{number}.", "confidence": round(sure, 2)}
            answer |= {"cost": round(price * rng.uniform(0.5, 1.5), 5), "output_tokens": tokens}
            answers.append(answer)
            label = "accurate" if rng.random() < chance else "incorrect"
            judged.append(place | {"rubric": "crag", "label": label})
    for name, lines in (("answers.jsonl", answers), ("judged.jsonl", judged)):
        text = "".join(f"{json.dumps(line)}\n" for line in lines)
        (HERE / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
