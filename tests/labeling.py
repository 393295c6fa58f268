"""Plans to be labeled, made as anybody makes them, of made-up answers by two systems with telling names."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from rageval.cli import main

NAMES = ("zanzibar-large", "quagmire-mini")
NUGGETS = ("It rains.", "It snows.", "It blows.")
# A different answer by each, which names nobody.
ANSWERS = {
    (f"q{index:04d}", run): f"The answer text of {index}, in {'one' if run == NAMES[0] else 'other'} words."
    for index in range(1000)
    for run in NAMES
}


def lines(path: Path, records: Iterable[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def plan_of(folder: Path, questions: int, rubric: str = "crag") -> Path:
    """Write a plan of that many questions."""
    texts = [(query, run, text) for (query, run), text in ANSWERS.items() if int(query[1:]) < questions]
    return write_plan(folder, texts, rubric)


def write_plan(
    folder: Path, texts: list[tuple[str, str, str]], rubric: str = "crag", question: str = "Why is it so?"
) -> Path:
    """Write answers, their questions and nuggets, judgements, and the plan of all of them."""
    aspects = [str(index) for index in range(len(NUGGETS))] if rubric == "nugget-assignment" else ["0"]
    queries = list(dict.fromkeys(query for query, _, _ in texts))
    lines(folder / "answers.jsonl", ({"query_id": q, "run_id": r, "answer": text} for q, r, text in texts))
    lines(
        folder / "questions.jsonl",
        ({"query_id": query, "question": question, "answer": "Because."} for query in queries),
    )
    listed = [
        {"text": text, "importance": "okay" if index else "vital"} for index, text in enumerate(NUGGETS)
    ]
    lines(folder / "nuggets.jsonl", ({"qid": q, "query": question, "nuggets": listed} for q in queries))
    row = {
        "rubric": "crag",
        "label": "acceptable",
        "judge": "openai:gpt-judge",
        "reason": "the judge's reason",
    }
    if rubric == "nugget-assignment":
        row |= {"rubric": rubric, "label": "partial_support"}
    places = [{"query_id": q, "run_id": r, "aspect": aspect} for q, r, _ in texts for aspect in aspects]
    lines(folder / "judged.jsonl", ({**place, **row} for place in places))
    words = ["--answers", "answers.jsonl", "--questions", "questions.jsonl", "--nuggets", "nuggets.jsonl"]
    words += ["--rubric", rubric, "-n", str(len(queries)), "--overwrite", "-o", "ask.jsonl"]
    return written(folder, "label", "plan", "judged.jsonl", "--compare", *NAMES, *words)


def written(folder: Path, *words: str) -> Path:
    """Run a command on files of this folder; return what it wrote."""
    typed = [str(folder / word) if word.endswith((".jsonl", ".html")) else word for word in words]
    result = CliRunner().invoke(main, typed, prog_name="rageval")
    assert result.exit_code == 0, result.output
    return Path(typed[-1])
