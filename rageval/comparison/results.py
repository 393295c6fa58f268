"""What a comparison is asked, and what it returns."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from rageval import hooks
from rageval.core.basis import UNSTATED, Basis
from rageval.core.record import plain_fields
from rageval.core.remark import Remark
from rageval.core.ruling import Ruling
from rageval.core.signature import join_signature
from rageval.errors import UsageError
from rageval.measures.base import LOWER as LOW_IS_GOOD
from rageval.measures.base import NEITHER
from rageval.options import Adjust, Population, Test, refuse_other_words
from rageval.scoring.scores import ScoresTable
from rageval.statistics import SEED
from rageval.statistics.bootstrap import RESAMPLES
from rageval.statistics.power import POWER
from rageval.statistics.significance import DRAWS
from rageval.table import Displayed, Table, finite
from rageval.text import visible
from rageval.version import __version__

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from rageval.measures.parsing import AnyMeasure

_Result = TypeVar("_Result")
BEST = "best"
_MOST = 10**7  # draws


Clusters = Mapping[str, str] | Literal["none"]  # of queries that are not independent
Absent = Mapping[str, Collection[str]]  # queries that a run lacks


def require_clusters(clusters: object) -> None:
    """Raise `UsageError` for a word in place of clusters, unless it says that there are none."""
    if isinstance(clusters, str) and clusters != "none":
        raise UsageError(f"clusters={clusters!r}: expected {{query: cluster}}, or none")


@dataclass(frozen=True, slots=True)
class Settings:
    """How runs are compared.

    Parameters
    ----------
    baseline
        The run that the others are compared with; `best` is the best one, measure by measure.
    all_pairs
        Compare every run with every other instead.
    test
        `auto` fits the test to the values: flipped signs, and a studentized bootstrap of graded ones.
        `randomization` (flipped signs) or `t` is that test alone.
    adjust
        For the pairs of each measure by itself: `max_t` or `holm`.
    level
        Confidence level of the intervals; an adjusted p is compared with 1 − level.
    power
        Power for the detectable difference.
    draws
        Minimum number of sign flips.
    resamples
        Number of bootstrap resamples.
    seed
        Seed of both.
    clusters
        `{query: cluster}`, where queries are not independent; by default the conversations that scores know,
        which `none` undoes.
    clustered_by
        Its name in the signature.
    population
        Whether claims corrected by human labels are about queries of this `kind`, or exactly this `set`.
    against
        The measure of cost against which the others are held: which systems are on the frontier. All pairs
        are compared then.
    """

    baseline: str = BEST
    all_pairs: bool = False
    test: Test = "auto"
    adjust: Adjust = "max_t"
    level: float = 0.95
    power: float = POWER
    draws: int = DRAWS
    resamples: int = RESAMPLES
    seed: int = SEED
    clusters: Clusters | None = field(default=None, hash=False)
    clustered_by: str = "clusters"
    population: Population = "kind"
    against: str = ""

    def __post_init__(self) -> None:
        refuse_other_words(self)
        require_clusters(self.clusters)
        for name in ("level", "power"):
            if not 0 < getattr(self, name) < 1:
                raise UsageError(f"{name}={getattr(self, name)!r}: expected a number between 0 and 1")
        for name in ("draws", "resamples"):
            # With fewer no p below 0.01 exists; the upper end keeps a typing error from filling the memory.
            if not 100 <= getattr(self, name) <= _MOST:
                raise UsageError(
                    f"{name}={getattr(self, name)!r}: expected a whole number from 100 to {_MOST:,}"
                )
        if self.seed < 0:
            raise UsageError(f"seed={self.seed}: expected a whole number from 0")
        if (self.all_pairs or self.against) and self.baseline != BEST:
            option = "against" if self.against else "all_pairs"
            raise UsageError(f"{option} has no baseline; leave out baseline={self.baseline!r}")
        if self.against:  # who is dominated, all pairs together tell
            object.__setattr__(self, "all_pairs", True)

    @property
    def units(self) -> Mapping[str, str] | None:
        """The cluster of every query; None where queries are independent."""
        return None if self.clusters == "none" else self.clusters

    @property
    def signature(self) -> str:
        """Everything needed to repeat the comparison."""
        return self.signed()

    def signed(self, gold: str = "", tests: Collection[str] = ()) -> str:
        """Return the signature; with human labels, what these are, and with the tests that were used."""
        is_t = gold or self.test == "t"
        parts = {"test": "t"} if is_t else {"test": "+".join(tests) or self.test, "p": "mid"}
        if not is_t or self.adjust == "max_t":
            parts["draws"] = str(self.draws)
        parts |= {
            "adjust": self.adjust,
            "against": "all-pairs" if self.all_pairs else visible(self.baseline),
            **({"population": self.population} if gold else {"resamples": str(self.resamples)}),
            "level": f"{self.level:g}",
            "power": f"{self.power:g}",
        }
        if self.units is not None:
            parts["units"] = visible(self.clustered_by)
        if self.against:
            parts["frontier"] = visible(self.against)
        # Seed and version stand last in every signature.
        last = (f"seed:{self.seed}", f"v:{__version__}")
        return "|".join([join_signature("compare", parts), *([gold] if gold else []), *last])


@dataclass(frozen=True, slots=True)
class Cell:
    """A run's mean by one measure, with its interval and its basis.

    With labels the mean is the corrected one, or NaN for `reasons`, and `judged` the judge's; `labels` are
    how many queries were labeled, and `gain` how many would tell as much without a judge.
    """

    run: str
    measure: str
    value: float
    low: float
    high: float
    queries: int
    undefined: int
    is_best: bool
    signature: str
    basis: Basis = UNSTATED
    judged: float | None = None
    labels: int | None = None
    gain: float | None = None
    reasons: tuple[Remark, ...] = ()

    def record(self) -> dict[str, Any]:
        """Return everything, for a program."""
        fields = {name: getattr(self, name) for name in self.__slots__}
        return plain_fields(fields | self.basis.texts)


@dataclass(frozen=True, slots=True)
class Pair:
    """A run against another by one measure.

    `difference` is run − other, on the `queries` where both are defined. `p` is the test's, `adjusted` for
    all comparisons by this measure; `effect` is in standard deviations of the differences. `wins`, `ties` and
    `losses` count queries, won where the value is better (higher, if neither direction is better).
    `detectable` is the smallest difference that this many queries can show (NaN where too few of them
    differ). A difference like the observed one needs between `needed_least` and `needed_most` queries (or
    clusters), which are what the ends of its interval need; None where there is no limit.

    `ruling` is what may be claimed: `higher` or `lower`, or for a measure that is good when low `worse` or
    `better`; `reasons` say why, or what else to know. `verdict` is the claim in words, which name the judge
    where all of it depends on one (`basis`). `every_completion` is the ruling over all ways to judge the
    unjudged documents. `better_run` is the run that may be called better.

    With labels, all of it is about the corrected difference. `judged` is then the judge's difference, and
    `people` that of the labels: `labels` queries, worth `gain` labels without a judge, and won, tied or lost.
    `test` is how the pair was tested, and `family` over which pairs p is
    adjusted; both are empty where it was not tested.
    """

    run: str
    other: str
    measure: str
    queries: int
    difference: float
    low: float
    high: float
    p: float
    adjusted: float
    effect: float
    wins: int
    ties: int
    losses: int
    detectable: float
    needed_least: int | None
    needed_most: int | None
    ruling: Ruling
    reasons: tuple[Remark, ...] = ()
    every_completion: Ruling | None = None
    better_run: str | None = None
    basis: Basis = UNSTATED
    judged: float | None = None
    people: float | None = None
    labels: int | None = None
    gain: float | None = None
    test: str = ""
    family: str = ""

    @property
    def needed(self) -> str:
        """How many queries a difference like the observed one needs, in words."""
        if self.needed_least is None:
            return "-"
        if self.needed_most is None:
            return f"{self.needed_least:,} or more"
        return f"{self.needed_least:,} … {self.needed_most:,}"

    @property
    def is_significant(self) -> bool:
        """Whether the difference is significant."""
        return self.ruling.is_direction

    @property
    def verdict(self) -> str:
        """The ruling as a claim, which names its basis unless that is human labels: `higher by m`."""
        return hooks.claim_text(self.ruling, self.basis)

    def record(self) -> dict[str, Any]:
        """Return everything, for a program."""
        certain = self.every_completion
        texts = {
            "verdict": self.verdict,
            "every_completion": None if certain is None else hooks.claim_text(certain, self.basis),
            **self.basis.texts,
            "reasons": [reason.as_record() for reason in self.reasons],
            "ruling": str(self.ruling),
            "every_completion_ruling": None if certain is None else str(certain),
        }
        return {name: texts[name] if name in texts else getattr(self, name) for name in _KEYS_OF_PAIRS}


# What programs read of a pair, in this order.
_KEYS_OF_PAIRS = (
    *("run", "other", "measure", "queries", "difference", "low", "high", "p", "adjusted", "effect"),
    *("wins", "ties", "losses", "detectable", "needed_least", "needed_most", "verdict", "reasons"),
    *("every_completion", "better_run", "basis", "judged", "people", "labels", "gain", "corrected_from"),
    *("test", "family", "ruling", "every_completion_ruling", "drawn"),
)


class FrontierStatus(StrEnum):
    """Whether a system is on the frontier of quality and cost, as far as the pairs of systems tell."""

    ON = "on"
    DOMINATED = "dominated"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class FrontierPoint:
    """A system by a measure and one of cost, and whether another system is better by both.

    `share` is in which share of the resamples no other system was as good or better for as little or less;
    NaN where labels correct the values. `dominators` are the systems that are better.
    """

    run: str
    measure: str
    against: str
    value: float
    against_value: float
    share: float
    status: FrontierStatus
    dominators: tuple[str, ...] = ()

    def record(self) -> dict[str, Any]:
        """Return everything, for a program."""
        return {name: getattr(self, name) for name in self.__slots__} | {
            "status": str(self.status),
            "dominators": list(self.dominators),
        }


@dataclass(frozen=True, slots=True, repr=False)
class Comparison(Displayed):
    """All runs by all measures, and the pairs that were compared.

    `better` says of each measure which values are good: `higher`, `lower` or `neither`; `definitions` are the
    measures by their names, and `scores` what was compared; `frontier` is there if the settings name a
    measure of cost. Printed (and in a notebook) it is a table of the pairs, and a DataFrame by `to_pandas`;
    in LaTeX a table of the runs.
    """

    _display = hooks.display_of_comparison

    runs: Sequence[str]
    measures: Sequence[str]
    cells: Sequence[Cell]
    pairs: Sequence[Pair]
    remarks: Sequence[Remark]
    settings: Settings
    better: Mapping[str, str] = field(default_factory=dict, hash=False)
    gold: str = ""
    definitions: Mapping[str, AnyMeasure] = field(default_factory=dict, hash=False, compare=False)
    scores: ScoresTable = field(default_factory=ScoresTable, hash=False, compare=False)
    frontier: Sequence[FrontierPoint] = ()
    # What is asked of every cell or pair, found once for all: else work would grow with their square.
    _cache: dict[str, Any] = field(default_factory=dict, init=False, repr=False, hash=False, compare=False)

    def once(self, name: str, find: Callable[[Comparison], _Result]) -> _Result:
        """Return what is found of the whole comparison; found when it is first asked for."""
        if name not in self._cache:
            self._cache[name] = find(self)
        result: _Result = self._cache[name]
        return result

    def with_measures_called(self, names: Mapping[str, str]) -> Comparison:
        """Return the comparison with other names of measures, for who typed them so."""

        def called(value: Any) -> Any:
            return replace(value, measure=names.get(value.measure, value.measure))

        def called_in(remarks: Iterable[Remark]) -> tuple[Remark, ...]:
            return tuple(remark.with_measure_called(names) for remark in remarks)

        return replace(
            self,
            measures=[names.get(measure, measure) for measure in self.measures],
            cells=[replace(called(cell), reasons=called_in(cell.reasons)) for cell in self.cells],
            pairs=[replace(called(pair), reasons=called_in(pair.reasons)) for pair in self.pairs],
            remarks=called_in(self.remarks),
            better={names.get(measure, measure): better for measure, better in self.better.items()},
            definitions={names.get(name, name): measure for name, measure in self.definitions.items()},
            frontier=list(map(called, self.frontier)),
        )

    def cell(self, run: str, measure: str) -> Cell:
        """Return the value of a run by a measure."""
        # Looked up for each pair and each row of a table: a walk over all cells each time would be slow.
        cells = self.once(
            "cells", lambda comparison: {(cell.run, cell.measure): cell for cell in comparison.cells}
        )
        return cells[run, measure]

    def lower_is_better(self, measure: str) -> bool:
        """Return whether a low value of this measure is a good one."""
        return self.better.get(measure) == LOW_IS_GOOD

    def of(self, measure: str) -> list[Pair]:
        """Return the pairs by one measure."""
        return self.once("pairs", _pairs_by_measure).get(measure, [])

    @property
    def bases(self) -> dict[str, Basis]:
        """Who decides the claims by each measure."""
        return {cell.measure: cell.basis for cell in self.cells}

    @property
    def signature(self) -> str:
        """How it was compared, in one line."""
        return self.settings.signed(self.gold, self.tests)

    @property
    def tests(self) -> list[str]:
        """The tests of pairs that labels do not correct."""
        used = (pair.test for pair in self.pairs if pair.test and not pair.basis.corrected)
        return sorted(set(used))

    def typeset(self, measure: str) -> str:
        """Return what a paper calls a measure, with formulas between dollar signs."""
        definition = self.definitions.get(measure)
        return measure.replace("$", r"\$") if definition is None else definition.typeset

    def to_latex(
        self, *, caption: str | None = None, label: str | None = None, show: str = "", places: int = 4
    ) -> str:
        """Return a table of the runs in LaTeX, for booktabs, as `rageval compare --format latex` prints it.

        Parameters
        ----------
        caption
            What stands above it: text, with formulas between dollar signs. Without one it says over how many
            queries the means are, and what the marks mean; an empty one leaves out all but the tabular.
        label
            By what a text refers to it.
        show
            What stands beside the means: `interval`, or `p`, adjusted, against the baseline.
        places
            Decimal places.

        Returns
        -------
        str
            The table.
        """
        lines: Iterable[str] = self._display(self).latex(caption, label, show, places)
        return "\n".join(lines)

    def plot(self, size: str | tuple[float, float] | None = None) -> Figure:
        """Return a figure of matplotlib's: the means with their intervals, a panel a measure, side by side.

        Its `size` is `column`, `page`, or width and height in inches.
        """
        figure: Figure = hooks.figure_of_comparison(self, (), size)
        return figure

    def tables(self, places: int = 4) -> list[Table]:
        """Return the means of the runs, and the pairs with their tests and verdicts."""
        tables: list[Table] = self._display(self).tables(places)
        return tables

    def sentences(self) -> list[str]:
        """Return what was tested, the results, and their basis."""
        sentences: list[str] = self._display(self).sentences()
        return sentences

    def _records(self) -> list[dict[str, Any]]:
        return [pair.record() for pair in self.pairs]

    def __str__(self) -> str:
        text: str = self._display(self).text()
        return text

    __repr__ = __str__

    def as_dict(self) -> dict[str, Any]:
        """Return everything, for a program; what is undefined is None."""
        return {
            "signature": self.signature,
            "runs": list(self.runs),
            "measures": list(self.measures),
            "better": dict(self.better),
            "basis": {measure: str(basis) for measure, basis in self.bases.items()},
            "values": [finite(cell.record()) for cell in self.cells],
            "pairs": [finite(pair.record()) for pair in self.pairs],
            **({"frontier": [finite(point.record()) for point in self.frontier]} if self.frontier else {}),
            "said": self.sentences(),
            "remarks": [remark.as_record() for remark in self.remarks],
        }


def _pairs_by_measure(comparison: Comparison) -> dict[str, list[Pair]]:
    pairs: dict[str, list[Pair]] = {}
    for pair in comparison.pairs:
        pairs.setdefault(pair.measure, []).append(pair)
    return pairs


def claimed(ruling: Ruling, better: str, basis: Basis) -> Ruling:
    """Return the ruling on a difference as it is claimed.

    Of a measure that is good when low, `higher` is `worse`. Of what is computed from the texts alone no
    winner is named.

    >>> claimed(Ruling.HIGHER, "lower", Basis()), claimed(Ruling.UNDECIDED, "lower", Basis())
    (<Ruling.WORSE: 'worse'>, <Ruling.UNDECIDED: 'undecided'>)
    >>> claimed(Ruling.HIGHER, "higher", Basis(is_of_texts=True))
    <Ruling.NO_WINNER: 'no winner'>
    """
    if basis.is_of_texts and ruling.is_direction:
        return Ruling.NO_WINNER
    return ruling.of_low_is_good if better == LOW_IS_GOOD else ruling


def better_of(run: str, other: str, ruling: Ruling, better: str) -> str | None:
    """Return the run that may be called better, if either may."""
    if better == NEITHER:
        return None
    winners = {Ruling.HIGHER: run, Ruling.BETTER: run, Ruling.LOWER: other, Ruling.WORSE: other}
    return winners.get(ruling)
