"""What our pages are put together of: columns of numbers as text, blocks of JSON, files, and a policy.

Columns are float64, little endian, in base64.
"""

from __future__ import annotations

import binascii
import json
import math
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rageval.core.remark import Remark
from rageval.errors import InputError

FORMAT = "rageval-report/1"
OPENING = '<script type="application/json" id="report">'  # behind it stands the report in its page
CLOSING = "</script>"
_Column = list[float | None]


def packed(values: NDArray[np.float64]) -> str:
    """Return the numbers as text; NaN stands for a value that is not defined."""
    return b64encode(values.astype("<f8").tobytes()).decode()


def unpacked(text: str) -> _Column:
    """Return the numbers again, None where nothing is defined.

    >>> unpacked(packed(np.array([0.1, np.nan])))
    [0.1, None]
    """
    try:
        values = np.frombuffer(b64decode(text, validate=True), "<f8")
    except (binascii.Error, ValueError):
        raise InputError(expected="a column of numbers in base64", found=f"{text!r:.40}") from None
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


def pairs_packed(report: Mapping[str, Any]) -> dict[str, Any]:
    """Return the report with its pairs as `fields` and `rows`, where all pairs have the same keys.

    A comparison of all pairs of twenty runs repeats its keys some hundred times.
    """
    comparison = report.get("comparison") or {}
    pairs = comparison.get("pairs") or []
    fields = list(pairs[0]) if pairs else []
    if not fields or any(list(pair) != fields for pair in pairs):
        return dict(report)
    packed_ = {"fields": fields, "rows": [list(pair.values()) for pair in pairs]}
    return {**report, "comparison": {**comparison, "pairs": packed_}}


def pairs_unpacked(report: Mapping[str, Any]) -> dict[str, Any]:
    """Return the report with its pairs as a list of records again."""
    comparison = report.get("comparison")
    if not comparison or not isinstance(comparison.get("pairs"), Mapping):
        return dict(report)
    packed = comparison["pairs"]
    try:
        fields = list(packed["fields"])
        pairs = [dict(zip(fields, row, strict=True)) for row in packed["rows"]]
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(
            problem=f"its pairs are damaged ({error})", expected="rows of as many values as fields"
        ) from None
    return {**report, "comparison": {**comparison, "pairs": pairs}}


def plain(value: float | None) -> float | None:
    """Return the number as JSON can hold it."""
    return value if value is not None and math.isfinite(value) else None


_UNSAFE = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"}


def as_block(report: Mapping[str, Any]) -> str:
    r"""Return the report as JSON in which nothing can end the block it stands in.

    >>> as_block({"title": "</script>"})
    '{"title":"\\u003c/script\\u003e"}'
    """
    compact = (",", ":")
    text = json.dumps(
        report, ensure_ascii=True, allow_nan=False, separators=compact, default=Remark.as_record
    )
    for character, escape in _UNSAFE.items():
        text = text.replace(character, escape)
    return text


def policy(scripts: Sequence[str], style: str, *more: str) -> str:
    """Return what the browser may do: run these scripts, use this style; load nothing, send nothing.

    What else a page may do stands in `more`.
    """
    return "; ".join(
        [
            "default-src 'none'",
            "script-src " + " ".join(map(hash_of, scripts)),
            f"style-src {hash_of(style)}",
            "base-uri 'none'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
            *more,
        ]
    )


@cache
def asset(name: str) -> str:
    """Return a file that goes into the page."""
    return (files("rageval.pages") / "assets" / name).read_text(encoding="utf-8")


def hash_of(text: str) -> str:
    """Return how a policy names a script or a style."""
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"
