"""Rules on all records together: each watches them pass and remembers little."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from rageval.validation.findings import (
    ERROR,
    MISSING,
    WARNING,
    Path,
    Record,
    Remark,
    counted,
    error,
    id_at,
    is_number,
    shown,
    value_at,
    warning,
)
from rageval.validation.sentences import citations_of

Topics = Mapping[str, str]
_LISTED = 10


class Watch(Protocol):
    """Sees every record with its line, and has a last word."""

    def see(self, line: int, record: Record) -> Iterator[Remark]:
        """What is wrong with this record, seen with those before."""

    def end(self) -> Iterator[Remark]:
        """What is wrong with all of them."""


@dataclass
class OneAnswerATopic:
    """Every topic is a known one and is answered once; `text` is where a record repeats the topic's text."""

    topic: Path
    text: Path
    topics: Topics | None
    expected: int | None
    level: str = WARNING
    first: dict[str, int] = field(default_factory=dict)

    def see(self, line: int, record: Record) -> Iterator[Remark]:
        topic = id_at(record, self.topic)
        if topic is None:
            return
        if self.topics is not None and topic not in self.topics:
            yield error(f"unknown topic {shown(topic)}")
        elif self.first.setdefault(topic, line) != line:
            yield error(f"a second answer to topic {shown(topic)}, the first is in line {self.first[topic]}")
        elif self.topics is not None:
            yield from self._text(self.topics[topic], record)

    def _text(self, expected: str, record: Record) -> Iterator[Remark]:
        found = value_at(record, self.text)
        if isinstance(found, str) and found.strip() and found.strip() != expected.strip():
            name = ".".join(self.text)
            yield Remark(self.level, f"`{name}` is not the text of the topic: {shown(found)}")

    def end(self) -> Iterator[Remark]:
        if self.topics is None:
            if self.expected is not None and len(self.first) != self.expected:
                yield warning(f"answers to {counted(len(self.first), 'topic')}, expected {self.expected}")
            return
        missing = [topic for topic in self.topics if topic not in self.first]
        if missing:
            listed = ", ".join(map(shown, missing[:_LISTED])) + (", …" if len(missing) > _LISTED else "")
            yield error(f"no answer to {len(missing):,} of {len(self.topics):,} topics: {listed}")


@dataclass
class SameEverywhere:
    """A field that says the same in every record of a run."""

    path: Path
    level: str = ERROR
    value: Any = MISSING
    line: int = 0

    def see(self, line: int, record: Record) -> Iterator[Remark]:
        value = value_at(record, self.path)
        if value is MISSING:
            return
        if self.value is MISSING:
            self.value, self.line = value, line
        elif value != self.value:
            name = ".".join(self.path)
            yield Remark(
                self.level,
                f"`{name}` is {shown(value)}, expected {shown(self.value)} as in line {self.line}",
            )

    def end(self) -> Iterator[Remark]:
        return iter(())


@dataclass
class OneWayToCite:
    """A file cites by position or by id; the tracks' own validators take one of the two."""

    ids: bool | None = None
    line: int = 0
    said: bool = False

    def see(self, line: int, record: Record) -> Iterator[Remark]:
        for _, cited in citations_of(record):
            for citation in cited:
                if not is_number(citation) and not isinstance(citation, str):
                    continue
                is_id = isinstance(citation, str)
                if self.ids is None:
                    self.ids, self.line = is_id, line
                elif is_id != self.ids and not self.said:
                    self.said = True
                    before, now = ("ids", "positions") if self.ids else ("positions", "ids")
                    yield warning(f"cites by {now}, line {self.line} by {before}; expected one way in a file")

    def end(self) -> Iterator[Remark]:
        return iter(())


Watches = Callable[[Topics | None], tuple[Watch, ...]]
