"""The rows of a run or of qrels, a stretch at a time; a line that is wrong is told, and the others go on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import ge, le
from typing import Any, NamedTuple, TypeVar

from rageval.checking.findings import ERROR, WARNING, Finding
from rageval.errors import InputError
from rageval.files.jsonl import stretches
from rageval.files.opening import Source, limits_of, name_of
from rageval.files.trec import (
    Columns,
    LineForm,
    Reading,
)
from rageval.text import visible

_Line = int


def refusals(error: InputError, name: str) -> Iterator[tuple[int | None, str]]:
    """Yield what a reader said of a file of this name: each line's number, if it named one, and the words.

    >>> list(refusals(InputError("run:7: expected 6 columns"), "run"))
    [(7, 'expected 6 columns')]
    """
    for message in str(error).split("\n"):
        line, _, text = message.removeprefix(f"{name}:").partition(": ")
        yield (int(line), text) if line.isdigit() else (None, message)


@dataclass(slots=True)
class Known:
    """What a file holds, each thing with the line where it stands first.

    `docs` are the documents of each query, of a run or of qrels, and `ranked` those of a run, best first;
    `nuggets` pairs of a query and a nugget, with `texts` where these are known.
    """

    source: str
    kind: str
    queries: dict[str, _Line] = field(default_factory=dict)
    documents: dict[str, _Line] = field(default_factory=dict)
    docs: dict[str, dict[bytes, _Line]] = field(default_factory=dict)
    ranked: dict[str, list[bytes]] = field(default_factory=dict)
    nuggets: dict[tuple[str, str], _Line] = field(default_factory=dict)
    texts: dict[tuple[str, str], str] = field(default_factory=dict)

    def every_document(self) -> dict[str, _Line]:
        """Return the documents whatever the query, which are many and seldom asked for."""
        # By line, so that the first of a document is found whichever query it was retrieved for.
        lines = sorted((line, doc) for docs in self.docs.values() for doc, line in docs.items())
        found = dict(self.documents)
        for line, doc in lines:
            found.setdefault(doc.decode("utf-8", "surrogatepass"), line)
        return found


def once(
    source: str,
    places: Mapping[str, _Line] | Iterable[tuple[str, _Line]],
    level: str,
    message: str,
    effect: str,
) -> Iterator[Finding]:
    """Yield one finding for everything of a kind: `{n}` of them, the first at its line and by its `{name}`.

    >>> next(once("run", {"q2": 7, "q9": 8}, WARNING, "odd queries: {n}, first {name}", "no effect")).text
    "run:7: warning: odd queries: 2, first 'q2'; no effect"
    """
    found = list(places.items() if isinstance(places, Mapping) else places)
    if found:
        name, line = found[0]
        text = message.replace("{n}", f"{len(found):,}").replace("{name}", named(name))
        yield Finding(line, level, text, effect, source)


def in_query(name: str, query: str) -> str:
    """Return the name, for `once`, of something that is known within a query."""
    return f"{name}' of query '{query}"


def named(name: str) -> str:
    """Return an id as a message may show it."""
    return f"'{visible(name)[:80]}'"


Key = TypeVar("Key")
Lines = Sequence[int]
Last = tuple[int, float] | None  # rank and score of the row before
_LONGEST_RANK = 18  # digits


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
            self.last = first + text.count(b"\n") - text.endswith(b"\n")
            # A stretch without anything odd is read whole, many times faster than line by line.
            columns = self.kind.ordinary(text, reading, self._limits)
            if columns is None:
                yield from self._one_by_one(first, text, reading)
            else:
                yield Stretch(range(first, first + len(columns[0])), columns)

    def _one_by_one(self, first: int, text: bytes, reading: Reading) -> Iterator[Stretch | Problem]:
        """Yield the rows of a stretch that holds something unusual, up to each line that is wrong."""
        lines: list[int] = []
        rows: list[list[bytes]] = []
        for number, ended in enumerate(text.removesuffix(b"\n").split(b"\n"), first):
            line = ended.removesuffix(b"\r")
            if not line.strip(b" \t") or (reading.comments == "skip" and line.startswith(b"#")):
                continue
            spans = self.kind.spans(line, bool(reading.tabbed))
            problem = self.kind.problem(line, spans, reading.comments, self._limits)
            if problem is None:
                lines.append(number)
                rows.append([line[start:end] for start, end in spans])
                continue
            yield from self._numbered(lines, rows)
            lines, rows = [], []
            yield Problem(number, problem)
        yield from self._numbered(lines, rows)

    def _numbered(self, lines: list[int], rows: list[list[bytes]]) -> Iterator[Stretch]:
        if not rows:
            return
        columns = self.kind.with_numbers(list(zip(*rows, strict=True)), self._limits)
        if columns is not None:
            yield Stretch(lines, columns)


def together(keys: Iterable[Key]) -> Iterator[tuple[Key, slice]]:
    """Yield each key with the slice of the rows that bear it and stand together.

    >>> list(together(["q1", "q1", "q2"]))
    [('q1', slice(0, 2, None)), ('q2', slice(2, 3, None))]
    """
    begin = 0
    for key, same in groupby(keys):
        end = begin + len(list(same))
        yield key, slice(begin, end)
        begin = end


Ranked = tuple[Lines, Sequence[bytes], Sequence[bytes], Sequence[float]]  # line, document, rank, score


def once_each(
    known: dict[bytes, int],
    lines: Lines,
    docs: Sequence[bytes],
    ranks: Sequence[bytes],
    scores: Sequence[float],
) -> tuple[Ranked, list[tuple[bytes, int]]]:
    """Return the rows of a query without documents that were there before, and these with their lines.

    `known` is the line of each document, and learns those of the new ones. What is ranked twice counts
    where it stands first, as with --dedup first: its second score makes no tie and contradicts no rank.
    """
    fresh = dict(zip(docs, lines, strict=True))
    # The usual case costs two set operations, and no loop over rows.
    if len(fresh) == len(docs) and known.keys().isdisjoint(fresh):
        known.update(fresh)
        return (lines, docs, ranks, scores), []
    again = []
    new = []
    for row in zip(lines, docs, ranks, scores, strict=True):
        if known.setdefault(row[1], row[0]) == row[0]:
            new.append(row)
        else:
            again.append((row[1], row[0]))
    kept: Any = tuple(map(list, zip(*new, strict=True))) if new else ([], [], [], [])
    return kept, again


def contradiction(
    last: Last, lines: Lines, ranks: Sequence[bytes], scores: Sequence[float]
) -> tuple[int | None, Last]:
    """Return the first line whose rank contradicts its score beside the row before, and the last row.

    Ranks that are no numbers say nothing.
    """
    numbers = _numbers(ranks)
    follows = numbers and (last is None or (numbers[0] >= last[0] and scores[0] <= last[1]))
    # Likewise: ranks that rise while scores fall are seen without a loop of Python's.
    if numbers and follows and all(map(le, numbers, numbers[1:])) and all(map(ge, scores, scores[1:])):
        return None, (numbers[-1], scores[-1])
    found = None
    for line, rank, score in zip(lines, map(_rank, ranks), scores, strict=True):
        if rank is not None:
            # The first row is compared with itself, and contradicts nothing.
            before, least = last or (rank, score)
            if found is None and ((rank > before and score > least) or (rank < before and score < least)):
                found = line
            last = rank, score
    return found, last


def _numbers(ranks: Sequence[bytes]) -> list[int] | None:
    # `int` of a million digits takes minutes: a file could hold the program up.
    if b"".join(ranks).isdigit() and len(max(ranks, key=len)) <= _LONGEST_RANK:
        return list(map(int, ranks))
    return None


def _rank(text: bytes) -> int | None:
    return int(text) if text.isdigit() and len(text) <= _LONGEST_RANK else None


_SHOWN = 10


class DiagnosedRows:
    """Reads a file; after iterating, `findings` holds what is wrong with its lines and ids."""

    def __init__(self, source: str, kind: LineForm, reading: Reading) -> None:
        self.source, self.kind = name_of(source), kind
        self.findings: list[Finding] = []
        self._rows = Rows(source, kind, reading, "lines of columns")

    def __iter__(self) -> Iterator[Stretch]:
        bad = 0
        spaced: dict[str, int] = {}
        for stretch in self._rows:
            if isinstance(stretch, Problem):
                bad += 1
                # A file in a wrong form is wrong in every line; ten tell it.
                if bad <= _SHOWN:
                    effect = "nothing is scored: rageval refuses the file, others read other columns"
                    self.findings.append(Finding(stretch.line, ERROR, stretch.text, effect, self.source))
                continue
            ids = [stretch.columns[at] for at in self.kind.ids]
            # One search in all ids together finds nothing, nearly always.
            if any(b" " in b"".join(column) for column in ids):
                for line, *names in zip(stretch.lines, *ids, strict=True):
                    for name in names:
                        if b" " in name:
                            spaced.setdefault(name.decode(), line)
            yield stretch
        if bad > _SHOWN:
            more = f"… and {bad - _SHOWN:,} more such lines"
            self.findings.append(Finding(1, ERROR, more, "nothing is scored", self.source))
        self.findings += once(
            self.source,
            spaced,
            WARNING,
            "ids with a space: {n}, first {name}",
            "rageval parts columns at tabs here; trec_eval and ir_measures part them at the space, and every"
            " measure is of other documents",
        )
