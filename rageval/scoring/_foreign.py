"""Our ranking and our judgements in the forms that ir_measures takes."""

from __future__ import annotations

from rageval.records import Qrel
from rageval.scoring.ordering import EVERYTHING, View
from rageval.scoring.qrels import Qrels
from rageval.scoring.runs import Run


def ranking_of(run: Run, qrels: Qrels, view: View) -> dict[str, dict[str, float]]:
    """Return {query: {document: score}} of the judged queries, the scores being whole numbers down to 1.

    So no tool can order the documents otherwise, and none meets a score below zero.
    """
    ranking: dict[str, dict[str, float]] = {query: {} for query in qrels.query_ids}
    judged = collapsed(qrels, floor=view.floor) if view.judged_only else None
    for query, docs in run.ranked(view.order):
        if query not in ranking:
            continue
        if judged is not None:
            docs = [doc for doc in docs if doc in judged[query]]
        docs = docs[: view.depth]
        ranking[query] = {doc: float(len(docs) - at) for at, doc in enumerate(docs)}
    return ranking


def collapsed(
    qrels: Qrels, rel: int | None = None, floor: int = EVERYTHING, lowest: int = 0
) -> dict[str, dict[str, int]]:
    """Return {query: {document: grade}}, the grade being the highest over the query's nuggets.

    With `rel`, 1 for a grade that reaches it and 0 for others; without, a grade below 0 (junk) becomes 0, not
    relevant: the C code behind some providers takes it for an index. What is below `floor` is not judged.
    With -1 as the `lowest` grade, those below 0 and `rel` become -1.
    """

    def shown(grade: int) -> int:
        missed = lowest if grade < 0 else 0
        return max(grade, 0) if rel is None else 1 if grade >= rel else missed

    return {
        query: {doc: shown(grade) for doc, grade in zip(docs, grades, strict=True) if grade >= floor}
        for query, docs, grades in qrels.documents()
    }


def nuggets(qrels: Qrels, rel: int | None = None) -> list[Qrel]:
    """Return every judgement as a record; with `rel`, graded 1 if it reaches it, else 0."""
    records = list(qrels)
    return records if rel is None else [row._replace(relevance=int(row.relevance >= rel)) for row in records]
