"""Runs: rows that read, documents once a query, ties, ranks, depth; for `validate` and for `doctor`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from rageval.checking._rows import (
    DiagnosedRows,
    Known,
    Last,
    Lines,
    Problem,
    Rows,
    contradiction,
    in_query,
    named,
    once,
    once_each,
    refusals,
    together,
)
from rageval.checking._rules import Topics, error, warning
from rageval.checking.findings import ERROR, WARNING, Finding, Tally, Validation, counted
from rageval.errors import InputError
from rageval.files.opening import Source, can_read_again, name_of, quoted
from rageval.files.trec import PLAIN, RUN, Columns, Reading
from rageval.scoring.sources import read_run

_DEEPEST = 1000  # what TREC takes a topic
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
        (lines, docs, ranks, scores), again = once_each(self.docs, lines, docs, ranks, scores)
        if docs:
            conflict, self.last = contradiction(self.last, lines, ranks, scores)
            self.is_contradicted |= conflict is not None
            self.scores.update(scores)
        found = []
        for doc, line in again:
            what = f"document {quoted(doc)} is ranked twice for topic {quoted(self.name)}"
            found.append(Finding(line, *error(f"{what}, first in line {self.docs[doc]}")))
        return found

    def end(self) -> Iterator[Finding]:
        if len(self.docs) > _DEEPEST:
            message = f"{len(self.docs):,} documents for topic {quoted(self.name)}, TREC takes {_DEEPEST:,}"
            yield Finding(self.line, *warning(message))


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
            if self.now is None or self.now.name != name:
                yield from self.close()
                yield from self._open(lines[part.start], name)
            found = [] if one_tag else self._tags(lines[part], tags[part])
            if self.now is not None:
                found += self.now.rows(lines[part], docs[part], ranks[part], scores[part])
            # Tags and documents are looked at one after the other, but told in the order of lines.
            yield from sorted(found, key=lambda finding: finding.line)

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
        self.now = _PassingTopic(name, line)
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
        for found, what in (
            (self.tied, "equal scores in {}; the order of tied documents is the evaluator's"),
            (self.contradicted, "the rank column contradicts the scores in {}; scores count"),
        ):
            if found:
                topics = f"{counted(len(found), 'topic')}, first in {quoted(found[0].name)}"
                yield Finding(found[0].line, *warning(what.format(topics)))
        missing = [topic for topic in self.topics or () if topic.encode() not in self.first]
        if self.topics and self.first and len(missing) == len(self.topics):
            # One that is unknown may be a topic too many; where all are, nothing of the run can be scored.
            theirs, asked = quoted(next(iter(self.first))), quoted(missing[0].encode())
            message = f"none of {counted(len(self.first), 'topic')}, such as {theirs}, is among those asked"
            yield Finding(line, *error(f"{message}; expected some such as {asked}"))
        elif missing:
            message = (
                f"no documents for {counted(len(missing), 'topic')}, such as {quoted(missing[0].encode())}"
            )
            yield Finding(line, *warning(message))


def _findings_of_run(
    source: Source, topics: Topics | None, reading: Reading, tally: Tally
) -> Iterator[Finding]:
    book = _Book(topics)
    errors = 0
    rows = Rows(source, RUN, reading, _EXPECTED)
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
    # A topic that goes on later was forgotten in between, so doubles across its parts were not seen.
    if book.scattered and not errors:
        yield from _duplicates(source, reading, rows.last)


def _duplicates(source: Source, reading: Reading, last: int) -> Iterator[Finding]:
    """Read a run whose topics are scattered once more, whole, to find documents ranked twice."""
    if not can_read_again(source):
        yield Finding(last, *warning("scattered topics of a stream: not looked for documents ranked twice"))
        return
    try:
        read_run(source, reading=reading)
    except InputError as problem:
        for line, text in refusals(problem, name_of(source)):
            yield Finding(last if line is None else line, *error(text))


_Ranked = tuple[float, bytes, int]  # score, document, line
_TIED = "the order of equal scores is the evaluator's"


@dataclass(slots=True)
class _RankedQuery:
    """The rows of a query, documents ranked twice left out: each document with its line, and the scores."""

    lines: dict[bytes, int] = field(default_factory=dict)
    scores: list[float] = field(default_factory=list)
    last: Last = None
    conflict: int | None = None

    def add(
        self, lines: Lines, docs: Sequence[bytes], ranks: Sequence[bytes], scores: Sequence[float]
    ) -> list[tuple[bytes, int]]:
        """Take rows that stand together; return the documents that are there again, and where."""
        (lines, docs, ranks, scores), again = once_each(self.lines, lines, docs, ranks, scores)
        self.scores.extend(scores)
        if docs:
            conflict, self.last = contradiction(self.last, lines, ranks, scores)
            self.conflict = self.conflict or conflict
        return again

    @property
    def first(self) -> int:
        """The line of its first row."""
        return next(iter(self.lines.values()))

    def ranked(self) -> list[_Ranked]:
        """Return score, document and line, best first."""
        # By score, then document id, from the end of the alphabet: as trec_eval breaks ties.
        return sorted(zip(self.scores, self.lines, self.lines.values(), strict=True), reverse=True)


def diagnose_run(path: str, cutoffs: Sequence[int], reading: Reading) -> tuple[list[Finding], Known]:
    """Return the findings of a run, and what it holds."""
    rows = DiagnosedRows(path, RUN, reading)
    queries: dict[str, _RankedQuery] = {}
    twice: dict[str, int] = {}
    scattered: dict[str, int] = {}
    tags: dict[bytes, int] = {}
    now = None
    for lines, (names, _, docs, ranks, scores, of_row) in rows:
        # Nearly always the tag is the one there was, and no row need be looked at.
        if tags.keys() != set(of_row):
            for line, tag in zip(lines, of_row, strict=True):
                tags.setdefault(tag, line)
        for name, part in together(names):
            query = name.decode()
            if query != now and query in queries:
                scattered.setdefault(query, lines[part.start])
            now = query
            found = queries.setdefault(query, _RankedQuery())
            for doc, line in found.add(lines[part], docs[part], ranks[part], scores[part]):
                twice.setdefault(in_query(doc.decode(), query), line)
    name = rows.source
    further = [(tag.decode(), line) for tag, line in tags.items()][1:]
    ranked = {query: found.ranked() for query, found in queries.items()}
    findings = [
        *rows.findings,
        *once(name, twice, ERROR, "documents ranked twice: {n}, first {name}", _TWICE),
        *once(name, scattered, WARNING, "queries whose rows are scattered: {n}, first {name}", _SCATTERED),
        *once(name, further, WARNING, "further run tags: {n}, first {name}", _TAGS),
        *_ties(name, queries, ranked, cutoffs),
        *_conflicts(name, queries),
        *_depth(name, queries, cutoffs),
    ]
    known = Known(name, "run")
    known.queries = {query: found.first for query, found in queries.items()}
    known.docs = {query: found.lines for query, found in queries.items()}
    known.ranked = {query: [doc for _, doc, _ in rows] for query, rows in ranked.items()}
    return findings, known


_TWICE = (
    "refused (--dedup first keeps the first); ir_measures and pyndeval count it twice: alpha_ndcg, recall"
    " and p come out too high"
)
_SCATTERED = "nothing here; ir_measures' alpha_ndcg sees the last stretch of each only"
_TAGS = "nothing; two runs may have been put into one file"


def _ties(
    name: str, queries: dict[str, _RankedQuery], ranked: dict[str, list[_Ranked]], cutoffs: Sequence[int]
) -> Iterator[Finding]:
    across: dict[int, dict[str, int]] = {cutoff: {} for cutoff in cutoffs}
    tied: dict[str, int] = {}
    flat = []
    for query, rows in ranked.items():
        different = len(set(queries[query].scores))
        flat.append(different == 1 < len(rows))
        if different < len(rows):
            tied[query] = next(lower[2] for upper, lower in pairwise(rows) if upper[0] == lower[0])
        for cutoff in cutoffs:
            if len(rows) > cutoff and rows[cutoff][0] == rows[cutoff - 1][0]:
                across[cutoff][query] = rows[cutoff][2]
    if queries and all(flat):
        first = next(iter(queries.values())).first
        effect = f"{_TIED}: every measure is of it"
        yield Finding(first, ERROR, "all scores of each query are equal", effect, name)
        return
    for cutoff, places in across.items():
        message = f"queries with equal scores across rank {cutoff}: {{n}}, first {{name}}"
        effect = f"every measure @{cutoff} hangs on how ties are broken; --ties expected says how much"
        yield from once(name, places, WARNING, message, effect)
    effect = f"{_TIED}: alpha_ndcg, ndcg, ap and rr hang on it (--ties expected)"
    yield from once(name, tied, WARNING, "queries with equal scores: {n}, first {name}", effect)


def _conflicts(name: str, queries: dict[str, _RankedQuery]) -> Iterator[Finding]:
    places = {query: found.conflict for query, found in queries.items() if found.conflict}
    effect = "scores count; if the ranks are right, every measure is of another ranking"
    yield from once(
        name, places, WARNING, "queries whose rank column contradicts the scores: {n}, first {name}", effect
    )


def _depth(name: str, queries: dict[str, _RankedQuery], cutoffs: Sequence[int]) -> Iterator[Finding]:
    deepest = max((len(found.lines) for found in queries.values()), default=0)
    beyond = [cutoff for cutoff in sorted(cutoffs) if cutoff > deepest]
    if queries and beyond:
        query, found = next(iter(queries.items()))
        message = f"at most {deepest:,} documents a query (the first: {named(query)})"
        effect = f"recall and coverage @{beyond[0]} and beyond are those @{deepest}"
        yield Finding(found.first, WARNING, message, effect, name)
