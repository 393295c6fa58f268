"""What is suspicious in qrels."""

from __future__ import annotations

from collections.abc import Iterator

from rageval.diagnosis.findings import ERROR, WARNING, Finding, Known, in_query, once, shown
from rageval.diagnosis.rows import Rows
from rageval.files.lines import QRELS
from rageval.files.trec import Reading

_PLAIN = ({"0"}, {"Q0"})  # what plain qrels have in place of a nugget
_SHOWN = 10
Grades = dict[tuple[str, str, str], tuple[int, int]]  # (query, nugget, document) -> (grade, line)


def diagnose_qrels(path: str, reading: Reading) -> tuple[list[Finding], Known]:
    """The findings of judgements of documents, and what they hold."""
    rows = Rows(path, QRELS, reading)
    grades: Grades = {}
    again: dict[str, int] = {}
    conflicts: list[Finding] = []
    known = Known(rows.source, "qrels")
    for line, (query, nugget, doc, grade) in rows:
        first = grades.setdefault((query, nugget, doc), (int(grade), line))
        if first[1] != line and first[0] == int(grade):
            again.setdefault(f"{query} {nugget} {doc}", line)
        elif first[1] != line:
            message = (
                f"grade {int(grade)} for document {shown(doc)}, nugget {shown(nugget)} of query"
                f" {shown(query)}, which has {first[0]} in line {first[1]}"
            )
            conflicts.append(Finding(rows.source, line, ERROR, message, _CONFLICT))
        known.queries.setdefault(query, line)
        known.documents.setdefault(doc, line)
        known.judged.setdefault((query, doc), line)
        known.nuggets.setdefault((query, nugget), line)
    effect = "nothing: equal rows count once"
    findings = [
        *rows.findings,
        *conflicts[:_SHOWN],
        *once(rows.source, again, WARNING, "rows that are there twice: {n}, first {name}", effect),
        *_one_nugget(known),
        *_without_support(known, grades),
        *_negative(known.source, grades),
    ]
    return findings, known


_CONFLICT = "refused; elsewhere the last row wins, and every measure changes with the order of lines"


def _one_nugget(known: Known) -> Iterator[Finding]:
    names = {nugget for _, nugget in known.nuggets}
    if not known.queries or len(known.nuggets) > len(known.queries):
        return
    if names in _PLAIN and not known.source.endswith(".nugget"):
        return
    message = "one nugget a query everywhere: these are probably plain qrels"
    effect = "coverage@k is success@k, and alpha_ndcg counts a document after the first as redundant"
    yield Finding(known.source, next(iter(known.queries.values())), WARNING, message, effect)


def _without_support(known: Known, grades: Grades) -> Iterator[Finding]:
    supported = {(query, nugget) for (query, nugget, _), (grade, _) in grades.items() if grade > 0}
    answered = {query for query, _ in supported}
    nowhere = {query: line for query, line in known.queries.items() if query not in answered}
    effect = "every measure is 0 there, and the query counts (--zero-rel skip leaves it out)"
    yield from once(
        known.source, nowhere, WARNING, "queries without a relevant document: {n}, first {name}", effect
    )
    open_ = {
        in_query(nugget, query): line
        for (query, nugget), line in known.nuggets.items()
        if query in answered and (query, nugget) not in supported
    }
    effect = "coverage cannot reach 1 there (coverage(denominator=attainable) can); alpha_ndcg is as before"
    yield from once(
        known.source, open_, WARNING, "nuggets that no document supports: {n}, first {name}", effect
    )


def _negative(name: str, grades: Grades) -> Iterator[Finding]:
    places = {doc: line for (_, _, doc), (grade, line) in grades.items() if grade < 0}
    effect = "they count as judged and not relevant; ndeval refuses grades below -1"
    yield from once(name, places, WARNING, "documents with a negative grade: {n}, first {name}", effect)
