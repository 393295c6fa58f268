"""From the texts of every setting to the runs whose documents are pooled."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from rageval.building.bm25 import Index
from rageval.building.fusion import fused
from rageval.building.plan import Plan
from rageval.building.variants import Topics
from rageval.errors import UsageError
from rageval.judges.gathering import passages_in
from rageval.scoring.runs import Run
from rageval.sources import read_run

Runs = dict[str, dict[str, Run]]  # setting -> name -> run


def runs_of(plan: Plan, topics: Topics) -> Runs:
    """The runs that are given; else what BM25 finds in the corpus."""
    return given(plan.runs) if plan.runs else found(plan, topics)


def given(runs: tuple[tuple[str, str], ...]) -> Runs:
    """The runs in these files, by setting and the name of the file."""
    table: Runs = {}
    for setting, path in runs:
        named = table.setdefault(setting, {})
        name = Path(path).name if Path(path).name not in named else path
        if name in named:
            raise UsageError(f"{path}: is named twice for the setting {setting}; expected each run once")
        named[name] = read_run(path)
    return table


def found(plan: Plan, topics: Topics) -> Runs:
    """What BM25 finds for every setting."""
    index = Index(passages_in(plan.corpus))
    return {
        setting: {"bm25": index.run(texts, "bm25", plan.fuse_depth)}
        for setting, texts in topics.items()
        if texts
    }


def fusions(plan: Plan, runs: Runs) -> dict[str, Run]:
    """A run a setting, in the order of the settings."""
    return {
        setting: fused(named.values(), plan.method, plan.fuse_depth, plan.k, setting)
        for setting, named in runs.items()
    }


def pooled_runs(plan: Plan, runs: Runs, fusions: Mapping[str, Run]) -> dict[str, Run]:
    """What is pooled: the fusion of every setting, and if wished each run, too."""
    every = {f"{setting}/{name}": run for setting, named in runs.items() for name, run in named.items()}
    return {**fusions, **(every if plan.unfused else {})}
