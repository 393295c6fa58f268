"""Runs scored by the workers of an engine: a run a worker, or a run's file in parts."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from rageval.core.remark import Remark
from rageval.errors import InputError, RagevalError
from rageval.files.opening import FileChanged, can_read_again, is_remote, limits_of, with_limits
from rageval.files.parts import FilePart, Grain, cut
from rageval.files.trec import Reading
from rageval.measures.base import Measure
from rageval.measures.parsing import parse_measure
from rageval.parallel._engines import Engine, OnDask, OnExecutor, paired, processes
from rageval.scoring.runs import Scattered, whole_queries
from rageval.scoring.scores import Scores
from rageval.scoring.sources import (
    Joined,
    Joining,
    Piece,
    RunSource,
    compiled_piece,
    portable,
    rows_of,
    run_source,
)

if TYPE_CHECKING:
    from rageval.measures.parsing import AnyMeasure
    from rageval.scoring.evaluation import Evaluator
    from rageval.typing import RunLike


_WORKERS, _PARTS = "workers", "parts"  # what could not read it
_LARGEST = 2**25  # bytes of a part; small enough that a lost one is soon done again
SMALLEST = 2**22  # below this a process of its own costs more than it saves


@dataclass(frozen=True, slots=True)
class RunPart:
    """The unit of work: a stretch of a file, and how to read it."""

    stretch: FilePart
    reading: Reading
    dedup: str | None

    def __str__(self) -> str:
        return str(self.stretch)


def piece_of(joining: Joining, part: RunPart) -> Piece:
    """Return what a part holds; the same whenever, wherever and however often it is asked for."""
    with part.stretch.opened(part.reading) as (source, reading):
        piece = compiled_piece(joining, source, reading)
    if piece is not None:
        return piece
    # The compiled reader leaves what is not ordinary, wherever it stands: Python reads from the beginning.
    with part.stretch.opened(part.reading) as (source, reading):
        return joining.piece(whole_queries(rows_of(source, reading), part.dedup))


def _unreadable_remark(by: str, error: InputError) -> Remark:
    """Return why what this process perhaps can read could not be read; a file that changed nobody can."""
    if isinstance(error, FileChanged):
        raise error
    return Remark("not_read_by_workers", facts={"by": by, "error": str(error.problems[0])})


def _absolute_path(path: Any) -> Any:
    """Return the path as it is found from another folder."""
    return path if is_remote(path) else with_limits(os.path.abspath(path), limits_of(path))


@dataclass
class Divided(RunSource):
    """A run that is read in parts where that is possible, and as ever where it is not."""

    workers: Engine | None = None
    smallest: int = SMALLEST

    @classmethod
    def of(cls, source: RunSource, workers: Engine) -> RunSource:
        """Return the same run, for an engine; as it is, where there is no file to divide."""
        if source.path is None:
            return source
        return cls(source.name, source.table, source.path, source.reading, source.dedup, workers=workers)

    def join(self, joining: Joining) -> Joined:
        """Join in parts, if parts can be put together.

        Where one fails, the run is read in one piece, as without workers: that tells which line is wrong,
        or gathers scattered queries.
        """
        if self.workers is None:
            return super().join(joining)
        by, reason = _PARTS, None
        try:
            parts = self.parts(self.workers)
            if len(parts) > 1:
                by = _WORKERS
                # Judgements travel, unless the workers see the memory of this process.
                inherits = self.workers.inherits
                sent = joining if inherits else joining._replace(qrels=portable(joining.qrels))
                pieces = [piece for _, piece in paired(parts, self.workers.results(piece_of, sent, parts))]
                return self._remember_join(joining.together(pieces))
        except Scattered:
            pass
        except InputError as error:
            reason = _unreadable_remark(by, error)
        joined = super().join(joining)
        joined.notes.read_here = reason
        return joined

    def parts(self, workers: Engine) -> list[RunPart]:
        """Return the parts of the file; none if it is not a file, or one that cannot be cut."""
        path: Any = self.path
        if self.table is not None or not isinstance(path, str | os.PathLike):
            return []
        if not can_read_again(path):
            return []
        if not workers.inherits:  # such a worker may stand in another folder
            path = _absolute_path(path)
        stretches = cut(path, self.reading, Grain(workers.width, self.smallest, _LARGEST))
        return [RunPart(stretch, self.reading, self.dedup) for stretch in stretches]


def in_parts(source: RunSource, executor: Any) -> RunSource:
    """Return a run whose file the workers of an executor read in parts."""
    return Divided.of(source, OnExecutor(executor))


def scored(evaluator: Evaluator, runs: Iterable[RunLike], workers: Engine) -> Iterator[Scores]:
    """Score runs by the workers of an engine.

    Parameters
    ----------
    evaluator
        The measures and judgements.
    runs
        The runs. They are divided where they are fewer than workers.
    workers
        The workers.

    Yields
    ------
    Scores
        The scores of every run, in their order.
    """
    sources = [run_source(run) for run in runs]
    # A stream can be read once, and by nobody else.
    sources = [source.in_memory() if source.is_stream else source for source in sources]
    # Rows of a table are not sent, nor a measure that a worker does not know.
    can_travel = workers.inherits or (
        all(source.table is None and source.path is not None for source in sources)
        and all(map(_is_known, evaluator.measures))
    )
    if len(sources) < workers.width or not can_travel:
        for source in sources:
            yield evaluator.score(Divided.of(source, workers))
    else:
        # A run that a worker cannot read is read here, which tells whether it can be.
        sent = sources
        if not workers.inherits:
            sent = [replace(source, path=_absolute_path(source.path)) for source in sources]
        for source, outcome in paired(sources, workers.results(_scores_or_error, evaluator, sent)):
            if isinstance(outcome, Scores):
                yield outcome
                continue
            reason = _unreadable_remark(_WORKERS, outcome)
            scores = evaluator.score(source)
            if scores.notes is not None:
                scores.notes.read_here = reason
            yield scores


def score_on_workers(
    jobs: int, cluster: str | None, evaluate: Callable[..., Scores], sources: Iterable[RunSource]
) -> Iterator[Scores]:
    """Score runs, as `map` does, in so many processes, or on the workers of a Dask cluster.

    `evaluate` is the method of an evaluator that scores one run.
    """
    evaluator: Evaluator = evaluate.__self__  # type: ignore[attr-defined]  # its method
    with OnDask(cluster) if cluster is not None else processes(jobs) as workers:
        yield from scored(evaluator, list(sources), workers)


def _is_known(measure: AnyMeasure) -> bool:
    """Return whether a worker knows this measure by its name: it may know none, or another one."""
    if not isinstance(measure, Measure):
        return True
    try:
        parsed = parse_measure(str(measure))
    except RagevalError:
        return False
    return isinstance(parsed, Measure) and parsed.function is measure.function


def _scores_or_error(evaluator: Evaluator, source: RunSource) -> Scores | InputError:
    try:
        return evaluator.score(source)
    except InputError as error:
        return error
