"""Many runs, or one that is large, scored by the workers of an engine."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rageval.errors import RagevalError
from rageval.measures.base import Measure
from rageval.parallel.dividing import Divided, findable
from rageval.parallel.engines import Engine
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
        if not engine.inherits:
            sources = [replace(source, path=findable(source.path)) for source in sources]
        yield from engine.results(_scores_of, evaluator, sources)


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


def _scores_of(evaluator: Evaluator, source: RunSource) -> Scores:
    return evaluator.evaluate(source)
