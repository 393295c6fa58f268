"""Taking over replies from elsewhere: nothing is overwritten, and whatever was not taken is said."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Protocol

from rageval.judges.stored import Stored, from_line

ADDED, SAME, CONFLICT = "added", "same", "conflict"
_AT_ONCE = 500  # replies a transaction


@dataclass(slots=True)
class Imported:
    """What has become of the replies: taken, here already, different from the one here, or unreadable."""

    added: int = 0
    same: int = 0
    conflicts: list[str] = field(default_factory=list)  # keys
    damaged: list[str] = field(default_factory=list)  # where, and what is wrong
    torn: bool = False  # the last line was cut off, as a copy that was interrupted leaves it

    def count(self, key: str, outcome: str) -> None:
        """One more reply."""
        self.added += outcome == ADDED
        self.same += outcome == SAME
        if outcome == CONFLICT:
            self.conflicts.append(key)


class Taker(Protocol):
    """A store, as far as imports know it."""

    def take_over(self, replies: Iterable[Stored]) -> Iterable[str]:
        """Keep what is new, in one transaction; what has become of each."""
        ...


def import_rows(store: Taker, rows: Iterable[Stored], found: Imported | None = None) -> Imported:
    """Hand replies to a store, several a transaction."""
    found = found or Imported()
    remaining = iter(rows)
    while some := list(islice(remaining, _AT_ONCE)):
        for stored, outcome in zip(some, store.take_over(some), strict=True):
            found.count(stored.key, outcome)
    return found


def import_lines(store: Taker, lines: Iterable[str]) -> Imported:
    """Hand exported lines to a store; a line that cannot be read is reported and left out."""
    found = Imported()
    return import_rows(store, _read(lines, found), found)


def _read(lines: Iterable[str], found: Imported) -> Iterator[Stored]:
    trouble = None  # of the line before: only when another follows was it not the last one
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        if trouble:
            found.damaged.append(trouble)
        trouble = None
        try:
            yield from_line(line)
        except (ValueError, RecursionError) as error:
            trouble = f"line {number}: {error}"
            cut = not line.rstrip().endswith("}")
    if trouble and cut:
        found.torn = True
    elif trouble:
        found.damaged.append(trouble)
