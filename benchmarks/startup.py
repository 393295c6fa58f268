"""What it costs to start rageval, in multiples of what starting Python and numpy costs.

    python benchmarks/startup.py

Ends with 1 if an aim is missed.
"""

from __future__ import annotations

import argparse
import sys

import timing
from contestants import add_rageval_option, exit_with
from table import markdown, verdict
from timing import Command, seconds


def pairs(rageval: str) -> list[tuple[Command, Command, float]]:
    """(ours, yardstick, aim for the ratio of their times)"""
    python = sys.executable
    return [
        ([rageval, "--version"], [python, "-c", "pass"], 6),
        ([python, "-c", "import rageval"], [python, "-c", "import numpy"], 1.3),
    ]


def shown(command: Command) -> str:
    """The command without the folder of its program."""
    return " ".join([command[0].rpartition("/")[2], *command[1:]])


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure rageval's start-up.")
    parser.add_argument("--rounds", type=int, default=20)
    add_rageval_option(parser)
    options = parser.parse_args()
    rows = []
    for ours, yardstick, aim in pairs(options.rageval):
        commands = {"ours": ours, "yardstick": yardstick}
        timing.take_turns(commands, rounds=1)
        samples = timing.take_turns(commands, options.rounds)
        ratio = timing.median_ratio(samples["ours"], samples["yardstick"], seconds)
        times = [f"{timing.median(samples[name], seconds):.3f}" for name in commands]
        rows.append((shown(ours), shown(yardstick), " / ".join(times), f"{ratio:.2f}", verdict(ratio, aim)))
    print(markdown(("command", "against", "time, s", "ratio", "aim"), rows))
    return int(any("over" in row[-1] for row in rows))


if __name__ == "__main__":
    exit_with(main)
