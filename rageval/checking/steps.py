"""What is wrong with a file of agents' steps: for `validate`, and for `doctor`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from rageval.checking.findings import Finding, Tally, Validation, error, excerpt, warning
from rageval.checking.runs import refusals
from rageval.errors import InputError
from rageval.files.opening import Source, name_of
from rageval.files.steps import StepsOfAnswer, read_steps
from rageval.records import Question

_QUANTITIES = ("input_tokens", "output_tokens", "cost", "seconds")


def validate_steps(source: Source, topics: Mapping[str, Question] | None = None) -> Validation:
    """Return the findings of a file of steps."""
    tally = Tally("step")
    return Validation(_findings_of_steps(source, topics, tally), tally)


def _findings_of_steps(
    source: Source, topics: Mapping[str, Question] | None, tally: Tally
) -> Iterator[Finding]:
    try:
        trajectories = read_steps(source)
    except InputError as refused:
        for line, reason in refusals(refused, name_of(source)):
            yield error("rejected_line", 1 if line is None else line, reason=reason)
        return
    tally.count = sum(len(trajectory.steps) for trajectory in trajectories)
    queries = dict.fromkeys(trajectory.query_id for trajectory in trajectories)
    for query in queries if topics is not None else ():
        if query not in (topics or ()):
            yield error("unknown_topic", 1, topic=excerpt(query))
    yield from unstated_quantities(trajectories)


def unstated_quantities(trajectories: Iterable[StepsOfAnswer]) -> Iterator[Finding]:
    """Yield a warning for each quantity that some model steps state, and others of the file do not."""
    stated: set[str] = set()
    lacking: dict[str, list[str]] = {name: [] for name in _QUANTITIES}
    for trajectory in trajectories:
        steps = trajectory.steps
        for name in _QUANTITIES:
            amounts = [getattr(step, name) for step in steps if step.kind == "model"]
            if None in amounts:
                lacking[name].append(trajectory.query_id)
            if any(amount is not None for amount in amounts):
                stated.add(name)
    for name, queries in lacking.items():
        if queries and name in stated:
            yield warning("unstated_quantity", 1, quantity=name, number=len(queries), query=queries[0])
