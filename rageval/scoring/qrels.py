"""Judgements in memory: which document supports which nugget of which query, and how well."""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import accumulate, chain, compress, count, pairwise, repeat
from math import floor as floor_of
from operator import sub
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, Self, cast

from rageval.core.signature import digest
from rageval.errors import InputError, MeasureError, Place
from rageval.files.objects import (
    ITERATIONS,
    NUGGET_COLUMNS,
    column_names,
    column_of,
    columns_of,
    columns_of_frame,
    graded,
    grouped,
    ids,
    is_missing,
    mappings,
    nugget_column,
    unread,
)
from rageval.files.opening import DEFAULT, LARGEST_GRADE, Complaints
from rageval.files.trec import QrelsRows
from rageval.kernel import SEED, kernel
from rageval.measures.ranking import Discount, Judgements, Sums, Topic, graded_gain, logarithmic, novelties
from rageval.records import Qrel
from rageval.scoring.runs import EVERYTHING, Run, Scattered, _decoded, begins
from rageval.text import visible

if TYPE_CHECKING:
    from typing import SupportsFloat

    from rageval.core.remark import Remark
    from rageval.files.objects import AnyRecord, Frame, JudgedRecord
    from rageval.measures.base import Measure
    from rageval.measures.covering import Covering

_FIELDS = ("query_id", "doc_id", "relevance")
_NO_NUGGET = "0"  # what stands for the nugget where judgements name none
_NUMBER = re.compile(r"\d+(\.\d+)?")
NOT_KEPT, NOT_JUDGED = -1, -2
_LARGE = 2**16  # a list of so many numbers takes 2.6 MB
_DEEP = 2**31 - 1  # deeper than any ranking of one query
_FEW_GRADES = 100  # each has its gain in a table
_IN_ORDER = array("i")  # ranks that are 1, 2, …, or no nuggets
_SENT = (
    *("name", "floor", "declared", "judges", "is_adaptive", "unread"),
    *("_below", "_number", "weights", "without"),
)


class Fractional(Exception):
    """Some grades are no whole numbers: those below the floor may be gains, and have to be kept."""


class Columns(NamedTuple):
    """What a reader makes of a judgement file.

    Queries are numbered in order of appearance; the documents of a query, and its nuggets, within it. `docs`
    says where each query's documents begin, `pairs` where each document's judgements do; these are by nugget.
    Judgements below the floor are counted and not kept: `below` is how many documents of a query have no
    other.
    """

    rows: int
    one_nugget_a_document: bool
    queries: list[bytes]
    listed: Sequence[int]  # nuggets a query, whatever their grades
    below: Sequence[int]
    docs: Sequence[int]
    pairs: Sequence[int]
    nugget: Sequence[int]
    grade: Sequence[int | float]  # a list where some are no whole numbers
    ids: bytes | memoryview
    id_ends: Sequence[int]
    nugget_ids: bytes | memoryview
    nugget_ends: Sequence[int]


