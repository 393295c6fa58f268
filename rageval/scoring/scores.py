"""What an evaluation returns: a value a measure, with everything needed to trust and to repeat it."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from numbers import Real
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from rageval import hooks
from rageval.core.basis import Basis
from rageval.core.remark import Remark, Scope
from rageval.errors import InputError, MeasureError, Place
from rageval.measures.parsing import parse_measure
from rageval.measures.ranking import Blend, pooled
from rageval.measures.together import Outcomes, value_of_all
from rageval.names import did_you_mean
from rageval.table import Displayed, frame
from rageval.text import visible

if TYPE_CHECKING:
    import numpy as np
    import pandas
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from rageval.measures.parsing import AnyMeasure
    from rageval.scoring.gold import People
    from rageval.scoring.qrels import Fingerprint
    from rageval.scoring.sources import Notes

_Facts = Mapping[str, Mapping[str, str]]  # query -> field -> value
_Number: TypeAlias = "float | _Float"
_COLUMNS = ["run", "query_id", "measure", "value"]  # of a DataFrame
EXAMPLES = 3  # names in a remark


class _Float:
    """Lets an object compute, compare and be formatted as its `value`.

    Two of one kind are equal if all their fields are; a number is equal to one that has its value.
    """

    value: Any

    def __float__(self) -> float:
        return float(self.value)

    def __format__(self, spec: str) -> str:
        return format(float(self), spec) if spec else str(self)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, _Float):
            return type(self) is type(other) and self._contents() == other._contents()
        return float(self) == other if isinstance(other, Real) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # it holds mappings, which have none

    def _contents(self) -> tuple[Any, ...]:
        return tuple(getattr(self, item.name) for item in fields(self))  # type: ignore[arg-type]

    def __lt__(self, other: _Number) -> bool:
        return float(self) < float(other) if _is_number(other) else NotImplemented

    def __le__(self, other: _Number) -> bool:
        return float(self) <= float(other) if _is_number(other) else NotImplemented

    def __gt__(self, other: _Number) -> bool:
        return float(self) > float(other) if _is_number(other) else NotImplemented

    def __ge__(self, other: _Number) -> bool:
        return float(self) >= float(other) if _is_number(other) else NotImplemented

    def __add__(self, other: _Number) -> float:
        return float(self) + float(other) if _is_number(other) else NotImplemented

    def __sub__(self, other: _Number) -> float:
        return float(self) - float(other) if _is_number(other) else NotImplemented

    def __rsub__(self, other: _Number) -> float:
        return float(other) - float(self) if _is_number(other) else NotImplemented

    def __mul__(self, other: _Number) -> float:
        return float(self) * float(other) if _is_number(other) else NotImplemented

    def __truediv__(self, other: _Number) -> float:
        return float(self) / float(other) if _is_number(other) else NotImplemented

    def __rtruediv__(self, other: _Number) -> float:
        return float(other) / float(self) if _is_number(other) else NotImplemented

    __radd__, __rmul__ = __add__, __mul__

    def __neg__(self) -> float:
        return -float(self)

    def __abs__(self) -> float:
        return abs(float(self))

    def __round__(self, places: int | None = None) -> float:
        return round(float(self), places)


def _is_number(other: object) -> bool:
    return isinstance(other, Real | _Float)


class SpreadOfAnswers(NamedTuple):
    """Variances of questions, of several answers to each, and of judges of one answer.

    `judge` is NaN where there is one judge, whose own part is in that of answers. They are from this many
    questions with this many answers each; `advice` says how to make the mean more certain.
    """

    question: float
    answer: float
    judge: float
    questions: int
    answers: int
    judges: int
    advice: Remark

    @property
    def of_mean(self) -> float:
        """What answers and judges add to the variance of a question's mean."""
        judge = 0.0 if self.judge != self.judge else self.judge / self.judges
        return (self.answer + judge) / self.answers

    def as_facts(self) -> dict[str, float | Remark | None]:
        """Return the standard deviations, and the advice."""
        return {
            "answers": math.sqrt(self.answer),
            "judges": None if math.isnan(self.judge) else math.sqrt(self.judge),
            "questions": math.sqrt(self.question),
            "advice": self.advice,
        }


