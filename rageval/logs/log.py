"""The content of a log, in memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from operator import attrgetter
from typing import Any

from rageval.core.remark import Remark, Scope
from rageval.errors import InputError, Place
from rageval.logs.parting import LoggedAnswer, LogOutput
from rageval.records import Answer, Qrel, Question, ScoredDoc
from rageval.text import visible


@dataclass
class Log:
    """The content of a log: answers, questions, rankings, passages by id, judgements, right documents, steps.

    `traces` keeps the tool's own id of each answer, by run, query and repeat, and `confidences` how sure the
    system was of it; `left_out` counts what was left out, by reason. What an answer cost stands in it.
    """

    tool: str
    version: str = ""
    answers: list[Answer] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)
    run: dict[str, list[ScoredDoc]] = field(default_factory=dict)
    passages: dict[str, str] = field(default_factory=dict)
    judgements: list[dict[str, Any]] = field(default_factory=list)
    gold: list[Qrel] = field(default_factory=list)
    steps: list[dict[str, Any]] = field(default_factory=list)
    traces: dict[tuple[str, str, str], str] = field(default_factory=dict)
    confidences: dict[tuple[str, str, str], float] = field(default_factory=dict)
    remarks: list[Remark] = field(default_factory=list)
    left_out: dict[str, int] = field(default_factory=dict)

    def begin(self, tool: str) -> None:
        """Forget all, and take the log of a tool."""
        vars(self).update(vars(Log(tool)))

    def add_answer(self, logged: LoggedAnswer) -> None:
        """Take an answer, and what is known of its place."""
        place = logged.run, logged.query, logged.repeat
        if logged.answer is not None:
            # Equal texts become one in memory: logs hold a passage as often as it was retrieved.
            kept = self.passages
            texts = tuple(
                (doc, kept[doc] if kept.get(doc) == text else text) for doc, text in logged.answer.passages
            )
            self.answers.append(logged.answer._replace(passages=texts))
        if logged.trace:
            self.traces[place] = logged.trace
        if logged.confidence is not None:
            self.confidences[place] = logged.confidence

    def add_question(self, question: Question) -> None:
        """Take a question."""
        self.questions.append(question)

    def add_ranking(self, run: str, query: str, docs: list[str], scores: list[float]) -> None:
        """Take a ranking; of one without documents, that there is such a run."""
        ranking = self.run.setdefault(run, [])
        ranking += [ScoredDoc(query, doc, score) for doc, score in zip(docs, scores, strict=True)]

    def add_passage(self, doc: str, text: str) -> None:
        """Take a passage."""
        self.passages[doc] = text

    def add_judgement(self, judgement: dict[str, Any]) -> None:
        """Take a judgement."""
        self.judgements.append(judgement)

    def add_step(self, record: dict[str, Any]) -> None:
        """Take a step of an agent."""
        self.steps.append(record)

    def add_gold(self, qrel: Qrel) -> None:
        """Take a right document."""
        self.gold.append(qrel)

    def finish(self, version: str, remarks: list[Remark], left_out: dict[str, int]) -> None:
        """Take what is known at the end; a run without any ranking is none."""
        self.version, self.remarks, self.left_out = version, remarks, left_out
        self.run = {run: ranking for run, ranking in self.run.items() if ranking}

    @property
    def has_steps(self) -> bool:
        """Whether there are steps of agents."""
        return bool(self.steps)

    def pour(self, output: LogOutput) -> None:
        """Give all to another output."""
        output.begin(self.tool)
        for answer in self.answers:
            place = answer.run_id, answer.query_id, answer.repeat
            output.add_answer(
                LoggedAnswer(
                    answer.query_id,
                    answer.run_id,
                    answer.repeat,
                    answer,
                    self.traces.get(place, ""),
                    self.confidences.get(place),
                )
            )
        for question in self.questions:
            output.add_question(question)
        for run, scored_docs in self.run.items():
            for query, group in groupby(scored_docs, key=attrgetter("query_id")):
                ranking = list(group)
                docs = [scored.doc_id for scored in ranking]
                output.add_ranking(run, query, docs, [scored.score for scored in ranking])
        for doc, text in self.passages.items():
            output.add_passage(doc, text)
        for judgement in self.judgements:
            output.add_judgement(judgement)
        for step in self.steps:
            output.add_step(step)
        for qrel in self.gold:
            output.add_gold(qrel)
        output.finish(self.version, self.remarks, self.left_out)


def together(logs: Sequence[tuple[str, Log]]) -> Log:
    """Return named logs as one; a run's answers to a query must stand in one of them.

    The same file may be there twice, under two names of its run.
    """
    whole = Log("+".join(dict.fromkeys(log.tool for _, log in logs)), logs[0][1].version)
    where: dict[tuple[str, str], str] = {}
    questions: dict[str, Question] = {}
    left_out: Counter[str] = Counter()
    for name, log in logs:
        places = {(answer.run_id, answer.query_id) for answer in log.answers}
        places |= {(judgement["run_id"], judgement["query_id"]) for judgement in log.judgements}
        for place in sorted(places):
            if place in where:
                run, query = map(visible, place)
                raise InputError(
                    at=Place(visible(name)),
                    problem=f"run {run} has an answer to query {query} in {visible(where[place])}, too",
                    remedy="import each with its own --run, or repeats in one file",
                )
            where[place] = name
        for question in log.questions:
            merged = questions.setdefault(question.query_id, question)
            if not merged.gold:
                questions[question.query_id] = merged._replace(gold=question.gold)
        whole.answers += log.answers
        whole.judgements += log.judgements
        known_gold = set(whole.gold)  # two systems that were asked the same have the same gold
        whole.gold += [qrel for qrel in log.gold if qrel not in known_gold]
        for run, ranking in log.run.items():
            whole.run.setdefault(run, []).extend(ranking)
        whole.steps += log.steps
        whole.passages = log.passages | whole.passages  # the first log's text of an id stays
        whole.traces |= log.traces
        whole.confidences |= log.confidences
        whole.remarks += [replace(remark, about=Scope(file=name)) for remark in log.remarks]
        left_out.update(log.left_out)
    whole.questions, whole.left_out = list(questions.values()), dict(sorted(left_out.items()))
    return whole
