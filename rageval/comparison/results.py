"""What a comparison is asked, and what it returns."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from rageval.errors import UsageError
from rageval.measures.base import LOWER as LOW_IS_GOOD
from rageval.measures.base import NEITHER
from rageval.options import Adjust, Interval, Population, Test, refuse_other_words
from rageval.scoring.basis import WORDS, by_whom
from rageval.scoring.likeness import IDENTICAL
from rageval.scoring.scores import ScoresTable
from rageval.statistics import SEED
from rageval.statistics.bootstrap import RESAMPLES
from rageval.statistics.power import POWER
from rageval.statistics.significance import DRAWS
from rageval.table import NUMBER, Column, Displayed, Marked, P, Table, finite
from rageval.text import visible
from rageval.version import __version__

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from rageval.measures.parsing import AnyMeasure

_Found = TypeVar("_Found")
BEST = "best"
_MOST = 10**7  # draws


Absent = Mapping[str, Collection[str]]  # queries that a run lacks


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
        `randomization` or `t`.
    adjust
        For the pairs of each measure by itself: `holm` or `max_t`.
    interval
        `bca` or `percentile`, of measures with more than two values.
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
        `{query: cluster}`, where queries are not independent.
    clustered_by
        Its name in the signature.
    population
        Whether claims corrected by human labels are about queries of this `kind`, or exactly this `set`.
    """

    baseline: str = BEST
    all_pairs: bool = False
    test: Test = "randomization"
    adjust: Adjust = "holm"
    interval: Interval = "bca"
    level: float = 0.95
    power: float = POWER
    draws: int = DRAWS
    resamples: int = RESAMPLES
    seed: int = SEED
    clusters: Mapping[str, str] | None = field(default=None, hash=False)
    clustered_by: str = "clusters"
    population: Population = "kind"

    def __post_init__(self) -> None:
        refuse_other_words(self)
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
        # Both draw; a formula has no draws to take the largest of.
        if self.adjust == "max_t" and self.test != "randomization":
            raise UsageError(
                f"adjust={self.adjust!r} flips signs; leave out test={self.test!r}, or choose holm"
            )
        if self.all_pairs and self.baseline != BEST:
            raise UsageError(f"all_pairs has no baseline; leave out baseline={self.baseline!r}")

    @property
    def signature(self) -> str:
        """Everything needed to repeat the comparison."""
        return self.signed()

    def signed(self, gold: str = "") -> str:
        """Return the signature; with human labels, what these are."""
        is_t = gold or self.test == "t"
        parts = {"test": "t"} if is_t else {"test": self.test, "p": "mid"}
        if not is_t or self.adjust == "max_t":
            parts["draws"] = str(self.draws)
        parts |= {
            "adjust": self.adjust,
            "against": "all-pairs" if self.all_pairs else visible(self.baseline),
            **({"population": self.population} if gold else {"interval": self.interval}),
            **({} if gold else {"resamples": str(self.resamples)}),
            "level": f"{self.level:g}",
            "power": f"{self.power:g}",
        }
        if self.clusters is not None:
            parts["units"] = visible(self.clustered_by)
        parts |= {"seed": str(self.seed), "v": __version__}
        said = [f"{name}:{value}" for name, value in parts.items()]
        # Seed and version stand last in every signature.
        return "|".join(["compare", *said[:-2], *([gold] if gold else []), *said[-2:]])


HIGHER, LOWER, UNDECIDED = "higher", "lower", "undecided"
BETTER, WORSE = "better", "worse"
REFUSED = "refused"
NO_WINNER = "no winner"
_DIRECTIONS = (HIGHER, LOWER, BETTER, WORSE)
_CLAIMS = (*_DIRECTIONS, IDENTICAL)


