"""The workloads by name, and where their files lie. Imports nothing heavy: timing.py says why."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Workload:
    """How much to draw. Topics have 1 + Binomial(nuggets - 1, nugget_share) nuggets each."""

    queries: int
    depth: int
    nuggets: int
    judged: int  # documents judged for one nugget, on average
    nugget_share: float = 1.0
    runs: int = 1


def m_cut_to(queries: int) -> Workload:
    return Workload(queries, depth=1000, nuggets=10, judged=100)


WORKLOADS = {
    "S": Workload(672, depth=100, nuggets=12, judged=20, nugget_share=0.2),
    "M": m_cut_to(1000),
    "M50": m_cut_to(500),
    "M25": m_cut_to(250),
    "L": Workload(10_000, depth=1000, nuggets=20, judged=25),
    "R": Workload(300, depth=100, nuggets=20, judged=40, runs=75),
}


@dataclass(frozen=True)
class Files:
    """Where a workload lies."""

    folder: Path

    @property
    def nugget_qrels(self) -> Path:
        return self.folder / "nugget.qrels"

    @property
    def plain_qrels(self) -> Path:
        return self.folder / "plain.qrels"

    @property
    def stamp(self) -> Path:
        return self.folder / "workload.json"

    def run(self, number: int) -> Path:
        return self.folder / f"run{number:02d}.trec"


def default_data_folder() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "rageval-benchmarks"