class Qrels:
    """Judgements of documents. Make one with `read_qrels`, `from_dict`, `from_records` or `from_pandas`.

    Iterating gives each judgement as a `Qrel`; those below `floor` were checked and counted, but not kept.

    >>> qrels = Qrels.from_dict({"q1": {"n1": {"a": 1, "b": 0}, "n2": {"a": 1}}})
    >>> len(qrels), qrels.query_ids, qrels.nuggets("q1")
    (3, ['q1'], ['n1', 'n2'])
    """

    def __init__(
        self,
        name: str,
        columns: Columns,
        floor: int = EVERYTHING,
        below: Sequence[frozenset[bytes]] | None = None,
        handle: Any = None,
    ) -> None:
        """Take what a reader made: the plain one with the ids `below` the floor, or the other's `handle`."""
        self.name = name
        self.floor = floor
        self.declared = False  # that nuggets are nuggets: not by a column alone that may hold something else
        self.judges: tuple[str, ...] = ()  # who judged, where something says it
        self.is_adaptive = False  # whether earlier judgements chose what was judged
        self.origin: Any = None  # from where, and how, it can be read again
        self.unread: tuple[str, ...] = ()  # the columns that it was read without
        self.without = False  # whether the nuggets that it was read with were taken away
        self._columns = columns
        self._below = below
        self._handle = handle
        self.weights: Sequence[Sequence[float] | None] | None = None  # of the nuggets of each query
        self._number = {query: number for number, query in enumerate(columns.queries)}
        self._places: dict[int, dict[bytes, int]] = {}

    @classmethod
    def from_dict(
        cls,
        judgements: Mapping[Any, Mapping[Any, SupportsFloat | Mapping[Any, SupportsFloat]]],
        name: str = "qrels",
    ) -> Qrels:
        """Make judgements of `{query: {doc: grade}}`, or `{query: {nugget: {doc: grade}}}`.

        A query or a nugget with nothing in it is known all the same: it counts, and nothing supports it.
        """
        return cls._of_dict(judgements, name) or cls._from_unusual_dict(judgements, name)

    @classmethod
    def _of_dict(cls, judgements: Mapping[Any, Mapping[Any, Any]], name: str) -> Qrels | None:
        """Read a dict by the compiled reader; None if it finds what only the plain one understands."""
        if kernel is None or not judgements:
            return None
        handle, declared = _empty_handle(EVERYTHING), False
        for query, inner in mappings(judgements, name, "{doc: grade}"):
            # A mapping in the place of a grade says that its key is a nugget, whatever it is called.
            by_nugget = isinstance(next(iter(inner.values()), None), Mapping)
            declared = declared or by_nugget
            for nugget, docs in inner.items() if by_nugget else ((_NO_NUGGET, inner),):
                # A nugget without documents stands behind those that have some.
                if by_nugget and not (docs and isinstance(docs, Mapping)):
                    return None
                if kernel.qrels_add(handle, query, nugget, docs if type(docs) is dict else dict(docs)):
                    return None
        qrels = cls(name, Columns(*kernel.qrels_end(handle)), handle=handle)
        qrels.declared = declared
        return qrels

    @classmethod
    def _from_unusual_dict(cls, judgements: Mapping[Any, Mapping[Any, Any]], name: str) -> Qrels:
        topics: list[_Topic] = []
        declared, row = False, 1
        for query, inner in mappings(judgements, name, "{doc: grade}"):
            (query_id,) = ids((query,), name, "query_id", row)
            docs: Iterable[Any] = inner
            grades: Iterable[Any] = inner.values()
            nuggets, unsupported = [_NO_NUGGET.encode()] * len(inner), list[bytes]()
            if any(issubclass(kind, Mapping) for kind in set(map(type, grades))):
                # A mapping in the place of a grade says that its key is a nugget, whatever it is called.
                declared = True
                # A nugget that nothing supports has no rows, and counts in coverage all the same.
                empty = [key for key, of in inner.items() if isinstance(of, Mapping) and not of]
                docs, named, grades = _parted_at_nuggets(inner)
                nuggets, unsupported = (ids(names, name, "nugget", row) for names in (named, empty))
            doc_ids = ids(docs, name, "doc_id", row)
            rows = QrelsRows(
                name,
                range(row, row + len(doc_ids)),
                [query_id] * max(1, len(doc_ids)),
                doc_ids,
                nuggets,
                graded(grades, name, "relevance", LARGEST_GRADE, row),
            )
            topic = _Topic(rows, EVERYTHING)
            for nugget in unsupported:
                topic.nuggets.setdefault(nugget, len(topic.nuggets))
            topics.append(topic)
            row += len(doc_ids)
        columns, below = _together(topics)
        qrels = cls(name, columns, EVERYTHING, below)
        qrels.declared = declared
        qrels._places = {number: topic.docs for number, topic in enumerate(topics)}
        return qrels

    @classmethod
    def from_records(cls, records: Iterable[JudgedRecord | AnyRecord], name: str = "qrels") -> Qrels:
        """Make judgements of records or dicts.

        They have `query_id`, `doc_id`, `relevance` and perhaps a nugget, called `nugget_id`, `nugget`,
        `subtopic_id`, `subtopic`, `intent`, `aspect`, `iteration` or `iter`.
        """
        records = list(records)
        names = _field_names(records)
        nugget = nugget_column(names)
        columns = columns_of(records, (*_FIELDS, nugget) if nugget else _FIELDS)
        return cls._from_named(columns, nugget, unread(names, (*_FIELDS, nugget or "")), name)

    @classmethod
    def from_pandas(cls, frame: Frame, name: str = "qrels") -> Qrels:
        """Make judgements of a DataFrame with the columns `from_records` takes as fields.

        PyTerrier's `qid`, `docno` and `label` are read, too.
        """
        fields = columns_of_frame(frame, _FIELDS, name)
        names = column_names(frame, name)
        nugget = nugget_column(map(str, names))
        read = (*fields, nugget) if nugget else fields
        columns = [column_of(frame, column, name) for column in read]
        return cls._from_named(columns, nugget, unread(names, read), name)

    @classmethod
    def _from_named(cls, columns: list[Any], nugget: str | None, others: tuple[str, ...], name: str) -> Qrels:
        """Make judgements of columns, the last of which is the nugget's if it has a name."""
        rows = len(columns[0]) if columns else 0
        if nugget and columns:
            # What is missing names no nugget, and a column of nothing else is as if it were not there.
            missing = list(map(is_missing, columns[-1]))
            if all(missing):
                nugget, columns = None, columns[:-1]
            elif any(missing):
                named = zip(columns[-1], missing, strict=True)
                columns = [*columns[:-1], [_NO_NUGGET if lost else value for value, lost in named]]
        qrels = cls._from_columns(columns if nugget else [*columns, [_NO_NUGGET] * rows], name)
        # The other names can only mean nuggets.
        qrels.declared = nugget is not None and nugget not in ITERATIONS
        qrels.unread = others
        return qrels

    @classmethod
    def _from_columns(
        cls,
        columns: list[Any],
        name: str,
    ) -> Qrels:
        query, doc, relevance, nugget = columns or ((), (), (), ())
        docs, queries, nuggets = (
            ids(doc, name, "doc_id"),
            ids(query, name, "query_id"),
            ids(nugget, name, "nugget"),
        )
        grades = graded(relevance, name, "relevance", LARGEST_GRADE)
        # The compiled reader takes dicts.
        judgements = _as_dict(query, nugget, doc, grades)
        if judgements is not None and (qrels := cls._of_dict(judgements, name)) is not None:
            return qrels
        rows = QrelsRows(name, range(1, len(docs) + 1), queries, docs, nuggets, grades)
        return cls.of_rows(name, [_regrouped([rows])] if docs else [])

    @classmethod
    def of_rows(
        cls,
        name: str,
        stretches: Iterable[QrelsRows],
        floor: int = EVERYTHING,
        unsupported: Sequence[tuple[bytes, bytes]] = (),
    ) -> Self:
        """Make judgements of rows, those of a query together; `Scattered` where they are not.

        Nuggets (query, nugget) may be known that no document was judged for.
        """
        topics: Iterable[_Topic] = (_Topic(rows, floor) for rows in _whole_queries(stretches))
        if unsupported:
            topics = _with_unsupported(list(topics), name, unsupported)
        columns, below = _together(topics)
        return cls(name, columns, floor, below)

    @property
    def query_ids(self) -> list[str]:
        """The judged queries, in order of first appearance."""
        return self._query_ids.copy()

    @cached_property
    def _query_ids(self) -> list[str]:
        return list(map(_decoded, self._columns.queries))

    @property
    def judgements(self) -> int:
        """How many judgements there are, kept or not."""
        return self._columns.rows

    def find(self, query: bytes) -> int:
        """Return the number of a query, -1 if it is not judged."""
        return self._number.get(query, -1)

    @property
    def nuggets_listed(self) -> list[int]:
        """How many nuggets each query has in the judgements, supported or not."""
        return list(self._columns.listed)

    def nuggets(self, query: str) -> list[str]:
        """Return the nuggets that a query has in the judgements, supported or not."""
        number, columns = self.find(query.encode("utf-8", "surrogatepass")), self._columns
        if number < 0:
            return []
        first = self._first_nugget[number]
        return [
            _decoded(name)
            for name in _ids_between(
                columns.nugget_ids, columns.nugget_ends, first, self._first_nugget[number + 1]
            )
        ]

    @cached_property
    def topics(self) -> list[Topic]:
        """The judgements of each query, in order."""
        columns = self._columns
        order = self._ideals.order if self._ideals else None
        pairs, nugget, grade = map(_quick, (columns.pairs, columns.nugget, columns.grade))
        settings = self._names, order, self.floor, lambda: self.highest, self.fractional, self._ideals
        judgements = Judgements(pairs, nugget, grade, *settings)
        queries = zip(self.query_ids, columns.listed, pairwise(columns.docs), strict=True)
        weights = self.weights or [None] * len(columns.queries)
        return [Topic(*query, judgements, number, weights[number]) for number, query in enumerate(queries)]

    def numbers(self, query: int, docs: Sequence[bytes]) -> Sequence[int]:
        """Return the number of each document within a query; -1 where nothing is kept, -2 if unjudged."""
        # The compiled part looks up all documents of a query in one call.
        if self._handle:
            # Bytes that hold 32-bit numbers: one object for all, whatever their number.
            return memoryview(kernel.qrels_numbers(self._handle, query, list(docs))).cast("i").tolist()
        places = self._places.get(query)
        if places is None:
            places = self._places[query] = self._places_of(query)
        return list(map(places.get, docs, repeat(NOT_JUDGED)))

    def compiled(self) -> Any:
        """Return these judgements as the compiled reader looks documents up in; None where there is none."""
        if self._handle is None and kernel is not None:
            # False, not None, if it could not be made: then it is not tried again.
            self._handle = self._fed()
        return self._handle or None

    @property
    def fractional(self) -> bool:
        """Whether some grade is no whole number."""
        return isinstance(self._columns.grade, list)

    @property
    def has_nuggets(self) -> bool:
        """Whether some query has more than one nugget; otherwise these are plain qrels."""
        return max(self._columns.listed, default=0) > 1

    @property
    def names_no_nuggets(self) -> bool:
        """Whether nothing names a nugget: the column that could is missing, or says 0 or Q0 in every row."""
        if self.declared or self.weights is not None or self.has_nuggets:
            return False
        names = (name for query in self.query_ids for name in self.nuggets(query))
        return all(name in (_NO_NUGGET, "Q0", "q0") for name in names)

    @property
    def looks_plain(self) -> bool:
        """Whether what stands in the nuggets' column is probably none: numbers, one a document everywhere."""
        # Where documents stand under several values of the column it is a nugget, whatever it looks like.
        if self.declared or not self.has_nuggets or not self._columns.one_nugget_a_document:
            return False
        return all(_NUMBER.fullmatch(name) for query in self.query_ids for name in self.nuggets(query))

    def without_nuggets(self) -> Qrels:
        """Return the judgements as of documents alone; raise an error if grades of a document differ."""
        columns = self._columns
        lowest = [min(columns.grade[first:last]) for first, last in pairwise(columns.pairs)]
        # If grades of a document agree over its rows the column holds no nugget that anybody judged by.
        for index, (least, most) in enumerate(zip(lowest, self._grades, strict=True)):
            if least != most:
                query = next(number for number, end in enumerate(columns.docs[1:]) if index < end)
                doc = _decoded(bytes(columns.ids[columns.id_ends[index] : columns.id_ends[index + 1]]))
                raise InputError(
                    at=Place(visible(self.name)),
                    problem=f"document {visible(doc)!r} of query {visible(self.query_ids[query])!r} has the"
                    f" grades {least} and {most}",
                    expected="one grade a document where the second column is not a nugget"
                    " (--nuggets-in-qrels yes if it is one)",
                )
        queries, total = len(columns.queries), len(lowest)
        plain = self._copied()
        plain.without = True
        plain._columns = columns._replace(
            # A query without nuggets stays without.
            listed=array("i", [min(1, number) for number in columns.listed]),
            pairs=array("q", range(total + 1)),
            # Zeros: every document supports the one nugget `0`, in so far as its grade says.
            nugget=array("i", bytes(4 * total)),
            grade=lowest if self.fractional else array("i", cast("list[int]", lowest)),
            nugget_ids=b"0" * queries,
            nugget_ends=array("q", range(queries + 1)),
        )
        # cached_property keeps its value in __dict__; what was made of the old columns must be made anew.
        for kept in ("topics", "highest", "most_nuggets", "_grades", "_first_nugget", "_ideals"):
            plain.__dict__.pop(kept, None)
        return plain

    def _copied(self) -> Self:
        """Return a copy that still knows where it is from, and what the compiled reader did not keep."""
        copy: Self = type(self).__new__(type(self))
        copy.__dict__.update(self.__dict__)
        return copy

    def with_weights(self, weights: Sequence[Sequence[float] | None]) -> Qrels:
        """Return the same judgements; the nuggets of each query weigh so much, None where all weigh alike."""
        weighed = self._copied()
        weighed.weights = weights
        # cached_property keeps its value there; topics know the weights.
        weighed.__dict__.pop("topics", None)
        return weighed

    def share_below(self, rel: int) -> float:
        """Return the share of judgements that say a document is not relevant."""
        kept = self._columns.grade
        dropped = self._columns.rows - len(kept)
        below = dropped if self.floor >= rel else dropped + len([grade for grade in kept if grade < rel])
        return below / max(self._columns.rows, 1)

    def documents(self) -> Iterator[tuple[str, Sequence[str], Sequence[int | float]]]:
        """Return each query with its documents and their grades: the highest that any nugget gives."""
        for number, query in enumerate(self.query_ids):
            first, last = self._columns.docs[number], self._columns.docs[number + 1]
            yield query, self._names(first, last), self._grades[first:last]

    # What judgements that are made of something else, such as spans, know besides.

    is_complete = False  # whether a document that is not judged is known to be not relevant
    looks_at_run = False  # whether what a run holds is looked at, beyond its judged documents
    # By query and document: the nuggets that it may support, of which nobody knows.
    undecided: Mapping[str, Mapping[str, Collection[str]]] = MappingProxyType({})
    provenance: Mapping[str, str] = MappingProxyType({})  # what signatures say of where they are from

    def remarks(self) -> Iterable[Remark]:
        """Return what should be known of how they were made."""
        return ()

    def refuse_undecided(self, way: str) -> None:
        """Raise `InputError` where documents are undecided, and numbers are ranges; `way` is the way out."""

    def refuse_other_documents(self, name: str, read: Callable[[], Run]) -> None:
        """Raise `InputError` for a run of this name with documents that cannot be judged; `read` reads it."""

    def require_spans(self, measure: Measure) -> None:
        """Raise `MeasureError`, as a measure of spans cannot be computed from judgements of documents."""
        raise MeasureError(
            f"{measure} needs gold spans: give a file of spans, with --chunks and --sources (in Python what"
            " rageval.spans.project returns)"
        )

    def supporting(self, rel: int) -> dict[str, dict[str, set[str]]]:
        """Return the documents that support each nugget of each query, by grades from `rel`."""
        documents: dict[str, dict[str, set[str]]] = {
            query: {nugget: set() for nugget in self.nuggets(query)} for query in self.query_ids
        }
        for row in self:
            if row.relevance >= rel:
                documents[row.query_id][row.iteration].add(row.doc_id)
        return documents

    def coverings(self, rankings: Mapping[str, Iterable[str]]) -> Iterable[Covering]:
        """Return what each query's ranked chunks cover of the sources; of documents nothing is known."""
        return ()

    def fingerprint(self) -> Fingerprint | None:
        """Return what distinguishes them from others; None where they differ by run."""
        return Fingerprint(self)

    def digest(self) -> str:
        """Return the digest of their sorted lines, whatever file, order or packing they came in."""
        return digest(sorted(f"{row.query_id} {row.iteration} {row.doc_id} {row.relevance}" for row in self))

    @cached_property
    def highest(self) -> int | float:
        """The highest grade of a document."""
        return max(0, max(self._columns.grade, default=0))

    @cached_property
    def _grades(self) -> list[int | float]:
        columns = self._columns
        if len(columns.grade) == len(columns.pairs) - 1:
            return list(columns.grade)
        return [max(columns.grade[first:last]) for first, last in pairwise(columns.pairs)]

    def __len__(self) -> int:
        return self._columns.rows

    @property
    def is_empty(self) -> bool:
        """Whether it names queries alone, and neither documents nor nuggets: nobody judged anything."""
        return not (len(self) or self.is_complete or any(self._columns.listed))

    def __iter__(self) -> Iterator[Qrel]:
        columns = self._columns
        for number, query in enumerate(self.query_ids):
            first, nuggets = columns.docs[number], self.nuggets(query)
            docs = self._names(first, columns.docs[number + 1])
            # By id, so that the same judgements give the same lines whichever reader read them.
            for index in sorted(range(len(docs)), key=docs.__getitem__):
                for pair in range(columns.pairs[first + index], columns.pairs[first + index + 1]):
                    yield Qrel(query, docs[index], columns.grade[pair], nuggets[columns.nugget[pair]])

    def __repr__(self) -> str:
        return (
            f"<Qrels {self.name!r}: {len(self):,} judgements of {len(self._columns.queries):,} queries"
            f" and {sum(self._columns.listed):,} nuggets>"
        )

    @property
    def can_travel(self) -> bool:
        """Whether all that is known can be sent: not what the compiled reader alone knows."""
        return self._below is not None or not any(self._columns.below)

    def __getstate__(self) -> dict[str, Any]:
        # What is cached can be made again there, and the compiled part's memory cannot travel.
        state = {name: value for name, value in self.__dict__.items() if name in _SENT}
        columns = Columns._make(_owned(self._columns))
        return state | {"_columns": columns, "_handle": None, "_places": {}, "origin": None}

    @cached_property
    def most_nuggets(self) -> int:
        """The most nuggets that a query has."""
        return max(self._columns.listed, default=0)

    def sums(
        self,
        queries: Sequence[int],
        borders: Sequence[int],
        document: Sequence[int],
        rank: Sequence[int],
    ) -> Sums | None:
        """Return the sums over rankings of these queries, by the compiled part; None where it has none.

        Ranking i holds the documents from borders[i] to borders[i + 1], at these ranks.
        """
        # The compiled part holds whole numbers, and knows no weights.
        if kernel is None or self.fractional or self.weights is not None:
            return None
        return _Sums(self, queries, borders, document, rank)

    @cached_property
    def _ideals(self) -> _Ideals | None:
        return _Ideals(self) if kernel is not None and not self.fractional else None

    @cached_property
    def _first_nugget(self) -> list[int]:
        return [0, *accumulate(self._columns.listed)]

    def _names(self, first: int, last: int) -> list[str]:
        return list(map(_decoded, _ids_between(self._columns.ids, self._columns.id_ends, first, last)))

    def _places_of(self, query: int) -> dict[bytes, int]:
        columns = self._columns
        names = _ids_between(columns.ids, columns.id_ends, columns.docs[query], columns.docs[query + 1])
        # Judged, but with a grade that no measure asks for: told apart from unjudged ones.
        places = dict.fromkeys(self._below[query] if self._below else (), NOT_KEPT)
        places.update((name, number) for number, name in enumerate(names))
        return places

    def _fed(self) -> Any:
        """Hand every document to the compiled reader as if it had read it; False if it refuses one."""
        handle = _empty_handle(1)
        for number, (query, docs, _) in enumerate(self.documents()):
            # Grades are not looked up there, only whether a document is kept (1) or below the floor (0).
            grades = dict.fromkeys(docs, 1)
            grades |= dict.fromkeys(map(_decoded, self._below[number] if self._below else ()), 0)
            if kernel.qrels_add(handle, query, _NO_NUGGET, grades):
                return False
        kernel.qrels_end(handle)
        return handle


