"""Measures that rageval does not compute itself: everything else that ir_measures knows.

It gets documents judged once (the highest grade over the nuggets), our ranking as scores, and one
measure a call, so that none of its known faults with nuggets, ties and mixed parameters can show.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

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

POOLED = -1  # the grade of a document that was in the pool, but not in the sample that was judged
_USUAL_REL = 1
_SMOOTHING = 1e-5  # of infAP, as trec_eval has it
_HIGHEST_OF_GDEVAL = 4
_IPREC = "trec_eval-9.0.8"  # trec_eval 10 cuts recall elsewhere, and no provider has that
_OF_NUGGETS = ("alpha_nDCG", "alpha_DCG", "ERR_IA", "nERR_IA", "NRBP", "nNRBP", "AP_IA", "P_IA", "StRecall")
# Counts that ir_measures reports beside measures: more of them is neither better nor worse.
_COUNTS = ("NumQ", "NumRel", "NumRet")


class ForeignMeasure:
    """A measure of ir_measures', perhaps by one of its providers."""

    changed: Mapping[str, Any] = {}
    about = About(papers=("macavaney2021streamlining",))
    sees_all = True
    limits = None

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
        said = getattr(self.measure, "better", NEITHER if counts else HIGHER)
        return checked_direction(said, self.name)

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

    def compute(
        self, qrels: Any, ranking: Mapping[str, Mapping[str, float]], query_ids: list[str]
    ) -> list[float]:
        """One value a query, 0 for a query that gets none.

        Where the measure has a lowest grade, `qrels` hold 1 for what reaches it and 0 for the rest: not every
        provider passes the grade on, and none knows one below 1. For gdeval, queries go under numbers, as it
        reads nothing else; an empty ranking is left out, because some divide by its length.
        """
        if self.is_ours:
            return [_inferred_ap(qrels[query], ranking[query]) for query in query_ids]
        number = {query: str(at) if self.by_gdeval else query for at, query in enumerate(query_ids, 1)}
        run = {number[query]: docs for query, docs in ranking.items() if docs or self.aggregate == SUM}
        try:
            values = self._asked(_numbered(qrels, number), run) if run else {}
        except MemoryError:
            raise
        except Exception as error:  # each provider has its own errors, down to those of a Perl script
            raise MeasureError(f"{self}: ir_measures cannot compute it: {error}{self._way_out()}") from error
        default = float(self.measure.DEFAULT)
        return [values.get(number[query], default) for query in query_ids]

    def _asked(self, qrels: Any, run: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
        """Return what ir_measures says; nan for a query over which it divides by zero."""
        ir_measures = _ir_measures()
        source = _provider(ir_measures, self.provider) if self.provider else ir_measures
        measure = self.measure if self.rel is None else self.measure(rel=_USUAL_REL)
        measure = measure(judged_only=False) if self.judged_only else measure
        try:
            metrics = list(source.iter_calc([measure], qrels, run))
        except ZeroDivisionError:
            if len(run) == 1:
                return dict.fromkeys(run, math.nan)
            alone = [self._asked(qrels, {query: docs}) for query, docs in run.items()]
            return {query: found[query] for query, found in zip(run, alone, strict=True) if query in found}
        return {metric.query_id: float(metric.value) for metric in metrics}

    @property
    def by_gdeval(self) -> bool:
        """Whether a Perl script computes it, which has narrow views on its input."""
        return self.provider == "gdeval" or (self.provider is None and self.name == "ERR")

    @property
    def is_ours(self) -> bool:
        """Whether rageval computes it all the same: pytrec_eval cannot read grades below 0."""
        return self.name == "infAP" and self.provider is None

    def refuse(self, lowest: int, highest: int) -> None:
        """`MeasureError` where grades from `lowest` to `highest` are more than the measure's code takes."""
        if self.name == "infAP" and lowest < (-1 if self.is_ours else 0):
            raise MeasureError(
                f"infAP: the judgements hold grade {lowest}; -1 is 'pooled but not judged' for infAP (and an"
                " address in memory for pytrec_eval), and nothing is less; leave those rows out, or grade"
                " them 0"
            )
        if self.by_gdeval and highest > _HIGHEST_OF_GDEVAL:
            raise MeasureError(
                f"{self}: gdeval, which computes it, takes grades up to {_HIGHEST_OF_GDEVAL}, the judgements"
                f" hold {highest}; map them to fewer grades"
            )

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
        tool = "rageval" if self.is_ours else tool
        rules = {"as": _IPREC} if self.name == "IPrec" else {}
        said = {"by": tool, **rules, **context}
        return "|".join([str(self), *(f"{key}:{value}" for key, value in said.items())])

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
    for spelling in _spellings(ir_measures, measure):
        try:
            parsed = ir_measures.parse_measure(spelling)
            parsed.validate_params()
        except (NameError, ValueError, TypeError, KeyError, SyntaxError, AttributeError, AssertionError):
            continue
        return ForeignMeasure(parsed)
    return None


def by_provider(measure: Measure | ForeignMeasure, provider: str) -> ForeignMeasure:
    """Return the same measure, computed by a provider of ir_measures."""
    ir_measures = _ir_measures()
    able = _provider(ir_measures, provider)
    theirs = measure.measure if isinstance(measure, ForeignMeasure) else _as_theirs(measure, ir_measures)
    try:
        known = able.supports(theirs)
    except AssertionError as error:
        raise MeasureError(f"{measure}: ir_measures refuses its parameters: {error}") from None
    if not known:
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


def _spellings(ir_measures: Any, text: str) -> list[str]:
    """Return the text, and the text with the name as ir_measures writes it."""
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


def _inferred_ap(grades: Mapping[str, int], ranking: Mapping[str, float]) -> float:
    """Inferred average precision of one query (Yilmaz and Aslam, CIKM 2006), smoothed as in trec_eval.

    `grades` are 1, 0 or -1, `ranking` holds the documents best first. The precision above a relevant
    document at rank j+1 is the share of the j documents that were pooled times the share of the judged ones
    that are relevant.
    """
    relevant = judged = pooled = 0
    total = 0.0
    for above, doc in enumerate(ranking):
        grade = grades.get(doc)
        if grade is None:
            continue
        if grade == 1:
            share = (relevant + _SMOOTHING) / (judged + 2 * _SMOOTHING)
            total += (1 + pooled * share) / (above + 1)
        pooled += 1
        judged += grade != POOLED
        relevant += grade == 1
    wanted = sum(grade == 1 for grade in grades.values())
    return total / wanted if wanted else 0.0
