"""Everything besides measures and data that a number depends on, of runs and of judged answers.

Other tools' rules stand here, too, for when a published number must be matched; the default is the defensible
rule. `--compat NAME` changes which queries count and, for each measure, the order of documents and perhaps a
parameter:

pyndeval            equal scores by document id ascending; alpha-DCG and ERR-IA undivided at rank 1; only
                    queries that the run holds
ndeval              the C program: documents by the rank column alone, whatever the scores are
ndeval-traditional  the C program with -traditional: by score, equal scores by document id descending
trec_eval           trec_eval 9.0.8: scores as 32-bit floats; grades below 0 are not judged; only queries
                    that the run holds, as without -c
freshstack          three orders in one report: for each measure the one that it declares (`orders`), which is
                    input order or, among the first 20, pyndeval's; trec_eval's for the others
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from rageval.errors import UsageError
from rageval.measures.base import Measure
from rageval.measures.foreign import ForeignMeasure
from rageval.measures.parsing import AnyMeasure
from rageval.names import suggestion
from rageval.options import OnMissing, Ties, ZeroRel, refuse_other_words
from rageval.scoring.runs import Order, View
from rageval.subjects import ANSWERS, RUNS, SubjectKind, kind_of_measure
from rageval.version import __version__

EXPECTED = "expected"  # of ties


class AnswerCompat(NamedTuple):
    """What another tool takes a missing judgement for, and where it has 0 for what is undefined."""

    missing: str
    counts: Literal["never", "recorded", "always"] = "never"  # of answers that are there, or of all
    parameters: Mapping[str, str] = {}  # of measures that have its rule as an option

    def measure(self, asked: Measure) -> Measure:
        """Return the measure by the tool's rule, where it has that as an option."""
        ours = {name: value for name, value in self.parameters.items() if name in asked.declared}
        return asked(**ours) if ours else asked


COMPAT_OF_ANSWERS = {
    "nuggetizer": AnswerCompat("worst", "recorded"),
    "crag": AnswerCompat("worst"),
    "ragdoll": AnswerCompat("skip", "recorded"),
    "auto-argue": AnswerCompat("nothing", "always"),
    "medaesqa": AnswerCompat("nothing", "always"),
    "ragchecker": AnswerCompat("nothing", "recorded"),
    "browsecomp-plus": AnswerCompat("skip", parameters={"rule": "browsecomp_plus"}),
}
_NDEVALS: Mapping[str, Order] = {
    "pyndeval": Order(ties="docid_asc"),
    "ndeval": Order(by_rank=True),
    "ndeval-traditional": Order(),
}
COMPAT = (*_NDEVALS, "trec_eval", "freshstack")
OF_THE_RUN = (*_NDEVALS, "trec_eval")  # their means leave out queries that the run lacks
JUDGED = 0  # the lowest grade that --judged-only takes for a judgement, as trec_eval -J does
FLOORS = {"trec_eval": JUDGED}  # the lowest grade that is a judgement
FULL_NAMES = {"trec_eval": "trec_eval-9.0.8"}  # where versions differ
_TREC_EVAL = Order(single=True)
# How the providers of ir_measures order documents, where not as trec_eval 10 does.
_PROVIDERS: Mapping[str, Order] = {
    "pytrec_eval": _TREC_EVAL,
    "pyndeval": Order(ties="docid_asc"),
    "compat": Order(ties="docid_asc"),
    "judged": Order(ties="docid_asc"),
    "msmarco": Order(ties="docid_asc"),
    "accuracy": Order(ties="input"),
}
_DEEPEST_NDEVAL = 20


