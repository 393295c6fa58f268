"""Many runs, or one that is large, scored by the workers of an engine."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rageval.errors import InputError, RagevalError
from rageval.measures.base import Measure
from rageval.parallel.dividing import BY_WORKERS, Divided, findable, why_not
from rageval.parallel.engines import Engine, paired
from rageval.scores import Scores
from rageval.sources import RunSource, run_source

if TYPE_CHECKING:
    from rageval.evaluation import Evaluator
    from rageval.measures.parsing import AnyMeasure


def scored(evaluator: Evaluator, runs: Iterable[Any], engine: Engine) -> Iterator[Scores]:
    """The scores of every run, in their order. Runs are divided where they are fewer than workers."""
    sources = [run_source(run) for run in runs]
    sources = [source.in_memory() if source.is_stream else source for source in sources]
    if len(sources) < engine.width or not (engine.inherits or _can_travel(evaluator, sources)):
        for source in sources:
            yield evaluator.evaluate(Divided.of(source, engine))
    else:
        yield from _elsewhere(evaluator, sources, engine)


def _elsewhere(evaluator: Evaluator, sources: list[RunSource], engine: Engine) -> Iterator[Scores]:
    """A run a worker. One that a worker cannot read is read here, which tells whether it can be read."""
    sent = sources
    if not engine.inherits:
        sent = [replace(source, path=findable(source.path)) for source in sources]
    for source, found in paired(sources, engine.results(_scores_or_error, evaluator, sent)):
        if isinstance(found, Scores):
            yield found
            continue
        reason = why_not(BY_WORKERS, found)
        scores = evaluator.evaluate(source)
        if scores.notes is not None:
            scores.notes.read_here = reason
        yield scores


def _can_travel(evaluator: Evaluator, sources: list[RunSource]) -> bool:
    """Whether no rows would have to be sent, and no measure that a worker does not know."""
    return all(source.table is None for source in sources) and all(map(_is_known, evaluator.measures))


def _is_known(measure: AnyMeasure) -> bool:
    """A measure travels as its name; a worker may know none of this name, or another one."""
    try:
        again = pickle.loads(pickle.dumps(measure))
    except RagevalError:
        return False
    return not isinstance(measure, Measure) or again.function is measure.function


def _scores_or_error(evaluator: Evaluator, source: RunSource) -> Scores | InputError:
    try:
        return evaluator.evaluate(source)
    except InputError as error:
        return error
