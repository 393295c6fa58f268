"""What the form of an answer decides: what equals the gold answer, and what says that it does not know."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import pytest

import rageval
from rageval.errors import UsageError
from rageval.judges._exact import judge_exactly
from rageval.records import Answer, Question, Sentence
from test_bad_input import command


def question(query: str, *gold: str) -> Question:
    return Question(query, f"What of {query}?", gold)


def answer(query: str, text: str, run: str = "ours") -> Answer:
    return Answer(query, run, (Sentence(text),))


def labels(answers: Iterable[Answer], *questions: Question, undecided: str = "skip") -> list[str]:
    return [str(judgement["label"]) for judgement in judge_exactly(answers, questions, undecided)]


class TestJudgements:
    QUESTIONS = (question("1", "Paris", "City of Light"), question("2", "invalid question"), question("3"))

    def test_alternatives_and_labels(self) -> None:
        texts = ["city of light", "Invalid question.", "Rome", "I don't know"]
        answers = [answer(query, text) for query, text in zip("1213", texts, strict=True)]
        assert labels(answers, *self.QUESTIONS) == ["perfect", "perfect", "missing"]
        assert labels(answers, *self.QUESTIONS, undecided="incorrect") == [
            "perfect",
            "perfect",
            "incorrect",
            "missing",
        ]

    def test_sentences_are_one_answer(self) -> None:
        parts = Answer("1", "ours", (Sentence("City", ("d1",)), Sentence("of Light.", ())))
        assert labels([parts], *self.QUESTIONS) == ["perfect"]

    def test_an_answer_to_no_question(self) -> None:
        with pytest.raises(UsageError, match=r"query '9\\x1b'"):
            labels([answer("9\x1b", "Paris")], *self.QUESTIONS)

    def test_an_unknown_way_out(self) -> None:
        with pytest.raises(UsageError, match="expected skip or incorrect"):
            labels([answer("1", "Paris")], *self.QUESTIONS, undecided="guess")


def test_lists_and_rules_are_chosen(tmp_path: Path) -> None:
    answers = [
        {"query_id": "q1", "run_id": "r", "answer": "I don't know. It was Germany."},
        {"query_id": "q2", "run_id": "r", "answer": "idk"},
    ]
    gold = [{"query_id": f"q{number}", "question": "Who?", "answer": "Germany"} for number in (1, 2)]

    def labels(*words: str) -> list[str]:
        given = str(tmp_path / "a"), "--questions", str(tmp_path / "q")
        result = command("judge", "crag-auto", *given, *words)
        assert result.code == 0, result.err
        return [json.loads(line)["label"] for line in result.out.splitlines()]

    (tmp_path / "a").write_text("".join(json.dumps(record) + "\n" for record in answers))
    (tmp_path / "q").write_text("".join(json.dumps(record) + "\n" for record in gold))
    assert labels("--judge", "contains") == ["accurate", "missing"]
    assert labels("--judge", "contains", "--abstentions", "crag") == ["missing", "incorrect"]
    assert labels("--judge", "contains", "--compat", "crag") == ["missing", "incorrect"]


def test_scores_by_the_scripts_rules() -> None:
    judged = [
        {"query_id": "q1", "run_id": "r", "rubric": "crag-auto", "label": "accurate"},
        {"query_id": "q2", "run_id": "r", "rubric": "crag-auto", "status": "invalid"},
    ]
    scores = rageval.evaluate_answers("crag_score, hallucination", judged, compat="crag")["r"]
    assert scores["crag_score"].value == 0.0
    assert scores["hallucination"].value == 0.5
    assert "compat:crag" in scores["crag_score"].signature
    assigned = [{"query_id": "q", "run_id": "r", "aspect": "n", "label": "support"}]
    with pytest.raises(rageval.RagevalError, match="compat='crag' is about CRAG's labels"):
        rageval.evaluate_answers("a_strict", assigned, compat="crag")
