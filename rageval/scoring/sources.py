"""Whatever people hand over as a run or as judgements is read, and a run meets the judgements.

A run is joined whole or in pieces of whole queries, wherever these are read. What comes of a piece is not a
mean and not even a value, but what the values are computed from: a rank and a number for each judged
document, counts that add up. Putting pieces together is putting rows under one another, so no split can
change a digit.
"""

from __future__ import annotations

import os
import re
from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import compress, repeat
from numbers import Integral
from typing import Any, NamedTuple, TypeVar, cast

from rageval import hooks, subjects
from rageval.core.remark import Remark
from rageval.errors import InputError, Place, UsageError
from rageval.files import columnar
from rageval.files.columnar import columns_of_qrels
from rageval.files.kinds import WrongKind, kind_of, wrong_kind
from rageval.files.objects import ITERATIONS, mappings
from rageval.files.opening import (
    ASKED_FOR,
    DEFAULT,
    LARGEST_GRADE,
    Limits,
    Source,
    as_local_file,
    can_read_again,
    is_columnar,
    is_local_file,
    is_packed,
    is_remote,
    kept,
    limits_of,
    name_of,
    size_of,
    with_limits,
)
from rageval.files.start import EITHER, JUDGED_DOCUMENTS, RUNS, Kind
from rageval.files.trec import (
    COMMENTS,
    PLAIN,
    QRELS,
    RUN,
    LineForm,
    QrelsRows,
    Reading,
    RunRows,
    Text,
    as_text,
    qrels_rows,
    run_rows,
    run_rows_of,
    texts,
)
from rageval.kernel import SEED, kernel
from rageval.measures.ranking import Ranking, Topic
from rageval.records import is_frame
from rageval.scoring.qrels import (
    NOT_JUDGED,
    Columns,
    Fractional,
    Qrels,
    _owned,
    _regrouped,
    collapsed,
)
from rageval.scoring.runs import (
    DOC_SCORES,
    EVERYTHING,
    Documents,
    Order,
    Run,
    Scattered,
    View,
    _contradicts,
    whole_queries,
)
from rageval.text import visible, written_out

_Result = TypeVar("_Result")
_NOT_ASKED = -1
_APART = 2  # what the compiled reader says of a query whose rows lie apart
_SHARE = 2**26 if kernel is None else 2**27  # bytes of rows that are put in order in memory; lists take more
_PACKED_TO = 8  # what a compressed byte may become
_NOUNS = {RUNS: "a run", JUDGED_DOCUMENTS: "judgements of documents"}
_BY_NAME = re.compile(r"\.(json|tsv)")  # of files far away that are looked into: each look is a request
_MANIFEST = "manifest.json"  # of a collection that models judged: rageval.building.collection
_LONGEST_MANIFEST = 2**24  # bytes


class Piece(NamedTuple):
    """What a stretch of whole queries holds: its queries, and where judged documents stand in their rankings.

    `asked` are the numbers of the judged queries; a row each have `length`, how many documents are ranked,
    and `judged`, how many of these are, at whatever rank and grade. Documents whose judgements are kept stand
    from hits[i] to hits[i + 1], by `rank`, `doc` being their numbers.
    """

    queries: list[bytes]
    asked: Sequence[int]
    length: Sequence[int]
    judged: Sequence[int]
    hits: array[int] | memoryview[int]
    rank: array[int] | memoryview[int]
    doc: array[int] | memoryview[int]
    rows: int
    rank_conflicts: int
    shown: int  # documents down to the deepest cut-off, and how many of them are judged
    shown_judged: int
    tied_at: Sequence[int]  # a count a cut-off


@dataclass(slots=True)
class Notes:
    """What a reader should be told of a run beside its scores.

    `judged` is how many documents are judged of those retrieved for each query of the judgements, at whatever
    rank and grade; -1 where the run says nothing of the query.
    """

    queries_in_run: int = 0
    queries_only_in_run: int = 0
    queries_missing: int = 0
    queries_without_relevant: int = 0
    rows: int = 0
    rank_conflicts: int = 0
    retrieved: int = 0  # documents, of the queries that are judged
    shown: int = 0
    shown_judged: int = 0
    judged: list[int] = field(default_factory=list, compare=False)
    tied_at: Counter[int] = field(default_factory=Counter)
    read_here: Remark | None = None  # why workers, or parts, could not be read

    @property
    def nothing_relevant(self) -> bool:
        """Whether no query of the judgements has anything that is relevant."""
        return 0 < self.queries_without_relevant == len(self.judged)


