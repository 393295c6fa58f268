"""Measures that rageval does not compute itself: everything else that ir_measures knows.

It gets documents judged once (the highest grade over the nuggets), our ranking as scores, and one
measure a call, so that none of its known faults with nuggets, ties and mixed parameters can show.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rageval.errors import MeasureError, MissingPackage, UsageError
from rageval.measures.base import HIGHER, NEITHER, Measure, checked_cutoff, checked_direction

# Measures of ours that ir_measures computes too, for --provider.
IR_MEASURES_NAMES = {
    "alpha_ndcg": "alpha_nDCG",
    "alpha_dcg": "alpha_DCG",
    "err_ia": "ERR_IA",
    "nerr_ia": "nERR_IA",
    "nrbp": "NRBP",
    "nnrbp": "nNRBP",
    "map_ia": "AP_IA",
    "p_ia": "P_IA",
    "strec": "StRecall",
    "recall": "R",
    "ndcg": "nDCG",
    "ap": "AP",
    "rr": "RR",
    "p": "P",
    "success": "Success",
    "judged": "Judged",
}
_OF_NUGGETS = ("alpha_nDCG", "alpha_DCG", "ERR_IA", "nERR_IA", "NRBP", "nNRBP", "AP_IA", "P_IA", "StRecall")
# Counts that ir_measures reports beside measures: more of them is neither better nor worse.
_COUNTS = ("NumQ", "NumRel", "NumRet")


class ForeignMeasure:
    """A measure of ir_measures', perhaps by one of its providers."""

    changed: Mapping[str, Any] = {}
    rel = None

    def __init__(self, measure: Any, provider: str | None = None) -> None:
        self.measure = measure
        self.provider = provider
        self.name = str(measure.NAME)
        self.totals = type(measure.aggregator()).__name__ == "SumAgg"  # counts are added up, not averaged
        cutoff = measure.params.get("cutoff")
        self.k: int | None = checked_cutoff(cutoff, self.name) if cutoff is not None else None

    @property
    def better(self) -> str:
        """Which values are good. ir_measures does not say: all but the counts are good when high.

        A measure that somebody defined for ir_measures may have an attribute `better` of its own.
        """
        counts = self.name in _COUNTS and not (self.name == "NumRet" and "rel" in self.measure.params)
        said = getattr(self.measure, "better", NEITHER if counts else HIGHER)
        return checked_direction(said, self.name)

    @property
    def wants_nuggets(self) -> bool:
        """Whether it scores nuggets rather than documents."""
        return self.name in _OF_NUGGETS

    def compute(
        self, qrels: Any, ranking: Mapping[str, Mapping[str, float]], query_ids: list[str]
    ) -> NDArray[np.float64]:
        """One value a query, 0 for a query that gets none."""
        ir_measures = _ir_measures()
        source = _provider(ir_measures, self.provider) if self.provider else ir_measures
        try:
            metrics = list(source.iter_calc([self.measure], qrels, ranking))
        except MemoryError:
            raise
        except Exception as error:  # each provider has its own errors, down to those of a Perl script
            raise MeasureError(f"{self}: ir_measures cannot compute it: {error}{self._way_out()}") from error
        value = {metric.query_id: float(metric.value) for metric in metrics}
        return np.array([value.get(query, float(self.measure.DEFAULT)) for query in query_ids], np.float64)

    def _way_out(self) -> str:
        """How to install a provider that could compute it, if none that could is there."""
        known = _ir_measures().providers.registry.items()
        able = [(name, provider) for name, provider in known if provider.supports(self.measure)]
        if not able or any(provider.is_available() for _, provider in able):
            return ""
        name, provider = able[0]
        return f"; {name} could, install it: {provider.install_instructions()}"

    def signature(self, **context: object) -> str:
        """Everything a stranger needs to compute the same number, in one line."""
        tool = f"ir_measures-{_ir_measures().__version__}" + (f"-{self.provider}" if self.provider else "")
        return "|".join([str(self), f"by:{tool}", *(f"{key}:{value}" for key, value in context.items())])

    def __str__(self) -> str:
        return str(self.measure)

    __repr__ = __str__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ForeignMeasure) and (str(self), self.provider) == (
            str(other),
            other.provider,
        )

    def __hash__(self) -> int:
        return hash((str(self), self.provider))


def foreign_measure(measure: object) -> ForeignMeasure | None:
    """The measure of this name (or this object) that ir_measures knows, or None."""
    try:
        ir_measures = _ir_measures()
    except MissingPackage:
        return None
    if isinstance(measure, ir_measures.measures.Measure):
        return ForeignMeasure(measure)
    if not isinstance(measure, str):
        return None
    for spelling in _spellings(ir_measures, measure):
        try:
            parsed = ir_measures.parse_measure(spelling)
            parsed.validate_params()
        except (NameError, ValueError, TypeError, KeyError, SyntaxError, AttributeError, AssertionError):
            continue
        return ForeignMeasure(parsed)
    return None


def by_provider(measure: Measure | ForeignMeasure, provider: str) -> ForeignMeasure:
    """The same measure, computed by a provider of ir_measures."""
    _provider(_ir_measures(), provider)
    if isinstance(measure, ForeignMeasure):
        return ForeignMeasure(measure.measure, provider)
    name = IR_MEASURES_NAMES.get(measure.name)
    if name is None:
        raise MeasureError(f"{measure}: ir_measures has no such measure; leave out --provider")
    inner = ",".join(f"{key}={value}" for key, value in measure.changed.items())
    cutoff = "" if measure.k is None else f"@{measure.k}"
    text = name + (f"({inner})" if inner else "") + cutoff
    found = foreign_measure(text)
    if found is None:
        raise MeasureError(f"{measure}: ir_measures cannot read {text!r}; leave out --provider")
    return ForeignMeasure(found.measure, provider)


def _spellings(ir_measures: Any, text: str) -> list[str]:
    """The text, and the text with the name as ir_measures writes it."""
    head = text.partition("@")[0].partition("(")[0]
    folded = head.strip().lower().replace("-", "_")
    names = [name for name in ir_measures.measures.registry if name.lower() == folded]
    return [text, *(name + text[len(head) :] for name in names if name != head)]


def _provider(ir_measures: Any, name: str) -> Any:
    providers = ir_measures.providers.registry
    if name not in providers:
        raise UsageError(f"--provider {name!r}: expected one of {', '.join(providers)}")
    if not providers[name].is_available():
        how = providers[name].install_instructions()
        raise UsageError(f"--provider {name}: is not installed here; ir_measures says: {how}")
    return providers[name]


def _ir_measures() -> Any:
    try:
        import ir_measures
    except ImportError:
        raise MissingPackage("ir_measures", "this measure") from None
    return ir_measures
