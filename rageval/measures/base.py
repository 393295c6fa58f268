"""What a measure is: a function of one query, declared once, that prints as what one types.

    @measure
    def coverage(ranking, *, k=None, rel: int = 1): ...

    coverage @ 20            coverage(rel=2) @ 20            str(coverage @ 20) == "coverage@20"

What else is known of it is declared with it, and nowhere else: `@measure(better="lower")`.

The keyword-only arguments are the parameters: their annotations say what is allowed, their defaults
what is meant when nothing is said, the docstring is the measure's page. A measure of runs takes a `Ranking`
and returns a number; one whose first argument is annotated as `Assessment` is a measure of answers, as
`Covering` one of the characters of sources.
"""

from __future__ import annotations

import inspect
import math
import sys
import typing
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property, lru_cache, partial
from importlib import import_module
from os.path import basename
from types import MappingProxyType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, TypedDict, Unpack

from rageval import hooks
from rageval.core.signature import join_signature
from rageval.errors import MeasureError, RagevalError, UnknownParameter
from rageval.measures.bounds import Bounds
from rageval.measures.ranking import Blend, Ranking, Share
from rageval.measures.ties import Ties
from rageval.measures.together import Outcomes, Together
from rageval.names import suggestion
from rageval.text import parted_at_formulas

if TYPE_CHECKING:
    from rageval.measures.assessment import Assessment, Judgement
    from rageval.measures.covering import Covering
    from rageval.measures.trajectory import Trajectory

    Weighs = Callable[[Mapping[str, Any], Judgement], float]

HIGHER, LOWER, NEITHER = _DIRECTIONS = ("higher", "lower", "neither")
MEAN, SUM = "mean", "sum"  # how the values of queries become one
TOGETHER = "together"  # of outcomes, of which only all queries together have a value
TOPICS, POOL = "topics", "pool"  # what a share is over: the mean of those of the topics, or one share of all
_SHARES: tuple[type[float], ...] = (Share, Blend)
_MOST = 1e100  # of a value: its third power, and sums of these, are still numbers
_FEW_LEVELS = 16  # of a whole number, which are named one by one


class Between(NamedTuple):
    """The range a number parameter must lie in."""

    low: float
    high: float


Alpha = Annotated[float, Between(0.0, 1.0)]
Grade = Annotated[int, Between(-(10**6), 10**6)]
_LONGEST_WORD = 100
_MARKS = frozenset(",()[]{}|@=:'\"")  # that mean something in the name of a measure or in a signature
MOST = math.e / (math.e - 1)  # of a share of a greedy ideal, which is worth 1 − 1/e of the best at least
_Limits = tuple[float, float] | Callable[[Mapping[str, Any]], tuple[float, float]]
_Better = str | Callable[[Mapping[str, Any]], str]  # which way is better, or a function of the parameters
Repeats = Callable[[Sequence[float], int], float]  # of the values of several answers, at cut-off k
_Joins = Callable[[Mapping[str, Any]], Together]
_Aggregate = str | Callable[[list[float]], float]  # "mean", "sum", or a function of the queries' values


class Facts(TypedDict, total=False):
    """What can be declared of a measure beside its formula: the arguments of `measure`, all optional."""

    better: _Better  # which values are good: `higher`, `lower`, `neither`, or a function of the parameters
    sees: Literal["nuggets", "relevant", "judged"]  # what it asks of the judgements
    ties: Ties | None  # how it is over the orders of equal scores
    bounds: Bounds | None  # between what values unjudged documents leave it
    intents: bool  # it goes by the weights of intents (nuggets), or counts them alike by definition
    limits: _Limits | None  # the least and the greatest value, where these are not 0 and 1
    aggregate: _Aggregate  # how the queries' values become one: `mean`, `sum`, or a function of the list
    together: _Joins | None  # what makes one value of all outcomes: (parameters) → `Together`
    repeats: Repeats | None  # how several answers to one question become one value, where not by their mean
    over: str  # what a share is over: `topics`, or `pool` where no topic has one by itself
    peers: Mapping[str, str]  # tool -> the name that it has for the measure
    orders: Mapping[str, str]  # tool -> its rule for equal scores, where that is not its rule for the others
    above_1: str  # why a value may be above 1 all the same, up to MOST
    lacking: str  # what may help where judgements are not there
    weighs: Weighs | None  # what each judgement counts, of Σ weight · value / Σ weight over judgements
    labels: Callable[[Mapping[str, Any]], Collection[str]] | None  # which labels count, of a share of labels
    by_conversation: bool  # its values are those of conversations, and stand at the last turn of each
    ends: tuple[str, ...]  # labels that a missing judgement is taken for, too, to find the value's bounds
    typeset: str  # what a paper calls it: text, with formulas between dollar signs, as in `$F_1$`
    papers: tuple[str, ...]  # what to cite: keys of papers.bib, or whole entries of BibTeX


