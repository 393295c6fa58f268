"""Results of open-rag-eval (CSV): a row a passage, the answer in the first, citing passages as [1]."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rageval.errors import InputError
from rageval.logs._content import Content
from rageval.logs.rows import LogReader, LogReading, Passage, Row

_NO_ANSWER = ("NO_ANSWER", "API_ERROR")
_NEEDED = ("query_id", "query", "query_run", "passage_id", "passage", "generated_answer")


def _fits(content: Content) -> bool:
    return {"query_run", "passage_id"} <= set(content.first.keys())


def _rows(content: Content, reading: LogReading) -> Iterator[Row]:
    found: dict[tuple[str, str], Row] = {}
    for record in content.records():
        cells: dict[str, Any] = record.object()
        lacking = [name for name in _NEEDED if name not in cells]
        if lacking:
            raise InputError(f"{record.where}: expected the columns {', '.join(lacking)}, too")
        reading.unread.update(name for name, cell in cells.items() if cell and name not in _NEEDED)
        place = str(cells["query_id"]), str(cells["query_run"])
        row = found.get(place)
        if row is None:
            row = found[place] = Row(
                record.where,
                cells["query"],
                run="",
                repeat=place[1],
                ids={"query_id": place[0]},
                # The same question stands under two ids in its own example.
                key=place[0],
                record=cells,
            )
        if cells["passage"]:
            number = cells["passage_id"].strip().strip("[]")
            row.cites[number] = len(row.contexts)
            row.contexts.append(Passage(cells["passage"]))
        said = cells["generated_answer"].strip()
        if said in _NO_ANSWER:
            row.failed = said
        elif said or row.answer is None:
            row.answer = said  # it stands in the first row of each; in all others the cell is empty
    yield from found.values()


OPEN_RAG_EVAL = LogReader("open-rag-eval", _fits, _rows)
