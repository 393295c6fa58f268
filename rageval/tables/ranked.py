"""Our ranking and our judgements in the forms that ir_measures takes."""

from __future__ import annotations

from typing import Any

import numpy as np

from rageval.records import Qrel
from rageval.tables.blocks import stretches
from rageval.tables.joining import View
from rageval.tables.qrels import Qrels
from rageval.tables.ranking import rank_rows
from rageval.tables.run import Run


def ranking_of(run: Run, qrels: Qrels, view: View) -> dict[str, dict[str, float]]:
    """{query: {document: score}} of the judged queries, the scores being whole numbers down to 1.

    So no tool can order the documents otherwise, and none meets a score below zero.
    """
    ranking: dict[str, dict[str, float]] = {query: {} for query in qrels.query_ids}
    names = run.query_ids
    judged = _judged_documents(qrels) if view.judged_only else None
    for block in run.blocks:
        rank = rank_rows(block, np.arange(len(block)), view.order, ()).rank.tolist()
        docs = block.doc.to_str()
        begin = stretches(block.query)
        for first, last in zip(begin.tolist(), [*begin[1:].tolist(), len(block)], strict=True):
            query = names[int(block.query[first])]
            rows = sorted(range(first, last), key=rank.__getitem__)
            if judged is not None:
                rows = [row for row in rows if (query, docs[row]) in judged]
            if query in ranking:
                rows = rows[: view.depth]
                ranking[query] = {docs[row]: float(len(rows) - at) for at, row in enumerate(rows)}
    return ranking


def collapsed(qrels: Qrels) -> dict[str, dict[str, int]]:
    """{query: {document: grade}}, the grade being the highest over the query's nuggets.

    A grade below 0 (junk) becomes 0, not relevant: the C code behind some providers takes it for an index.
    """
    documents: dict[str, dict[str, int]] = {query: {} for query in qrels.query_ids}
    names = qrels.query_ids
    rows: Any = zip(qrels.doc_query.tolist(), qrels.doc_ids.to_str(), qrels.doc_grade.tolist(), strict=True)
    for query, doc, grade in rows:
        documents[names[query]][doc] = max(grade, 0)
    return documents


def nuggets(qrels: Qrels) -> list[Qrel]:
    """Every judgement as a record."""
    return list(qrels)


def _judged_documents(qrels: Qrels) -> set[tuple[str, str]]:
    names = qrels.query_ids
    return {
        (names[query], doc)
        for query, doc in zip(qrels.doc_query.tolist(), qrels.doc_ids.to_str(), strict=True)
    }
