"""What a rule says of a record, and where it stands."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import msgspec

from rageval.files.lines import quoted

ERROR, WARNING, FIXED = "error", "warning", "fixed"
Record = dict[str, Any]
Path = tuple[str, ...]
MISSING: Any = object()


class Remark(NamedTuple):
    """What is wrong with a record."""

    level: str
    message: str


class Finding(NamedTuple):
    """What is wrong with a line of the file, or was repaired in it."""

    line: int
    level: str
    message: str


Rule = Callable[[Record], Iterator[Remark]]


def error(message: str) -> Remark:
    """Something the track refuses."""
    return Remark(ERROR, message)


def warning(message: str) -> Remark:
    """Something the track accepts, and the author should know."""
    return Remark(WARNING, message)


def shown(value: Any) -> str:
    """A value of a file as a message may show it: short, and with nothing a terminal would obey."""
    if isinstance(value, str):
        return quoted(value.encode("utf-8", "surrogatepass"))
    try:
        return quoted(msgspec.json.encode(value))[1:-1]
    except (OverflowError, RecursionError):
        return "something too large to show"


def value_at(record: Record, path: Path) -> Any:
    """The value under nested keys, or MISSING."""
    value: Any = record
    for key in path:
        value = value.get(key, MISSING) if isinstance(value, dict) else MISSING
    return value


def id_at(record: Record, path: Path) -> str | None:
    """The id under nested keys as text; None if there is none."""
    value = value_at(record, path)
    return str(value) if isinstance(value, str) or is_number(value) else None


def is_number(value: Any) -> bool:
    """Whether it is a whole number, which true and false are not."""
    return isinstance(value, int) and not isinstance(value, bool)


def counted(count: int, what: str) -> str:
    """The number and its noun.

    >>> counted(1, "row"), counted(2000, "row")
    ('1 row', '2,000 rows')
    """
    return f"{count:,} {what}{'' if count == 1 else 's'}"
