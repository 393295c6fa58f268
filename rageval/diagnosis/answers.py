"""What is suspicious in answers."""

from __future__ import annotations

from rageval.diagnosis.findings import ERROR, WARNING, Finding, Known, in_query, once
from rageval.files.answers import FORMS
from rageval.files.forms import read_forms
from rageval.files.limits import Limits


def diagnose_answers(path: str, limits: Limits) -> tuple[list[Finding], Known]:
    """The findings of a file of answers, and what it holds: `documents` are what is cited or was seen."""
    known = Known(path, "answers")
    first: dict[tuple[str, str], int] = {}
    again: dict[str, int] = {}
    nowhere: dict[str, int] = {}
    empty: dict[str, int] = {}
    repeated: dict[str, int] = {}
    citing, parts, line = 0, 0, 1
    for line, answer in read_forms(path, tuple(FORMS.values()), "answers", limits):
        query = answer.query_id
        known.queries.setdefault(query, line)
        if first.setdefault((answer.run_id, query), line) != line:
            again.setdefault(query, line)
        if not answer.text.strip():
            empty.setdefault(query, line)
        if len(set(answer.references)) < len(answer.references):
            repeated.setdefault(query, line)
        parts = max(parts, len(answer.sentences))
        for number, sentence in enumerate(answer.sentences):
            citing += bool(sentence.citations)
            if None in sentence.citations:
                nowhere.setdefault(in_query(f"sentence {number}", query), line)
        for doc in (*answer.references, *(doc for s in answer.sentences for doc in s.citations if doc)):
            known.documents.setdefault(doc, line)
    findings = [
        *once(path, again, ERROR, "second answers of a run: {n}, first to query {name}", "refused"),
        *once(path, nowhere, WARNING, "sentences that cite what is not there: {n}, first {name}", _NOWHERE),
        *once(path, empty, WARNING, "empty answers: {n}, first to query {name}", _EMPTY),
        *once(
            path, repeated, WARNING, "lists of references that repeat one: {n}, first of query {name}", _AGAIN
        ),
    ]
    if known.documents and parts > 1 and not citing:  # one part is a format without citations
        findings.append(Finding(path, line, WARNING, "no sentence cites anything", _NOTHING))
    return findings, known


_NOWHERE = "each such citation is worth none in citation_precision and citation_recall"
_EMPTY = "nugget_recall is 0 and crag_score `missing` there, and the queries count"
_AGAIN = (
    "TREC's validators refuse that; citations by position keep their meaning here (rageval validate --fix)"
)
_NOTHING = "citation_precision is undefined and citation_recall 0"
