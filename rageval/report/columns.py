"""Columns of numbers as text that is short and exact: float64, little endian, base64."""

from __future__ import annotations

import binascii
import math
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rageval.errors import InputError

Column = list[float | None]


def packed(values: NDArray[np.float64]) -> str:
    """The numbers as text; NaN stands for a value that is not defined."""
    return b64encode(values.astype("<f8").tobytes()).decode()


def unpacked(text: str) -> Column:
    """The numbers again, None where nothing is defined.

    >>> unpacked(packed(np.array([0.1, np.nan])))
    [0.1, None]
    """
    try:
        values = np.frombuffer(b64decode(text, validate=True), "<f8")
    except (binascii.Error, ValueError):
        raise InputError(f"expected a column of numbers in base64, found {text!r:.40}") from None
    return [plain(value) for value in values.tolist()]


def with_columns(report: Mapping[str, Any], turn: Callable[[Any], Any]) -> dict[str, Any]:
    """The report with every column of values turned: packed or unpacked."""
    queries = report.get("queries")
    if not queries:
        return dict(report)
    values = {
        measure: {run: turn(column) for run, column in runs.items()}
        for measure, runs in queries["values"].items()
    }
    return {**report, "queries": {**queries, "values": values}}


def repacked(column: Column) -> str:
    """A column that was unpacked, packed again."""
    return packed(np.array(column, np.float64))


def plain(value: float | None) -> float | None:
    """The number as JSON can hold it."""
    return value if value is not None and math.isfinite(value) else None
