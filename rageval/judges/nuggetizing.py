"""Nuggets by a judge: written from gold answers, or gathered passage by passage; then rated by importance.

Unlike other rubrics these give no judgements but texts, which other rubrics then judge by. A rubric may ask
for other texts in the same way: queries, or an answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from rageval.errors import InputError
from rageval.judges.base import Usage
from rageval.judges.judging import Judge, Outcome, asked
from rageval.judges.rubric import Rubric
from rageval.judges.tasks import Material, Task
from rageval.judges.tasks import tasks as tasks_of
from rageval.records import Nugget
from rageval.text import visible

UNITS = ("question", "passages")  # of rubrics that write nuggets


@dataclass(slots=True)
class Written:
    """The nuggets of every question, and the questions for which there are none because judging failed.

    `calls` and `usage` are what the replies that decided it took, whenever they were paid for.
    """

    nuggets: list[Nugget] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)  # query -> status
    texts: dict[str, list[str]] = field(default_factory=dict)
    calls: int = 0
    usage: Usage = field(default_factory=Usage)

    def keep(self, query: str, outcome: Outcome) -> None:
        """Take in what came of a call."""
        self.calls += outcome.attempts
        spent = outcome.reply.usage
        self.usage = Usage(self.usage.input + spent.input, self.usage.output + spent.output)
        if outcome.verdicts or outcome.status in ("ok", "repaired"):
            self.texts[query] = [verdict.id for verdict in outcome.verdicts]
        else:
            self.failed[query] = (
                f"{outcome.status}: {visible(outcome.detail)}" if outcome.detail else outcome.status
            )


def nuggetize(rubric: Rubric, material: Material, judge: Judge) -> Written:
    """Nuggets of every question; at most as many as the rubric keeps, the most important first."""
    written = (_gathered if rubric.file.unit == "passages" else _noted)(rubric, material, judge)
    written.nuggets = [
        Nugget(query, str(at), text)
        for query, found in written.texts.items()
        for at, text in enumerate(found[: rubric.file.kept])
        if query not in written.failed
    ]
    return written


def rated(material: Material, judgements: Iterable[Mapping[str, Any]]) -> Iterator[Nugget]:
    """The nuggets with the importance that judgements of them say; None where judging failed."""
    importance = {(said["query_id"], said["item_id"]): said.get("label") for said in judgements}
    for query, bank in material.nuggets.items():
        for nugget in bank:
            yield nugget._replace(importance=importance.get((query, nugget.nugget_id)))


def _share(rubric: Rubric, material: Material, judge: Judge) -> list[Task]:
    """The first task of each question that is this judge's; all others of the question go with it."""
    first = {task.rows[""][0].query: task for task in reversed(list(tasks_of(rubric, material)))}
    mine = [task for task in first.values() if judge.is_mine(rubric.request(task.data, task.ids))]
    return mine[::-1]


def _noted(rubric: Rubric, material: Material, judge: Judge) -> Written:
    """One call a question: from its gold answer."""
    todo = dict(enumerate(_share(rubric, material, judge)))
    queries = [task.rows[""][0].query for task in todo.values()]
    written = Written()
    for number, outcome in sorted(asked(rubric, todo, judge).items()):
        written.keep(queries[number], outcome)
    return written


def _gathered(rubric: Rubric, material: Material, judge: Judge) -> Written:
    """A few passages at a time, each call bringing the list so far up to date: as many rounds as it takes."""
    if not material.candidates:
        raise InputError("no passages to gather nuggets from; expected a run that names them (--run FILE)")
    of_query: dict[str, list[Task]] = {}
    for task in tasks_of(rubric, material):
        of_query.setdefault(task.rows[""][0].query, []).append(task)
    mine = {task.rows[""][0].query for task in _share(rubric, material, judge)}
    of_query = {query: found for query, found in of_query.items() if query in mine}
    written = Written()
    for at in range(max(map(len, of_query.values()), default=0)):
        queries = [query for query in of_query if at < len(of_query[query]) and query not in written.failed]
        todo = {
            number: replace(
                of_query[query][at],
                data={**of_query[query][at].data, "nuggets": written.texts.get(query, [])},
            )
            for number, query in enumerate(queries)
        }
        for number, outcome in sorted(asked(rubric, todo, judge).items()):
            written.keep(queries[number], outcome)
    return written