@dataclass(frozen=True, eq=False)
class Score(_Float):
    """One measure's value for one run, its value for each query, and the number of queries.

    It computes, compares and is formatted as its `value`: `f"{score:.3f}"`, `ours - theirs`, `score > 0.5`.
    `numbers` are the values, each perhaps a `Share`, in the order of `query_ids`; `value` is their aggregate,
    usually the mean. `undefined` counts those that are NaN and left out; `missing` counts judged queries that
    the run lacks (they score 0 unless `intersection` leaves them out). `asked` is the measure as requested,
    before options such as `rel` were applied. For judged answers, `missing` counts judgements, `lost` counts
    them by status, `bounds` is the range of values with them, `judges` the value by each of several judges,
    `judged_by` the nuggets (or the opponents) of each query. For runs, `bounds` is the range over the orders
    of equal scores, or over the grades of unjudged documents, if requested. `said_by` are the judges of its
    judgements: "" for an unnamed one; empty without judgements of answers, or if the judges of the documents
    are unknown. `people` are the values from human labels of some of the queries, where these were given.
    `between` is the range of the values of answers with missing judgements, and `spread` how much several
    answers to one question differ. `of_words` are values that are computed from the texts alone.
    `conversations` has the conversation of each query that is a turn.

    >>> import rageval
    >>> score = rageval.evaluate("recall", {"q": {"a": 1.0}}, {"q": {"a": 1, "b": 1}})["recall"]
    >>> score, f"{score:.3f}", score + 0.25, score > 0.4
    (<Score recall = 0.5000, 1 queries>, '0.500', 0.75, True)
    """

    measure: AnyMeasure
    query_ids: Sequence[str]
    numbers: Sequence[float]
    missing: int
    signature: str
    groups: Mapping[str, str] | None = None
    asked: AnyMeasure | None = None
    weights: Mapping[str, float] | None = None
    bounds: tuple[float, ...] | None = None
    judges: Mapping[str, float] = field(default_factory=dict)
    lost: Mapping[str, int] = field(default_factory=dict)
    judged_by: Mapping[str, frozenset[Hashable]] = field(default_factory=dict)
    spread: SpreadOfAnswers | None = None
    said_by: tuple[str, ...] = ()
    people: People | None = None
    between: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    of_words: bool = False
    conversations: Mapping[str, str] = field(default_factory=dict)

    @property
    def basis(self) -> Basis:
        """Who judged what the values are made of."""
        return Basis(is_of_texts=True) if self.of_words else Basis.of(self.said_by)

    @property
    def claim_basis(self) -> Basis:
        """Who decides claims: who labeled, where there are labels, which correct the values."""
        return self.basis_of_labels(query for query, value in self.by_query.items() if value == value)

    def basis_of_labels(self, queries: Iterable[str]) -> Basis:
        """Return who decides claims about these queries, of which some may have no label."""
        if self.people is None:
            return self.basis
        unlabeled = sum(query not in self.people.values for query in queries)
        return Basis.of_labels(self.people.by, self.basis, self.people.draw.kind(unlabeled))

    @cached_property
    def value(self) -> float:
        """The values of all queries as one (with groups, the mean of what each has); NaN without any."""
        if self.groups is None:
            return combined(self.measure, self.numbers)
        means = {group: combined(self.measure, of) for group, of in self.numbers_by(self.groups).items()}
        if self.weights is None:
            return mean(means.values())
        # 0 · NaN is NaN: a group that counts nothing may be undefined.
        return math.fsum(weight * means[group] for group, weight in self.weights.items() if weight)

    @cached_property
    def values(self) -> NDArray[np.float64]:
        """The values as an array of numpy's, in the order of `query_ids`."""
        import numpy as np

        return np.array(self.numbers, np.float64)

    @cached_property
    def by_query(self) -> dict[str, float]:
        """The value of every query, in the order of the judgements."""
        return dict(zip(self.query_ids, map(float, self.numbers), strict=True))

    def by_group(self, groups: Mapping[str, str]) -> dict[str, NDArray[np.float64]]:
        """Return the values of the queries of each group, as arrays of numpy's."""
        import numpy as np

        return {group: np.array(values, np.float64) for group, values in self.numbers_by(groups).items()}

    def numbers_by(self, groups: Mapping[str, str]) -> dict[str, list[float]]:
        """Return the numbers of the queries of each group, by id: what is drawn from them knows no lines."""
        numbers_by_group: dict[str, list[float]] = {}
        numbers = zip(self.query_ids, self.numbers, strict=True)
        for query, value in sorted(numbers, key=lambda pair: pair[0]):
            numbers_by_group.setdefault(groups[query], []).append(value)
        return numbers_by_group

    @property
    def queries(self) -> int:
        """How many queries the value is computed from."""
        return self._values_expected - self.undefined

    @cached_property
    def undefined(self) -> int:
        """How many queries have no value."""
        unknown = [value for value in self.numbers if value != value]
        # The value of a conversation stands at one of its turns.
        del unknown[: len(self.numbers) - self._values_expected]
        if unknown and self.measure.aggregate in ("pool", "together"):
            unknown = [value for value in unknown if not says_something(value)]
        return len(unknown)

    @property
    def _values_expected(self) -> int:
        """How many values there should be: one a query, or a conversation."""
        if not self.measure.about.by_conversation:
            return len(self.numbers)
        return len({self.conversations.get(query, query) for query in self.query_ids})

    def __repr__(self) -> str:
        return f"<Score {self.measure} = {self.value:.4f}, {self.queries:,} queries>"


