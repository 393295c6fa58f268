"""Answers of RAG systems, in every format: told by the first record, read one by one, written back.

>>> answer = Answer("q1", "mine", (Sentence("It rains.", ("d2",)),), ("d1", "d2"))
>>> print(*write_answers([answer], "plain"))
{"query_id":"q1","run_id":"mine","answer":[{"text":"It rains.","citations":["d2"]}],"references":["d1","d2"]}
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from rageval.errors import UsageError
from rageval.files.forms import Form, once, read_forms
from rageval.files.limits import DEFAULT, Limits
from rageval.files.opening import Source, name_of
from rageval.files.other_answers import LIVERAG, PLAIN, liverag_record, plain_record
from rageval.files.trec_answers import RAG24, RAG25, RAG26, record_24, record_25, record_26
from rageval.records import Answer, Sentence

__all__ = ["FORMS", "Answer", "Sentence", "read_answers", "write_answers"]

# By the name `write_answers` and the command line know it; a record is of the first form it fits.
FORMS: dict[str, Form[Answer]] = {
    "plain": PLAIN,  # first: people add keys of their own, which may be a track's
    "rag24": RAG24,
    "rag26": RAG26,
    "rag25": RAG25,
    "liverag": LIVERAG,
}
_RECORDS: dict[str, Callable[..., dict[str, Any]]] = {
    "rag24": record_24,
    "rag25": record_25,
    "rag26": record_26,
    "liverag": liverag_record,
    "plain": plain_record,
}


def read_answers(source: Source, limits: Limits = DEFAULT) -> Iterator[Answer]:
    """The answers of a file: of TREC RAG 2024, 2025 or 2026, of LiveRAG, or plain ones; one format a file.

    Citations become document ids; one that leads nowhere is None. An answer that names no run is of the run
    that is called after the file. A second answer of a run to a query is an error. Of a data set that stands
    for a file the first right answer to each question is read, as of a run that bears the id of the data set.
    """
    name = name_of(source)
    if callable(content := getattr(source, "questions", None)):
        for asked in content():
            if asked.gold:
                yield Answer(asked.query_id, name, (Sentence(asked.gold[0]),), question=asked.text)
        return
    run = name if name.startswith("<") else Path(name).name
    records = read_forms(source, tuple(FORMS.values()), "answers", limits)
    for _, answer in once(records, source, _place):
        yield answer if answer.run_id else answer._replace(run_id=run)


def write_answers(answers: Iterable[Answer], form: str, **extra: str) -> Iterator[str]:
    """Each answer as a line of `form`: rag24, rag25, rag26, liverag or plain.

    What a format has no place for is left out (passages in TREC's, citations and the run in LiveRAG's).
    `extra` fields go where the format keeps what is said about a run: `team_id`, `run_desc`, `type`.
    """
    if form not in _RECORDS:
        raise UsageError(f"form {form!r}: expected one of {', '.join(_RECORDS)}")
    for answer in answers:
        yield msgspec.json.encode(_RECORDS[form](answer, **extra)).decode()


def _place(answer: Answer) -> str:
    run = f" of run {answer.run_id}" if answer.run_id else ""
    return f"answer{run} to query {answer.query_id}"
