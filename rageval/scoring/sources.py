"""Whatever people hand over as a run or as judgements, as something that can be scored."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar, cast

from rageval.errors import InputError, UsageError
from rageval.files.kinds import told
from rageval.files.objects import ITERATIONS
from rageval.files.opening import (
    ADAPTIVE,
    Limits,
    Source,
    can_read_again,
    is_columnar,
    is_local_file,
    is_packed,
    is_remote,
    kept,
    limits_of,
    name_of,
    noted,
    size_of,
    with_limits,
)
from rageval.files.start import JUDGED_DOCUMENTS, RUNS, Kind
from rageval.files.trec import (
    COMMENTS,
    PLAIN,
    QRELS,
    RUN,
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
from rageval.kernel import kernel
from rageval.scoring.joining import Joined, Joining, Piece
from rageval.scoring.qrels import NOT_JUDGED, SEED, Columns, Fractional, Qrels, _fed, _regrouped
from rageval.scoring.runs import EVERYTHING, Documents, Run, Scattered, whole_queries
from rageval.text import written_out

_Result = TypeVar("_Result")
_SHARE = 2**26  # bytes of rows that are put in order in memory
_PACKED_TO = 8  # what a compressed byte may become


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

    def __str__(self) -> str:
        return self.name

    def join(self, joining: Joining) -> Joined:
        """Let the run meet judgements; one whose queries lie scattered is read once more."""
        return self._noted(joining.together(self._pieces(joining)))

    def _noted(self, joined: Joined) -> Joined:
        self.query_ids = [query.decode("utf-8", "surrogatepass") for query in joined.queries]
        judged = joined.notes.judged
        self.outline = {at: (length, judged[at]) for at, length in joined.lengths.items()}
        return joined

    def _pieces(self, joining: Joining) -> list[Piece]:
        if self.table is None and self.path is not None:
            self.path = kept(self.path)
            try:
                piece = compiled_piece(joining, self.path, self.reading)
            except Scattered:
                return self._put_together(self.path, partial(self._piece_of_each, joining))
            if piece is not None:
                return [piece]
        return [self.each(joining.piece)]

    def _piece_of_each(self, joining: Joining, texts: Iterable[Text], reading: Reading) -> list[Piece]:
        """Join texts one after the other, so that only one of them is in memory."""
        return [
            joining.compiled([text], cast("Source", self.path), reading)
            or joining.piece(self._parted([text], reading))
            for text in texts
        ]

    def each(self, use: Callable[[Iterator[Documents]], _Result]) -> _Result:
        """Hand over the rows of one query after the other, once more if it turns out that rows lie apart."""
        if self.table is not None:
            return use(iter(self.table.queries))
        if self.path is None:
            raise UsageError(f"{self.name}: nothing to read")
        self.path = kept(self.path)
        try:
            return use(whole_queries(rows_of(self.path, self.reading), self.dedup))
        except Scattered:
            return self._put_together(self.path, lambda *found: use(self._parted(*found)))

    def _parted(self, texts: Iterable[Text], reading: Reading) -> Iterator[Documents]:
        return whole_queries(run_rows_of(texts, cast("Source", self.path), reading), self.dedup)

    def _put_together(self, path: Source, use: Callable[[Iterator[Text], Reading], _Result]) -> _Result:
        texts, reading = _put_together(path, self.reading)
        with closing(texts):
            try:
                return use(texts, reading)
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
    from rageval.files import columnar

    return columnar.run_rows(source)


def _put_together(source: Source, reading: Reading) -> tuple[Generator[Text, None, None], Reading]:
    """Read a run whose queries lie scattered over the file, the lines of each query together."""
    is_table = is_columnar(source)
    packed = is_table or is_packed(source)
    shares = -(-size_of(source) * (_PACKED_TO if packed else 1) // _SHARE)
    if is_table:
        lines, reading = as_text(rows_of(source, reading)), Reading("data", tabbed=True)
    else:
        lines, reading = RUN.told_apart(texts(source), reading)
    return RUN.together(lines, bool(reading.tabbed), max(1, shares)), reading


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
    source = noted(with_limits(source, limits))
    kind = _kind(source, reading)
    _refuse(source, kind, RUNS)
    if kind is not None and kind.is_json:
        from rageval.files import retrieved

        return Run.of_rows(run_name(source), [retrieved.run_rows(source)], dedup)
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
    source = noted(with_limits(source, limits))
    kind = _kind(source, reading)
    _refuse(source, kind, JUDGED_DOCUMENTS)
    if kind is not None and kind.rows is not None:
        qrels = Qrels.from_records(kind.rows(source), name_of(source))
        qrels.judges = kind.judges
        return _with_asked(source, qrels)
    source = kept(source)
    qrels = _compiled_qrels(source, reading, floor) or _plain_qrels(source, reading, floor)
    qrels.origin = source, reading
    qrels.judges = _judges_of(source)
    if is_columnar(source):
        from rageval.files.columnar import columns_of_qrels

        nugget, qrels.unread = columns_of_qrels(source)
        qrels.declared = nugget is not None and nugget not in ITERATIONS
    return _with_asked(source, qrels)


_MANIFEST = "manifest.json"  # of a collection that models judged: rageval.building.collection
_LONGEST_MANIFEST = 2**24  # bytes


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
            found = json.load(stream)
        digest, models = found["files"][os.path.basename(source)], found["steps"]["support"]["models"]
        with open(source, "rb") as stream:
            is_theirs = file_digest(stream, "sha256").hexdigest() == digest
        return tuple(map(str, models)) if is_theirs else ()
    except (OSError, ValueError, RecursionError, LookupError, TypeError):
        return ()  # the manifest of something else


def _with_asked(source: Source, qrels: Qrels) -> Qrels:
    """Note for what documents were asked for by what was judged before, if any of these is judged now."""
    beside = f"{os.fspath(source)}{ADAPTIVE}" if isinstance(source, str | os.PathLike) else ""
    if not is_local_file(beside):
        return qrels
    from rageval.files.plans import read_asked

    chosen: dict[str, None] = {}
    for (query, doc), asked in read_asked(with_limits(beside, limits_of(source))).items():
        number = qrels.find(query.encode("utf-8", "surrogatepass"))
        known = number >= 0 and qrels.numbers(number, [doc.encode("utf-8", "surrogatepass")])[0] != NOT_JUDGED
        if known:
            chosen[asked.what] = None
    qrels.adaptive = tuple(chosen)
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
    parts, reading = QRELS.told_apart(texts(source, numbered=False), reading)
    try:
        return _of_compiled(parts, source, reading, floor)
    except Scattered:
        parts, reading = QRELS.told_apart(texts(source), reading)
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
    plain.adaptive, plain.unread = qrels.adaptive, qrels.unread
    plain.spans, plain.weights = qrels.spans, qrels.weights
    return plain


def run_source(run: Any) -> RunSource:
    """Return a run in any form that `evaluate` takes as what can be scored."""
    if isinstance(run, RunSource):
        return run
    if isinstance(run, str | os.PathLike):
        return source_of_run(run_name(run), run)
    table = _run_table(run)
    return RunSource(table.name, table)


def named_sources(runs: Mapping[str, Any] | Iterable[Any]) -> list[RunSource]:
    """Return runs that are read more than once: `{name: run}`, or runs that have names, such as paths."""
    if isinstance(runs, str | os.PathLike):  # one path, and not a run for each of its characters
        runs = [runs]
    named: Iterable[tuple[str | None, Any]]
    named = runs.items() if isinstance(runs, Mapping) else ((None, run) for run in runs)
    sources = []
    for name, run in named:
        # A copy, so that the name given here stays here.
        source = replace(run_source(run))
        source.name = source.name if name is None else name
        # A stream can be read once, and both scoring and looking for likeness read it.
        if source.is_stream:
            source.run()
        sources.append(source)
    return sources


_NOUNS = {RUNS: "a run", JUDGED_DOCUMENTS: "judgements of documents"}
_BY_NAME = re.compile(r"\.(json|tsv)")  # of files far away that are looked into: each look is a request


def _kind(source: Any, reading: Reading) -> Kind | None:
    """Return of what kind a file is, where it may be another than lines of columns, or Parquet."""
    if is_remote(source) and not _BY_NAME.search(str(source)):
        return None
    return None if is_columnar(source) else told(source, reading)


def _refuse(source: Any, kind: Kind | None, expected: str) -> None:
    """Raise `InputError` if a file of records holds something else; of lines, the reader says which."""
    # Where the place says what numbers are, a point in them says nothing; of columns the reader says more.
    if kind is None or kind.name in ("scores", "numbers", "run", "qrels", "topics", "table"):
        return
    if kind.name == "spans":
        raise InputError(
            f"{name_of(source)}: holds spans of sources; which chunks hold them is told by --chunks FILE and"
            " --sources DIR (in Python: rageval.spans.project(spans, chunks, sources))"
        )
    if kind.holds != expected:
        raise InputError(f"{name_of(source)}:1: holds {kind.noun}; expected {_NOUNS[expected]}")


def source_of_run(name: str, path: Source, reading: Reading = PLAIN, dedup: str | None = None) -> RunSource:
    """Return a file that will be read as it is scored; one of JSON is read now, as a whole."""
    path = noted(path)
    source = RunSource(name, path=path, reading=reading, dedup=dedup)
    kind = _kind(path, reading)
    return source.in_memory() if kind is not None and kind.is_json else source


def _run_table(run: Any) -> Run:
    if isinstance(run, Run):
        return run
    if isinstance(run, Mapping):
        return Run.from_dict(run)
    if hasattr(run, "columns"):
        return Run.from_pandas(run)
    if callable(getattr(run, "read", None)):
        return read_run(run)
    if hasattr(run, "scoreddocs_iter"):  # an ir_datasets object
        return Run.from_records(run.scoreddocs_iter())
    if hasattr(run, "__iter__"):
        return Run.from_records(run)
    raise InputError(f"expected a run (a path, dict, DataFrame or records), found {run!r:.80}")


def as_qrels(qrels: Any, floor: int = EVERYTHING) -> Qrels:
    """Return judgements in any form that `evaluate` takes."""
    if isinstance(qrels, Qrels):
        return qrels
    if isinstance(qrels, str | os.PathLike):
        return read_qrels(qrels, floor=floor)
    if isinstance(qrels, Mapping):
        return Qrels.from_dict(qrels)
    if hasattr(qrels, "columns"):
        return Qrels.from_pandas(qrels)
    if callable(getattr(qrels, "read", None)):
        return read_qrels(qrels, floor=floor)
    if hasattr(qrels, "qrels_iter"):  # an ir_datasets object
        found = Qrels.from_records(qrels.qrels_iter())
        found.judges = tuple(getattr(qrels, "judges", ()))
        return found
    if hasattr(qrels, "__iter__"):
        return Qrels.from_records(qrels)
    raise InputError(f"expected judgements (a path, dict, DataFrame or records), found {qrels!r:.80}")


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
    from rageval.files import columnar

    return columnar.qrels_rows(source)


def _reading(comments: str) -> Reading:
    if comments not in COMMENTS:
        raise UsageError(f"comments={comments!r}: expected one of {', '.join(COMMENTS)}")
    return Reading(comments)