def _empty_handle(floor: int) -> Any:
    """Return a compiled reader of judgements that come as dicts."""
    return kernel.qrels_new(floor, SEED, DEFAULT.record, DEFAULT.record, LARGEST_GRADE, True)


def collapsed(
    qrels: Qrels, rel: int | None = None, floor: int = EVERYTHING
) -> dict[str, dict[str, int | float]]:
    """Return {query: {document: grade}}, the grade being the highest over the query's nuggets.

    This is how ir_measures takes judgements of documents. With `rel`, 1 for a grade that reaches it and 0 for
    others; a grade below 0 that does not reach it stays as it is, as each provider has its own rule for
    those. What is below `floor` is not judged.
    """

    def shown(grade: int | float) -> int | float:
        return grade if rel is None else 1 if grade >= rel else floor_of(min(grade, 0))

    return {
        query: {doc: shown(grade) for doc, grade in zip(docs, grades, strict=True) if grade >= floor}
        for query, docs, grades in qrels.documents()
    }


def at_grade(qrels: Qrels, rel: int | None = None) -> list[Qrel]:
    """Return every judgement as a record; with `rel`, graded 1 if it reaches it, else 0."""
    records = list(qrels)
    return records if rel is None else [row._replace(relevance=int(row.relevance >= rel)) for row in records]


