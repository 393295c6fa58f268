"""Rows of a run or of judgements as columns: what readers make and everything else works on.

A block is a stretch of rows. `whole_queries` regroups a stream of blocks so that every query lies in
one block, which is all that ranking and joining need; a file never has to fit in memory for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from rageval.tables.ids import Ids, Int, Word, joined

BlockType = TypeVar("BlockType", bound="Block")


@dataclass(frozen=True, slots=True)
class Block:
    """Columns every row has. `query` is a code of the table's `Names`; `line` says where it stood."""

    source: str
    query: Int
    line: Int
    doc: Ids
    hashed: Word

    def __len__(self) -> int:
        return len(self.query)

    def take(self, rows: Any) -> Self:
        """The block of these rows (a slice, positions or a mask)."""
        return type(self)(*(_taken(getattr(self, column.name), rows) for column in fields(self)))

    def where(self, row: int) -> str:
        """`file:line` of a row, for error messages."""
        return f"{self.source}:{int(self.line[row])}"


@dataclass(frozen=True, slots=True)
class RunBlock(Block):
    """Rows of a run; `rank` is the file's rank column as numeric keys, where there is one."""

    score: NDArray[np.float64]
    rank: Word | None = field(default=None)


@dataclass(frozen=True, slots=True)
class QrelsBlock(Block):
    """Rows of judgements; `nugget` is a code of the table's nugget `Names`."""

    nugget: Int
    grade: NDArray[np.int32]


class Scattered(Exception):
    """A query's rows are not all adjacent: read everything, then `regroup`."""


def _taken(column: Any, rows: Any) -> Any:
    if isinstance(column, Ids):
        return column.take(rows)
    return column[rows] if isinstance(column, np.ndarray) else column


def merged(blocks: Sequence[BlockType]) -> BlockType:
    """Several blocks under one another."""
    if len(blocks) == 1:
        return blocks[0]
    first = blocks[0]
    columns: list[Any] = []
    for column in fields(first):
        parts = [getattr(block, column.name) for block in blocks]
        if isinstance(parts[0], np.ndarray):
            columns.append(np.concatenate(parts))
        else:
            columns.append(joined(parts) if isinstance(parts[0], Ids) else parts[0])
    return type(first)(*columns)


def regroup(blocks: Sequence[BlockType]) -> BlockType:
    """One block with the rows of each query together, otherwise in their old order."""
    block = merged(blocks)
    return block.take(np.argsort(block.query, kind="stable"))


def stretches(query: Int) -> Int:
    """Where each stretch of rows of one query begins."""
    begins = np.ones(len(query), bool)
    begins[1:] = query[1:] != query[:-1]
    return np.flatnonzero(begins)


def whole_queries(blocks: Iterator[BlockType]) -> Iterator[BlockType]:
    """The same rows in blocks that never part a query; `Scattered` where the file itself does."""
    finished: set[int] = set()
    waiting: list[BlockType] = []  # rows of one query, which may go on in the next block
    for block in blocks:
        begins = stretches(block.query)
        if waiting and waiting[0].query[0] != block.query[0]:
            yield _closed(waiting, finished)
            waiting = []
        elif waiting and len(begins) > 1:
            yield _closed([*waiting, block.take(slice(0, begins[1]))], finished)
            block, begins = block.take(slice(begins[1], None)), begins[1:] - begins[1]
            waiting = []
        if begins[-1]:
            yield _closed([block.take(slice(0, begins[-1]))], finished)
        waiting.append(block.take(slice(begins[-1], None)))
    if waiting:
        yield _closed(waiting, finished)


def _closed(parts: list[BlockType], finished: set[int]) -> BlockType:
    """The parts as one block, none of whose queries may come again."""
    block = merged(parts)
    queries = block.query[stretches(block.query)].tolist()
    before = len(finished)
    finished.update(queries)
    if len(finished) != before + len(queries):
        raise Scattered
    return block
