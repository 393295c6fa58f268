"""A run in memory: what a system retrieved, for many evaluations or for looking into."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from rageval.errors import InputError
from rageval.records import ScoredDoc
from rageval.tables.blocks import RunBlock, Scattered, regroup, whole_queries
from rageval.tables.checks import refuse_duplicates, without_duplicates
from rageval.tables.ids import hashes, ids_of
from rageval.tables.names import Names
from rageval.tables.objects import columns_of, finite, is_frame, mappings, text

_FIELDS = ("query_id", "doc_id", "score")


class Run:
    """Ranked documents a query. Make one with `read_run`, `from_dict`, `from_records` or `from_pandas`.

    >>> run = Run.from_dict({"q1": {"d1": 2.5, "d2": 1.0}})
    >>> run.name, len(run), run.query_ids
    ('run', 2, ['q1'])
    >>> list(run)[0]
    ScoredDoc(query_id='q1', doc_id='d1', score=2.5)
    """

    def __init__(
        self, name: str, queries: Names, blocks: Iterable[RunBlock], dedup: str | None = None
    ) -> None:
        self.name = name
        self.queries = queries
        self.blocks = [checked(block, queries, dedup) for block in _whole(blocks)]

    @classmethod
    def from_dict(cls, ranking: Mapping[Any, Mapping[Any, float]], name: str = "run") -> Run:
        """A run from `{query_id: {doc_id: score}}`."""
        rows = (
            (query, doc, score)
            for query, docs in mappings(ranking, name, "{doc: score}")
            for doc, score in docs.items()
        )
        return cls._from_columns(list(zip(*rows, strict=True)), name)

    @classmethod
    def from_records(cls, records: Iterable[Any], name: str = "run", dedup: str | None = None) -> Run:
        """A run from records (or dicts) with `query_id`, `doc_id` and `score`, such as ir_measures'."""
        return cls._from_columns(columns_of(records, _FIELDS), name, dedup)

    @classmethod
    def from_pandas(cls, frame: Any, name: str = "run", dedup: str | None = None) -> Run:
        """A run from a DataFrame with the columns `query_id`, `doc_id` and `score`."""
        if not is_frame(frame, _FIELDS):
            raise InputError(
                f"{name}: expected the columns {', '.join(_FIELDS)}, found {list(frame.columns)}"
            )
        return cls._from_columns([frame[column].tolist() for column in _FIELDS], name, dedup)

    @classmethod
    def _from_columns(cls, columns: list[Any], name: str, dedup: str | None = None) -> Run:
        query_id, doc_id, score = columns or ((), (), ())
        queries = Names()
        doc = ids_of(text(doc_id, name, "doc_id"))
        query = queries.codes(ids_of(text(query_id, name, "query_id")))
        line = np.arange(1, len(query) + 1)
        block = RunBlock(name, query, line, doc, hashes(doc), finite(score, name, "score"), None)
        return cls(name, queries, iter([block] if len(query) else []), dedup)

    @property
    def query_ids(self) -> list[str]:
        """The queries, in order of first appearance."""
        return self.queries.to_str()

    def __len__(self) -> int:
        return sum(len(block) for block in self.blocks)

    def __iter__(self) -> Iterator[ScoredDoc]:
        names = self.query_ids
        for block in self.blocks:
            rows = zip(block.query.tolist(), block.doc.to_str(), block.score.tolist(), strict=True)
            for query, doc, score in rows:
                yield ScoredDoc(names[query], doc, score)

    def __repr__(self) -> str:
        return f"<Run {self.name!r}: {len(self):,} documents of {len(self.queries):,} queries>"


def checked(block: RunBlock, queries: Names, dedup: str | None) -> RunBlock:
    """The block, with no document twice for a query: refused, or dropped where that is asked for."""
    if dedup == "first":
        return without_duplicates(block)
    refuse_duplicates(block, queries)
    return block


def _whole(blocks: Iterable[RunBlock]) -> list[RunBlock]:
    kept = []
    for block in blocks:
        kept.append(replace(block, doc=block.doc.compact()))
    try:
        return list(whole_queries(iter(kept)))
    except Scattered:
        return [regroup(kept)]