class Fingerprint:
    """Tells judgements from others; computed when it is asked for, as few ask and judgements may be many.

    >>> one, other = (Qrels.from_dict({"q": docs}) for docs in ({"a": 1, "b": 1}, {"b": 1, "a": 1}))
    >>> Fingerprint(one).differs(Fingerprint(other)), Fingerprint(one).differs(Fingerprint(text="1:0"))
    (False, False)
    """

    def __init__(self, qrels: Qrels | None = None, text: str = "") -> None:
        """Take the judgements, or what was computed of them before."""
        self._qrels, self._decoded = qrels, text

    @property
    def text(self) -> str:
        """The lowest grade that was kept, and a digest of what was kept, in whatever order it was read."""
        if self._qrels is not None:
            # Imported when it is asked for: a score by itself is not compared.
            import hashlib
            import json

            qrels, digest = self._qrels, hashlib.sha256()
            # A grade is the same number, whichever type a reader has for it.
            rows = ((row.query_id, row.doc_id, float(row.relevance), row.iteration) for row in qrels)
            for part in (sorted(qrels.query_ids), sorted(rows)):
                digest.update(json.dumps(part).encode())
            self._decoded, self._qrels = f"{qrels.floor}:{digest.hexdigest()[:16]}", None
        return self._decoded

    def differs(self, other: Fingerprint) -> bool:
        """Return whether the two are known to be of different judgements."""
        if self is other or (self._qrels is not None and self._qrels is other._qrels):
            return False
        (floor, _, digest), (other_floor, _, other_digest) = (
            fingerprint.text.partition(":") for fingerprint in (self, other)
        )
        # Judgements that were read for other measures lack the low grades that these look at.
        return floor == other_floor and digest != other_digest

    def __reduce__(self) -> tuple[Any, ...]:
        # Judgements are many, and are not sent with scores.
        return Fingerprint, (None, self.text)


