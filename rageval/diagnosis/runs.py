"""What is suspicious in a run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise

from rageval.diagnosis.findings import ERROR, WARNING, Finding, Known, in_query, once, shown
from rageval.diagnosis.rows import Rows
from rageval.files.lines import RUN
from rageval.files.trec import Reading
from rageval.validation.rows import Last, Lines, contradiction

Ranked = tuple[float, bytes, int]  # score, document, line
_TIED = "the order of equal scores is the evaluator's"


@dataclass(slots=True)
class _Query:
    """The rows of a query, documents ranked twice left out: each document with its line, and the scores."""

    lines: dict[bytes, int] = field(default_factory=dict)
    scores: list[float] = field(default_factory=list)
    last: Last = None
    conflict: int | None = None

    def add(
        self, lines: Lines, docs: Sequence[bytes], ranks: Sequence[bytes], scores: Sequence[float]
    ) -> dict[bytes, int]:
        """Take rows that stand together; return the documents that are there again."""
        fresh = dict(zip(docs, lines, strict=True))
        again: dict[bytes, int] = {}
        if len(fresh) < len(docs) or not self.lines.keys().isdisjoint(fresh):
            rows = zip(lines, docs, ranks, scores, strict=True)
            new = [row for row in rows if not self._is_known(row[1], row[0], again)]
            lines, docs, ranks, scores = map(list, zip(*new, strict=True)) if new else ([], [], [], [])
        else:
            self.lines.update(fresh)
        self.scores.extend(scores)
        if docs:
            conflict, self.last = contradiction(self.last, lines, ranks, scores)
            self.conflict = self.conflict or conflict
        return again

    def _is_known(self, doc: bytes, line: int, again: dict[bytes, int]) -> bool:
        if doc in self.lines:
            again.setdefault(doc, line)
            return True
        self.lines[doc] = line
        return False

    @property
    def first(self) -> int:
        """The line of its first row."""
        return next(iter(self.lines.values()))

    def ranked(self) -> list[Ranked]:
        """Return score, document and line, best first."""
        return sorted(zip(self.scores, self.lines, self.lines.values(), strict=True), reverse=True)


def diagnose_run(path: str, cutoffs: Sequence[int], reading: Reading) -> tuple[list[Finding], Known]:
    """The findings of a run, and what it holds."""
    rows = Rows(path, RUN, reading)
    queries: dict[str, _Query] = {}
    twice: dict[str, int] = {}
    scattered: dict[str, int] = {}
    tags: dict[bytes, int] = {}
    now = None
    for lines, (names, _, docs, ranks, scores, of_row) in rows:
        if tags.keys() != set(of_row):
            for line, tag in zip(lines, of_row, strict=True):
                tags.setdefault(tag, line)
        begin = 0
        for name, same in groupby(names):
            query, end = name.decode(), begin + len(list(same))
            if query != now and query in queries:
                scattered.setdefault(query, lines[begin])
            now = query
            part = slice(begin, end)
            found = queries.setdefault(query, _Query())
            for doc, line in found.add(lines[part], docs[part], ranks[part], scores[part]).items():
                twice.setdefault(in_query(doc.decode(), query), line)
            begin = end
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
    name: str, queries: dict[str, _Query], ranked: dict[str, list[Ranked]], cutoffs: Sequence[int]
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
        yield Finding(
            name, first, ERROR, "all scores of each query are equal", f"{_TIED}: every measure is of it"
        )
        return
    for cutoff, places in across.items():
        message = f"queries with equal scores across rank {cutoff}: {{n}}, first {{name}}"
        effect = f"every measure @{cutoff} hangs on how ties are broken; --ties expected says how much"
        yield from once(name, places, WARNING, message, effect)
    effect = f"{_TIED}: alpha_ndcg, ndcg, ap and rr hang on it (--ties expected)"
    yield from once(name, tied, WARNING, "queries with equal scores: {n}, first {name}", effect)


def _conflicts(name: str, queries: dict[str, _Query]) -> Iterator[Finding]:
    places = {query: found.conflict for query, found in queries.items() if found.conflict}
    effect = "scores count; if the ranks are right, every measure is of another ranking"
    yield from once(
        name, places, WARNING, "queries whose rank column contradicts the scores: {n}, first {name}", effect
    )


def _depth(name: str, queries: dict[str, _Query], cutoffs: Sequence[int]) -> Iterator[Finding]:
    deepest = max((len(found.lines) for found in queries.values()), default=0)
    beyond = [cutoff for cutoff in sorted(cutoffs) if cutoff > deepest]
    if queries and beyond:
        query, found = next(iter(queries.items()))
        message = f"at most {deepest:,} documents a query (the first: {shown(query)})"
        effect = f"recall and coverage @{beyond[0]} and beyond are those @{deepest}"
        yield Finding(name, found.first, WARNING, message, effect)