@dataclass(frozen=True, slots=True)
class Cell:
    """A run's mean by one measure, with its interval; `basis` is what `rageval.scoring.basis` writes.

    With labels the mean is the corrected one, or NaN (`why`), `judged` the judge's, and `corrected_from` its
    basis; `labels` are how many queries were labeled, and `gain` how many would tell as much without a judge.
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
    basis: str = ""
    judged: float | None = None
    labels: int | None = None
    gain: float | None = None
    why: str = ""
    corrected_from: str = ""


@dataclass(frozen=True, slots=True)
class Pair:
    """A run against another by one measure.

    `difference` is run − other, on the `queries` where both are defined. `p` is the test's, `adjusted` for
    all comparisons by this measure; `effect` is in standard deviations of the differences. `wins`, `ties` and
    `losses` count queries, won where the value is better (higher, if neither direction is better).
    `detectable` is the smallest difference that this many queries can show (NaN where too few of them
    differ). A difference like the observed one needs between `needed_least` and `needed_most` queries (or
    clusters), which are what the ends of its interval need; None where there is no limit.

    `verdict` is the claim: `higher` or `lower`, or for a measure that is good when low `worse` or `better`;
    `why` adds what else to know. `every_completion` is the verdict over all ways to judge the unjudged
    documents. `better_run` is the run that may be called better. `basis` is the basis of all this, as
    `rageval.scoring.basis` writes it; if that is a judge, the verdict names it.

    With labels, all of it is about the corrected difference. `judged` is then the judge's difference, with
    its basis `corrected_from`, and `people` that of the labels: `labels` queries, worth `gain` labels without
    a judge, and won, tied or lost. `test` is how the pair was tested, and `family` over which pairs p is
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
    verdict: str
    why: str = ""
    every_completion: str | None = None
    better_run: str | None = None
    basis: str = ""
    judged: float | None = None
    people: float | None = None
    labels: int | None = None
    gain: float | None = None
    corrected_from: str = ""
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
        # A verdict says whose word it is, which does not make it more or less significant.
        return self.ruling in _DIRECTIONS

    @property
    def ruling(self) -> str:
        """The verdict without its basis: `higher`, `undecided`, `refused`."""
        return ruling_of(self.verdict)


@dataclass(frozen=True, slots=True, repr=False)
class Comparison(Displayed):
    """All runs by all measures, and the pairs that were compared.

    `better` says of each measure which values are good: `higher`, `lower` or `neither`; `definitions` are the
    measures by their names, and `scores` what was compared. Printed (and in a notebook) it is a table of the
    pairs, and a DataFrame by `to_pandas`; in LaTeX a table of the runs.
    """

    runs: Sequence[str]
    measures: Sequence[str]
    cells: Sequence[Cell]
    pairs: Sequence[Pair]
    remarks: Sequence[str]
    settings: Settings
    better: Mapping[str, str] = field(default_factory=dict, hash=False)
    gold: str = ""
    definitions: Mapping[str, AnyMeasure] = field(default_factory=dict, hash=False, compare=False)
    scores: ScoresTable = field(default_factory=ScoresTable, hash=False, compare=False)
    # What is asked of every cell or pair, found once for all: else work would grow with their square.
    _found: dict[str, Any] = field(default_factory=dict, init=False, repr=False, hash=False, compare=False)

    def once(self, name: str, find: Callable[[Comparison], _Found]) -> _Found:
        """Return what is found of the whole comparison; found when it is first asked for."""
        if name not in self._found:
            self._found[name] = find(self)
        found: _Found = self._found[name]
        return found

    def cell(self, run: str, measure: str) -> Cell:
        """Return the value of a run by a measure."""
        # Looked up for each pair and each row of a table: a walk over all cells each time would be slow.
        cells = self.once("cells", lambda found: {(each.run, each.measure): each for each in found.cells})
        return cells[run, measure]

    def lower_is_better(self, measure: str) -> bool:
        """Return whether a low value of this measure is a good one."""
        return self.better.get(measure) == LOW_IS_GOOD

    def of(self, measure: str) -> list[Pair]:
        """Return the pairs by one measure."""
        return self.once("pairs", _pairs_by_measure).get(measure, [])

    @property
    def bases(self) -> dict[str, str]:
        """The basis of the claims by each measure, as `rageval.scoring.basis` writes it."""
        return {cell.measure: cell.basis for cell in self.cells}

    @property
    def claimed_by(self) -> dict[str, tuple[str, str]]:
        """The basis of the claims by each measure, and what it is corrected from, if it is."""
        return {cell.measure: (cell.basis, cell.corrected_from) for cell in self.cells}

    @property
    def signature(self) -> str:
        """How it was compared, in one line."""
        return self.settings.signed(self.gold)

    def typeset(self, measure: str) -> str:
        """Return what a paper calls a measure, with formulas between dollar signs."""
        known = self.definitions.get(measure)
        return measure.replace("$", r"\$") if known is None else known.typeset

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
        from rageval.comparison.tables import latex_of

        return "\n".join(latex_of(self, caption, label, show, places))

    def plot(self, size: str | tuple[float, float] | None = None) -> Figure:
        """Return a figure of matplotlib's: the means with their intervals, a panel a measure, side by side.

        Its `size` is `column`, `page`, or width and height in inches.
        """
        from rageval.comparison.plots import figure_of_comparison

        return figure_of_comparison(self, size=size)

    def tables(self, places: int = 4) -> list[Table]:
        """Return the means of the runs, and the pairs with their tests and verdicts."""
        from rageval.comparison.tables import pairs_of, values_of

        return [values_of(self, places), pairs_of(self, places)]

    def sentences(self) -> list[str]:
        """Return what was tested, the results, and their basis."""
        from rageval.comparison.tables import said_of_claims

        return said_of_claims(self)

    def _table(self) -> Table:
        columns = [Column("measure"), Column("run"), Column("against")]
        columns += [Column("difference", NUMBER, 3, "+"), Column("p", P), Column("verdict")]
        rows: list[list[Any]] = []
        for pair in self.pairs:
            difference = Marked(pair.difference, (pair.low, pair.high))
            rows.append([pair.measure, pair.run, pair.other, difference, pair.adjusted, pair.verdict])
        return Table(columns, rows, 3, "; ".join([f"{len(self.runs):,} runs", *self.sentences()]))

    def _records(self) -> list[dict[str, Any]]:
        return [asdict(pair) for pair in self.pairs]

    def as_dict(self) -> dict[str, Any]:
        """Return everything, for a program; what is undefined is None."""
        return {
            "signature": self.signature,
            "runs": list(self.runs),
            "measures": list(self.measures),
            "better": dict(self.better),
            "basis": self.bases,
            "values": [finite(asdict(cell)) for cell in self.cells],
            "pairs": [finite(asdict(pair)) | {"ruling": pair.ruling} for pair in self.pairs],
            "said": self.sentences(),
            "remarks": list(self.remarks),
        }


