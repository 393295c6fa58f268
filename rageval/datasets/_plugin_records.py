"""What a plug-in's dataset yields, checked record by record: records of `rageval.records`, or dicts."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import msgspec

from rageval.datasets._records import Document
from rageval.errors import InputError, Place
from rageval.records import Answer, Nugget, Qrel, Question
from rageval.text import problem_of_id, visible

# The record that each method of a dataset yields; judgements are dicts with the keys of their file.
KINDS: Mapping[str, Any] = {
    "questions": Question,
    "documents": Document,
    "qrels": Qrel,
    "nuggets": Nugget,
    "responses": Answer,
}
_IDS = ("query_id", "doc_id", "nugget_id", "run_id")


def checked_records(dataset: str, what: str, produce: Callable[[], Any]) -> Iterator[Any]:
    """Yield what a method of a plug-in's dataset yields, each record checked when it is read."""
    items, name = produce(), f"the plug-in of {visible(dataset)}"
    if not isinstance(items, Iterable) or isinstance(items, str | bytes | Mapping):
        place = Place(name, None, what)
        raise InputError(at=place, expected="records, one after the other", found=type(items).__name__)
    for number, item in enumerate(items, 1):
        try:
            record = _record_of(what, item)
        except InputError as error:
            raise error.located(Place(name, number, what)) from None
        yield record


def _record_of(what: str, given: Any) -> Any:
    kind = KINDS.get(what)
    if kind is None:
        if not isinstance(given, Mapping):
            raise InputError(expected="a dict", found=type(given).__name__)
        return dict(given)
    fields = dict(given) if isinstance(given, Mapping) else _fields_of(given, kind)
    if fields is None:
        expected_kind = f"a rageval.records.{kind.__name__}" if kind is not Document else "a document"
        required = ", ".join(name for name in kind._fields if name not in kind._field_defaults)
        expected = f"{expected_kind} or a dict with its fields ({required}, …)"
        raise InputError(expected=expected, found=f"an object of {type(given).__name__}")
    if unknown := [name for name in fields if name not in kind._fields]:
        expected = f"the fields {', '.join(kind._fields)}"
        raise InputError(expected=expected, found=f"{visible(str(unknown[0]))[:80]!r}")
    complete = {**kind._field_defaults, **fields}
    for name in kind._fields:
        if name not in complete:
            raise InputError(expected=f"a field {name}", found="none")
    try:
        record = msgspec.convert([complete[name] for name in kind._fields], kind)
    except msgspec.ValidationError as error:
        text, _, path = str(error).partition(" - at `$[")
        index, _, below = path.rstrip("`").partition("]")
        field = kind._fields[int(index)] + below if index.isdigit() else ""
        raise InputError(expected=f"another value of {field}", cause=visible(text)) from None
    for name in _IDS:
        if name in kind._fields and (problem := problem_of_id(getattr(record, name))) is not None:
            raise InputError(expected=f"{problem.expected} as {name}", found=problem.found)
    if isinstance(record, Qrel) and not math.isfinite(record.relevance):
        raise InputError(expected="a finite number as relevance", found=f"{record.relevance}")
    return record


def _fields_of(given: Any, kind: Any) -> dict[str, Any] | None:
    """Return the fields that somebody's own type of record has under the same names; None without them."""
    if not hasattr(given, "_asdict") and not hasattr(given, "__dataclass_fields__"):
        return None
    there = {name: getattr(given, name) for name in kind._fields if hasattr(given, name)}
    required = set(kind._fields) - set(kind._field_defaults)
    return there if required <= there.keys() else None
