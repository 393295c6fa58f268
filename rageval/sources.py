"""Whatever people hand over as a run or as judgements, as something that can be scored."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from rageval.errors import InputError, UsageError
from rageval.files import columnar
from rageval.files.columnar import is_columnar
from rageval.files.opening import Source, can_read_again, is_packed, kept, name_of, size_of, start_of
from rageval.files.remote import is_remote
from rageval.files.trec import PLAIN, Reading, qrels_blocks, run_blocks
from rageval.tables.blocks import QrelsBlock, RunBlock, Scattered, whole_queries
from rageval.tables.names import Names
from rageval.tables.qrels import EVERYTHING, Qrels, gathered
from rageval.tables.run import Run, checked
from rageval.tables.spilling import spilled

Result = TypeVar("Result")
SHARE = 2**26  # bytes of rows that are put in order in memory
PACKED_TO = 8  # what a compressed byte may become


@dataclass
class RunSource:
    """A run to be scored: in memory, or a file that is read as it is scored."""

    name: str
    table: Run | None = None
    path: Source | None = None
    reading: Reading = PLAIN
    dedup: str | None = None

    def __post_init__(self) -> None:
        self.queries = self.table.queries if self.table else Names()

    def __str__(self) -> str:
        return self.name

    def each(self, use: Callable[[Names, Iterator[RunBlock]], Result]) -> Result:
        """Hand the blocks of whole queries over; a file whose queries are scattered is read once more.

        Then it is held in memory, or on disk if it is large.
        """
        if self.table is None and self.path is not None:
            self.path = kept(self.path)
        if self.table is None and self.path is not None and can_read_again(self.path):
            self.queries = Names()
            try:
                return use(self.queries, self._streamed(self.path))
            except Scattered:
                self.queries = Names()
                shares = _shares(self.path)
                if shares > 1:
                    return use(self.queries, self._spilled(self.path, shares))
        run = self.run()
        return use(run.queries, iter(run.blocks))

    def run(self) -> Run:
        """The run, in memory."""
        if self.table is None:
            if self.path is None:
                raise UsageError(f"{self.name}: nothing to read")
            self.table = read_run(self.path, reading=self.reading, dedup=self.dedup)
            self.queries = self.table.queries
        return self.table

    def in_memory(self) -> RunSource:
        """The same run, read now."""
        self.run()
        return self

    @property
    def is_stream(self) -> bool:
        """Whether it can be read once only, and only by this process."""
        return self.table is None and self.path is not None and not can_read_again(self.path)

    def _spilled(self, path: Source, shares: int) -> Iterator[RunBlock]:
        for block in spilled(_run_rows(path, self.queries, self.reading), shares):
            yield checked(block, self.queries, self.dedup)

    def _streamed(self, path: Source) -> Iterator[RunBlock]:
        for block in whole_queries(_run_rows(path, self.queries, self.reading)):
            yield checked(block, self.queries, self.dedup)


def _shares(path: Source) -> int:
    """Into how many files the rows of a run go, so that each fits in memory."""
    packed = is_columnar(path) or is_packed(path)
    return -(-size_of(path) * (PACKED_TO if packed else 1) // SHARE)


def read_run(
    source: Source,
    *,
    dedup: str | None = None,
    comments: str = "error",
    limits: Any = None,
    reading: Reading | None = None,
) -> Run:
    """A run from a TREC or Parquet file: a path, `-` for standard input, or a file open in binary mode.

    JSON is read, too: candidates by query, or `{query: {doc: score}}`.

    `https://…`, `s3://…`, `gs://…` and `hf://…` are read where they lie.

    Compressed files (gz, bz2, xz, zst) are known by their content. `dedup="first"` keeps the first of a
    document's rows instead of refusing the second.
    """
    if dedup not in (None, "first"):
        raise UsageError(f"dedup={dedup!r}: expected 'first', or nothing to refuse duplicates")
    reading = reading or _reading(comments, limits)
    queries = Names()
    if is_retrieved(source, reading):
        from rageval.files import retrieved

        return Run(run_name(source), queries, [retrieved.run_block(source, queries, reading.limits)], dedup)
    return Run(run_name(source), queries, _run_rows(source, queries, reading), dedup)


def read_qrels(
    source: Source,
    *,
    comments: str = "error",
    limits: Any = None,
    reading: Reading | None = None,
    floor: int = EVERYTHING,
) -> Qrels:
    """Judgements from a file of `qid nugget docid grade` lines: nugget qrels, or plain ones with 0 as nugget.

    JSON is read, too: `{query: {doc: grade}}`.

    Rows with a grade below `floor` are checked and counted, but not kept.
    """
    reading = reading or _reading(comments, limits)
    if is_retrieved(source, reading):
        from rageval.files import retrieved

        records = [
            {"query_id": query, "doc_id": doc, "relevance": number}
            for _, query, doc, number in retrieved.numbers(source, reading.limits)
        ]
        return Qrels.from_records(records, name_of(source))
    queries, nuggets = Names(), Names()
    blocks = _qrels_rows(source, queries, nuggets, reading)
    if not can_read_again(source):
        return Qrels(name_of(source), queries, nuggets, gathered(blocks), floor)
    try:
        qrels = Qrels(name_of(source), queries, nuggets, whole_queries(blocks), floor)
    except Scattered:
        queries, nuggets = Names(), Names()
        blocks = _qrels_rows(source, queries, nuggets, reading)
        qrels = Qrels(name_of(source), queries, nuggets, gathered(blocks), floor)
    qrels.origin = source, reading
    return qrels


def whole_qrels(qrels: Qrels) -> Qrels:
    """The judgements with those below their floor, too, where they can be read again."""
    if qrels.floor == EVERYTHING or qrels.origin is None:
        return qrels
    source, reading = qrels.origin
    return read_qrels(source, reading=reading)


def run_source(run: Any) -> RunSource:
    """Any form of a run that `evaluate` takes."""
    if isinstance(run, RunSource):
        return run
    if isinstance(run, str | os.PathLike):
        return source_of_run(run_name(run), run)
    table = _run_table(run)
    return RunSource(table.name, table)


def is_retrieved(source: Any, reading: Reading) -> bool:
    """Whether the file holds what was retrieved (or grades) as JSON.

    One that lies far away is looked into only if its name says so: each look is a request.
    """
    if is_remote(source) and ".json" not in str(source):
        return False
    if is_columnar(source) or not start_of(source, reading.limits).lstrip().startswith(b"{"):
        return False
    from rageval.files import retrieved

    return retrieved.kind_of(start_of(source, reading.limits)) is not None


def source_of_run(name: str, path: Any, reading: Reading = PLAIN, dedup: str | None = None) -> RunSource:
    """A file to be read as it is scored; one of JSON is read now, as a whole."""
    source = RunSource(name, path=path, reading=reading, dedup=dedup)
    if is_retrieved(path, reading):
        return source.in_memory()
    return source


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
    """Any form of judgements that `evaluate` takes."""
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
        return Qrels.from_records(qrels.qrels_iter())
    if hasattr(qrels, "__iter__"):
        return Qrels.from_records(qrels)
    raise InputError(f"expected judgements (a path, dict, DataFrame or records), found {qrels!r:.80}")


def run_name(source: Source) -> str:
    """A run is called after its file."""
    name = name_of(source)
    if is_remote(source):
        name = name.partition("?")[0]
    return name if name.startswith("<") else Path(name).name


def _run_rows(source: Source, queries: Names, reading: Reading) -> Iterator[RunBlock]:
    """The rows of a run, whichever form its file has."""
    read = columnar.run_blocks if is_columnar(source) else run_blocks
    return read(source, queries, reading)


def _qrels_rows(source: Source, queries: Names, nuggets: Names, reading: Reading) -> Iterator[QrelsBlock]:
    """The rows of judgements, whichever form their file has."""
    read = columnar.qrels_blocks if is_columnar(source) else qrels_blocks
    return read(source, queries, nuggets, reading)


def _reading(comments: str, limits: Any) -> Reading:
    return Reading(comments, limits) if limits is not None else Reading(comments)
