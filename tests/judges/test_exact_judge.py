"""What the form of an answer decides: what equals the gold answer, and what says that it does not know."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from rageval import evaluate_answers
from rageval.errors import UsageError
from rageval.judges._exact import first_stage, folded, judge_exactly
from rageval.records import Answer, Question, Sentence


def question(query: str, *gold: str) -> Question:
    return Question(query, f"What of {query}?", gold)


def answer(query: str, text: str, run: str = "ours") -> Answer:
    return Answer(query, run, (Sentence(text),))


def labels(answers: Iterable[Answer], *questions: Question, undecided: str = "skip") -> list[str]:
    return [str(found["label"]) for found in judge_exactly(answers, questions, undecided)]


@pytest.mark.parametrize(
    ("said", "gold"),
    [
        ("Paris", "Paris"),
        ("PARIS", "paris"),
        ("  paris.\n", "Paris"),
        ("“Les Invalides”", "Les Invalides"),
        ("«Les Invalides».", "les invalides"),
        ("‘Les  Invalides’", '"Les Invalides"'),
        ("L’Hôtel des Invalides", "L'Hôtel des Invalides"),
        ("L`Hôtel des Invalides", "L´hôtel des Invalides"),
        ("L'Ho\u0302tel des Invalides", "L'Hôtel des Invalides"),
        ("ten\u00a0km", "ten km"),
        ("Ｐａｒｉｓ", "Paris"),
        ("ﬁfty", "fifty"),
        ("STRASSE", "Straße"),
        ("H₂O", "H2O"),
        ("1,234", "1,234"),
        ("$5.25", "$5.25"),
        ("2024.", "2024"),
        ("invalid question", "Invalid question"),
        ("I don't know", "I don’t know"),
    ],
)
def test_what_equals_the_gold_answer(said: str, gold: str) -> None:
    assert first_stage(said, [gold]) == "perfect"
    assert first_stage(gold, [said]) == "perfect"
    assert first_stage(said, ["another", gold]) == "perfect"


@pytest.mark.parametrize(
    ("said", "gold"),
    [
        ("Les Invalides in Paris", "Les Invalides"),
        ("Invalides", "Les Invalides"),
        ("P", "Paris"),
        ("a", "Paris"),
        ("aris", "Paris"),
        ("1234", "1,234"),
        ("5.25", "$5.25"),
        ("12", "1"),
        ("-5", "5"),
        ("2.0", "2"),
        ("1.5", "15"),
        ("It is an invalid question.", "invalid question"),
        ("That is no invalid question", "invalid question"),
        ("The answer I don't know is Paris", "Paris"),
        ("Réunion", "Reunion"),
        ("naïve", "naive"),
        ("not known", "Paris"),
    ],
)
def test_what_the_form_does_not_decide(said: str, gold: str) -> None:
    assert first_stage(said, [gold]) is None


@pytest.mark.parametrize(
    "said",
    [
        "I don't know",
        "I don't know.",
        "i don’t know",
        "I DON´T KNOW!",
        "“I don’t know”",
        "I do not know",
        "I dont know",
        "Sorry, I don't know.",
        "I'm sorry, but I don't know",
        "I’m sorry, I don’t know the answer to that question.",
        "I really don't know",
        "I don't know the answer",
        "I don't know the answer to this question",
        "I am not sure",
        "I'm not sure.",
        "unknown",
        "No answer",
        "N/A",
        "",
        "   ",
        "\n\t.",
        "''",
    ],
)
def test_who_does_not_know(said: str) -> None:
    assert first_stage(said, ["Paris"]) == "missing"
    assert first_stage(said, []) == "missing"


@pytest.mark.parametrize(
    "said",
    [
        "I don't know, but it is Paris",
        "I don't know how anybody could doubt that it is Paris",
        "I don't know. Paris.",
        "He said: I don't know",
        "The Unknown",
        "unknown soldier",
        "I'm not sure, Paris?",
        "There is no answer",
        "I know",
    ],
)
def test_who_says_more_than_that(said: str) -> None:
    assert first_stage(said, ["Rome"]) is None


def test_nothing_is_never_perfect() -> None:
    assert first_stage("", [""]) == "missing"
    assert first_stage(" . ", ["."]) == "missing"
    assert first_stage("", []) == "missing"


def test_folding_twice_is_folding_once() -> None:
    for text in ("“Les Invalides”.", "ΣΊΣΥΦΟΣ", "İstanbul", "ﬁ\u00a0´x´ ..", "x\u0345", "Straße", '".a."'):
        assert folded(folded(text)) == folded(text)


class TestJudgements:
    QUESTIONS = (question("1", "Paris", "City of Light"), question("2", "invalid question"), question("3"))

    def test_alternatives_and_labels(self) -> None:
        said = ["city of light", "Invalid question.", "Rome", "I don't know"]
        answers = [answer(query, text) for query, text in zip("1213", said, strict=True)]
        assert labels(answers, *self.QUESTIONS) == ["perfect", "perfect", "missing"]
        assert labels(answers, *self.QUESTIONS, undecided="incorrect") == [
            "perfect",
            "perfect",
            "incorrect",
            "missing",
        ]

    def test_the_gold_answer_is_not_judged_per_character(self) -> None:
        """A text in place of a list of texts would make every letter an answer."""
        (found,) = judge_exactly([answer("1", "s")], [question("1", "Les Invalides")], "incorrect")
        assert found["label"] == "incorrect"
        for said in "Les Invalides":
            assert first_stage(said, ["Les Invalides"]) in (None, "missing")

    def test_a_gold_text_is_one_answer(self) -> None:
        assert first_stage("Les Invalides", "Les Invalides") == "perfect"
        assert first_stage("s", "Les Invalides") is None

    def test_sentences_are_one_answer(self) -> None:
        parts = Answer("1", "ours", (Sentence("City", ("d1",)), Sentence("of Light.", ())))
        assert labels([parts], *self.QUESTIONS) == ["perfect"]

    def test_what_is_written_can_be_scored(self) -> None:
        answers = [
            answer("1", "Paris"),
            answer("2", "Berlin"),
            answer("3", "I don't know"),
            answer("1", "Rom", "theirs"),
        ]
        found = list(judge_exactly(answers, self.QUESTIONS, "incorrect"))
        assert found[0] == {
            "query_id": "1",
            "run_id": "ours",
            "item_id": "answer",
            "aspect": "0",
            "label": "perfect",
            "status": "ok",
            "judge": "exact",
            "rubric": "crag",
        }
        scores = evaluate_answers("truthfulness", found, on_missing="skip")
        assert scores["ours"]["truthfulness"].value == 0.0
        assert scores["theirs"]["truthfulness"].value == -1.0

    def test_an_answer_to_no_question(self) -> None:
        with pytest.raises(UsageError, match=r"query '9\\x1b'"):
            labels([answer("9\x1b", "Paris")], *self.QUESTIONS)

    def test_an_unknown_way_out(self) -> None:
        with pytest.raises(UsageError, match="expected skip or incorrect"):
            labels([answer("1", "Paris")], *self.QUESTIONS, undecided="guess")
