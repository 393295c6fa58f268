"""Measures of rageval as measures of ir_measures, and so of PyTerrier.

    import ir_measures, rageval
    ir_measures.calc_aggregate([rageval.coverage @ 20, ir_measures.nDCG @ 10], qrels, run)
    pt.Experiment(systems, topics, qrels, [rageval.alpha_ndcg @ 10, "ndcg_cut_10"])

After `rageval.interop.install()`, `ir_measures.parse_measure("coverage@20")` also knows their names. Names
that ir_measures has already (`alpha_nDCG`, `nDCG`, …) keep their meaning.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import cache
from typing import Any

from rageval.errors import MeasureError, MissingPackage, NothingJudged, Place
from rageval.measures import measures_taking
from rageval.measures.base import COVERING, Measure
from rageval.measures.ranking import Ranking
from rageval.scoring.evaluation import evaluate
from rageval.scoring.qrels import Qrels
from rageval.scoring.scores import combined
from rageval.subjects import RUNS, kind_of_measure


def install() -> dict[str, Measure]:
    """Register the names of our measures with ir_measures.

    Calling it again changes nothing.

    Returns
    -------
    dict
        The measures by name.
    """
    try:
        import ir_measures
    except ImportError:
        raise MissingPackage("ir_measures", "rageval.interop.install()") from None
    registry: dict[str, Any] = ir_measures.measures.registry
    measures = measures_taking("Ranking")
    for name, measure in measures.items():
        registry.setdefault(name, measure())  # a copy, as PyTerrier writes to what it finds there
    return measures


@cache
def ir_measures_class() -> type[Measure]:
    """Return a class that is both a measure of rageval and one of ir_measures.

    It is never instantiated: a `Measure` names it as its `__class__`, and ir_measures finds its attributes
    here.
    """
    from ir_measures.measures import Measure as TheirMeasure
    from ir_measures.measures import ParamInfo

    class SharedMeasure(Measure, TheirMeasure):  # type: ignore[misc]  # untyped, and never instantiated
        AT_PARAM = "k"
        QREL_INPUTS = ("query_id", "doc_id", "relevance", "iteration")
        RUN_INPUTS = ("query_id", "doc_id", "score")
        NAME = property(lambda self: f"rageval.{self.name}")  # no provider takes it for its own
        PRETTY_NAME = property(lambda self: self.name)
        SHORT_DESC = property(lambda self: self.summary)
        SUPPORTED_PARAMS = property(lambda self: _described_parameters(self, ParamInfo))
        params = property(lambda self: self.arguments | ({} if self.k is None else {"k": self.k}))

        def validate_params(self) -> None:
            """Refuse measures that ir_measures cannot compute; parameters were checked when they were set."""
            if kind_of_measure(self) is not RUNS:
                raise MeasureError(f"{self} scores {kind_of_measure(self).noun}, but ir_measures scores runs")
            if self.argument == COVERING:
                raise MeasureError(f"{self} scores spans and chunks, but ir_measures scores runs")

        def runtime_impl(self, qrels: Any, run: Any) -> Iterator[Any]:
            from ir_measures import Metric

            for query, value in _values_by_query(self, qrels, run):
                yield Metric(query, self, value)

        def aggregator(self) -> Any:
            return _Aggregator(self)

    return SharedMeasure


class _Aggregator:
    """Combine the values of the queries as the measure declares."""

    def __init__(self, measure: Measure) -> None:
        self._measure = measure
        self._values: list[float] = []

    def add(self, value: float) -> None:
        self._values.append(value)

    def result(self) -> float:
        return combined(self._measure, self._values)


def _values_by_query(measure: Measure, qrels: Any, run: Any) -> Iterator[tuple[str, float]]:
    """Yield the value of each judged query; PyTerrier passes DataFrames with a part of the queries."""
    if not len(qrels):
        return
    judged_rows = run[run["query_id"].astype(str).isin(set(qrels["query_id"].astype(str)))]
    if len(judged_rows):
        score = evaluate([measure], judged_rows, qrels)[measure]
        yield from zip(score.query_ids, score.numbers, strict=True)
        return
    if len(run):
        problem = NothingJudged("none of the run's queries is judged", at=Place(str(measure)))
        warnings.warn(problem, stacklevel=2)
    for topic in Qrels.from_pandas(qrels).topics:
        yield topic.query_id, measure.value(Ranking(topic, (), (), 0))


def _described_parameters(measure: Measure, info: Any) -> dict[str, Any]:
    """Return the parameters of a measure, described as ir_measures describes its own."""
    parameters = {"k": info(dtype=int, desc="ranking cutoff threshold")} if measure.takes_k else {}
    for name in measure.arguments:
        ours = measure.declared[name]
        kinds = (int, float) if ours.kind is float else ours.kind
        choices = {"choices": ours.choices} if ours.choices else {}
        parameters[name] = info(dtype=kinds, default=ours.default, **choices)
    return parameters
