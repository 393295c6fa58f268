"""The rows of a run or of qrels, a stretch at a time, and what TREC takes of a run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from operator import le
from typing import Any, NamedTuple, TypeVar

from rageval.checking.findings import ERROR, Finding, Tally, Validation, error, excerpt, warning
from rageval.checking.rules import Topics
from rageval.errors import InputError
from rageval.files.jsonl import stretches
from rageval.files.opening import Source, can_read_again, limits_of, name_of
from rageval.files.trec import (
    PLAIN,
    RUN,
    Columns,
    LineForm,
    Reading,
)
from rageval.scoring.runs import begins
from rageval.scoring.sources import read_run


def refusals(error: InputError, name: str) -> Iterator[tuple[int | None, str]]:
    """Yield what a reader said of a file of this name: each line's number, if it named one, and the words.

    >>> from rageval.errors import Place
    >>> list(refusals(InputError(at=Place("run", 7), expected="6 columns"), "run"))
    [(7, 'expected 6 columns')]
    """
    for problem in error.problems:
        place = problem.at
        if place is not None and place.name == name:
            yield place.line, problem.reason
        else:
            yield None, str(problem)


Key = TypeVar("Key")
Lines = Sequence[int]
Last = tuple[int, float] | None  # rank and score of the row before
_LONGEST_RANK = 18  # digits
_DEEPEST = 1000  # what TREC takes a topic
_RANKS = [b"%d" % rank for rank in range(1, _DEEPEST + 1)]


class Problem(NamedTuple):
    """A line that cannot be read, and why."""

    line: int
    text: str


class Stretch(NamedTuple):
    """Rows that stand together: the numbers of their lines, and their columns."""

    lines: Lines
    columns: Columns


class Rows:
    """Reads a file; a line that cannot be read is a `Problem`."""

    def __init__(self, source: Source, kind: LineForm, reading: Reading, expected: str) -> None:
        self.source, self.kind, self.reading, self.expected = source, kind, reading, expected
        self._limits = limits_of(source)
        self.last = 0  # the number of the last line

    def __iter__(self) -> Iterator[Stretch | Problem]:
        reading = self.reading
        for first, text in stretches(self.source, self.expected):
            # The first line decides for all, as it does where the file is scored.
            if reading.tabbed is None:
                tabbed = self.kind.first_is_tabbed(text, reading.comments)
                reading = reading._replace(tabbed=tabbed)
            # A stretch without anything odd is read whole, many times faster than line by line.
            columns = self.kind.ordinary(text, reading, self._limits)
            if columns is None:
                self.last = first + text.count(b"\n") - text.endswith(b"\n")
                numbers: list[int] = []
                rows: list[list[bytes]] = []
                for number, ended in enumerate(text.removesuffix(b"\n").split(b"\n"), first):
                    line = ended.removesuffix(b"\r")
                    if not line.strip(b" \t") or (reading.comments == "skip" and line.startswith(b"#")):
                        continue
                    spans = self.kind.spans(line, bool(reading.tabbed))
                    problem = self.kind.problem(line, spans, reading.comments, self._limits)
                    if problem is None:
                        numbers.append(number)
                        rows.append([line[start:end] for start, end in spans])
                        continue
                    yield from self._numbered(numbers, rows)
                    numbers, rows = [], []
                    yield Problem(number, problem.reason)
                yield from self._numbered(numbers, rows)
            else:
                lines = range(first, first + len(columns[0]))
                self.last = lines[-1]
                yield Stretch(lines, columns)

    def _numbered(self, lines: list[int], rows: list[list[bytes]]) -> Iterator[Stretch]:
        if not rows:
            return
        columns = self.kind.with_numbers(list(zip(*rows, strict=True)), self._limits)
        if columns is not None:
            yield Stretch(lines, columns)


def together(keys: Sequence[Key]) -> Iterator[tuple[Key, slice]]:
    """Yield each key with the slice of the rows that bear it and stand together.

    >>> list(together(["q1", "q1", "q2"]))
    [('q1', slice(0, 2, None)), ('q2', slice(2, 3, None))]
    """
    for begin, end in pairwise([*begins(keys), len(keys)]):
        yield keys[begin], slice(begin, end)


Ranked = tuple[Lines, Sequence[bytes], Sequence[bytes], Sequence[float]]  # line, document, rank, score


def once_each(
    first_lines: dict[bytes, int],
    lines: Lines,
    docs: Sequence[bytes],
    ranks: Sequence[bytes],
    scores: Sequence[float],
) -> tuple[Ranked, list[tuple[bytes, int]]]:
    """Return the rows of a query without documents that were there before, and these with their lines.

    `first_lines` is the line of each document, and learns those of the new ones. What is ranked twice counts
    where it stands first, as with --dedup first: its second score makes no tie and contradicts no rank.
    """
    # The usual case: rows of a query that has none yet, and no document twice.
    if not first_lines:
        first_lines.update(zip(docs, lines, strict=True))
        if len(first_lines) == len(docs):
            return (lines, docs, ranks, scores), []
        first_lines.clear()
    repeats = []
    new = []
    for row in zip(lines, docs, ranks, scores, strict=True):
        if first_lines.setdefault(row[1], row[0]) == row[0]:
            new.append(row)
        else:
            repeats.append((row[1], row[0]))
    kept: Any = tuple(map(list, zip(*new, strict=True))) if new else ([], [], [], [])
    return kept, repeats


def falls(scores: Sequence[float]) -> bool:
    """Return whether no score is above the one before."""
    # Sorting what is in order already is one look at each, in C.
    return scores == sorted(scores, reverse=True)


def contradiction(
    last: Last, lines: Lines, ranks: Sequence[bytes], scores: Sequence[float]
) -> tuple[int | None, Last]:
    """Return the first line whose rank contradicts its score beside the row before, and the last row.

    Ranks that are no numbers say nothing.
    """
    # Most ranks are 1, 2, 3, … above scores that fall.
    if last is None and ranks == _RANKS[: len(ranks)] and falls(scores):
        return None, (len(ranks), scores[-1])
    numbers: list[int] = []
    # `int` of a million digits takes minutes: a file could hold the program up.
    if b"".join(ranks).isdigit() and len(max(ranks, key=len)) <= _LONGEST_RANK:
        numbers = list(map(int, ranks))
    follows = numbers and (last is None or (numbers[0] >= last[0] and scores[0] <= last[1]))
    # Likewise: ranks that rise while scores fall are seen without a loop of Python's.
    if numbers and follows and all(map(le, numbers, numbers[1:])) and falls(scores):
        return None, (numbers[-1], scores[-1])
    conflict = None
    for line, text, score in zip(lines, ranks, scores, strict=True):
        if text.isdigit() and len(text) <= _LONGEST_RANK:
            rank = int(text)
            # The first row is compared with itself, and contradicts nothing.
            before, least = last or (rank, score)
            if conflict is None and ((rank > before and score > least) or (rank < before and score < least)):
                conflict = line
            last = rank, score
    return conflict, last


_EXPECTED = f"lines of 6 columns ({' '.join(RUN.columns)})"


def validate_run(source: Source, topics: Topics | None = None, reading: Reading = PLAIN) -> Validation:
    """Return the findings of a run; memory grows with the topics and the documents of one of them."""
    tally = Tally("row")
    return Validation(_findings_of_run(source, topics, reading, tally), tally)


@dataclass
class _PassingTopic:
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
        (lines, docs, ranks, scores), repeats = once_each(self.docs, lines, docs, ranks, scores)
        if docs:
            conflict, self.last = contradiction(self.last, lines, ranks, scores)
            self.is_contradicted |= conflict is not None
            self.scores.update(scores)
        return [
            error(
                "repeated_document",
                line,
                document=excerpt(doc),
                topic=excerpt(self.name),
                first_line=self.docs[doc],
            )
            for doc, line in repeats
        ]

    def end(self) -> Iterator[Finding]:
        if len(self.docs) > _DEEPEST:
            topic, number = excerpt(self.name), len(self.docs)
            yield warning("too_many_documents", self.line, topic=topic, number=number, limit=_DEEPEST)


@dataclass
class _Book:
    """What is remembered of the whole run."""

    topics: Topics | None
    first: dict[bytes, int] = field(default_factory=dict)
    tag: bytes | None = None
    other_tag: bytes | None = None
    tied: list[_PassingTopic] = field(default_factory=list)
    contradicted: list[_PassingTopic] = field(default_factory=list)
    scattered: int = 0
    now: _PassingTopic | None = None

    def rows(self, lines: Lines, columns: Columns) -> Iterator[Finding]:
        """Take rows; what is found is told line by line."""
        queries, _, docs, ranks, scores, tags = columns
        # The set of a stretch is one look; rows are walked only where tags differ for the first time.
        one_tag = self.other_tag is not None or set(tags) == {self.tag}
        for name, part in together(queries):
            # A topic that another one follows is over, unless it goes on later.
            if self.now is None or self.now.name != name:
                yield from self.close()
                first_line = lines[part.start]
                self.now = _PassingTopic(name, first_line)
                if name in self.first:
                    self.scattered += 1
                    if self.scattered == 1:
                        before = self.first[name]
                        yield warning("scattered_topic", first_line, topic=excerpt(name), first_line=before)
                elif self.topics is not None and name.decode() not in self.topics:
                    yield warning("unknown_topic", first_line, topic=excerpt(name))
                self.first.setdefault(name, first_line)
            findings = []
            # The first tag that is not that of the rows before is a finding.
            for line, tag in () if one_tag else zip(lines[part], tags[part], strict=True):
                self.tag = tag if self.tag is None else self.tag
                if tag != self.tag and self.other_tag is None:
                    self.other_tag = tag
                    expected = excerpt(self.tag)
                    findings.append(warning("other_run_tag", line, tag=excerpt(tag), expected=expected))
            if self.now is not None:
                findings += self.now.rows(lines[part], docs[part], ranks[part], scores[part])
            # Tags and documents are looked at one after the other, but told in the order of lines.
            yield from sorted(findings, key=lambda finding: finding.line)

    def close(self) -> Iterator[Finding]:
        """Take leave of a topic whose rows have passed, and yield what is wrong with it as a whole."""
        if self.now is None:
            return
        yield from self.now.end()
        # Without its documents, so that memory does not grow with the run.
        done = replace(self.now, docs={}, scores=set())
        # Fewer scores than documents: some are equal.
        if len(self.now.scores) < len(self.now.docs):
            self.tied.append(done)
        if self.now.is_contradicted:
            self.contradicted.append(done)
        self.now = None

    def end(self, line: int) -> Iterator[Finding]:
        yield from self.close()
        if self.tied:
            first = self.tied[0]
            yield warning("tied_topics", first.line, number=len(self.tied), topic=excerpt(first.name))
        if self.contradicted:
            first, number = self.contradicted[0], len(self.contradicted)
            yield warning("contradicted_topics", first.line, number=number, topic=excerpt(first.name))
        missing = [topic for topic in self.topics or () if topic.encode() not in self.first]
        if self.topics and self.first and len(missing) == len(self.topics):
            # One that is unknown may be a topic too many; where all are, nothing of the run can be scored.
            topic, expected = excerpt(next(iter(self.first))), excerpt(missing[0])
            yield error("no_known_topic", line, number=len(self.first), topic=topic, expected=expected)
        elif missing:
            topic = excerpt(missing[0])
            yield warning("topics_without_documents", line, number=len(missing), topic=topic)


def _findings_of_run(
    source: Source, topics: Topics | None, reading: Reading, tally: Tally
) -> Iterator[Finding]:
    book = _Book(topics)
    errors = 0
    rows = Rows(source, RUN, reading, _EXPECTED)
    for stretch in rows:
        if isinstance(stretch, Problem):
            tally.count, errors = tally.count + 1, errors + 1
            yield error("unreadable_line", stretch.line, reason=stretch.text)
            continue
        tally.count += len(stretch.lines)
        for finding in book.rows(*stretch):
            errors += finding.level == ERROR
            yield finding
    yield from book.end(rows.last)
    # A topic that goes on later was forgotten in between, so doubles across its parts were not seen.
    if not book.scattered or errors:
        return
    if not can_read_again(source):
        yield warning("unchecked_duplicates", rows.last)
        return
    try:
        read_run(source, reading=reading)
    except InputError as problem:
        for line, text in refusals(problem, name_of(source)):
            yield error("unreadable_line", rows.last if line is None else line, reason=text)
