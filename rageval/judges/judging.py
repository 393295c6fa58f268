"""A rubric, a model and material: judgements out, in the order of the tasks, with whatever failed said so."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from rageval.judges.base import INVALID, OK, REPAIRED, TRUNCATED, Reply, Request
from rageval.judges.exact import first_stage
from rageval.judges.kinds import Verdict
from rageval.judges.replies import Invalid
from rageval.judges.rubric import Rubric
from rageval.judges.tasks import Material, Row, Task, tasks

_QUOTED = ("answer", "passage", "passages", "documents")  # what evidence is quoted from
TRIES = 3  # of a reply that cannot be read: the first, and two with the reason
Asked = Iterable[tuple[int, Request]]
Ask = Callable[[Asked], Iterator[tuple[int, Reply]]]


@dataclass(frozen=True, slots=True)
class Judge:
    """Who judges: a name for the judgements, and a way to ask many requests at once."""

    name: str
    ask: Ask


def judge(rubric: Rubric, material: Material, judge: Judge) -> Iterator[dict[str, Any]]:
    """The judgements of everything the rubric has to judge, by task.

    Replies that cannot be read are asked for again, with the reason; a cut-off one once, with more room.
    What then still fails has its status and no grade.
    """
    todo = list(tasks(rubric, material))
    found: dict[int, list[dict[str, Any]]] = {}
    waiting: dict[int, Request] = {}
    for number, task in enumerate(todo):
        decided = _decided(rubric, task, judge)
        if decided is None:
            waiting[number] = rubric.request(task.data, task.ids)
        else:
            found[number] = decided
    for attempt in range(1, TRIES + 1):
        again: dict[int, Request] = {}
        for number, reply in judge.ask(waiting.items()):
            outcome, retry = _read(rubric, todo[number], waiting[number], reply)
            if retry is not None and attempt < TRIES:
                again[number] = retry
            else:
                found[number] = _rows(rubric, todo[number], outcome, reply, judge, attempt)
        waiting = again
    for number in range(len(todo)):
        yield from found.get(number, ())


@dataclass(frozen=True, slots=True)
class _Outcome:
    status: str
    verdicts: tuple[Verdict, ...] = ()
    detail: str = ""


def _read(rubric: Rubric, task: Task, asked: Request, reply: Reply) -> tuple[_Outcome, Request | None]:
    """What a reply comes to, and the request that may get a better one."""
    if reply.status == TRUNCATED:
        more = replace(asked, max_tokens=2 * asked.max_tokens)
        return _Outcome(
            TRUNCATED, detail=reply.detail
        ), more if asked.max_tokens == rubric.file.max_tokens else None
    if reply.status != OK:
        return _Outcome(reply.status, detail=reply.detail), None
    try:
        verdicts, repaired = rubric.read(reply.text, task.ids)
    except Invalid as error:
        note = f"\n\nYour last reply could not be used: {error}. Reply with the JSON object alone."
        base = rubric.request(task.data, task.ids)
        return _Outcome(INVALID, detail=str(error)), replace(
            base, user=base.user + note, sample=asked.sample + 1
        )
    return _Outcome(REPAIRED if repaired else OK, tuple(verdicts)), None


def _rows(
    rubric: Rubric, task: Task, outcome: _Outcome, reply: Reply, judge: Judge, attempts: int
) -> list[dict[str, Any]]:
    common = {**_by(rubric, judge), "status": outcome.status}
    call = {
        "attempts": attempts,
        "detail": outcome.detail,
        "latency": round(reply.latency, 3),
        "raw": reply.text,
        "request_id": reply.request_id,
        "usage": {"input": reply.usage.input, "output": reply.usage.output},
    }
    rows = _said_rows(task, outcome, common)
    rows[0] |= {key: value for key, value in call.items() if value}  # once a call, not once a nugget
    return rows


def _said_rows(task: Task, outcome: _Outcome, common: Mapping[str, Any]) -> list[dict[str, Any]]:
    if not outcome.verdicts:
        return [_judgement(row, common) for rows in task.rows.values() for row in rows]
    shown = folded(" ".join(_texts([task.data[name] for name in _QUOTED if name in task.data])))
    return [
        _judgement(row, {**common, **_said(verdict, row, shown)})
        for verdict in outcome.verdicts
        for row in task.rows[verdict.id]
    ]


def _by(rubric: Rubric, judge: Judge) -> dict[str, str]:
    return {"judge": f"{judge.name}@{rubric.digest}", "rubric": f"{rubric.judged_as}@{rubric.digest}"}


def _judgement(row: Row, said: Mapping[str, Any]) -> dict[str, Any]:
    place = {"query_id": row.query, "run_id": row.run, "item_id": row.item, "aspect": row.aspect}
    return {**place, **row.also, **said}


_SIDES = {"a": ("win", 1.0), "b": ("loss", 0.0), "tie": ("tie", 0.5)}
_OTHER = {"a": "b", "b": "a", "tie": "tie"}


def _said(verdict: Verdict, row: Row, shown: str) -> dict[str, Any]:
    """Label, grade and reasons; in a comparison from the side of this row's system."""
    label, grade = verdict.label, verdict.grade
    if " | " in row.aspect and label in _SIDES:
        label, grade = _SIDES[_OTHER[label] if row.turned else label]
    said: dict[str, Any] = {"label": label, "grade": grade, "reason": verdict.reason}
    if verdict.evidence:
        said |= {"evidence": verdict.evidence, "evidence_found": folded(verdict.evidence) in shown}
    return {key: value for key, value in said.items() if value is not None}


def _decided(rubric: Rubric, task: Task, judge: Judge) -> list[dict[str, Any]] | None:
    """Judgements that the form of the answer decides, without a model; None if it does not."""
    if rubric.file.first_stage is None:
        return None
    label = first_stage(task.data["answer"], task.data["gold"])
    if label == "perfect" and label not in rubric.file.labels:
        label = "accurate"
    if label is None:
        return None
    said = {"status": OK, "label": label, "grade": rubric.file.labels[label], "decided_by": "first-stage"}
    common = {**_by(rubric, judge), **said}
    return [_judgement(row, common) for rows in task.rows.values() for row in rows]


def folded(text: str) -> str:
    """Text as quotes are compared: without case, marks and blanks that copying changes.

    >>> folded("It’s  SAFE.") == folded("it's safe")
    True
    """
    return re.sub(r"\W+", " ", unicodedata.normalize("NFKC", text).casefold()).strip()


def _texts(data: Any) -> Iterator[str]:
    if isinstance(data, str):
        yield data
    elif isinstance(data, Mapping):
        for value in data.values():
            yield from _texts(value)
    elif isinstance(data, list | tuple):
        for value in data:
            yield from _texts(value)
