"""Look for documents: the texts to look for (FreshStack, section 3.4), and a small BM25 that looks.

The variants of the inference setting know the question only, those of the oracle setting its answer. They go
into the pool for judging; systems are then scored on the question alone.

    score(d, q) = Σ_t  ln(1 + (N − n_t + ½) / (n_t + ½)) · tf / (tf + k1·(1 − b + b·|d| / mean|d|))

over the words t of the query, each as often as it stands there: Lucene's form, without stemming, with
Pyserini's k1 = 0.9 and b = 0.4. Stronger retrievers hand over their runs.
"""

from __future__ import annotations

import math
import re
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from rageval.errors import InputError
from rageval.files.opening import Source
from rageval.files.questions import read_questions
from rageval.records import Nugget, Question
from rageval.scoring.runs import Run

QUESTION, SUB_QUESTIONS, CLOSED_BOOK = "question", "sub-questions", "closed-book"
ANSWER, NUGGETS = "answer", "nuggets"
INFERENCE, ORACLE = (QUESTION, SUB_QUESTIONS, CLOSED_BOOK), (ANSWER, NUGGETS)
SETTINGS = (*INFERENCE, *ORACLE)
WRITTEN = (SUB_QUESTIONS, CLOSED_BOOK)  # by a model, by the rubrics of these names
Topics = dict[str, dict[str, str]]  # setting -> query -> text


def topics(
    questions: Iterable[Question],
    nuggets: Mapping[str, Sequence[Nugget]],
    written: Mapping[str, Mapping[str, Sequence[str]]],
) -> Topics:
    """Return the text of every setting for every question that has one; join several texts."""
    found: Topics = {setting: {} for setting in SETTINGS}
    for question in questions:
        query = question.query_id
        texts: dict[str, Sequence[str]] = {
            QUESTION: [question.text],
            ANSWER: question.gold[:1],
            NUGGETS: [nugget.text for nugget in nuggets.get(query, ())],
            **{setting: written.get(setting, {}).get(query, ()) for setting in WRITTEN},
        }
        for setting, parts in texts.items():
            if parts:
                found[setting][query] = " ".join(parts)
    return found


def topic_lines(texts: Mapping[str, str]) -> Iterator[str]:
    """Lines `id<TAB>text`, which every retriever reads; line ends and tabs within a text become spaces."""
    for query, text in texts.items():
        yield f"{query}\t{' '.join(text.split())}"


def _read_topics(source: Source) -> dict[str, str]:
    """{query: text} of such lines."""
    return {question.query_id: question.text for question in read_questions(source)}


def require_answers(questions: Iterable[Question]) -> None:
    """`InputError` if nothing is known to be a right answer."""
    if not any(question.gold for question in questions):
        raise InputError("the questions have no answers, which nuggets are written from; expected `answer`")


_K1, _B = 0.9, 0.4
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
            words = _words_of(text)
            lengths.append(len(words))
            for word, count in Counter(words).items():
                self._places.setdefault(word, array("q")).append(at)
                self._counts.setdefault(word, array("q")).append(count)
        if len(set(self.docs)) < len(self.docs):
            twice = next(doc for doc, number in Counter(self.docs).items() if number > 1)
            raise InputError(f"the corpus holds document {twice!r} twice; expected each once")
        length = np.array(lengths, np.float64)
        self._norm = _K1 * (1 - _B + _B * length / (length.mean() or 1.0)) if len(length) else length

    def search(self, text: str, depth: int = 100) -> dict[str, float]:
        """Return the best documents with their scores, without those that share no word with the query."""
        scores: NDArray[np.float64] = np.zeros(len(self.docs))
        for word, times in sorted(Counter(_words_of(text)).items()):
            if word not in self._places:
                continue
            at = np.array(self._places[word], np.int64)
            count = np.array(self._counts[word], np.float64)
            rarity = math.log1p((len(self.docs) - len(at) + 0.5) / (len(at) + 0.5))
            scores[at] += times * rarity * count / (count + self._norm[at])
        order = np.argsort(-scores, kind="stable")[:depth].tolist()
        return {self.docs[at]: float(scores[at]) for at in order if scores[at] > 0}

    def run(self, texts: Mapping[str, str], name: str, depth: int = 100) -> Run:
        """Return what is found for each query."""
        found = {query: self.search(text, depth) for query, text in texts.items()}
        return Run.from_dict({query: docs for query, docs in found.items() if docs}, name)


def _words_of(text: str) -> list[str]:
    """Return the words of a text, in lower case: letters and digits.

    >>> _words_of("Don't use read_csv(2)")
    ['don', 't', 'use', 'read', 'csv', '2']
    """
    return _WORD.findall(text.casefold())
