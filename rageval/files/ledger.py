"""A ledger of claims: a line a comparison, added to by every command that is told to (`--ledger FILE`).

    {"claim":1,"date":"2026-01-01","difference":0.02,"measure":"crag_score","number":200,"p":0.03,
     "questions":DIGEST,"systems":[DIGEST,DIGEST],"test":"randomization"}

Lines are only ever added, so two processes at once, a line that a kill tore, and the union of two branches
leave a ledger that can be read: what is no line of it is passed over, and the same comparison counts once.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Annotated, NamedTuple

import msgspec

from rageval.errors import InputError, OutputError
from rageval.files.jsonl import as_line
from rageval.files.whole import read_whole
from rageval.text import visible

_FORM = 1
_BEGINS = b'{"claim":'
_LARGEST = 2**26  # bytes; a comparison takes about 250
_Name = Annotated[str, msgspec.Meta(min_length=1, max_length=1000)]


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """A comparison: of which systems, on which questions, by what measure and test, with what p."""

    questions: _Name
    number: Annotated[int, msgspec.Meta(ge=1, le=2**53)]
    systems: tuple[_Name, _Name]
    measure: _Name
    test: _Name
    p: Annotated[float, msgspec.Meta(ge=0, le=1)]
    difference: float | None = None
    date: Annotated[str, msgspec.Meta(max_length=100)] = ""
    claim: int = _FORM

    @property
    def what(self) -> tuple[str, frozenset[str], str, str]:
        """What is compared: another claim of the same is the same comparison."""
        return self.questions, frozenset(self.systems), self.measure, self.test


class ClaimLedger(NamedTuple):
    """The claims of a file, and how many of its lines are none."""

    claims: Sequence[Claim] = ()
    unreadable: int = 0


def read_ledger(path: str | os.PathLike[str]) -> ClaimLedger:
    """Read a ledger, which may not be there yet; `InputError` for a file that is none."""
    if not os.path.lexists(path):
        return ClaimLedger()
    content = read_whole(path, "a ledger of claims", _LARGEST)
    claims, unreadable = [], 0
    for line in filter(None, map(bytes.strip, content.split(b"\n"))):
        try:
            claims.append(msgspec.json.decode(line, type=Claim))
        except (ValueError, RecursionError):  # a line that a kill tore, or a mark of a merge
            unreadable += 1
    # A name that was typed wrong is of another file, to which nothing may be added. Of a ledger a kill may
    # have left the beginning of its first line.
    start = content.strip()[: len(_BEGINS)]
    if unreadable and not claims and not _BEGINS.startswith(start):
        raise InputError(
            f"{visible(os.fspath(path))}: holds no claims; expected a ledger written by --ledger, or a new"
            " file"
        )
    return ClaimLedger(claims, unreadable)


def add_to_ledger(path: str | os.PathLike[str], claims: Iterable[Claim]) -> None:
    """Add claims at the end of a ledger, in one piece; `OutputError` if they cannot be written."""
    content = "".join(as_line(msgspec.to_builtins(claim)) + "\n" for claim in claims).encode()
    if not content:
        return
    try:
        with open(path, "a+b", buffering=0) as stream:
            if stream.seek(0, os.SEEK_END):
                stream.seek(-1, os.SEEK_END)
                # A torn line stays one line: what follows begins a new one.
                content = content if stream.read(1) == b"\n" else b"\n" + content
            while content:
                content = content[stream.write(content) or 0 :]
    except OSError as error:
        raise OutputError(f"{visible(os.fspath(path))}: cannot be appended to: {error.strerror}") from error
