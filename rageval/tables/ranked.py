"""Our ranking and our judgements in the forms that ir_measures takes."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

import numpy as np

from rageval.records import Qrel
from rageval.tables.blocks import RunBlock, stretches
from rageval.tables.names import Names
from rageval.tables.qrels import EVERYTHING, Qrels
from rageval.tables.ranking import Order, View, rank_rows
from rageval.tables.run import Run


def ranking_of(run: Run, qrels: Qrels, view: View) -> dict[str, dict[str, float]]:
    """{query: {document: score}} of the judged queries, the scores being whole numbers down to 1.

    So no tool can order the documents otherwise, and none meets a score below zero.
    """
    ranking: dict[str, dict[str, float]] = {query: {} for query in qrels.query_ids}
    judged = _judged_documents(qrels, view.floor) if view.judged_only else None
    for query, docs in ranked_documents(run, view.order):
        if query not in ranking:
            continue
        if judged is not None:
            docs = [doc for doc in docs if (query, doc) in judged]
        docs = docs[: view.depth]
        ranking[query] = {doc: float(len(docs) - at) for at, doc in enumerate(docs)}
    return ranking


def ranked_documents(run: Run, order: Order) -> Iterator[tuple[str, list[str]]]:
    """Every query of a run with its documents, best first."""
    names = run.query_ids
    for block in run.blocks:
        rank = rank_rows(block, np.arange(len(block)), order, ()).rank.tolist()
        docs = block.doc.to_str()
        begin = stretches(block.query).tolist()
        for first, last in zip(begin, [*begin[1:], len(block)], strict=True):
            rows = sorted(range(first, last), key=rank.__getitem__)
            yield names[int(block.query[first])], [docs[row] for row in rows]


def first_documents(
    names: Names, blocks: Iterator[RunBlock], wanted: Collection[str], number: int
) -> dict[str, list[str]]:
    """The documents of the wanted queries, as they stand in the run, until there are so many."""
    found: dict[str, list[str]] = {}
    left = number
    for block in blocks:
        queries = names.to_str()
        begin = stretches(block.query).tolist()
        for first, last in zip(begin, [*begin[1:], len(block)], strict=True):
            query = queries[int(block.query[first])]
            if query in wanted:
                found[query] = block.doc.take(slice(first, min(last, first + left))).to_str()
                left -= len(found[query])
            if not left:
                return found
    return found


def collapsed(
    qrels: Qrels, rel: int | None = None, floor: int = EVERYTHING, lowest: int = 0
) -> dict[str, dict[str, int]]:
    """{query: {document: grade}}, the grade being the highest over the query's nuggets.

    With `rel`, 1 for a grade that reaches it and 0 for others; without, a grade below 0 (junk) becomes 0, not
    relevant: the C code behind some providers takes it for an index. What is below `floor` is not judged.
    With -1 as the `lowest` grade, those below 0 and `rel` become -1.
    """
    documents: dict[str, dict[str, int]] = {query: {} for query in qrels.query_ids}
    names = qrels.query_ids
    rows: Any = zip(qrels.doc_query.tolist(), qrels.doc_ids.to_str(), qrels.doc_grade.tolist(), strict=True)
    for query, doc, grade in rows:
        if grade >= floor:
            missed = lowest if grade < 0 else 0
            documents[names[query]][doc] = max(grade, 0) if rel is None else 1 if grade >= rel else missed
    return documents


def nuggets(qrels: Qrels, rel: int | None = None) -> list[Qrel]:
    """Every judgement as a record; with `rel`, graded 1 if it reaches it, else 0."""
    records = list(qrels)
    return records if rel is None else [row._replace(relevance=int(row.relevance >= rel)) for row in records]


def _judged_documents(qrels: Qrels, floor: int) -> set[tuple[str, str]]:
    names = qrels.query_ids
    rows: Any = zip(qrels.doc_query.tolist(), qrels.doc_ids.to_str(), qrels.doc_grade.tolist(), strict=True)
    return {(names[query], doc) for query, doc, grade in rows if grade >= floor}
