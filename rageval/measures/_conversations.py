"""Measures of conversations: the value of an answer depends on other turns, or on whether there is an answer.

A turn is a query with a `conversation_id`, and a `turn` that orders it. A query of no conversation is a
conversation of one turn.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Annotated

from rageval import hooks
from rageval.errors import MeasureError
from rageval.measures._abstention import were_answered
from rageval.measures.assessment import Assessment, grades, mean
from rageval.measures.base import HIGHER, Between, Measure, measure
from rageval.measures.scales import CRAG

Stop = Annotated[int, Between(1, 9)]
_RIGHT, _MISSING, _WRONG = 1.0, 0.0, -1.0
_ANY = (_WRONG, _MISSING, _RIGHT)


@measure(limits=(-1.0, 1.0), papers=("wang2025cragmm",))
def turn_truthfulness(answer: Assessment, *, stop: Stop = 2) -> float:
    """Truthfulness of turns, where users give up after failures in a row (CRAG-MM, KDD Cup 2025).

    Formula:
        turn_truthfulness = mean of v over the turns = (2 · correct + missing) / turns − 1

        v: 1 correct, 0 missing, −1 hallucinated

    Range: −1 to 1. Correct is what CRAG's judge calls perfect, acceptable or accurate. After `stop` turns
    in a row that are not correct, every later turn of the conversation is missing, also a correct one: its
    judgement is not needed. A missing answer counts as a failure, too, although it costs nothing itself.

    Where a judgement is missing on which it depends whether the user gave up, the turn has no value.

    Parameters:
        stop: after how many failures in a row the user gives up

    >>> import rageval
    >>> judged = [{"query_id": str(turn), "run_id": "r", "conversation_id": "c", "turn": turn, "label": label}
    ...           for turn, label in enumerate(["perfect", "incorrect", "missing", "perfect"])]
    >>> rageval.evaluate_answers("turn_truthfulness", judged)["r"]["turn_truthfulness"].value
    0.0
    """
    turns = answer.conversation()
    return _chosen(_values_after(list(map(_outcomes, _before(turns, answer))), answer, stop), answer)


@measure(limits=(-1.0, 1.0), by_conversation=True, papers=("wang2025cragmm",))
def conversation_score(answer: Assessment, *, stop: Stop = 2) -> float:
    """Mean truthfulness of conversations, each of which counts the same (CRAG-MM, KDD Cup 2025).

    Formula:
        conversation_score = mean over the conversations of (correct − hallucinated) / turns

    Range: −1 to 1. Turns are counted as in `turn_truthfulness`, which is the same with turns that count the
    same. The value of a conversation stands at its last turn, and intervals are over conversations.

    Parameters:
        stop: after how many failures in a row the user gives up

    >>> import rageval
    >>> judged = [{"query_id": f"{talk}{turn}", "run_id": "r", "conversation_id": talk, "turn": turn,
    ...            "label": label}
    ...           for talk, labels in {"a": ["perfect"], "b": ["incorrect", "missing", "perfect"]}.items()
    ...           for turn, label in enumerate(labels)]
    >>> round(rageval.evaluate_answers("conversation_score", judged)["r"]["conversation_score"].value, 4)
    0.3333
    """
    turns = answer.conversation()
    if turns[-1].query_id != answer.query_id:
        # What is missing is counted where it is missing, and nothing else stands here.
        _values_after(list(map(_outcomes, _before(turns, answer))), answer, stop)
        return math.nan
    outcomes = list(map(_outcomes, turns[:-1]))
    values = [
        _chosen(_next_values(outcomes[:number], some, stop), answer) for number, some in enumerate(outcomes)
    ]
    values.append(_chosen(_values_after(outcomes, answer, stop), answer))
    # Without one of its turns nobody knows what a conversation is worth.
    return math.fsum(values) / len(values)


@measure(by_conversation=True)
def all_turns(
    answer: Assessment, *, of: str = "crag_share", aspect: str = "score", least: float = 1.0
) -> float:
    """Share of the conversations whose every turn passes.

    Formula:
        all_turns = |conversations with M ≥ least in every turn| / |conversations|

    Range: 0 to 1. The value of a conversation stands at its last turn, and intervals are over conversations.
    A turn of which M is undefined is left out; one that is missing leaves it open unless another one fails.

    Parameters:
        of: the measure M of answers, of which high is good: its name, as in `all_turns(of=faithfulness)`
        aspect: the aspect of M, where M has one, as in `all_turns(of=grade,aspect=quality,least=0.8)`
        least: what M must be in every turn

    >>> import rageval
    >>> judged = [{"query_id": f"{talk}{turn}", "run_id": "r", "conversation_id": talk, "turn": turn,
    ...            "label": label}
    ...           for talk, labels in {"a": ["perfect", "acceptable"], "b": ["perfect", "missing"]}.items()
    ...           for turn, label in enumerate(labels)]
    >>> rageval.evaluate_answers("all_turns", judged)["r"]["all_turns"].value
    0.5
    """
    inner, turns = _measure_within("all_turns", of, aspect), answer.conversation()
    own = _value_within(inner, answer)
    if turns[-1].query_id != answer.query_id:
        return math.nan
    values = [*(_value_within(inner, turn) for turn in turns[:-1]), own]
    passes = [None if value is None else value >= least for value in values if value == value]
    if False in passes or not passes:
        return math.nan if not passes else 0.0
    return answer.stand_in() if None in passes else 1.0


@measure(papers=("katsis2025mtrag",))
def conditioned(answer: Assessment, *, of: str = "crag_share", aspect: str = "score") -> float:
    """Mean of a measure of answers, conditioned on whether there is an answer (MT-RAG).

    Formula:
        conditioned = mean of v over the questions

        v: 1 not answerable and refused, 0 not answerable and answered, 0 answerable and refused, else M

    Range: 0 to 1, or to the greatest value of M. Needs to know which questions can be answered (the field
    `answerable` of questions), and which were refused (the label `missing` of CRAG's judge); without this
    label the value is missing. The key that MT-RAG's scripts look for is written in another case in its
    released files, so that the condition is without effect there.

    Parameters:
        of: the measure M of answers, of which high is good and 0 is the least, as in
            `conditioned(of=token_f1)`
        aspect: the aspect of M, where M has one, as in `conditioned(of=grade,aspect=rb_agg)`

    >>> import rageval
    >>> judged = [{"query_id": str(index), "run_id": "r", "label": label, "answerable": answerable}
    ...           for index, (label, answerable) in enumerate([("missing", False), ("missing", True),
    ...                                                        ("perfect", False), ("perfect", True)])]
    >>> rageval.evaluate_answers("conditioned", judged)["r"]["conditioned"].value
    0.5
    """
    inner = _measure_within("conditioned", of, aspect)
    if inner.ends[0] < 0:
        raise MeasureError(
            f"conditioned(of={of}): expected a measure from 0, found one from {inner.ends[0]:g}"
        )
    answered = were_answered(answer, "answerable")
    if not answered:
        return math.nan
    was_answered = mean(list(map(float, answered))) > 0.5
    if not answer.answerable():
        return float(not was_answered)
    return inner.value(answer) if was_answered else 0.0


# What a turn is worth, as far as it is known: each of these.


def _outcomes(answer: Assessment) -> Sequence[float]:
    """Return what a turn may be: correct, missing or hallucinated; one of these, if it is known."""
    values = grades(answer.judged(CRAG, needs="open", failed=True))
    if not values or any(value != value for value in values):
        return _ANY
    worth = mean(values)
    return (_RIGHT if worth > 0 else _WRONG if worth < 0 else _MISSING,)


def _failures(outcomes: Sequence[Sequence[float]], stop: int) -> set[int]:
    """Return how many failures in a row there may be behind these turns; never more than `stop`.

    >>> sorted(_failures([(-1.0,), (0.0,), (1.0,)], 2)), sorted(_failures([(-1.0,), _ANY], 3))
    ([2], [0, 2])
    """
    states = {0}
    for some in outcomes:
        states = {
            state if state == stop else 0 if value == _RIGHT else state + 1
            for state in states
            for value in some
        }
    return states


def _next_values(before: Sequence[Sequence[float]], some: Sequence[float], stop: int) -> set[float]:
    """Return what the next turn may be worth, which may be any of `some` if the user is still there."""
    states = _failures(before, stop)
    ended = {_MISSING} if stop in states else set()
    return ended | ({*some} if states - {stop} else set())


def _values_after(before: Sequence[Sequence[float]], answer: Assessment, stop: int) -> set[float]:
    """Return what a turn may be worth; its judgement is asked for only if it may be of use."""
    if _failures(before, stop) == {stop}:
        answer.is_settled = True
        return {_MISSING}
    return _next_values(before, _outcomes(answer), stop)


def _before(turns: Sequence[Assessment], answer: Assessment) -> Sequence[Assessment]:
    return turns[: [turn.query_id for turn in turns].index(answer.query_id)]


def _chosen(values: set[float], answer: Assessment) -> float:
    """Return the value; of several the least or the greatest, as what is missing is taken for; else NaN."""
    if len(values) == 1:
        return next(iter(values))
    end = answer.stand_in()
    return math.nan if end != end else max(values) if end else min(values)


# The measure within another.


@lru_cache(maxsize=64)
def _measure_within(outer: str, name: str, aspect: str) -> Measure:
    """Return the measure M of answers by its name."""
    inner = hooks.parse_measure(name)
    if not isinstance(inner, Measure) or inner.argument != "Assessment":
        raise MeasureError(f"{outer}(of={name}): expected a measure of judged answers")
    if inner.about.by_conversation or inner.about.repeats is not None or inner.better != HIGHER:
        raise MeasureError(f"{outer}(of={name}): expected a measure of single answers of which high is good")
    return inner(aspect=aspect) if "aspect" in inner.declared and "aspect" not in inner.given else inner


def _value_within(inner: Measure, answer: Assessment) -> float | None:
    """Return the value of a turn: NaN if M has none, None where a judgement is missing."""
    value = float(inner.value(answer))
    if answer.is_open or (value != value and answer.lost):
        return None
    # Of an answer that there is not, nothing was judged: nothing passes.
    return 0.0 if value != value and answer.is_left_out else value
