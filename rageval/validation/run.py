"""TREC runs: rows that read, documents once a topic, and what a run may do but its author should know."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

from rageval.errors import InputError
from rageval.files.lines import RUN, quoted
from rageval.files.opening import Source, can_read_again, name_of
from rageval.files.trec import PLAIN, Columns, Reading
from rageval.sources import read_run
from rageval.validation.findings import ERROR, Finding, counted, error, warning
from rageval.validation.rows import Last, Lines, Problem, Rows, contradiction
from rageval.validation.validating import Tally, Validation
from rageval.validation.watches import Topics

DEEPEST = 1000  # what TREC takes a topic
EXPECTED = f"lines of 6 columns ({' '.join(RUN.columns)})"


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
    last: Last = None
    is_contradicted: bool = False

    def rows(
        self, lines: Lines, docs: Sequence[bytes], ranks: Sequence[bytes], scores: Sequence[float]
    ) -> list[Finding]:
        """Take rows that stand together; documents ranked twice are findings."""
        conflict, self.last = contradiction(self.last, lines, ranks, scores)
        self.is_contradicted |= conflict is not None
        self.scores.update(scores)
        fresh = dict(zip(docs, lines, strict=True))
        if len(fresh) == len(docs) and self.docs.keys().isdisjoint(fresh):
            self.docs.update(fresh)
            return []
        again = []
        for doc, line in zip(docs, lines, strict=True):
            first = self.docs.setdefault(doc, line)
            if first != line:
                what = f"document {quoted(doc)} is ranked twice for topic {quoted(self.name)}"
                again.append(Finding(line, *error(f"{what}, first in line {first}")))
        return again

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

    def rows(self, lines: Lines, columns: Columns) -> Iterator[Finding]:
        """Take rows; what is found is told line by line."""
        queries, _, docs, ranks, scores, tags = columns
        one_tag = self.other_tag is not None or set(tags) == {self.tag}
        begin = 0
        for name, same in groupby(queries):
            end = begin + len(list(same))
            part = slice(begin, end)
            if self.now is None or self.now.name != name:
                yield from self.close()
                yield from self._open(lines[begin], name)
            found = [] if one_tag else self._tags(lines[part], tags[part])
            if self.now is not None:
                found += self.now.rows(lines[part], docs[part], ranks[part], scores[part])
            yield from sorted(found, key=lambda finding: finding.line)
            begin = end

    def _tags(self, lines: Lines, tags: Sequence[bytes]) -> list[Finding]:
        """Take the tags of rows; the first that is not that of the rows before is a finding."""
        self.tag = tags[0] if self.tag is None else self.tag
        for line, tag in zip(lines, tags, strict=True):
            if tag != self.tag and self.other_tag is None:
                self.other_tag = tag
                message = f"run tag {quoted(tag)}, expected {quoted(self.tag)} as in the rows before"
                return [Finding(line, *warning(message))]
        return []

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
    errors = 0
    rows = Rows(source, RUN, reading, EXPECTED)
    for stretch in rows:
        if isinstance(stretch, Problem):
            tally.count, errors = tally.count + 1, errors + 1
            yield Finding(stretch.line, *error(stretch.text))
            continue
        tally.count += len(stretch.lines)
        for finding in book.rows(*stretch):
            errors += finding.level == ERROR
            yield finding
    yield from book.end(rows.last)
    if book.scattered and not errors:
        yield from _duplicates(source, reading, rows.last)


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
