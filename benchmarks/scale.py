"""Runs beyond memory: seconds and peak memory against lines, for streams and for scattered files.

    python benchmarks/scale.py 1 10 100            # millions of lines, made on the fly and piped in
    python benchmarks/scale.py 10 --scattered      # a file in which no two rows of a query are neighbours
    python benchmarks/scale.py 10 --file --jobs 2  # a file, read in parts by two processes

A stream is kept in a temporary file beside (TMPDIR), 55 bytes a line; so is a file.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from timing import markdown

DEPTH = 1000
HEADER = ("lines", "source", "jobs", "time, s", "lines a second", "peak, MB")
MEASURED = """
import resource, sys
from rageval.cli import main
try: main(sys.argv[1:])
except SystemExit as done:
    whose = resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN
    own, others = (resource.getrusage(who).ru_maxrss for who in whose)
    print(max(own, others) // 1024); sys.exit(done.code)
"""


def rows(queries: int, scattered: bool) -> Iterator[str]:
    """Pages of a run, query by query or rank by rank."""
    if scattered:
        for rank in range(DEPTH):
            yield "".join(row(query, rank) for query in range(queries))
    else:
        for query in range(queries):
            yield "".join(row(query, rank) for rank in range(DEPTH))


def row(query: int, rank: int) -> str:
    return f"{10**7 + query} Q0 {document(query, rank)} {rank + 1} {DEPTH - rank}.5 run\n"


def document(query: int, rank: int) -> str:
    return f"clueweb12-{(query * 7919 + rank * 104729) % 10**7:07}-tw-{rank:05}"


def write(target: IO[str], queries: int, scattered: bool) -> None:
    for page in rows(queries, scattered):
        target.write(page)


def measure(queries: int, options: argparse.Namespace, folder: Path) -> tuple[float, int]:
    """Seconds and megabytes of one command."""
    judged = (
        f"{10**7 + query} 0 {document(query, workers)} 1\n"
        for query in range(queries)
        for workers in (2, 11, 55)
    )
    (folder / "qrels").write_text("".join(judged))
    on_disk = options.file or options.scattered
    words = ["run" if on_disk else "-", "qrels", "-m", "ndcg@10,recall@50", "-j", str(options.jobs)]
    if on_disk:
        with (folder / "run").open("w") as target:
            write(target, queries, options.scattered)
    start = time.perf_counter()
    with subprocess.Popen(
        [sys.executable, "-c", MEASURED, *words],
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as scorer:
        assert scorer.stdin is not None
        assert scorer.stdout is not None
        if not on_disk:
            write(scorer.stdin, queries, scattered=False)
        scorer.stdin.close()
        printed = scorer.stdout.read()
    return time.perf_counter() - start, int(printed.split()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure rageval beyond memory.")
    parser.add_argument("millions", nargs="+", type=int, help="of lines")
    parser.add_argument("--file", action="store_true", help="write a file first, and score that")
    parser.add_argument("--scattered", action="store_true", help="a file in order of ranks")
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    source = "scattered file" if options.scattered else "file" if options.file else "stream"
    rows = []
    for millions in options.millions:
        with tempfile.TemporaryDirectory() as name:
            seconds, peak = measure(millions * 1000, options, Path(name))
        speed = f"{millions * 10**6 / seconds:,.0f}"
        rows.append((f"{millions} M", source, str(options.jobs), f"{seconds:.1f}", speed, str(peak)))
    print(markdown(HEADER, rows))


if __name__ == "__main__":
    main()
