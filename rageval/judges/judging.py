"""A rubric, a model and material: judgements out, in the order of the tasks, with whatever failed said so."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from rageval.judges.base import INVALID, OK, REPAIRED, TRUNCATED, Reply, Request
from rageval.judges.evidence import require_evidence
from rageval.judges.exact import first_stage
from rageval.judges.kinds import Verdict
from rageval.judges.prompts import Mark, Shown, as_data, as_note
from rageval.judges.replies import Invalid
from rageval.judges.rubric import Rubric
from rageval.judges.tasks import Material, Row, Task, tasks

_SHOWN = 16  # digits of the key of a stored reply, by which it can be looked up
TRIES = 3  # of a reply that cannot be read: the first, and two with the reason
Asked = Iterable[tuple[int, Request]]
Ask = Callable[[Asked], Iterator[tuple[int, Reply]]]


@dataclass(frozen=True, slots=True)
class Judge:
    """Who judges: a name for the judgements, and a way to ask many requests at once."""

    name: str
    ask: Ask
    endpoint: str = ""
    share: tuple[int, int] | None = None  # judge only this share, counted from 0, of so many

    def is_mine(self, request: Request) -> bool:
        """Whether the request is in this judge's share: keys are random, so shares are about equal."""
        if self.share is None:
            return True
        part, whole = self.share
        return int(request.key(self.name, self.endpoint)[:16], 16) % whole == part


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a task came to: verdicts, or the status that says why there are none."""

    status: str
    verdicts: tuple[Verdict, ...] = ()
    detail: str = ""
    reply: Reply = field(default_factory=lambda: Reply(OK))
    key: str = ""
    attempts: int = 0


def judge(rubric: Rubric, material: Material, judge: Judge) -> Iterator[dict[str, Any]]:
    """The judgements of everything the rubric has to judge, by task.

    What the form of an answer decides is not asked. What fails has its status and no grade.
    """
    todo = [task for task in tasks(rubric, material) if judge.is_mine(rubric.request(task.data, task.ids))]
    labels = [decided(rubric, task) for task in todo]
    outcomes = asked(rubric, {at: task for at, task in enumerate(todo) if labels[at] is None}, judge)
    for number, task in enumerate(todo):
        label = labels[number]
        if label is not None:
            said = {"label": label, "grade": rubric.file.labels[label], "decided_by": "first-stage"}
            common = {**_by(rubric, judge), "status": OK, **said}
            yield from (_judgement(row, common) for rows in task.rows.values() for row in rows)
        else:
            yield from _rows(rubric, task, outcomes[number], judge)


def asked(rubric: Rubric, todo: Mapping[int, Task], judge: Judge) -> dict[int, Outcome]:
    """The outcome of each task.

    Replies that cannot be read are asked for again, with the reason; a cut-off one once, with more room.
    """
    found: dict[int, Outcome] = {}
    waiting = {number: rubric.request(task.data, task.ids) for number, task in todo.items()}
    for attempt in range(1, TRIES + 1):
        again: dict[int, Request] = {}
        for number, reply in judge.ask(waiting.items()):
            outcome, retry = _read(rubric, todo[number], waiting[number], reply)
            if retry is not None and attempt < TRIES:
                again[number] = retry
            else:
                key = waiting[number].key(judge.name, judge.endpoint)
                found[number] = replace(outcome, reply=reply, key=key, attempts=attempt)
        waiting = again
    return found


def _read(rubric: Rubric, task: Task, request: Request, reply: Reply) -> tuple[Outcome, Request | None]:
    """What a reply comes to, and the request that may get a better one."""
    if reply.status == TRUNCATED:
        more = replace(request, max_tokens=2 * request.max_tokens)
        is_first = request.max_tokens == rubric.file.max_tokens
        return Outcome(TRUNCATED, detail=reply.detail), more if is_first else None
    if reply.status != OK:
        return Outcome(reply.status, detail=reply.detail), None
    try:
        verdicts, repaired = rubric.read(reply.text, task.ids)
        require_evidence(rubric, verdicts, task.data)
    except Invalid as error:
        again = replace(rubric.request(task.data, task.ids), sample=request.sample + 1)
        retry = again.with_more(_note(str(error)))
        return Outcome(INVALID, detail=str(error)), retry
    return Outcome(REPAIRED if repaired else OK, tuple(verdicts)), None


def _note(trouble: str) -> Shown:
    """What was wrong with the last reply, as data with a fence of its own: it quotes the reply."""
    begun, end = "\n\nYour last reply could not be used", ". Reply with the JSON object alone."
    why = ("; why stands, as data, between the two lines ", Mark(1), " below")
    shown = ("\n\n", Mark(1), "\n", as_data({"trouble": trouble}), "\n", Mark(1))
    return as_note((begun, *why, end, *shown), f"{begun}: {trouble}{end}")


def _rows(rubric: Rubric, task: Task, outcome: Outcome, judge: Judge) -> list[dict[str, Any]]:
    common = {**_by(rubric, judge), "status": outcome.status}
    reply = outcome.reply
    call = {
        "attempts": outcome.attempts,
        "detail": outcome.detail,
        "key": outcome.key[:_SHOWN],
        "raw": reply.text,
        "usage": {"input": reply.usage.input, "output": reply.usage.output},
    }
    rows = _said_rows(task, outcome, common)
    rows[0] |= {key: value for key, value in call.items() if value}  # once a call, not once a nugget
    return rows


def _said_rows(task: Task, outcome: Outcome, common: Mapping[str, Any]) -> list[dict[str, Any]]:
    if not outcome.verdicts:
        return [_judgement(row, common) for rows in task.rows.values() for row in rows]
    return [
        _judgement(row, {**common, **_said(verdict, row)})
        for verdict in outcome.verdicts
        for row in task.rows[verdict.id]
    ]


def _by(rubric: Rubric, judge: Judge) -> dict[str, str]:
    return {"judge": f"{judge.name}@{rubric.digest}", "rubric": f"{rubric.judged_as}@{rubric.digest}"}


def _judgement(row: Row, said: Mapping[str, Any]) -> dict[str, Any]:
    place = {"query_id": row.query, "run_id": row.run, "item_id": row.item, "aspect": row.aspect}
    shown = {"shown": list(row.shown)} if row.shown else {}
    return {**place, **row.also, **shown, **said}


_SIDES = {"a": ("win", 1.0), "b": ("loss", 0.0), "tie": ("tie", 0.5)}
_OTHER = {"a": "b", "b": "a", "tie": "tie"}


def _said(verdict: Verdict, row: Row) -> dict[str, Any]:
    """Label, grade and reasons; in a comparison from the side of this row's system."""
    label, grade = verdict.label, verdict.grade
    if row.shown and label in _SIDES:
        label, grade = _SIDES[label if row.run == row.shown[0] else _OTHER[label]]
    said = {"label": label, "grade": grade, "reason": verdict.reason, "evidence": verdict.evidence}
    return {key: value for key, value in said.items() if value not in (None, "")}


def decided(rubric: Rubric, task: Task) -> str | None:
    """The label that the form of the answer decides, without a model; None if it does not."""
    if rubric.file.first_stage is None:
        return None
    label = first_stage(task.data["answer"], task.data["gold"])
    return "accurate" if label == "perfect" and label not in rubric.file.labels else label
