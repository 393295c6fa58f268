"""Of what kind a file of JSON is, in one table: by the forms of its readers, and by keys that only it has.

The order counts: a record is of the first kind that it fits, and those that have a key of their own come
first. People add keys, so that answers, questions and passages, which have little of their own, are last.
"""

from __future__ import annotations

import re
from typing import Any

from rageval.files.answers import FORMS
from rageval.files.foreign_judgements import is_judged
from rageval.files.nuggets import is_older_bank
from rageval.files.plans import is_head
from rageval.files.questions import QUESTION_FORMS
from rageval.files.retrieved import has_point, is_candidates, is_numbers, judged_numbers, read_umbrela
from rageval.files.spans import is_spans
from rageval.files.start import (
    ANSWERS,
    EITHER,
    JUDGED_ANSWERS,
    JUDGED_DOCUMENTS,
    NUGGETS,
    OTHER,
    PASSAGES,
    QUESTIONS,
    ROWS,
    RUNS,
    STEPS,
    Kind,
    Start,
)
from rageval.files.steps import is_step
from rageval.files.synonyms import are_rows

# A bank of nuggets by what it begins with: a key of NuggetBank v3 or of DRAGUN's rubrics, or NeuCLIR's first
# question.
_BANK = re.compile(
    rb'"(?:nugget_bank|claim_bank|short_answers)"\s*:|\A\s*\{\s*"(?:[^"\\]|\\.)*"\s*:\s*\[\s*"(?:AND|OR)"\s*,'
)
_RESULTS = re.compile(rb'\s*\{\s*"(?:results"\s*:\s*\[|(?:signature|compared|format|diagnosis)"\s*:)')
_VERDICT = {"label", "grade", "status"}
_DOCUMENT_IDS = {"_id", "id", "docid", "doc_id", "corpus_id"}
_DOCUMENT_TEXTS = {"text", "segment", "passage"}
_OF_ANSWERS = {"run_id", "references", "metadata", "passages", "final_prompt", "status"}
_OF_BANKS = {"query_id", "nugget_bank", "claim_bank"}
_ROW_OF_RUN = {"doc_id", "docid", "docno", "document_id", "corpus_id"}


def is_failure(record: dict[str, Any]) -> bool:
    """Return whether a record without a label is a judgement that failed.

    An answer has a status, too, and so has the run of an agent on a question.
    """
    return {"status", "query_id"} <= record.keys() and record.keys().isdisjoint(
        {"answer", "tool_call_counts"}
    )


def is_assigned(nuggets: object) -> bool:
    """Return whether nuggets are assigned to an answer."""
    return isinstance(nuggets, list) and any(isinstance(n, dict) and "assignment" in n for n in nuggets)


def _is_bank(start: Start) -> bool:
    record = start.record
    if not record:
        return _BANK.search(start.text) is not None
    lists = ("nuggets", "criteria", "nugget_bank")
    is_listed = "rubrics" in record or any(isinstance(record.get(key), list) for key in lists)
    return is_listed or {"query_id"} < record.keys() & _OF_BANKS or is_older_bank(record)


def _is_answer(start: Start) -> bool:
    """Tell an answer from a question, which has gold answers: it is of a run, cites, or has seen passages."""
    record = start.record
    piece = start.piece
    if b'"answer"' in piece or (b'"responses"' in piece and b'"metadata"' in piece):
        return True
    if any(form.is_own and form.fits(record) for form in FORMS.values()):
        return True
    # CRAG's questions have an answer, too, and an id that only they have.
    if "answer" not in record or "interaction_id" in record:
        return False
    parts = record["answer"] if isinstance(record["answer"], list) else []
    cites = any(isinstance(part, dict) and "citations" in part for part in parts)
    if cites or record.keys() & _OF_ANSWERS:
        return True
    return not _is_question(start) and any(form.fits(record) for form in FORMS.values())


def _is_row(start: Start) -> bool:
    """Tell whether records are rows of a table, and of no format whose keys only a reader of ours knows."""
    record = start.record
    if not are_rows(start.names) or "interaction_id" in record or "references" in record:
        return False
    return not any(form.is_own and form.fits(record) for form in FORMS.values())


def _is_question(start: Start) -> bool:
    record = dict.fromkeys(start.names) if start.is_list else start.record
    has_text = bool(record.keys() & _DOCUMENT_TEXTS)
    asks = any(form.fits(record) for form in QUESTION_FORMS)
    is_crag = "interaction_id" in record and "is_miss" not in record  # as a result of CRAG-MM has
    return is_crag or (not has_text and (asks or "query_text" in record))


