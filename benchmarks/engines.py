"""One large run scored by one process, two, a Dask cluster of two, and in polars and DuckDB.

    python benchmarks/engines.py 10 --peers path/to/python-with-polars-duckdb-and-rageval[dask]

Everybody reads the same two files, ranks, joins and computes recall@50 and nDCG@10; values have to agree to
1e-9. Whole processes are measured, start-up and the cluster's start included; the peak is that of the largest
process.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import timing
from scale import document, write
from timing import Command, Row, Sample, add_rageval_option, exit_with, markdown, megabytes, seconds, warm_up

HEADER = ("lines", "engine", "time, s", "lines a second", "peak, MB", "time of rageval's")
MEASURES = "recall@50,ndcg@10"
PEERS = Path(__file__).with_name("peers")
AGREEMENT = 1e-9
JUDGED = (
    (2, 2),
    (11, 1),
    (55, 2),
    (7, 1),
    (130, 1),
    (3, 0),
)  # the places of judged documents, and their grades


def entrants(options: argparse.Namespace, folder: Path) -> dict[str, Command]:
    """Everybody's command; those with a number in their name use so many cores."""
    run, qrels = str(folder / "run"), str(folder / "qrels")
    words = [run, qrels, "-m", MEASURES, "-p", "17"]
    entrants: dict[str, Command] = {"rageval": [options.rageval, *words]}
    entrants["rageval -j 2"] = [options.rageval, *words, "-j", "2"]
    entrants["rageval --dask, 2 workers"] = [options.peers, str(PEERS / "dask_script.py"), "2", *words]
    for threads in ("1", "2"):
        script = [options.peers, str(PEERS / "polars_script.py"), qrels, run]
        entrants[f"polars, {threads}"] = ["env", f"POLARS_MAX_THREADS={threads}", *script]
        entrants[f"DuckDB, {threads}"] = [options.peers, str(PEERS / "duckdb_script.py"), qrels, run, threads]
    return entrants


def write_files(folder: Path, queries: int) -> None:
    with (folder / "run").open("w") as target:
        write(target, queries, scattered=False)
    with (folder / "qrels").open("w") as target:
        for query in range(queries):
            for rank, grade in JUDGED[: 3 + query % 4]:
                target.write(f"{10**7 + query} 0 {document(query, rank)} {grade}\n")


def values(sample: Sample) -> dict[str, float]:
    """The means that were printed, by measure."""
    lines = [line.split() for line in sample.output.splitlines() if line.strip()]
    return {words[0]: float(words[-1]) for words in lines}


def refuse_differences(samples: dict[str, list[Sample]]) -> None:
    expected = values(samples["rageval"][0])
    for name, runs in samples.items():
        for values_by_run in map(values, runs):
            same = values_by_run.keys() == expected.keys()
            if not same or any(
                abs(values_by_run[measure] - expected[measure]) > AGREEMENT for measure in values_by_run
            ):
                raise timing.ProcessError(f"{name}: printed {values_by_run}, expected {expected}")


def rows(millions: int, samples: dict[str, list[Sample]]) -> list[Row]:
    table = []
    for name, runs in samples.items():
        taken = timing.median(runs, seconds)
        ratio = timing.median_ratio(runs, samples["rageval"], seconds)
        speed = f"{millions * 10**6 / taken:,.0f}"
        peak = f"{timing.median(runs, megabytes):,.0f}"
        table.append((f"{millions} M", name, f"{taken:.2f}", speed, peak, f"{ratio:.2f}"))
    return table


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure engines with one large run.")
    parser.add_argument("millions", nargs="+", type=int, help="of lines")
    parser.add_argument("--peers", default="python", help="an interpreter with polars, duckdb, rageval[dask]")
    parser.add_argument("--rounds", type=int, default=3)
    add_rageval_option(parser)
    options = parser.parse_args()
    table: list[Row] = []
    for millions in options.millions:
        with tempfile.TemporaryDirectory() as name:
            write_files(Path(name), millions * 1000)
            working = warm_up(entrants(options, Path(name)))
            samples = timing.take_turns(working, options.rounds)
        refuse_differences(samples)
        table += rows(millions, samples)
    print(markdown(HEADER, table))
    return 0


if __name__ == "__main__":
    exit_with(main)
