"""A repaired copy of a file of answers: line by line, every change told, the input never touched."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rageval.errors import UsageError
from rageval.files.limits import DEFAULT, Limits
from rageval.files.opening import Source
from rageval.files.writing import whole_file
from rageval.validation.findings import FIXED, Finding
from rageval.validation.repair import repaired
from rageval.validation.tracks import Track
from rageval.validation.validating import numbered_lines


def write_repaired(source: Source, out: Path, track: Track, limits: Limits = DEFAULT) -> Iterator[Finding]:
    """Writes the copy while the changes are iterated over; it is in its place after the last of them."""
    if track.bounds is None:
        raise UsageError(f"--fix: nothing of {track.title} can be repaired without inventing something")
    with whole_file(out) as stream:
        for number, line in numbered_lines(source, limits):
            content, changes = repaired(line, track.bounds) if line.strip() else (line, [])
            stream.write(content + b"\n")
            yield from (Finding(number, FIXED, change) for change in changes)
