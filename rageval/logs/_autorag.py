"""Tables of AutoRAG (Parquet): the best results of its nodes, with what should have been retrieved."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rageval.errors import InputError
from rageval.logs._content import Content
from rageval.logs.rows import (
    LogReader,
    LogReading,
    Passage,
    Row,
    cell_graded,
    list_of,
    metrics_in,
    number_of,
    text_of,
)

_OWN = {"qid", "query", "retrieval_gt", "generation_gt", "generated_texts", "generated_tokens"}
_OWN |= {"generated_log_probs", "retrieved_contents", "retrieved_ids", "retrieve_scores", "prompts"}


def _fits(content: Content) -> bool:
    return {"retrieved_ids", "retrieved_contents", "query"} <= set(content.first.keys())


def _rows(content: Content, reading: LogReading) -> Iterator[Row]:
    found = [(record.where, record.object()) for record in content.records()]
    metrics = metrics_in((cells for _, cells in found), _is_field, reading)
    for where, cells in found:
        answer = cells.get("generated_texts")
        yield Row(
            where,
            text_of(cells.get("query")),
            answer if isinstance(answer, str) else None,
            list_of(cells.get("generation_gt") or []),
            contexts=_contexts(cells, where),
            grades=[cell_graded(name, cells.get(name)) for name in metrics],
            ids={"qid": text_of(cells.get("qid"))} if text_of(cells.get("qid")) else {},
            relevant=_relevant(cells.get("retrieval_gt"), where),
            record=cells,
        )


def _is_field(name: str) -> bool:
    return name in _OWN or name.endswith("time")


def _contexts(cells: dict[str, Any], where: str) -> list[Passage]:
    columns = [cells.get(name) or [] for name in ("retrieved_contents", "retrieved_ids", "retrieve_scores")]
    columns[2] = columns[2] or [None] * len(columns[0])
    if len({len(column) for column in columns}) > 1:
        raise InputError(f"{where}: expected as many texts as ids and scores, found {[*map(len, columns)]}")
    return [
        Passage(text or "", text_of(doc), number_of(score)) for text, doc, score in zip(*columns, strict=True)
    ]


def _relevant(gold: Any, where: str) -> list[list[str]]:
    """Return lists of documents of which any one is enough: each is a nugget."""
    groups = gold if isinstance(gold, list) else []  # a question without any has [[]]
    found = [[text_of(doc) for doc in group if text_of(doc)] for group in groups if isinstance(group, list)]
    if len(found) < len(groups):
        raise InputError(f"{where}: expected as retrieval_gt a list of lists of ids, found {gold!r:.80}")
    return [group for group in found if group]


AUTORAG = LogReader("autorag", _fits, _rows)
