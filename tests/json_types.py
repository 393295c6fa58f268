"""Whether a value of JSON is of a type of docs/json.toml."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SCHEMA = tomllib.loads((Path(__file__).parents[1] / "docs/json.toml").read_text(encoding="utf-8"))
_PLAIN: dict[str, Any] = {
    "text": lambda value: isinstance(value, str),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "object": lambda value: isinstance(value, dict),
    "any": lambda value: True,
}


def faults(value: Any, kind: str, place: str = "") -> Iterator[str]:
    """Yield where a value is not of a type; of several, what is said of the nearest."""
    several = _alternatives(kind)
    if len(several) > 1:
        faults_of_forms = [list(faults(value, one, place)) for one in several]
        yield from min(faults_of_forms, key=len)
    elif kind.startswith("list of "):
        if not isinstance(value, list):
            yield f"{place}: expected {kind}, found {value!r:.80}"
            return
        for part in value:
            yield from faults(part, kind.removeprefix("list of "), f"{place}[]")
    elif kind.startswith("map of "):
        if not isinstance(value, dict):
            yield f"{place}: expected {kind}, found {value!r:.80}"
            return
        for name, part in value.items():
            yield from faults(part, kind.removeprefix("map of "), f"{place}.{name}")
    elif kind in _PLAIN:
        if not _PLAIN[kind](value):
            yield f"{place}: expected {kind}, found {value!r:.80}"
    else:
        yield from _faults_of_object(value, kind, place)


def _alternatives(kind: str) -> list[str]:
    """Split a union; `list of` and `map of` take all that follows."""
    parts: list[str] = []
    rest = kind
    while rest:
        if rest.startswith(("list of ", "map of ")):
            return [*parts, rest]
        one, _, rest = rest.partition(" or ")
        parts.append(one)
    return parts


def _faults_of_object(value: Any, name: str, place: str) -> Iterator[str]:
    if not isinstance(value, dict):
        yield f"{place}: expected {name}, found {value!r:.80}"
        return
    fields = {key: text.partition(": ")[0] for key, text in SCHEMA["objects"][name].items()}
    others = fields.pop("*", None)
    fields_by_name = {key.removesuffix("?"): kind for key, kind in fields.items()}
    lacking = [key for key in fields if not key.endswith("?") and key not in value]
    yield from (f"{place}.{key}: is missing in {name}" for key in lacking)
    for key, part in value.items():
        kind = fields_by_name.get(key, others)
        if kind is None:
            yield f"{place}.{key}: is no field of {name}"
        else:
            yield from faults(part, kind, f"{place}.{key}")
