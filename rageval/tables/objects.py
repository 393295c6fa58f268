"""Columns out of Python objects: dicts, records of any library, data frames."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rageval.errors import InputError
from rageval.text import AROUND, problem_of_id

LARGEST_GRADE = 10**6


def columns_of(records: Iterable[Any], names: Sequence[str]) -> list[list[Any]]:
    """The named fields of every record, a list a field; a record may be an object or a dict."""
    columns: list[list[Any]] = [[] for _ in names]
    for number, record in enumerate(records, 1):
        for column, value in zip(columns, _values(record, names, number), strict=True):
            column.append(value)
    return columns


def _values(record: Any, names: Sequence[str], number: int) -> Sequence[Any]:
    try:
        if isinstance(record, Mapping):
            return [record[name] for name in names]
        return [getattr(record, name) for name in names]
    except (KeyError, AttributeError):
        raise InputError(
            f"record {number}: expected the fields {', '.join(names)}, found {record!r:.120}"
        ) from None


def mappings(outer: Mapping[Any, Any], table: str, expected: str) -> Iterator[tuple[Any, Mapping[Any, Any]]]:
    """The items of a dict of dicts."""
    seen: set[str] = set()
    for query, inner in outer.items():
        if str(query) in seen:
            raise InputError(f"{table}: the query {str(query)!r:.80} is there twice, as text and as a number")
        seen.add(str(query))
        if not isinstance(inner, Mapping):
            raise InputError(f"{table}: expected {expected} for query {query!r:.80}, found {inner!r:.80}")
        yield query, inner


def is_frame(data: Any, names: Sequence[str]) -> bool:
    """Whether this is a DataFrame (of pandas, or one that behaves alike) with these columns."""
    return hasattr(data, "columns") and all(name in data.columns for name in names)


def text(values: Iterable[Any], table: str, column: str) -> list[str]:
    """Ids as text. Whole numbers are read as their digits; anything else would have several spellings."""
    found = list(values)
    for at, value in enumerate(found):
        if not isinstance(value, str):
            found[at] = value = _digits(value, f"{table}:{at + 1}", column)
        if value.strip(AROUND) != value or not value:
            raise InputError(f"{table}:{at + 1}: expected as {column} {problem_of_id(value)}")
    return found


def _digits(value: Any, where: str, column: str) -> str:
    if isinstance(value, Integral) and not isinstance(value, bool):
        return str(int(value))
    gap = "; a gap turns a column of whole numbers into fractions" if isinstance(value, float) else ""
    raise InputError(
        f"{where}: expected text (or a whole number) as {column}, found {value!r:.80}; ids are strings{gap}"
    )


def finite(values: Iterable[Any], table: str, column: str) -> NDArray[np.float64]:
    """Numbers, none of them NaN or infinite."""
    values = list(values)
    try:
        if any(isinstance(value, str) for value in values):
            raise TypeError  # numpy would read the text as a number
        numbers = np.array(values, np.float64).reshape(len(values))
    except (TypeError, ValueError, OverflowError):
        numbers = np.array([_number(value) for value in values], np.float64)
    bad = np.flatnonzero(~np.isfinite(numbers))
    if len(bad):
        number = int(bad[0]) if len(bad) else 0
        raise InputError(
            f"{table}:{number + 1}: expected a finite number as {column}, found {values[number]!r:.80}"
        )
    return numbers


def _number(value: Any) -> float:
    try:
        return float(value) if not isinstance(value, str) else float("nan")
    except (TypeError, ValueError, OverflowError):
        return float("nan")


def whole(values: Iterable[Any], table: str, column: str, largest: int) -> NDArray[np.int32]:
    """Grades: whole numbers within the limit."""
    values = list(values)
    numbers = finite(values, table, column)
    bad = np.flatnonzero((numbers != np.trunc(numbers)) | (np.abs(numbers) > largest))
    if len(bad):
        number = int(bad[0])
        raise InputError(
            f"{table}:{number + 1}: expected a whole number from -{largest:,} to {largest:,} as {column},"
            f" found {values[number]!r:.80}"
        )
    return numbers.astype(np.int32)
