"""Words as small numbers, for columns of labels and ids that repeat."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray

NONE = -1


class Codes(dict[str, int]):
    """Each distinct word gets the next number, in order of first appearance.

    >>> codes = Codes()
    >>> codes.column(["a", "b", "a", None]).tolist(), codes.words
    ([0, 1, 0, -1], ['a', 'b'])
    """

    def __init__(self, words: Iterable[str] = ()) -> None:
        super().__init__()
        for word in words:
            self[word]

    def __missing__(self, word: str | None) -> int:
        if word is None:
            return NONE
        self[word] = code = len(self)
        return code

    def column(self, words: Iterable[str | None]) -> NDArray[np.int32]:
        """The numbers of many words; -1 for None."""
        return np.fromiter(map(self.__getitem__, words), np.int32)  # type: ignore[arg-type]

    def find(self, word: str) -> int:
        """The number of a word, -1 if it is not known."""
        return self.get(word, NONE)

    @property
    def words(self) -> list[str]:
        """All words, by number."""
        return list(self)


class FoldedCodes(Codes):
    """Words as the numbers of what they are folded to; each spelling is folded once.

    >>> codes = Codes()
    >>> FoldedCodes(codes, str.lower).column(["No", "no", "yes"]).tolist(), codes.words
    ([0, 0, 1], ['no', 'yes'])
    """

    def __init__(self, codes: Codes, fold: Callable[[str], str]) -> None:
        super().__init__()
        self._codes, self._fold = codes, fold

    def __missing__(self, word: str | None) -> int:
        if word is None:
            return NONE
        self[word] = code = self._codes[self._fold(word)]
        return code
