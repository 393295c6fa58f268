"""A run in memory, for many evaluations or for looking into; and rows that lie apart, put together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from rageval.files.objects import columns_of, columns_of_frame, finite, ids, mappings
from rageval.files.trec import RunRows
from rageval.scoring.ordering import Documents, Order, Scattered, whole_queries

if TYPE_CHECKING:
    from typing import SupportsFloat

    from rageval.records import ScoredDoc
    from rageval.typing import AnyRecord, Frame, RetrievedRecord

_FIELDS = ("query_id", "doc_id", "score")


class Run:
    """Ranked documents a query. Make one with `read_run`, `from_dict`, `from_records` or `from_pandas`.

    >>> run = Run.from_dict({"q1": {"d1": 2.5, "d2": 1.0}})
    >>> run.name, len(run), run.query_ids
    ('run', 2, ['q1'])
    >>> list(run)[0]
    ScoredDoc(query_id='q1', doc_id='d1', score=2.5)
    """

    def __init__(self, name: str, queries: Iterable[Documents]) -> None:
        self.name = name
        self.queries = list(queries)

    @classmethod
    def of_rows(cls, name: str, stretches: Iterable[RunRows], dedup: str | None = None) -> Run:
        """Make a run of rows in any order."""
        kept = list(stretches)
        try:
            return cls(name, whole_queries(kept, dedup))
        except Scattered:
            return cls(name, whole_queries(_together(kept), dedup))

    @classmethod
    def from_dict(cls, ranking: Mapping[Any, Mapping[Any, SupportsFloat]], name: str = "run") -> Run:
        """Make a run of `{query_id: {doc_id: score}}`."""
        rows = (
            (query, doc, score)
            for query, docs in mappings(ranking, name, "{doc: score}")
            for doc, score in docs.items()
        )
        return cls._from_columns(list(zip(*rows, strict=True)), name)

    @classmethod
    def from_records(
        cls, records: Iterable[RetrievedRecord | AnyRecord], name: str = "run", dedup: str | None = None
    ) -> Run:
        """Make a run of records (or dicts) with `query_id`, `doc_id` and `score`, such as ir_measures'."""
        return cls._from_columns(columns_of(records, _FIELDS), name, dedup)

    @classmethod
    def from_pandas(cls, frame: Frame, name: str = "run", dedup: str | None = None) -> Run:
        """Make a run of a DataFrame with the columns `query_id`, `doc_id` and `score`.

        PyTerrier's `qid` and `docno` are read, too. Whole numbers as ids are read as their digits.
        """
        columns = columns_of_frame(frame, _FIELDS, name)
        return cls._from_columns([frame[column].tolist() for column in columns], name, dedup)

    @classmethod
    def _from_columns(cls, columns: list[Any], name: str, dedup: str | None = None) -> Run:
        query_id, doc_id, score = columns or ((), (), ())
        docs, queries = ids(doc_id, name, "doc_id"), ids(query_id, name, "query_id")
        rows = RunRows(name, range(1, len(docs) + 1), queries, docs, finite(score, name, "score"))
        return cls.of_rows(name, [rows] if docs else [], dedup)

    @property
    def query_ids(self) -> list[str]:
        """The queries, in order of first appearance."""
        return [_text(found.query) for found in self.queries]

    def __len__(self) -> int:
        return sum(len(found.docs) for found in self.queries)

    def __iter__(self) -> Iterator[ScoredDoc]:
        from rageval.records import ScoredDoc

        for found in self.queries:
            query = _text(found.query)
            for doc, score in zip(found.docs, found.scores, strict=True):
                yield ScoredDoc(query, _text(doc), score)

    def ranked(self, order: Order | None = None) -> Iterator[tuple[str, list[str]]]:
        """Return every query with its documents, best first."""
        return documents_of(self.queries, order)

    def __repr__(self) -> str:
        return f"<Run {self.name!r}: {len(self):,} documents of {len(self.queries):,} queries>"


def documents_of(queries: Iterable[Documents], order: Order | None = None) -> Iterator[tuple[str, list[str]]]:
    """Return every query with its documents, best first."""
    for found in queries:
        rows = found.ranked(order or Order()).rows
        yield _text(found.query), [_text(found.docs[row]) for row in rows]


def _together(stretches: Iterable[RunRows]) -> Iterator[RunRows]:
    """Put the rows of each query together, otherwise in their old order."""
    of_query: defaultdict[bytes, list[tuple[Any, ...]]] = defaultdict(list)
    ranked, source = True, ""
    for rows in stretches:
        source, ranked = rows.source, ranked and rows.ranks is not None
        ranks = [None] * len(rows.docs) if rows.ranks is None else rows.ranks
        for row in zip(*rows[1:5], ranks, strict=True):
            of_query[row[1]].append(row)
    for found in of_query.values():
        *columns, ranks = zip(*found, strict=True)
        yield RunRows._make((source, *columns, ranks if ranked else None))


def _text(name: bytes) -> str:
    return name.decode("utf-8", "surrogatepass")
