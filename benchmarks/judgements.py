"""Scoring a million judgements of answers, beside a plain loop of `json.loads` over the same file.

    python benchmarks/judgements.py --lines 1000000

Ends with 1 if the aim is missed.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from pathlib import Path

import timing
from contestants import add_rageval_option, exit_with
from sizes import default_data_folder
from table import markdown, verdict
from timing import Command, megabytes, seconds

AIM = 1.5
SYSTEMS, NUGGETS = 20, 20
LABELS = ("support", "partial_support", "not_support")
LOOP = "import json, sys\nfor line in open(sys.argv[1], encoding='utf-8'): json.loads(line)"


def generate(path: Path, lines: int) -> None:
    """Nugget assignments of 20 systems, 20 nuggets a query, with what a judge writes beside the label."""
    rng = random.Random(7)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as out:
        for at in range(lines):
            answer, nugget = divmod(at, NUGGETS)
            query, system = divmod(answer, SYSTEMS)
            row = {
                "aspect": f"n{nugget}",
                "importance": "vital" if nugget < NUGGETS // 2 else "okay",
                "item_id": "answer",
                "judge": "openai:some-model@3f2a9c",
                "label": rng.choice(LABELS),
                "latency": round(rng.random(), 3),
                "query_id": f"2024-{query}",
                "rubric": "nugget-assignment/1",
                "run_id": f"system-{system}",
                "status": "ok",
                "usage": {"input_tokens": 812, "output_tokens": 14},
            }
            out.write(json.dumps(row) + "\n")


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure the scoring of judgements.")
    parser.add_argument("--lines", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--data", type=Path, default=default_data_folder())
    add_rageval_option(parser)
    options = parser.parse_args()
    path = options.data / f"judgements-{options.lines}.jsonl"
    if not path.exists():
        generate(path, options.lines)
    commands: dict[str, Command] = {
        "rageval": [options.rageval, str(path), "-m", "v_strict,w", "--format", "json"],
        "json.loads": [sys.executable, "-c", LOOP, str(path)],
    }
    timing.take_turns(commands, rounds=1)
    samples = timing.take_turns(commands, options.rounds)
    ours, loop = samples["rageval"], samples["json.loads"]
    ratio = timing.median_ratio(ours, loop, seconds)
    times = f"{timing.median(ours, seconds):.2f} / {timing.median(loop, seconds):.2f}"
    peak = f"{timing.median(ours, megabytes):.0f} / {timing.median(loop, megabytes):.0f}"
    row = (f"{options.lines:,}", times, f"{ratio:.2f}", verdict(ratio, AIM), peak)
    print(markdown(("lines", "time, s, rageval / loop", "ratio", "aim", "peak, MB"), [row]))
    return int("over" in row[3])


if __name__ == "__main__":
    exit_with(main)
