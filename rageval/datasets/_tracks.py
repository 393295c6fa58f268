"""The data of tracks: of reports (CoverageBench, RAGTIME, DRAGUN, MedAESQA) and TREC RAG, as published."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from rageval.datasets._reader import Reader, lines
from rageval.datasets._records import TopicQuery
from rageval.errors import InputError, Place
from rageval.files.jsonl import identifier, read_records
from rageval.files.nuggets import read_nuggets
from rageval.files.opening import BOM, File, chunks, head, limits_of
from rageval.files.questions import read_questions
from rageval.records import Answer, Nugget, Qrel, Question, Sentence
from rageval.scoring.sources import read_qrels
from rageval.text import visible

# What publishers call the id of what is asked, and its words; the first that a record has.
_IDS = ("query_id", "topic_id", "request_id", "question_id", "docid", "id")
_TEXTS = ("question", "query", "title", "narrative")
_ANSWERS = "machine_generated_answers"


def questions(paths: Sequence[File]) -> Iterator[Question]:
    """Yield what is asked: topics, report requests, news articles by their titles."""
    for path in paths:
        start = head(path, limits_of(path).record).removeprefix(BOM).lstrip()
        is_json = start.startswith((b"{", b"[", b"PAR1")) or not start
        yield from read_questions(lines(path, (), _as_question) if is_json else path)


def _as_question(row: dict[str, Any]) -> dict[str, Any]:
    """Return the row as a plain question, if it has an id and words; else as it is, to be refused."""
    name = next((key for key in _IDS if row.get(key) is not None), None)
    text = next((key for key in _TEXTS if isinstance(row.get(key), str)), None)
    if name is None or (text is None and _ANSWERS not in row):
        return row
    asked = {"query_id": row[name], "question": row[text] if text else ""}
    more = {"background", "problem_statement", "limit"} & row.keys()
    return {**{key: row[key] for key in sorted(more)}, **asked}


def nuggets(paths: Sequence[File]) -> Iterator[Nugget]:
    """Yield the nuggets: banks and rubrics in JSON, or lines `qid num text`."""
    for path in paths:
        if head(path, limits_of(path).record).removeprefix(BOM).lstrip().startswith((b"{", b"[")):
            yield from read_nuggets(path)
        else:
            limits = limits_of(path)
            seen: set[tuple[str, str]] = set()
            for number, line in enumerate(_decoded_lines(path), 1):
                # Only the text, which is the last, may hold blanks.
                fields = line.split(None, 2)
                if not fields:
                    continue
                if len(fields) != 3:
                    raise InputError(
                        at=Place(str(path), number),
                        expected="'qid num text'",
                        found=f"{visible(line[:80])!r}",
                    )
                query, name = identifier(fields[0], "qid", limits), identifier(fields[1], "num", limits)
                if (query, name) in seen:
                    raise InputError(
                        at=Place(str(path), number),
                        problem=f"a second nugget {visible(name)} of {visible(query)}",
                    )
                seen.add((query, name))
                yield Nugget(query, name, fields[2].strip())


def _decoded_lines(path: File) -> Iterator[str]:
    first = True
    for chunk in chunks(path, limits_of(path).record):
        text = chunk.removeprefix(BOM) if first else chunk
        first = False
        try:
            yield from text.decode().splitlines()
        except UnicodeDecodeError as error:
            raise InputError(
                at=Place(str(path)), expected=f"UTF-8 ({error.reason})", remedy="convert it: iconv -t UTF-8"
            ) from None


def qrels(paths: Sequence[File]) -> Iterator[Qrel]:
    """Yield the judgements of documents, by query and, where there are some, nugget."""
    for path in paths:
        yield from read_qrels(path)


def judgements(paths: Sequence[File]) -> Iterator[dict[str, Any]]:
    """Yield what was judged: a row of a table of labels, or a system's answer with what is said of it."""
    for path in paths:
        start = head(path, limits_of(path).record).removeprefix(BOM).lstrip()
        yield from (_of_systems if start.startswith((b"{", b"[")) else _labels)(path)


def _labels(path: File) -> Iterator[dict[str, Any]]:
    # A cell may hold line ends, so that the table is read whole.
    content = b"".join(chunks(path, limits_of(path).record)).removeprefix(BOM)
    try:
        rows = csv.DictReader(io.StringIO(content.decode(), newline=""), strict=True)
        if not {"topic_id", "answer_id"} <= set(rows.fieldnames or ()):
            raise InputError(
                at=Place(str(path), 1),
                expected="columns topic_id, run_tag, answer_id",
                found=f"{rows.fieldnames!s:.80}",
            )
        yield from rows
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(
            at=Place(str(path)), expected="a table of labels (CSV)", cause=f"{error!s:.200}"
        ) from None


def _of_systems(path: File) -> Iterator[dict[str, Any]]:
    rows = lines(path, ())
    for line, row in read_records(rows, dict[str, Any], "questions with machine_generated_answers"):
        answers = row.get(_ANSWERS)
        if not isinstance(answers, dict) or row.get("question_id") is None:
            raise InputError(
                at=Place(str(path), line), expected=f"{{question_id, {_ANSWERS}: {{system: …}}}}"
            )
        for system, answer in answers.items():
            if not isinstance(answer, dict):
                raise InputError(
                    at=Place(str(path), line),
                    expected=f"an object for {visible(system)}",
                    found=f"{answer!s:.40}",
                )
            yield {**answer, "question_id": str(row["question_id"]), "system": system}


_READ = {"questions": questions, "nuggets": nuggets, "qrels": qrels, "judgements": judgements}


READER = Reader(
    _READ,
    query=TopicQuery,
    as_query=lambda question: TopicQuery(question.query_id, question.text),
)
MEDAESQA = replace(READER, role={"questions": "judgements"})  # one file has both


def rag_topics(paths: Sequence[File]) -> Iterator[Question]:
    """Yield the topics of TREC RAG: lines of `id<TAB>text`, or JSON."""
    for path in paths:
        yield from read_questions(lines(path, ()))


def rag_nuggets(paths: Sequence[File]) -> Iterator[Nugget]:
    """Yield the nuggets of TREC RAG, or the criteria of its rubrics."""
    for path in paths:
        yield from read_nuggets(lines(path, ()))


def rag_judgements(paths: Sequence[File]) -> Iterator[dict[str, Any]]:
    """Yield what NIST's assessors said of answers: nuggets that they hold, or citations that support them."""
    for path in paths:
        for _, row in read_records(path, dict[str, Any], "judged answers, one a line"):
            yield row


def rag_responses(paths: Sequence[File]) -> Iterator[Answer]:
    """Yield the answers that nuggets were assigned to."""
    for path in paths:
        for line, row in read_records(path, dict[str, Any], "nuggets assigned to answers"):
            query, run, text = (row.get(key) for key in ("qid", "run_id", "answer_text"))
            if not (query and run and isinstance(text, str)):
                raise InputError(at=Place(str(path), line), expected="{qid, run_id, answer_text, nuggets}")
            yield Answer(str(query), str(run), (Sentence(text),))


TREC_RAG = replace(
    READER,
    read={
        "questions": rag_topics,
        "nuggets": rag_nuggets,
        "qrels": qrels,
        "judgements": rag_judgements,
        "responses": rag_responses,
    },
    role={"responses": "judgements"},
)
