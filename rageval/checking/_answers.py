"""Answers: validated against the rules of their track, and what is suspicious in those that can be scored."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from rageval.checking._report_rules import WithinLimit
from rageval.checking._rows import Known, in_query, once
from rageval.checking._rules import Record, Topics, Watch, error, shown
from rageval.checking.findings import ERROR, WARNING, Finding, Tally, Validation
from rageval.checking.tracks import Track, track_named
from rageval.files.answers import FORMS, answer_forms
from rageval.files.jsonl import REPEATED, explained, read_forms, repeated_keys, stretches
from rageval.files.opening import Source

_Lines = Iterator[tuple[int, bytes]]


def validate_answers(
    source: Source,
    track: Track,
    topics: Topics | None = None,
    strict_length: bool = False,
) -> Validation:
    """Return the findings of a file of answers; memory grows with the topics, not with the file."""
    watches = track.watches(topics)
    if track.limit is not None:
        watches += (WithinLimit(track.topic, track.limit, topics, strict_length),)
    tally = Tally("question" if track.columns else "answer")
    return Validation(_findings_of_answers(source, track, watches, tally), tally)


def numbered_lines(source: Source, expected: str = "JSON lines") -> _Lines:
    """Yield (number, line without its end) of every line."""
    for first, text in stretches(source, expected):
        lines = text.split(b"\n")
        if not lines[-1]:
            lines.pop()
        yield from enumerate(lines, first)


def _findings_of_answers(
    source: Source, track: Track, watches: tuple[Watch, ...], tally: Tally
) -> Iterator[Finding]:
    number = 0
    for number, line in numbered_lines(source):
        if not line.strip():
            continue
        # Lines that cannot be read are counted, too: they are answers that somebody meant to hand in.
        tally.count += 1
        record = _row(line, track) if track.columns else _record(line, track)
        if isinstance(record, str):
            yield Finding(number, *error(record))
            continue
        for rule in track.rules:
            yield from (Finding(number, *remark) for remark in rule(record))
        for watch in watches:
            yield from (Finding(number, *remark) for remark in watch.see(number, record))
    for watch in watches:
        yield from (Finding(number, *remark) for remark in watch.end())


def _record(line: bytes, track: Track) -> Record | str:
    """Return the record, or what is wrong with the line."""
    try:
        record: Any = msgspec.json.decode(line)
    except (ValueError, RecursionError) as error:
        return explained(error, line, track.title)
    # JSON takes the last of two equal keys, so that half of an answer may be gone without a word.
    for _, key in repeated_keys(line):
        return REPEATED.format(key)
    if not isinstance(record, dict):
        return f"expected {track.title}, one JSON object a line, found {shown(record)}"
    if not FORMS[track.form].fits(record):
        fitting = [form for form in FORMS.values() if form.fits(record)]
        answers = "answer" in record or any(form.is_own for form in fitting)
        other = fitting[0].name if fitting and answers else ""
        # Of another track's form: one line says so in place of a dozen that say what is not there.
        if other:
            return f"expected {track.title}, found {other}; validate them with a --track of their own"
    return record


def _row(line: bytes, track: Track) -> Record | str:
    """Return the columns by name, or what is wrong with the line."""
    try:
        # Files from Windows end lines with both.
        columns = line.removesuffix(b"\r").decode().split("\t")
    except UnicodeDecodeError as error:
        return explained(error, line, track.title)
    if len(columns) != len(track.columns):
        names = " ".join(track.columns)
        return f"expected {len(track.columns)} columns with tabs between ({names}), found {len(columns)}"
    return {name: column.strip() for name, column in zip(track.columns, columns, strict=True)}


def diagnose_answers(path: str) -> tuple[list[Finding], Known]:
    """Yield the findings of a file of answers, and note what it holds: `documents` are cited or were seen."""
    known = Known(path, "answers")
    first: dict[tuple[str, str, str], int] = {}
    again: dict[str, int] = {}
    nowhere: dict[str, int] = {}
    empty: dict[str, int] = {}
    failed: dict[str, int] = {}
    repeated: dict[str, int] = {}
    citing, parts, line = 0, 0, 1
    for line, answer in read_forms(path, answer_forms(), "answers"):
        query = answer.query_id
        known.queries.setdefault(query, line)
        # Repeats are numbered, and are no second answers.
        if first.setdefault((answer.run_id, query, answer.repeat), line) != line:
            again.setdefault(query, line)
        if answer.error:
            failed.setdefault(query, line)
        elif not answer.text.strip():
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
        *once(path, failed, WARNING, "answers that failed: {n}, first to query {name}", _FAILED),
        *once(
            path, repeated, WARNING, "lists of references that repeat one: {n}, first of query {name}", _AGAIN
        ),
    ]
    if known.documents and parts > 1 and not citing:  # one part is a format without citations
        findings.append(Finding(line, WARNING, "no sentence cites anything", _NOTHING, path))
    return findings, known


def diagnose_questions(path: str) -> tuple[list[Finding], Known]:
    """Return what DRAGUN refuses in the questions that a run asks, and what they are about."""
    known = Known(path, "questions")
    track = track_named("dragun25-questions")
    for number, line in numbered_lines(path):
        row = _row(line, track) if line.strip() else ""
        if not isinstance(row, str):
            known.queries.setdefault(str(row["topic_id"]), number)
    found = [each._replace(source=path) for each in validate_answers(path, track, None)]
    return [each for each in found if each.level == ERROR], known


_NOWHERE = "each such citation is worth none in citation_precision and citation_recall"
_EMPTY = "nugget_recall is 0 and crag_score `missing` there, and the queries count"
_FAILED = "`rageval judge` writes failed judgements of them, and scores have bounds"
_AGAIN = (
    "TREC's validators refuse that; citations by position keep their meaning here (rageval validate --fix)"
)
_NOTHING = "citation_precision is undefined and citation_recall 0"
