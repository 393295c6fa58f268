"""Finding 64-bit keys among many: a table of buckets over the sorted keys.

Keys are hashes, hence evenly spread: the leading bits of a key say nearly where it stands in the sorted
order. A look-up is one step into `begin`, and one or two comparisons.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rageval.tables.ids import Int, Word

_FINER, _MOST = 2, 24  # bits that tell most keys that are not there, and how many at most: 16 MB


class KeyIndex:
    """Positions of keys; equal keys (of different ids) all count."""

    def __init__(self, keys: Word) -> None:
        self._order = np.argsort(keys).astype(np.int32)
        self._sorted = keys[self._order]
        bits = len(keys).bit_length() + 1
        self._shift = np.uint64(64 - bits)
        self._finer = np.uint64(64 - min(bits + _FINER, _MOST))
        self._taken = np.zeros(2 ** (64 - int(self._finer)), bool)
        self._taken[(keys >> self._finer).astype(np.int64)] = True
        of_bucket = np.bincount((self._sorted >> self._shift).astype(np.int64), minlength=2**bits)
        self._begin: NDArray[np.int32] = np.concatenate(([0], np.cumsum(of_bucket))).astype(np.int32)

    def find(self, keys: Word) -> tuple[Int, Int]:
        """All pairs (row of `keys`, position of an equal key in the index)."""
        rows = np.flatnonzero(self._taken.take((keys >> self._finer).view(np.int64)))
        key = keys.take(rows)
        bucket = (key >> self._shift).view(np.int64)
        at, end = self._begin.take(bucket), self._begin.take(bucket + 1)
        found_rows, found_positions = [rows[:0]], [rows[:0]]
        while True:
            open_ = np.flatnonzero(at < end)
            if not len(open_):
                return np.concatenate(found_rows), np.concatenate(found_positions)
            rows, key, at, end = rows.take(open_), key.take(open_), at.take(open_), end.take(open_)
            equal = np.flatnonzero(self._sorted.take(at) == key)
            found_rows.append(rows.take(equal))
            found_positions.append(self._order.take(at.take(equal)).astype(np.int64))
            at += 1
