"""A report read back from its page."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from rageval.errors import InputError
from rageval.report.columns import unpacked, with_columns
from rageval.report.gathering import FORMAT
from rageval.report.page import CLOSING, OPENING


def read_report(source: str | os.PathLike[str]) -> dict[str, Any]:
    """Everything the page shows, columns of values as lists with None where nothing is defined."""
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