class Joined(NamedTuple):
    """A run met with judgements: a ranking for each judged query, and what should be said of it."""

    queries: list[bytes]
    lengths: dict[int, int]  # how many documents it holds for each judged query
    rankings: list[Ranking]
    notes: Notes


class Joining(NamedTuple):
    """How a run meets the judgements; it can be sent to where a piece is read.

    Hits below rank `deepest` are forgotten at once: no measure will ask for them.
    """

    qrels: Qrels
    view: View
    cutoffs: tuple[int, ...] = ()
    deepest: int | None = None

    def piece(self, queries: Iterable[Documents]) -> Piece:
        """Join whole queries, one after the other."""
        names: list[bytes] = []
        # Arrays, not lists: a piece is sent between processes, and a number takes 4 or 8 bytes instead of 28.
        asked, rank, doc, length, judged, hits = (array(kind) for kind in "iiiqqq")
        tied: Counter[int] = Counter()
        rows = conflicts = shown_judged = 0
        # Hits of query i stand from hits[i] to hits[i + 1], so there is one border more than queries.
        hits.append(0)
        for documents in queries:
            names.append(documents.query)
            rows += len(documents.docs)
            order = documents.ranked(self.view.order)
            conflicts += _contradicts(documents, order)
            tied.update([cutoff for cutoff in self.cutoffs if order.tied_at(cutoff)])
            query = self.qrels.find(documents.query)
            # Counted above, for the remarks; not scored.
            if query < 0:
                continue
            # All documents of a query in one call, as the compiled part takes them.
            numbers = self.qrels.numbers(query, documents.in_order(order))
            unjudged = numbers.count(NOT_JUDGED)
            asked.append(query)
            length.append(len(numbers))
            judged.append(len(numbers) - unjudged)
            top = numbers[: self._top]
            shown_judged += len(top) - top.count(NOT_JUDGED)
            # Most documents of a deep run are unjudged: only judged ones are kept, with their ranks.
            if unjudged < len(numbers):
                kept = [
                    (position, number)
                    for position, number in enumerate(numbers[: self.deepest], 1)
                    if number >= 0
                ]
                rank.extend([position for position, _ in kept])
                doc.extend([number for _, number in kept])
            hits.append(len(rank))
        counts = array("q", [tied[cutoff] for cutoff in self.cutoffs])
        return Piece(
            names,
            asked,
            length,
            judged,
            hits,
            rank,
            doc,
            rows,
            conflicts,
            sum([min(number, self._top) for number in length]),
            shown_judged,
            counts,
        )

    def compiled(self, texts: Iterable[Text], source: Source, reading: Reading) -> Piece | None:
        """Join a run's text by the compiled reader; None if there is none, or what only the plain one reads.

        `InputError` for the lines at which it stopped, if one is wrong; `Scattered` if a query comes again.
        """
        if self._compiled_judgements is None:
            return None
        texts, reading = RUN.detect_tabs(texts, reading)
        limits = limits_of(source)
        handle = self._reader(limits.id, limits.line, bool(reading.tabbed))
        if not _fed(kernel.join_feed, handle, texts, RUN, source, reading):
            return None
        piece = Piece._make(kernel.join_end(handle))
        if not piece.rows:
            raise RUN.empty(name_of(source))
        # It may be sent, which views cannot be.
        return Piece._make(_owned(piece))

    def compiled_dict(self, ranking: Mapping[Any, Mapping[Any, Any]], name: str) -> Piece | None:
        """Join `{query: {doc: score}}` by the compiled reader; None if there is none, or something is odd."""
        if self._compiled_judgements is None:
            return None
        handle = self._reader(DEFAULT.record, DEFAULT.record, True)
        for query, docs in mappings(ranking, name, DOC_SCORES):
            if docs and kernel.join_add(handle, query, docs if type(docs) is dict else dict(docs)):
                return None
        return Piece._make(kernel.join_end(handle))

    def _reader(self, id_limit: int, line_limit: int, tabbed: bool) -> Any:
        """Return a compiled reader that joins."""
        deepest, cutoffs = -1 if self.deepest is None else self.deepest, array("i", self.cutoffs)
        return kernel.join_new(self._compiled_judgements, deepest, cutoffs, id_limit, line_limit, tabbed)

    @property
    def _compiled_judgements(self) -> Any:
        """The judgements as the compiled reader takes them; None where it cannot join."""
        depth = self.view.depth
        # What the compiled reader knows of orders and depths.
        is_usual = self.view.order == Order() and (depth is None or depth >= max(self.cutoffs, default=0))
        return self.qrels.compiled() if kernel is not None and is_usual else None

    @property
    def _top(self) -> int:
        """The deepest rank that is looked at for holes."""
        return min(max(self.cutoffs, default=0), self.view.depth or 2**31)

    def together(self, pieces: Sequence[Piece]) -> Joined:
        """Return the whole, from its pieces in their order; `Scattered` if a query lies in two of them."""
        topics = self.qrels.topics
        ranked: dict[int, Ranking] = {}
        notes = Notes(judged=[_NOT_ASKED] * len(topics))
        names: dict[bytes, None] = {}
        lengths: dict[int, int] = {}
        is_whole = self.view == View(self.view.order)
        for piece in pieces:
            notes.queries_in_run += len(piece.queries)
            notes.queries_only_in_run += len(piece.queries) - len(piece.asked)
            notes.rows += piece.rows
            notes.rank_conflicts += piece.rank_conflicts
            notes.retrieved += sum(piece.length)
            notes.shown += piece.shown
            notes.shown_judged += piece.shown_judged
            notes.tied_at.update(dict(zip(self.cutoffs, piece.tied_at, strict=True)))
            names.update(dict.fromkeys(piece.queries))
            lengths.update(zip(piece.asked, piece.length, strict=True))
            # What stands at the ranks of the run is summed up for all queries at once.
            sums = self.qrels.sums(piece.asked, piece.hits, piece.doc, piece.rank) if is_whole else None
            # Lists, of which a part is taken quicker than of an array.
            hits, ranks, docs = (column.tolist() for column in (piece.hits, piece.rank, piece.doc))
            rows = zip(piece.asked, piece.length, piece.judged, hits, hits[1:], strict=False)
            for place, (query, length, judged, first, last) in enumerate(rows):
                notes.judged[query] = judged
                topic, hit_columns = topics[query], (ranks[first:last], docs[first:last])
                if is_whole:
                    ranked[query] = Ranking(topic, *hit_columns, length, sums, place)
                else:
                    ranked[query] = self._seen(topic, *hit_columns, length)
        # Two pieces hold the same query: its rows lie apart, and neither ranking is whole.
        if len(names) < notes.queries_in_run:
            raise Scattered
        notes.queries_missing = len(topics) - (notes.queries_in_run - notes.queries_only_in_run)
        # A judged query that the run lacks has an empty ranking, and scores 0.
        rankings = [ranked.get(query) or Ranking(topic, (), (), 0) for query, topic in enumerate(topics)]
        return Joined(list(names), lengths, rankings, notes)

    def _seen(self, topic: Topic, ranks: list[int], documents: list[int], retrieved: int) -> Ranking:
        """Return what the view shows of a ranking."""
        view = self.view
        if view.floor != EVERYTHING:
            judged = [topic.grade(document) >= view.floor for document in documents]
            ranks, documents = list(compress(ranks, judged)), list(compress(documents, judged))
        # Taken out before the depth is applied, so that the depth counts judged documents.
        if view.judged_only:
            ranks, retrieved = list(range(1, len(documents) + 1)), len(documents)
        if view.depth is not None:
            # Ranks are in order, so the documents to a depth are a prefix.
            inside = bisect_right(ranks, view.depth)
            ranks, documents, retrieved = ranks[:inside], documents[:inside], min(retrieved, view.depth)
        return Ranking(topic, ranks, documents, retrieved)