def _pairs_by_measure(found: Comparison) -> dict[str, list[Pair]]:
    pairs: dict[str, list[Pair]] = {}
    for pair in found.pairs:
        pairs.setdefault(pair.measure, []).append(pair)
    return pairs


def worded(verdict: str, better: str, basis: str = "", corrected_from: str = "") -> str:
    """Return the verdict on a difference as a claim: of a measure that is good when low, `higher` is `worse`.

    A claim names its basis, unless that is human labels. No claim is made where nothing was decided, or where
    texts are only matched.

    >>> worded("higher", "lower"), worded("higher", "higher"), worded("undecided", "lower")
    ('worse', 'higher', 'undecided')
    >>> worded("higher", "lower", "judge:m"), worded("refused", "lower", "judge:m")
    ('worse by m', 'refused')
    >>> worded("higher", "higher", "words"), worded("higher", "higher", "judge:big", "judge:m")
    ('no winner', 'higher by big, corrected from m')
    """
    claim = ruling_of(verdict)
    if better == LOW_IS_GOOD:
        claim = {HIGHER: WORSE, LOWER: BETTER}.get(claim, claim)
    if basis == WORDS and claim in _DIRECTIONS:
        return NO_WINNER
    whose = by_whom(basis, corrected_from)
    return f"{claim} {whose}" if whose and claim in _CLAIMS else claim


def ruling_of(verdict: str) -> str:
    """Return a verdict without its basis.

    >>> ruling_of("higher by m, corrected from n"), ruling_of("ties only")
    ('higher', 'ties only')
    """
    return verdict.partition(" by ")[0]


def better_of(run: str, other: str, verdict: str, better: str) -> str | None:
    """Return the run that may be called better, if either may."""
    if better == NEITHER:
        return None
    return {HIGHER: run, BETTER: run, LOWER: other, WORSE: other}.get(ruling_of(verdict))
