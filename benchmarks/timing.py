"""Time and peak memory of whole processes, contestants taking turns; and the tables that say so.

Standard library only. A child's peak memory as the kernel reports it is never below its parent's, so a small
process begins each that is measured.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

Command = Sequence[str]
Row = Sequence[str]

MEGABYTE = 10**6
BYTECODE = tempfile.TemporaryDirectory(prefix="rageval-bytecode-")  # removed when this process ends
PEAK_UNIT = 1 if sys.platform == "darwin" else 1024  # bytes in one unit of ru_maxrss


LAUNCHER = """
import os, sys, time
begin = time.perf_counter()
child = os.fork()
if not child:
    os.execvp(sys.argv[2], sys.argv[2:])
_, status, used = os.wait4(child, 0)
seconds = time.perf_counter() - begin
found = os.waitstatus_to_exitcode(status), seconds, used.ru_utime + used.ru_stime, used.ru_maxrss
with open(sys.argv[1], "w") as file:
    print(*found, file=file)
"""


class ProcessError(Exception):
    """A contestant ended with an error; the text is the end of what it wrote to stderr."""


@dataclass(frozen=True)
class Sample:
    """One run of one process and its children: wall clock, processor time, peak memory of the largest."""

    seconds: float
    cpu: float
    megabytes: float
    output: str


def environment() -> dict[str, str]:
    """Return ours, with every program byte-compiled by its warm-up.

    Peers are byte-compiled when they are installed, an editable rageval is not, and where bytecode may not be
    written it would be compiled anew in every round. A cache of its own leaves the source folders alone.
    """
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**inherited, "PYTHONHASHSEED": "0", "PYTHONPYCACHEPREFIX": BYTECODE.name}


def measure(command: Command, codes: Sequence[int] = (0,)) -> Sample:
    """Run a command to its end, which has to be one of these exit codes."""
    with (
        tempfile.TemporaryFile("w+") as output,
        tempfile.TemporaryFile("w+") as errors,
        tempfile.NamedTemporaryFile("w+") as used,
    ):
        launcher = [sys.executable, "-S", "-c", LAUNCHER, used.name, *command]
        subprocess.run(launcher, stdout=output, stderr=errors, env=environment(), check=True)
        output.seek(0)
        errors.seek(0)
        code, wall, cpu, peak = used.read().split()
        if int(code) not in codes:
            end = errors.read()[-500:].strip()
            raise ProcessError(f"{command[0]} ended with {code}: {end}")
        return Sample(float(wall), float(cpu), int(peak) * PEAK_UNIT / MEGABYTE, output.read())


def take_turns(commands: Mapping[str, Command], rounds: int) -> dict[str, list[Sample]]:
    """Measure A, B, C, A, B, C, …: what disturbs the machine disturbs all of them."""
    samples: dict[str, list[Sample]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            samples[name].append(measure(command))
    return samples


def warm_up(commands: Mapping[str, Command], ours: str = "rageval") -> dict[str, Command]:
    """Run each once, unmeasured: it fills the disk's and numba's caches. A peer that fails is dropped."""
    working = {}
    for name, command in commands.items():
        try:
            measure(command)
        except ProcessError as failure:
            if name.startswith(ours):
                raise
            note(f"{name} is skipped: {failure}")
        else:
            working[name] = command
    return working


def seconds(sample: Sample) -> float:
    return sample.seconds


def cpu(sample: Sample) -> float:
    return sample.cpu


def megabytes(sample: Sample) -> float:
    return sample.megabytes


def median(samples: Sequence[Sample], quantity: Callable[[Sample], float]) -> float:
    return statistics.median(map(quantity, samples))


def median_ratio(
    ours: Sequence[Sample], theirs: Sequence[Sample], quantity: Callable[[Sample], float]
) -> float:
    """Return the median over rounds of the ratio within a round."""
    return statistics.median(
        quantity(mine) / quantity(yours) for mine, yours in zip(ours, theirs, strict=True)
    )


def markdown(header: Row, rows: Sequence[Row]) -> str:
    """Return a Markdown table that reads well in a terminal, too."""
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    rule = ["-" * width for width in widths]
    lines = ([cell.ljust(width) for cell, width in zip(row, widths, strict=True)] for row in (header, *rows))
    first, *others = ("| " + " | ".join(line) + " |" for line in lines)
    return "\n".join([first, "| " + " | ".join(rule) + " |", *others])


def verdict(value: float, aim: float | None) -> str:
    """Return `≤ 0.45 ok`, `≤ 0.45 over`, or nothing where there is no aim."""
    if aim is None:
        return ""
    return f"≤ {aim:g} {'ok' if value <= aim else 'over'}"


def conditions(rounds: int) -> str:
    machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"
    return f"{machine}, Python {platform.python_version()}, {rounds} rounds."


def note(text: str) -> None:
    print(f"note: {text}", file=sys.stderr)


def default_data_folder() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "rageval-benchmarks"


def existing_command(text: str) -> str:
    path = shutil.which(text)
    if path is None:
        raise argparse.ArgumentTypeError(f"no program {text}; install rageval or name its command")
    return path


def add_rageval_option(parser: argparse.ArgumentParser) -> None:
    """Add `--rageval`; what is installed beside this interpreter is measured when nothing is said."""
    default = str(Path(sys.executable).with_name("rageval"))
    parser.add_argument("--rageval", type=existing_command, default=default, help="the command to measure")


def exit_with(main: Callable[[], int]) -> NoReturn:
    try:
        sys.exit(main())
    except ProcessError as failure:
        sys.exit(str(failure))
