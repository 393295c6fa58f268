"""Judgements in whatever form the field keeps them, as dicts with the keys of rageval's own.

Judgements of documents (qrels, UMBRELA's, a data set's) are of the system `documents`, as a judge of
relevance or support writes them; assignments of the nuggetizer are known by the text of the nugget.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from rageval.files import retrieved
from rageval.files.jsonl import first_record, read_batches, read_records
from rageval.files.judgements import EXPECTED_ASSIGNMENT as ASSIGNMENTS
from rageval.files.judgements import Assignment, distinct
from rageval.files.opening import Source, name_of, start_of
from rageval.files.umbrela import read_umbrela
from rageval.judges.tasks import DOCUMENTS
from rageval.records import Qrel

Line = tuple[str, dict[str, Any]]  # where it stands, and the judgement


def judgements_in(source: Source, nuggets_in_qrels: bool | None = None) -> Iterator[Line]:
    """The judgements of a file or a data set, with where each stands."""
    if callable(content := getattr(source, "qrels", None)):
        yield from _of_documents(content(), name_of(source))
        return
    start = start_of(source)
    if not start.lstrip().startswith((b"{", b"[")) or retrieved.kind_of(start):
        yield from _of_qrels(source, nuggets_in_qrels)
        return
    record = first_record(start) or {}
    if "judgment" in record:
        yield from _of_documents(read_umbrela(source), name_of(source))
    elif _is_assigned(record.get("nuggets")):
        yield from _of_assignments(source)
    else:
        name, expected = name_of(source), "a judgement {query_id, run_id, …}"
        for lines, judgements in read_batches(source, dict[str, Any], expected):
            for line, judgement in zip(lines, judgements, strict=True):
                yield f"{name}:{line}", judgement


def _is_assigned(nuggets: Any) -> bool:
    return isinstance(nuggets, list) and any(isinstance(n, dict) and "assignment" in n for n in nuggets)


def _of_qrels(source: Source, nuggets_in_qrels: bool | None) -> Iterator[Line]:
    """Rows of qrels; a second column that is no nugget says nothing."""
    from rageval.sources import read_qrels

    qrels = read_qrels(source)
    named = qrels.has_nuggets and not qrels.looks_plain if nuggets_in_qrels is None else nuggets_in_qrels
    yield from _of_documents(qrels if named else qrels.without_nuggets(), qrels.name)


def _of_documents(qrels: Iterable[Qrel], name: str) -> Iterator[Line]:
    for qrel in qrels:
        place = {"query_id": qrel.query_id, "run_id": DOCUMENTS, "item_id": qrel.doc_id}
        yield name, {**place, "aspect": qrel.iteration, "grade": float(qrel.relevance)}


def _of_assignments(source: Source) -> Iterator[Line]:
    for line, answer in read_records(source, Assignment, ASSIGNMENTS):
        place = {"query_id": str(answer.qid), "run_id": str(answer.run_id)}
        names = distinct([nugget.text for nugget in answer.nuggets])
        for name, nugget in zip(names, answer.nuggets, strict=True):
            said: Mapping[str, Any] = {"label": nugget.assignment}
            if nugget.assignment == "failed":
                said = {"status": "error"}
            importance = {} if nugget.importance in (None, "failed") else {"importance": nugget.importance}
            yield f"{name_of(source)}:{line}", {**place, "aspect": name, **importance, **said}
