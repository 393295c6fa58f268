"""Data sets and results of ragas: JSON lines, CSV or Parquet; rows have no id."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rageval.errors import InputError
from rageval.logs._content import Content
from rageval.logs.paths import literal
from rageval.logs.rows import (
    LogReader,
    LogReading,
    Passage,
    Row,
    cell_graded,
    ids_in,
    is_id,
    list_of,
    metrics_in,
    text_of,
)

_TEXTS = ("user_input", "response", "reference")
_LISTS = ("retrieved_contexts", "retrieved_context_ids", "reference_contexts", "reference_context_ids")
_OTHER = (
    *("rubrics", "multi_responses", "reference_tool_calls", "synthesizer_name", "persona_name"),
    *("", "index", "Unnamed: 0"),  # the rows' numbers, as pandas writes them
)


def _fits(content: Content) -> bool:
    fields = set(content.first.keys())
    return "user_input" in fields and bool(fields & {"response", "retrieved_contexts"})


def _rows(content: Content, reading: LogReading) -> Iterator[Row]:
    found = [(record.where, record.object()) for record in content.records()]
    # Any column may be a metric: all rows have to be known.
    metrics = metrics_in((cells for _, cells in found), _is_field, reading)
    lost = 0
    for where, cells in found:
        texts = {name: _text(cells.get(name), name, where) for name in _TEXTS}
        lists = {name: _list(cells.get(name), name, where) for name in _LISTS}
        lost += len(lists["reference_contexts"]) if not lists["reference_context_ids"] else 0
        ids = lists["retrieved_context_ids"]
        contexts = lists["retrieved_contexts"]
        if ids and contexts and len(ids) != len(contexts):
            raise InputError(f"{where}: expected as many retrieved_context_ids as texts, found {len(ids)}")
        number = max(len(ids), len(contexts))  # the order is the rank: ragas keeps no scores
        pairs = zip(contexts or [""] * number, ids or [""] * number, strict=True)
        yield Row(
            where,
            texts["user_input"] or "",
            texts["response"],
            list_of(texts["reference"]),
            contexts=[Passage(text, text_of(doc)) for text, doc in pairs],
            grades=[cell_graded(name, cells.get(name)) for name in metrics],
            relevant=[[text_of(doc)] for doc in lists["reference_context_ids"]],
            ids=ids_in(cells),
            record=cells,
        )
    if lost:
        reading.remarks.append(f"{lost:,} reference_contexts have no ids and are left out")


def _is_field(name: str) -> bool:
    return name in (*_TEXTS, *_LISTS, *_OTHER) or is_id(name)


def _text(value: Any, name: str, where: str) -> str | None:
    if isinstance(value, list):
        raise InputError(
            f"{where}: {name} is a conversation of several turns, expected one question and its answer; part"
            " the turns first"
        )
    if value is None or value != value:
        return None
    if not isinstance(value, str):
        raise InputError(f"{where}: expected a text as {name}, found {value!r:.80}")
    return value


def _list(value: Any, name: str, where: str) -> list[Any]:
    """Return a list, in a CSV written as Python writes it."""
    found = literal(value, f"{where}: {name}") if isinstance(value, str) and value.strip() else value or []
    kinds = str | int if name.endswith("ids") else str
    if not isinstance(found, list) or not all(isinstance(item, kinds) for item in found):
        raise InputError(f"{where}: expected a list of texts as {name}, found {value!r:.80}")
    return found


RAGAS = LogReader("ragas", _fits, _rows)
