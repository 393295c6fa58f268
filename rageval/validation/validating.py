"""A file against the rules of its track, line by line; a broken line is a finding like any other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from rageval.files.answers import FORMS
from rageval.files.jsonl import explained, stretches
from rageval.files.keys import REPEATED, repeated_keys
from rageval.files.limits import DEFAULT, Limits
from rageval.files.opening import Source
from rageval.validation.findings import ERROR, WARNING, Finding, Record, counted, error, shown
from rageval.validation.tracks import Track
from rageval.validation.watches import Topics

Lines = Iterator[tuple[int, bytes]]


class Validation:
    """The findings of a file, counted as they are iterated over, which goes on where it stopped."""

    def __init__(self, found: Iterator[Finding], tally: Tally) -> None:
        self._found, self.tally = found, tally
        self.errors = self.warnings = 0

    def __iter__(self) -> Iterator[Finding]:
        for finding in self._found:
            self.errors += finding.level == ERROR
            self.warnings += finding.level == WARNING
            yield finding

    @property
    def summary(self) -> str:
        """The counts in words."""
        if not self.errors and not self.warnings:
            return f"{self.tally}, fine"
        return f"{counted(self.errors, 'error')} and {counted(self.warnings, 'warning')} in {self.tally}"


class Tally:
    """How much was looked at."""

    def __init__(self, what: str) -> None:
        self.what, self.count = what, 0

    def __str__(self) -> str:
        return counted(self.count, self.what)


def validate(
    source: Source, track: Track, topics: Topics | None = None, limits: Limits = DEFAULT
) -> Validation:
    """The findings of a file of answers; memory grows with the topics, not with the file."""
    tally = Tally("answer")
    return Validation(_findings(source, track, topics, limits, tally), tally)


def numbered_lines(source: Source, limits: Limits, expected: str = "JSON lines") -> Lines:
    """(number, line without its end) of every line."""
    for first, text in stretches(source, limits, expected):
        lines = text.split(b"\n")
        if not lines[-1]:
            lines.pop()
        yield from enumerate(lines, first)


def _findings(
    source: Source, track: Track, topics: Topics | None, limits: Limits, tally: Tally
) -> Iterator[Finding]:
    watches = track.watches(topics)
    number = 0
    for number, line in numbered_lines(source, limits):
        if not line.strip():
            continue
        tally.count += 1
        record = _record(line, track)
        if isinstance(record, str):
            yield Finding(number, *error(record))
            continue
        for rule in track.rules:
            yield from (Finding(number, *remark) for remark in rule(record))
        for watch in watches:
            yield from (Finding(number, *remark) for remark in watch.see(number, record))
    for watch in watches:
        yield from (Finding(number, *remark) for remark in watch.end())


def _record(line: bytes, track: Track) -> Record | str:
    """The record, or what is wrong with the line."""
    try:
        record: Any = msgspec.json.decode(line)
    except (ValueError, RecursionError) as error:
        return explained(error, line, track.title)
    for _, key in repeated_keys(line):
        return REPEATED.format(key)
    if not isinstance(record, dict):
        return f"expected {track.title}, one JSON object a line, found {shown(record)}"
    like = "rag25" if track.name == "rag26" else track.name  # what 2026 has more, its rules ask for
    if not FORMS[like].fits(record):
        other = next((form.name for form in FORMS.values() if form.fits(record)), None)
        if other:
            return f"expected {track.title}, found {other}; validate them with a --track of their own"
    return record
