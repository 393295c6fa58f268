"""Rows of queries that lie scattered over a run too large for memory: sorted into files of a few queries.

The rows keep their order and their line numbers, so that what is computed and what is complained of are what
they would be in memory. numpy writes the columns as they are; nothing is parsed twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np

from rageval.tables.blocks import RunBlock, merged, regroup
from rageval.tables.ids import Ids

ROWS = 2**18  # gathered before they are written


def spilled(blocks: Iterable[RunBlock], shares: int) -> Iterator[RunBlock]:
    """The rows of the blocks again, in as many blocks of whole queries, which lie on disk meanwhile."""
    from tempfile import TemporaryDirectory

    with TemporaryDirectory(prefix="rageval-") as name:
        folder = Path(name)
        source = ""
        for block in _gathered(blocks):
            _write(block, shares, folder)
            source = block.source
        for share in range(shares):
            path = folder / str(share)
            if path.exists():
                yield regroup(list(_read(path, source)))
                path.unlink()


def _gathered(blocks: Iterable[RunBlock]) -> Iterator[RunBlock]:
    """The rows in fewer, larger blocks."""
    kept: list[RunBlock] = []
    for block in blocks:
        kept.append(_compact(block))
        if sum(map(len, kept)) >= ROWS:
            yield merged(kept)
            kept = []
    if kept:
        yield merged(kept)


def _compact(block: RunBlock) -> RunBlock:
    return RunBlock(
        block.source, block.query, block.line, block.doc.compact(), block.hashed, block.score, block.rank
    )


def _write(block: RunBlock, shares: int, folder: Path) -> None:
    """Append every row to the file of its query's share."""
    share = block.query % shares
    order = np.argsort(share, kind="stable")
    ends = np.searchsorted(share[order], np.arange(shares + 1))
    for number in np.flatnonzero(np.diff(ends)).tolist():
        part = block.take(order[ends[number] : ends[number + 1]])
        doc = part.doc.compact()
        with (folder / str(number)).open("ab") as file:
            for column in (part.query, part.line, doc.buffer, doc.length, part.hashed, part.score):
                np.save(file, column, allow_pickle=False)
            np.save(file, np.zeros(0, np.uint64) if part.rank is None else part.rank, allow_pickle=False)


def _read(path: Path, source: str) -> Iterator[RunBlock]:
    size = path.stat().st_size
    with path.open("rb") as file:
        while file.tell() < size:
            query, line, buffer, length, hashed, score, rank = (_column(file) for _ in range(7))
            doc = Ids(buffer, np.cumsum(length) - length, length)
            yield RunBlock(source, query, line, doc, hashed, score, rank if len(rank) else None)


def _column(file: IO[bytes]) -> Any:
    return np.load(file, allow_pickle=False)