class About(NamedTuple):
    """The facts that are declared of a measure, or what holds where nothing is said; see `Facts`."""

    better: _Better = HIGHER
    sees: Literal["nuggets", "relevant", "judged"] = "judged"
    ties: Ties | None = None
    bounds: Bounds | None = None
    intents: bool = False
    limits: _Limits | None = None
    aggregate: _Aggregate = MEAN
    together: _Joins | None = None
    repeats: Repeats | None = None
    over: str = TOPICS
    peers: Mapping[str, str] = MappingProxyType({})
    orders: Mapping[str, str] = MappingProxyType({})
    above_1: str = ""
    lacking: str = ""
    weighs: Weighs | None = None
    labels: Callable[[Mapping[str, Any]], Collection[str]] | None = None
    by_conversation: bool = False
    ends: tuple[str, ...] = ()
    typeset: str = ""
    papers: tuple[str, ...] = ()


class Parameter(NamedTuple):
    """One parameter of a measure: what it may be, and its default."""

    name: str
    kind: type
    default: Any
    choices: tuple[Any, ...] = ()
    limits: Between | None = None

    @property
    def levels(self) -> tuple[Any, ...]:
        """Every value, where these are few: the choices, or the whole numbers within the limits."""
        if self.choices or self.kind is not int or self.limits is None:
            return self.choices
        low, high = (int(limit) for limit in self.limits)
        return tuple(range(low, high + 1)) if high - low < _FEW_LEVELS else ()

    def read(self, value: Any, measure: str) -> Any:
        """Return the value checked, and read from text where it is text."""
        if self.choices:
            # As in names: capitals do not matter, nor whether - or _ is typed.
            chosen = str(value).lower().replace("-", "_")
            if chosen not in self.choices:
                raise MeasureError(
                    f"{measure}: {self.name}={value!r}, expected one of {', '.join(map(str, self.choices))}"
                    + suggestion(chosen, self.choices)
                )
            return chosen
        if self.kind is str:
            return self._word(value, measure)
        number = self._number(value, measure)
        if self.limits and not self.limits.low <= number <= self.limits.high:
            low, high = (f"{limit:g}" for limit in self.limits)
            raise MeasureError(f"{measure}: {self.name}={value}, expected a number from {low} to {high}")
        return number

    def _word(self, value: Any, measure: str) -> str:
        """Return a word that can stand within the parentheses of a measure, and in a signature."""
        word = str(value).strip()
        if not word or len(word) > _LONGEST_WORD or not word.isprintable() or _MARKS & set(word):
            raise MeasureError(
                f"{measure}: {self.name}={word[:80]!r}, expected a name of 1 to {_LONGEST_WORD} characters"
                f" without any of {' '.join(sorted(_MARKS))}"
            )
        return word

    def _number(self, value: Any, measure: str) -> Any:
        kind = "a whole number" if self.kind is int else "a number"
        try:
            # True would pass for 1, and int() would cut 1.5; a number is what was typed, or refused.
            number = self.kind(value)
            if isinstance(value, bool) or number != float(value):
                raise ValueError
        except (TypeError, ValueError, OverflowError):
            raise MeasureError(f"{measure}: {self.name}={value!r}, expected {kind}") from None
        return number


_RANKING, COVERING = "Ranking", "Covering"
_OVER_PAGE = """Over:
    over=topics  the mean of the topics' shares
    over=pool    one share of what all topics hold, Σ parts / Σ wholes"""
_OVER = Parameter("over", str, TOPICS, choices=(TOPICS, POOL))
_OVER_ALL = Parameter("over", str, POOL, choices=(POOL,))  # of what no single topic has


