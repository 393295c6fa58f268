"""Kinds of files that come in several formats: the first record tells which, the others must agree."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import msgspec

from rageval.errors import InputError
from rageval.files.jsonl import decoded, explained
from rageval.files.limits import DEFAULT, Limits
from rageval.files.opening import Source, name_of, quoted
from rageval.text import problem_of_id, visible

Item = TypeVar("Item")
Id = str | int
_CONTROL = re.compile("[\x00-\x1f\x7f]")
Unfit = msgspec.ValidationError  # what a form raises for a record that is not as it must be


@dataclass(frozen=True, slots=True)
class Form(Generic[Item]):
    """One format of a kind of file.

    `fits` knows a record of it by its keys, `struct` declares the fields, `build` makes of them what is read.
    A form whose lines are no JSON has a `parse` of its own.
    """

    name: str
    shape: str
    fits: Callable[[dict[str, Any]], bool]
    struct: Any
    build: Callable[[Any, Limits], Item]
    parse: Callable[[bytes], Any] | None = None

    @property
    def expected(self) -> str:
        """The form in error messages: its name, and what a record looks like."""
        return f"{self.name} {self.shape}"


def read_forms(
    source: Source, forms: Sequence[Form[Item]], kind: str, limits: Limits = DEFAULT
) -> Iterator[tuple[int, Item]]:
    """(line number, what the form of the file makes of the record); `kind` names the kind of file."""
    telling = _Telling(forms, kind, limits)
    return decoded(source, telling.decode, telling.explain, limits)


def has(*keys: str) -> Callable[[dict[str, Any]], bool]:
    """Fits records with all of these keys."""
    return lambda record: all(key in record for key in keys)


def identifier(value: Id, what: str, limits: Limits = DEFAULT) -> str:
    """An id as text; numbers stay as they are written."""
    text = str(value)
    if (problem := problem_of_id(text)) is not None and text.strip():
        raise Unfit(f"expected {problem} in `{what}`")
    if not text.strip() or len(text.encode("utf-8", "surrogatepass")) > limits.id:
        found = f"{len(text):,} characters" if text.strip() else "nothing"
        raise Unfit(f"expected an id of 1 to {limits.id:,} bytes in `{what}`, found {found}")
    if _CONTROL.search(text):
        raise Unfit(f"expected an id without control characters in `{what}`, found {text[:80]!r}")
    return text


def once(
    records: Iterable[tuple[int, Item]], source: Source, key: Callable[[Item], str | None]
) -> Iterator[tuple[int, Item]]:
    """The same records; one whose key (in words for people) was there before is an error with both lines."""
    first: dict[str, int] = {}
    for line, item in records:
        name = key(item)
        if name is not None and first.setdefault(name, line) != line:
            raise InputError(
                f"{name_of(source)}:{line}: a second {visible(name)}, the first is in line {first[name]};"
                " expected one, so remove the other"
            )
        yield line, item


class _Telling(Generic[Item]):
    """Decodes with the form of the first record; what is of another form is named."""

    def __init__(self, forms: Sequence[Form[Item]], kind: str, limits: Limits) -> None:
        self.forms, self.kind, self.limits = forms, kind, limits
        self.form: Form[Item] | None = None

    def decode(self, line: bytes) -> Item:
        if self.form is None:
            self.form = self._told(line)
            self._decode = self.form.parse or msgspec.json.Decoder(self.form.struct).decode
        return self.form.build(self._decode(line), self.limits)

    def explain(self, error: Exception, line: bytes) -> str:
        if self.form is None:
            known = "; ".join(form.expected for form in self.forms)
            if isinstance(error, Unfit):
                return f"expected {self.kind}, one of: {known}; found {quoted(line)}"
            return explained(error, line, self.kind)
        other = self._fitting(line)
        if isinstance(error, Unfit) and other is not None and other is not self.form:
            return (
                f"expected {self.form.name} as in the lines before, found {other.name};"
                f" one file holds one format, so part them: {quoted(line)}"
            )
        return explained(error, line, self.form.expected)

    def _told(self, line: bytes) -> Form[Item]:
        form = self._fitting(line)
        if form is None:
            msgspec.json.decode(line)  # raises what is wrong with it, if it is no JSON at all
            raise Unfit("unknown keys")
        return form

    def _fitting(self, line: bytes) -> Form[Item] | None:
        if not line.lstrip().startswith((b"{", b"[")):
            return next((form for form in self.forms if form.parse), None) if line.strip() else None
        try:
            record = msgspec.json.decode(line, type=dict[str, Any])
        except (ValueError, RecursionError):
            return None
        return next((form for form in self.forms if form.fits(record)), None)
