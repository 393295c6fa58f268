"""Columns out of Python objects: dicts, records of any library, data frames."""

from __future__ import annotations

import io
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from numbers import Integral
from typing import Any, Protocol, SupportsFloat, TypeAlias

from rageval import hooks
from rageval.errors import InputError, Place
from rageval.records import is_frame
from rageval.text import AROUND, problem_of_id

AnyRecord: TypeAlias = "Mapping[str, Any]"


class Frame(Protocol):
    """A DataFrame of pandas, or one that is alike."""

    @property
    def columns(self) -> Any:
        """The names of the columns."""

    def __getitem__(self, column: Any, /) -> Any: ...

    def __len__(self) -> int: ...


class RetrievedRecord(Protocol):
    """A retrieved document, such as a `ScoredDoc` of ir_measures or of ir_datasets."""

    @property
    def query_id(self) -> str:
        """The query."""

    @property
    def doc_id(self) -> str:
        """The document."""

    @property
    def score(self) -> SupportsFloat:
        """The score; the greatest is ranked first."""


class JudgedRecord(Protocol):
    """A judged document, such as a `Qrel` of ir_measures or of ir_datasets."""

    @property
    def query_id(self) -> str:
        """The query."""

    @property
    def doc_id(self) -> str:
        """The document."""

    @property
    def relevance(self) -> SupportsFloat:
        """The grade."""


class HasRun(Protocol):
    """What iterates over retrieved documents, such as a dataset of ir_datasets."""

    def scoreddocs_iter(self) -> Iterable[Any]:
        """Iterate over the retrieved documents."""


class HasQrels(Protocol):
    """What iterates over judged documents, such as a dataset of ir_datasets."""

    def qrels_iter(self) -> Iterable[Any]:
        """Iterate over the judgements."""


_OF_PYTERRIER = {"query_id": "qid", "doc_id": "docno", "relevance": "label"}
# What a column that names the nugget may be called; where there are several, the first of these is it.
NUGGET_COLUMNS = (
    *("nugget_id", "nugget", "subtopic_id", "subtopic", "intent_id", "intent", "aspect_id", "aspect"),
    *("iteration", "iter"),
)
# TREC's own column, which many files fill with 0, Q0, a round or an assessor.
ITERATIONS = ("iteration", "iter")


def nugget_column(names: Iterable[str]) -> str | None:
    """Return which of these columns names the nugget; None if none does.

    >>> nugget_column(["query_id", "iteration", "subtopic"]), nugget_column(["query_id"])
    ('subtopic', None)
    """
    columns = set(names)
    return next((name for name in NUGGET_COLUMNS if name in columns), None)


def unread(names: Iterable[Any], read: Iterable[str]) -> tuple[str, ...]:
    """Return the columns that are not read, in their order."""
    read_names = set(read)
    return tuple(str(name) for name in dict.fromkeys(names) if str(name) not in read_names)


def columns_of(records: Iterable[Any], names: Sequence[str]) -> list[list[Any]]:
    """Return the named fields of every record, a list a field; a record may be an object or a dict."""
    columns: list[list[Any]] = [[] for _ in names]
    for number, record in enumerate(records, 1):
        try:
            is_dict = isinstance(record, Mapping)
            values = [record[name] if is_dict else getattr(record, name) for name in names]
        except (KeyError, AttributeError):
            raise InputError(
                at=Place(f"record {number}"),
                expected=f"the fields {', '.join(names)}",
                found=f"{record!r:.120}",
            ) from None
        for column, value in zip(columns, values, strict=True):
            column.append(value)
    return columns


def mappings(outer: Mapping[Any, Any], table: str, expected: str) -> Iterator[tuple[Any, Mapping[Any, Any]]]:
    """Yield the items of a dict of dicts."""
    seen: set[str] = set()
    for query, inner in outer.items():
        text = str(query)
        if text in seen:
            raise InputError(
                at=Place(table), problem=f"the query {text!r:.80} appears twice, as text and as a number"
            )
        seen.add(text)
        # Most are dicts, which are told quicker by their type.
        if type(inner) is not dict and not isinstance(inner, Mapping):
            raise InputError(
                at=Place(table), expected=f"{expected} for query {query!r:.80}", found=f"{inner!r:.80}"
            )
        yield query, inner


