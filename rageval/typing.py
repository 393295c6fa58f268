"""Types of the arguments of public functions, for type checkers, editors and your own annotations.

from rageval.typing import MeasuresLike, QrelsLike, RunLike
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import IO, TYPE_CHECKING, Any, Literal, Protocol, SupportsFloat, TypeAlias, TypedDict

from rageval.files.objects import AnyRecord as AnyRecord
from rageval.files.objects import Frame as Frame
from rageval.files.objects import HasQrels as HasQrels
from rageval.files.objects import HasRun as HasRun
from rageval.files.objects import JudgedRecord as JudgedRecord
from rageval.files.objects import RetrievedRecord as RetrievedRecord
from rageval.options import (
    Adjust,
    Block,
    CompatOfAnswers,
    CompatOfRuns,
    JudgeChanged,
    OnMissing,
    Population,
    Test,
    Ties,
    Vote,
    ZeroRel,
)

if TYPE_CHECKING:
    import ir_measures

    from rageval.comparison.margins import MarginLike
    from rageval.datasets.dataset import Dataset
    from rageval.files.judgements import JudgementTable
    from rageval.judges.base import Model
    from rageval.measures.base import Measure
    from rageval.measures.foreign import ForeignMeasure
    from rageval.records import Nugget
    from rageval.scoring.qrels import Qrels
    from rageval.scoring.runs import Run
    from rageval.scoring.sources import RunSource


class Executor(Protocol):
    """An executor of `concurrent.futures`, or one that is alike."""

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> Any:
        """Begin a call, and return its future."""


if TYPE_CHECKING:
    MeasureLike: TypeAlias = str | Measure | ForeignMeasure | ir_measures.Measure
    MeasuresLike: TypeAlias = MeasureLike | Iterable[MeasureLike]
    FileLike: TypeAlias = str | os.PathLike[str] | IO[bytes]
    ChosenLike: TypeAlias = str | os.PathLike[str] | Mapping[str, float]
    RecordsLike: TypeAlias = FileLike | Iterable[AnyRecord] | Frame
    NuggetsLike: TypeAlias = FileLike | Dataset | Iterable[Nugget]
    QuestionsLike: TypeAlias = RecordsLike | Dataset
    JudgesLike: TypeAlias = str | Model | Iterable[str | Model]
    TablesLike: TypeAlias = (
        FileLike | Mapping[str, FileLike | Frame | Sequence[AnyRecord]] | Sequence[FileLike | Frame]
    )
    SystemsLike: TypeAlias = Mapping[str, Frame | Sequence[AnyRecord]]
    JudgementsLike: TypeAlias = RecordsLike | SystemsLike | JudgementTable | Iterable[FileLike]
    RunLike: TypeAlias = (
        FileLike
        | Run
        | RunSource
        | Mapping[Any, Mapping[Any, SupportsFloat]]
        | Frame
        | HasRun
        | Iterable[RetrievedRecord | AnyRecord]
    )
    RunsLike: TypeAlias = Mapping[str, RunLike] | Sequence[RunLike]
    QrelsLike: TypeAlias = (
        FileLike
        | Qrels
        | Mapping[Any, Mapping[Any, SupportsFloat | Mapping[Any, SupportsFloat]]]
        | Frame
        | HasQrels
        | Iterable[JudgedRecord | AnyRecord]
    )


class RunOptions(TypedDict, total=False):
    """The options of `evaluate`, which `rageval.scoring.rules.Rules` explains."""

    ties: Ties
    depth: int | None
    judged_only: bool
    intersection: bool
    complete: bool
    zero_rel: ZeroRel
    rel: int | None
    groups: Mapping[str, str] | None
    compat: CompatOfRuns | None
    provider: str | None
    bounds: bool
    nuggets_in_qrels: bool | None
    intent_weights: str | os.PathLike[str] | Mapping[str, Mapping[str, float]] | None
    nothing_judged: Literal["warn", "error", "zero"]


class AnswerOptions(TypedDict, total=False):
    """The options of `evaluate_answers`, which `rageval.scoring.rules.Rules` explains."""

    on_missing: OnMissing
    groups: Mapping[str, str] | None
    weights: Mapping[str, float] | None
    compat: CompatOfAnswers | None
    intersection: bool


class ComparisonOptions(TypedDict, total=False):
    """The options of `compare` for scores, which `rageval.comparison.Settings` explains."""

    baseline: str
    all_pairs: bool
    test: Test
    adjust: Adjust
    level: float
    power: float
    draws: int
    resamples: int
    seed: int
    clusters: Mapping[str, str] | Literal["none"] | None
    clustered_by: str
    population: Population
    against: str


class TableOptions(AnswerOptions, ComparisonOptions, total=False):
    """The options of `compare` for tables of answers: those of `evaluate_answers`, and of a comparison."""


class CompareOptions(RunOptions, ComparisonOptions, total=False):
    """The options of `compare` for runs: those of `evaluate`, and those of a comparison."""

    gold: QrelsLike | None
    gold_chosen: ChosenLike | None


class GateOptions(RunOptions, total=False):
    """The options of `gate`: those of `evaluate`, and what `rageval.comparison.GateSettings` explains."""

    slice_margin: MarginLike | None
    anchor_margin: MarginLike | None
    block: Block
    judge_changed: JudgeChanged
    fail_under: Mapping[str, float]
    level: float
    clusters: FileLike | Mapping[str, str] | Literal["none"] | None
    clustered_by: str
    resamples: int
    seed: int
    population: Population


class JudgeOptions(TypedDict, total=False):
    """The options of `judge`, which `rageval.judges.Settings` explains."""

    store: str | None
    concurrency: int
    max_cost: float | None
    max_calls: int | None
    refresh: bool
    retry: str | Sequence[str]
    repetition: int
    shard: str | None
    quiet: bool
    vote: Vote
    tiebreak: str | None
    canaries: int
    batch: bool
    poll_every: float
    price: Sequence[str] | float
    rebuy: bool
    timeout: float | None
    patience: float | None
    fit: str | os.PathLike[str] | Sequence[Mapping[str, Any]] | None
    then: str | None
    ask: float | None
    keep_error: float | None
    gold: str | os.PathLike[str] | Sequence[Mapping[str, Any]] | None
    gold_chosen: str | os.PathLike[str] | Mapping[str, float] | None
    requests_out: str | os.PathLike[str] | None
    replies_in: Sequence[str | os.PathLike[str]]
    made_by: str | None
    engine: str | None
    engine_class: str | None
    sample: float
