"""A finding: a remark on a line of a file, which is an error, a warning or a repair; and all of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, overload

import msgspec

from rageval import hooks
from rageval.core.remark import Remark, Scope
from rageval.table import Displayed, frame
from rageval.text import count_noun

if TYPE_CHECKING:
    import pandas

ERROR, WARNING, FIXED = "error", "warning", "fixed"
_FIELDS = ("line", "level", "message", "effect", "source", "code")
_LONGEST = 1000  # characters of a text of a file that a finding keeps


class Validation:
    """The findings of a file, counted as they are iterated over, which goes on where it stopped."""

    def __init__(self, findings: Iterator[Finding], tally: Tally) -> None:
        self._findings, self.tally = findings, tally
        self.errors = self.warnings = 0

    def __iter__(self) -> Iterator[Finding]:
        for finding in self._findings:
            self.errors += finding.level == ERROR
            self.warnings += finding.level == WARNING
            yield finding

    @property
    def summary(self) -> str:
        """The counts in words."""
        return hooks.summarize_findings(self.errors, self.warnings, str(self.tally))


class Tally:
    """How much was looked at."""

    def __init__(self, what: str) -> None:
        self.what, self.count = what, 0

    def __str__(self) -> str:
        return count_noun(self.count, self.what)


@dataclass(frozen=True, repr=False)
class Finding(Remark):
    """A remark on a line of a file: an error, a warning or a repair.

    Its words are made from its code and facts: `message`, and `effect`, its effect on measures, where that is
    known.

    >>> finding = error("unknown_topic", 7, topic="q9").in_file("answers.jsonl")
    >>> print(finding)
    answers.jsonl:7: error: unknown topic 'q9'
    >>> finding.code, finding.about.line, finding.facts["topic"]
    ('unknown_topic', 7, 'q9')
    """

    level: str = ERROR

    __hash__ = Remark.__hash__

    def __reduce__(self) -> tuple[Any, ...]:
        return Finding, (self.code, self.about, dict(self.facts), self.level)

    def __str__(self) -> str:
        return self.text

    @property
    def line(self) -> int:
        """The line; 0 if there is none."""
        return self.about.line or 0

    @property
    def source(self) -> str:
        """The file."""
        return self.about.file or ""

    @property
    def message(self) -> str:
        """The finding in words, without its place."""
        return hooks.finding_message(self)

    @property
    def effect(self) -> str:
        """The effect on measures in words, where it is known."""
        return hooks.finding_effect(self)

    @property
    def text(self) -> str:
        """The finding as a line of text."""
        effect = self.effect
        return f"{self.source}:{self.line}: {self.level}: {self.message}{f'; {effect}' if effect else ''}"

    def in_line(self, line: int) -> Finding:
        """Return the same finding of this line."""
        return replace(self, about=replace(self.about, line=line))

    def in_file(self, name: str) -> Finding:
        """Return the same finding of this file."""
        return replace(self, about=replace(self.about, file=name))

    def of_level(self, level: str) -> Finding:
        """Return the same finding as an error, a warning or a repair."""
        return replace(self, level=level)

    def as_record(self) -> dict[str, Any]:
        """Return the finding as JSON has it."""
        return {**{name: getattr(self, name) for name in _FIELDS}, **super().as_record()}


def error(code: str, line: int | None = None, /, **facts: Any) -> Finding:
    """Return a finding of what is refused; who calls a rule knows the line, and the file."""
    return Finding(code, Scope(line=line), facts)


def warning(code: str, line: int | None = None, /, **facts: Any) -> Finding:
    """Return a finding of what is accepted, and the author should know."""
    return Finding(code, Scope(line=line), facts, WARNING)


def fixed(code: str, line: int | None = None, /, **facts: Any) -> Finding:
    """Return a finding of what was repaired."""
    return Finding(code, Scope(line=line), facts, FIXED)


def excerpt(text: str | bytes) -> str:
    """Return a text of a file as a fact: valid, and its beginning if it is very long.

    >>> excerpt(b"q1"), excerpt("a" * 2000).endswith("a…")
    ('q1', True)
    """
    content = text if isinstance(text, bytes) else text[: _LONGEST + 1].encode("utf-8", "surrogatepass")
    short = content[: 4 * _LONGEST + 1].decode("utf-8", "backslashreplace")
    return short if len(short) <= _LONGEST else short[:_LONGEST] + "…"


def value_facts(value: Any) -> dict[str, Any]:
    """Return the facts on a value of JSON: `value`, a text or the JSON of what is none, and `is_text`.

    What is too large to be written is None.

    >>> value_facts("r"), value_facts(["r"])
    ({'value': 'r', 'is_text': True}, {'value': '["r"]', 'is_text': False})
    """
    if isinstance(value, str):
        return {"value": excerpt(value), "is_text": True}
    try:
        # As JSON, which is what its author wrote, and not as Python has it.
        return {"value": excerpt(msgspec.json.encode(value)), "is_text": False}
    except (OverflowError, RecursionError):
        return {"value": None, "is_text": False}


class Findings(Displayed, Sequence[Finding]):
    """The findings in files, in order; `looked_at` says how much was checked: `3 answers`, `2 files`.

    >>> Findings([warning("empty_answer", 7).in_file("a.jsonl")], "3 answers")
    0 errors and 1 warning in 3 answers
    where      level    finding              effect
    ─────────  ───────  ───────────────────  ──────
    a.jsonl:7  warning  the answer is empty
    """

    _most = 20
    _display = hooks.display_of_findings

    def __init__(self, findings: Iterable[Finding], looked_at: str) -> None:
        self._findings, self.looked_at = tuple(findings), looked_at

    def __len__(self) -> int:
        return len(self._findings)

    def __iter__(self) -> Iterator[Finding]:
        return iter(self._findings)

    @overload
    def __getitem__(self, index: int) -> Finding: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Finding]: ...
    def __getitem__(self, index: Any) -> Any:
        return self._findings[index]

    @property
    def errors(self) -> int:
        """How many of them are errors."""
        return sum(finding.level == ERROR for finding in self)

    @property
    def warnings(self) -> int:
        """How many of them are warnings."""
        return sum(finding.level == WARNING for finding in self)

    @property
    def summary(self) -> str:
        """The counts in words."""
        return hooks.summarize_findings(self.errors, self.warnings, self.looked_at)

    def plot(self) -> Any:
        """Return a figure of matplotlib's: the lines of each file with findings."""
        return hooks.figure_of_findings(self)

    def to_pandas(self) -> pandas.DataFrame:
        """Return a DataFrame with a row a finding: line, level, message, effect, source, code."""
        records = [{name: getattr(finding, name) for name in _FIELDS} for finding in self]
        return frame(records, _FIELDS)
