"""A synthetic test collection: what is judged, what is relevant, what a system ranks where."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from workloads import Workload

SEED = 2025
DOCUMENTS = 2**38  # document numbers, written as ids by rows.py
SCATTER = 0x9E3779B97F4A7C15  # odd, so that neighbouring numbers scatter and never meet
DEEP = 60  # ranks below this one no compared measure looks at
TIE_SHARE = 0.02
HIGHEST_SCORE = 60_00000  # in units of 1e-5: below 64, so that 32-bit floats still tell scores apart


@dataclass(frozen=True)
class Topics:
    """A block of queries. Of each query's candidate documents the first few are the pool of the judges."""

    first: int  # number of the first query
    documents: NDArray[np.int64]  # (query, candidate) -> document number
    quality: NDArray[np.float64]  # (query, candidate); 0 outside the pool
    grades: NDArray[np.int8]  # (query, nugget, pooled document) -> grade, -1 where not judged

    def document_grades(self) -> NDArray[np.int8]:
        """(query, pooled document) -> the highest grade over nuggets, -1 where never judged."""
        highest: NDArray[np.int8] = self.grades.max(axis=1)
        return highest


@dataclass(frozen=True)
class Ranking:
    """(query, rank) -> document number and score in units of 1e-5."""

    documents: NDArray[np.int64]
    scores: NDArray[np.int64]


def draw_topics(size: Workload, first: int, queries: int) -> Topics:
    random = np.random.default_rng([SEED, first])
    pooled = size.pooled
    candidates = pooled + size.depth * 6 // 5
    quality = np.zeros((queries, candidates))
    quality[:, :pooled] = random.random((queries, pooled))
    return Topics(
        first=first,
        documents=draw_documents(random, queries, candidates),
        quality=quality,
        grades=draw_grades(random, size, quality[:, :pooled]),
    )


def draw_documents(random: np.random.Generator, queries: int, candidates: int) -> NDArray[np.int64]:
    """Different documents within a query; the same one may come back under another query."""
    start = random.integers(DOCUMENTS, size=(queries, 1), dtype=np.uint64)
    numbers = (start + np.arange(candidates, dtype=np.uint64)) * np.uint64(SCATTER)
    return (numbers % np.uint64(DOCUMENTS)).astype(np.int64)


def draw_grades(
    random: np.random.Generator, size: Workload, quality: NDArray[np.float64]
) -> NDArray[np.int8]:
    """Three in ten judged rows are relevant, one in three of those highly.

    A document of high quality supports a nugget more often, and some nuggets are rarer than others.
    """
    queries, pooled = quality.shape
    shape = (queries, size.nuggets, pooled)
    frequency = random.uniform(0.1, 1.1, size=(queries, size.nuggets, 1))
    relevant = random.random(shape) < frequency * quality[:, None, :]
    grades = relevant * (1 + (random.random(shape) < 1 / 3))
    judged = random.random(shape) < size.judged / pooled
    nuggets = 1 + random.binomial(size.nuggets - 1, size.nugget_share, size=(queries, 1, 1))
    judged &= np.arange(size.nuggets)[:, None] < nuggets
    return np.where(judged, grades, -1).astype(np.int8)


def rank_documents(topics: Topics, depth: int, run: int) -> Ranking:
    """What one system retrieves: noise, and more or less sense of which documents are good."""
    random = np.random.default_rng([SEED, topics.first, run + 1])
    skill = random.uniform(0.2, 1.0)
    appeal = random.gumbel(size=topics.quality.shape) + skill * (2 * topics.quality + (topics.quality > 0))
    order = np.argsort(-appeal, axis=1)[:, :depth]
    relevant = np.zeros(topics.quality.shape, bool)
    relevant[:, : topics.grades.shape[2]] = topics.document_grades() > 0
    return Ranking(
        documents=np.take_along_axis(topics.documents, order, axis=1),
        scores=draw_scores(random, np.take_along_axis(relevant, order, axis=1)),
    )


def draw_scores(random: np.random.Generator, relevant: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Descending scores, one in fifty equal to the one above.

    Near the top only documents without a relevant judgement tie, so that tools with different tie rules
    still have to agree.
    """
    depth = relevant.shape[1]
    steps = random.integers(1, 2 * HIGHEST_SCORE // (3 * depth), size=relevant.shape)
    may_tie = ~relevant
    may_tie[:, 1:] &= ~relevant[:, :-1]
    may_tie[:, DEEP:] = True
    may_tie[:, 0] = False
    steps[may_tie & (random.random(relevant.shape) < TIE_SHARE)] = 0
    falling = np.cumsum(steps, axis=1)
    return HIGHEST_SCORE * 3 // 4 - falling