def _owned(columns: Iterable[Any]) -> list[Any]:
    """Return columns that hold their content themselves, as what is sent has to."""
    return list(map(_owned_column, columns))


def _owned_column(column: Any) -> Any:
    if not isinstance(column, memoryview):
        return column
    # A view of the compiled part's memory, which ends with its handle: copy it before it is sent.
    if column.format == "B":
        return bytes(column)
    owned: array[int] = array(column.format)
    owned.frombytes(column.cast("B"))
    return owned


def _quick(column: Sequence[Any]) -> Sequence[Any]:
    """Return a column so that looking into it costs little, where it is not large."""
    # A list gives its numbers faster, an array or a view takes a quarter of the memory.
    return list(column) if len(column) <= _LARGE else column


def _parted_at_nuggets(inner: Mapping[Any, Any]) -> tuple[list[Any], list[Any], list[Any]]:
    """Return the documents, nuggets and grades of {nugget: {document: grade}}, or {document: grade} in it."""
    rows: list[tuple[Any, Any, Any]] = []
    for key, value in inner.items():
        if isinstance(value, Mapping):
            rows.extend((doc, key, grade) for doc, grade in value.items())
        else:
            # A grade in the place of a mapping: the keys are documents, and the one nugget is called 0.
            rows.append((key, _NO_NUGGET, value))
    docs, nuggets, grades = map(list, zip(*rows, strict=True)) if rows else ([], [], [])
    return docs, nuggets, grades