class Measure:
    """A measure with its parameters and cut-off; immutable, hashable, equal if it computes the same."""

    def __init__(
        self,
        function: Callable[..., object],
        parameters: Mapping[str, Any] | None = None,
        k: int | None = None,
        about: About | None = None,
    ) -> None:
        self.function = function
        self.name = function.__name__
        self.k = k
        self.about = about or About()
        if not callable(self.about.better):
            checked_direction(self.about.better, self.name)
        if not self.name.isidentifier():
            raise MeasureError(f"{self.name}: expected a function with a name, by which it is asked for")
        if self.about.aggregate not in (MEAN, SUM) and not callable(self.about.aggregate):
            raise MeasureError(
                f"{self.name}: aggregate={self.about.aggregate!r:.80}, expected {MEAN!r}, {SUM!r}, or a"
                " function of the list of values that returns one"
            )
        if "$" in "".join(parted_at_formulas(self.about.typeset)[::2]):
            raise MeasureError(
                f"{self.name}: typeset={self.about.typeset!r:.80}, expected formulas between two dollar signs"
            )
        self._given = {name: self._read(name, value) for name, value in (parameters or {}).items()}

    def _read(self, name: str, value: Any) -> Any:
        if name not in self.declared:
            raise UnknownParameter(
                f"{self.name} has no parameter {name!r}; it takes {', '.join(self.declared) or 'none'}"
                + suggestion(name, self.declared)
            )
        return self.declared[name].read(value, self.name)

    def __call__(self, **parameters: Any) -> Measure:
        """Return the same measure with other parameters."""
        k = parameters.pop("k", self.k)
        changed = Measure(self.function, self._given | parameters, about=self.about)
        return changed if k is None else changed @ k

    def __matmul__(self, k: int) -> Measure:
        """Return the measure at cut-off k: `coverage @ 20`."""
        if not self.takes_k:
            raise MeasureError(f"{self.name}@{k!s:.80}: {self.name} takes no cut-off; leave out the @")
        return Measure(self.function, self._given, _checked_cutoff(k, self.name), self.about)

    def values(self, queries: Iterable[Ranking | Assessment | Covering | Trajectory]) -> list[float]:
        """Return the value of each query."""
        queries, kind = list(queries), self._kind
        raw_values: list[Any]
        try:
            raw_values = list(map(partial(self.function, **self._arguments), queries))
        except Exception:
            raw_values = [None] * len(queries)
        # What failed or is no plain number, such as NaN, is looked at by itself.
        return [
            value if type(value) is kind and -_MOST <= value <= _MOST else self.value(query)
            for query, value in zip(queries, raw_values, strict=True)
        ]

    def value(self, query: Ranking | Assessment | Covering | Trajectory) -> float:
        """Return the value of one query."""
        try:
            value = self.function(query, **self._arguments)
        except RagevalError:
            raise
        # A mistake in somebody's formula is told with its query and its line; anything else is ours.
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            what = f"{type(error).__name__}: {error!s:.200}{_place_of_failure(error)}"
            raise MeasureError(f"{self}: failed on the query {query.query_id!r} ({what})") from error
        # Asked for every query: a look at the type is the cheapest check there is.
        if type(value) is not self._kind:
            value = self._number(value, query)
        # NaN is no number, and says that the value is not defined.
        if not -_MOST <= value <= _MOST and value == value:
            raise MeasureError(
                f"{self}: returned {value!r} for the query {query.query_id!r}; expected a number"
                f" from -{_MOST:g} to {_MOST:g}, or NaN where it is not defined"
            )
        return value

    @cached_property
    def _arguments(self) -> dict[str, Any]:
        return ({"k": self.k} if self.takes_k else {}) | self.arguments

    @cached_property
    def _kind(self) -> type[float]:
        return {kind.__name__: kind for kind in (*_SHARES, Outcomes)}.get(self._returns, float)

    def _number(self, value: Any, query: Ranking | Assessment | Covering | Trajectory) -> float:
        """Return what a function of somebody else's returned as a number."""
        expected = "a number" if self._kind is float else f"a {self._returns}, as it is annotated, or NaN"
        try:
            # An array of one element would pass for a number, and so would the text of one.
            if getattr(value, "shape", ()) == () and not isinstance(value, str | bytes):
                number = float(value)
                if self._kind is float or number != number:
                    return number
        except (TypeError, ValueError):
            pass
        raise MeasureError(
            f"{self}: returned {value!r:.80} for the query {query.query_id!r}, expected {expected}"
        )

    @cached_property
    def takes_k(self) -> bool:
        """Whether it has a cut-off."""
        return "k" in _signature(self.function).parameters

    @cached_property
    def argument(self) -> str:
        """The class of what it takes of one query, as its first parameter is annotated: `Ranking` by default.

        `Assessment` is a judged answer, `Covering` the characters of sources that chunks cover. Of several
        classes it is the first.
        """
        return self.takes[0]

    @cached_property
    def takes(self) -> tuple[str, ...]:
        """The classes of what it takes of one query; of `Trajectory | Assessment`, both."""
        first = next(iter(_signature(self.function).parameters.values()))
        return (_RANKING,) if first.annotation is first.empty else _names_of(first)

    @cached_property
    def declared(self) -> dict[str, Parameter]:
        """The parameters the function declares, without k; of shares, what they are `over`, too."""
        declared = dict(_declared(self.function))
        if self.gives_shares and _OVER.name in declared:
            raise MeasureError(f"{self.name}: a measure of shares has `over` already; rename the parameter")
        over = _OVER_ALL if self.about.over == POOL else _OVER
        return declared | ({over.name: over} if self.gives_shares else {})

    @cached_property
    def gives_shares(self) -> bool:
        """Whether its function says that it returns a `Share`, or a `Blend` of several."""
        return self._kind in _SHARES

    @property
    def nothing(self) -> float:
        """Return its value where there is nothing: 0, which weighs nothing where shares are pooled.

        What is no outcome is left out where outcomes become one value.
        """
        return math.nan if self.about.together else Share(0, 0) if self.gives_shares else 0.0

    @cached_property
    def together(self) -> Together | None:
        """What makes one value of the outcomes of all queries, if only all of them have one."""
        return None if self.about.together is None else self.about.together(self.parameters)

    @cached_property
    def _returns(self) -> str:
        returns = _signature(self.function).return_annotation
        return str(getattr(returns, "__name__", returns)).rpartition(".")[2]

    @cached_property
    def parameters(self) -> dict[str, Any]:
        """Every parameter and its value, in the order of declaration."""
        defaults = {name: parameter.default for name, parameter in self.declared.items()}
        return defaults | self._given

    @property
    def arguments(self) -> dict[str, Any]:
        """The parameters that its function takes."""
        return {n: value for n, value in self.parameters.items() if n != _OVER.name or not self.gives_shares}

    @property
    def aggregate(self) -> _Aggregate:
        """How queries' values become one: `mean`, `sum`, `pool`, `together`, or a function of a list."""
        if self.about.together is not None:
            return TOGETHER
        return POOL if self.gives_shares and self.parameters[_OVER.name] == POOL else self.about.aggregate

    @property
    def given(self) -> frozenset[str]:
        """The parameters that were given explicitly, including those at their defaults."""
        return frozenset(self._given)

    @property
    def changed(self) -> dict[str, Any]:
        """The parameters that differ from their defaults."""
        return {n: value for n, value in self.parameters.items() if value != self.declared[n].default}

    @property
    def rel(self) -> int | None:
        """The lowest grade that counts as relevant, if the measure has that notion."""
        return self.parameters.get("rel")

    def called_by(self, peer: str) -> str | None:
        """Return the name that another tool has for it."""
        return self.about.peers.get(peer)

    @property
    def limits(self) -> tuple[float, float] | None:
        """The least and the greatest value it can have, where it says them."""
        limits = self.about.limits
        return limits(self.parameters) if callable(limits) else limits

    @property
    def ends(self) -> tuple[float, float]:
        """The least and the greatest value it can have: 0 and 1, where it says nothing else."""
        return self.limits or (0.0, 1.0)

    @property
    def bounds(self) -> Bounds | None:
        """Its bounds over what is unjudged, where they are known with these parameters."""
        # Bounds are of each query's value; what a function makes of all of them is not known.
        bounds = None if callable(self.aggregate) else self.about.bounds
        return bounds if bounds is not None and bounds.known_for(self.parameters) else None

    @property
    def wants_nuggets(self) -> bool:
        """Whether it asks which nuggets a document supports."""
        return self.about.sees == "nuggets"

    @property
    def sees_all(self) -> bool:
        """Whether it may ask for documents that are judged and not relevant."""
        return self.about.sees == "judged"

    @property
    def better(self) -> str:
        """Which values are the good ones: `higher`, `lower` or `neither`."""
        declared = self.about.better
        if not callable(declared):
            return declared
        try:
            better = declared(self.parameters)
        except Exception as error:  # a plug-in's function may fail in any way
            raise MeasureError(f"{self}: its function better(parameters) failed: {error!r:.200}") from error
        return checked_direction(better, self.name)

    @property
    def directions(self) -> str:
        """Which values are good, and where its parameters change that, in words.

        >>> from rageval.measures import crag_share, recall
        >>> recall.directions, crag_share.directions
        ('higher', 'higher; neither with label=acceptable; lower with label=missing, label=incorrect')
        """
        other: dict[str, list[str]] = {}
        for parameter in self.declared.values():
            for level in parameter.levels:
                better = self(**{parameter.name: level}).better
                if better != self.better:
                    other.setdefault(better, []).append(f"{parameter.name}={level}")
        return "; ".join([self.better, *(f"{way} with {', '.join(when)}" for way, when in other.items())])

    @property
    def summary(self) -> str:
        """The first line of the measure's page."""
        return (inspect.getdoc(self.function) or self.name).splitlines()[0]

    @property
    def page(self) -> str:
        """The measure's page: formula, range, caveats, how peers differ, an example."""
        page = inspect.getdoc(self.function) or ""
        if not self.gives_shares or self.about.over == POOL:
            return page
        examples = [position for position in (page.find("\nExample:"), page.find("\n>>> ")) if position >= 0]
        # What all measures of shares have stands behind a page's own words, and before its example.
        place = min(examples, default=len(page))
        return f"{page[:place]}\n{_OVER_PAGE}\n{page[place:]}"

    @property
    def __doc__(self) -> str:
        return self.page

    @__doc__.setter
    def __doc__(self, page: str) -> None:
        """Keep the page: PyTerrier writes to the measures of a registry what it has read of them."""

    # ir_measures, and PyTerrier by it, ask `isinstance(m, ir_measures.Measure)` and then for its attributes.
    # isinstance believes `__class__`, which answers once ir_measures is loaded: nobody imports it for this.
    @property  # type: ignore[misc]
    def __class__(self) -> type[Measure]:
        return _guest() or Measure

    if not TYPE_CHECKING:  # a type checker is not to believe that every name is there

        def __getattr__(self, name: str) -> Any:
            guest = None if name.startswith("__") else _guest()
            for base in guest.__mro__ if guest else ():
                if name in base.__dict__:
                    # As it is of an instance: of a method, bound to it.
                    attribute = base.__dict__[name]
                    bind = getattr(type(attribute), "__get__", None)
                    return bind(attribute, self, type(self)) if bind else attribute
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    @property
    def typeset(self) -> str:
        r"""The name in a paper, with formulas between dollar signs; the measure's name by default.

        >>> from rageval.measures import alpha_ndcg, ndcg, nugget_recall
        >>> print(alpha_ndcg(alpha=0.7) @ 10, (alpha_ndcg(alpha=0.7) @ 10).typeset, sep=" is ")
        alpha_ndcg(alpha=0.7)@10 is $\alpha$-nDCG@10 ($\alpha=0.7$)
        >>> (ndcg @ 10).typeset, nugget_recall(credit="partial").typeset
        ('nDCG@10', 'Nugget recall (credit=partial)')
        """
        return self._typeset(self.changed)

    @property
    def typeset_whole(self) -> str:
        """The name in a paper, with all parameters."""
        return self._typeset(self._signed)

    def _typeset(self, parameters: Mapping[str, Any]) -> str:
        words = self.name.replace("_", " ")
        cut = "" if self.k is None else f"@{self.k}"
        shown = []
        for name, value in parameters.items():
            # Nothing in it may begin a formula that is none.
            text = str(value).removesuffix(".0" if isinstance(value, float) else "").replace("$", r"\$")
            is_formula = name in _GREEK and isinstance(value, int | float)
            shown.append(f"$\\{name}={text}$" if is_formula else f"{name}={text}")
        inner = ", ".join(shown)
        return (self.about.typeset or words[:1].upper() + words[1:]) + cut + (f" ({inner})" if inner else "")

    @property
    def _signed(self) -> dict[str, Any]:
        """The parameters that a signature names."""
        return self.arguments | ({_OVER.name: POOL} if self.aggregate == POOL else {})

    def signature(self, **context: object) -> str:
        """Everything needed to compute the same number, in one line.

        >>> from rageval import alpha_ndcg
        >>> (alpha_ndcg @ 10).signature(ties="trec")
        'alpha_ndcg@10|alpha:0.5|rel:1|ideal:greedy|ties:trec'
        """
        name = self.name if self.k is None else f"{self.name}@{self.k}"
        return join_signature(name, self._signed | context)

    def __str__(self) -> str:
        inner = ",".join(f"{name}={value}" for name, value in self.changed.items())
        return self.name + (f"({inner})" if inner else "") + ("" if self.k is None else f"@{self.k}")

    __repr__ = __str__

    def __reduce__(self) -> tuple[Any, ...]:
        function = self.function  # whose name now stands for a measure, in the module where it was defined
        return _unpickled, (function.__module__, function.__qualname__, self._given, self.k)

    def _identity(self) -> tuple[Any, ...]:
        return (self.function, self.k, tuple(self.parameters.items()))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Measure) and self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())


