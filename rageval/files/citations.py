"""Citations: in files positions in a list of references, or ids out of it; for everybody else ids."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rageval.errors import InputError
from rageval.files.forms import Id, identifier
from rageval.files.limits import Limits
from rageval.records import Answer


def resolved(
    parts: Iterable[Sequence[Id | None]], references: tuple[str, ...]
) -> Iterator[tuple[str | None, ...]]:
    """The documents each part cites: a number is a position from 0, a text an id; None if it leads nowhere.

    >>> list(resolved([[1, "a"], [2, -1, "c"]], ("a", "b")))
    [('b', 'a'), (None, None, None)]
    """
    known = frozenset(references)
    for citations in parts:
        yield tuple(_resolved(citation, references, known) for citation in citations)


def _resolved(citation: Id | None, references: tuple[str, ...], known: frozenset[str]) -> str | None:
    if isinstance(citation, int):
        return references[citation] if 0 <= citation < len(references) else None
    return citation if citation in known else None


def positions(citations: Sequence[str | None], answer: Answer) -> list[int]:
    """The citations as positions in the answer's references; -1 for one that leads nowhere.

    >>> positions(["b", None], Answer("q", "r", (), references=("a", "b")))
    [1, -1]
    """
    return [-1 if cited is None else answer.references.index(checked(cited, answer)) for cited in citations]


def checked(cited: str, answer: Answer) -> str:
    """The cited document, which must be among the references."""
    if cited not in answer.references:
        raise InputError(
            f"answer of run {answer.run_id!r} to query {answer.query_id!r}: cites {cited!r}, which is not"
            " among its references; add it to them"
        )
    return cited


def identifiers(values: Sequence[Id], what: str, limits: Limits) -> tuple[str, ...]:
    """Ids as text."""
    return tuple(identifier(value, what, limits) for value in values)