def _field_names(records: Sequence[Any]) -> list[str]:
    """Return the names of the fields of records: of all dicts, or of the first object."""
    if all(isinstance(record, Mapping) for record in records):
        return list(dict.fromkeys(str(name) for record in records for name in record))
    first = records[0]
    listed = getattr(first, "_fields", None) or getattr(first, "__struct_fields__", None)
    return list(listed or (*_FIELDS, *(name for name in NUGGET_COLUMNS if hasattr(first, name))))


def _regrouped(stretches: Sequence[QrelsRows]) -> QrelsRows:
    """Put the rows of each query together, otherwise in their old order."""
    if len(stretches) == 1 and stretches[0].docs:
        queries = stretches[0].queries
        first_of = begins(queries)
        if len({queries[row] for row in first_of}) == len(first_of):  # as they are, in most tables
            return stretches[0]
    of_query: dict[bytes, list[tuple[Any, ...]]] = {}
    for rows in stretches:
        # The first field is the name of the source, the same for all.
        for row in zip(*rows[1:], strict=True):
            of_query.setdefault(row[1], []).append(row)
    together = zip(*(row for rows in of_query.values() for row in rows), strict=True)
    return QrelsRows._make((stretches[0].source, *together))


def _whole_queries(stretches: Iterable[QrelsRows]) -> Iterator[QrelsRows]:
    """Part rows at their queries; one that goes on in the next stretch is put together."""
    waiting: list[QrelsRows] = []
    for rows in stretches:
        first, *others = begins(rows.queries)
        for last in (*others, len(rows.queries)):
            part = QrelsRows._make((rows.source, *(column[first:last] for column in rows[1:])))
            # The last query of a stretch may go on in the next one; it waits until another begins.
            if waiting and waiting[0].queries[0] != part.queries[0]:
                yield _joined(waiting)
                waiting = []
            waiting.append(part)
            first = last
    if waiting:
        yield _joined(waiting)


def _joined(parts: list[QrelsRows]) -> QrelsRows:
    if len(parts) == 1:
        return parts[0]
    columns = zip(*(part[1:] for part in parts), strict=True)
    return QrelsRows._make((parts[0].source, *([*chain.from_iterable(column)] for column in columns)))


def _as_dict(
    queries: Sequence[Any], nuggets: Sequence[Any], docs: Sequence[Any], grades: Sequence[float]
) -> dict[str, Any] | None:
    """Return columns as `from_dict` takes them; None if a dict does not hold the same in the same order."""
    if set(nuggets) == {_NO_NUGGET}:
        return grouped(queries, docs, grades)
    pairs = list(zip(queries, nuggets, strict=True))
    if set(map(type, chain(queries, nuggets, docs))) != {str} or len(set(pairs)) != len(begins(pairs)):
        return None
    judgements: dict[str, dict[str, dict[str, float]]] = {}
    for query, nugget, doc, grade in zip(queries, nuggets, docs, grades, strict=True):
        judgements.setdefault(query, {}).setdefault(nugget, {})[doc] = grade
    rows = sum(len(of) for by_nugget in judgements.values() for of in by_nugget.values())
    return judgements if rows == len(docs) else None