def says_something(value: float) -> bool:
    """Return whether what is undefined counts all the same: a blend with a share, or outcomes."""
    has_share = isinstance(value, Blend) and any(share == share for share in value.shares)
    return has_share or isinstance(value, Outcomes)


def combined(measure: AnyMeasure, values: Iterable[float]) -> float:
    """Return the values of many queries as one, in the way that the measure declares.

    `mean` and `sum` are exact sums, so that the order of queries changes no digit; `pool` is the sum of the
    parts of shares over that of their wholes, and of blends the blend of such shares; a function gets the
    values from least to greatest. What is undefined is left out of each, and NaN is what is made of nothing.
    """
    aggregate: Any = measure.aggregate
    if aggregate == "together":
        return value_of_all(measure.together, values)  # type: ignore[union-attr,arg-type]
    # Shares know their parts and wholes; NaN among them is left out by `pooled`.
    if aggregate == "pool":
        return float(pooled(values))
    defined = [value for value in values if value == value]
    if aggregate == "mean" or not defined:
        return mean(defined)
    if aggregate == "sum":
        return math.fsum(defined)
    try:
        # Sorted, so that no sum depends on the order in which queries stand in a file.
        aggregated = float(aggregate(sorted(defined)))
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        what = f"{type(error).__name__}: {error}"
        raise MeasureError(f"{measure}: {_name(aggregate)} failed on its values ({what:.200})") from error
    if math.isinf(aggregated):
        raise MeasureError(f"{measure}: {_name(aggregate)} returned {aggregated!r}, expected a number or NaN")
    return aggregated


def filled(score: Score, end: int) -> Score:
    """Return the score with missing judgements at the lower (0) or upper (1) end of what they may be."""
    pairs = zip(score.query_ids, score.numbers, strict=True)
    numbers = [score.between[query][end] if query in score.between else value for query, value in pairs]
    # Nobody chose labels by values that stand for missing ones, so it is not asked whether somebody did.
    people = replace(score.people, tests=0) if score.people is not None else None
    return replace(score, numbers=numbers, between={}, people=people)


def mean(values: Iterable[float]) -> float:
    """Return the mean of the defined values, an exact sum: the order of queries changes no digit."""
    defined = [value for value in values if value == value]
    return math.fsum(defined) / len(defined) if defined else math.nan


