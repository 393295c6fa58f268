"""A column of ids as byte strings in one shared buffer: hashing, equality and order, vectorised.

An id is read eight bytes at a time, as one 64-bit word, straight from the buffer; no Python object is
made for it. Hashes only ever *suggest* that two ids are equal: every user of `hashes` confirms with
`same`, so a collision costs time and never a wrong number.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Int = NDArray[np.int64]
Word = NDArray[np.uint64]
Bool = NDArray[np.bool_]
Numbers = TypeVar("Numbers", Int, Word)

WORD = 8
PADDING = bytes(4 * WORD)  # behind the last id, so that reading it in whole words stays inside
_KEEP = np.array([(1 << (8 * n)) - 1 for n in range(9)], dtype=np.uint64)  # the first n bytes of a word
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_FINAL = np.uint64(0xD6E8FEB86659FD93)
_SHIFT = np.uint64(32)


@dataclass(frozen=True, slots=True)
class Ids:
    """Row i is `buffer[start[i] : start[i] + length[i]]`; the buffer ends with `PADDING`."""

    buffer: NDArray[np.uint8]
    start: Int
    length: Int

    def __len__(self) -> int:
        return len(self.start)

    def __getitem__(self, row: int) -> bytes:
        start = int(self.start[row])
        return self.buffer[start : start + int(self.length[row])].tobytes()

    def take(self, rows: Int | Bool | slice) -> Ids:
        """The ids of these rows, in the same buffer."""
        return Ids(self.buffer, self.start[rows], self.length[rows])

    def compact(self, rows: Int | Bool | slice = slice(None)) -> Ids:
        """The ids of these rows in a buffer of their own, so that the shared one can be freed."""
        length = self.length[rows]
        ends = np.cumsum(length)
        starts = ends - length
        source = np.repeat(self.start[rows] - starts, length) + np.arange(ends[-1] if len(ends) else 0)
        return Ids(padded(self.buffer[source]), starts, length)

    def to_bytes(self) -> list[bytes]:
        """Every id as a Python byte string."""
        raw = memoryview(self.buffer.data)
        ends = self.start + self.length
        return [
            raw[start:end].tobytes() for start, end in zip(self.start.tolist(), ends.tolist(), strict=True)
        ]

    def to_str(self) -> list[str]:
        """Every id as text."""
        return [name.decode("utf-8", "surrogatepass") for name in self.to_bytes()]


def padded(buffer: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The buffer with `PADDING` behind its end."""
    return np.concatenate((buffer, np.frombuffer(PADDING, np.uint8)))


def ids_of(names: Iterable[str]) -> Ids:
    """A column made of Python strings."""
    encoded = [name.encode("utf-8", "surrogatepass") for name in names]
    length = np.fromiter(map(len, encoded), np.int64, len(encoded))
    buffer = np.frombuffer(b"".join(encoded) + PADDING, np.uint8)
    return Ids(buffer, np.cumsum(length) - length, length)


def joined(columns: Sequence[Ids]) -> Ids:
    """Several columns under one another."""
    if len(columns) == 1:
        return columns[0]
    spans = [_span(column) for column in columns]
    shift = np.cumsum([0] + [last - first for first, last in spans])
    buffers = [column.buffer[first:last] for column, (first, last) in zip(columns, spans, strict=True)]
    starts = [
        column.start + (offset - first)
        for column, offset, (first, _) in zip(columns, shift, spans, strict=False)
    ]
    length = np.concatenate([column.length for column in columns])
    return Ids(np.concatenate([*buffers, np.frombuffer(PADDING, np.uint8)]), np.concatenate(starts), length)


def _span(ids: Ids) -> tuple[int, int]:
    """The part of the buffer that the rows lie in."""
    if not len(ids):
        return 0, 0
    return int(ids.start.min()), int((ids.start + ids.length).max())


def _eight_bytes(buffer: NDArray[np.uint8]) -> Word:
    """Every eight consecutive bytes of the buffer as a word, without copying."""
    return np.ndarray((len(buffer) - WORD + 1,), "<u8", buffer, 0, (1,))


def _words(ids: Ids, at: int, rows: Int | slice = slice(None)) -> Word:
    """The eight bytes from position `at` on of each row, bytes behind the id's end as zero."""
    return _eight_bytes(ids.buffer)[ids.start[rows] + at] & _KEEP[np.minimum(ids.length[rows] - at, WORD)]


def _pieces(ids: Ids, at: int, rows: Int | slice, shortest: int) -> Word:
    """Words that, taken at 0, 8, 16, …, are equal for two ids of one length only if the ids are.

    An id's last word overlaps the one before; only an id shorter than a word is filled up with zeros.
    """
    every_word, start = _eight_bytes(ids.buffer), ids.start[rows]
    if at + WORD <= shortest:
        return every_word[at:][start]
    back = np.minimum(ids.length[rows] - WORD, at)
    if shortest >= WORD:
        return every_word[start + back]
    return every_word[start + np.maximum(back, 0)] & _KEEP[np.minimum(ids.length[rows], WORD)]


def _shortest(ids: Ids) -> int:
    return int(ids.length.min()) if len(ids) else 0


def _longest(ids: Ids) -> int:
    return int(ids.length.max()) if len(ids) else 0


