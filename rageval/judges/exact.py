"""CRAG's first stage: what can be said of an answer without a model, because it is a matter of form.

An answer that equals the gold answer (or an alternative), but for case, quotes and the like, is perfect; one
that says "I don't know" is missing. Of all others a model or a person must say whether they are right.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from rageval.errors import UsageError
from rageval.records import Answer, Question, Sentence
from rageval.text import compatible

INVALID_QUESTION = "invalid question"
JUDGE, RUBRIC = "exact", "crag"
__all__ = ["Answer", "Question", "Sentence", "first_stage", "folded", "judge_exactly"]

_QUOTES = str.maketrans({**dict.fromkeys("‘’‚‛′ʼ`´＇", "'"), **dict.fromkeys("“”„‟″«»＂", '"')})
_EDGES = " \t\n.!\"'"
_ABSTENTION = re.compile(
    r"(?:(?:i'm |i am )?sorry,? (?:but )?)?"
    r"(?:i (?:really |honestly )?(?:don't|do not|dont) know(?: the answer)?"
    r"(?: to (?:this|that|the|your) question)?|i(?:'m| am) not sure|not sure|unknown|no answer|n/a)"
)


def folded(text: str) -> str:
    """The text without what does not matter: compatibility forms, case, curly quotes, blanks, a full stop.

    >>> folded("  “Les Invalides”. ")
    'les invalides'
    """
    text = compatible(text.translate(_QUOTES)).casefold()
    return " ".join(text.split()).strip(_EDGES)


def first_stage(answer: str, gold: str | Iterable[str]) -> str | None:
    """`perfect`, `missing`, or None where the form does not decide.

    >>> [first_stage(answer, ["Paris"]) for answer in ("PARIS.", "I don’t know.", "Rome")]
    ['perfect', 'missing', None]
    >>> first_stage("It is an invalid question.", ["invalid question"]) is None
    True
    """
    said = folded(answer)
    if said and any(said == folded(text) for text in ([gold] if isinstance(gold, str) else gold)):
        return "perfect"
    return "missing" if not said or _ABSTENTION.fullmatch(said) else None


def judge_exactly(
    answers: Iterable[Answer], questions: Iterable[Question], undecided: str = "skip"
) -> Iterator[Mapping[str, Any]]:
    """Judgements of answers by their form alone; `undecided` answers are left out, or called `incorrect`.

    >>> questions = [Question("q", "Capital of France?", ("Paris",))]
    >>> found = judge_exactly([Answer("q", "mine", (Sentence("paris"),))], questions)
    >>> next(found)["label"]
    'perfect'
    """
    if undecided not in ("skip", "incorrect"):
        raise UsageError(f"undecided={undecided!r}: expected skip or incorrect")
    gold = {question.query_id: question.gold for question in questions}
    for answer in answers:
        if answer.query_id not in gold:
            raise UsageError(
                f"query {answer.query_id!r}: there is no such question; expected one for each answer"
            )
        label = first_stage(answer.text, gold[answer.query_id])
        if label is None and undecided == "skip":
            continue
        yield {
            "query_id": answer.query_id,
            "run_id": answer.run_id,
            "item_id": "answer",
            "aspect": "0",
            "label": label or undecided,
            "status": "ok",
            "judge": JUDGE,
            "rubric": RUBRIC,
        }
