"""Our measures inside ir_measures: `install()` once, then use them beside its own.

    import ir_measures, rageval.interop
    rageval.interop.install()
    ir_measures.calc_aggregate([ir_measures.parse_measure("coverage@20"), ir_measures.nDCG@10], qrels, run)

Names that ir_measures has already (`alpha_nDCG`, `nDCG`, …) stay its own; ours are registered under our
names: `alpha_ndcg`, `coverage`, `all_gold`, ….
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rageval.errors import MissingPackage
from rageval.measures import builtin
from rageval.measures.base import Measure, Parameter


def install() -> dict[str, Any]:
    """Register every measure of rageval with ir_measures; calling it again changes nothing.

    Returns the registered measures by name.
    """
    try:
        import ir_measures
    except ImportError:
        raise MissingPackage("ir_measures", "rageval.interop.install()") from None
    registry: dict[str, Any] = ir_measures.measures.registry
    register: Any = ir_measures.measures.register
    for name, measure in builtin().items():
        if name not in registry:
            register(_as_class(measure, ir_measures), name=name)
    return {name: registry[name]() for name in builtin()}


def _as_class(measure: Measure, ir_measures: Any) -> type:
    """A Measure class of ir_measures' that hands its DataFrames to ours."""
    info = ir_measures.measures.ParamInfo
    parameters = {"cutoff": info(dtype=int, required=False, desc="ranking cutoff threshold")}
    # ir_measures takes the mean itself, so there is no `over`
    parameters |= {name: _param_info(measure.declared[name], info) for name in measure.arguments}

    def runtime_impl(self: Any, qrels: Any, run: Any) -> Iterator[Any]:
        from rageval.evaluation import evaluate

        given = {name: value for name, value in self.params.items() if name != "cutoff"}
        wanted = measure(**given)
        if self.params.get("cutoff") is not None:
            wanted = wanted @ self.params["cutoff"]
        for query, value in evaluate([wanted], run, qrels)[wanted].by_query.items():
            yield ir_measures.util.Metric(query, self, value)

    attributes = {
        "__name__": measure.name,
        "NAME": measure.name,
        "PRETTY_NAME": measure.name,
        "SHORT_DESC": measure.summary,
        "SUPPORTED_PARAMS": parameters,
        "QREL_INPUTS": ["query_id", "doc_id", "relevance", "iteration"],
        "RUN_INPUTS": ["query_id", "doc_id", "score"],
        "__doc__": measure.page,
        "runtime_impl": runtime_impl,
    }
    return type(measure.name, (ir_measures.measures.Measure,), attributes)


def _param_info(parameter: Parameter, info: Any) -> Any:
    kinds = (int, float) if parameter.kind is float else parameter.kind
    return info(
        dtype=kinds, required=False, default=parameter.default, choices=parameter.choices or _any(info)
    )


def _any(info: Any) -> Any:
    """ir_measures' own mark for a parameter without choices."""
    return info().choices
