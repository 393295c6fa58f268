"""Names as small numbers: each distinct id gets the next code, in order of first appearance."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from rageval.tables.ids import Ids, Int, changes, hashes, same


class Names:
    """A growing list of distinct ids; `codes` turns a column of ids into their positions in it."""

    def __init__(self, names: Iterable[bytes] = ()) -> None:
        self._code: dict[bytes, int] = {}
        for name in names:
            self.code(name)

    def __len__(self) -> int:
        return len(self._code)

    def code(self, name: bytes) -> int:
        """The code of this id, a new one if it was not seen before."""
        return self._code.setdefault(name, len(self._code))

    def find(self, name: bytes) -> int:
        """The code of this id, or -1."""
        return self._code.get(name, -1)

    def to_bytes(self) -> list[bytes]:
        """All ids, by code."""
        return list(self._code)

    def to_str(self) -> list[str]:
        """All ids as text, by code."""
        return [name.decode("utf-8", "surrogatepass") for name in self._code]

    def codes(self, ids: Ids) -> Int:
        """One code a row. Python sees each stretch of equal ids once, not each row."""
        first = np.flatnonzero(changes(ids))
        if len(first) * 4 > len(ids) > 64:
            return self._codes_by_hash(ids)
        codes = np.array([self.code(name) for name in ids.take(first).to_bytes()], np.int64)
        return np.repeat(codes, np.diff(first, append=len(ids)))

    def _codes_by_hash(self, ids: Ids) -> Int:
        _, example, which = np.unique(hashes(ids), return_index=True, return_inverse=True)
        if not same(ids, ids.take(example[which])).all():  # two ids with one hash
            return np.array([self.code(name) for name in ids.to_bytes()], np.int64)
        codes = np.empty(len(example), np.int64)
        for position in np.argsort(example, kind="stable").tolist():
            codes[position] = self.code(ids[int(example[position])])
        return codes[which]