_GREEK = ("alpha", "beta", "gamma")  # parameters that papers write as letters


def _unpickled(module: str, name: str, given: Mapping[str, Any], k: int | None) -> Measure:
    """Return the measure of this name in a module, as it was when it was pickled."""
    member: Any = import_module(module)
    for part in name.split("."):
        member = getattr(member, part, None)
    if not isinstance(member, Measure):
        raise MeasureError(
            f"{name}: there is no measure of this name in {module}; one that is pickled must be defined at"
            " the top of a module, which can be imported wherever it is read"
        )
    return Measure(member.function, given, k, member.about)


def _guest() -> type[Measure] | None:
    """Return the class that is a measure of ours and of ir_measures', None before ir_measures is loaded."""
    if not hasattr(sys.modules.get("ir_measures"), "measures"):  # or is only being loaded
        return None
    guest: type[Measure] = hooks.ir_measures_class()
    return guest


@typing.overload
def measure(function: Callable[..., object], /) -> Measure: ...


@typing.overload
def measure(**facts: Unpack[Facts]) -> Callable[[Callable[..., object]], Measure]: ...


def measure(
    function: Callable[..., object] | None = None, /, **facts: Unpack[Facts]
) -> Measure | Callable[[Callable[..., object]], Measure]:
    """Make a measure of a function `f(ranking, *, k=None, …)` that returns a number for one query.

    A function whose first argument is annotated as an `Assessment` makes a measure of judged answers. One
    that is annotated to return a `Share`, `-> rageval.Share`, makes a measure of shares: it has the parameter
    `over`, and `over=pool` divides the sum of all parts by the sum of all wholes. So has one that returns a
    `Blend`, such as the F1 of two shares, each of which is pooled by itself.

    Parameters
    ----------
    function
        The function. Leave it out to give facts: `@measure(better="lower")`.
    **facts
        Further facts about the measure, all optional (`rageval.measures.base.Facts`). `better` says
        which values are good: `higher` (the default), `lower`, `neither`, or a function of the parameters
        that says which. `aggregate` says how the values of queries become one: `mean` (the default), `sum`,
        or a function of the list of values. `limits` are the least and the greatest value, if these are not 0
        and 1. `typeset` is its name in a paper, `papers` are the papers to cite.

    Returns
    -------
    Measure or callable
        The measure, or a decorator that makes it.

    Examples
    --------
    >>> import rageval
    >>> @rageval.measure
    ... def first_find(ranking, *, rel: int = 1):
    ...     "1 if the very first document is relevant."
    ...     return len(ranking.hits(1, rel))
    >>> rageval.evaluate(first_find, {"q": {"d": 1.0}}, {"q": {"d": 1}})["first_find"].value
    1.0
    >>> @rageval.measure(better="lower")
    ... def documents(ranking, *, k=None):
    ...     "How many documents were retrieved."
    ...     return ranking.depth(k)
    >>> first_find.better, documents.better
    ('higher', 'lower')
    """
    if function is not None and not callable(function):
        raise MeasureError(
            f"@measure: expected a function, found {function!r:.80}; say better={function!r:.80}"
        )
    names = list(Facts.__annotations__)
    for name in facts:
        if name not in names:
            raise MeasureError(
                f"@measure: there is no argument {name!r}; expected some of {', '.join(names)}"
                + suggestion(name, names)
            )
    about = About(**facts)
    if function is None:
        return lambda function: Measure(function, about=about)
    return Measure(function, about=about)


