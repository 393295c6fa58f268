"""A finding, and what a file is known to hold when others are compared with it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from rageval.text import visible

ERROR, WARNING = "error", "warning"
Line = int


class Finding(NamedTuple):
    """What is suspicious in a line of a file, and what it does to which measure."""

    source: str
    line: Line
    level: str
    message: str
    effect: str

    @property
    def text(self) -> str:
        """The finding as a line of text."""
        return f"{self.source}:{self.line}: {self.level}: {self.message}; {self.effect}"


@dataclass(slots=True)
class Known:
    """What a file holds, each thing with the line where it stands first.

    `docs` are the documents of each query, of a run or of qrels, and `ranked` those of a run, best first;
    `nuggets` pairs of a query and a nugget, with `texts` where these are known.
    """

    source: str
    kind: str
    queries: dict[str, Line] = field(default_factory=dict)
    documents: dict[str, Line] = field(default_factory=dict)
    docs: dict[str, dict[bytes, Line]] = field(default_factory=dict)
    ranked: dict[str, list[bytes]] = field(default_factory=dict)
    nuggets: dict[tuple[str, str], Line] = field(default_factory=dict)
    texts: dict[tuple[str, str], str] = field(default_factory=dict)

    def every_document(self) -> dict[str, Line]:
        """Return the documents whatever the query, which are many and seldom asked for."""
        lines = sorted((line, doc) for docs in self.docs.values() for doc, line in docs.items())
        found = dict(self.documents)
        for line, doc in lines:
            found.setdefault(doc.decode("utf-8", "surrogatepass"), line)
        return found


def once(
    source: str,
    places: Mapping[str, Line] | Iterable[tuple[str, Line]],
    level: str,
    message: str,
    effect: str,
) -> Iterator[Finding]:
    """One finding for everything of a kind: `{n}` of them, the first at its line and by its `{name}`.

    >>> next(once("run", {"q2": 7, "q9": 8}, WARNING, "odd queries: {n}, first {name}", "no effect")).text
    "run:7: warning: odd queries: 2, first 'q2'; no effect"
    """
    found = list(places.items() if isinstance(places, Mapping) else places)
    if found:
        name, line = found[0]
        text = message.replace("{n}", f"{len(found):,}").replace("{name}", shown(name))
        yield Finding(source, line, level, text, effect)


def in_query(name: str, query: str) -> str:
    """The name, for `once`, of something that is known within a query."""
    return f"{name}' of query '{query}"


def shown(name: str) -> str:
    """An id as a message may show it."""
    return f"'{visible(name)[:80]}'"
