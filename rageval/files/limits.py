"""How much a file may ask of us, so that no input can eat the machine; every limit can be raised."""

from __future__ import annotations

from typing import NamedTuple

from rageval.errors import UsageError

LARGEST_GRADE = 10**6
_UNITS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30}


class Limits(NamedTuple):
    """Bytes of a line, of a line of JSON and of an id, the largest grade, what a file may unpack to."""

    line: int = 2**20
    record: int = 64 * 2**20
    id: int = 1024
    grade: int = LARGEST_GRADE
    ratio: int = 200
    unpacked: int = 32 * 2**30

    def for_records(self) -> Limits:
        """Return the limits for JSON lines, which hold whole answers and web pages."""
        return self._replace(line=self.record)

    def changed(self, assignments: tuple[str, ...]) -> Limits:
        """Return the limits after `NAME=VALUE` words, as typed on the command line (`line=4M`)."""
        limits = self
        for assignment in assignments:
            name, _, value = assignment.partition("=")
            number = value.strip().lower().removesuffix("ib").removesuffix("b")
            unit = number[-1:] if number[-1:] in "kmg" else ""
            digits = number.removesuffix(unit)
            if name not in self._fields or not digits.isascii() or not digits.isdigit():
                raise UsageError(
                    f"--limit {assignment!r}: expected NAME=NUMBER with a NAME of {', '.join(self._fields)}"
                )
            limits = limits._replace(**{name: int(digits) * _UNITS[unit]})
        return limits


DEFAULT = Limits()
