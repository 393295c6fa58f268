"""A small BM25, so that one command builds a collection; stronger retrievers hand over their runs.

    score(d, q) = Σ_t  ln(1 + (N − n_t + ½) / (n_t + ½)) · tf / (tf + k1·(1 − b + b·|d| / mean|d|))

over the words t of the query, each as often as it stands there: Lucene's form, without stemming, with
Pyserini's k1 = 0.9 and b = 0.4.
"""

from __future__ import annotations

import math
import re
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from rageval.errors import InputError
from rageval.scoring.runs import Run

K1, B = 0.9, 0.4
_WORD = re.compile(r"[^\W_]+")


class Index:
    """Where each word stands, and how often; made from (id, text) pairs that pass once.

    >>> index = Index([("d1", "the tower in Paris"), ("d2", "the tower, the tower"), ("d3", "a river")])
    >>> list(index.search("tower Paris"))
    ['d1', 'd2']
    """

    def __init__(self, documents: Iterable[tuple[str, str]]) -> None:
        self.docs: list[str] = []
        self._places: dict[str, array[int]] = {}
        self._counts: dict[str, array[int]] = {}
        lengths = array("q")
        for at, (doc, text) in enumerate(documents):
            self.docs.append(doc)
            words = words_of(text)
            lengths.append(len(words))
            for word, count in Counter(words).items():
                self._places.setdefault(word, array("q")).append(at)
                self._counts.setdefault(word, array("q")).append(count)
        if len(set(self.docs)) < len(self.docs):
            twice = next(doc for doc, number in Counter(self.docs).items() if number > 1)
            raise InputError(f"the corpus holds document {twice!r} twice; expected each once")
        length = np.array(lengths, np.float64)
        self._norm = K1 * (1 - B + B * length / (length.mean() or 1.0)) if len(length) else length

    def search(self, text: str, depth: int = 100) -> dict[str, float]:
        """The best documents with their scores; those without a word of the query are not among them."""
        scores: NDArray[np.float64] = np.zeros(len(self.docs))
        for word, times in sorted(Counter(words_of(text)).items()):
            if word not in self._places:
                continue
            at = np.array(self._places[word], np.int64)
            count = np.array(self._counts[word], np.float64)
            rarity = math.log1p((len(self.docs) - len(at) + 0.5) / (len(at) + 0.5))
            scores[at] += times * rarity * count / (count + self._norm[at])
        order = np.argsort(-scores, kind="stable")[:depth].tolist()
        return {self.docs[at]: float(scores[at]) for at in order if scores[at] > 0}

    def run(self, texts: Mapping[str, str], name: str, depth: int = 100) -> Run:
        """What is found for each query."""
        found = {query: self.search(text, depth) for query, text in texts.items()}
        return Run.from_dict({query: docs for query, docs in found.items() if docs}, name)


def words_of(text: str) -> list[str]:
    """The words of a text, in lower case: letters and digits.

    >>> words_of("Don't use read_csv(2)")
    ['don', 't', 'use', 'read', 'csv', '2']
    """
    return _WORD.findall(text.casefold())
