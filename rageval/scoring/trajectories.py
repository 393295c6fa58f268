"""Trajectories of agents beside judgements of documents.

What an agent saw, in the order of first seeing, is a run, and is scored as one; measures of trajectories look
at the steps behind it.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple, Self, cast

from rageval import hooks
from rageval.core.signature import short_digest
from rageval.errors import InputError, Place, UsageError
from rageval.files.answers import read_answers
from rageval.files.jsonl import first_record
from rageval.files.kinds import is_log
from rageval.files.opening import name_of, start_of
from rageval.files.steps import StepsOfAnswer, read_expected_calls, read_steps
from rageval.measures.base import Measure
from rageval.measures.parsing import AnyMeasure
from rageval.measures.ranking import Topic
from rageval.measures.trajectory import Trajectory
from rageval.records import Step
from rageval.scoring.arguments import as_source
from rageval.scoring.evaluation import Runs
from rageval.scoring.qrels import Qrels
from rageval.scoring.rules import USUAL
from rageval.scoring.runs import Documents, Run, View
from rageval.scoring.runs_from_files import evaluator_of
from rageval.scoring.scorers import JoinedRun
from rageval.scoring.sources import Joined, Joining, RunSource, run_name, whole_qrels
from rageval.scoring.subject import with_labels
from rageval.subjects import TRAJECTORIES, CommandFiles, kind_of_measure
from rageval.text import visible

if TYPE_CHECKING:
    from rageval.typing import RecordsLike


class _Reply(NamedTuple):
    """What is kept of an answer: what it cites, and what it states that it cost."""

    cited: Sequence[str] = ()
    amounts: Mapping[str, float] = {}


_Replies = Mapping[tuple[str, str], _Reply]  # by query and repeat


@dataclass
class AgentRun(RunSource):
    """What a system did: its trajectories by query, one a repeat; as a run, what the first of each saw.

    `replies` are its answers, by query and repeat, and `expected` the calls that are right, by query; None
    where it has no answers, and where nobody says which calls are right.
    """

    trajectories: Mapping[str, Sequence[StepsOfAnswer]] = field(default_factory=dict)
    replies: _Replies | None = None
    expected: Mapping[str, Sequence[Step]] | None = None

    @cached_property
    def details(self) -> Mapping[str, str]:
        """What tells it from a system that saw the same documents, by query: its steps and citations."""
        return {
            query: short_digest(str((a.repeat, a.encoded, self._reply(a))) for a in answers)
            for query, answers in self.trajectories.items()
        }

    @property
    def context(self) -> Mapping[str, str]:
        """In what order the documents are ranked: that of first seeing."""
        return {"seen": "first"}

    @property
    def repeats(self) -> int:
        """How many trajectories every query should have: as many as any has."""
        return max(map(len, self.trajectories.values()), default=0)

    def require_measures(self, measures: Iterable[AnyMeasure]) -> None:
        """Raise `UsageError` for a measure of one ranking where a query has several trajectories."""
        of_runs = (measure for measure in measures if kind_of_measure(measure) is not TRAJECTORIES)
        if self.repeats > 1 and (measure := next(of_runs, None)) is not None:
            raise UsageError(
                f"{measure} scores one ranking for each query, but {visible(self.name)} has several"
                " trajectories (repeat) for some; use measures of trajectories alone, such as seen_recall"
            )

    def run(self) -> Run:
        """Return what was seen as a run, in memory."""
        if self.table is None:
            self.table = Run(self.name, self.documents_in_memory())
        return self.table

    def documents_in_memory(self) -> Iterator[Documents]:
        """Yield the documents of each query in the order of first seeing, with falling scores."""
        row = 1
        for query, (first, *_) in self.trajectories.items():
            if seen := first.seen:
                # Ids hold no line ends.
                docs = "\n".join(seen).encode("utf-8", "surrogatepass").split(b"\n")
                scores = list(map(float, range(len(docs), 0, -1)))
                lines = range(row, row + len(docs))
                yield Documents(self.name, query.encode("utf-8", "surrogatepass"), lines, docs, scores)
                row += len(docs)

    def join(self, joining: Joining) -> Joined:
        """Let what was seen meet judgements; a query whose steps saw nothing is not missing."""
        joined = super().join(joining)
        notes = joined.notes
        for number, query in enumerate(joining.qrels.query_ids):
            if notes.judged[number] < 0 and query in self.trajectories:
                notes.judged[number] = 0
                notes.queries_missing -= 1
                notes.queries_in_run += 1
        self.query_ids = list(self.trajectories)
        return joined

    def of_topic(self, topic: Topic, is_judged: bool = True) -> list[Trajectory]:
        """Return the trajectories of a query; an absent one, if there is none."""
        expected = None if self.expected is None else self.expected.get(topic.query_id, ())
        answers = self.trajectories.get(topic.query_id)
        if answers is None:
            trajectories = [Trajectory(topic, (), (), expected and (), is_absent=True)]
        else:
            trajectories = []
            for answer in answers:
                cited, stated = self._reply(answer) or (None, {})
                trajectories.append(Trajectory(topic, answer.steps, cited, expected, stated=stated))
        for trajectory in trajectories:
            trajectory.is_judged = is_judged
            trajectory.attempts = trajectories
        return trajectories

    def amounts(self, by: str) -> list[float]:
        """Return the `searches` of each trajectory, or its `cost`; none if any model step lacks its cost."""
        amounts: list[float] = []
        for steps in (answer.steps for answers in self.trajectories.values() for answer in answers):
            if by == "searches":
                amounts.append(sum(step.kind == "search" for step in steps))
                continue
            if any(step.kind == "model" and step.cost is None for step in steps):
                return []
            amounts.append(math.fsum(step.cost or 0 for step in steps))
        return amounts

    def _reply(self, answer: StepsOfAnswer) -> _Reply | None:
        place = answer.query_id, answer.repeat
        return None if self.replies is None else self.replies.get(place, _Reply())


def agent_runs(
    trajectories: Iterable[StepsOfAnswer], replies: Mapping[str, _Replies], name: str
) -> list[AgentRun]:
    """Return the systems of these trajectories; those without a `run_id` are called by this name.

    `replies` are the answers of each run.
    """
    by_run: dict[str, dict[str, list[StepsOfAnswer]]] = {}
    for trajectory in trajectories:
        by_query = by_run.setdefault(trajectory.run_id or name, {})
        by_query.setdefault(trajectory.query_id, []).append(trajectory)
    runs = []
    for run, by_query in by_run.items():
        turns = {query: answers[0].conversation_id for query, answers in by_query.items()}
        turns = {query: conversation for query, conversation in turns.items() if conversation}
        runs.append(AgentRun(run, conversations=turns, trajectories=by_query, replies=replies.get(run)))
    return runs


@dataclass(frozen=True)
class TrajectoryScorer:
    """Asks a function of the steps of one query; of several trajectories of a query the mean counts."""

    measure: Measure
    view: View

    def score(self, run: JoinedRun) -> list[list[float]]:
        """Return the value of every query."""
        source = cast("AgentRun", run.source)
        # Steps are unpacked once for all measures, which share what they compute of them.
        if self.measure not in run.values:
            own = [m for m in run.measures if isinstance(m, Measure) and kind_of_measure(m) is TRAJECTORIES]
            is_judged = not run.qrels.is_empty
            rows = [_values(source.of_topic(topic, is_judged), own) for topic in run.qrels.topics]
            run.values.update(zip(own, map(list, zip(*rows, strict=True)), strict=True))
        return [run.values[self.measure]]


def _values(trajectories: Sequence[Trajectory], measures: Iterable[Measure]) -> list[float]:
    """Return the value of each measure for one query."""
    if len(trajectories) == 1:
        return [measure.value(trajectories[0]) for measure in measures]
    return [_mean(map(measure.value, trajectories)) for measure in measures]


def _mean(values: Iterable[float]) -> float:
    defined = [value for value in values if value == value]
    return math.fsum(defined) / len(defined) if defined else math.nan


class Trajectories(Runs):
    """Trajectories of systems beside judgements of documents: a `Subject`."""

    kind = TRAJECTORIES

    @property
    def agents(self) -> dict[str, AgentRun]:
        """The systems, by name."""
        return {name: source for name, source in self.sources.items() if isinstance(source, AgentRun)}

    def scored_by(self, measures: Sequence[Measure], runs: Sequence[str]) -> Self:
        """Return some of the systems, scored by other measures of trajectories under the same rules."""
        # What is said of rankings alone is no rule of these.
        names = ("ties", "depth", "judged_only", "compat", "provider", "bounds")
        defaults: Any = {name: getattr(USUAL, name) for name in names}
        evaluator = self.evaluator.by(whole_qrels(self.evaluator.qrels), list(measures), **defaults)
        subject = type(self)(evaluator, [self.sources[run] for run in runs])
        return subject if self.gold is None else subject.with_gold(self.gold)


def read_trajectories(
    steps: RecordsLike, answers: RecordsLike | None = None, questions: RecordsLike | None = None
) -> dict[str, AgentRun]:
    """Read the trajectories of agents, by system: what `evaluate` and `compare` take in place of runs.

    Parameters
    ----------
    steps
        A file of steps, dicts with the keys of such a file, or a DataFrame with these columns.
    answers
        The answers of the same systems, in the same forms, for what they cite and what they cost.
    questions
        The questions, in the same forms, with the calls of tools that are right (`expected_calls`).

    Examples
    --------
    >>> import rageval
    >>> search = {"query_id": "q", "run_id": "a", "kind": "search"}
    >>> agents = read_trajectories([search | {"docs": ["d1"]}, search | {"docs": ["d2"]}])
    >>> scores = rageval.evaluate("seen_recall@1,2", agents, {"q": {"d2": 1}})["a"]
    >>> scores["seen_recall@1"].value, scores["seen_recall@2"].value
    (0.0, 1.0)
    """
    replies = _replies_in(None if answers is None else as_source(answers, "answers"))
    sources = as_source(steps, "steps")
    runs = runs_of_steps(sources if isinstance(sources, list) else [sources], replies)
    expected = None if questions is None else _expected_calls(as_source(questions, "questions"))
    return {run.name: replace(run, expected=expected) for run in runs}


def subject_of_trajectories(
    inputs: CommandFiles, measures: Sequence[Any], options: Any, is_reread: bool
) -> Trajectories:
    """Return the systems whose trajectories are in the files of a command line."""
    runs = runs_of_steps(inputs.files["steps"], _replies_in(options.answers))
    if options.questions is not None:
        expected = _expected_calls(options.questions)
        runs = [replace(run, expected=expected) for run in runs]
    queries = {query for run in runs for query in (*run.trajectories, *(run.expected or ()))}
    unjudged = None if inputs.files["qrels"] else Qrels.from_dict({query: {} for query in sorted(queries)})
    evaluator = evaluator_of(inputs, measures, options, unjudged)
    return with_labels(Trajectories(evaluator, runs, refuses=options.nothing_judged != "zero"), options)


def runs_of_steps(sources: Iterable[Any], replies: Mapping[str, _Replies]) -> list[AgentRun]:
    """Return the systems of files of steps; a system whose steps are in two files is refused."""
    runs: dict[str, AgentRun] = {}
    for source in sources:
        steps = _steps_of_log(source) if _is_log(source) else source
        for run in agent_runs(read_steps(steps), replies, run_name(source)):
            if run.name in runs:
                raise InputError(
                    at=Place(visible(name_of(source))),
                    problem=f"has steps of {visible(run.name)!r}, as another file has",
                    expected="a run_id of its own",
                )
            runs[run.name] = run
    if not runs:
        raise InputError(problem="holds no steps", expected="steps of agents (JSON lines)")
    if replies and not replies.keys() & runs.keys():
        names = ", ".join(map(visible, sorted(replies)[:3]))
        raise InputError(
            expected=f"answers of the same systems as the steps ({', '.join(map(visible, runs))})",
            found=f"answers of {names}",
        )
    return list(runs.values())


def _is_log(source: Any) -> bool:
    """Return whether this names what another tool wrote of an agent's work."""
    return isinstance(source, str | os.PathLike) and is_log(source)


