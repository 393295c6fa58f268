"""Finding 64-bit keys among many: a table of buckets over the sorted keys.

Keys are hashes, hence evenly spread: the leading bits of a key say nearly where it stands in the sorted
order. A look-up is one step into `begin`, and one or two comparisons.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rageval.tables.ids import Int, Word


class KeyIndex:
    """Positions of keys; equal keys (of different ids) all count."""

    def __init__(self, keys: Word) -> None:
        self._order = np.argsort(keys).astype(np.int32)
        self._sorted = keys[self._order]
        bits = len(keys).bit_length() + 1
        self._shift = np.uint64(64 - bits)
        bounds = np.arange(2**bits, dtype=np.uint64) << self._shift
        begin = np.searchsorted(self._sorted, bounds)
        self._begin: NDArray[np.int32] = np.append(begin, len(keys)).astype(np.int32)

    def find(self, keys: Word) -> tuple[Int, Int]:
        """All pairs (row of `keys`, position of an equal key in the index)."""
        bucket = (keys >> self._shift).astype(np.int64)
        at = self._begin[bucket]
        end = self._begin[bucket + 1]
        rows = np.flatnonzero(at < end)
        found_rows, found_positions = [rows[:0]], [rows[:0]]
        at, end = at[rows], end[rows]
        while len(rows):
            equal = self._sorted[at] == keys[rows]
            found_rows.append(rows[equal])
            found_positions.append(self._order[at[equal]].astype(np.int64))
            at = at + 1
            more = at < end
            rows, at, end = rows[more], at[more], end[more]
        return np.concatenate(found_rows), np.concatenate(found_positions)