def _name(function: Any) -> str:
    return str(getattr(function, "__name__", "its aggregate"))


def no_remarks(_: Scores) -> Iterable[Remark]:
    """Return nothing: what scores have before somebody looked at them."""
    return ()


@dataclass(frozen=True)
class Scores(Displayed, Mapping[Any, Score]):
    """The scores of one run: a mapping from measures, in any spelling, to `Score` objects.

    `judged_by_query` is how many of the documents retrieved for a query are judged, at any rank and with any
    grade, for the judged queries that the run has; `judged` is their sum. Both are of runs only.
    `is_adaptive` says that earlier judgements chose what was judged: such scores are not tested. `is_foreign`
    says that none of the retrieved documents is judged: the values are meaningless. `absent` are
    the judged queries that the run lacks. `made_by` identifies the judgements of documents. `remarks` are
    notes for the reader, printed below the scores; `remarks_of` makes them once they are asked for.

    >>> import rageval
    >>> scores = rageval.evaluate("recall@1,rr", {"q": {"a": 2.0, "b": 1.0}}, {"q": {"a": 1, "b": 1}})
    >>> scores["R@1"].value, scores["rr"].by_query
    (0.5, {'q': 1.0})
    >>> print(scores)
    run: 1 query
    recall@1  0.5000  recall@1|rel:1|ties:trec
    rr        1.0000  rr|rel:1|ties:trec
    """

    _display = hooks.display_of_scores

    run: str
    scores: tuple[Score, ...]
    notes: Notes | None = field(default=None, repr=False, compare=False)
    judged_by_query: Mapping[str, int] = field(default_factory=dict, repr=False)
    is_adaptive: bool = field(default=False, repr=False)
    is_foreign: bool = field(default=False, repr=False)
    absent: frozenset[str] = field(default=frozenset(), repr=False)
    made_by: Fingerprint | None = field(default=None, repr=False, compare=False)
    remarks_of: Callable[[Scores], Iterable[Remark]] = field(default=no_remarks, repr=False, compare=False)

    def __getstate__(self) -> dict[str, Any]:
        # What makes the remarks may hold all judgements: they are made before they are sent.
        return self.__dict__ | {"remarks": self.remarks, "remarks_of": no_remarks}

    @cached_property
    def remarks(self) -> tuple[Remark, ...]:
        """What should be known of the scores."""
        return tuple(self.remarks_of(self))

    def with_remarks(self, remarks: Iterable[Remark]) -> Scores:
        """Return the same scores with these remarks."""
        kept = tuple(remarks)
        return replace(self, remarks_of=lambda _: kept)

    def renamed_to(self, name: str) -> Scores:
        """Return the same scores under another name, by which their remarks know the run, too."""

        def about_new_name(remark: Remark) -> Remark:
            systems = tuple(name if system == self.run else system for system in remark.about.systems)
            return replace(remark, about=replace(remark.about, systems=systems))

        return replace(self, run=name, remarks_of=lambda _: map(about_new_name, self.remarks))

    @property
    def judged(self) -> int:
        """How many of the retrieved documents are judged."""
        return sum(self.judged_by_query.values())

    def __getitem__(self, measure: Any) -> Score:
        name = str(measure)
        score, problem = self._find(name), name
        if score is None:
            # Another spelling of a measure that was scored, such as R@1 for recall@1.
            try:
                score = self._find(str(parse_measure(name)))
            except MeasureError as error:
                problem = str(error)
        if score is None:
            raise KeyError(f"{problem}; scored here: {', '.join(self)}")
        return score

    def _find(self, name: str) -> Score | None:
        """Return the score of the measure of this name, or of the one that was asked for by this name."""
        # What it is called goes before what it was asked for as: with `rel` two may have been asked for by
        # one name.
        named = [score for score in self.scores if str(score.measure) == name]
        asked = [score for score in self.scores if str(score.asked) == name]
        return next(iter(named + asked), None)

    def __iter__(self) -> Iterator[str]:
        return (str(score.measure) for score in self.scores)

    def __len__(self) -> int:
        return len(self.scores)

    def plot(self, size: str | tuple[float, float] | None = None) -> Figure:
        """Return a figure of matplotlib's: means with 95 % intervals, or curves over the cut-offs.

        Its `size` is `column`, `page`, or width and height in inches.
        """
        figure: Figure = hooks.figure_of_scores([self], size)
        return figure

    def _records(self) -> Iterator[dict[str, Any]]:
        return (
            {"run": self.run, "query_id": query, "measure": str(score.measure), "value": value}
            for score in self.scores
            for query, value in score.by_query.items()
        )

    def to_pandas(self) -> pandas.DataFrame:
        """Return a DataFrame with a row a query and measure: run, query_id, measure, value."""
        return frame(self._records(), _COLUMNS)

    def __str__(self) -> str:
        text: str = self._display(self).text()
        return text

    __repr__ = __str__