@dataclass(frozen=True, slots=True)
class Rules:
    """Everything besides measures and data that a number depends on.

    `groups`, `compat` and `intersection` are of runs and of judged answers, `on_missing` and `weights` of
    judged answers, and all others of runs.

    Parameters
    ----------
    ties
        How documents of equal score are ordered: `trec`, `docid_asc`, `input`, `rank`; `error` refuses them;
        `expected` gives the mean over all orders, with the lowest and the highest value as bounds.
    depth
        Only this many documents of each ranking count.
    judged_only
        Remove unjudged documents first.
    intersection
        Count only queries that are both in the run and in the judgements. Of answers: leave out the queries
        of which a system has neither an answer nor a judgement; they are missing otherwise, or score 0 where
        its answers are known and no value is worse.
    complete
        Count every judged query, also where `compat` would leave out those that the run lacks.
    zero_rel
        A query without relevant documents counts as 0 (`zero`), is left out (`skip`) or undefined (`nan`).
    rel
        The lowest relevant grade, for measures that do not set it.
    groups
        `{query: group}`: print the mean of the groups' means.
    compat
        Another tool's rules. Of runs: `pyndeval`, `ndeval`, `ndeval-traditional`, `trec_eval`, `freshstack`.
        Of answers: `nuggetizer`; `crag`: what could not be judged is incorrect; `ragdoll`: what was not
        judged is left out; and with these and `auto-argue`, `medaesqa` and `ragchecker` what is undefined
        is 0.
    provider
        Compute with this provider of ir_measures.
    bounds
        Also give the range of each mean, for any grades of the unjudged documents of the ranking.
    nuggets_in_qrels
        Whether the second column of the judgements names a nugget. None: it does, with a warning where it
        looks otherwise.
    intent_weights
        The weight of each nugget: `{query: {nugget: weight}}`, or a file of lines 'query nugget weight', or
        of nuggets with an importance or a weight. Only for measures of nuggets.
    nothing_judged
        How to treat a run without any judged document: `warn`, `error`, or score it without a warning
        (`zero`).
    on_missing
        A failed judgement, or one that only other systems have, is an `error`, is left out (`skip`), or
        counts as the `worst` or the `best`.
    weights
        `{group: weight}`, for the mean over groups.
    """

    ties: Ties = "trec"
    depth: int | None = None
    judged_only: bool = False
    intersection: bool = False
    complete: bool = False
    zero_rel: ZeroRel = "zero"
    rel: int | None = None
    groups: Mapping[str, str] | None = field(default=None, hash=False)
    compat: str | None = None
    provider: str | None = None
    bounds: bool = False
    nuggets_in_qrels: bool | None = None
    intent_weights: Any = field(default=None, hash=False)
    nothing_judged: Literal["warn", "error", "zero"] = "warn"
    on_missing: OnMissing = "error"
    weights: Mapping[str, float] | None = field(default=None, hash=False)

    def __post_init__(self) -> None:
        refuse_other_words(self)
        if self.compat is not None and self.compat not in COMPAT_OF_ANSWERS:
            _refuse_unknown(self.compat)
        if self.depth is not None and (type(self.depth) is not int or self.depth < 1):
            raise UsageError(f"depth={self.depth!r}: expected a whole number from 1")
        if self.rel is not None and type(self.rel) is not int:
            raise UsageError(f"rel={self.rel!r}: expected a whole number")
        for name in ("judged_only", "intersection", "complete", "bounds"):
            if type(getattr(self, name)) is not bool:
                raise UsageError(f"{name}={getattr(self, name)!r}: expected True or False")
        # Weights without groups would be taken by nobody, and silently.
        if self.weights is not None and self.groups is None:
            raise UsageError("weights need groups={query: group}")
        # A tool's rules include its rule for equal scores; to take another would be a number that no tool
        # prints.
        if self.compat and self.ties != "trec":
            raise UsageError(_brings(self.compat, self.ties))
        if self.complete and self.intersection:
            raise UsageError(
                "complete counts every judged query, intersection only those of the run; leave out one"
            )
        if self.compat and self.provider:
            raise UsageError(
                f"compat={self.compat!r} (another tool's rules) and provider={self.provider!r}"
                " (another program computes) cannot be combined; leave out one of them"
            )
        # Each of these moves the value by itself; what lies between two moving ends could not be told apart
        # any more.
        if self.bounds and (self.ties == EXPECTED or self.judged_only or self.compat):
            raise UsageError(
                "bounds need one order, and unjudged documents; leave out ties='expected',"
                " judged_only and compat"
            )

        if self.intent_weights is not None:
            self._refuse_with_weights()

    def _refuse_with_weights(self) -> None:
        """Raise `UsageError` for what does not go with weights of intents."""
        reasons = {
            "compat": "no other tool's rules have weights",
            "provider": "no provider takes them",
            "bounds": "no bounds are known",
        }
        for name, why in reasons.items():
            if getattr(self, name):
                raise UsageError(f"intent_weights: {why}; leave out {name}")
        if self.nuggets_in_qrels is False:
            raise UsageError(
                "intent_weights need nuggets; leave out intent_weights or nuggets_in_qrels=False"
            )

    @property
    def leaves_out(self) -> bool:
        """Whether judged queries that the run lacks are left out of the means."""
        return self.intersection or (self.compat in OF_THE_RUN and not self.complete)

    @property
    def filling(self) -> str:
        """What stands in for a missing judgement of an answer while counting how many there are."""
        if self.compat is not None:
            return COMPAT_OF_ANSWERS[self.compat].missing
        # An error is raised at the end, when all that is missing has been counted; until then it is left out.
        return "skip" if self.on_missing == "error" else self.on_missing

    def require_rankings(self, measures: Iterable[AnyMeasure]) -> None:
        """Raise `UsageError` for a rule of rankings beside a measure that scores none."""
        other = next((measure for measure in measures if kind_of_measure(measure) is not RUNS), None)
        for name in ("ties", "depth", "judged_only", "compat") if other is not None else ():
            if getattr(self, name) != getattr(USUAL, name):
                raise UsageError(
                    f"{name} applies to rankings, and {other} scores none; leave out one of them"
                )

    def signature(self, measure: AnyMeasure, view: View, **extra: str) -> str:
        """Return the signature of a measure of runs under these rules."""
        context = {
            name: getattr(self, name)
            # Only what differs from the usual is said, so that the signature of a plain score stays short.
            for name in ("depth", "judged_only", "intersection", "zero_rel", "compat")
        }
        changed = {name: value for name, value in context.items() if value != getattr(USUAL, name)}
        if self.nuggets_in_qrels is False:
            changed["nuggets_in_qrels"] = "no"
        if self.compat:
            changed["compat"] = FULL_NAMES.get(self.compat, self.compat)
            # Without `compat` every judged query counts anyway, and there is nothing to say.
            changed |= {"complete": True} if self.complete else {}
        if self.groups is not None:
            changed["mean"] = "of-groups"
        if kind_of_measure(measure) is RUNS:
            ties = (
                EXPECTED if self.ties == EXPECTED else "rank-alone" if view.order.by_rank else view.order.ties
            )
            changed = {"ties": ties, **changed}
        return measure.signature(**changed, **extra, v=__version__)