_KINDS = (
    Kind("candidates", RUNS, "candidates", lambda start: is_candidates(start.text), "rageval score"),
    Kind(
        "scores",
        RUNS,
        "a run",
        lambda start: is_numbers(start.text) and has_point(start.text),
        "rageval score",
        rows=judged_numbers,
    ),
    Kind(
        "numbers",
        EITHER,
        "a run, or judgements",
        lambda start: is_numbers(start.text),
        "rageval score",
        rows=judged_numbers,
    ),
    Kind(
        "judged",
        JUDGED_ANSWERS,
        "judgements in another tool's form",
        lambda start: is_judged(start.text),
        "rageval score",
    ),
    Kind(
        "steps",
        STEPS,
        "agents' steps",
        # Of a line that is longer than what was looked at only the beginning is known.
        lambda start: is_step(start.record) or (b'"docs"' in start.piece and b'"kind"' in start.piece),
        "rageval score (in Python, read_trajectories)",
    ),
    Kind(
        "results",
        OTHER,
        "results that rageval wrote as JSON",
        lambda start: _RESULTS.match(start.text) is not None,
    ),
    Kind(
        "manifest",
        OTHER,
        "the manifest of a collection",
        # It is printed over many lines; banks may name rageval as who made them.
        lambda start: (
            start.line.strip() == b"{" and b'"rageval"' in start.text and not _BANK.search(start.text)
        ),
        "rageval doctor",
    ),
    Kind(
        "plan",
        OTHER,
        "a labeling plan",
        lambda start: is_head(start.record),
        "--gold-chosen",
    ),
    Kind(
        "baseline",
        OTHER,
        "a baseline",
        lambda start: start.has("baseline", "measures"),
        "rageval gate --baseline",
    ),
    Kind(
        "umbrela",
        JUDGED_DOCUMENTS,
        "judgements of documents (UMBRELA)",
        lambda start: start.has("judgment"),
        "rageval score",
        rows=read_umbrela,
        judges=("UMBRELA",),  # which is a model by its very name
    ),
    Kind(
        "assignments",
        JUDGED_ANSWERS,
        "nuggets assigned to answers",
        lambda start: b'"assignment"' in start.piece or is_assigned(start.record.get("nuggets")),
        "rageval score",
    ),
    Kind("nuggets", NUGGETS, "nuggets or rubrics without judgements", _is_bank, "--nuggets"),
    Kind(
        "spans",
        JUDGED_DOCUMENTS,
        "spans of sources",
        lambda start: is_spans(start.text),
        "rageval score with --chunks and --sources",
    ),
    Kind(
        "chunks",
        PASSAGES,
        "chunks of sources",
        lambda start: start.has("id", "doc_id", "start", "end"),
        "--chunks",
    ),
    Kind(
        "pool",
        OTHER,
        "a pool of documents",
        lambda start: start.has("query_id", "doc_id", "from"),
        "rageval collection",
    ),
    Kind("claims", OTHER, "claims", lambda start: start.has("query_id", "claims"), "--claims"),
    Kind("metrics", OTHER, "nuggetizer's metrics", lambda start: start.has("qid", "strict_vital_score")),
    # Behind the banks and spans, some of which have labels of their own.
    Kind(
        "judgements",
        JUDGED_ANSWERS,
        "judgements",
        # What is wrong with a broken line is told when it is read.
        lambda start: (
            b'"aspect"' in start.piece
            or not start.record.keys().isdisjoint({"aspect", "label"})
            or is_failure(start.record)
        ),
        "rageval score",
    ),
    Kind("answer rows", ROWS, "a table of answers", _is_row, "rageval judge or compare"),
    Kind("answers", ANSWERS, "answers", _is_answer, "--answers"),
    Kind(
        "judgements",
        JUDGED_ANSWERS,
        "judgements",
        lambda start: start.has("query_id", "grade"),
        "rageval score",
    ),
    Kind(
        "rows",
        OTHER,
        "a run with one record per document",
        lambda start: "score" in start.record and not start.record.keys().isdisjoint(_ROW_OF_RUN),
    ),
    Kind("questions", QUESTIONS, "questions", _is_question, "--questions"),
    # Last, as nearly every record has an id and some text.
    Kind(
        "corpus",
        PASSAGES,
        "passages",
        lambda start: bool(start.record.keys() & _DOCUMENT_IDS and start.record.keys() & _DOCUMENT_TEXTS),
        "--passages",
    ),
)


RECORDS = tuple(kind._replace(is_json=True) for kind in _KINDS)


def kinds_of_records() -> tuple[Kind, ...]:
    """Return the kinds of files of JSON records, in the order in which a record is held against them."""
    return RECORDS
