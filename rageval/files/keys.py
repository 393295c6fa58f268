"""Keys that stand twice in a JSON object, of which every decoder takes the last without a word."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from operator import attrgetter
from typing import Any

import msgspec
from msgspec import UNSET

REPEATED = "the key {!r} stands twice in one object; expected it once, so take out the wrong one"
_SPACED = re.compile(rb'(?<!\\)"[ \t]+:')
_LARGE = 2**14  # bytes of a line, on average, from which on its values are not built
_NESTED = {dict, list}
_LEARNED, _MOST_KEYS = 20, 100  # how often, and of how many keys, the shape of lines is learned
_SCALAR = str | int | float | bool | None
_FLAT = dict[str, _SCALAR]
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


class Shape:
    """What the lines of a file look like: where they all look so it is cheap to see that no key stands twice.

    A line has as many different keys at least as fields that are always there, or that differ from their
    default, and as many keys at most as colons that are in no value, or that stand behind quotes. Where these
    are equal every key stands once.
    """

    def __init__(self, form: Any) -> None:
        """Know nothing yet of lines that are to be read as `form`; nothing ever where that is no struct."""
        self._form = form
        is_struct = isinstance(form, type) and issubclass(form, msgspec.Struct)
        fields = msgspec.structs.fields(form) if is_struct else ()
        self._fields = {field.encode_name: field for field in fields}
        self._always: set[str] | None = None  # keys that every line has
        self._is_nested: dict[str, bool] = {}  # of all keys
        self._left = _LEARNED if is_struct else 0
        self._decode: Callable[[bytes], Any] | None = None
        self._counted: list[tuple[Callable[[Any], Any], Any]] = []  # how to get a field, and its default
        self._nested: list[Callable[[Any], Any]] = []
        self._deep: set[str] = set()  # keys of values that are not plain objects of numbers and texts
        self._flat: list[Callable[[Any], Any]] = []
        self._colons: set[str] = set()  # keys of values with a colon
        self._with_colons: list[Callable[[Any], Any]] = []

    def records(self, text: bytes) -> list[Any] | None:
        """Return the records of a text, one a line; None if it is not plain to see that all is in order."""
        if self._decode is None or self._always is None:
            return None
        try:
            records = list(map(self._decode, text.removesuffix(b"\n").split(b"\n")))
        except (ValueError, RecursionError):
            return None
        different = len(self._always) * len(records)
        for get, default in self._counted:
            different += len(records) - list(map(get, records)).count(default)
        for get in self._flat:
            different += sum(map(len, map(get, records)))
        for get in self._nested:
            different += _different(map(get, records))
        if b"\\" not in text and different == self._colons_between(text, records):
            return records
        return records if different == _most_keys(text) else None

    def _colons_between(self, text: bytes, records: list[Any]) -> int:
        """Return how many colons stand there, but for those in values that are known to hold some."""
        within = ("".join(map(str, map(get, records))).count(":") for get in self._with_colons)
        return text.count(b":") - sum(within)

    def learn(self, text: bytes) -> None:
        """Look at lines that do not look like those before."""
        if not self._left or len(text) > _LARGE * (text.count(b"\n") + 1):
            return
        self._left -= 1
        try:
            records = _built(text)
        except (ValueError, RecursionError):
            return
        for record in records:
            if record.__class__ is not dict or len(self._is_nested) > _MOST_KEYS:
                self._left = 0
                return
            self._always = set(record) if self._always is None else self._always & record.keys()
            for key, value in record.items():
                self._is_nested[key] = self._is_nested.get(key, False) or value.__class__ in _NESTED
                if value.__class__ is not dict or _NESTED & set(map(type, value.values())):
                    self._deep.add(key)
                if value.__class__ is str and ":" in value:
                    self._colons.add(key)
        self._prepare()

    def _prepare(self) -> None:
        """Make a form of all keys, without a default for those that are always there."""
        fields: list[Any] = []
        names: dict[str, str] = {}
        self._counted, self._flat, self._nested, self._with_colons = [], [], [], []
        for at, (key, is_nested) in enumerate(self._is_nested.items()):
            own, is_always = self._fields.get(key), key in (self._always or ())
            name = own.name if own else f"unknown_{at}"
            is_flat = is_nested and is_always and key not in self._deep
            if own and is_nested:  # whose keys would be skipped without being counted
                self._left, self._decode = 0, None
                return
            if not own:
                names[name] = key
                kind = _FLAT if is_flat else Any if is_nested else _SCALAR
                fields.append((name, kind, *(() if is_always else (UNSET,))))
            elif is_always:
                fields.append((name, own.type))
            if not is_always:
                self._counted.append((attrgetter(name), own.default if own else UNSET))
            if is_nested:
                (self._flat if is_flat else self._nested).append(attrgetter(name))
            elif key in self._colons:
                self._with_colons.append(attrgetter(name))
        try:
            form: Any = msgspec.defstruct(
                "Line", fields, bases=(self._form,), rename=names, kw_only=True, gc=False
            )
        except ValueError:  # a key that no field can have, with a quote or a backslash
            self._left, self._decode = 0, None
            return
        self._decode = msgspec.json.Decoder(form).decode


def _most_keys(text: bytes) -> int | None:
    """Return how many keys there are at most in lines of JSON; None if that is not plain to see."""
    tight = text.translate(None, b" \t\r")  # a blank less within a value makes no key less
    keys = tight.count(b'":')
    if b"\\" not in tight:
        return keys
    return None if b'\\\\"' in tight else keys - tight.count(b'\\":')


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
