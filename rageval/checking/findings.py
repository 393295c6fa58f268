"""A finding: what a check says of a line of a file; and all of them, to look at."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, overload

from rageval import hooks
from rageval.table import Column, Displayed, Table, frame

if TYPE_CHECKING:
    import pandas


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
        return _summed_up(self.errors, self.warnings, str(self.tally))


class Tally:
    """How much was looked at."""

    def __init__(self, what: str) -> None:
        self.what, self.count = what, 0

    def __str__(self) -> str:
        return counted(self.count, self.what)


ERROR, WARNING, FIXED = "error", "warning", "fixed"


def counted(count: int, what: str) -> str:
    """Return the number and its noun.

    >>> counted(1, "row"), counted(2000, "row")
    ('1 row', '2,000 rows')
    """
    return f"{count:,} {what}{'' if count == 1 else 's'}"


class Finding(NamedTuple):
    """An error, a warning or a repair in a line of a file.

    `effect` is its effect on measures, where that is known.
    """

    line: int
    level: str
    message: str
    effect: str = ""
    source: str = ""

    @property
    def text(self) -> str:
        """The finding as a line of text."""
        effect = f"; {self.effect}" if self.effect else ""
        return f"{self.source}:{self.line}: {self.level}: {self.message}{effect}"


class Findings(Displayed, Sequence[Finding]):
    """The findings in files, in order; `looked_at` says how much was checked: `3 answers`, `2 files`.

    >>> Findings([Finding(7, "warning", "empty answer", source="a.jsonl")], "3 answers")
    0 errors and 1 warning in 3 answers
    where      level    finding       effect
    ─────────  ───────  ────────────  ──────
    a.jsonl:7  warning  empty answer
    """

    _most = 20

    def __init__(self, found: Iterable[Finding], looked_at: str) -> None:
        self._found, self.looked_at = tuple(found), looked_at

    def __len__(self) -> int:
        return len(self._found)

    def __iter__(self) -> Iterator[Finding]:
        return iter(self._found)

    @overload
    def __getitem__(self, at: int) -> Finding: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Finding]: ...
    def __getitem__(self, at: Any) -> Any:
        return self._found[at]

    @property
    def errors(self) -> int:
        """How many of them are errors."""
        return sum(each.level == ERROR for each in self)

    @property
    def warnings(self) -> int:
        """How many of them are warnings."""
        return sum(each.level == WARNING for each in self)

    @property
    def summary(self) -> str:
        """The counts in words."""
        return _summed_up(self.errors, self.warnings, self.looked_at)

    def plot(self) -> Any:
        """Return a figure of matplotlib's: the lines of each file with findings."""
        return hooks.figure_of_findings(self)

    def _table(self) -> Table:
        columns = [Column(name) for name in ("where", "level", "finding", "effect")]
        rows = [[f"{each.source}:{each.line}", each.level, each.message, each.effect] for each in self]
        return Table(columns, rows, 4, self.summary)

    def _records(self) -> list[dict[str, Any]]:
        return [each._asdict() for each in self]

    def to_pandas(self) -> pandas.DataFrame:
        """Return a DataFrame with a row a finding: line, level, message, effect, source."""
        return frame(self._records(), Finding._fields)


def _summed_up(errors: int, warnings: int, looked_at: str) -> str:
    """Return in words how much was found in how much.

    >>> _summed_up(0, 0, "3 rows"), _summed_up(2, 0, "1 file")
    ('3 rows, fine', '2 errors and 0 warnings in 1 file')
    """
    if not errors and not warnings:
        return f"{looked_at}, fine"
    return f"{counted(errors, 'error')} and {counted(warnings, 'warning')} in {looked_at}"
