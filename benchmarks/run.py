"""rageval beside its peers: time and peak memory of whole processes.

    python benchmarks/run.py S M --rounds 5 --peers path/to/peers/bin/python

Prints a Markdown table on stdout and notes on stderr; ends with 1 if an aim is missed or values differ.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import timing
from agreement import differences
from contestants import RAGEVAL, add_rageval_option, commands, exit_with, importable, note, warm_up
from contests import CONTESTS, Contest, Peer
from sizes import Files, default_data_folder
from table import Row, markdown, verdict
from timing import Sample, megabytes, seconds

HEADER = ("data", "measures", "against", "time, s", "ratio", "aim", "peak, MB", "ratio", "aim for rageval")
SIZES = tuple(dict.fromkeys(contest.workload for contest in CONTESTS))


def generate(names: list[str], data: Path) -> None:
    """In a process of its own: see timing.py for why this one has to stay small."""
    script = Path(__file__).with_name("workloads.py")
    subprocess.run([sys.executable, str(script), *names, "--data", str(data)], check=True, stdout=sys.stderr)


def hold(contest: Contest, options: argparse.Namespace, available: set[Peer]) -> dict[str, list[Sample]]:
    peers = [peer for peer in contest.time_aims if peer in available]
    files = Files(options.data / contest.workload)
    entrants = warm_up(commands(contest, files, options.rageval, options.peers, peers))
    return timing.take_turns(entrants, options.rounds)


def table_rows(contest: Contest, samples: dict[str, list[Sample]]) -> Iterator[Row]:
    ours = samples[RAGEVAL]
    aims = {peer.name: aim for peer, aim in contest.time_aims.items()}
    our_memory = timing.median(ours, megabytes)
    for name, theirs in samples.items():
        if name == RAGEVAL:
            continue
        time_ratio = timing.median_ratio(ours, theirs, seconds)
        yield (
            contest.workload,
            contest.measures,
            name,
            f"{timing.median(ours, seconds):.3f} / {timing.median(theirs, seconds):.3f}",
            f"{time_ratio:.3f}",
            verdict(time_ratio, aims[name]),
            f"{our_memory:.0f} / {timing.median(theirs, megabytes):.0f}",
            f"{timing.median_ratio(ours, theirs, megabytes):.2f}",
            verdict(our_memory, contest.memory_aim),
        )


def report_differences(contest: Contest, samples: dict[str, list[Sample]]) -> bool:
    found = False
    for name, theirs in samples.items():
        for difference in differences(samples[RAGEVAL][0].output, theirs[0].output):
            note(f"{contest.workload}: rageval and {name} differ in {difference}")
            found = True
    return found


def conditions(rounds: int) -> str:
    machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"
    return f"{machine}, Python {platform.python_version()}, {rounds} rounds."


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure rageval beside its peers.")
    parser.add_argument("sizes", nargs="+", choices=SIZES, metavar="SIZE", help="S M L R")
    parser.add_argument("--rounds", type=int, default=5, help="measured runs of each program (5)")
    parser.add_argument("--peers", default=sys.executable, metavar="PYTHON", help="python with the peers")
    parser.add_argument("--peer", action="append", metavar="NAME", help="only this peer (may be repeated)")
    parser.add_argument("--data", type=Path, default=default_data_folder(), help="folder of the workloads")
    add_rageval_option(parser)
    return parser.parse_args()


def main() -> int:
    options = read_options()
    contests = [contest for contest in CONTESTS if contest.workload in options.sizes]
    wanted = {peer for contest in contests for peer in contest.time_aims}
    wanted = {peer for peer in wanted if not options.peer or peer.name in options.peer}
    available = importable(options.peers, wanted)
    generate(options.sizes, options.data)

    rows: list[Row] = []
    differ = False
    for contest in contests:
        samples = hold(contest, options, available)
        rows.extend(table_rows(contest, samples))
        differ |= report_differences(contest, samples)
    print(conditions(options.rounds), markdown(HEADER, rows), sep="\n\n")
    return int(differ or any("over" in cell for row in rows for cell in row))


if __name__ == "__main__":
    exit_with(main)