def hashes(ids: Ids) -> Word:
    """A 64-bit hash a row, equal for equal ids."""
    hashed = ids.length.astype(np.uint64) * _FINAL
    shortest = _shortest(ids)
    for at in range(0, _longest(ids), WORD):
        if at < shortest:
            hashed = _stirred(hashed ^ _pieces(ids, at, slice(None), shortest))
        else:
            rows = np.flatnonzero(ids.length > at)
            hashed[rows] = _stirred(hashed[rows] ^ _pieces(ids, at, rows, shortest))
    return hashed


def keyed(hashed: Word, group: Int) -> Word:
    """The hashes again, but different in every group (of the same id in two queries, say)."""
    return _stirred((hashed ^ (group.astype(np.uint64) * _FINAL)) + _FINAL)


def _stirred(hashed: Word) -> Word:
    hashed *= _MULTIPLIER  # the argument is always a fresh array
    hashed ^= hashed >> _SHIFT
    return hashed


def same(left: Ids, right: Ids) -> Bool:
    """Row by row: are the two ids equal, byte for byte?"""
    equal: Bool = left.length == right.length
    shortest = _shortest(left) if equal.all() else 0
    for at in range(0, _longest(left), WORD):
        rows = np.flatnonzero(equal & (left.length > at))
        equal[rows] = _pieces(left, at, rows, shortest) == _pieces(right, at, rows, shortest)
    return equal


def changes(ids: Ids) -> Bool:
    """Where an id differs from the one in the row above; the first row always does."""
    different = np.ones(len(ids), bool)
    different[1:] = ids.length[1:] != ids.length[:-1]
    shortest = _shortest(ids)
    for at in range(0, _longest(ids), WORD):
        if at < shortest:
            different |= _differs(_pieces(ids, at, slice(None), shortest))
        else:
            rows = np.flatnonzero(~different & (ids.length > at))
            different[rows] = _words(ids, at, rows) != _words(ids, at, rows - 1)
    return different


def grouped(hashed: Word) -> Int:
    """The permutation that brings equal hashes together, those rows staying in their order."""
    bits = len(hashed).bit_length()
    if bits <= 20:
        # The row number in place of the lowest bits: sorting values is much faster than sorting positions.
        low = np.uint64(2**bits - 1)
        ordered = np.sort((hashed & ~low) | np.arange(len(hashed), dtype=np.uint64))
        order = (ordered & low).astype(np.int64)
        near = np.flatnonzero((ordered[1:] ^ ordered[:-1]) <= low)
        if (hashed[order[near]] == hashed[order[near + 1]]).all():
            return order
    return np.argsort(hashed, kind="stable")


NOT_A_NUMBER = np.uint64(2**64 - 1)


def numeric_keys(ids: Ids) -> Word:
    """Words that sort as the numbers do, for whole numbers of up to eight digits (a rank column)."""
    short = np.minimum(ids.length, WORD)
    key = _words(ids, 0).byteswap() >> (np.uint64(8) * (WORD - short).astype(np.uint64))
    key[ids.length > WORD] = NOT_A_NUMBER
    return key


def are_digits(key: Word) -> bool:
    """Whether every numeric key was made of digits alone."""
    byte = key.view(np.uint8)
    return bool(((byte == 0) | ((byte >= 0x30) & (byte <= 0x39))).all())


def numbered(keys: Int | Word) -> Int:
    """A small number for each row, equal where the keys are equal, in the order of the keys."""
    order = np.argsort(keys)
    number = np.empty(len(keys), np.int64)
    number[order] = np.cumsum(_differs(keys[order]))
    return number


def distinct(numbers: Numbers) -> Numbers:
    """The distinct values, ascending: `np.unique`, by sorting, which is faster for whole numbers."""
    ordered = np.sort(numbers)
    return ordered[np.concatenate(([True], ordered[1:] != ordered[:-1]))] if len(ordered) else ordered


def byte_order(ids: Ids, group: Int) -> Int:
    """The permutation that sorts rows by group, then by id, compared as bytes, ascending."""
    order: Int = np.argsort(group, kind="stable")
    rank = _ranks(_differs(group[order]))
    for at in range(0, _longest(ids), WORD):
        # Rows whose place is still open: they share group and all bytes so far with a neighbour.
        open_ = np.flatnonzero(_has_equal_neighbour(rank))
        if not len(open_):
            break
        rows = order[open_]
        reaches = ids.length[rows] > at
        value = np.zeros(len(rows), np.uint64)
        value[reaches] = _words(ids, at, rows[reaches])
        if (value == value[0]).all():
            continue
        value = value.byteswap()  # big-endian words compare as their bytes do
        within = np.lexsort((value, rank[open_]))
        order[open_] = rows[within]
        rank = _refined(rank, open_, value[within])
    open_ = np.flatnonzero(_has_equal_neighbour(rank))
    if len(open_):  # ids that differ only in zero bytes at their end
        rows = order[open_]
        order[open_] = rows[np.lexsort((ids.length[rows], rank[open_]))]
    return order


def _refined(rank: Int, rows: Int, value: Word) -> Int:
    """Split ranks further wherever two neighbouring rows of the same rank differ in value."""
    step = _differs(rank)
    step[rows] |= _differs(value)
    return _ranks(step)


def _ranks(step: Bool) -> Int:
    return np.cumsum(step, dtype=np.int64)


def _differs(column: NDArray[Any]) -> Bool:
    """Where a row differs from the one above it."""
    different = np.zeros(len(column), bool)
    different[1:] = column[1:] != column[:-1]
    return different


def _has_equal_neighbour(rank: Int) -> Bool:
    equal = np.zeros(len(rank), bool)
    equal[1:] = rank[1:] == rank[:-1]
    equal[:-1] |= equal[1:]
    return equal
