"""What it costs to compare runs with one another, beside ranx where it can, and to check them.

    python benchmarks/compare.py --peers path/to/peers/bin/python

Workload R: 75 runs of 300 queries, three measures, 10,000 randomizations of every pair. ranx tests each pair
by itself, twice; with all 75 runs that is 16,650 tests, so it is measured with a few runs, and so is rageval.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import timing
from run import generate
from timing import (
    Command,
    Row,
    Sample,
    add_rageval_option,
    conditions,
    default_data_folder,
    exit_with,
    markdown,
    megabytes,
    note,
    seconds,
    warm_up,
)
from workloads import WORKLOADS, Files

HEADER = ("runs", "pairs", "program", "time, s", "peak, MB", "time of rageval's", "memory of rageval's")
MEASURES = "ndcg@10,recall@50,ap"
WAYS = {"holm": ["--adjust", "holm"], "max-T": ["--adjust", "max_t"]}
PEER = "ranx"
SCRIPT = Path(__file__).with_name("peers") / "ranx_compare_script.py"


def commands(options: argparse.Namespace, number: int) -> dict[str, Command]:
    files = Files(options.data / "R")
    runs = [str(files.run(index)) for index in range(number)]
    ours = [options.rageval, "compare", *runs, str(files.plain_qrels), "-m", MEASURES, "--all-pairs"]
    ours += ["--draws", str(options.draws), "--format", "csv"]
    scoring = [options.rageval, *runs, str(files.plain_qrels), "-m", MEASURES]
    entrants: dict[str, Command] = {f"rageval, {name}": [*ours, *way] for name, way in WAYS.items()}
    entrants["rageval, only scores"] = scoring
    entrants["rageval doctor"] = [options.rageval, "doctor", *runs, str(files.plain_qrels)]
    if number <= options.few:
        entrants[PEER] = [options.peers, str(SCRIPT), str(files.plain_qrels), str(options.draws), *runs]
    return entrants


def table_rows(number: int, samples: dict[str, list[Sample]]) -> Iterator[Row]:
    ours = samples[f"rageval, {next(iter(WAYS))}"]
    for name, sample in samples.items():
        yield (
            str(number),
            f"{number * (number - 1) // 2:,}",
            name,
            f"{timing.median(sample, seconds):.2f}",
            f"{timing.median(sample, megabytes):.0f}",
            f"{timing.median_ratio(sample, ours, seconds):.2f}",
            f"{timing.median_ratio(sample, ours, megabytes):.2f}",
        )


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure comparisons of runs.")
    add_rageval_option(parser)
    parser.add_argument("--peers", default="python", help="the peers' interpreter")
    parser.add_argument("--data", type=Path, default=default_data_folder(), help="folder of the workloads")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--draws", type=int, default=10_000)
    parser.add_argument("--few", type=int, default=4, help="as many runs for ranx")
    return parser.parse_args()


def main() -> int:
    options = read_options()
    generate(["R"], options.data)
    rows: list[Row] = []
    for number in (options.few, WORKLOADS["R"].runs):
        entrants = warm_up(commands(options, number))
        rows += table_rows(number, timing.take_turns(entrants, options.rounds))
        note(f"{number} runs are done")
    print(markdown(HEADER, rows))
    print(f"\n{conditions(options.rounds)} {options.draws:,} randomizations of {MEASURES}.")
    return 0


if __name__ == "__main__":
    exit_with(main)