def _names_of(parameter: inspect.Parameter) -> tuple[str, ...]:
    """Return the names of the classes that a parameter is annotated as, without their modules."""
    annotation = parameter.annotation
    classes = typing.get_args(annotation) if isinstance(annotation, UnionType) else (annotation,)
    names = "|".join(str(getattr(one, "__name__", one)) for one in classes).split("|")
    return tuple(name.strip().rpartition(".")[2] for name in names)


def _place_of_failure(error: Exception) -> str:
    """Return where somebody's function failed, ` at FILE:LINE`: the traceback is not shown."""
    trace = error.__traceback__
    # The last frame is where it failed; those before are how it was called.
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None or trace.tb_frame.f_code is Measure.value.__code__:  # it could not even be called
        return ""
    return f" at {basename(trace.tb_frame.f_code.co_filename)}:{trace.tb_lineno}"


def checked_direction(better: Any, name: str) -> str:
    """One of the three words for which way is better."""
    if better not in _DIRECTIONS:
        raise MeasureError(
            f"{name}: better={better!r:.80}, expected one of {', '.join(_DIRECTIONS)}, or a function of the"
            " parameters that returns one"
        )
    return str(better)


def _checked_cutoff(k: Any, name: str) -> int:
    """Return the cut-off if it is a whole number from 1, else raise."""
    # int() reads more than people mean: "1_0", " 3 ", digits of other scripts.
    if isinstance(k, str) and k.isascii() and k.isdigit() and len(k) < 20:
        k = int(k)
    if isinstance(k, bool) or not hasattr(k, "__index__") or k < 1 or k >= 2**31:
        of_ranx = "; ranx's -l2 is -l 2, or (rel=2)" if "-l" in str(k) else ""
        raise MeasureError(
            f"{name}@{k!s:.80}: expected a whole number from 1 as cut-off, as in {name}@10{of_ranx}"
        )
    return int(k)


