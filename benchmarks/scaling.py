"""How rageval's time and memory grow with lines and with the cut-off.

    python benchmarks/scaling.py

A line in the upper half of M should cost what a line in its second quarter costs, and a deep cut-off should
cost little more than a shallow one.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import timing
from contestants import add_rageval_option, exit_with
from run import generate
from sizes import Files, default_data_folder
from table import Row, markdown, verdict
from timing import Sample, megabytes, seconds

HEADER = ("data", "measure", "time, s", "peak, MB", "growth", "aim")
SHARES = {"M25": 0.25, "M50": 0.5, "M": 1.0}
LINE_COST_AIM = 1.3
CUTOFF_AIMS = {10: None, 100: 1.2, 1000: 1.6}


def measure(options: argparse.Namespace, cases: dict[str, tuple[str, str]]) -> dict[str, list[Sample]]:
    """cases: label -> (workload, measure)"""
    commands = {}
    for label, (workload, score) in cases.items():
        files = Files(options.data / workload)
        commands[label] = [options.rageval, str(files.run(0)), str(files.nugget_qrels), "-m", score]
    timing.take_turns(commands, rounds=1)
    return timing.take_turns(commands, options.rounds)


def line_cost_growth(samples: dict[str, list[Sample]]) -> float:
    """Cost of a line in the upper half of M, in costs of a line in the second quarter."""
    quarter, half, whole = (timing.median(samples[name], seconds) for name in SHARES)
    return (whole - half) / 2 / (half - quarter)


def line_rows(options: argparse.Namespace) -> Iterator[Row]:
    samples = measure(options, {name: (name, "alpha_ndcg@10") for name in SHARES})
    for name, share in SHARES.items():
        row = (f"{share:g} M", "alpha_ndcg@10", *medians(samples[name]))
        if share < 1:
            yield (*row, "", "")
        else:
            growth = line_cost_growth(samples)
            yield (*row, f"{growth:.2f} a line", verdict(growth, LINE_COST_AIM))


def cutoff_rows(options: argparse.Namespace) -> Iterator[Row]:
    scores = {k: f"alpha_ndcg@{k}" for k in CUTOFF_AIMS}
    samples = measure(options, {score: ("M", score) for score in scores.values()})
    for k, aim in CUTOFF_AIMS.items():
        ratio = timing.median_ratio(samples[scores[k]], samples[scores[10]], seconds)
        yield ("M", scores[k], *medians(samples[scores[k]]), f"{ratio:.2f} × @10", verdict(ratio, aim))


def medians(samples: list[Sample]) -> tuple[str, str]:
    return f"{timing.median(samples, seconds):.3f}", f"{timing.median(samples, megabytes):.0f}"


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure how rageval grows.")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--data", type=Path, default=default_data_folder(), help="folder of the workloads")
    add_rageval_option(parser)
    options = parser.parse_args()
    generate(list(SHARES), options.data)
    rows = [*line_rows(options), *cutoff_rows(options)]
    print(markdown(HEADER, rows))
    return int(any("over" in row[-1] for row in rows))


if __name__ == "__main__":
    exit_with(main)
