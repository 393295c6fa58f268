"""Runs and judgements in, a comparison out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from rageval.comparison.comparing import compare
from rageval.comparison.likeness import absent, alike
from rageval.comparison.results import Comparison
from rageval.comparison.settings import Settings
from rageval.evaluation import Evaluator
from rageval.sources import run_source


def compare_runs(
    measures: object,
    runs: Mapping[str, Any] | Iterable[Any],
    qrels: Any,
    settings: Settings | None = None,
    **rules: Any,
) -> Comparison:
    """Score runs and compare them: `{name: run}`, or runs that have names, such as paths.

    A run is anything that `rageval.evaluate` takes; `rules` are its options. Knows which queries a run lacks,
    and which runs are the same but for the order of equal scores.

    >>> qrels = {"q1": {"a": 1}, "q2": {"a": 1}}
    >>> run = {"q1": {"a": 1.0}, "q2": {"a": 1.0}}
    >>> compare_runs("rr", {"one": run, "other": run}, qrels).pairs[0].verdict
    'identical'
    """
    named: Iterable[tuple[str | None, Any]]
    named = runs.items() if isinstance(runs, Mapping) else ((None, run) for run in runs)
    sources = []
    for name, run in named:
        source = replace(run_source(run))
        source.name = source.name if name is None else name
        if source.is_stream:
            source.run()
        sources.append(source)
    evaluator = Evaluator(measures, qrels, **rules)
    results = [evaluator.evaluate(source) for source in sources]
    lacking = absent(sources, evaluator.qrels.query_ids)
    return compare(results, settings, absent=lacking, alike=alike(sources, evaluator.orders))
