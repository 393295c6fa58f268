"""What a gate is asked, what it is given, and what it says."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final, NamedTuple

from rageval.comparison.results import Settings
from rageval.errors import UsageError
from rageval.files.scores import BaselineHeader
from rageval.options import Block, Interval, JudgeChanged, Population, refuse_other_words
from rageval.scoring.scores import Scores
from rageval.statistics import SEED
from rageval.statistics.bootstrap import RESAMPLES
from rageval.table import COUNT, NUMBER, Column, Displayed, Marked, Table, finite
from rageval.text import visible
from rageval.version import __version__

SHIP, BLOCK, INCONCLUSIVE, INFORMS = "ship", "block", "inconclusive", "informs"
WORSE: Final = "worse"
BEYOND: Final = "beyond-margin"  # of `block`
REFUSE: Final = "error"
ALLOW: Final = "allow"  # of `judge_changed`


@dataclass(frozen=True, slots=True)
class GateSettings:
    """What may pass.

    Parameters
    ----------
    margin
        How much worse is still good enough, in the measures' own units.
    slice_margin
        The same for slices, which can only block; twice the margin if nothing is said.
    block
        `worse`: what is surely worse, and by more than the margin as far as is seen; `beyond-margin`: what is
        surely worse by more than the margin.
    judge_changed
        Another judge or rubric than the baseline's is an `error`; with `allow` nothing is claimed.
    fail_under
        {measure: least mean of the candidate}, whatever the baseline has.
    level
        Of the one-sided bounds.
    clusters, clustered_by, interval, resamples, seed, population
        As for a comparison.
    """

    margin: float
    slice_margin: float | None = None
    block: Block = WORSE
    judge_changed: JudgeChanged = REFUSE
    fail_under: Mapping[str, float] = field(default_factory=dict, hash=False)
    level: float = 0.95
    clusters: Mapping[str, str] | None = field(default=None, hash=False)
    clustered_by: str = "clusters"
    interval: Interval = "bca"
    resamples: int = RESAMPLES
    seed: int = SEED
    population: Population = "kind"

    def __post_init__(self) -> None:
        for name in ("margin", "slice_margin"):
            value = getattr(self, name)
            if value is not None and not (value >= 0 and math.isfinite(value)):
                raise UsageError(f"{name}={value!r}: expected a number from 0")
        refuse_other_words(self)
        if not 0.5 < self.level < 1:
            raise UsageError(f"level={self.level!r}: expected a number between 0.5 and 1")

    @property
    def of_slices(self) -> float:
        """The margin of slices."""
        # Slices are small, and with the margin of the whole nearly all would be inconclusive.
        return 2 * self.margin if self.slice_margin is None else self.slice_margin

    def comparison(self, baseline: str) -> Settings:
        """Return how `compare` has the same numbers: two bounds of 95 % each are an interval of 90 %.

        The test is Student's: where few questions differ, flipped signs hardly ever tell, and the question is
        by how much the means differ.
        """
        names = ("clusters", "clustered_by", "interval", "resamples", "seed", "population")
        same = {name: getattr(self, name) for name in names}
        # Rounded, as 2·0.95 − 1 is not 0.9 in floating point, and signatures show it.
        level = round(2 * self.level - 1, 12)
        return Settings(baseline=baseline, test="t", adjust="none", level=level, **same)

    def signed(self, has_slices: bool) -> str:
        """Return what a stranger needs to repeat the verdict."""
        parts = [f"margin:{self.margin:g}", *([f"slices:{self.of_slices:g}"] if has_slices else [])]
        # Everything that could have made the verdict another one; nothing that only changes how it is shown.
        parts += [f"block:{self.block}", f"level:{self.level:g}", "test:t"]
        parts += [f"interval:{self.interval}", f"resamples:{self.resamples}"]
        parts += [f"units:{visible(self.clustered_by)}"] if self.clusters is not None else []
        return "|".join(["gate", *parts, f"seed:{self.seed}", f"v:{__version__}"])


class GateSide(NamedTuple):
    """One of the two systems: its scores, what they were made with, and what else is known of questions.

    `absent` are questions of which it says nothing, `lacking` those of them of which no value is known.
    `same` tells what is the same as elsewhere, question by question, `nuggets` lists of nuggets. Of a run
    `unseen` is the share of its questions of which nothing retrieved is judged; None where nothing can be
    said of that.
    """

    scores: Scores
    header: BaselineHeader
    absent: frozenset[str] = frozenset()
    same: Mapping[str, str] = {}
    nuggets: Mapping[str, str] = {}
    facts: Mapping[str, Mapping[str, str]] = {}
    repeats: Mapping[str, int] = {}
    unseen: float | None = None
    lacking: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Decision:
    """The verdict by one measure, over all questions or those of a slice.

    `difference` is candidate − baseline with its one-sided bounds; `p` is that of no loss, `adjusted` for
    all measures and slices. So many questions (`needed_of`: or clusters, or labels) as are `needed` would
    decide it with power 0.8, if the difference stayed what it is. `basis` is what it rests on, as
    `rageval.scoring.basis` writes it, and `corrected_from` what labels correct.
    """

    measure: str
    field: str
    name: str
    questions: int
    baseline: float
    candidate: float
    difference: float
    low: float
    high: float
    p: float
    adjusted: float
    margin: float
    verdict: str
    needed: int | None = None
    needed_of: str = "questions"
    why: str = ""
    basis: str = ""
    corrected_from: str = ""

    @property
    def place(self) -> str:
        """The slice, or `all`."""
        return f"{self.field} {self.name}" if self.field else "all"

    @property
    def wanted(self) -> str:
        """How much more is needed, in words."""
        return "-" if self.needed is None else f"{self.needed:,} {self.needed_of}"


class Fallen(NamedTuple):
    """A question that scores less than it did."""

    query_id: str
    measure: str
    baseline: float
    candidate: float


@dataclass(frozen=True, slots=True, repr=False)
class GateReport(Displayed):
    """What a gate says: the verdict, what it rests on, and what should be known besides."""

    verdict: str
    decisions: Sequence[Decision]
    fell: Sequence[Fallen]
    counts: Mapping[str, int] = field(hash=False)
    remarks: Sequence[str]
    floors: Sequence[str]
    candidate: str
    baseline: str
    signature: str
    signatures: Mapping[str, str] = field(hash=False)

    @property
    def blocking(self) -> list[Decision]:
        """What blocks."""
        return [each for each in self.decisions if each.verdict == BLOCK]

    @property
    def overall(self) -> list[Decision]:
        """The decisions over all questions, one a measure."""
        return [each for each in self.decisions if not each.field]

    def as_dict(self) -> dict[str, Any]:
        """Return everything, for a program; what is undefined is None."""
        found = {name: getattr(self, name) for name in ("verdict", "candidate", "baseline", "signature")}
        return {
            **found,
            "measures": dict(self.signatures),
            "counts": dict(self.counts),
            "decisions": [finite(asdict(each)) for each in self.decisions],
            "fell": [finite(each._asdict()) for each in self.fell],
            "floors": list(self.floors),
            "remarks": list(self.remarks),
        }

    def sentences(self) -> list[str]:
        """Return which floors are missed, and what should be known besides."""
        return [*self.floors, *self.remarks]

    def _table(self) -> Table:
        columns = [Column("measure"), Column("n", COUNT), Column("before → now")]
        columns += [Column("difference [low, high]", NUMBER, 3, "+"), Column("verdict")]
        rows: list[list[Any]] = []
        for each in self.decisions:
            name = f"  {each.place}" if each.field else each.measure
            values = f"{each.baseline:.3f} → {each.candidate:.3f}"
            difference = Marked(each.difference, (each.low, each.high))
            rows.append([name, each.questions, values, difference, each.verdict, each.needed])
        title = f"{self.verdict}: {visible(self.candidate)} against {visible(self.baseline)}"
        return Table([*columns, Column("needed", COUNT, none="-")], rows, title=title)

    def _records(self) -> list[dict[str, Any]]:
        return [asdict(each) for each in self.decisions]
