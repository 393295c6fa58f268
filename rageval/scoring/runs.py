"""A run in memory, and the one order of its documents: scores descending, equal scores by a stated rule."""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from operator import eq, ne
from typing import TYPE_CHECKING, Any, NamedTuple

from rageval.errors import InputError, Place
from rageval.files.objects import column_of, columns_of, columns_of_frame, finite, grouped, ids, mappings
from rageval.files.opening import Complaints
from rageval.files.trec import RunRows
from rageval.records import ScoredDoc
from rageval.text import visible

if TYPE_CHECKING:
    from typing import SupportsFloat

    from rageval.files.objects import AnyRecord, Frame, RetrievedRecord


EVERYTHING = -(2**31)  # below any grade
DOC_SCORES = "{doc: score}"  # of each query, where a run is a dict
_FIELDS = ("query_id", "doc_id", "score")
_LONGEST_RANK = 8
_COUNTED = [[b"%d" % rank for rank in range(start, 1002)] for start in (0, 1)]


class Order(NamedTuple):
    """How documents are ordered.

    `ties`: `trec` (by document id descending), `docid_asc`, `input` (as they stand in the file), `rank`
    (by the rank column), `error`. `single` compares scores as 32-bit floats, as trec_eval before 10 did.
    `pool` keeps only the first documents by score and input order before anything else, as FreshStack.
    `by_rank` goes by the rank column alone, whatever the scores are, as ndeval.
    """

    ties: str = "trec"
    single: bool = False
    pool: int | None = None
    by_rank: bool = False


class View(NamedTuple):
    """What of a run counts: the order, how deep, and whether unjudged documents are taken out first.

    A document graded below `floor` is one that nobody judged.
    """

    order: Order = Order()
    depth: int | None = None
    judged_only: bool = False
    floor: int = EVERYTHING


class Scattered(Exception):
    """A query's rows are not all adjacent."""


class Documents(NamedTuple):
    """What a run holds for one query, as it stands there: a list a column, and the number of each line."""

    source: str
    query: bytes
    lines: Sequence[int]
    docs: Sequence[bytes]
    scores: Sequence[float]
    ranks: Sequence[bytes] | None = None

    def where(self, row: int) -> Place:
        """Return file and line of a row, for error messages."""
        return Place(self.source, self.lines[row])

    def ranked(self, order: Order) -> _Ranked:
        """Order the documents of a query."""
        keys = _keys(self, order)
        # Most runs are in order already: one comparison of lists then saves sorting by key.
        ordered = sorted(keys, reverse=True)
        is_sorted = ordered == keys
        are_tied = any(map(eq, ordered[1:], ordered))
        if is_sorted and not are_tied:
            return _Ranked(range(len(keys)), ordered)
        # sorted is stable, also with reverse: rows of equal score stay as they stand in the file.
        rows = list(range(len(keys)))
        if not is_sorted:
            rows.sort(key=keys.__getitem__, reverse=True)
        if not are_tied:
            return _Ranked(rows, ordered)
        equal = [*map(eq, ordered[1:], ordered), False]  # to the next
        last = 0
        # From one group of equal scores to the next.
        while True in equal[last:]:
            first = equal.index(True, last)
            last = equal.index(False, first)
            rows[first : last + 1] = _by_rule(self, rows[first : last + 1], first, order)
        return _Ranked(rows, ordered)

    def in_order(self, ranked: _Ranked) -> Sequence[bytes]:
        """Return the documents, best first."""
        if isinstance(ranked.rows, range):  # as they stand
            return self.docs
        return list(map(self.docs.__getitem__, ranked.rows))


def _of_dict(ranking: Mapping[Any, Mapping[Any, SupportsFloat]], name: str) -> Iterator[Documents]:
    """Read `{query_id: {doc_id: score}}`."""
    row = 1
    for query, scores_by_doc in mappings(ranking, name, DOC_SCORES):
        docs = ids(scores_by_doc, name, "doc_id", row)
        if docs:
            (query_id,) = ids((query,), name, "query_id", row)
            scores = finite(scores_by_doc.values(), name, "score", row)
            documents = Documents(name, query_id, range(row, row + len(docs)), docs, scores)
            # Keys differ; a number and a text may be the same id.
            yield documents if set(map(type, scores_by_doc)) == {str} else _closed(documents, None)
        row += len(docs)


def whole_queries(
    stretches: Iterable[RunRows], dedup: str | None = None, requested: Container[bytes] | None = None
) -> Iterator[Documents]:
    """Part rows at their queries; `Scattered` where one comes again, `InputError` for a document twice.

    Queries that are not `requested` come without rows.
    """
    finished: set[bytes] = set()
    waiting: Documents | None = None  # it may go on in the next stretch
    for rows in stretches:
        for documents in _parted(rows, requested):
            # The stretch ended within the query; its rest is put behind.
            if waiting is not None and waiting.query == documents.query:
                waiting = _joined(waiting, documents)
                continue
            if waiting is not None:
                yield _closed(waiting, dedup)
                finished.add(waiting.query)
            # The query came before: its rows lie apart, and the caller puts them together first.
            if documents.query in finished:
                raise Scattered
            waiting = documents
    if waiting is not None:
        yield _closed(waiting, dedup)


