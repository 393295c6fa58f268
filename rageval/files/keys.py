"""Keys that stand twice in a JSON object, of which every decoder takes the last without a word."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

import msgspec

REPEATED = "the key {!r} stands twice in one object; expected it once, so take out the wrong one"
_SPACED = re.compile(rb'(?<!\\)"[ \t]+:')
_LARGE = 2**14  # bytes of a line, on average, from which on its values are not built
_NESTED = {dict, list}
_built = msgspec.json.Decoder().decode_lines
_raw = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode_lines
_record = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_items = msgspec.json.Decoder(list[msgspec.Raw]).decode


def repeated_keys(text: bytes, records: Iterable[Any] = ()) -> Iterator[tuple[int, str]]:
    """(number of the line from 0, key) of every line of JSON that names a key twice in one object.

    `records` are all that stands there, where somebody has decoded it. Whether a key can stand twice is told
    by counting: the colons behind quotes are as many as different keys.
    """
    if _all_differ(text, records):
        return
    for number, line in enumerate(text.split(b"\n")):
        key = _repeated(line) if line.lstrip().startswith((b"{", b"[")) else None
        if key is not None:
            yield number, key


def repeated_in(text: bytes) -> str | None:
    """A key that stands twice in one object of this text, be it many lines long."""
    return _repeated(text)


def _all_differ(text: bytes, records: Iterable[Any]) -> bool:
    """Whether no key stands twice; False also if that is not plain to see."""
    if b"\\" in text and b'\\\\"' in text:  # a backslash at the end of a text, or of a key
        return False
    large = len(text) > _LARGE * (text.count(b"\n") + 1)
    try:
        if large:
            return _different_raw(text, _raw(text))
        return _different(records or _built(text)) == _keys(text)
    except (ValueError, RecursionError):
        return False


def _different(values: Iterable[Any]) -> int:
    """How many different keys are in these objects and lists, and in what lies in them."""
    number = 0
    while values := list(values):
        dicts = [value for value in values if value.__class__ is dict]
        number += sum(map(len, dicts))
        inner = chain(
            chain.from_iterable(map(dict.values, dicts)), *(v for v in values if v.__class__ is list)
        )
        values = [value for value in inner if value.__class__ in _NESTED]
    return number


def _different_raw(text: bytes, records: Iterable[Any]) -> bool:
    """Whether all keys differ, found without building the values, which are long."""
    keys = _keys(text)
    for record in records:
        values = list(record.values()) if isinstance(record, dict) else record
        keys -= len(record) if isinstance(record, dict) else 0
        for value in map(bytes, values):
            if value[:1] in b"{[" and (own := _keys(value)):
                keys -= own
                if not _different_raw(value, [(_record if value[:1] == b"{" else _items)(value)]):
                    return False
    return keys == 0


def _keys(text: bytes) -> int:
    """How many keys stand there: quotes, none of them within a text, that a colon follows."""
    spaced = len(_SPACED.findall(text)) if b" :" in text or b"\t" in text else 0
    escaped = text.count(b'\\":') if b"\\" in text else 0
    return text.count(b'":') - escaped + spaced


def _repeated(line: bytes) -> str | None:
    """The first key that stands twice in one object of this line."""

    def seen(pairs: list[tuple[str, Any]]) -> None:
        names: set[str] = set()
        for name, _ in pairs:
            if name in names:
                raise _Twice(name)
            names.add(name)

    try:
        json.loads(line, object_pairs_hook=seen)
    except _Twice as twice:
        return str(twice)
    except (ValueError, RecursionError):
        return None
    return None


class _Twice(Exception):
    """A key stands twice."""
