"""Pools: the documents of a query that are judged, and from which run and rank each of them comes.

Runs can be fused before they are pooled: by min–max normalized sums as FreshStack's, or by reciprocal ranks.
Sums are exact: scores are taken for the shortest decimals that say them, which is what stands in a file, and
added up as fractions. So two documents tie if and only if their sums are equal, in whichever order the runs
come; and where two different sums are nearer to each other than 64-bit floats can tell, the lower one is
moved down until they are told apart.

>>> pool = pooled({"bm25": Run.from_dict({"q": {"a": 2, "b": 1}}), "dense": Run.from_dict({"q": {"b": 9}})})
>>> pool
{'q': {'a': {'bm25': 1}, 'b': {'bm25': 2, 'dense': 1}}}
>>> print(*pool_lines(pool), sep="\\n")
{"query_id":"q","doc_id":"a","from":{"bm25":1}}
{"query_id":"q","doc_id":"b","from":{"bm25":2,"dense":1}}
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby
from pathlib import Path
from typing import Any

import msgspec

from rageval.errors import InputError, Place, UsageError
from rageval.files.jsonl import Id, read_records
from rageval.files.kinds import kind_of
from rageval.files.opening import Limits, Source, name_of, with_limits
from rageval.scoring.runs import Run
from rageval.scoring.sources import read_qrels
from rageval.table import PRINTERS, Column, Table, tab_cell
from rageval.text import problem_of_id, visible

DEPTH = 20
_WINDOW = 20  # documents that a call judges
_SHOWN = 5  # queries of which most is unjudged
Pool = dict[str, dict[str, dict[str, int]]]  # query -> document -> source -> rank


class _Pooled(msgspec.Struct):
    query_id: Id
    doc_id: Id
    sources: dict[str, int] = msgspec.field(default={}, name="from")


@dataclass(frozen=True, slots=True)
class _Size:
    """How large a pool is, and how many calls judge it at so many documents a call."""

    queries: int
    documents: int
    calls: int

    @property
    def breadth(self) -> float:
        """Documents a query."""
        return self.documents / self.queries if self.queries else 0.0


def pooled(runs: Mapping[str, Run], depth: int = DEPTH) -> Pool:
    """Return the top `depth` of every run, in the order of the runs: one that is added later adds behind.

    Parameters
    ----------
    runs
        The runs by name.
    depth
        How many documents of each.

    Returns
    -------
    Pool
        The documents of every query, and which runs they come from.
    """
    pool: Pool = {}
    for source, run in runs.items():
        for query, docs in run.ranked():
            query_pool = pool.setdefault(query, {})
            for rank, doc in enumerate(docs[:depth], 1):
                query_pool.setdefault(doc, {})[source] = rank
    return pool


def size(pool: Mapping[str, Iterable[str]], window: int = _WINDOW) -> _Size:
    """Return the size of a pool."""
    numbers = [len(list(docs)) for docs in pool.values()]
    return _Size(len(numbers), sum(numbers), sum(-(-number // window) for number in numbers))


def contributions(pool: Pool) -> dict[str, tuple[int, int, int]]:
    """Return what each source brings: its documents, those only it has, those no source before it has."""
    counts: dict[str, tuple[int, int, int]] = {}
    order = list(dict.fromkeys(name for docs in pool.values() for doc in docs.values() for name in doc))
    for sources in (doc for docs in pool.values() for doc in docs.values()):
        first = min(sources, key=order.index)
        for name in sources:
            all_, alone, new = counts.get(name, (0, 0, 0))
            counts[name] = all_ + 1, alone + (len(sources) == 1), new + (name == first)
    return {name: counts[name] for name in order}


def pool_lines(pool: Pool) -> Iterator[str]:
    """Yield a line a document of a query.

    Parameters
    ----------
    pool
        The documents of every query, with the sources and ranks they come from.

    Yields
    ------
    str
        A record of JSON.
    """
    for query, docs in pool.items():
        for doc, sources in docs.items():
            record: dict[str, Any] = {"query_id": query, "doc_id": doc, "from": sources}
            yield msgspec.json.encode(record).decode()


def read_pool(source: Source, limits: Limits | None = None) -> Pool:
    """Read a pool from lines such as `rageval collection pool` writes.

    Parameters
    ----------
    source
        A file, or an open one.
    limits
        How large a line or an id may be.

    Returns
    -------
    Pool
        The documents of every query, and which runs they come from.
    """
    source = with_limits(source, limits)
    pool: Pool = {}
    for line, record in read_records(source, _Pooled, "a pooled document {query_id, doc_id, from}"):
        for problem in filter(None, map(problem_of_id, (str(record.query_id), str(record.doc_id)))):
            raise problem.located(Place(name_of(source), line))
        docs = pool.setdefault(str(record.query_id), {})
        if str(record.doc_id) in docs:
            raise InputError(
                at=Place(name_of(source), line),
                problem=f"document {visible(str(record.doc_id))!r} is in the pool of query"
                f" {visible(str(record.query_id))!r} twice",
                expected="it once",
            )
        docs[str(record.doc_id)] = record.sources
    return pool


@dataclass(frozen=True, slots=True)
class _Holes:
    """What a run would leave unjudged at a depth: documents in all, unjudged ones, queries with one."""

    depth: int
    documents: int
    unjudged: int
    queries: int

    @property
    def share(self) -> float:
        """The share of the documents that is not judged."""
        return self.unjudged / self.documents if self.documents else 0.0


def unjudged(run: Run, judged: Mapping[str, Iterable[str]], depth: int) -> Pool:
    """Return what a run has in its top `depth` that is not judged, for the judged queries."""
    pool: Pool = {}
    judged_docs = {query: set(docs) for query, docs in judged.items()}
    for query, docs in pooled({run.name: run}, depth).items():
        new = {doc: sources for doc, sources in docs.items() if doc not in judged_docs.get(query, docs)}
        if new:
            pool[query] = new
    return pool


def holes(run: Run, judged: Mapping[str, Iterable[str]], depth: int) -> _Holes:
    """Return how much of it that is."""
    shown = [docs for query, docs in pooled({run.name: run}, depth).items() if query in judged]
    new = unjudged(run, judged, depth)
    return _Holes(depth, sum(map(len, shown)), sum(map(len, new.values())), len(new))


def judged_in(against: Path) -> Mapping[str, set[str]]:
    """Return the judged documents of every query, in judgements or in a pool."""
    if os.path.isdir(against):
        paths = [against / name for name in ("qrels.nugget", "pool.jsonl") if os.path.isfile(against / name)]
        if not paths:
            raise InputError(
                at=Place(str(against)),
                problem="no collection",
                expected="--against QRELS, POOL or a collection",
            )
        against = paths[0]
    kind = kind_of(against)
    if kind is not None and kind.name == "pool":
        return {query: set(docs) for query, docs in read_pool(against).items()}
    judged: dict[str, set[str]] = {}
    for row in read_qrels(against):
        judged.setdefault(row.query_id, set()).add(row.doc_id)
    return judged


def hole_lines(
    run: Run, judged: Mapping[str, set[str]], depths: Iterable[int], depth: int, with_name: bool
) -> Iterator[str]:
    """Yield what a run would leave unjudged at each of the depths, and where most of it is at one."""
    # The run stands before every line, also before the head, so that the tables of several can be told apart.
    name = [run.name] if with_name else []
    head = [Column(title) for title in (*name, "depth", "unjudged", "of", "share", "queries", "calls")]
    rows = []
    for cutoff in depths:
        summary = holes(run, judged, cutoff)
        calls = size(unjudged(run, judged, cutoff)).calls
        share = f"{summary.share:.1%}".replace("%", " %")
        counts = (
            f"{summary.unjudged:,}",
            f"{summary.documents:,}",
            share,
            f"{summary.queries:,}",
            f"{calls:,}",
        )
        rows.append((*name, str(cutoff), *counts))
    yield from PRINTERS["tsv"].table(Table(head, rows))
    new = sorted(unjudged(run, judged, depth).items(), key=lambda item: (-len(item[1]), item[0]))
    if new:
        worst = ", ".join(f"{visible(query)} ({len(docs)})" for query, docs in new[:_SHOWN])
        yield "\t".join((*map(tab_cell, name), f"most at depth {depth}: {worst}"))


MINMAX, RRF = "minmax", "rrf"
FUSE_DEPTH, FUSE_K = 100, 60
_Ranking = Mapping[str, float]


def fused(
    runs: Iterable[Run], method: str = MINMAX, depth: int = FUSE_DEPTH, k: int = FUSE_K, name: str = "fusion"
) -> Run:
    """Fuse runs into one: the documents in the top `depth` of any, by the sum of what each run gives them.

    A run gives nothing to a document that it lacks.

    Parameters
    ----------
    runs
        The runs.
    method
        `minmax` maps the scores of a run, so that the best of its top `depth` has 1 and the last 0 (all have
        0 if they are equal, as in FreshStack). `rrf` gives 1 / (k + rank), for equal scores the mean over all
        their orders.
    depth
        How much of each run counts.
    k
        The constant of `rrf`.
    name
        The name of the fused run.

    Returns
    -------
    Run
        The fused run.

    Examples
    --------
    >>> one, other = Run.from_dict({"q": {"a": 3, "b": 2, "c": 1}}), Run.from_dict({"q": {"b": 9, "d": 7}})
    >>> {doc: score for _, doc, score in fused([one, other])}
    {'b': 1.5, 'a': 1.0, 'c': 0.0, 'd': 0.0}
    """
    if method not in _METHODS:
        raise UsageError(f"fusion {method!r}: expected one of {', '.join(_METHODS)}")
    if depth < 1 or k < 0:
        raise UsageError(f"depth={depth!r}, k={k!r}: expected a depth from 1 and a k from 0")
    tables: list[dict[str, dict[str, float]]] = []
    for run in runs:
        tables.append({})
        for row in run:
            tables[-1].setdefault(row.query_id, {})[row.doc_id] = row.score
    queries = sorted({query for table in tables for query in table})
    fusions = {
        query: _fused([table[query] for table in tables if query in table], _METHODS[method], depth, k)
        for query in queries
    }
    return Run.from_dict(fusions, name)


def _ranked_groups(ranking: _Ranking, depth: int) -> Iterator[tuple[int, float, list[str]]]:
    """Yield (documents before, score, documents) of each group of equal scores that begins above `depth`."""
    before = 0
    rows = sorted(ranking.items(), key=lambda row: -row[1])
    for score, group in groupby(rows, key=lambda row: row[1]):
        # A group that begins above the depth counts whole: which of equal documents stand above it is chance.
        if before >= depth:
            return
        docs = [doc for doc, _ in group]
        yield before, score, docs
        before += len(docs)


def run_lines(run: Run) -> Iterator[str]:
    """Yield the run as lines of a TREC file, best first; scores in full: unequal ones stay unequal."""
    score = {(row.query_id, row.doc_id): row.score for row in run}
    names = {name for row in score for name in row}
    # Readers part a line at tabs where it has some, and so keep a blank that stands within a name.
    separator = "\t" if any(" " in name for name in names) else " "
    for query, docs in run.ranked():
        for rank, doc in enumerate(docs, 1):
            yield separator.join((query, "Q0", doc, str(rank), repr(score[query, doc]), run.name))


_Weights = Mapping[str, Fraction]


def _fused(
    rankings: Sequence[_Ranking], weigh: Callable[[_Ranking, int, int], _Weights], depth: int, k: int
) -> dict[str, float]:
    """Return {document: score} of one query, best first."""
    weights = [weigh(ranking, depth, k) for ranking in rankings]
    shares = {weight.denominator for ranking_weights in weights for weight in ranking_weights.values()}
    common = math.lcm(*shares)  # adding whole numbers is much faster than adding fractions
    total: dict[str, int] = {}
    for ranking_weights in weights:
        for doc, weight in ranking_weights.items():
            total[doc] = total.get(doc, 0) + weight.numerator * (common // weight.denominator)
    # Floats of the same order as the sums, and equal only where the sums are.
    floats: dict[str, float] = {}
    previous, least = None, math.inf
    for doc, value in sorted(total.items(), key=lambda row: -row[1]):
        if value != previous:
            previous, least = value, min(value / common, math.nextafter(least, -math.inf))
        floats[doc] = least
    return floats


def _minmax(ranking: _Ranking, depth: int, k: int) -> dict[str, Fraction]:
    """Return what a document has above the last one, as a share of what the first one has."""
    # Of the decimals that the file has, not of the floats: shares that are equal on paper are equal here.
    scores = {doc: Fraction(repr(score)) for _, score, docs in _ranked_groups(ranking, depth) for doc in docs}
    high, low = max(scores.values()), min(scores.values())
    if high == low:  # as FreshStack has it
        return dict.fromkeys(scores, Fraction(0))
    return {doc: (score - low) / (high - low) for doc, score in scores.items()}


def _reciprocal(ranking: _Ranking, depth: int, k: int) -> dict[str, Fraction]:
    """Return 1 / (k + rank), averaged over the ranks that equal scores share; beyond `depth` it is 0."""
    weights: dict[str, Fraction] = {}
    for before, _, docs in _ranked_groups(ranking, depth):
        ranks = range(before + 1, min(before + len(docs), depth) + 1)
        weight = sum((Fraction(1, k + rank) for rank in ranks), Fraction(0)) / len(docs)
        weights |= dict.fromkeys(docs, weight)
    return weights


_METHODS: dict[str, Callable[[_Ranking, int, int], dict[str, Fraction]]] = {MINMAX: _minmax, RRF: _reciprocal}
