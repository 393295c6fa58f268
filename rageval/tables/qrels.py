"""Judgements in memory: which document supports which nugget of which query, and how well."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from copy import copy
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rageval.errors import InputError
from rageval.records import Qrel
from rageval.tables.blocks import QrelsBlock, Scattered, regroup, whole_queries
from rageval.tables.checks import without_repetitions
from rageval.tables.ids import (
    Int,
    Word,
    byte_order,
    changes,
    distinct,
    grouped,
    hashes,
    ids_of,
    joined,
    keyed,
    same,
)
from rageval.tables.index import KeyIndex
from rageval.tables.names import Names
from rageval.tables.objects import LARGEST_GRADE, columns_of, mappings, text, whole
from rageval.text import visible

_FIELDS = ("query_id", "doc_id", "relevance")
_NUGGET_NAMES = ("iteration", "subtopic_id", "nugget_id")
_NUMBER = re.compile(r"\d+(\.\d+)?")
EVERYTHING = -(2**31)


class Qrels:
    """Judgements of documents. Make one with `read_qrels`, `from_dict`, `from_records` or `from_pandas`.

    Documents and nuggets are numbered over all queries. `doc_*` columns have a row a judged document of a
    query, `nugget_*` columns a row a nugget of a query, `pair_*` columns a row a judgement (a document and
    a nugget). Judgements below `floor` are checked and counted, but only their keys are kept.

    >>> qrels = Qrels.from_dict({"q1": {"n1": {"a": 1, "b": 0}, "n2": {"a": 1}}})
    >>> len(qrels), qrels.query_ids, qrels.nuggets_listed.tolist()
    (3, ['q1'], [2])
    """

    def __init__(
        self,
        name: str,
        queries: Names,
        nuggets: Names,
        blocks: Iterable[QrelsBlock],
        floor: int = EVERYTHING,
    ) -> None:
        self.name = name
        self.queries = queries
        self.nugget_names = nuggets
        self.floor = floor
        self.judgements = 0
        self.one_nugget_a_document = True
        self.declared = False  # that nuggets are nuggets: not by a column alone that may hold something else
        self.origin: Any = None  # from where, and how, it can be read again
        self._below: list[Word] = []
        self._dropped = 0
        parts = [self._part(block) for block in blocks]
        self._join(parts)

    @classmethod
    def from_dict(cls, judgements: Mapping[Any, Mapping[Any, Any]], name: str = "qrels") -> Qrels:
        """Judgements from `{query: {doc: grade}}`, or `{query: {nugget: {doc: grade}}}`.

        A query or a nugget with nothing in it is known all the same: it counts, and nothing supports it.
        """
        rows: list[tuple[Any, Any, Any, Any]] = []
        unsupported: list[tuple[Any, Any]] = []
        for query, inner in mappings(judgements, name, "{doc: grade}"):
            for key, value in inner.items():
                if not isinstance(value, Mapping):
                    rows.append((query, key, value, "0"))
                elif value:
                    rows.extend((query, doc, grade, key) for doc, grade in value.items())
                else:
                    unsupported.append((query, key))
        qrels = cls._from_columns(list(zip(*rows, strict=True)), name, list(judgements))
        qrels._list_unsupported(unsupported)
        qrels.declared = True
        return qrels

    @classmethod
    def from_records(cls, records: Iterable[Any], name: str = "qrels") -> Qrels:
        """Judgements from records (or dicts) with `query_id`, `doc_id`, `relevance` and perhaps a nugget,
        called `iteration`, `subtopic_id` or `nugget_id`."""
        records = list(records)
        nugget = _nugget_field(records[0]) if records else None
        columns = columns_of(records, (*_FIELDS, nugget) if nugget else _FIELDS)
        qrels = cls._from_columns(columns if nugget else [*columns, ["0"] * len(records)], name)
        qrels.declared = nugget != _NUGGET_NAMES[0]
        return qrels

    @classmethod
    def from_pandas(cls, frame: Any, name: str = "qrels") -> Qrels:
        """Judgements from a DataFrame with the columns `from_records` takes as fields."""
        missing = [column for column in _FIELDS if column not in frame.columns]
        if missing:
            raise InputError(
                f"{name}: expected the columns {', '.join(_FIELDS)}, found {list(frame.columns)}"
            )
        nugget = [column for column in _NUGGET_NAMES if column in frame.columns]
        columns = [frame[column].tolist() for column in (*_FIELDS, *nugget[-1:])]
        qrels = cls._from_columns(columns if nugget else [*columns, ["0"] * len(frame)], name)
        qrels.declared = nugget[-1:] != [_NUGGET_NAMES[0]]
        return qrels

    @classmethod
    def _from_columns(cls, columns: list[Any], name: str, empty_queries: Iterable[str] = ()) -> Qrels:
        query_id, doc_id, relevance, nugget_id = columns or ((), (), (), ())
        queries, nuggets = Names(), Names()
        doc = ids_of(text(doc_id, name, "doc_id"))
        query = queries.codes(ids_of(text(query_id, name, "query_id")))
        for empty in text(empty_queries, name, "query_id"):
            queries.code(empty.encode("utf-8", "surrogatepass"))
        nugget = nuggets.codes(ids_of(text(nugget_id, name, "nugget")))
        grade = whole(relevance, name, "relevance", LARGEST_GRADE)
        block = QrelsBlock(name, query, np.arange(1, len(query) + 1), doc, hashes(doc), nugget, grade)
        return cls(name, queries, nuggets, [regroup([block])] if len(query) else [])

    def _part(self, block: QrelsBlock) -> _Part:
        block = replace(block, hashed=keyed(block.hashed, block.query))
        block = without_repetitions(block, block.hashed, self.queries, self.nugget_names)
        self.judgements += len(block)
        if self.one_nugget_a_document and len(self.nugget_names) > 1:
            self.one_nugget_a_document = len(distinct(block.hashed)) == len(block)
        nugget = block.query * len(self.nugget_names) + block.nugget
        listed = distinct(nugget[np.flatnonzero(np.diff(nugget, prepend=-1))])
        if self.floor != EVERYTHING:
            kept = block.grade >= self.floor
            self._below.append(distinct(block.hashed[~kept]))
            self._dropped += len(block) - int(kept.sum())
            block = block.take(np.flatnonzero(kept))
        return _Part(block, listed // len(self.nugget_names), listed % len(self.nugget_names))

    def _join(self, parts: list[_Part]) -> None:
        doc_shift = np.cumsum([0, *(len(part.doc_query) for part in parts)])
        nugget_shift = np.cumsum([0, *(len(part.nugget_query) for part in parts)])

        def column(name: str, kind: type, shift: Int | None = None) -> NDArray[Any]:
            pieces = [getattr(part, name) for part in parts]
            if shift is not None:
                pieces = [piece + offset for piece, offset in zip(pieces, shift, strict=False)]
            return np.concatenate([piece.astype(kind) for piece in pieces] or [np.zeros(0, kind)])

        self.doc_query = column("doc_query", np.int32)
        self.doc_key: Word = column("doc_key", np.uint64)
        self.doc_ids = joined([part.doc_ids for part in parts] or [ids_of([])])
        self.nugget_query = column("nugget_query", np.int32)
        self.nugget_code = column("nugget_code", np.int32)
        self.pair_doc = column("pair_doc", np.int32, doc_shift)
        self.pair_nugget = column("pair_nugget", np.int32, nugget_shift)
        self.pair_grade = column("pair_grade", np.int32)

    def _list_unsupported(self, nuggets: list[tuple[Any, Any]]) -> None:
        """Let nuggets be known that no document was judged for."""
        queries = text((query for query, _ in nuggets), self.name, "query_id")
        query = [self.queries.code(query.encode("utf-8", "surrogatepass")) for query in queries]
        named = text((nugget for _, nugget in nuggets), self.name, "nugget")
        code = self.nugget_names.codes(ids_of(named))
        self.nugget_query = np.concatenate((self.nugget_query, np.array(query, np.int32)))
        self.nugget_code = np.concatenate((self.nugget_code, code.astype(np.int32)))

    @property
    def query_ids(self) -> list[str]:
        """The judged queries, in order of first appearance."""
        return self.queries.to_str()

    @property
    def nuggets_listed(self) -> Int:
        """How many nuggets each query has in the judgements, supported or not."""
        return np.bincount(self.nugget_query, minlength=len(self.queries))

    @property
    def has_nuggets(self) -> bool:
        """Whether some query has more than one nugget; otherwise these are plain qrels."""
        return bool((self.nuggets_listed > 1).any())

    @property
    def looks_plain(self) -> bool:
        """Whether what stands in the nuggets' column is probably none: numbers, one a document everywhere."""
        if self.declared or not self.has_nuggets or not self.one_nugget_a_document:
            return False
        return all(_NUMBER.fullmatch(name) for name in self.nugget_names.to_str())

    def without_nuggets(self) -> Qrels:
        """The same judgements as of documents alone; grades of one document that differ are an error."""
        plain = copy(self)
        plain.nugget_names = Names()
        plain.nugget_query = np.unique(self.nugget_query)
        plain.nugget_code = np.full(len(plain.nugget_query), plain.nugget_names.code(b"0"), np.int32)
        lowest = np.full(len(self.doc_query), LARGEST_GRADE + 1)
        np.minimum.at(lowest, self.pair_doc, self.pair_grade)
        unlike = np.flatnonzero(lowest != self.doc_grade)
        if len(unlike):
            at = int(unlike[0])
            raise InputError(
                f"{visible(self.name)}: document {visible(self.doc_ids.to_str()[at])!r} of query"
                f" {visible(self.query_ids[self.doc_query[at]])!r} has the grades {int(lowest[at])} and"
                f" {int(self.doc_grade[at])}; expected one grade a document where the second column is no"
                " nugget (--nuggets-in-qrels yes if it is one)"
            )
        plain.pair_doc = np.arange(len(self.doc_query), dtype=np.int32)
        plain.pair_nugget = np.searchsorted(plain.nugget_query, self.doc_query).astype(np.int32)
        plain.pair_grade = self.doc_grade
        return plain

    @cached_property
    def doc_grade(self) -> NDArray[np.int32]:
        """The grade of a document: the highest that any nugget gives it."""
        grade = np.full(len(self.doc_query), EVERYTHING, np.int32)
        np.maximum.at(grade, self.pair_doc, self.pair_grade)
        return grade

    @cached_property
    def doc_index(self) -> KeyIndex:
        """For finding a run's documents among the judged ones; behind these, judgements below `floor`."""
        return KeyIndex(np.concatenate((self.doc_key, *self._below)))

    def share_below(self, rel: int) -> float:
        """The share of judgements that say a document is not relevant."""
        below = int((self.pair_grade < rel).sum()) + self._dropped
        return below / max(len(self.pair_grade) + self._dropped, 1)

    @cached_property
    def doc_order(self) -> Int:
        """The documents by query, and within a query by id descending: how ties of the ideal are broken."""
        return byte_order(self.doc_ids, self.doc_query.astype(np.int64))[::-1]

    def __len__(self) -> int:
        return self.judgements

    def __iter__(self) -> Iterator[Qrel]:
        queries, names = self.query_ids, self.nugget_names.to_str()
        docs = self.doc_ids.to_str()
        place = np.empty(len(docs), np.int64)
        place[self.doc_order[::-1]] = np.arange(len(docs))
        order = np.lexsort((self.pair_nugget, place[self.pair_doc]))  # by query, document, nugget
        columns = (column[order].tolist() for column in (self.pair_doc, self.pair_nugget, self.pair_grade))
        for doc, nugget, grade in zip(*columns, strict=True):
            query = queries[self.doc_query[doc]]
            yield Qrel(query, docs[doc], grade, names[self.nugget_code[nugget]])

    def __repr__(self) -> str:
        return (
            f"<Qrels {self.name!r}: {len(self):,} judgements of {len(self.queries):,} queries"
            f" and {len(self.nugget_query):,} nuggets>"
        )


