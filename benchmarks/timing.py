"""Time and peak memory of whole processes, contestants taking turns.

Standard library only, and small on purpose: a child's peak memory as the kernel reports it is never below its
parent's, so this process must stay smaller than anything it measures.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

Command = Sequence[str]

MEGABYTE = 10**6
BYTECODE = tempfile.TemporaryDirectory(prefix="rageval-bytecode-")  # removed when this process ends
PEAK_UNIT = 1 if sys.platform == "darwin" else 1024  # bytes in one unit of ru_maxrss


class ProcessError(Exception):
    """A contestant ended with an error; the text is the end of what it wrote to stderr."""


@dataclass(frozen=True)
class Sample:
    """One run of one process."""

    seconds: float
    megabytes: float
    output: str


def environment() -> dict[str, str]:
    """Ours, with every program byte-compiled by its warm-up.

    Peers are byte-compiled when they are installed, an editable rageval is not, and where bytecode may not be
    written it would be compiled anew in every round. A cache of its own leaves the source folders alone.
    """
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**inherited, "PYTHONHASHSEED": "0", "PYTHONPYCACHEPREFIX": BYTECODE.name}


def measure(command: Command) -> Sample:
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        start = time.perf_counter()
        # Not Popen.wait(): only wait4 tells the resources of this one child.
        process = subprocess.Popen(command, stdout=output, stderr=errors, env=environment())
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        errors.seek(0)
        if process.returncode != 0:
            end = errors.read()[-500:].strip()
            raise ProcessError(f"{command[0]} ended with {process.returncode}: {end}")
        return Sample(seconds, usage.ru_maxrss * PEAK_UNIT / MEGABYTE, output.read())


def take_turns(commands: Mapping[str, Command], rounds: int) -> dict[str, list[Sample]]:
    """A, B, C, A, B, C, ...: what disturbs the machine disturbs all of them."""
    samples: dict[str, list[Sample]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            samples[name].append(measure(command))
    return samples


def seconds(sample: Sample) -> float:
    return sample.seconds


def megabytes(sample: Sample) -> float:
    return sample.megabytes


def median(samples: Sequence[Sample], quantity: Callable[[Sample], float]) -> float:
    return statistics.median(map(quantity, samples))


def median_ratio(
    ours: Sequence[Sample], theirs: Sequence[Sample], quantity: Callable[[Sample], float]
) -> float:
    """The median over rounds of the ratio within a round."""
    return statistics.median(
        quantity(mine) / quantity(yours) for mine, yours in zip(ours, theirs, strict=True)
    )