def begins(names: Sequence[object]) -> list[int]:
    """Return where each stretch of equal names begins."""
    # map over two lists compares in C; a loop in Python would be slower, and this is done for every row.
    changes = list(map(ne, names[1:], names))
    starts, position = [0], -1
    try:
        while True:
            position = changes.index(True, position + 1)
            starts.append(position + 1)
    except ValueError:
        return starts


def _parted(rows: RunRows, requested: Container[bytes] | None) -> Iterator[Documents]:
    source, lines, queries, docs, scores, ranks = rows
    first, *others = begins(queries)
    for last in (*others, len(queries)):
        query = queries[first]
        part = slice(first, last if requested is None or query in requested else first)
        yield Documents(
            source,
            query,
            lines[part],
            docs[part],
            scores[part],
            None if ranks is None else ranks[part],
        )
        first = last


def _joined(one: Documents, other: Documents) -> Documents:
    ranks = None if one.ranks is None or other.ranks is None else [*one.ranks, *other.ranks]
    columns = ([*mine, *theirs] for mine, theirs in zip(one[2:5], other[2:5], strict=True))
    return Documents._make((one.source, one.query, *columns, ranks))


def _closed(documents: Documents, dedup: str | None) -> Documents:
    """Return a query's rows, with no document twice: refused, or dropped where that is asked for."""
    if len(set(documents.docs)) == len(documents.docs):
        return documents
    first: dict[bytes, int] = {}
    # setdefault returns the first row of a document, and notes this one if it is the first.
    repetitions = [
        (row, first[doc]) for row, doc in enumerate(documents.docs) if first.setdefault(doc, row) != row
    ]
    if dedup == "first":
        kept = list(first.values())
        columns = (None if column is None else [column[row] for row in kept] for column in documents[2:])
        return Documents._make((documents.source, documents.query, *columns))
    complaints = Complaints()
    for row, earlier in repetitions:
        problem = (
            f"document {visible(documents.docs[row])} is ranked twice for query {visible(documents.query)}"
        )
        complaints.add(
            InputError(
                f"{problem}, first in line {documents.lines[earlier]}",
                at=documents.where(row),
                remedy="remove one, or keep the first with --dedup first (dedup='first')",
            )
        )
    raise complaints.error()


class _Ranked(NamedTuple):
    """The rows of a query in their order, best first, and each one's score as far as it orders them."""

    rows: Sequence[int]
    keys: Sequence[float]

    def tied_at(self, cutoff: int) -> bool:
        """Return whether the documents right above and right below a cut-off have equal scores."""
        return len(self.keys) > cutoff and self.keys[cutoff - 1] == self.keys[cutoff]


def _keys(documents: Documents, order: Order) -> list[float]:
    if order.by_rank:
        return [-float(rank) for rank in _rank_column(documents)]
    if order.single:
        # A round trip through 32 bits makes those scores equal that trec_eval 9 could not tell apart.
        return array("f", documents.scores).tolist()
    return list(documents.scores)


def _by_rule(documents: Documents, group: Sequence[int], before: int, order: Order) -> Sequence[int]:
    """Order rows of equal score, behind so many others; they come as they stand in the file."""
    if order.by_rank:
        first, second = sorted(group)[:2]
        raise InputError(
            at=documents.where(second),
            problem=f"has the rank of line {documents.lines[first]}",
            remedy="ndeval orders by rank alone and rejects this: give each document its own rank, or"
            " use --compat ndeval-traditional, which orders by score",
        )
    if order.ties == "error":
        first, second = group[:2]
        tied = sum(count - 1 for count in Counter(documents.scores).values())
        raise InputError(
            at=documents.where(second),
            problem=f"score {documents.scores[second]:g} is tied with line {documents.lines[first]} ({tied:,}"
            f" tied rows of query {visible(documents.query)}), rejected by --ties error",
            remedy="choose a rule, such as --ties trec",
        )
    # Those inside the pool stay before those outside it, whatever the rule says within each part.
    inside = len(group) if order.pool is None else max(0, order.pool - before)
    put_in_order = TIE_ORDERS[order.ties]
    return [*put_in_order(documents, group[:inside]), *put_in_order(documents, group[inside:])]


# How each rule orders rows of equal score, which come as they stand in the file.
TIE_ORDERS: Mapping[str, Callable[[Documents, Sequence[int]], Sequence[int]]] = {
    "trec": lambda documents, group: sorted(group, key=documents.docs.__getitem__, reverse=True),
    "docid_asc": lambda documents, group: sorted(group, key=documents.docs.__getitem__),
    "input": lambda documents, group: group,
    "rank": lambda documents, group: sorted(group, key=_rank_column(documents).__getitem__),
}


