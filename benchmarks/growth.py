"""Twice the input takes at most 2.3 times the processor time and memory: every command, in what it grows in.

    python benchmarks/growth.py                 all commands
    python benchmarks/growth.py score doctor    some of them

The inputs and command lines are those of `tests/laws/test_work.py`, which counts lines of Python at small
sizes. Here whole processes are measured. An input is doubled until a command takes a second more than on the
least input, so that start-up, which is subtracted, hides nothing, or is as large as it may be; then it is
doubled once more. Exits with 1 if anything grows faster.
"""

from __future__ import annotations

import os
import shlex
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests"), str(ROOT / "tests" / "laws")]

from test_work import GROWS, Growing, cleared, names_of_runs  # noqa: E402
from timing import Sample, measure  # noqa: E402

LEAST, ENOUGH = 6, 1.0  # the least size; seconds over start-up below which time says nothing
RATIO = 2.3
AGAIN = 4  # turns in which both sizes are measured once more, as long as the larger takes too much
FLOOR = 16  # megabytes over start-up below which memory says nothing


def cost(command: Growing, number: int) -> Sample:
    """Return the processor time and memory of a command on an input of this size, the least of two."""
    command.make(number)
    words = command.words.replace("{runs}", names_of_runs()) if "{runs}" in command.words else command.words
    samples = []
    for _ in range(2):
        cleared()
        samples.append(measure([sys.executable, "-m", "rageval", *shlex.split(words)], command.codes))
    return cheaper(*samples)


def cheaper(one: Sample, other: Sample) -> Sample:
    """Return the least of what the same command took twice."""
    return replace(one, cpu=min(one.cpu, other.cpu), megabytes=min(one.megabytes, other.megabytes))


def measured(name: str, command: Growing) -> bool:
    """Print how a command grows; return whether that is no faster than allowed."""
    start = cost(command, LEAST)
    number = command.number
    once = cost(command, number)
    while once.cpu - start.cpu < ENOUGH and number < command.most:
        number *= 2
        once = cost(command, number)
    twice = cost(command, 2 * number)
    for repetition in range(AGAIN + 1):
        seconds = (twice.cpu - start.cpu) / max(once.cpu - start.cpu, ENOUGH / RATIO)
        grown = twice.megabytes - start.megabytes
        memory = grown / max(once.megabytes - start.megabytes, FLOOR / RATIO) if grown > FLOOR else 1.0
        is_right = seconds <= RATIO and memory <= RATIO
        if is_right or repetition == AGAIN:
            break
        # A machine that is shared is slower for minutes at a time: what grows too fast does so in each turn.
        once, twice = cheaper(once, cost(command, number)), cheaper(twice, cost(command, 2 * number))
    print(
        f"{name:18} {command.thing:20} {number:9,} {once.cpu:8.2f} s {seconds:6.2f} {memory:6.2f}"
        f"{'' if is_right else '  grows too fast'}",
        flush=True,
    )
    return is_right


def main() -> None:
    """Measure the commands that are named, or all."""
    os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    print(f"{'command':18} {'in':20} {'n':>9} {'cpu of n':>10} {'cpu ×':>6} {'mem ×':>6}")
    wrong = 0
    for name, several in GROWS.items():
        for command in several if name in sys.argv[1:] or not sys.argv[1:] else ():
            with tempfile.TemporaryDirectory() as folder:
                os.chdir(folder)
                os.environ["RAGEVAL_STORE"] = str(Path(folder) / "store.sqlite")
                wrong += not measured(name, command)
                os.chdir(ROOT)
    raise SystemExit(wrong > 0)


if __name__ == "__main__":
    main()
