"""Conversations of benchmarks: tasks and answers of MT-RAG, topics of iKAT, results of CRAG-MM.

A part a format: the records that it has, and the reader that yields a row a turn.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from rageval.errors import InputError
from rageval.logs._content import Content
from rageval.logs.rows import (
    Grade,
    LogReading,
    Row,
    convert_to,
    holding,
    log_reader,
    passages_of,
    text_of,
)

# MT-RAG: a line a task, which is a turn with all turns before it; answers are `predictions`.

_ANSWERABLE = {
    "ANSWERABLE": True,
    "PARTIAL": True,
    "UNANSWERABLE": False,
}  # nobody asks in CONVERSATIONAL ones
_MT_FACTS = {
    "question_type": "Question Type",
    "multi_turn": "Multi-Turn",
    "answerability": "answerability",
    "collection": "collection",
}


class _Utterance(msgspec.Struct):
    text: str
    speaker: str = ""


class _Prediction(msgspec.Struct):
    text: str | None = None


class _Task(msgspec.Struct):
    conversation_id: str
    task_id: str
    turn: int
    input: list[_Utterance]
    targets: list[_Utterance] = []
    predictions: list[_Prediction] | None = None
    contexts: list[dict[str, Any]] = []


_is_mt_rag = holding("task_id conversation_id turn input")


@log_reader("mt-rag", _is_mt_rag)
def mt_rag(content: Content, reading: LogReading) -> Iterator[Row]:
    """Yield the tasks; a question is what the user said last."""
    for record in content.records():
        value = record.value()
        task = convert_to(_Task, value, record.where)
        if not task.input or task.input[-1].speaker not in ("", "user"):
            raise InputError(at=record.where, expected="an input that ends with what the user said")
        facts = {name: _word_of(value.get(key, value.get(key.title()))) for name, key in _MT_FACTS.items()}
        can = _ANSWERABLE.get(facts["answerability"])
        documents = [doc | {"id": doc.get("document_id", "")} for doc in task.contexts]
        yield Row(
            record.where,
            task.input[-1].text,
            task.predictions[0].text if task.predictions else None,
            [target.text for target in task.targets] if can is not False else [],
            conversation=task.conversation_id,
            turn=str(task.turn),
            contexts=passages_of(documents, record.where),
            facts={name: text for name, text in facts.items() if text}
            | ({} if can is None else {"answerable": can}),
            key=task.task_id,
            record=value,
        )


def _word_of(value: Any) -> str:
    """Return a field that is a text, or a list of them; nothing for the NaN of a table.

    >>> _word_of(["Factoid", "Explanation"]), _word_of(None)
    ('Factoid, Explanation', '')
    """
    texts = value if isinstance(value, list) else [value]
    return ", ".join(text for text in texts if isinstance(text, str))


# Topics of iKAT: a list of conversations, with a response to each utterance.


class _IkatTurn(msgspec.Struct):
    turn_id: int | str
    user_utterance: str
    response: str = ""
    citations: list[str] = []


class _IkatTopic(msgspec.Struct):
    number: str
    responses: list[_IkatTurn]
    title: str = ""


_is_ikat = holding("responses ptkb")


@log_reader("ikat", _is_ikat)
def ikat(content: Content, reading: LogReading) -> Iterator[Row]:
    """Yield the turns of all topics, called as runs call them."""
    for record in content.records():
        topic = convert_to(_IkatTopic, record.value(), record.where)
        for turn in topic.responses:
            yield Row(
                record.where,
                turn.user_utterance,
                None,
                [turn.response] if turn.response else [],
                conversation=topic.number,
                turn=str(turn.turn_id),
                facts={"title": topic.title},
                key=f"{topic.number}_{turn.turn_id}",
                relevant=[turn.citations] if turn.citations else [],
                record=None,
            )


# CRAG-MM: what its evaluation writes of each turn, a row of a table or a line.

_RUBRIC = "crag-auto"
_CRAG_LABELS = ((True, False, "accurate"), (False, True, "missing"), (False, False, "incorrect"))


_is_crag_mm = holding("session_id turn_idx is_correct is_miss")


@log_reader("crag-mm", _is_crag_mm)
def crag_mm(content: Content, reading: LogReading) -> Iterator[Row]:
    """Yield the turns, each with its label of CRAG."""
    reading.rubrics[_RUBRIC] = _RUBRIC
    for record in content.records():
        cells: Mapping[str, Any] = record.object()
        correct, missed = (_is_true(cells.get(name)) for name in ("is_correct", "is_miss"))
        label = next((word for right, lost, word in _CRAG_LABELS if (right, lost) == (correct, missed)), None)
        if label is None:
            raise InputError(
                at=record.where, expected="true or false as is_correct and is_miss, and not both true"
            )
        session, turn = text_of(cells.get("session_id")), text_of(cells.get("turn_idx"))
        if not session or not turn:
            raise InputError(at=record.where, expected="a session_id and a turn_idx")
        yield Row(
            record.where,
            _text_in(cells.get("query")) or "",
            _text_in(cells.get("agent_response")),
            [text for text in [_text_in(cells.get("ground_truth"))] if text],
            conversation=session,
            turn=turn,
            run=text_of(cells.get("model")),
            grades=[Grade(_RUBRIC, label=label)],
            record=cells,
        )


def _text_in(value: Any) -> str | None:
    return value if isinstance(value, str) else None  # a table has NaN where there is no text


def _is_true(value: Any) -> bool | None:
    if isinstance(value, str):
        return {"true": True, "false": False}.get(value.strip().lower())
    return value if isinstance(value, bool) else None