def _rank_column(documents: Documents) -> list[int]:
    if documents.ranks is None:
        raise InputError(
            at=Place(documents.source),
            problem="has no rank column, which ties='rank' and compat='ndeval' need",
            remedy="choose another rule",
        )
    # One look at all digits together; `int` would take signs, spaces and underscores, too.
    if not b"".join(documents.ranks).isdigit() or len(max(documents.ranks, key=len)) > _LONGEST_RANK:
        raise InputError(
            at=Place(documents.source),
            problem=f"the rank column holds more than whole numbers of up to {_LONGEST_RANK} digits",
            remedy="choose another --ties or --compat",
        )
    return list(map(int, documents.ranks))


def _contradicts(documents: Documents, ranked: _Ranked) -> bool:
    """Return whether two neighbouring rows have ranks that say the opposite of their scores.

    Only ranks that are whole numbers say anything.
    """
    ranks, scores = documents.ranks, documents.scores
    if ranks is None or len(ranks) < 2:
        return False
    if ranked.keys == list(scores) and list(ranks) == _COUNTED[ranks[0] != b"0"][: len(ranks)]:
        return False  # the usual: sorted, and counted
    numbers = [int(rank) if rank.isdigit() and len(rank) <= _LONGEST_RANK else None for rank in ranks]
    for index in range(1, len(ranks)):
        before, here = numbers[index - 1], numbers[index]
        if before is None or here is None or before == here:
            continue
        low, high = (index - 1, index) if before < here else (index, index - 1)
        if scores[low] < scores[high]:
            return True
    return False


class Run:
    """Ranked documents a query. Make one with `read_run`, `from_dict`, `from_records` or `from_pandas`.

    >>> run = Run.from_dict({"q1": {"d1": 2.5, "d2": 1.0}})
    >>> run.name, len(run), run.query_ids
    ('run', 2, ['q1'])
    >>> list(run)[0]
    ScoredDoc(query_id='q1', doc_id='d1', score=2.5)
    """

    def __init__(
        self,
        name: str,
        queries: Iterable[Documents] = (),
        ranking: Mapping[str, Mapping[str, SupportsFloat]] | None = None,
    ) -> None:
        """Take what it holds for each query, or a dict of dicts, read when somebody looks into it."""
        self.name = name
        self.ranking = ranking
        if ranking is None:
            self.queries = list(queries)

    @cached_property
    def queries(self) -> list[Documents]:
        """What the run holds for each query."""
        return list(_of_dict(self.ranking or {}, self.name))

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
        return cls(name, _of_dict(ranking, name))

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
        return cls._from_columns([column_of(frame, column, name) for column in columns], name, dedup)

    @classmethod
    def _from_columns(cls, columns: list[Any], name: str, dedup: str | None = None) -> Run:
        query_id, doc_id, score = columns or ((), (), ())
        docs, queries = ids(doc_id, name, "doc_id"), ids(query_id, name, "query_id")
        scores = finite(score, name, "score")
        # The compiled reader takes dicts, and whoever looks into the run gets its rows.
        if ranking := grouped(query_id, doc_id, scores):
            return cls(name, ranking=ranking)
        rows = RunRows(name, range(1, len(docs) + 1), queries, docs, scores)
        return cls.of_rows(name, [rows] if docs else [], dedup)

    @property
    def query_ids(self) -> list[str]:
        """The queries, in order of first appearance."""
        return [_decoded(documents.query) for documents in self.queries]

    def __len__(self) -> int:
        return sum(len(documents.docs) for documents in self.queries)

    def __iter__(self) -> Iterator[ScoredDoc]:
        for documents in self.queries:
            query = _decoded(documents.query)
            for doc, score in zip(documents.docs, documents.scores, strict=True):
                yield ScoredDoc(query, _decoded(doc), score)

    def ranked(self, order: Order | None = None) -> Iterator[tuple[str, list[str]]]:
        """Return every query with its documents, best first."""
        return documents_of(self.queries, order)

    def __repr__(self) -> str:
        return f"<Run {self.name!r}: {len(self):,} documents of {len(self.queries):,} queries>"


def documents_of(queries: Iterable[Documents], order: Order | None = None) -> Iterator[tuple[str, list[str]]]:
    """Return every query with its documents, best first."""
    for documents in queries:
        rows = documents.ranked(order or Order()).rows
        yield _decoded(documents.query), [_decoded(documents.docs[row]) for row in rows]


def _together(stretches: Iterable[RunRows]) -> Iterator[RunRows]:
    """Put the rows of each query together, otherwise in their old order."""
    of_query: defaultdict[bytes, list[tuple[Any, ...]]] = defaultdict(list)
    ranked, source = True, ""
    for rows in stretches:
        source, ranked = rows.source, ranked and rows.ranks is not None
        ranks = [None] * len(rows.docs) if rows.ranks is None else rows.ranks
        for row in zip(*rows[1:5], ranks, strict=True):
            of_query[row[1]].append(row)
    for query_rows in of_query.values():
        *columns, ranks = zip(*query_rows, strict=True)
        yield RunRows._make((source, *columns, ranks if ranked else None))


def _decoded(name: bytes) -> str:
    return name.decode("utf-8", "surrogatepass")
