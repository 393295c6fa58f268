"""Judgements of answers and steps of agents as tables (Parquet), for tools that query columns, and back.

A table has one column for each key that the lines of its kind usually have, and `more`, JSON text, for what a
line has besides. A key that is not there is null. Reading gives the lines that were written.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from rageval.errors import InputError, Place
from rageval.files.columnar import plain_rows, table_written
from rageval.files.jsonl import _NamedBytes, as_line
from rageval.files.opening import Source, limits_of, name_of, with_limits
from rageval.text import visible

_AT_ONCE = 5_000  # rows of a group
_MORE = "more"
PARQUET = ".parquet"  # how the name of a table ends
_LARGEST = 2**53  # up to there every whole number is a float, too
_TYPES: Mapping[str, Any] = {"text": str, "number": (int, float), "whole": int}
JUDGEMENT_COLUMNS = {
    **dict.fromkeys(("query_id", "run_id", "item_id", "aspect", "label"), "text"),
    "grade": "number",
    **dict.fromkeys(("status", "judge", "rubric", "reason", "evidence", "detail", "importance"), "text"),
    **dict.fromkeys(("weight", "p"), "number"),
    "attempts": "whole",
    **dict.fromkeys(("key", "raw", "judged_sha"), "text"),
    "shown": "texts",
    _MORE: "text",
}
STEP_COLUMNS = {
    **dict.fromkeys(("query_id", "run_id"), "text"),
    "step": "whole",
    **dict.fromkeys(("kind", "tool", "query"), "text"),
    "docs": "texts",
    "status": "text",
    **dict.fromkeys(("input_tokens", "output_tokens", "cost", "seconds"), "number"),
    _MORE: "text",
}


def write_line_table(path: Path, columns: Mapping[str, str], lines: Iterable[str]) -> None:
    """Write JSON lines as a table with these columns."""
    with table_written(path, columns) as write_rows:
        rows = []
        for line in lines:
            rows.append(_row(json.loads(line), columns))
            if len(rows) >= _AT_ONCE:
                write_rows(rows)
                rows.clear()
        write_rows(rows)


def lines_of_table(source: Source) -> Source:
    """Return the lines of a table, in memory, under its name."""
    content = b"".join(as_line(record).encode() + b"\n" for record in _records(source))
    lines: Source = with_limits(_NamedBytes(content, name_of(source)), limits_of(source))
    return lines


def _row(record: Mapping[str, Any], columns: Mapping[str, str]) -> dict[str, Any]:
    kinds = {**columns, _MORE: ""}
    row = {name: value for name, value in record.items() if _fits(value, kinds.get(name, ""))}
    rest = {name: value for name, value in record.items() if name not in row}
    return {**row, _MORE: as_line(rest)} if rest else row


def _fits(value: Any, kind: str) -> bool:
    """Tell whether a cell of a column can hold a value, so that it is read as it was."""
    if kind == "texts":
        return isinstance(value, list) and all(isinstance(item, str) for item in value)
    is_number = isinstance(value, int | float)
    if isinstance(value, bool) or (is_number and not abs(value) < _LARGEST):
        return False
    return kind in _TYPES and isinstance(value, _TYPES[kind])


def _records(source: Source) -> Iterator[dict[str, Any]]:
    for number, row in plain_rows(source):
        record = {name: value for name, value in row.items() if value is not None and name != _MORE}
        if (text := row.get(_MORE)) is not None:
            try:
                rest = json.loads(text)
                if not isinstance(rest, dict):
                    raise ValueError
            except (TypeError, ValueError, RecursionError):
                raise InputError(
                    at=Place(visible(name_of(source)), number, inside=_MORE), expected="a JSON object as text"
                ) from None
            record = {**rest, **record}
        yield record