USUAL = Rules()


def rules_of(kind: SubjectKind, given: Mapping[str, Any]) -> Rules:
    """Return the rules of a kind of subject; `UsageError` for what is no rule of it."""
    names = kind.rules
    unknown = next((name for name in given if name not in names), None)
    if unknown is not None:
        hint = suggestion(unknown, names) or f"; expected some of {', '.join(names)}"
        raise UsageError(f"unknown option {unknown!r}{hint}")
    compat = given.get("compat")
    # Asked here, too: `ties="trec"` is the usual rule, and `Rules` could not tell that somebody said it.
    if compat and given.get("ties"):
        raise UsageError(_brings(compat, given["ties"]))
    if compat is not None and kind is RUNS:
        _refuse_unknown(compat)
    if compat is not None and kind is ANSWERS and compat not in COMPAT_OF_ANSWERS:
        raise UsageError(f"compat={compat!r}: for answers, expected {', '.join(COMPAT_OF_ANSWERS)}")
    return Rules(**given)


def _brings(tool: str, ties: str) -> str:
    return f"compat={tool!r} brings its own rule for ties; leave out ties={ties!r}"


def _refuse_unknown(name: str) -> None:
    """Raise `UsageError` unless this is a tool whose rules we know."""
    if name not in COMPAT:
        raise UsageError(f"compat={name!r}: expected one of {', '.join(COMPAT)}" + suggestion(name, COMPAT))


def as_in(name: str, measure: AnyMeasure, all_measures: Sequence[AnyMeasure]) -> tuple[AnyMeasure, Order]:
    """Return the measure and the order of documents that make the tool's number."""
    if name in _NDEVALS:
        # Not normalized at rank 1, if normalizing was left to us.
        if isinstance(measure, ForeignMeasure) or "normalize" not in measure.declared:
            return measure, _NDEVALS[name]
        ours = measure if "normalize" in measure.given else measure(normalize="ndeval")
        return ours, _NDEVALS[name]
    if name == "freshstack":
        # FreshStack's rule for equal scores, where pytrec_eval is not what it asks for the measure.
        ties = measure.about.orders.get("freshstack")
        if ties != _NDEVALS["pyndeval"].ties:
            return measure, _TREC_EVAL if ties is None else Order(ties=ties)
        cutoffs = [other.k for other in all_measures if other.about.orders.get("freshstack") == ties]
        pool = max((k for k in cutoffs if k and k <= _DEEPEST_NDEVAL), default=None)
        return measure, Order(ties=ties, pool=pool)
    return measure, _TREC_EVAL


def order_of(measure: ForeignMeasure) -> Order:
    """Return the order in which the provider of a measure puts documents, equal scores among them."""
    return _PROVIDERS.get(measure.by, Order())
