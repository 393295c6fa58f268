"""Measures that rageval does not compute itself: everything else that ir_measures knows.

Its providers get the user's own scores and grades, so that a value is the one that they print themselves.
They get documents judged once (the highest grade over the nuggets) and one measure a call, so that none of
the known faults with nuggets and mixed parameters can show.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from typing import Any

from rageval.core.signature import join_signature
from rageval.errors import MeasureError, MissingPackage, UsageError
from rageval.measures.base import (
    HIGHER,
    MEAN,
    NEITHER,
    SUM,
    About,
    Measure,
    _checked_cutoff,
    checked_direction,
)

_USUAL_REL = 1
_NO_ID = " "  # no document has it
_HIGHEST_OF_GDEVAL = 4
_OF_GAINS = ("compat", "judged", "runtime")  # providers that read grades as Python has them
_GDEVAL, _PYTREC_EVAL = "gdeval", "pytrec_eval"  # a Perl script and C code, with narrow views of their input
_IPREC = "trec_eval-9.0.8"  # trec_eval 10 cuts recall elsewhere, and no provider has that
_OF_NUGGETS = ("alpha_nDCG", "alpha_DCG", "ERR_IA", "nERR_IA", "NRBP", "nNRBP", "AP_IA", "P_IA", "StRecall")
# Counts that ir_measures reports beside measures: more of them is neither better nor worse.
_COUNTS = ("NumQ", "NumRel", "NumRet")


class ForeignMeasure:
    """A measure of ir_measures', perhaps by one of its providers."""

    changed: Mapping[str, Any] = {}
    about = About(papers=("macavaney2021streamlining",))
    sees_all = True
    bounds = limits = None

    def __init__(self, measure: Any, provider: str | None = None) -> None:
        self.measure = measure
        self.provider = provider
        self.name = str(measure.NAME)
        self.aggregate = SUM if type(measure.aggregator()).__name__ == "SumAgg" else MEAN
        cutoff = measure.params.get("cutoff")
        self.k: int | None = _checked_cutoff(cutoff, self.name) if cutoff is not None else None

    @property
    def better(self) -> str:
        """Which values are good. ir_measures does not say: all but the counts are good when high.

        A measure that somebody defined for ir_measures may have an attribute `better` of its own.
        """
        counts = self.name in _COUNTS and not (self.name == "NumRet" and "rel" in self.measure.params)
        declared = getattr(self.measure, "better", NEITHER if counts else HIGHER)
        return checked_direction(declared, self.name)

    def called_by(self, peer: str) -> str | None:
        """Return the name that another tool has for it: ir_measures' own."""
        return str(self) if peer == "ir_measures" else None

    @property
    def typeset(self) -> str:
        """What a paper calls it: what ir_measures does."""
        return str(self).replace("$", r"\$")

    @property
    def typeset_whole(self) -> str:
        """What a paper calls it, with all its parameters: those that ir_measures was given."""
        return self.typeset

    @property
    def wants_nuggets(self) -> bool:
        """Whether it scores nuggets rather than documents."""
        return self.name in _OF_NUGGETS

    @property
    def rel(self) -> int | None:
        """The lowest grade that counts as relevant, if the measure has that notion."""
        value = self.measure["rel"] if "rel" in self.measure.SUPPORTED_PARAMS else None
        return value if isinstance(value, int) else None  # nothing given is a mark that is no number

    @property
    def judged_only(self) -> bool:
        """Whether it asks by itself that unjudged documents be taken out first, which is done here."""
        return bool(self.measure.params.get("judged_only"))

    def at(self, rel: int) -> ForeignMeasure:
        """Return the measure at this lowest grade, unless it has none or names its own."""
        named = "rel" in self.measure.params and self.name != "NumRet"  # as NumRelRet is spelled
        if named or self.rel is None:
            return self
        return ForeignMeasure(self.measure(rel=rel), self.provider)

    @cached_property
    def by(self) -> str:
        """The provider that computes it; empty if none of those that are installed does."""
        if self.provider is not None:
            return self.provider
        providers = _ir_measures().DefaultPipeline.providers
        return next(
            (
                str(provider.NAME)
                for provider in providers
                if provider.is_available() and provider.supports(self.measure)
            ),
            "",
        )

    def compute(
        self, qrels: Any, ranking: Mapping[str, Mapping[str, float]], query_ids: list[str]
    ) -> list[float]:
        """One value a query, NaN for a query that the provider leaves out, 0 for one that the run lacks.

        Where the measure has a lowest grade, `qrels` hold 1 for what reaches it and 0 (or less) for the rest:
        not every provider passes the grade on, and none knows one below 1. For gdeval, queries go under
        numbers, as it reads nothing else; an empty ranking is left out, because some divide by its length.
        """
        number = {
            query: str(index) if self.by == _GDEVAL else query for index, query in enumerate(query_ids, 1)
        }
        run = {number[query]: docs for query, docs in ranking.items() if docs or self.aggregate == SUM}
        if self.by == _PYTREC_EVAL:
            # It counts documents by grade, from 0; where all are below it writes outside its memory. A
            # document that no run holds changes no value.
            qrels = {
                query: docs if any(grade >= 0 for grade in docs.values()) else {**docs, _NO_ID: 0}
                for query, docs in qrels.items()
            }
        try:
            values = self._asked(_numbered(qrels, number), run) if run else {}
        except MemoryError:
            raise
        except Exception as error:  # each provider has its own errors, down to those of a Perl script
            raise MeasureError(
                f"{self}: ir_measures cannot compute it: {error}{self._installation_hint()}"
            ) from error
        default = float(self.measure.DEFAULT)
        return [
            values.get(number[query], math.nan if number[query] in run else default) for query in query_ids
        ]

    def _asked(self, qrels: Any, run: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
        """Return what ir_measures says; nan for a query over which it divides by zero."""
        ir_measures = _ir_measures()
        source = _provider(ir_measures, self.provider) if self.provider else ir_measures
        measure = self.measure if self.rel is None else self.measure(rel=_USUAL_REL)
        measure = measure(judged_only=False) if self.judged_only else measure
        try:
            metrics = list(source.iter_calc([measure], qrels, run))
        # Some providers divide by what a query may lack, and end for all queries: ask for each alone.
        except ZeroDivisionError:
            if len(run) == 1:
                return dict.fromkeys(run, math.nan)
            alone = [self._asked(qrels, {query: docs}) for query, docs in run.items()]
            return {query: values[query] for query, values in zip(run, alone, strict=True) if query in values}
        return {metric.query_id: float(metric.value) for metric in metrics}

    def refuse(self, highest: int | float, fractional: bool) -> None:
        """`MeasureError` where the measure's code does not take such grades."""
        if fractional and self.rel is None and self.by not in _OF_GAINS:
            raise MeasureError(
                f"{self}: {self.by}, which computes it, takes whole grades, and some are not; ask for a"
                " measure of gains (ndcg@10), or give whole grades"
            )
        if self.by == _GDEVAL and highest > _HIGHEST_OF_GDEVAL:
            raise MeasureError(
                f"{self}: gdeval, which computes it, takes grades up to {_HIGHEST_OF_GDEVAL}, the judgements"
                f" hold {highest}; map them to fewer grades"
            )

    def _installation_hint(self) -> str:
        """How to install a provider that could compute it, if none that could is there."""
        registry = _ir_measures().providers.registry.items()
        able = [(name, provider) for name, provider in registry if provider.supports(self.measure)]
        if not able or any(provider.is_available() for _, provider in able):
            return ""
        name, provider = able[0]
        return f"; {name} could, install it: {provider.install_instructions()}"

    def signature(self, **context: object) -> str:
        """Everything needed to compute the same number, in one line."""
        tool = f"ir_measures-{_ir_measures().__version__}" + (f"-{self.provider}" if self.provider else "")
        rules = {"as": _IPREC} if self.name == "IPrec" else {}
        return join_signature(self, {"by": tool, **rules, **context})

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


def _foreign_measure(measure: object) -> ForeignMeasure | None:
    """Return the measure of this name (or this object) that ir_measures knows, or None."""
    try:
        ir_measures = _ir_measures()
    except MissingPackage:
        return None
    if isinstance(measure, ir_measures.measures.Measure):
        return ForeignMeasure(measure)
    if not isinstance(measure, str):
        return None
    # The text, and the text with the name as ir_measures writes it.
    head = measure.partition("@")[0].partition("(")[0]
    folded = head.strip().lower().replace("-", "_")
    names = [name for name in ir_measures.measures.registry if name.lower() == folded]
    for spelling in (measure, *(name + measure[len(head) :] for name in names if name != head)):
        try:
            parsed = ir_measures.parse_measure(spelling)
            parsed.validate_params()
        except (NameError, ValueError, TypeError, KeyError, SyntaxError, AttributeError, AssertionError):
            continue
        return ForeignMeasure(parsed)
    return None


def is_of_ir_measures(name: str) -> bool:
    """Return whether ir_measures has a measure of just this name, capitals included."""
    # All of its names have capitals: there is no need to import it for others.
    if name == name.lower():
        return False
    try:
        return name in _ir_measures().measures.registry
    except MissingPackage:
        return False


def by_provider(measure: Measure | ForeignMeasure, provider: str) -> ForeignMeasure:
    """Return the same measure, computed by a provider of ir_measures."""
    ir_measures = _ir_measures()
    able = _provider(ir_measures, provider)
    theirs = measure.measure if isinstance(measure, ForeignMeasure) else _as_theirs(measure, ir_measures)
    try:
        # ir_measures checks parameters by `assert`.
        is_supported = able.supports(theirs)
    except AssertionError as error:
        raise MeasureError(f"{measure}: ir_measures refuses its parameters: {error}") from None
    if not is_supported:
        others = [
            name
            for name, other in ir_measures.providers.registry.items()
            if other.is_available() and other.supports(theirs)
        ]
        who = f"; of those installed, {' and '.join(others)} can" if others else ""
        raise MeasureError(f"{theirs}: {provider} does not compute it{who}; leave out --provider")
    return ForeignMeasure(theirs, provider)


def _as_theirs(measure: Measure, ir_measures: Any) -> Any:
    """Return a measure of ours as ir_measures writes it."""
    name = measure.called_by("ir_measures")
    if name is None:
        raise MeasureError(f"{measure}: ir_measures has no such measure; leave out --provider")
    theirs = ir_measures.measures.registry[name]
    # Ours are names of Python's, theirs have hyphens: exp_log2 is exp-log2.
    given: dict[str, Any] = {"cutoff": measure.k} if measure.k is not None else {}
    given |= {
        key: value.replace("_", "-") if isinstance(value, str) else value
        for key, value in measure.changed.items()
    }
    unknown = [key for key in given if key not in theirs.SUPPORTED_PARAMS]
    if unknown:
        raise MeasureError(
            f"{measure}: ir_measures' {name} has no parameter {unknown[0]!r}; leave out --provider"
        )
    return theirs(**given)


def _numbered(qrels: Any, number: Mapping[str, str]) -> Any:
    """Return the judgements, a mapping or records, with queries under their numbers."""
    if isinstance(qrels, Mapping):
        return {number[query]: docs for query, docs in qrels.items()}
    return [record._replace(query_id=number[record.query_id]) for record in qrels]


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
