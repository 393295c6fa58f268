"""A finding: what a check says of a line of a file; and what a file holds that others are compared with."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import msgspec

from rageval.errors import InputError
from rageval.files.opening import quoted
from rageval.text import visible

ERROR, WARNING, FIXED = "error", "warning", "fixed"
Record = dict[str, Any]
Path = tuple[str, ...]
MISSING: Any = object()
_Line = int


class Remark(NamedTuple):
    """What is wrong with a record."""

    level: str
    message: str


Rule = Callable[[Record], Iterator[Remark]]


def error(message: str) -> Remark:
    """Make a remark on what the track refuses."""
    return Remark(ERROR, message)


def warning(message: str) -> Remark:
    """Make a remark on what the track accepts, and the author should know."""
    return Remark(WARNING, message)


def shown(value: Any) -> str:
    """Return a value of a file as a message may show it: short, and with nothing a terminal would obey."""
    if isinstance(value, str):
        return quoted(value.encode("utf-8", "surrogatepass"))
    try:
        return quoted(msgspec.json.encode(value))[1:-1]
    except (OverflowError, RecursionError):
        return "something too large to show"


def value_at(record: Record, path: Path) -> Any:
    """Return the value under nested keys, or MISSING."""
    value: Any = record
    for key in path:
        value = value.get(key, MISSING) if isinstance(value, dict) else MISSING
    return value


def id_at(record: Record, path: Path) -> str | None:
    """Return the id under nested keys as text; None if there is none."""
    value = value_at(record, path)
    return str(value) if isinstance(value, str) or is_number(value) else None


def is_number(value: Any) -> bool:
    """Tell whether it is a whole number, which true and false are not."""
    return isinstance(value, int) and not isinstance(value, bool)


def refusals(error: InputError, name: str) -> Iterator[tuple[int | None, str]]:
    """Yield what a reader said of a file of this name: each line's number, if it named one, and the words.

    >>> list(refusals(InputError("run:7: expected 6 columns"), "run"))
    [(7, 'expected 6 columns')]
    """
    for message in str(error).split("\n"):
        line, _, text = message.removeprefix(f"{name}:").partition(": ")
        yield (int(line), text) if line.isdigit() else (None, message)


def counted(count: int, what: str) -> str:
    """Return the number and its noun.

    >>> counted(1, "row"), counted(2000, "row")
    ('1 row', '2,000 rows')
    """
    return f"{count:,} {what}{'' if count == 1 else 's'}"


class Finding(NamedTuple):
    """What is wrong or suspicious in a line of a file, or was repaired in it.

    `effect` is what it does to which measure, where that is known.
    """

    line: _Line
    level: str
    message: str
    effect: str = ""
    source: str = ""

    @property
    def text(self) -> str:
        """The finding as a line of text."""
        effect = f"; {self.effect}" if self.effect else ""
        return f"{self.source}:{self.line}: {self.level}: {self.message}{effect}"


@dataclass(slots=True)
class Known:
    """What a file holds, each thing with the line where it stands first.

    `docs` are the documents of each query, of a run or of qrels, and `ranked` those of a run, best first;
    `nuggets` pairs of a query and a nugget, with `texts` where these are known.
    """

    source: str
    kind: str
    queries: dict[str, _Line] = field(default_factory=dict)
    documents: dict[str, _Line] = field(default_factory=dict)
    docs: dict[str, dict[bytes, _Line]] = field(default_factory=dict)
    ranked: dict[str, list[bytes]] = field(default_factory=dict)
    nuggets: dict[tuple[str, str], _Line] = field(default_factory=dict)
    texts: dict[tuple[str, str], str] = field(default_factory=dict)

    def every_document(self) -> dict[str, _Line]:
        """Return the documents whatever the query, which are many and seldom asked for."""
        lines = sorted((line, doc) for docs in self.docs.values() for doc, line in docs.items())
        found = dict(self.documents)
        for line, doc in lines:
            found.setdefault(doc.decode("utf-8", "surrogatepass"), line)
        return found


def once(
    source: str,
    places: Mapping[str, _Line] | Iterable[tuple[str, _Line]],
    level: str,
    message: str,
    effect: str,
) -> Iterator[Finding]:
    """Yield one finding for everything of a kind: `{n}` of them, the first at its line and by its `{name}`.

    >>> next(once("run", {"q2": 7, "q9": 8}, WARNING, "odd queries: {n}, first {name}", "no effect")).text
    "run:7: warning: odd queries: 2, first 'q2'; no effect"
    """
    found = list(places.items() if isinstance(places, Mapping) else places)
    if found:
        name, line = found[0]
        text = message.replace("{n}", f"{len(found):,}").replace("{name}", named(name))
        yield Finding(line, level, text, effect, source)


def in_query(name: str, query: str) -> str:
    """Return the name, for `once`, of something that is known within a query."""
    return f"{name}' of query '{query}"


def named(name: str) -> str:
    """Return an id as a message may show it."""
    return f"'{visible(name)[:80]}'"
