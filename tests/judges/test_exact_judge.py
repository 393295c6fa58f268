"""What the form of an answer decides: what equals the gold answer, and what says that it does not know."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

import rageval
from rageval import evaluate_answers
from rageval.errors import UsageError
from rageval.judges._exact import abstains, first_stage, folded, judge_exactly
from rageval.judges.rubric import rubric_named
from rageval.records import Answer, Question, Sentence
from rageval.testing import ScriptedModel
from test_bad_input import command


def question(query: str, *gold: str) -> Question:
    return Question(query, f"What of {query}?", gold)


def answer(query: str, text: str, run: str = "ours") -> Answer:
    return Answer(query, run, (Sentence(text),))


def labels(answers: Iterable[Answer], *questions: Question, undecided: str = "skip") -> list[str]:
    return [str(judgement["label"]) for judgement in judge_exactly(answers, questions, undecided)]


@pytest.mark.parametrize(
    ("text", "gold"),
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
def test_what_equals_the_gold_answer(text: str, gold: str) -> None:
    assert first_stage(text, [gold]) == "perfect"
    assert first_stage(gold, [text]) == "perfect"
    assert first_stage(text, ["another", gold]) == "perfect"


@pytest.mark.parametrize(
    ("text", "gold"),
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
def test_what_the_form_does_not_decide(text: str, gold: str) -> None:
    assert first_stage(text, [gold]) is None


@pytest.mark.parametrize(
    "text",
    [
        *("I don't know", "I don't know.", "i don’t know", "I DON´T KNOW!", "“I don’t know”"),
        *("I do not know", "I dont know", "Sorry, I don't know.", "I'm sorry, but I don't know"),
        *("I’m sorry, I don’t know the answer to that question.", "I really don't know"),
        *("I don't know the answer", "I don't know the answer to this question", "I am not sure"),
        *("I'm not sure.", "unknown", "No answer", "N/A", "", "   ", "\n\t.", "''"),
    ],
)
def test_who_does_not_know(text: str) -> None:
    assert first_stage(text, ["Paris"]) == "missing"
    assert first_stage(text, []) == "missing"


@pytest.mark.parametrize(
    "text",
    [
        *("I don't know, but it is Paris", "I don't know how anybody could doubt that it is Paris"),
        *("I don't know. Paris.", "He said: I don't know", "The Unknown", "unknown soldier"),
        *("I'm not sure, Paris?", "There is no answer", "I know"),
    ],
)
def test_who_says_more_than_that(text: str) -> None:
    assert first_stage(text, ["Rome"]) is None


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
        texts = ["city of light", "Invalid question.", "Rome", "I don't know"]
        answers = [answer(query, text) for query, text in zip("1213", texts, strict=True)]
        assert labels(answers, *self.QUESTIONS) == ["perfect", "perfect", "missing"]
        assert labels(answers, *self.QUESTIONS, undecided="incorrect") == [
            "perfect",
            "perfect",
            "incorrect",
            "missing",
        ]

    def test_the_gold_answer_is_not_judged_per_character(self) -> None:
        """A text in place of a list of texts would make every letter an answer."""
        (judgement,) = judge_exactly([answer("1", "s")], [question("1", "Les Invalides")], "incorrect")
        assert judgement["label"] == "incorrect"
        for text in "Les Invalides":
            assert first_stage(text, ["Les Invalides"]) in (None, "missing")

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
        judgements = list(judge_exactly(answers, self.QUESTIONS, "incorrect"))
        assert judgements[0] == {
            "query_id": "1",
            "run_id": "ours",
            "item_id": "answer",
            "aspect": "0",
            "label": "perfect",
            "status": "ok",
            "judge": "exact",
            "rubric": "crag",
        }
        with pytest.warns(match="theirs: answered 1 of 3 queries"):
            scores = evaluate_answers("truthfulness", judgements, on_missing="skip")
        assert scores["ours"]["truthfulness"].value == 0.0
        assert scores["theirs"]["truthfulness"].value == -1.0

    def test_an_answer_to_no_question(self) -> None:
        with pytest.raises(UsageError, match=r"query '9\\x1b'"):
            labels([answer("9\x1b", "Paris")], *self.QUESTIONS)

    def test_an_unknown_way_out(self) -> None:
        with pytest.raises(UsageError, match="expected skip or incorrect"):
            labels([answer("1", "Paris")], *self.QUESTIONS, undecided="guess")


ABSTAIN = (
    *("I do not know, sorry.", "I don't know,\nsorry!", "The provided context does not contain the answer."),
    "The context doesn't contain any relevant information about this.",
    "The retrieved documents do not provide enough information to answer the question.",
    *("Sorry, the answer could not be found in the documents.", "Not found in the context."),
    *("I don't know. The search results do not say.", "idk", "Unfortunately, I don't know"),
    *("I cannot answer that", "I'm sorry, but I don't have enough information to answer this question."),
    *("I am unable to find the answer.", "I don't know who won the 2014 World Cup."),
    "Unfortunately, the search results do not contain this. I don't know.",
    "I don’t know. Please provide more context.",
    "There is not enough information in the provided documents to answer the question.",
)
ANSWER = (
    *("The documents do not mention a penalty.", "The context does not contain sugar.", "Not found guilty."),
    "The answer is not found on Earth but on Mars.",
    "The provided context does not contain the answer, but it is Rome.",
    *("I do not know, Sorry is a game.", "The search results do not say."),
    *("I don't know, but it may be Rome.", "I don't know. It was Germany."),
    *("I cannot answer without saying Paris", "I don't have a favourite: Paris"),
    *("No information was lost in the merger", "unknown pleasures"),
)


@pytest.mark.parametrize("text", ABSTAIN)
def test_whoever_says_nothing_else_abstains(text: str) -> None:
    assert abstains(text)
    assert first_stage(text, ["Paris"]) == "missing"


@pytest.mark.parametrize("text", ANSWER)
def test_whoever_says_something_else_does_not(text: str) -> None:
    assert not abstains(text)


def test_the_script_looks_for_its_words_anywhere() -> None:
    abstaining = [text for text in (*ABSTAIN, *ANSWER) if abstains(text, "crag")]
    assert abstaining == [text for text in (*ABSTAIN, *ANSWER) if "i don't know" in text.lower()]
    assert "I don't know. It was Germany." in abstaining
    assert "idk" not in abstaining
    assert first_stage("I don't know. It was Germany.", ["Paris"], "crag") == "missing"
    assert not abstains("", "crag")  # the script asks its model


@pytest.mark.parametrize(
    "text",
    ["sorry, " * 200 + "x", "the results" + " no" * 300 + ":", "i can't " * 300, "unfortunately " * 300],
)
def test_long_answers_take_no_longer(text: str) -> None:
    assert not any(abstains(text[:length]) for length in (599, 600, 601, len(text)))


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


def test_a_reply_that_cannot_be_read_is_a_hallucination_by_the_scripts_rules_alone(tmp_path: Path) -> None:
    answers = [{"query_id": "q", "run_id": "r", "question": "Who?", "answer": "Rome"}]
    gold = [{"query_id": "q", "question": "Who?", "answer": "Paris"}]
    options: Any = {"questions": gold, "store": str(tmp_path / "store"), "canaries": 0}
    model = ScriptedModel(lambda request: "who knows?")
    (judgement,) = rageval.judge("crag-auto", answers, model, **options)
    assert judgement["status"] == "invalid"
    (judgement,) = rageval.judge(rubric_named("crag-auto").counting("crag"), answers, model, **options)
    assert judgement["label"] == "incorrect"


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
