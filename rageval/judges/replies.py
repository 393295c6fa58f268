"""From a model's reply to verdicts: strict JSON, three repairs that change no meaning, nothing guessed.

A reply that holds exactly one object is read; a code fence around it, a comma too many and Python's way of
writing it are repaired and said to be. Prose, two objects, unknown labels, a list of the wrong length, a
missing or repeated id, a number off the scale: invalid, with a message that a second try can show the model.
"""

from __future__ import annotations

import ast
import json
import re
from typing import Any

_FENCED = re.compile(r"\A```[A-Za-z]*\s*\n(?P<inner>.*)\n\s*```\Z", re.DOTALL)
_TRAILING_COMMA = re.compile(r",(\s*[}\]])")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
LONGEST = 200_000


class Invalid(ValueError):
    """The reply is not what was asked for."""


def read_object(text: str) -> tuple[dict[str, Any], bool]:
    """(the one object of the reply, whether it had to be repaired).

    >>> read_object('{"label": "perfect"}')
    ({'label': 'perfect'}, False)
    >>> read_object("```json\\n{'label': 'perfect',}\\n```")
    ({'label': 'perfect'}, True)
    """
    text = text.strip()
    if len(text) > LONGEST:
        raise Invalid(f"the reply is {len(text):,} characters long, expected at most {LONGEST:,}")
    found = _strict(text)
    if found is not None:
        return found, False
    inner = _FENCED.match(text)
    text = inner["inner"].strip() if inner else text
    for attempt in (_strict, _without_trailing_commas, _as_python):
        found = attempt(text)
        if found is not None:
            return found, True
    raise Invalid(f"expected one JSON object and nothing else, found {text[:80]!r}")


def _strict(text: str) -> dict[str, Any] | None:
    try:
        found = json.loads(text, object_pairs_hook=_once, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        if isinstance(error, Invalid):
            raise
        return None
    return found if isinstance(found, dict) else None


def _without_trailing_commas(text: str) -> dict[str, Any] | None:
    """The object without commas before a closing bracket; commas inside strings stay."""
    strings: list[str] = []

    def keep(match: re.Match[str]) -> str:
        strings.append(match.group())
        return f'"{len(strings) - 1}"'

    bare = _TRAILING_COMMA.sub(r"\1", _STRING.sub(keep, text))
    return _strict(re.sub(r'"(\d+)"', lambda match: strings[int(match[1])], bare))


def _as_python(text: str) -> dict[str, Any] | None:
    try:
        tree = ast.parse(text, mode="eval")
        found = ast.literal_eval(tree)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
    if not isinstance(tree.body, ast.Dict) or not isinstance(found, dict):
        return None
    if len(found) != len(tree.body.keys):
        raise Invalid("a key stands twice in the object")
    return json.loads(json.dumps(found)) if _is_plain(found) else None


def _is_plain(value: Any) -> bool:
    """Whether JSON can hold this."""
    if isinstance(value, dict):
        return all(isinstance(key, str) and _is_plain(inner) for key, inner in value.items())
    if isinstance(value, list):
        return all(map(_is_plain, value))
    return (
        value is None or isinstance(value, str | bool | int) or (isinstance(value, float) and value == value)
    )


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise Invalid("a key stands twice in the object")
    return found


def _no_constant(name: str) -> Any:
    raise Invalid(f"expected a number, found {name}")


def text_of(record: dict[str, Any], key: str) -> str | None:
    """A text that may be left out."""
    value = record.get(key)
    if value is not None and not isinstance(value, str):
        raise Invalid(f"{key}: expected text, found {value!r:.80}")
    return value


def label_of(record: dict[str, Any], key: str, labels: tuple[str, ...]) -> str:
    """One of the rubric's labels; only case and blanks are forgiven."""
    value = record.get(key)
    found = value.strip().lower().replace(" ", "_").replace("-", "_") if isinstance(value, str) else value
    if found not in labels:
        raise Invalid(f"{key}: expected one of {', '.join(labels)}, found {value!r:.80}")
    return str(found)


def number_of(record: dict[str, Any], key: str, low: float, high: float) -> float:
    """A number on the scale; never clipped, never read out of text."""
    value = record.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise Invalid(f"{key}: expected a number from {low:g} to {high:g}, found {value!r:.80}")
    return float(value)


def list_of(record: dict[str, Any], key: str) -> list[Any]:
    """A list."""
    value = record.get(key)
    if not isinstance(value, list):
        raise Invalid(f"{key}: expected a list, found {value!r:.80}")
    return value


def by_id(items: list[Any], ids: tuple[str, ...], what: str) -> dict[str, dict[str, Any]]:
    """The objects of a list by their `id`: each of the expected ids once, and no other."""
    found: dict[str, dict[str, Any]] = {}
    for item in items:
        if not isinstance(item, dict) or not isinstance(item.get("id"), str):
            raise Invalid(f"expected an object with an id for each {what}, found {item!r:.80}")
        if item["id"] in found:
            raise Invalid(f"{what} {item['id']!r:.80} stands twice")
        found[item["id"]] = item
    lost = [name for name in ids if name not in found]
    strange = [name for name in found if name not in ids]
    if lost or strange:
        raise Invalid(
            f"expected each of the {len(ids)} {what}s once; missing: {', '.join(lost) or 'none'};"
            f" unknown: {', '.join(strange)[:80] or 'none'}"
        )
    return {name: found[name] for name in ids}