class ScoresTable(Displayed, dict[str, Scores]):
    """The scores of several systems: a dict from names to `Scores`, which is shown as a table.

    `remarks` are notes on all of them, printed below the table.

    >>> import rageval
    >>> runs = {"one": {"q": {"a": 2.0, "b": 1.0}}, "other": {"q": {"b": 2.0, "a": 1.0}}}
    >>> table = rageval.evaluate("recall@1,rr", runs, {"q": {"a": 1}})
    >>> table["other"]["rr"].value
    0.5
    >>> print(table)
    2 runs, 1 query
    run    recall@1      rr
    ─────  ────────  ──────
    one      1.0000  1.0000
    other    0.0000  0.5000
    """

    _display = hooks.display_of_scores_table
    remarks: tuple[Remark, ...] = ()

    def __init__(self, results: Iterable[Scores] = (), remarks: Iterable[Remark] = ()) -> None:
        """Keep the scores of each system by its name."""
        super().__init__((scores.run, scores) for scores in results)
        self.remarks = tuple(remarks)

    def plot(self, size: str | tuple[float, float] | None = None) -> Figure:
        """Return a figure of matplotlib's: means with 95 % intervals, or curves over the cut-offs.

        Its `size` is `column`, `page`, or width and height in inches.
        """
        figure: Figure = hooks.figure_of_scores(list(self.values()), size)
        return figure

    def _records(self) -> Iterator[dict[str, Any]]:
        # A system is called what it stands under, which is what people read above.
        return (row | {"run": run} for run, scores in self.items() for row in scores._records())

    def to_pandas(self) -> pandas.DataFrame:
        """Return a DataFrame with a row a run, query and measure: run, query_id, measure, value."""
        return frame(self._records(), _COLUMNS)


class Scored(NamedTuple):
    """The scores of systems, what should be said of them, and why other systems have none."""

    results: list[Scores]
    remarks: list[Remark]
    refused: Sequence[Remark] = ()

    @property
    def unsaid(self) -> list[Remark]:
        """The remarks that stand in the scores of no system."""
        shown = {remark for scores in self.results for remark in scores.remarks}
        return [remark for remark in self.remarks if remark not in shown]

    @property
    def table(self) -> ScoresTable:
        """The scores with all remarks: of each system those that concern it."""
        results = (
            scores.with_remarks(remark for remark in self.remarks if remark.about.includes(scores.run))
            for scores in self.results
        )
        return ScoresTable(results, self.remarks)


class Labels(NamedTuple):
    """What people said of one system, by one measure: a value a query, None of what they judged in part.

    `failed` are the queries of which a label was asked for and failed.
    """

    by_labeller: Sequence[tuple[str, Mapping[str, float | None]]]
    failed: Collection[str]