class _Topic:
    """The judgements of one query: documents and nuggets numbered, pairs of these by document."""

    def __init__(self, rows: QrelsRows, floor: int) -> None:
        self.query = rows.queries[0]
        every = set(rows.docs)
        kept = rows if len(every) == len(rows.docs) else _without_repetitions(rows)
        self.rows = len(kept.docs)
        self.nuggets = _numbered(kept.nuggets)
        self.one_nugget_a_document = len(every) == self.rows
        self.fractional = float in set(map(type, kept.grades))
        if self.fractional and floor != EVERYTHING:
            raise Fractional
        if floor != EVERYTHING:
            is_kept = [grade >= floor for grade in kept.grades]
            docs, nuggets = list(compress(kept.docs, is_kept)), list(compress(kept.nuggets, is_kept))
            kept = kept._replace(docs=docs, nuggets=nuggets, grades=list(compress(kept.grades, is_kept)))
        self.docs = _numbered(kept.docs)
        if len(self.nuggets) < 2 and self.one_nugget_a_document and len(self.docs) == len(every):
            # The usual of judgements without nuggets: nothing is to be sorted.
            self.below = frozenset[bytes]()
            self.nugget, self.grade, self.sizes = [0] * self.rows, list(kept.grades), [1] * self.rows
            return
        self.below = frozenset(every - self.docs.keys()) if len(every) > len(self.docs) else frozenset()
        width = len(self.nuggets)
        # A pair of document and nugget as one number, so that sorting needs no tuples.
        keys = [
            self.docs[doc] * width + self.nuggets[name]
            for doc, name in zip(kept.docs, kept.nuggets, strict=True)
        ]
        grades = dict(zip(keys, kept.grades, strict=True))
        keys.sort()
        self.nugget = [key % width for key in keys]
        self.grade = [grades[key] for key in keys]
        pair_counts = Counter(key // width for key in keys)
        # How many pairs each document has.
        self.sizes = [pair_counts[number] for number in range(len(self.docs))]


def _numbered(names: Sequence[bytes]) -> dict[bytes, int]:
    """Return numbers for the names, in order of first appearance."""
    return dict(zip(dict.fromkeys(names), count(), strict=False))


def _without_repetitions(rows: QrelsRows) -> QrelsRows:
    """Return the rows with equal judgements once; `InputError` if two of them contradict one another."""
    pairs = list(zip(rows.nuggets, rows.docs, strict=True))
    if len(set(pairs)) == len(pairs):
        return rows
    first: dict[tuple[bytes, bytes], int] = {}
    repetitions = [(row, first[pair]) for row, pair in enumerate(pairs) if first.setdefault(pair, row) != row]
    conflicts = [(row, earlier) for row, earlier in repetitions if rows.grades[row] != rows.grades[earlier]]
    if conflicts:
        complaints = Complaints()
        for row, earlier in conflicts:
            complaints.add(_conflict(rows, row, earlier))
        raise complaints.error()
    kept = list(first.values())
    return QrelsRows._make((rows.source, *([column[row] for row in kept] for column in rows[1:])))


def _conflict(rows: QrelsRows, row: int, earlier: int) -> InputError:
    return InputError(
        f"document {visible(rows.docs[row])}, nugget {visible(rows.nuggets[row])} of query"
        f" {visible(rows.queries[row])} is judged {rows.grades[row]} here but {rows.grades[earlier]} in line"
        f" {rows.lines[earlier]}",
        at=Place(rows.source, rows.lines[row]),
        remedy="remove the wrong one",
    )


def _with_unsupported(
    topics: list[_Topic], name: str, unsupported: Sequence[tuple[bytes, bytes]]
) -> list[_Topic]:
    by_query = {topic.query: topic for topic in topics}
    for query, nugget in unsupported:
        if query not in by_query:
            by_query[query] = _Topic(QrelsRows(name, (), (query,), (), (), ()), EVERYTHING)
        by_query[query].nuggets.setdefault(nugget, len(by_query[query].nuggets))
    return list(by_query.values())


def _together(topics: Iterable[_Topic]) -> tuple[Columns, list[frozenset[bytes]]]:
    """Put the judgements of all queries under one another; what is below the floor stands beside."""
    rows, plain = 0, True
    seen: dict[bytes, None] = {}
    below: list[frozenset[bytes]] = []
    listed, lost, nugget, whole = (array("i") for _ in range(4))
    grade: array[int] | list[int | float] = whole
    docs, pairs, ids, nugget_ids = (array("q", [0]) for _ in range(4))  # ends
    texts: list[bytes] = []
    nugget_texts: list[bytes] = []
    for topic in topics:
        if topic.query in seen:
            raise Scattered
        seen[topic.query] = None
        rows, plain = rows + topic.rows, plain and topic.one_nugget_a_document
        below.append(topic.below)
        listed.append(len(topic.nuggets))
        lost.append(len(topic.below))
        nugget.extend(topic.nugget)
        if topic.fractional and grade is whole:
            grade = list(whole)
        grade.extend(topic.grade)  # type: ignore[arg-type]  # an array has been given whole numbers only
        docs.append(docs[-1] + len(topic.docs))
        pairs.extend(_ends_of_sizes(topic.sizes, pairs[-1]))
        for names, ends, kept in ((topic.docs, ids, texts), (topic.nuggets, nugget_ids, nugget_texts)):
            ends.extend(_ends_of_sizes(map(len, names), ends[-1]))
            kept.append(b"".join(names))
    columns = (docs, pairs, nugget, grade, b"".join(texts), ids, b"".join(nugget_texts), nugget_ids)
    return Columns(rows, plain, list(seen), listed, lost, *columns), below


def _ends_of_sizes(sizes: Iterable[int], before: int) -> Iterator[int]:
    """Return where each of these ends, behind so much that was before."""
    ends = accumulate(sizes, initial=before)
    next(ends)
    return ends


def _ids_between(blob: bytes | memoryview, ends: Sequence[int], first: int, last: int) -> list[bytes]:
    """Return the ids from one number to another."""
    places = list(ends[first : last + 1])
    return [bytes(blob[begin:end]) for begin, end in pairwise(places)]


class _Sums:
    """Sums over many rankings, by the compiled part: bit by bit what the formulas of `measures` give.

    Ranking i holds the documents from borders[i] to borders[i + 1], at these ranks, or at 1, 2, ….
    """

    def __init__(
        self,
        qrels: Qrels,
        queries: Sequence[int],
        borders: Sequence[int],
        document: Sequence[int],
        rank: Sequence[int],
    ) -> None:
        self._qrels = qrels
        first = array("q", map(qrels._columns.docs.__getitem__, queries))
        self._rankings = first, borders, rank, document
        self._deepest = max(rank) if len(rank) else max(map(sub, borders[1:], borders), default=0)
        self._kept: dict[Any, Any] = {}

    def gains(self, k: int | None, alpha: float, rel: int, discount: Discount) -> list[float]:
        """Return Σ gain · discount(rank) of each ranking, to rank k, its gains as of `Ranking.gains`."""
        totals: list[float] | None = self._kept.get((k, alpha, rel, discount))
        if totals is None:
            # A nugget is seen once a rank at most.
            worth = novelties(2 ** self._depth(k).bit_length(), alpha)
            totals = self._summed(k, self._qrels._columns.nugget, worth, discount, rel)
            self._kept[k, alpha, rel, discount] = totals
        return totals

    def dcg(self, k: int | None, dcg: str) -> list[float] | None:
        """Return Σ gain / log2(1 + rank) of each ranking, to rank k, its gains as of `graded_gains`."""
        totals: list[float] | None = self._kept.get((k, dcg))
        if totals is None and self._qrels.highest <= _FEW_GRADES:
            worth = [graded_gain(grade, dcg) for grade in range(int(self._qrels.highest) + 1)]
            totals = self._kept[k, dcg] = self._summed(k, _IN_ORDER, worth, logarithmic)
        return totals

    def found(self, k: int | None, rel: int) -> list[int] | None:
        """Return how many documents of the top k are relevant, where these have a grade above 0."""
        counts: list[int] | None = self._kept.get((k, rel))
        if counts is None and rel > 0 and self._qrels.highest <= _FEW_GRADES:
            worth = [float(grade >= rel) for grade in range(int(self._qrels.highest) + 1)]
            counts = self._kept[k, rel] = list(map(int, self._summed(k, _IN_ORDER, worth, _undiscounted)))
        return counts

    def _depth(self, k: int | None) -> int:
        return self._deepest if k is None else min(k, self._deepest)

    def _summed(
        self,
        k: int | None,
        nugget: Sequence[int],
        worth: Sequence[float],
        discount: Discount,
        rel: int = 0,
    ) -> list[float]:
        columns, depth = self._qrels._columns, self._depth(k)
        judged = columns.pairs, nugget, columns.grade
        factors = array("d", worth), _discounts(discount, depth)
        totals = kernel.gain_sums(*self._rankings, *judged, *factors, self._qrels.most_nuggets, rel, depth)
        return array("d", totals).tolist()


def _undiscounted(rank: int) -> float:
    return 1.0


@lru_cache(maxsize=64)
def _discounts(discount: Discount, depth: int) -> array[float]:
    """Return what each rank is worth, from 0, which is none, to this depth."""
    return array("d", [0.0, *map(discount, range(1, depth + 1))])


class _Orders(NamedTuple):
    """The orders of all queries under one another, to some rank, and where each query's begin."""

    depth: int
    document: Sequence[int]
    begin: Sequence[int]


class _Ideals:
    """Each query's ideal rankings, by the compiled part: the greedy one, and the one by grade.

    The order of documents in the greedy one is as deep as anybody has asked for yet.
    """

    def __init__(self, qrels: Qrels) -> None:
        self._qrels = qrels
        docs = qrels._columns.docs
        self._most = max(map(sub, docs[1:], docs), default=0)
        self._orders: dict[tuple[float, int], _Orders] = {}
        self._sums: dict[Any, list[float]] = {}

    def order(self, query: int, k: int | None, alpha: float, rel: int) -> Sequence[int]:
        """Return the documents of a query's greedy ideal ranking, to rank k or deeper."""
        orders = self._to(k, alpha, rel)
        return orders.document[orders.begin[query] : orders.begin[query + 1]]

    def gains(self, k: int | None, alpha: float, rel: int, discount: Discount) -> list[float]:
        """Return Σ gain · discount(rank) of each query's greedy ideal ranking, to rank k."""
        key = k, alpha, rel, discount
        totals = self._sums.get(key)
        if totals is None:
            _, document, begin = self._to(k, alpha, rel)
            sums = _Sums(self._qrels, range(len(begin) - 1), begin, document, _IN_ORDER)
            totals = self._sums[key] = sums.gains(*key)
        return totals

    def dcg(self, k: int | None, dcg: str) -> list[float] | None:
        """Return Σ gain / log2(1 + rank) of each query's documents by grade, the best first, to rank k."""
        return self._by_grade.dcg(k, dcg)

    def found(self, k: int | None, rel: int) -> list[int] | None:
        """Return how many documents are relevant among the k best of each query."""
        return self._by_grade.found(k, rel)

    @cached_property
    def _by_grade(self) -> _Sums:
        docs, document = self._qrels._columns.docs, array("i")
        for first, last in pairwise(docs):
            grades = self._qrels._grades[first:last]
            document.extend(sorted(range(last - first), key=grades.__getitem__, reverse=True))
        return _Sums(self._qrels, range(len(docs) - 1), docs, document, _IN_ORDER)

    def _to(self, k: int | None, alpha: float, rel: int) -> _Orders:
        """Find all orders to rank k, and at least twice as deep as before."""
        orders = self._orders.get((alpha, rel))
        if orders is not None and orders.depth >= min(_DEEP if k is None else k, self._most):
            return orders
        depth = (
            self._most if k is None else min(max(k, 0 if orders is None else 2 * orders.depth), self._most)
        )
        worth = array("d", novelties(depth, alpha))
        c = self._qrels._columns
        columns = c.docs, c.pairs, c.nugget, c.grade, c.ids, c.id_ends
        order, ends = kernel.ideal_orders(*columns, worth, self._qrels.most_nuggets, rel, depth)
        document, begin = memoryview(order).cast("i"), array("q", [0, *memoryview(ends).cast("q")])
        orders = self._orders[alpha, rel] = _Orders(depth, document, begin)
        return orders
