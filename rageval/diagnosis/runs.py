"""What is suspicious in a run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from rageval.diagnosis.findings import ERROR, WARNING, Finding, Known, in_query, once, shown
from rageval.diagnosis.rows import Rows
from rageval.files.lines import RUN
from rageval.files.trec import Reading

_TIED = "the order of equal scores is the evaluator's"


@dataclass(slots=True)
class _Query:
    """The rows of a query: (score, document, line), and the ranks beside them."""

    rows: list[tuple[float, bytes, int]] = field(default_factory=list)
    lines: dict[str, int] = field(default_factory=dict)
    last: tuple[int, float] | None = None
    conflict: int | None = None

    def add(self, line: int, doc: str, rank: str, score: float) -> None:
        self.lines[doc] = line
        self.rows.append((score, doc.encode(), line))
        if rank.isascii() and rank.isdigit():
            before, least = self.last or (int(rank), score)
            if (int(rank) > before and score > least) or (int(rank) < before and score < least):
                self.conflict = self.conflict or line
            self.last = int(rank), score

    def ranked(self) -> list[tuple[float, bytes, int]]:
        return sorted(self.rows, key=lambda row: row[:2], reverse=True)


def diagnose_run(path: str, cutoffs: Sequence[int], reading: Reading) -> tuple[list[Finding], Known]:
    """The findings of a run, and what it holds."""
    rows = Rows(path, RUN, reading)
    queries: dict[str, _Query] = {}
    twice: dict[str, int] = {}
    scattered: dict[str, int] = {}
    tags: dict[str, int] = {}
    now = None
    for line, (query, _, doc, rank, score, tag) in rows:
        tags.setdefault(tag, line)
        if query != now and query in queries:
            scattered.setdefault(query, line)
        now = query
        found = queries.setdefault(query, _Query())
        if doc in found.lines:
            twice.setdefault(in_query(doc, query), line)
        else:
            found.add(line, doc, rank, float(score))
    name = rows.source
    findings = [
        *rows.findings,
        *once(name, twice, ERROR, "documents ranked twice: {n}, first {name}", _TWICE),
        *once(name, scattered, WARNING, "queries whose rows are scattered: {n}, first {name}", _SCATTERED),
        *once(name, list(tags.items())[1:], WARNING, "further run tags: {n}, first {name}", _TAGS),
        *_ties(name, queries, cutoffs),
        *_conflicts(name, queries),
        *_depth(name, queries, cutoffs),
    ]
    return findings, _known(name, queries)


_TWICE = (
    "refused (--dedup first keeps the first); ir_measures and pyndeval count it twice: alpha_ndcg, recall"
    " and p come out too high"
)
_SCATTERED = "nothing here; ir_measures' alpha_ndcg sees the last stretch of each only"
_TAGS = "nothing; two runs may have been put into one file"


def _ties(name: str, queries: dict[str, _Query], cutoffs: Sequence[int]) -> Iterator[Finding]:
    across: dict[int, dict[str, int]] = {cutoff: {} for cutoff in cutoffs}
    tied: dict[str, int] = {}
    flat = [len({row[0] for row in found.rows}) == 1 < len(found.rows) for found in queries.values()]
    for query, found in queries.items():
        ranked = found.ranked()
        scores = [row[0] for row in ranked]
        if len(set(scores)) < len(scores):
            again = next(at for at in range(1, len(scores)) if scores[at] == scores[at - 1])
            tied[query] = ranked[again][2]
        for cutoff in cutoffs:
            if len(scores) > cutoff and scores[cutoff] == scores[cutoff - 1]:
                across[cutoff][query] = ranked[cutoff][2]
    if queries and all(flat):
        first = next(iter(queries.values())).rows[0][2]
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
    deepest = max((len(found.rows) for found in queries.values()), default=0)
    beyond = [cutoff for cutoff in sorted(cutoffs) if cutoff > deepest]
    if queries and beyond:
        query, found = next(iter(queries.items()))
        message = f"at most {deepest:,} documents a query (the first: {shown(query)})"
        effect = f"recall and coverage @{beyond[0]} and beyond are those @{deepest}"
        yield Finding(name, found.rows[0][2], WARNING, message, effect)


def _known(name: str, queries: dict[str, _Query]) -> Known:
    known = Known(name, "run")
    for query, found in queries.items():
        known.queries[query] = found.rows[0][2]
        known.ranked[query] = [doc.decode() for _, doc, _ in found.ranked()]
        for doc, line in found.lines.items():
            known.documents.setdefault(doc, line)
    return known
