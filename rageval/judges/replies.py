"""From a model's reply to verdicts: strict JSON, three repairs that change no meaning, nothing guessed.

A reply that holds exactly one object is read; a code fence around it, a comma too many and Python's way of
writing it are repaired and said to be. Prose, two objects, unknown labels, a list of the wrong length, a
missing or repeated id, a number off the scale: invalid, with a message that a second try can show the model.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from rageval.text import mended

LONGEST = 200_000  # characters of a reply
DEEPEST = 50  # lists and objects within one another

# All of these go over a text once: a string that does not end goes on to the end of the text.
_FENCE = re.compile(r"```[A-Za-z]*\s*")
_STRING_OR_LAST_COMMA = re.compile(r'("(?:[^"\\]++|\\.)*+(?:"|\\?\Z))|,(?=\s*+[}\]])', re.DOTALL)
_PYTHON = re.compile(
    r"""(?P<mark>[{}\[\]:]) | (?P<comma>,)(?P<last>\s*+(?=[}\]]))? | (?P<word>True|False|None)\b
    | (?P<string>'(?:[^'\\\n]++|\\.)*+' | "(?:[^"\\\n]++|\\.)*+")
    | (?P<number>[-+]?(?:\d++(?:\.\d*+)?|\.\d++)(?:[eE][-+]?\d++)?)""",
    re.DOTALL | re.VERBOSE | re.ASCII,
)
_BLANKS = re.compile(r"\s*+")
_ESCAPE = re.compile(
    r"\\(?:(?P<code>[0-7]{1,3}|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})|(?P<one>.))", re.DOTALL
)
_WORDS = {"True": "true", "False": "false", "None": "null"}
_MEANT = {"\n": "", "a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


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
    text = _without_fence(text)
    for attempt in (_strict, _without_last_commas, _as_python):
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
    return _mended(found) if isinstance(found, dict) else None


def _mended(value: Any, depth: int = 1) -> Any:
    """The value in texts that any file can hold, its nesting within bounds."""
    if isinstance(value, str):
        return mended(value)
    if not isinstance(value, dict | list):
        return value
    if depth > DEEPEST:
        raise Invalid(f"expected an object that is nested {DEEPEST} deep at most")
    if isinstance(value, list):
        return [_mended(item, depth + 1) for item in value]
    return _once([(mended(key), _mended(item, depth + 1)) for key, item in value.items()])


def _without_fence(text: str) -> str:
    first, _, rest = text.partition("\n")
    inner = rest.removesuffix("```").rstrip(" \t\r\f\v")
    if rest.endswith("```") and inner.endswith("\n") and _FENCE.fullmatch(first):
        return inner.strip()
    return text


def _without_last_commas(text: str) -> dict[str, Any] | None:
    """The object without commas before a closing bracket; commas inside strings stay."""
    return _strict(_STRING_OR_LAST_COMMA.sub(lambda match: match[1] or "", text))


def _as_python(text: str) -> dict[str, Any] | None:
    """The object as Python writes it: its quotes and words, the rest as in JSON."""
    try:
        return _strict("".join(_from_python(text)))
    except _NoPython:
        return None


class _NoPython(Exception):
    """Something that no literal of lists, texts and numbers holds."""


def _from_python(text: str) -> Iterator[str]:
    """The pieces of JSON that say what a literal of Python says."""
    at = _end(_BLANKS, text, 0)
    while at < len(text):
        found = _PYTHON.match(text, at)
        if found is None:
            raise _NoPython
        kind, said = found.lastgroup, found[0]
        if kind == "string":
            yield json.dumps(_ESCAPE.sub(_meant, said[1:-1]))
        elif kind == "number":
            yield _number(said)
        elif kind != "last":
            yield _WORDS.get(said, said)
        at = _end(_BLANKS, text, found.end())


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return found.end() if found else at


def _meant(escape: re.Match[str]) -> str:
    """What a backslash and what follows it mean in a text of Python."""
    code, one = escape["code"], escape["one"]
    if code is None:
        if one in "xuUN":  # not as it has to be, or by name
            raise _NoPython
        return _MEANT.get(one, one if one in "\\'\"" else f"\\{one}")
    number = int(code, 8) if code[0] not in "xuU" else int(code[1:], 16)
    if number > 0x10FFFF:
        raise _NoPython
    return chr(number)


def _number(said: str) -> str:
    """A number as JSON writes it: Python may leave out digits beside the point."""
    said = said.removeprefix("+")
    return repr(float(said)) if re.search(r"(?<!\d)\.|\.(?!\d)", said) else said


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