class _Part:
    """The columns of one block, hashed by query and document: its documents and nuggets, numbered from 0."""

    def __init__(self, block: QrelsBlock, nugget_query: Int, nugget_code: Int) -> None:
        self.nugget_query, self.nugget_code = nugget_query, nugget_code
        order, self.pair_doc = _distinct_docs(block)
        first = order[_first_of_each(self.pair_doc)]
        self.doc_query = block.query[first]
        self.doc_key = block.hashed[first]
        self.doc_ids = block.doc.compact(first)
        self.pair_grade = block.grade[order]
        width = int(nugget_code.max(initial=0)) + 1
        listed = nugget_query * width + nugget_code
        self.pair_nugget = np.searchsorted(listed, block.query[order] * width + block.nugget[order])


def _distinct_docs(block: QrelsBlock) -> tuple[Int, Int]:
    """Rows sorted so that those of one document are adjacent, and the number of each row's document."""
    order = grouped(block.hashed)
    hashed = block.hashed[order]
    new = np.ones(len(order), bool)
    new[1:] = hashed[1:] != hashed[:-1]
    again, above = order[np.flatnonzero(~new)], order[np.flatnonzero(~new) - 1]
    if not (
        (block.query[again] == block.query[above]).all()
        and same(block.doc.take(again), block.doc.take(above)).all()
    ):  # two documents with one hash: compare all of them in full
        order = byte_order(block.doc, block.query)
        new = (np.diff(block.query[order], prepend=-1) != 0) | changes(block.doc.take(order))
    return order, np.cumsum(new) - 1


def _first_of_each(number: Int) -> Int:
    return np.flatnonzero(np.diff(number, prepend=-1))


def _nugget_field(record: Any) -> str | None:
    """Which field names the nugget; a nugget or subtopic id says more than an iteration."""
    if isinstance(record, Mapping):
        names = [name for name in _NUGGET_NAMES if name in record]
    else:
        names = [name for name in _NUGGET_NAMES if hasattr(record, name)]
    return names[-1] if names else None


def gathered(blocks: Iterable[QrelsBlock]) -> list[QrelsBlock]:
    """Blocks of whole queries from rows in any order, with everything in memory."""
    kept = list(blocks)
    try:
        return list(whole_queries(iter(kept)))
    except Scattered:
        return [regroup(kept)]