class RunFingerprint(NamedTuple):
    """What a system gave to each query, as far as two of its states can be distinguished.

    `absent` are queries of which it says nothing, `lacking` those of them of which no value is known. `same`
    has a digest of what was given and judged, `nuggets` one of the list that it was judged by. `judgements`
    is the digest of judgements of documents. Of a run, `unjudged` is the share of what it shows that nobody
    judged, `unseen` that of its queries of which nothing is judged, and `bounds` are the ends of its means.
    """

    absent: frozenset[str]
    same: Mapping[str, str]
    lacking: frozenset[str] = frozenset()
    nuggets: Mapping[str, str] = {}
    repeats: Mapping[str, int] = {}
    judgements: str = ""
    rubrics: Sequence[str] = ()
    unjudged: float | None = None
    unseen: float | None = None
    bounds: Mapping[str, tuple[float, float]] = {}


def undefined_remarks(scores: Scores) -> Iterator[Remark]:
    """Say on how many queries means rest that do not depend on all of them."""
    systems = (scores.run,)
    names: dict[tuple[int, int], list[str]] = {}
    for score in scores.scores:
        if score.undefined:
            names.setdefault((score.queries, score.undefined), []).append(str(score.measure))
    for (queries, number), measures in names.items():
        facts = {"measures": measures, "queries": queries, "number": number}
        yield Remark("undefined_queries", Scope(systems), facts)
    # Groups that have no value, of a mean over groups.
    for score in scores.scores:
        if score.groups is None or not score.queries:
            continue
        values = score.numbers_by(score.groups)
        empty = [group for group, of in values.items() if math.isnan(combined(score.measure, of))]
        if empty:
            about = Scope(systems, str(score.measure))
            yield Remark(
                "undefined_groups",
                about,
                {
                    "number": len(empty),
                    "total": len(values),
                    "examples": empty[:EXAMPLES],
                    "is_weighted": bool(score.weights),
                },
            )


def require_groups(groups: Mapping[str, str], queries: Iterable[str], source: str) -> None:
    """Refuse groups that lack a query."""
    lost = [query for query in queries if query not in groups]
    if lost:
        raise InputError(
            at=Place(source),
            problem=f"{len(lost):,} judged queries have no group, such as {visible(lost[0])!r}",
            expected="one for each",
        )


def groups_by(
    facts: _Facts, field: str, queries: Iterable[str], source: str, fields: Sequence[str]
) -> dict[str, str]:
    """Return the value of the field for every query; `InputError` names the fields there are."""
    if not any(field in query_facts for query_facts in facts.values()):
        raise InputError(
            at=Place(source),
            problem=f"there is no field {field!r}",
            expected=f"one of {', '.join(map(visible, fields)) or 'none'}",
            remedy=did_you_mean(field, fields),
        )
    queries = list(queries)
    lost = [query for query in queries if field not in facts.get(query, {})]
    if lost:
        first = ", ".join(map(visible, list(facts)[:3])) + (", …" if len(facts) > 3 else "")
        raise InputError(
            at=Place(source),
            problem=f"has no {field} for {len(lost):,} of {len(queries):,} queries, such as"
            f" {visible(lost[0])!r}",
            expected=f"it for each (queries there: {first})",
        )
    return {query: facts[query][field] for query in queries}


def checked_weights(weights: Mapping[str, float], groups: Mapping[str, str], source: str) -> dict[str, float]:
    """Return weights that sum to 1, one for every group there is."""
    total = math.fsum(weights.values())
    if not abs(total - 1) <= 1e-6 or not min(weights.values(), default=-1.0) >= 0:
        raise InputError(
            at=Place(source), expected="weights from 0 that sum to 1", found=f"a sum of {total:g}"
        )
    there = set(groups.values())
    # A group without weight is an error, and so is a weight for a group that does not exist: most likely
    # misspelt.
    lost = sorted(there - set(weights)) + sorted(name for name in set(weights) - there if weights[name])
    if lost:
        raise InputError(
            at=Place(source),
            problem=f"{visible(lost[0])!r} has"
            f" {'no weight' if lost[0] in there else 'a weight but no query'}",
            expected=f"a weight for each of {', '.join(map(visible, sorted(there)))}",
        )
    return dict(weights)
