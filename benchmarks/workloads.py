"""The benchmark's data, drawn from fixed seeds: runs, nugget qrels and document qrels.

    python benchmarks/workloads.py S M          # prints the folder of each; a workload that is there is kept

Queries are drawn in blocks, each from its own seed, so memory stays small and M25 and M50 are the head of M.
"""

from __future__ import annotations

import argparse
import json
import shutil
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path

import rows
from collection import draw_topics, rank_documents
from sizes import WORKLOADS, Files, Workload, default_data_folder

FORMAT = 1  # raise it when the bytes written change
BLOCK = 250


def generate(workload: Workload, files: Files) -> None:
    with ExitStack() as stack:
        nugget_qrels = stack.enter_context(files.nugget_qrels.open("wb"))
        plain_qrels = stack.enter_context(files.plain_qrels.open("wb"))
        runs = [stack.enter_context(files.run(number).open("wb")) for number in range(workload.runs)]
        for first in range(0, workload.queries, BLOCK):
            topics = draw_topics(workload, first, min(BLOCK, workload.queries - first))
            nugget_qrels.write(rows.nugget_qrels(topics))
            plain_qrels.write(rows.plain_qrels(topics))
            for number, run in enumerate(runs):
                run.write(rows.run(topics, rank_documents(topics, workload.depth, number), number))


def ensure(name: str, data: Path) -> Files:
    """The files of a workload, generated unless the same ones are there already."""
    workload = WORKLOADS[name]
    stamp = json.dumps({"format": FORMAT, **asdict(workload)})
    files = Files(data / name)
    if files.stamp.exists() and files.stamp.read_text() == stamp:
        return files
    shutil.rmtree(files.folder, ignore_errors=True)
    files.folder.mkdir(parents=True)
    generate(workload, files)
    files.stamp.write_text(stamp)  # last: an interrupted folder has no stamp and is drawn again
    return files


def main() -> None:
    parser = argparse.ArgumentParser(description="Generate the benchmark's workloads.")
    parser.add_argument("names", nargs="+", choices=list(WORKLOADS), metavar="NAME")
    parser.add_argument("--data", type=Path, default=default_data_folder(), help="folder to write to")
    options = parser.parse_args()
    for name in options.names:
        print(ensure(name, options.data).folder)


if __name__ == "__main__":
    main()
