"""A document twice: in a run it is refused, in judgements it must at least not contradict itself."""

from __future__ import annotations

import numpy as np

from rageval.errors import InputError
from rageval.tables.blocks import QrelsBlock, RunBlock
from rageval.tables.ids import Int, Word, byte_order, keyed, same
from rageval.tables.names import Names
from rageval.text import visible

_SHOWN = 10


def refuse_duplicates(block: RunBlock, queries: Names) -> None:
    """`InputError` if a query ranks a document twice."""
    first, second = _repeated(block)
    if not len(first):
        return
    names = queries.to_bytes()
    messages = [
        f"{block.where(later)}: document {visible(block.doc[later])} is ranked twice for query"
        f" {visible(names[int(block.query[later])])}, first in line {int(block.line[earlier])};"
        " remove one, or keep the first with --dedup first (dedup='first')"
        for earlier, later in list(zip(first.tolist(), second.tolist(), strict=True))[:_SHOWN]
    ]
    raise InputError(_listed(messages, len(first)))


def without_duplicates(block: RunBlock) -> RunBlock:
    """The block, each document only where it stands first."""
    _, second = _repeated(block)
    keep = np.ones(len(block), bool)
    keep[second] = False
    return block if keep.all() else block.take(keep)


def without_repetitions(block: QrelsBlock, key: Word, queries: Names, nuggets: Names) -> QrelsBlock:
    """The block with equal judgements once; `InputError` if two judgements contradict one another.

    `key` is a hash of each row's query and document.
    """
    key = keyed(key, block.nugget)
    first, second = _equal_rows(block, key, (block.query, block.nugget))
    if not len(first):
        return block
    conflict = np.flatnonzero(block.grade[first] != block.grade[second])
    if len(conflict):
        raise InputError(_conflicts(block, first[conflict], second[conflict], queries, nuggets))
    keep = np.ones(len(block), bool)
    keep[second] = False
    return block.take(keep)


def _conflicts(block: QrelsBlock, first: Int, second: Int, queries: Names, nuggets: Names) -> str:
    query_names, nugget_names = queries.to_bytes(), nuggets.to_bytes()
    messages = [
        f"{block.where(later)}: document {visible(block.doc[later])}, nugget"
        f" {visible(nugget_names[int(block.nugget[later])])} of query"
        f" {visible(query_names[int(block.query[later])])} is judged {int(block.grade[later])} here and"
        f" {int(block.grade[earlier])} in line {int(block.line[earlier])}; expected one judgement, remove"
        " the wrong one"
        for earlier, later in list(zip(first.tolist(), second.tolist(), strict=True))[:_SHOWN]
    ]
    return _listed(messages, len(first))


def _listed(messages: list[str], count: int) -> str:
    return "\n".join(
        [*messages, *([f"… and {count - len(messages):,} more"] if count > len(messages) else [])]
    )


def _repeated(block: RunBlock) -> tuple[Int, Int]:
    return _equal_rows(block, keyed(block.hashed, block.query), (block.query,))


def _equal_rows(block: RunBlock | QrelsBlock, key: Word, columns: tuple[Int, ...]) -> tuple[Int, Int]:
    """Pairs of rows (the earliest, a later one) that agree in the columns and in the document."""
    ordered = np.sort(key)
    suspect = ordered[1:][ordered[1:] == ordered[:-1]]
    if not len(suspect):
        return suspect.astype(np.int64), suspect.astype(np.int64)
    rows = np.flatnonzero(np.isin(key, suspect))  # the hash only suspects; the bytes decide
    group = np.zeros(len(rows), np.int64)
    for column in columns:
        group = np.unique(group * (int(column.max()) + 1) + column[rows], return_inverse=True)[1]
    rows = rows[byte_order(block.doc.take(rows), group)]  # stable: equal rows stay in line order
    equal = same(block.doc.take(rows[1:]), block.doc.take(rows[:-1]))
    for column in columns:
        equal &= column[rows[1:]] == column[rows[:-1]]
    head = np.concatenate(([True], ~equal))
    earliest = rows[np.flatnonzero(head)][np.cumsum(head) - 1]
    later = np.flatnonzero(~head)
    by_line = np.argsort(rows[later], kind="stable")
    return earliest[later][by_line], rows[later][by_line]
