"""EVOUNA as it is published: questions with the answers of five systems, and people's labels of these."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from rageval.datasets._reader import Reader, lines
from rageval.datasets._records import TopicQuery
from rageval.errors import InputError, Place
from rageval.files.jsonl import read_records
from rageval.files.opening import File
from rageval.records import Answer, Question, Sentence

SYSTEMS = ("fid", "gpt35", "chatgpt", "gpt4", "newbing")
_EXPECTED = "EVOUNA questions {question, golden_answer, answer_fid, judge_fid, …, improper}"
_JUDGE, _RUBRIC = "person:evouna", "crag"


class _JudgedAnswer(NamedTuple):
    """An answer, and whether people called it right."""

    question: Question
    answer: Answer
    is_right: bool


def judged_answers(paths: Sequence[File]) -> Iterator[_JudgedAnswer]:
    """Yield the answers that people judged. The id of a question is its position in the file, from 0.

    Left out are questions that people found improper, as in the publishers' own figures, and answers without
    a text or a judgement.
    """
    for path in paths:
        rows = read_records(lines(path, ()), dict[str, Any], _EXPECTED)
        for position, (line, row) in enumerate(rows):
            if row.get("improper"):
                continue
            question_text, golden_answer = row.get("question"), row.get("golden_answer")
            if not isinstance(question_text, str) or not isinstance(golden_answer, str):
                raise InputError(at=Place(str(path), line), expected=_EXPECTED)
            # Several right answers stand in one text, with / between.
            gold_answers = tuple(filter(None, map(str.strip, golden_answer.split("/"))))
            question = Question(str(position), question_text, gold_answers)
            for system in SYSTEMS:
                answer_text, is_right = row.get(f"answer_{system}"), row.get(f"judge_{system}")
                if isinstance(answer_text, str) and isinstance(is_right, bool):
                    answer = Answer(question.query_id, system, (Sentence(answer_text),))
                    yield _JudgedAnswer(question, answer, is_right)


def questions(paths: Sequence[File]) -> Iterator[Question]:
    """Yield the questions with judged answers."""
    last = ""
    for judged_answer in judged_answers(paths):
        if judged_answer.question.query_id != last:
            last = judged_answer.question.query_id
            yield judged_answer.question


def responses(paths: Sequence[File]) -> Iterator[Answer]:
    """Yield the answers of the five systems."""
    return (judged_answer.answer for judged_answer in judged_answers(paths))


def judgements(paths: Sequence[File]) -> Iterator[dict[str, Any]]:
    """Yield human labels in the words of CRAG: they only told right answers from others."""
    for judged_answer in judged_answers(paths):
        yield {
            "query_id": judged_answer.answer.query_id,
            "run_id": judged_answer.answer.run_id,
            "item_id": "answer",
            "aspect": "0",
            "label": "perfect" if judged_answer.is_right else "incorrect",
            "status": "ok",
            "judge": _JUDGE,
            "rubric": _RUBRIC,
        }


READER = Reader(
    {"questions": questions, "judgements": judgements, "responses": responses},
    {"questions": "judgements", "responses": "judgements"},
    query=TopicQuery,
    as_query=lambda question: TopicQuery(question.query_id, question.text),
)
