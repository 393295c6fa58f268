"""A synthetic collection as lines of the TREC formats, millions of them without a Python loop.

A column of text is a (rows x width) array of bytes. NUL bytes pad it and are dropped when lines are joined.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from collection import Ranking, Topics

Column = NDArray[np.uint8]
Integers = NDArray[np.int64]

NUL = 0


def padded_decimal(values: Integers, width: int) -> Column:
    """Each value with leading zeros: 7 at width 3 is `007`."""
    powers = 10 ** np.arange(width - 1, -1, -1)
    return (values[:, None] // powers % 10 + ord("0")).astype(np.uint8)


def decimal(values: Integers, width: int) -> Column:
    """Each value without leading zeros, at most `width` digits."""
    digits = padded_decimal(values, width)
    smallest = 10 ** np.arange(width - 1, -1, -1)
    smallest[-1] = 0  # the last digit stays, so that 0 is written `0`
    digits[values[:, None] < smallest] = NUL
    return digits


def literal(text: str, rows: int) -> Column:
    """The same text in every row."""
    return np.broadcast_to(np.frombuffer(text.encode(), np.uint8), (rows, len(text)))


def choice(texts: Sequence[str], indices: Integers) -> Column:
    """One of several texts of equal length in each row."""
    return np.array([list(text.encode()) for text in texts], np.uint8)[indices]


def join_lines(columns: Sequence[Column]) -> bytes:
    """The rows, side by side, each ended by a line feed."""
    table: Column = np.concatenate([*columns, literal("\n", len(columns[0]))], axis=1)
    kept: Column = table[table != NUL]
    return kept.tobytes()


CRAWLS = ("tw", "wb", "kw")
LONGEST_DOCUMENT = 150  # passages


def query_ids(numbers: Integers) -> Column:
    """Eight digits, distinct, in no order."""
    return padded_decimal(10_000_000 + numbers * 7_368_787 % 89_999_999, 8)


def document_ids(numbers: Integers) -> Column:
    """`clueweb12-0000tw-05-12114#87`: 27 to 29 bytes."""
    rest, page = np.divmod(numbers, 100_000)
    rest, part = np.divmod(rest, 100)
    segment, crawl = np.divmod(rest, len(CRAWLS))
    rows = len(numbers)
    columns = [
        literal("clueweb12-", rows),
        padded_decimal(segment, 4),
        choice(CRAWLS, crawl),
        literal("-", rows),
        padded_decimal(part, 2),
        literal("-", rows),
        padded_decimal(page, 5),
        literal("#", rows),
        decimal(numbers // 7 % LONGEST_DOCUMENT, 3),
    ]
    return np.concatenate(columns, axis=1)


def run(topics: Topics, ranking: Ranking, number: int) -> bytes:
    queries, depth = ranking.documents.shape
    rows = queries * depth
    whole, fraction = np.divmod(ranking.scores.ravel(), 100_000)
    columns = [
        query_ids(topics.first + np.repeat(np.arange(queries), depth)),
        literal(" Q0 ", rows),
        document_ids(ranking.documents.ravel()),
        literal(" ", rows),
        decimal(np.tile(np.arange(1, depth + 1), queries), 4),
        literal(" ", rows),
        decimal(whole, 2),
        literal(".", rows),
        padded_decimal(fraction, 5),
        literal(f" bge-large-en-v1.5-rrf{number:02d}", rows),
    ]
    return join_lines(columns)


def nugget_qrels(topics: Topics) -> bytes:
    query, nugget, document = np.nonzero(topics.grades >= 0)
    names = [literal(" ", len(query)), decimal(nugget + 1, 2)]  # ndeval reads whole numbers only
    return qrels(topics, query, names, document, topics.grades[query, nugget, document])


def plain_qrels(topics: Topics) -> bytes:
    grades = topics.document_grades()
    query, document = np.nonzero(grades >= 0)
    return qrels(topics, query, [literal(" 0", len(query))], document, grades[query, document])


def qrels(
    topics: Topics, query: Integers, aspect: list[Column], document: Integers, grade: NDArray[np.int8]
) -> bytes:
    columns = [
        query_ids(topics.first + query),
        *aspect,
        literal(" ", len(query)),
        document_ids(topics.documents[query, document]),
        literal(" ", len(query)),
        decimal(grade.astype(np.int64), 1),
    ]
    return join_lines(columns)
