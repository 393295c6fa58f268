"""Rules on the fields of a record: which there must be, of what kind, and which there may not be."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from rageval.validation.findings import (
    MISSING,
    Path,
    Record,
    Remark,
    Rule,
    error,
    is_number,
    shown,
    value_at,
    warning,
)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_id(value: Any) -> bool:
    return _is_text(value) or is_number(value)


TEXT, ID, NUMBER = (_is_text, "a text"), (_is_id, "an id (text or number)"), (is_number, "a whole number")
LIST = (lambda value: isinstance(value, list), "a list")
OBJECT = (lambda value: isinstance(value, dict), "an object")


@dataclass(frozen=True, slots=True)
class Field:
    """A field by its path, its kind, and whether it must be there and say something."""

    path: Path
    kind: tuple[Callable[[Any], bool], str]
    required: bool = True
    filled: bool = True
    among: tuple[str, ...] = ()


def field(path: str, kind: tuple[Callable[[Any], bool], str], **rules: Any) -> Field:
    """The field under this dotted path."""
    return Field(tuple(path.split(".")), kind, **rules)


def fields(*expected: Field) -> Rule:
    """Required fields are there, and all are of their kind."""

    def rule(record: Record) -> Iterator[Remark]:
        for one in expected:
            parent = value_at(record, one.path[:-1])
            if isinstance(parent, dict):  # if not, the parent's own rule has said so
                yield from _field(one, parent.get(one.path[-1], MISSING))

    return rule


def _field(one: Field, value: Any) -> Iterator[Remark]:
    name = f"`{'.'.join(one.path)}`"
    is_kind, kind = one.kind
    if value is MISSING:
        if one.required:
            yield error(f"{name} is missing, expected {kind}")
    elif not is_kind(value):
        yield error(f"expected {kind} as {name}, found {shown(value)}")
    elif one.filled and isinstance(value, str) and not value.strip():
        yield (error if one.required else warning)(f"{name} is empty")
    elif one.among and value not in one.among:
        yield error(f"expected {' or '.join(one.among)} as {name}, found {shown(value)}")


def no_other_fields(path: str, known: str) -> Rule:
    """A field that the track does not know is a warning: perhaps a misspelt one."""
    keys = set(known.split())
    parent = tuple(path.split(".")) if path else ()

    def rule(record: Record) -> Iterator[Remark]:
        found = value_at(record, parent)
        for key in found if isinstance(found, dict) else ():
            if key not in keys:
                yield warning(
                    f"unknown field {shown(key)}{f' in `{path}`' if path else ''}; known are {known}"
                )

    return rule


def no_blanks(path: str) -> Rule:
    """White space in an id parts columns in the files made of it."""
    keys = tuple(path.split("."))

    def rule(record: Record) -> Iterator[Remark]:
        value = value_at(record, keys)
        if isinstance(value, str) and value.strip() and any(map(str.isspace, value)):
            yield warning(f"white space in `{path}`: {shown(value)}; files of columns part there")

    return rule
