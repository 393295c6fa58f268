"""A vector's rows as the tools take them."""

from __future__ import annotations

from collections.abc import Iterable

from rageval.conformance.vectors import RunVector

Run = dict[str, dict[str, float]]
Grades = dict[str, dict[str, int]]


def run_rows(vector: RunVector) -> list[tuple[str, str, float]]:
    """Query, document, score."""
    return [(query, doc, float(score)) for query, doc, score in vector.run]


def run_of(vector: RunVector) -> Run:
    """The run as a mapping, which holds a document once."""
    found: Run = {}
    for query, doc, score in run_rows(vector):
        found.setdefault(query, {})[doc] = score
    return found


def document_grades(vector: RunVector) -> Grades:
    """The highest grade of each document over the nuggets; what is below 0 is worth 0."""
    found: Grades = {}
    for query, _, doc, grade in vector.qrels:
        grades = found.setdefault(query, {})
        grades[doc] = max(grade, grades.get(doc, 0))
    return found


def queries_of(vector: RunVector) -> list[str]:
    """The judged queries."""
    return list(dict.fromkeys(query for query, *_ in vector.qrels))


def only(values: Iterable[tuple[str, float]], vector: RunVector) -> dict[str, float]:
    """The values of judged queries."""
    judged = set(queries_of(vector))
    return {query: float(value) for query, value in values if query in judged}