def column_names(frame: Any, table: str = "DataFrame") -> list[Any]:
    """Return the names of the columns of a frame; `InputError` for one whose rows are not read yet."""
    for method in ("collect", "compute", "df"):
        if callable(getattr(type(frame), method, None)):
            kind = f"{type(frame).__module__.partition('.')[0]}.{type(frame).__name__}"
            raise InputError(
                at=Place(table),
                expected="a DataFrame of pandas or polars, or a pyarrow.Table",
                found=f"a {kind}, which has not read its rows",
                remedy=f"pass the result of its {method}()",
            )
    return list(getattr(frame, "column_names", None) or frame.columns)


def column_of(frame: Any, name: Any, table: str = "DataFrame") -> list[Any]:
    """Return the cells of a column of a frame, as plain Python's."""
    column = frame[name]
    if isinstance(column, list):
        return column
    for method in ("tolist", "to_list", "to_pylist"):
        if hasattr(column, method):
            return list(getattr(column, method)())
    kind = "twice" if is_frame(column) else f"as a {type(column).__name__}"
    raise InputError(
        at=Place(table),
        expected="each column once, with a cell a row",
        found=f"the column {str(name)!r:.80} {kind}",
    )


def columns_of_frame(frame: Any, names: Sequence[str], table: str) -> list[str]:
    """Return what a DataFrame (of pandas, or one that behaves alike) calls these columns."""
    columns = column_names(frame, table)
    called = [name if name in columns else _OF_PYTERRIER.get(name, name) for name in names]
    if not set(called) <= set(columns):
        raise InputError(
            at=Place(table),
            expected=f"the columns {', '.join(names)} (or PyTerrier's"
            f" {', '.join(_OF_PYTERRIER.get(name, name) for name in names)})",
            found=f"{columns}",
        )
    return called


_OF_FRAMES = {"qid": "query_id", "query": "question", "qanswer": "answer"}  # as PyTerrier's frames have them


def records_of_frame(frame: Any) -> list[dict[str, Any]]:
    """Return the rows of a DataFrame (of pandas, or alike) as dicts; what is missing has no key.

    >>> import pandas
    >>> records_of_frame(pandas.DataFrame({"qid": [1, 2], "answer": ["Oslo", None]}))
    [{'query_id': 1, 'answer': 'Oslo'}, {'query_id': 2}]
    """
    given = column_names(frame)
    columns = list(map(str, given))
    # Lists of nuggets and rubrics have a `qid` and a `query` of their own.
    is_list = not {"nuggets", "rubrics"}.isdisjoint(columns)
    called = {name: name if is_list else _OF_FRAMES.get(name, name) for name in columns}
    names = [name if called[name] in columns else called[name] for name in columns]
    cells = [map(_plain_cell, column_of(frame, column)) for column in given]
    return [
        {name: cell for name, cell in zip(names, row, strict=True) if cell is not None}
        for row in zip(*cells, strict=True)
    ]


def csv_of_table(table: Any, name: str) -> bytes:
    """Return a DataFrame, or records, as a file of CSV: what is missing is a blank cell, a list is JSON.

    >>> import pandas
    >>> csv_of_table(pandas.DataFrame({"id": [1, 2], "contexts": [["a"], None]}), "v1").decode().split()
    ['id,contexts', '1,"[""a""]"', '2,']
    >>> csv_of_table([{"id": 1, "contexts": ["a"]}, {"id": 2}], "v1").decode().split()
    ['id,contexts', '1,"[""a""]"', '2,']
    """
    import csv

    if is_frame(table):
        columns = column_names(table)
        cells = [map(_plain_cell, column_of(table, column)) for column in columns]
        table = [dict(zip(map(str, columns), row, strict=True)) for row in zip(*cells, strict=True)]
    # As all records in memory are: dates are text, NaN is null, and what no file could hold is refused.
    records = [hooks.first_record(line) for line in hooks.records_in_memory(table, name)]
    names = list(dict.fromkeys(key for record in records for key in record))
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(names)
    for record in records:
        row = (record.get(key) for key in names)
        texts = (hooks.record_line(cell) if isinstance(cell, list | dict | bool) else cell for cell in row)
        writer.writerow(["" if cell is None else cell for cell in texts])
    return stream.getvalue().encode("utf-8", "surrogatepass")


def _plain_cell(cell: Any) -> Any:
    """Return a cell as JSON could hold it: what is numpy's as Python's, what is missing as None."""
    value = cell.tolist() if hasattr(cell, "tolist") else cell
    return None if is_missing(value) else value


