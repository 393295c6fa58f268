"""Replies that are read once more: whether judgements follow from what a judge replied.

Rows of one call stand together, and the first of them says what was judged (`judged_sha`) and which reply it
was read from (`reply`, a digest). So the ids that a reply echoes follow from the rows, and no text of a
question or a passage is needed. That a quote stands in a passage, and that a reply answers the prompt that it
is said to answer, is not looked at here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rageval.core.remark import Remark
from rageval.judges.base import INVALID
from rageval.judges.rubric import Rubric
from rageval.judges.verdicts import Invalid, side_of
from rageval.judges.votes import GRADED, repeated_place

_Row = Mapping[str, Any]
# How the items of a call are called in a reply, by what a call is about.
_LETTERS = {
    **dict.fromkeys(("nuggets", "bank", "expected", "passage-nuggets"), "n"),
    **dict.fromkeys(("claim", "claim-joined", "claim-lists"), "c"),
    "list": "a",
}


def calls_of(rows: Sequence[_Row]) -> Iterator[list[_Row]]:
    """Yield the rows of each call."""
    is_marked = any("judged_sha" in row for row in rows)  # since version 0.2
    call: list[_Row] = []
    for row in rows:
        begins = "judged_sha" in row if is_marked else "reply" in row
        # Of what nobody could be asked about nothing is marked, but all rows of a call have one status.
        if call and (begins or any(row.get(name) != call[0].get(name) for name in _OF_CALL)):
            yield call
            call = []
        call.append(row)
    if call:
        yield call


_OF_CALL = ("query_id", "judge", "status", "repeat")


def can_reread(rubric: Rubric, call: Sequence[_Row]) -> bool:
    """Tell whether the rows say what the ids in a reply stand for."""
    if rubric.file.unit != "list" and "tie" not in rubric.file.labels:
        return True
    shown = call[0].get("shown") or ()
    return all(row.get("run_id") in shown for row in call)


def reread(rubric: Rubric, call: Sequence[_Row], text: str) -> Iterator[Remark]:
    """Yield what a reply, read again, says otherwise than the rows of its call."""
    failed = [row for row in call if row.get("status", "ok") not in GRADED]
    ids, names = _ids_and_names(rubric, call)
    try:
        verdicts, _ = rubric.read(text, ids)
    except Invalid as error:
        kept = str(rubric.file.unreadable) if rubric.file.lenient else None
        if failed or (kept is not None and all(row.get("label") == kept for row in call)):
            return
        yield Remark(
            "reply_not_readable", facts={"judgement": _judgement_name(call[0]), "reason": str(error)}
        )
        return
    # A reply that can be read fails only where it lacks a quote, which nobody can see here.
    if failed and all(row.get("status") == INVALID for row in call) and rubric.file.evidence_from:
        return
    by_id = {verdict.id: verdict for verdict in verdicts}
    for name, row in zip(names, call, strict=True):
        verdict = by_id.get(name)
        if verdict is None:
            yield Remark("not_in_reply", facts={"judgement": _judgement_name(row)})
            continue
        label, grade = side_of(verdict, str(row.get("run_id")), row.get("shown") or ())
        recorded = row.get("label"), row.get("grade")
        # Files of others may hold labels alone.
        is_same = recorded[0] == label and (recorded[1] is None or recorded[1] == grade)
        if row.get("status", "ok") not in GRADED or not is_same:
            own = str(row["status"]) if row in failed else _label_and_grade(*recorded)
            facts = {
                "judgement": _judgement_name(row),
                "reply": _label_and_grade(label, grade),
                "verdict": own,
            }
            yield Remark("other_verdict_in_reply", facts=facts)


def _ids_and_names(rubric: Rubric, call: Sequence[_Row]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the ids that the reply must echo, as `tasks` gave them, and the id of each row's verdict."""
    unit = rubric.file.unit
    if unit == "documents":
        places = [(str(row.get("item_id")), str(row.get("aspect"))) for row in call]
        items, aspects = (dict.fromkeys(names) for names in zip(*places, strict=True))
        documents = {item: f"d{number}" for number, item in enumerate(items, 1)}
        nuggets = {aspect: f"n{number}" for number, aspect in enumerate(aspects, 1)}
        ids = (*documents.values(), "", *nuggets.values())
        return ids, tuple(f"{documents[item]}\t{nuggets[aspect]}" for item, aspect in places)
    if unit == "list":  # rows stand in the order of the ranking, names in that of what was shown
        shown = list(call[0]["shown"])
        names = tuple(f"a{1 + shown.index(row['run_id'])}" for row in call)
    elif unit in _LETTERS:
        names = tuple(f"{_LETTERS[unit]}{number}" for number in range(1, len(call) + 1))
    elif rubric.file.ranges:
        names = tuple(str(row.get("aspect")) for row in call)
    else:
        names = ("",) * len(call)
    return names if unit in _LETTERS else (), names


def _label_and_grade(label: str | None, grade: float | None) -> str:
    return " ".join(str(part) for part in (label, grade) if part is not None)


def _judgement_name(row: _Row) -> str:
    return ", ".join(filter(None, repeated_place(row)))