# A measure is made anew at each cut-off and with each parameter, of the same few functions.
_signature = lru_cache(maxsize=1024)(inspect.signature)


@lru_cache(maxsize=1024)
def _declared(function: Callable[..., Any]) -> Mapping[str, Parameter]:
    """Return the keyword-only parameters; other annotations may name what only type checkers import."""
    declared = {}
    for index, (name, parameter) in enumerate(_signature(function).parameters.items()):
        if index and name != "k" and parameter.kind is parameter.POSITIONAL_OR_KEYWORD:
            # It would be at its default for ever, and no signature would name it.
            raise MeasureError(
                f"{function.__name__}: {name!r} is before the star, so it is not a parameter; write def"
                f" {function.__name__}(ranking, *, {name}=…)"
            )
        if parameter.kind is not parameter.KEYWORD_ONLY or name == "k":
            continue
        hint = _evaluated(name, function)
        declared[name] = _parameter(name, hint, parameter.default, function.__name__)
    return declared


def _evaluated(name: str, function: Callable[..., Any]) -> Any:
    """Return the annotation of a parameter, which `from __future__ import annotations` makes text."""
    hint = inspect.get_annotations(function).get(name)
    if not isinstance(hint, str):
        return hint
    try:
        # This one alone: others, such as that of the first argument, may name what only type checkers import.
        return eval(hint, getattr(function, "__globals__", {}))
    except Exception as error:
        raise MeasureError(
            f"{function.__name__}: the annotation {hint!r:.80} of the parameter {name!r} cannot be evaluated"
            f" ({error}); what it names must be imported at the module's top, not for type checkers only"
        ) from None


def _parameter(name: str, hint: Any, default: Any, measure: str) -> Parameter:
    if default is inspect.Parameter.empty:
        raise MeasureError(f"{measure}: the parameter {name!r} needs a default")
    if typing.get_origin(hint) is Literal:
        return Parameter(name, str, default, choices=typing.get_args(hint))
    limits = None
    if typing.get_origin(hint) is Annotated:
        # The range stands behind the type: `Annotated[int, Between(1, 5)]`.
        hint, *extras = typing.get_args(hint)
        limits = next((extra for extra in extras if isinstance(extra, Between)), None)
    if not isinstance(default, int | float | str | None):
        raise MeasureError(
            f"{measure}: {name}={default!r:.80} is not a valid parameter; expected a number or a word as"
            " default, or Literal as its type, because it is part of the measure's name"
        )
    return Parameter(name, hint or type(default), default, limits=limits)