def _steps_of_log(source: Any) -> Any:
    """Return the steps that a log holds, as a file in memory."""
    # Each retrieval is a step, so that nobody has to choose one.
    log = hooks.read_log(source, hop="none")
    if not log.steps:
        raise InputError(
            at=Place(visible(name_of(source))),
            problem=f"the log of {log.tool} holds no steps of agents",
            expected="searches, calls of tools, or calls of models",
        )
    return as_source(log.steps, "steps")


def _replies_in(answers: Any) -> dict[str, dict[tuple[str, str], _Reply]]:
    """Return what is kept of the answers of each run, by query and repeat."""
    replies: dict[str, dict[tuple[str, str], _Reply]] = {}
    sources = answers if isinstance(answers, tuple | list) else [] if answers is None else [answers]
    for answer in chain.from_iterable(map(read_answers, sources)):
        docs = (doc for sentence in answer.sentences for doc in sentence.citations if doc is not None)
        by_answer = replies.setdefault(answer.run_id, {})
        by_answer[answer.query_id, answer.repeat] = _Reply(tuple(dict.fromkeys(docs)), answer.amounts)
    return replies


def _expected_calls(questions: Any) -> Mapping[str, Sequence[Step]] | None:
    """Return the calls that are right by question; None of questions that say nothing of calls."""
    if hasattr(questions, "questions"):  # a dataset
        return None
    record = first_record(start_of(questions).lstrip())
    calls = read_expected_calls(questions) if record and "query_id" in record else {}
    return calls if any(calls.values()) else None
