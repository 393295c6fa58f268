"""How much a file may ask of us, so that no input can eat the machine; every limit can be raised."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple

from rageval.errors import UsageError
from rageval.text import visible

LARGEST_GRADE = 10**6
_UNITS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30}


class Limits(NamedTuple):
    """Bytes of a line, of a line of JSON and of an id, the largest grade, what a file may unpack to.

    `columns` are those of a table, `entries` those of a zip.
    """

    line: int = 2**20
    record: int = 64 * 2**20
    id: int = 1024
    grade: int = LARGEST_GRADE
    ratio: int = 200
    unpacked: int = 32 * 2**30
    columns: int = 2**18
    entries: int = 2**20

    def changed(self, assignments: tuple[str, ...]) -> Limits:
        """Return the limits after `NAME=VALUE` words, as typed on the command line (`line=4M`)."""
        return self._replace(**assigned(assignments, self._fields))


def assigned(assignments: Iterable[str], names: Collection[str]) -> dict[str, int]:
    """Return the numbers of `NAME=NUMBER` words, as typed on the command line.

    >>> assigned(["line=4M", "id=200"], ["line", "id"])
    {'line': 4194304, 'id': 200}
    """
    found = {}
    for assignment in assignments:
        name, _, value = assignment.partition("=")
        number = value.strip().lower().removesuffix("ib").removesuffix("b")
        unit = number[-1:] if number[-1:] in _UNITS else ""
        digits = number.removesuffix(unit)
        if name not in names or not (digits.isascii() and digits.isdigit() and int(digits)):
            raise UsageError(
                f"--limit {visible(assignment[:80])!r}: expected NAME=NUMBER "
                f"with a NAME of {', '.join(names)}"
            )
        found[name] = int(digits) * _UNITS[unit]
    return found


DEFAULT = Limits()
