"""Judgements of what earlier judgements asked for: they are read, and nothing is tested on them.

How long judging went on, or which documents were judged, depended on what had been judged before. So means
may be biased, and no test holds. Lines of judgements say so with the key `claim`. Judgements in other formats
have a file beside them, `FILE.adaptive.jsonl`, that lists the documents: `{"query_id": …, "doc_id": …}`.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import msgspec

from rageval.errors import Place
from rageval.files.jsonl import Id, as_line, read_records
from rageval.files.opening import ASKED_FOR
from rageval.files.writing import write_lines
from rageval.text import problem_of_id

_EXPECTED = "a document that was asked for {query_id, doc_id}"
AskedPair = tuple[str, str]  # query, document


class AskedFor(msgspec.Struct, frozen=True):
    """A document that earlier judgements asked for."""

    query_id: Id
    doc_id: Id


def read_asked(path: str) -> list[AskedPair]:
    """Return the documents that a file says were asked for."""
    places = []
    for line, record in read_records(path, AskedFor, _EXPECTED):
        place = str(record.query_id), str(record.doc_id)
        for problem in filter(None, map(problem_of_id, place)):
            raise problem.located(Place(path, line))
        places.append(place)
    return places


def note_asked(judged: Path, places: Iterable[AskedPair]) -> None:
    """Note beside judgements which of their documents were asked for."""
    asked = ({"query_id": query, "doc_id": doc} for query, doc in places)
    write_lines(Path(f"{judged}{ASKED_FOR}"), map(as_line, asked))
