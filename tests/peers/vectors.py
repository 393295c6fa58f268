"""The golden vectors, and what rageval makes of one."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, TypeVar

import msgspec

from rageval.errors import RagevalError
from rageval.scoring.answers import evaluate_answers
from rageval.scoring.evaluation import evaluate
from rageval.trajectories import read_trajectories

Values = Mapping[str, float | None]  # None where a measure is undefined
Expected = Values | str  # a value for each query; or the words of a refusal
Outcome = Values | RagevalError
RunRow = tuple[str, str, float | str]  # query, document, score; 'nan' is no number in JSON
QrelsRow = tuple[str, str, str, int]  # query, nugget, document, grade
_Kind = TypeVar("_Kind", "RunVector", "AnswerVector", "TrajectoryVector")


class RunVector(msgspec.Struct, frozen=True, omit_defaults=True):
    """A run, judgements, and the right values.

    `topics` name what makes the input special, in the words of `reasons`; `together` says that the measures
    are asked for in one call; `column` is what judgements call the nugget where they are a table.
    """

    name: str
    about: str
    run: Sequence[RunRow]
    qrels: Sequence[QrelsRow]
    expected: Mapping[str, Expected]
    topics: Sequence[str] = ()
    options: Mapping[str, Any] = {}
    together: bool = False
    column: str = "iteration"

    def compute(self, measures: Sequence[str], rules: Mapping[str, Any] = {}) -> dict[str, Outcome]:
        """Return what rageval says, by other rules if these are given: values, or why there are none."""
        options = {**self.options, **rules}
        try:
            scores = evaluate(
                list(measures), self.run_file(), self.qrels_file(), nuggets_in_qrels=True, **options
            )
        except RagevalError as error:
            return dict.fromkeys(measures, error)
        return {measure: scores[measure].by_query for measure in measures}

    def run_file(self) -> io.BytesIO:
        """Return the run as TREC has it."""
        rows = zip(self.run, self.ranks(), strict=True)
        return _file("run", (f"{q} Q0 {doc} {rank} {score!s} t" for (q, doc, score), rank in rows))

    def ranks(self) -> list[int]:
        """Return a rank for each row: by score, equal scores as they stand, NaN at the end."""

        def key(index: int) -> tuple[bool, float]:
            score = float(self.run[index][2])
            return score != score, -score

        ranks, used = [0] * len(self.run), Counter[str]()
        for place in sorted(range(len(self.run)), key=key):
            used[self.run[place][0]] += 1
            ranks[place] = used[self.run[place][0]]
        return ranks

    def qrels_file(self) -> io.BytesIO:
        """Return the judgements as TREC has them."""
        return _file("qrels", (f"{q} {nugget} {doc} {grade}" for q, nugget, doc, grade in self.qrels))


class AnswerVector(msgspec.Struct, frozen=True, omit_defaults=True):
    """Judgements of answers, and the right values, under `run/query`."""

    name: str
    about: str
    judgements: Sequence[Mapping[str, Any]]
    expected: Mapping[str, Values]
    answers: Sequence[Mapping[str, Any]] = ()
    topics: Sequence[str] = ()
    options: Mapping[str, Any] = {}

    def compute(self, measures: Sequence[str], rules: Mapping[str, Any] = {}) -> dict[str, Outcome]:
        """Return what rageval says, by other rules if these are given: values, or why there are none."""
        options = {**self.options, **rules}
        try:
            by_run = evaluate_answers(
                list(measures), self.judgements, answers=self.answers or None, **options
            )
        except RagevalError as error:
            return dict.fromkeys(measures, error)
        return {
            measure: {
                f"{run}/{query}": value
                for run, scores in by_run.items()
                for query, value in scores[measure].by_query.items()
            }
            for measure in measures
        }


class TrajectoryVector(msgspec.Struct, frozen=True, omit_defaults=True):
    """The steps of an agent, judgements of documents, what its answers cite, and the right values.

    `questions` have the calls that are right.
    """

    name: str
    about: str
    steps: Sequence[Mapping[str, Any]]
    qrels: Sequence[QrelsRow]
    answers: Sequence[Mapping[str, Any]]
    questions: Sequence[Mapping[str, Any]]
    expected: Mapping[str, Values]
    topics: Sequence[str] = ()
    options: Mapping[str, Any] = {}

    def compute(self, measures: Sequence[str], rules: Mapping[str, Any] = {}) -> dict[str, Outcome]:
        """Return what rageval says, by other rules if these are given: values, or why there are none."""
        judged: dict[str, dict[str, dict[str, int]]] = {}
        for query, nugget, doc, grade in self.qrels:
            judged.setdefault(query, {}).setdefault(nugget, {})[doc] = grade
        (agent,) = read_trajectories(self.steps, self.answers, self.questions).values()
        options = {"nothing_judged": "zero", **self.options, **rules}
        scores = evaluate(list(measures), agent, judged, **options)
        return {measure: scores[measure].by_query for measure in measures}


@cache
def run_vectors() -> list[RunVector]:
    """Return the golden vectors of runs."""
    return list(_read("runs", RunVector))


@cache
def answer_vectors() -> list[AnswerVector]:
    """Return the golden vectors of judged answers."""
    return list(_read("answers", AnswerVector))


@cache
def other_answer_vectors() -> list[AnswerVector]:
    """Return the golden vectors of conversations and of battles, which no peer computes."""
    return [vector for name in ("conversations", "battles") for vector in _read(name, AnswerVector)]


@cache
def trajectory_vectors() -> list[TrajectoryVector]:
    """Return the golden vectors of agents."""
    return list(_read("trajectories", TrajectoryVector))


def text_of(name: str) -> str:
    """Return a file of golden vectors: `runs`, `answers`, `conversations`, `battles` or `trajectories`."""
    return (files("rageval") / f"vectors/{name}.jsonl").read_text(encoding="utf-8")


def _read(name: str, kind: type[_Kind]) -> Iterator[_Kind]:
    return (msgspec.json.decode(line, type=kind) for line in text_of(name).splitlines())


def _file(name: str, lines: Iterator[str]) -> io.BytesIO:
    stream = io.BytesIO("".join(line + "\n" for line in lines).encode())
    stream.name = name
    return stream
