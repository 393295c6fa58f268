"""What `--map` says of a log's records: fields of theirs that the reader does not know, set in its rows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

import msgspec

from rageval.core.remark import Remark
from rageval.core.turn import CONVERSATION, TURN
from rageval.errors import InputError, Place, UsageError
from rageval.logs.paths import Path, fields_of, list_in, value_at_path
from rageval.logs.rows import SPENT, LogReading, Passage, Row, conversation_of, graded, number_of, spent_as
from rageval.text import visible

MAPPED = "--map"  # who says where an id stands, among the fields of a log
_LISTED = 24  # fields in an error
_EXACT = 2**53  # whole numbers below this are what floats say
_BLANK = re.compile(r"[\s\x00-\x1f\x7f]")


def map_rows(rows: Iterable[Row], mapping: Mapping[str, Path], reading: LogReading) -> Iterator[Row]:
    """Yield the rows with the fields that are mapped; of a conversation that is mapped, a row a turn."""
    fits = dict.fromkeys(mapping, 0)
    lists: dict[str, str] = {}  # what would read the text of a field as the list that it is
    number, first = 0, None
    for row in rows:
        number += 1
        first = first or row.record
        values = {name: value_at_path(row.record, path, row.where) for name, path in mapping.items()}
        for name, value in values.items():
            fits[name] += value is not None
            if name in ("contexts", "context_ids") and isinstance(value, str) and name not in lists:
                lists |= {name: how} if (how := list_in(value)) and name not in reading.split else {}
        row.before = _asked_before(row.record, mapping.get("question"), row.where)
        row.record = None  # a record may be much larger than what is kept of it
        for of_turn, values_of_turn in _turns_mapped(row, values, mapping):
            _set_mapped_fields(of_turn, values_of_turn, reading)
            yield of_turn
    for name, path in mapping.items():
        if number and not fits[name]:
            there = ", ".join(islice(fields_of([first])[0], _LISTED))
            raise UsageError(
                f"--map {name}={visible(path.text)}: fits none of {number:,} records; there are"
                f" {visible(there)}"
            )
        if fits[name] < number:
            counts = {"number": fits[name], "total": number}
            facts = {"name": name, "path": path.text, **counts}
            reading.remarks.append(Remark("path_fits_some", facts=facts))
        if name in lists:
            facts = {"name": name, "path": path.text, "way": lists[name]}
            reading.remarks.append(Remark("list_read_as_passage", facts=facts))


def _asked_before(record: Any, path: Path | None, where: Place) -> str:
    """Return a digest of what stands before one turn of several, where a path leads to this one."""
    numbers = [step for step in path.steps if isinstance(step, int)] if path is not None else []
    if path is None or not numbers:
        return ""
    place = path.steps.index(numbers[0])
    turns = value_at_path(record, path._replace(steps=path.steps[:place], filters=()), where)
    earlier = turns[: numbers[0]] if isinstance(turns, list) else []
    return conversation_of(map(repr, earlier)) if earlier else ""


def _turns_mapped(
    row: Row, values: dict[str, Any], mapping: Mapping[str, Path]
) -> Iterator[tuple[Row, dict[str, Any]]]:
    """Yield a row, or one for each of its turns, where the path of the question leads to several."""
    path = mapping.get("question")
    questions = values.get("question")
    if path is None or not path.is_many or not isinstance(questions, list):
        yield row, values
        return
    # A field whose path goes through the same list has a value in each turn.
    way = path.steps[: path.steps.index(None)] if None in path.steps else path.steps
    by_turn = {name for name, other in mapping.items() if other.is_many and other.steps[: len(way)] == way}
    for name in by_turn:
        value = values[name]
        if value is not None and (not isinstance(value, list) or len(value) != len(questions)):
            raise InputError(
                at=row.where, expected=f"as many values of {name} as questions", found=f"{len(value or ())}"
            )
    texts = [one_text(question, "question", row.where) for question in questions]
    for number in range(len(questions)):
        of_turn = {
            name: value[number] if name in by_turn and value is not None else value
            for name, value in values.items()
        }
        yield msgspec.structs.replace(row, conversation=conversation_of(texts), turn=str(number + 1)), of_turn


def _set_mapped_fields(row: Row, values: Mapping[str, Any], reading: LogReading) -> None:
    for name, value in values.items():
        if name == "question":
            row.question = one_text(value, name, row.where) or row.question
        elif name == "run_id":
            row.run = one_text(value, name, row.where)
        elif name == "repeat":
            row.repeat = one_text(value, name, row.where)
        elif name == CONVERSATION:
            row.conversation = one_text(value, name, row.where)
        elif name == TURN:
            row.turn = one_text(value, name, row.where)
        elif name == "trace_id":
            row.trace = one_text(value, name, row.where)
        elif name == "query_id":
            row.ids = {MAPPED: one_text(value, name, row.where)}
        elif name == "answer":
            row.answer = None if value is None else one_text(value, name, row.where)
        elif name == "gold":
            row.gold = [one_text(text, name, row.where) for text in _as_list(value) if text is not None]
        elif name in SPENT:
            row.spent |= spent_as(**{name: value})
        elif name.startswith("fact:"):
            row.facts[name.removeprefix("fact:")] = one_text(value, name, row.where)
        elif name.startswith("grade:"):
            row.grades.append(graded(name.removeprefix("grade:"), value, ""))
    if values.keys() & {"contexts", "context_ids", "context_scores"}:
        row.contexts = _mapped_contexts(row, values, reading)


def _mapped_contexts(row: Row, values: Mapping[str, Any], reading: LogReading) -> list[Passage]:
    """Return passages of columns, each of which may come from the reader instead."""
    own = row.contexts
    columns: dict[str, list[Any]] = {
        "contexts": [passage.text for passage in own],
        "context_ids": [passage.id for passage in own],
        "context_scores": [passage.score for passage in own],
    }
    for name in columns.keys() & values.keys():
        value = values[name]
        if isinstance(value, str) and (mark := reading.split.get(name)):
            value = [part for part in value.split(mark) if part.strip()]
        elif isinstance(value, str) and not value.strip():
            value = None  # an empty cell of a table
        columns[name] = _as_list(value)
    most = max(map(len, columns.values()))
    for name, column in columns.items():
        if not column:
            columns[name] = [None] * most
        elif len(column) != most:
            counts = ", ".join(f"{len(column)} {name}" for name, column in columns.items() if column)
            raise InputError(at=row.where, expected="as many texts as ids and scores", found=f"{counts}")
    return [
        Passage(
            one_text(text, "contexts", row.where), one_text(doc, "context_ids", row.where), number_of(score)
        )
        for text, doc, score in zip(*columns.values(), strict=True)
    ]


def _as_list(value: Any) -> list[Any]:
    return [] if value is None else value if isinstance(value, list) else [value]


def one_text(value: Any, name: str, where: Place) -> str:
    """Return a value as text; `InputError` for a list or an object, which is none."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, int | float):
        # A gap in a column of whole numbers makes fractions of all of them.
        is_whole = isinstance(value, float) and value.is_integer() and abs(value) < _EXACT
        return str(value).lower() if isinstance(value, bool) else str(int(value) if is_whole else value)
    kind = "a list: end the path in [] or [0]" if isinstance(value, list) else "an object: name a field of it"
    raise InputError(at=where, expected=f"a text for {name}", found=kind)


def word(text: str) -> str:
    """Return a name without white space, which files of TREC cannot hold: %20 for a blank.

    >>> word(" returns policy.md#0")
    'returns%20policy.md#0'
    """
    if text.isprintable() and " " not in text:  # as nearly all are
        return text
    # As URLs write them, so that they can be told from names with another mark in their place.
    return _BLANK.sub(lambda match: f"%{ord(match[0]):02X}", text.strip())
