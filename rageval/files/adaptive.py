"""Which documents were asked for because of what was judged before: a file beside the judgements.

`rageval pool next --judged qrels.txt` notes in `qrels.txt.adaptive.jsonl` what it asks for, by document:
`{"query_id": …, "doc_id": …, "from": {run: rank}, "for": "ap of a.trec, b.trec"}`. Judgements of which any
document stands there were chosen by what others said, so that means over them are no estimates. Nothing is
written into the judgements: every tool reads these as before.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import msgspec

from rageval.errors import InputError, UsageError
from rageval.files.jsonl import Id, as_line, read_records
from rageval.files.opening import ADAPTIVE, Source, is_local_file, name_of
from rageval.files.writing import write_lines
from rageval.text import problem_of_id, visible

_EXPECTED = "a document that was asked for {query_id, doc_id, from, for}"
Place = tuple[str, str]  # query, document


class AskedFor(msgspec.Struct, frozen=True):
    """A document that was asked for: at which ranks of which runs it stands, and what it is to decide."""

    query_id: Id
    doc_id: Id
    runs: dict[str, int] = msgspec.field(default={}, name="from")
    what: str = msgspec.field(default="", name="for")

    @property
    def place(self) -> Place:
        """The query and the document."""
        return str(self.query_id), str(self.doc_id)


def read_asked(path: str) -> dict[Place, AskedFor]:
    """Return the documents that a file says were asked for."""
    found = {}
    for line, record in read_records(path, AskedFor, _EXPECTED):
        for problem in filter(None, map(problem_of_id, record.place)):
            raise InputError(f"{path}:{line}: expected {problem}")
        found[record.place] = record
    return found


def note_claim(judged: Source, what: str, said: str) -> None:
    """Note what became of a claim for which documents were asked."""
    path = f"{judged}{ADAPTIVE}"
    if is_local_file(path):
        asked = read_asked(path).values()
        told = [msgspec.structs.replace(each, what=said) if each.what == what else each for each in asked]
        write_lines(Path(path), map(as_line, told))


def note_asked(judged: Source, asked: Mapping[Place, Mapping[str, int]], what: str) -> None:
    """Note beside judgements which documents are asked for next, with the runs they stand in.

    Raises
    ------
    UsageError
        Judgements that are no file of this machine, beside which nothing can stand.
    """
    if not isinstance(judged, str | os.PathLike) or not is_local_file(judged):
        raise UsageError(
            f"{visible(name_of(judged))}: expected judgements in a file of this machine, beside which it is"
            " noted what was asked for; write them into one, and add the new ones to it"
        )
    path = f"{os.fspath(judged)}{ADAPTIVE}"
    before = read_asked(path) if os.path.isfile(path) else {}
    now = {place: AskedFor(*place, dict(runs), what) for place, runs in asked.items()}
    if found := {**now, **before}.values():  # what was asked for first counts
        write_lines(Path(path), map(as_line, found))
