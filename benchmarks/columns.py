"""Columns of text as byte matrices, so that millions of lines are written without a Python loop.

A column is a (rows x width) array of bytes. NUL bytes pad it and are dropped when the lines are joined.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

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