def is_missing(value: Any) -> bool:
    """Return whether a cell of a frame, or a field of a record, holds nothing: None, NaN, or pandas' NA."""
    if value is None or isinstance(value, str | int):
        return value is None
    return bool(value != value) if isinstance(value, float) else repr(value) == "<NA>"


def ids(values: Iterable[Any], table: str, column: str, start: int = 1) -> list[bytes]:
    """Return ids as the bytes of their UTF-8, which is how ids of files are compared and ordered.

    The first of them stands in row `start`.
    """
    texts = list(values)
    try:
        # All at once, in C, and the usual: words, which come apart and together again as they were.
        joined = " ".join(texts).encode()
        encoded = joined.split()
        if len(encoded) == len(texts) and b" ".join(encoded) == joined:
            return encoded
    except (TypeError, UnicodeEncodeError):  # whole numbers; half of a character
        pass
    for index, value in enumerate(texts, start - 1):
        # Whole numbers are read as digits; anything else would have several spellings.
        if not isinstance(value, str):
            if not isinstance(value, Integral) or isinstance(value, bool):
                gap = "; a gap turns a column of whole numbers into fractions"
                raise InputError(
                    at=Place(table, index + 1),
                    expected=f"text (or a whole number) as {column}",
                    found=f"{value!r:.80}",
                    remedy=f"ids are strings{gap if isinstance(value, float) else ''}",
                )
            texts[index - start + 1] = value = str(int(value))
        if value.strip(AROUND) != value or not value:
            raise InputError(at=Place(table, index + 1), expected=f"as {column} {problem_of_id(value)}")
    try:
        return list(map(str.encode, texts))
    except UnicodeEncodeError:  # half of a character
        return [name.encode("utf-8", "surrogatepass") for name in texts]


def grouped(
    outer: Sequence[Any], inner: Sequence[Any], values: Sequence[Any]
) -> dict[str, dict[str, Any]] | None:
    """Return columns as `{outer: {inner: value}}`; None if an id is no text, or a pair comes twice.

    >>> grouped(["q", "p", "q"], ["a", "a", "b"], [1, 2, 3])
    {'q': {'a': 1, 'b': 3}, 'p': {'a': 2}}
    """
    if set(map(type, outer)) != {str} or set(map(type, inner)) != {str}:
        return None
    groups: dict[str, dict[str, Any]] = {}
    for group, key, value in zip(outer, inner, values, strict=True):
        try:
            groups[group][key] = value
        except KeyError:
            groups[group] = {key: value}
    return groups if sum(map(len, groups.values())) == len(values) else None


def finite(values: Iterable[Any], table: str, column: str, start: int = 1) -> list[float]:
    """Return numbers, none of them NaN or infinite; the first of them stands in row `start`."""
    given = list(values)
    numbers = given if set(map(type, given)) == {float} else list(map(_number_or_nan, given))
    # The sum tells at once, if it is not too large itself.
    if not math.isfinite(sum(numbers)) and not all(map(math.isfinite, numbers)):
        index = next(index for index, number in enumerate(numbers) if not math.isfinite(number))
        raise InputError(
            at=Place(table, index + start),
            expected=f"a finite number as {column}",
            found=f"{given[index]!r:.80}",
        )
    return numbers


def _number_or_nan(value: Any) -> float:
    try:
        return float(value) if not isinstance(value, str | bytes) else math.nan
    except (TypeError, ValueError, OverflowError):
        return math.nan


def graded(values: Iterable[Any], table: str, column: str, largest: int, start: int = 1) -> list[int | float]:
    """Return grades: finite numbers within the limit, whole ones as such; the first stands in row `start`."""
    given = list(values)
    if set(map(type, given)) == {int} and -largest <= min(given) and max(given) <= largest:
        return given
    numbers = finite(given, table, column, start)
    for row, number in enumerate(numbers, start):
        if abs(number) > largest:
            raise InputError(
                at=Place(table, row),
                expected=f"a number from -{largest:,} to {largest:,} as {column}",
                found=f"{given[row - start]!r:.80}",
            )
    return [int(number) if number.is_integer() else number for number in map(float, numbers)]


def whole(values: Iterable[Any], table: str, column: str, largest: int) -> list[int]:
    """Return whole numbers within the limit."""
    numbers = graded(values, table, column, largest)
    for index, number in enumerate(numbers):
        if not isinstance(number, int):
            raise InputError(
                at=Place(table, index + 1),
                expected=f"a whole number from -{largest:,} to {largest:,} as {column}",
                found=f"{number!r:.80}",
            )
    return list(map(int, numbers))
