"""Writes made-up questions and the answers of two systems: one answers plainly, one hedges.

Some plain answers are in words, which a judge that looks for the digits of the gold answer takes for wrong;
what hedges names the right number and another one, which the same judge takes for right. So a judge that
looks for the gold answer prefers the wrong system. `python examples/data/labeling/generate.py` makes the
same files again.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable
from pathlib import Path

HERE = Path(__file__).parent
SEED = 1207
QUESTIONS = 160
WORDS = """
zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
seventeen eighteen nineteen
"""
ONES = WORDS.split()
TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
LOST = "I don't know."


def number_in_letters(number: int) -> str:
    """Return a number from 0 to 99 in words."""
    if number < 20:
        return ONES[number]
    tens, ones = divmod(number, 10)
    return TENS[tens - 2] + (f"-{ONES[ones]}" if ones else "")


def main() -> None:
    rng = random.Random(SEED)
    questions, answers = [], []
    for index in range(QUESTIONS):
        query, one, other = f"sum-{index:03d}", rng.randint(11, 49), rng.randint(11, 49)
        right = one + other
        asked = f"What is {one} plus {other}?"
        questions.append({"query_id": query, "question": asked, "answer": str(right)})
        plain, hedging = plain_answer(rng, right), hedging_answer(rng, right)
        if rng.random() < 0.25:  # an easy one: both say the same
            plain = hedging = f"It is {right}."
        answers += [
            {"query_id": query, "run_id": run, "answer": text}
            for run, text in (("plain", plain), ("hedging", hedging))
        ]
    write("questions.jsonl", questions)
    write("answers.jsonl", answers)


def plain_answer(rng: random.Random, right: int) -> str:
    """Right in four of five cases, in words in half of these."""
    if rng.random() < 0.8:
        return f"It is {number_in_letters(right)}." if rng.random() < 0.5 else f"It is {right}."
    return rng.choice([LOST, f"It is {right + 10}."])


def hedging_answer(rng: random.Random, right: int) -> str:
    """Names the right number in nine of ten cases, and another one with it in half of these."""
    if rng.random() < 0.9:
        both = sorted((right, right + rng.choice((-10, 10))))
        return f"It is {both[0]} or {both[1]}." if rng.random() < 0.5 else f"It is {right}."
    return f"It is {right + 1}."


def write(name: str, records: Iterable[dict[str, str]]) -> None:
    text = "".join(json.dumps(record) + "\n" for record in records)
    (HERE / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
