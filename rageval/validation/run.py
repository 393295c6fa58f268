"""TREC runs: rows that read, documents once a topic, and what a run may do but its author should know."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from rageval.errors import InputError
from rageval.files.lines import RUN, is_tabbed, problem_in, quoted, spans_of
from rageval.files.opening import Source, can_read_again, name_of
from rageval.files.trec import PLAIN, Reading
from rageval.sources import read_run
from rageval.validation.findings import ERROR, Finding, Remark, counted, error, warning
from rageval.validation.validating import Tally, Validation, numbered_lines
from rageval.validation.watches import Topics

DEEPEST = 1000  # what TREC takes a topic
EXPECTED = f"lines of 6 columns ({' '.join(RUN.columns)})"
Row = list[bytes]


def validate_run(source: Source, topics: Topics | None = None, reading: Reading = PLAIN) -> Validation:
    """The findings of a run; memory grows with the topics and the documents of one of them."""
    tally = Tally("row")
    return Validation(_findings(source, topics, reading, tally), tally)


@dataclass
class _Topic:
    """What is remembered of the topic whose rows are passing."""

    name: bytes
    line: int
    docs: dict[bytes, int] = field(default_factory=dict)
    scores: set[float] = field(default_factory=set)
    last: tuple[int, float] | None = None
    is_contradicted: bool = False

    def row(self, line: int, row: Row) -> Iterator[Remark]:
        first = self.docs.setdefault(row[2], line)
        if first != line:
            yield error(
                f"document {quoted(row[2])} is ranked twice for topic {quoted(self.name)},"
                f" first in line {first}"
            )
        rank, score = _rank(row[3]), float(row[4])
        if rank is not None:
            before, least = self.last or (rank, score)
            self.is_contradicted |= (rank > before and score > least) or (rank < before and score < least)
            self.last = rank, score
        self.scores.add(score)

    def end(self) -> Iterator[Finding]:
        if len(self.docs) > DEEPEST:
            message = f"{len(self.docs):,} documents for topic {quoted(self.name)}, TREC takes {DEEPEST:,}"
            yield Finding(self.line, *warning(message))


@dataclass
class _Book:
    """What is remembered of the whole run."""

    topics: Topics | None
    first: dict[bytes, int] = field(default_factory=dict)
    tag: bytes | None = None
    other_tag: bytes | None = None
    tied: list[_Topic] = field(default_factory=list)
    contradicted: list[_Topic] = field(default_factory=list)
    scattered: int = 0
    now: _Topic | None = None

    def row(self, line: int, row: Row) -> Iterator[Finding]:
        if self.now is None or self.now.name != row[0]:
            yield from self.close()
            yield from self._open(line, row[0])
        if self.tag is None:
            self.tag = row[5]
        elif row[5] != self.tag and self.other_tag is None:
            self.other_tag = row[5]
            message = f"run tag {quoted(row[5])}, expected {quoted(self.tag)} as in the rows before"
            yield Finding(line, *warning(message))
        if self.now is not None:
            yield from (Finding(line, *remark) for remark in self.now.row(line, row))

    def _open(self, line: int, name: bytes) -> Iterator[Finding]:
        self.now = _Topic(name, line)
        if name in self.first:
            self.scattered += 1
            if self.scattered == 1:
                begun = f"begun in line {self.first[name]}"
                yield Finding(
                    line, *warning(f"topic {quoted(name)} goes on, {begun}; expected its rows together")
                )
        elif self.topics is not None and name.decode() not in self.topics:
            yield Finding(line, *warning(f"unknown topic {quoted(name)}"))
        self.first.setdefault(name, line)

    def close(self) -> Iterator[Finding]:
        """The rows of a topic have passed; of tied and contradicted topics only the first is kept."""
        if self.now is None:
            return
        yield from self.now.end()
        done = replace(self.now, docs={}, scores=set())
        if len(self.now.scores) < len(self.now.docs):
            self.tied.append(done)
        if self.now.is_contradicted:
            self.contradicted.append(done)
        self.now = None

    def end(self, line: int) -> Iterator[Finding]:
        yield from self.close()
        for found, what in (
            (self.tied, "equal scores in {}; the order of tied documents is the evaluator's"),
            (self.contradicted, "the rank column contradicts the scores in {}; scores count"),
        ):
            if found:
                topics = f"{counted(len(found), 'topic')}, first in {quoted(found[0].name)}"
                yield Finding(found[0].line, *warning(what.format(topics)))
        missing = [topic for topic in self.topics or () if topic.encode() not in self.first]
        if missing:
            message = (
                f"no documents for {counted(len(missing), 'topic')}, such as {quoted(missing[0].encode())}"
            )
            yield Finding(line, *warning(message))


def _findings(source: Source, topics: Topics | None, reading: Reading, tally: Tally) -> Iterator[Finding]:
    book = _Book(topics)
    tabbed: bool | None = None
    number = errors = 0
    for number, ended in numbered_lines(source, reading.limits, EXPECTED):
        line = ended.removesuffix(b"\r")
        if not line.strip(b" \t") or (reading.comments == "skip" and line.startswith(b"#")):
            continue
        tabbed = is_tabbed(line, RUN.width) if tabbed is None else tabbed
        tally.count += 1
        spans = spans_of(line, RUN, tabbed)
        problem = problem_in(line, spans, RUN, reading.comments, reading.limits)
        if problem:
            errors += 1
            yield Finding(number, *error(problem))
        else:
            for finding in book.row(number, [line[start:end] for start, end in spans]):
                errors += finding.level == ERROR
                yield finding
    yield from book.end(number)
    if book.scattered and not errors:
        yield from _duplicates(source, reading, number)


def _duplicates(source: Source, reading: Reading, last: int) -> Iterator[Finding]:
    """A run whose topics are scattered is read once more, whole, to find documents ranked twice."""
    if not can_read_again(source):
        yield Finding(last, *warning("scattered topics of a stream: not looked for documents ranked twice"))
        return
    try:
        read_run(source, reading=reading)
    except InputError as problem:
        for message in str(problem).split("\n"):
            line, _, text = message.removeprefix(f"{name_of(source)}:").partition(": ")
            yield Finding(*(int(line), *error(text)) if line.isdigit() else (last, *error(message)))


def _rank(text: bytes) -> int | None:
    return int(text) if text.isdigit() and len(text) < 19 else None
