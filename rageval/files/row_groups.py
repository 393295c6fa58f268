"""Parts of a Parquet file, from row to row."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any

from rageval.files import columnar
from rageval.files.borders import Grain
from rageval.files.opening import name_of, unchanged
from rageval.files.remote import Stamp
from rageval.files.spans import Path
from rageval.files.trec import Reading

_QUERY = columnar.RUN[0]


@dataclass(frozen=True, slots=True)
class RowSpan:
    """A file from one row to another, counted from 0, as it was when it was cut."""

    path: Path
    begin: int
    end: int
    stamp: Stamp

    def __str__(self) -> str:
        return f"{name_of(self.path)}, rows {self.begin + 1:,} to {self.end:,}"

    @contextmanager
    def opened(self, reading: Reading) -> Iterator[tuple[columnar.Rows, Reading]]:
        """What to read, and how; `FileChanged` if the file is another one before or after it was read."""
        with unchanged(self.path, self.stamp):
            yield columnar.Rows(self.path, range(self.begin, self.end)), reading


def row_spans_of(path: Path, stamp: Stamp, grain: Grain) -> list[RowSpan]:
    """The file in parts, cut near where groups of rows begin."""
    with columnar.opened_table(path) as file:
        columnar.wanted(file, path, columnar.RUN)
        groups = [file.metadata.row_group(at) for at in range(file.metadata.num_row_groups)]
        sizes = list(accumulate(map(_size, groups), initial=0))
        begins = list(accumulate((group.num_rows for group in groups), initial=0))
        count = grain.parts_of(sizes[-1])
        nearest = {_nearest(sizes, sizes[-1] * at / count) for at in range(1, count)} - {0, len(groups)}
        cuts = [_border(file, begins, group) for group in sorted(nearest)]
    ends = sorted({cut for cut in cuts if cut is not None} | {0, begins[-1]})
    return [RowSpan(path, *two, stamp) for two in pairwise(ends)]


def _size(group: Any) -> int:
    """The bytes of those columns of a group that are read."""
    columns = map(group.column, range(group.num_columns))
    return sum(column.total_uncompressed_size for column in columns if column.path_in_schema in columnar.RUN)


def _nearest(sizes: list[int], wanted: float) -> int:
    return min(range(len(sizes)), key=lambda at: abs(sizes[at] - wanted))


def _border(file: Any, begins: list[int], group: int) -> int | None:
    """The first row of a group, or behind, that is of another query than the row before it."""
    from pyarrow import compute

    *_, (_, queries) = _queries(file, begins, group - 1)
    previous = queries[-1]
    for at in range(group, len(begins) - 1):
        for begin, queries in _queries(file, begins, at):
            place = compute.not_equal(queries, previous).index(True).as_py()
            if place >= 0:
                return int(begin + place)
    return None


def _queries(file: Any, begins: list[int], group: int) -> Iterator[tuple[int, Any]]:
    """The queries of a group's rows, batch by batch, and where each batch begins."""
    import pyarrow

    begin = begins[group]
    for batch in file.iter_batches(columnar.ROWS, row_groups=[group], columns=[_QUERY]):
        yield begin, batch.column(0).cast(pyarrow.large_string())
        begin += batch.num_rows