@dataclass
class RunSource:
    """A run to be scored: in memory, or a file that is read as it is scored."""

    name: str
    table: Run | None = None
    path: Source | None = None
    reading: Reading = PLAIN
    dedup: str | None = None
    query_ids: list[str] = field(default_factory=list)  # once it was scored, and for each that is judged
    outline: dict[int, tuple[int, int]] = field(default_factory=dict)  # how many documents, and judged ones
    conversations: Mapping[str, str] = field(default_factory=dict)  # of the queries that are turns

    def __str__(self) -> str:
        return self.name

    @property
    def details(self) -> Mapping[str, str]:
        """What tells it from others beside its ranking, by query."""
        return {}

    @property
    def context(self) -> Mapping[str, str]:
        """What the signatures of its scores have, too: how the ranking was made."""
        return {}

    def require_measures(self, measures: Iterable[Any]) -> None:
        """Raise `MeasureError` for a measure that does not score runs."""
        subjects.require_kind(subjects.RUNS, measures)

    @property
    def may_be_grades(self) -> bool:
        """Whether it is only whole numbers in a dict or in JSON, all small enough to be grades."""
        if self.path is not None:
            kind = kind_of(self.path, self.reading) if is_local_file(self.path) else None
            return kind is not None and kind.holds == EITHER
        ranking = {} if self.table is None else self.table.ranking or {}
        scores = [score for docs in ranking.values() for score in docs.values()]
        return bool(scores) and all(
            isinstance(score, Integral) and abs(int(score)) <= LARGEST_GRADE for score in scores
        )

    def join(self, joining: Joining) -> Joined:
        """Let the run meet judgements; one whose queries lie scattered is read once more."""
        return self._remember_join(joining.together(self._pieces(joining)))

    def _remember_join(self, joined: Joined) -> Joined:
        # A file is read once: whoever asks later which runs are alike, or what ids it has, looks here.
        self.query_ids = [query.decode("utf-8", "surrogatepass") for query in joined.queries]
        judged = joined.notes.judged
        self.outline = {number: (length, judged[number]) for number, length in joined.lengths.items()}
        return joined

    def _pieces(self, joining: Joining) -> list[Piece]:
        if self.table is None and self.path is not None:
            self.path = kept(self.path)
            try:
                piece = compiled_piece(joining, self.path, self.reading)
            except Scattered:
                return self._read_scattered(self.path, partial(self._piece_of_each, joining))
        elif self.table is not None and self.table.ranking is not None:
            piece = joining.compiled_dict(self.table.ranking, self.table.name)
        else:
            piece = None
        return [self.each(joining.piece) if piece is None else piece]

    def _piece_of_each(self, joining: Joining, texts: Iterable[Text], reading: Reading) -> list[Piece]:
        """Join texts one after the other, so that only one of them is in memory."""
        return [
            joining.compiled([text], cast("Source", self.path), reading)
            or joining.piece(self._parted([text], reading))
            for text in texts
        ]

    def each(
        self, use: Callable[[Iterator[Documents]], _Result], requested: Container[bytes] | None = None
    ) -> _Result:
        """Hand over the rows of one query after the other, once more if it turns out that rows lie apart.

        Of queries that are not `requested` rows may be left out.
        """
        if (documents := self.documents_in_memory()) is not None:
            return use(documents)
        if self.path is None:
            raise UsageError(f"{self.name}: nothing to read")
        self.path = kept(self.path)
        try:
            return use(whole_queries(rows_of(self.path, self.reading), self.dedup, requested))
        except Scattered:
            return self._read_scattered(self.path, lambda lines, reading: use(self._parted(lines, reading)))

    def documents_in_memory(self) -> Iterator[Documents] | None:
        """Return what it holds for one query after the other, if it is in memory."""
        return None if self.table is None else iter(self.table.queries)

    def _parted(self, texts: Iterable[Text], reading: Reading) -> Iterator[Documents]:
        return whole_queries(run_rows_of(texts, cast("Source", self.path), reading), self.dedup)

    def _read_scattered(self, path: Source, use: Callable[[Iterator[Text], Reading], _Result]) -> _Result:
        """Read a run whose queries lie scattered over the file, the lines of each query together."""
        is_table = is_columnar(path)
        packed = is_table or is_packed(path)
        # Sorted share by share, so that no file needs as much memory as it has rows.
        shares = -(-size_of(path) * (_PACKED_TO if packed else 1) // _SHARE)
        if is_table:
            lines, reading = as_text(rows_of(path, self.reading)), Reading("data", tabbed=True)
        else:
            lines, reading = RUN.detect_tabs(texts(path), self.reading)
        with closing(RUN.together(lines, bool(reading.tabbed), max(1, shares))) as together:
            try:
                return use(together, reading)
            except InputError:
                for _ in rows_of(path, self.reading):  # what is wrong first in the order of the file
                    pass
                raise

    def run(self) -> Run:
        """Return the run, in memory."""
        if self.table is None:
            if self.path is None:
                raise UsageError(f"{self.name}: nothing to read")
            self.table = read_run(self.path, reading=self.reading, dedup=self.dedup)
        return self.table

    def in_memory(self) -> RunSource:
        """Return the same run, read now."""
        self.run()
        return self

    @property
    def is_stream(self) -> bool:
        """Whether it can be read once only, and only by this process."""
        return self.table is None and self.path is not None and not can_read_again(self.path)


def rows_of(source: Source, reading: Reading) -> Iterator[RunRows]:
    """Read the rows of a run, whichever form its file has."""
    if not is_columnar(source):
        return run_rows(source, reading)
    return columnar.run_rows(source)


def compiled_piece(joining: Joining, source: Source, reading: Reading) -> Piece | None:
    """Join a run by the compiled reader; None where that cannot read it."""
    if kernel is None or is_columnar(source):
        return None
    return joining.compiled(texts(source, numbered=False), source, reading)


def read_run(
    source: Source,
    *,
    dedup: str | None = None,
    comments: str = "error",
    limits: Limits | None = None,
    reading: Reading | None = None,
) -> Run:
    """Read a run from a TREC, Parquet or JSON file.

    Parameters
    ----------
    source
        A path, `-` for standard input, a file open in binary mode, or a URL (`https://…`, `s3://…`, `gs://…`,
        `hf://…`). Compressed files (gz, bz2, xz, zst) are known by their content.
    dedup
        `first` keeps the first of a document's rows instead of refusing the second.
    comments
        What to do with lines that begin with `#`: `error`, or `skip`.
    limits
        How large a line, a record or an id may be.
    reading
        How lines are read, as the command line hands it over, in place of `comments`.

    Returns
    -------
    Run
        The ranked documents of every query.
    """
    if dedup not in (None, "first"):
        raise UsageError(f"dedup={dedup!r}: expected 'first', or nothing to refuse duplicates")
    reading = reading or _reading(comments)
    source = as_local_file(with_limits(source, limits))
    kind = _kind_of_source(source, reading, RUNS)
    _refuse_other_kind(source, kind, RUNS)
    if kind is not None and kind.is_json:
        from rageval.files.retrieved import run_rows as rows_of_records

        return Run.of_rows(run_name(source), [rows_of_records(source)], dedup)
    return Run.of_rows(run_name(source), rows_of(source, reading), dedup)


def read_qrels(
    source: Source,
    *,
    comments: str = "error",
    limits: Limits | None = None,
    reading: Reading | None = None,
    floor: int = EVERYTHING,
) -> Qrels:
    """Read judgements of documents from lines `qid nugget docid grade`, Parquet or JSON.

    Parameters
    ----------
    source
        As for `read_run`. Plain judgements have 0 as nugget; JSON is `{query: {document: grade}}`.
    comments
        What to do with lines that begin with `#`: `error`, or `skip`.
    limits
        How large a line, a record or an id may be.
    reading
        How lines are read, as the command line hands it over, in place of `comments`.
    floor
        Check and count rows with a lower grade, but do not keep them.

    Returns
    -------
    Qrels
        The judgements.
    """
    reading = reading or _reading(comments)
    source = as_local_file(with_limits(source, limits))
    kind = _kind_of_source(source, reading, JUDGED_DOCUMENTS)
    _refuse_other_kind(source, kind, JUDGED_DOCUMENTS)
    if kind is not None and kind.rows is not None:
        qrels = Qrels.from_records(kind.rows(source), name_of(source))
        qrels.judges = kind.judges
        return _with_asked(source, qrels)
    source = kept(source)
    qrels = _compiled_qrels(source, reading, floor) or _plain_qrels(source, reading, floor)
    qrels.origin = source, reading
    qrels.judges = _judges_of(source)
    if is_columnar(source):
        nugget, qrels.unread = columns_of_qrels(source)
        qrels.declared = nugget is not None and nugget not in ITERATIONS
    return _with_asked(source, qrels)


def _judges_of(source: Source) -> tuple[str, ...]:
    """Return the models that judged, where the manifest beside a file says that it is their work."""
    if not isinstance(source, str | os.PathLike) or is_remote(source):
        return ()
    path = os.path.join(os.path.dirname(source), _MANIFEST)
    if not os.path.isfile(path) or os.path.getsize(path) > _LONGEST_MANIFEST:
        return ()
    import json
    from hashlib import file_digest

    try:
        with open(path, "rb") as stream:
            manifest = json.load(stream)
        digest, models = manifest["files"][os.path.basename(source)], manifest["steps"]["support"]["models"]
        with open(source, "rb") as stream:
            is_theirs = file_digest(stream, "sha256").hexdigest() == digest
        return tuple(map(str, models)) if is_theirs else ()
    except (OSError, ValueError, RecursionError, LookupError, TypeError):
        return ()  # the manifest of something else


def _with_asked(source: Source, qrels: Qrels) -> Qrels:
    """Note whether any document was asked for by what was judged before, and is judged now."""
    path = f"{os.fspath(source)}{ASKED_FOR}" if isinstance(source, str | os.PathLike) else ""
    if not is_local_file(path):
        return qrels
    from rageval.files.adaptive import read_asked

    for query, doc in read_asked(with_limits(path, limits_of(source))):
        number = qrels.find(query.encode("utf-8", "surrogatepass"))
        if number >= 0 and qrels.numbers(number, [doc.encode("utf-8", "surrogatepass")])[0] != NOT_JUDGED:
            qrels.is_adaptive = True
    return qrels


def _plain_qrels(source: Source, reading: Reading, floor: int) -> Qrels:
    name = name_of(source)
    try:
        return Qrels.of_rows(name, _qrels_rows(source, reading), floor)
    except Fractional:
        return _plain_qrels(source, reading, EVERYTHING)
    except Scattered:
        rows = _regrouped(list(_qrels_rows(source, reading)))
    try:
        return Qrels.of_rows(name, [rows], floor)
    except Fractional:
        return Qrels.of_rows(name, [rows], EVERYTHING)


def _compiled_qrels(source: Source, reading: Reading, floor: int) -> Qrels | None:
    """Read judgements by the compiled reader; None if it finds what only the plain one understands."""
    if kernel is None or is_columnar(source):
        return None
    parts, reading = QRELS.detect_tabs(texts(source, numbered=False), reading)
    try:
        return _of_compiled(parts, source, reading, floor)
    except Scattered:
        parts, reading = QRELS.detect_tabs(texts(source), reading)
        with closing(QRELS.together(parts, bool(reading.tabbed))) as ordered:
            try:
                return _of_compiled(ordered, source, reading, floor)
            except InputError:
                return None  # the plain reader says what is wrong first in the order of the file


def _of_compiled(parts: Iterable[Text], source: Source, reading: Reading, floor: int) -> Qrels | None:
    name, limits = name_of(source), limits_of(source)
    handle = kernel.qrels_new(floor, SEED, limits.id, limits.line, limits.grade, bool(reading.tabbed))
    if not _fed(kernel.qrels_feed, handle, parts, QRELS, source, reading):
        return None
    columns = Columns(*kernel.qrels_end(handle))
    if not columns.queries:
        raise QRELS.empty(name)
    return Qrels(name, columns, floor, handle=handle)


def whole_qrels(qrels: Qrels) -> Qrels:
    """Return the judgements with those below their floor, too, where they can be read again."""
    if qrels.floor == EVERYTHING or qrels.origin is None:
        return qrels
    source, reading = qrels.origin
    return read_qrels(source, reading=reading)


def portable(qrels: Qrels) -> Qrels:
    """Return the judgements as they can be sent to another machine."""
    if qrels.can_travel:
        return qrels
    source, reading = qrels.origin
    plain = _plain_qrels(source, reading, qrels.floor)
    plain = plain.without_nuggets() if qrels.without else plain
    plain.declared, plain.origin, plain.judges = qrels.declared, qrels.origin, qrels.judges
    plain.is_adaptive, plain.unread = qrels.is_adaptive, qrels.unread
    plain.weights = qrels.weights
    return plain


def _fed(
    feed: Callable[[Any, bytes], int],
    handle: Any,
    texts: Iterable[Text],
    kind: LineForm,
    source: Source,
    reading: Reading,
) -> bool:
    """Feed texts to the compiled reader; False if it met what only the plain one reads.

    `InputError` for the lines at which it stopped, if one is wrong; `Scattered` if a query comes again.
    """
    for text in texts:
        refused = feed(handle, text.content)
        if refused == _APART:
            raise Scattered
        if refused:
            # The compiled reader counted the lines before this text; the plain one names the bad one.
            if isinstance(text.lines, int):
                # Texts come without numbers to the compiled reader.
                text = text._replace(lines=1 + kernel.lines_before(handle))
            kind.stretch(text, source, reading)
            return False
    return True


def ranking_of(run: Run, qrels: Qrels, view: View, scored: bool = False) -> dict[str, dict[str, float]]:
    """Return {query: {document: score}} of the judged queries, best first, as ir_measures takes a run.

    The scores are the run's own if they are asked for (`scored`), else whole numbers down to 1: then no tool
    can order the documents otherwise.
    """
    ranking: dict[str, dict[str, float]] = {query: {} for query in qrels.query_ids}
    judged = collapsed(qrels, floor=view.floor) if view.judged_only else None
    for documents in run.queries:
        query = documents.query.decode("utf-8", "surrogatepass")
        if query not in ranking:
            continue
        rows = documents.ranked(view.order).rows
        docs = [(documents.docs[row].decode("utf-8", "surrogatepass"), documents.scores[row]) for row in rows]
        if judged is not None:
            docs = [(doc, score) for doc, score in docs if doc in judged[query]]
        docs = docs[: view.depth]
        ranking[query] = {
            doc: score if scored else float(len(docs) - position)
            for position, (doc, score) in enumerate(docs)
        }
    return ranking


def run_source(run: Any, name: str = "run") -> RunSource:
    """Return a run in any form that `evaluate` takes as what can be scored; one without a name gets this."""
    if isinstance(run, RunSource):
        return run
    if isinstance(run, str | os.PathLike):
        return source_of_run(run_name(run), run)
    table = _run_table(run, name)
    return RunSource(table.name, table)


def runs_of(given: Any) -> tuple[list[RunSource], bool]:
    """Return runs in any form that verbs take, and whether these may be several: {name: run}, or a list."""
    if not isinstance(given, list) and _is_run(given):
        return [run_source(given)], False
    if isinstance(given, Iterable) and not isinstance(given, Sequence | Mapping):
        given = list(given)  # an iterator is gone through once
    names: Iterable[Any]
    if isinstance(given, Mapping) and any(map(_is_run, given.values())):
        names, runs = map(str, given), list(given.values())
    elif isinstance(given, Sequence) and any(map(_is_run, given)):
        names, runs = repeat(None), list(given)
    else:
        return [run_source(given)], False
    sources: dict[str, RunSource] = {}
    for name, run in zip(names, runs, strict=False):
        # A copy, so that the name given here stays here.
        source = replace(run_source(run, "run" if name is None else name))
        source.name = source.name if name is None else name
        # A stream can be read once, and scoring is not all that reads it.
        if source.is_stream:
            source.run()
        if source.name in sources:
            raise UsageError(f"two runs are called {visible(source.name)!r}; name them: {{name: run}}")
        sources[source.name] = source
    return list(sources.values()), True


def named_sources(given: Any) -> list[RunSource]:
    """Return runs in any form that verbs take."""
    return runs_of(given)[0]


def one_run(given: Any) -> RunSource:
    """Return one run in any form that verbs take, also as the only one of several."""
    sources = named_sources(given)
    if len(sources) != 1:
        names = ", ".join(visible(source.name) for source in sources[:3]) + (
            ", …" if len(sources) > 3 else ""
        )
        raise UsageError(f"expected one run, found {len(sources):,}: {names}")
    return sources[0]


def _is_run(given: Any) -> bool:
    """Return whether something is one run, and no record, and no dict or list of runs."""
    if isinstance(given, Mapping):
        # {query: {document: score}}: what holds such dicts, in turn, is {name: run}.
        filled = next((docs for docs in given.values() if not isinstance(docs, Mapping) or docs), None)
        # Of each type one is looked at: there may be many documents.
        kinds = set(map(type, filled.values())) if isinstance(filled, Mapping) else {Mapping}
        return not any(issubclass(kind, Mapping) for kind in kinds)
    if isinstance(given, str | os.PathLike | Run | RunSource) or is_frame(given):
        return True
    if any(hasattr(given, name) for name in ("read", "scoreddocs_iter")):  # a file, a dataset
        return True
    return isinstance(given, list) and bool(given) and not _is_run(given[0])  # of records


def _kind_of_source(source: Any, reading: Reading, expected: str) -> Kind | None:
    """Return of what kind a file is, where it may be another than lines of columns, or Parquet."""
    if is_remote(source) and not _BY_NAME.search(str(source)):
        return None
    return None if is_columnar(source) else kind_of(source, reading, (expected,))


def _refuse_other_kind(source: Any, kind: Kind | None, expected: str) -> None:
    """Raise `InputError` if a file of records holds something else; of lines, the reader says which."""
    if kind is None or kind.name in ("run", "qrels", "topics", "table"):
        return
    if kind.name == "spans":
        raise WrongKind(
            at=Place(name_of(source)),
            problem="holds spans of sources",
            remedy="give their chunks and texts with --chunks FILE and --sources DIR (in Python:"
            " rageval.spans.project(spans, chunks, sources))",
        )
    if not kind.fits_place((expected,)):
        raise wrong_kind(source, kind, _NOUNS[expected])


def source_of_run(name: str, path: Source, reading: Reading = PLAIN, dedup: str | None = None) -> RunSource:
    """Return a file that will be read as it is scored; one of JSON is read now, as a whole."""
    path = as_local_file(path)
    source = RunSource(name, path=path, reading=reading, dedup=dedup)
    kind = _kind_of_source(path, reading, RUNS)
    return source.in_memory() if kind is not None and kind.is_json else source


def _run_table(run: Any, name: str) -> Run:
    if isinstance(run, Run):
        return run
    if isinstance(run, Mapping):
        return Run(name, ranking=run)
    if is_frame(run):
        return Run.from_pandas(run, name)
    if callable(getattr(run, "read", None)):
        return read_run(run)
    if hasattr(run, "scoreddocs_iter"):  # an ir_datasets object
        return Run.from_records(run.scoreddocs_iter(), name)
    if hasattr(run, "__iter__"):
        return Run.from_records(run, name)
    raise InputError(
        at=Place(visible(name)), expected="a run (a path, dict, DataFrame or records)", found=f"{run!r:.80}"
    )


def dataset_or_file(word: str | os.PathLike[str], what: str) -> Any:
    """Return the dataset of this id, which must hold `what`, or else the word: it names a file."""
    # An id has a stroke in it; what knows datasets is imported for nothing else.
    is_file = "/" not in str(word) or os.path.exists(word)
    return word if is_file else hooks.dataset_or_file(word, what)


def is_bare(given: Any) -> bool:
    """Return whether nothing but its numbers says if it is a run or judgements: a dict, or such JSON."""
    if isinstance(given, str | os.PathLike):
        kind = kind_of(given)
        return kind is not None and kind.fits_place([RUNS]) and kind.fits_place([JUDGED_DOCUMENTS])
    return isinstance(given, Mapping) and _is_run(given)


def as_qrels(qrels: Any, floor: int = EVERYTHING) -> Qrels:
    """Return judgements in any form that `evaluate` takes."""
    if isinstance(qrels, Qrels):
        return qrels
    if isinstance(qrels, str | os.PathLike):
        qrels = dataset_or_file(qrels, "qrels")
    if isinstance(qrels, str | os.PathLike):
        return read_qrels(qrels, floor=floor)
    if isinstance(qrels, Mapping):
        return Qrels.from_dict(qrels)
    if is_frame(qrels):
        return Qrels.from_pandas(qrels)
    if callable(getattr(qrels, "read", None)):
        return read_qrels(qrels, floor=floor)
    if hasattr(qrels, "qrels_iter"):  # an ir_datasets object
        judgements = Qrels.from_records(qrels.qrels_iter())
        judgements.judges = tuple(getattr(qrels, "judges", ()))
        return judgements
    if hasattr(qrels, "__iter__"):
        return Qrels.from_records(qrels)
    raise InputError(expected="judgements (a path, dict, DataFrame or records)", found=f"{qrels!r:.80}")


def run_name(source: Source) -> str:
    """Return a name for a run: it is called after its file, bytes that are no UTF-8 written out."""
    name = written_out(name_of(source))
    if is_remote(source):
        name = name.partition("?")[0]
    return name if name.startswith("<") else os.path.basename(name.rstrip("/"))


def _qrels_rows(source: Source, reading: Reading) -> Iterator[QrelsRows]:
    """Read the rows of judgements, whichever form their file has."""
    if not is_columnar(source):
        return qrels_rows(source, reading)
    return columnar.qrels_rows(source)


def _reading(comments: str) -> Reading:
    if comments not in COMMENTS:
        raise UsageError(f"comments={comments!r}: expected one of {', '.join(COMMENTS)}")
    return Reading(comments)
