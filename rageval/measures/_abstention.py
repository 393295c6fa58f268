"""Measures of abstention: whether a system refuses the questions that cannot be answered, and only those.

A question is refused where CRAG's judge calls the answer `missing`, and answered where it is called anything
else. Which questions can be answered, their field `answerable` says (`--questions FILE`), or the key
`answerable` of judgements.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

from rageval.measures.assessment import Assessment, Needs, share
from rageval.measures.base import LOWER, NEITHER, POOL, measure
from rageval.measures.ranking import Blend, Share
from rageval.measures.scales import ABSTENTION, REFUSED

Part = Literal["f1", "precision", "recall"]
_NOTHING: Any = math.nan  # which is a float, where a share is expected


@measure(better=NEITHER)
def answer_rate(answer: Assessment) -> Share:
    """Share of the questions that are answered.

    Formula:
        answer_rate = |answered| / |questions judged|

    Range: 0 to 1. Neither many nor few are good: that depends on how many questions can be answered.

    >>> import rageval
    >>> judged = [{"query_id": str(at), "run_id": "r", "label": label}
    ...           for at, label in enumerate(["perfect", "missing", "incorrect", "missing"])]
    >>> rageval.evaluate_answers("answer_rate", judged)["r"]["answer_rate"].value
    0.5
    """
    answered = were_answered(answer)
    return share(sum(answered), len(answered))


@measure(better=LOWER)
def over_refusal(answer: Assessment) -> Share:
    """Share of the answerable questions that are refused.

    Formula:
        over_refusal = |refused and answerable| / |answerable|

    Range: 0 to 1; undefined for a question that is not answerable. 1 − the recall of `answerable_f1`.

    >>> import rageval
    >>> judged = [{"query_id": str(at), "run_id": "r", "label": label, "answerable": answerable}
    ...           for at, (label, answerable) in enumerate([("missing", True), ("perfect", True)])]
    >>> rageval.evaluate_answers("over_refusal", judged)["r"]["over_refusal"].value
    0.5
    """
    answered = were_answered(answer, "answerable")
    return share(len(answered) - sum(answered), len(answered)) if answer.answerable() else _NOTHING


@measure(better=LOWER)
def false_answer_rate(answer: Assessment) -> Share:
    """Share of the questions that cannot be answered but are answered.

    Formula:
        false_answer_rate = |answered and not answerable| / |not answerable|

    Range: 0 to 1; undefined for a question that is answerable. 1 − the recall of `refusal_f1`.

    >>> import rageval
    >>> judged = [{"query_id": str(at), "run_id": "r", "label": label, "answerable": False}
    ...           for at, label in enumerate(["missing", "perfect", "missing", "missing"])]
    >>> rageval.evaluate_answers("false_answer_rate", judged)["r"]["false_answer_rate"].value
    0.25
    """
    answered = were_answered(answer, "answerable")
    return _NOTHING if answer.answerable() else share(sum(answered), len(answered))


@measure(over=POOL, typeset="Refusal $F_1$", papers=("song2025measuring",))
def refusal_f1(answer: Assessment, *, part: Part = "f1") -> Share:
    """Refusal as a decision: F1 of refusing what cannot be answered (Trust-Eval, Song et al., 2025).

    Formula:
        precision = |refused and not answerable| / |refused|
        recall = |refused and not answerable| / |not answerable|
        refusal_f1 = 2 · |refused and not answerable| / (|refused| + |not answerable|), their F1

    Range: 0 to 1; a ratio over the whole set (`over=pool`); undefined where what it divides by is empty.

    Parameters:
        part: the `f1`, or its `precision` or `recall` alone
        over: `pool` only: a single question has no F1

    Peers: Trust-Eval counts what is undefined as 0.

    >>> import rageval
    >>> rows = [("missing", False), ("missing", True), ("perfect", True), ("incorrect", False)]
    >>> judged = [{"query_id": str(at), "run_id": "r", "label": label, "answerable": answerable}
    ...           for at, (label, answerable) in enumerate(rows)]
    >>> rageval.evaluate_answers("refusal_f1", judged)["r"]["refusal_f1"].value
    0.5
    """
    answered = were_answered(answer, "answerable")
    return decision_share([not is_answered for is_answered in answered], not answer.answerable(), part)


@measure(over=POOL, typeset="Answerable $F_1$", papers=("song2025measuring",))
def answerable_f1(answer: Assessment, *, part: Part = "f1") -> Share:
    """Answering as a decision: F1 of answering what can be answered (Trust-Eval, Song et al., 2025).

    Formula:
        precision = |answered and answerable| / |answered|
        recall = |answered and answerable| / |answerable|
        answerable_f1 = 2 · |answered and answerable| / (|answered| + |answerable|), their F1

    Range: 0 to 1; a ratio over the whole set (`over=pool`); undefined where what it divides by is empty.

    Parameters:
        part: the `f1`, or its `precision` or `recall` alone
        over: `pool` only: a single question has no F1

    Peers: Trust-Eval counts what is undefined as 0.

    >>> import rageval
    >>> rows = [("missing", False), ("missing", True), ("perfect", True), ("incorrect", False)]
    >>> judged = [{"query_id": str(at), "run_id": "r", "label": label, "answerable": answerable}
    ...           for at, (label, answerable) in enumerate(rows)]
    >>> rageval.evaluate_answers("answerable_f1(part=recall)", judged)["r"].scores[0].value
    0.5
    """
    return decision_share(were_answered(answer, "answerable"), answer.answerable(), part)


@measure(over=POOL, papers=("song2025measuring",))
def grounded_refusal(answer: Assessment, *, part: Literal["f1", "recall"] = "f1") -> Blend:
    """Refusing and answering where each is right: the mean of both F1 (Trust-Eval, Song et al., 2025).

    Formula:
        grounded_refusal = (refusal_f1 + answerable_f1) / 2

    Range: 0 to 1; of the whole set (`over=pool`); undefined where one of the two is.

    Parameters:
        part: the mean of the two `f1`, or of the two `recall` (Trust-Eval's macro_avg)
        over: `pool` only: a single question has no F1

    Peers: Trust-Eval counts what is undefined as 0.

    >>> import rageval
    >>> rows = [("missing", False), ("missing", True), ("perfect", True), ("incorrect", False)]
    >>> judged = [{"query_id": str(at), "run_id": "r", "label": label, "answerable": answerable}
    ...           for at, (label, answerable) in enumerate(rows)]
    >>> rageval.evaluate_answers("grounded_refusal", judged)["r"]["grounded_refusal"].value
    0.5
    """
    answered, answerable = were_answered(answer, "answerable"), answer.answerable()
    refused = decision_share([not is_answered for is_answered in answered], not answerable, part)
    return Blend("mean", refused, decision_share(answered, answerable, part))


def were_answered(answer: Assessment, needs: Needs | None = None) -> list[bool]:
    """Return whether the question was answered, by each judgement of the answer."""
    return [judgement.label != REFUSED for judgement in answer.judged(ABSTENTION, needs=needs)]


def decision_share(choices: Sequence[bool], is_right: bool, part: Part) -> Share:
    """Return the precision, recall or F1 of a decision; `choices` says by judgement whether it was taken.

    Whether the decision is right depends on the question only, so it is the same for all judgements.
    """
    taken, expected = sum(choices), len(choices) * is_right
    right = taken * is_right
    if part == "f1":
        return share(2 * right, taken + expected)
    return share(right, taken if part == "precision" else expected)
