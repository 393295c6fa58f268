"""Read a report back from its page; its columns of numbers are text: float64, little endian, base64."""

from __future__ import annotations

import binascii
import json
import math
import os
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rageval.errors import InputError

FORMAT = "rageval-report/1"
OPENING = '<script type="application/json" id="report">'  # behind it stands the report in its page
CLOSING = "</script>"
Column = list[float | None]


def packed(values: NDArray[np.float64]) -> str:
    """Return the numbers as text; NaN stands for a value that is not defined."""
    return b64encode(values.astype("<f8").tobytes()).decode()


def unpacked(text: str) -> Column:
    """Return the numbers again, None where nothing is defined.

    >>> unpacked(packed(np.array([0.1, np.nan])))
    [0.1, None]
    """
    try:
        values = np.frombuffer(b64decode(text, validate=True), "<f8")
    except (binascii.Error, ValueError):
        raise InputError(f"expected a column of numbers in base64, found {text!r:.40}") from None
    return [plain(value) for value in values.tolist()]


def with_columns(report: Mapping[str, Any], turn: Callable[[Any], Any]) -> dict[str, Any]:
    """Return the report with every column of values turned: packed or unpacked."""
    queries = report.get("queries")
    if not queries:
        return dict(report)
    values = {
        measure: {run: turn(column) for run, column in runs.items()}
        for measure, runs in queries["values"].items()
    }
    return {**report, "queries": {**queries, "values": values}}


def repacked(column: Column) -> str:
    """Return a column that was unpacked, packed again."""
    return packed(np.array(column, np.float64))


def plain(value: float | None) -> float | None:
    """Return the number as JSON can hold it."""
    return value if value is not None and math.isfinite(value) else None


def read_report(source: str | os.PathLike[str]) -> dict[str, Any]:
    """Return everything the page shows, columns of values as lists with None where nothing is defined."""
    try:
        text = Path(source).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise InputError(f"{source}: cannot be read ({reason}); expected {_EXPECTED}") from None
    _, found, rest = text.partition(OPENING)
    block, closed, _ = rest.partition(CLOSING)
    if not found or not closed:
        raise InputError(f"{source}: holds no report; expected {_EXPECTED}")
    try:
        report = json.loads(block)
    except ValueError as error:
        raise InputError(f"{source}: its numbers are damaged ({error}); expected {_EXPECTED}") from None
    if not isinstance(report, dict) or report.get("format") != FORMAT:
        raise InputError(f"{source}: expected a report of format {FORMAT}; make it again")
    return with_columns(report, unpacked)


_EXPECTED = "a page that rageval report wrote"
