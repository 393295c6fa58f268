"""Measures of conversations: CRAG-MM's rule, MT-RAG's condition, conversations whose every turn passes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rageval
from rageval.errors import InputError, MeasureError, UsageError

MEASURES = "turn_truthfulness,conversation_score"
LABELS = {"c": "perfect", "m": "missing", "h": "incorrect"}
# Written for this test, and scored by the rule of CRAG-MM's starter kit, run with pandas: a letter a turn
# (correct, missing, hallucinated).
TALKS = {"s1": "cchc", "s2": "hmcc", "s3": "chhcc", "s4": "mmc", "s5": "hchch", "s6": "h"}
EXPECTED = {"s1": 0.5, "s2": -0.25, "s3": -0.2, "s4": 0.0, "s5": -0.2, "s6": -1.0}
Row = dict[str, Any]


def rows_of(talks: Mapping[str, str], **fields: Any) -> list[Row]:
    """Judged turns; a question mark is a judgement that failed, a dash no judgement at all."""
    rows = []
    for talk, letters in talks.items():
        for turn, letter in enumerate(letters, 1):
            place = {"query_id": f"{talk}-{turn}", "run_id": "r", "conversation_id": talk, "turn": turn}
            verdict = {"status": "error"} if letter == "?" else {"label": LABELS.get(letter)}
            rows += [place | verdict | fields] * (letter != "-")
    return rows


def scores_of(talks: Mapping[str, str], measures: str = MEASURES, **options: Any) -> Any:
    return rageval.evaluate_answers(measures, rows_of(talks), **options)["r"]


def test_the_rule_of_crag_mm() -> None:
    scores = scores_of(TALKS)
    assert scores["turn_truthfulness"].value == pytest.approx(-0.09090909090909094, abs=1e-15)
    score = scores["conversation_score"]
    assert score.value == pytest.approx(-0.19166666666666665, abs=1e-15)
    by_talk = {query.partition("-")[0]: value for query, value in score.by_query.items() if value == value}
    assert by_talk == pytest.approx(EXPECTED, abs=1e-15)
    assert (score.queries, score.undefined) == (6, 0)
    kinds = [
        sum(value == kind for value in scores["turn_truthfulness"].by_query.values()) for kind in (1, 0, -1)
    ]
    assert kinds == [6, 8, 8]


@pytest.mark.parametrize(
    ("talk", "value"),
    [
        # Refusing costs nothing by itself, and counts as a failure all the same: two refusals end it.
        ("mmccc", 0),
        ("hmccc", Fraction(-1, 5)),
        # Right answers after the end count as missing, and so do wrong ones, which is better for the system.
        ("hhhhh", Fraction(-2, 5)),
        ("hhccc", Fraction(-2, 5)),
        # Failures at the very end have no effect.
        ("ccchh", Fraction(1, 5)),
        # A right answer between two failures keeps the user.
        ("hchch", Fraction(-1, 5)),
    ],
)
def test_quirks_of_the_rule(talk: str, value: Fraction) -> None:
    assert scores_of({"t": talk})["conversation_score"].value == pytest.approx(float(value))


def slowly(talks: Iterable[str], stop: int) -> tuple[Fraction, Fraction]:
    """Both measures, straight from the rule."""
    of_turns, of_talks = [], []
    for talk in talks:
        values = []
        for turn, letter in enumerate(talk):
            ended = any("c" not in talk[first : first + stop] for first in range(turn - stop + 1))
            values.append(Fraction(0 if ended else {"c": 1, "m": 0, "h": -1}[letter]))
        of_turns += values
        of_talks.append(sum(values) / len(values))
    return sum(of_turns) / len(of_turns), sum(of_talks) / len(of_talks)


talks_drawn = st.lists(st.text("cmh", min_size=1, max_size=7), min_size=1, max_size=5)


@pytest.mark.slow
@given(talks_drawn, st.integers(1, 4))
@settings(max_examples=80)
def test_every_value_is_the_oracles(drawn: list[str], stop: int) -> None:
    names = [f"{name}(stop={stop})" for name in MEASURES.split(",")]
    scores = scores_of({str(number): talk for number, talk in enumerate(drawn)}, ",".join(names))
    values = [score.value for score in scores.scores]
    assert values == pytest.approx(list(map(float, slowly(drawn, stop))), abs=1e-12)


@pytest.mark.slow
@given(talks_drawn)
@settings(max_examples=40)
def test_without_an_end_it_is_truthfulness(drawn: list[str]) -> None:
    talks = {str(number): talk for number, talk in enumerate(drawn)}
    scores = scores_of(talks, "turn_truthfulness(stop=9),crag_score,conversation_score,turn_truthfulness")
    assert scores["turn_truthfulness(stop=9)"].value == scores["crag_score"].value
    # Conversations of one length count the same either way.
    same = scores_of({name: talk[:1] for name, talk in talks.items()})
    assert same["turn_truthfulness"].value == pytest.approx(same["conversation_score"].value)


def completions(talk: str) -> Iterator[str]:
    """The talk with each missing judgement taken for anything."""
    for letters in product("cmh", repeat=talk.count("?")):
        rest = iter(letters)
        yield "".join(next(rest) if letter == "?" else letter for letter in talk)


@pytest.mark.slow
@given(st.text("cmh?", min_size=1, max_size=6), st.integers(1, 3))
@settings(max_examples=80)
def test_bounds_enclose_every_completion(talk: str, stop: int) -> None:
    names = [f"{name}(stop={stop})" for name in MEASURES.split(",")]
    scores = scores_of({"t": talk}, ",".join(names), on_missing="skip")
    for place, name in enumerate(names):
        values = [float(slowly([whole], stop)[place]) for whole in completions(talk)]
        score = scores[name]
        if not score.missing:  # what is missing stands behind the end
            assert set(values) == {score.value}
        elif score.bounds is not None:
            assert score.bounds[0] <= min(values) + 1e-12
            assert score.bounds[1] >= max(values) - 1e-12


def test_a_missing_judgement_leaves_open_what_depends_on_it() -> None:
    score = scores_of({"t": "h?cc", "u": "c?cc"}, "turn_truthfulness", on_missing="skip")["turn_truthfulness"]
    values = list(score.by_query.values())
    # Whether the user of the first conversation left is not known; the second one did not.
    assert [value == value for value in values] == [True, False, False, False, True, False, True, True]
    assert score.missing == 2
    talks = scores_of({"t": "h?cc", "u": "cccc"}, "conversation_score", on_missing="skip")
    assert talks["conversation_score"].value == 1.0
    with pytest.raises(rageval.errors.MissingJudgements):
        scores_of({"t": "h?cc"})


@pytest.mark.filterwarnings("ignore:.*answered 2 of 4")
def test_a_turn_behind_the_end_needs_no_answer() -> None:
    questions = [
        {"query_id": f"t-{turn}", "question": "?", "conversation_id": "t", "turn": turn}
        for turn in range(1, 5)
    ]
    score = scores_of({"t": "hh--"}, questions=questions)["conversation_score"]
    assert (score.value, score.missing) == (-0.5, 0)
    open_score = scores_of({"t": "hc--"}, questions=questions, on_missing="skip")["conversation_score"]
    assert math.isnan(open_score.value)
    assert open_score.bounds == (-0.5, 0.5)


def test_turns_are_ordered_by_number_and_not_by_line() -> None:
    rows = rows_of({"t": "chhcccccccc"})
    for given_rows in (rows, rows[::-1]):
        score = rageval.evaluate_answers("conversation_score", given_rows)["r"].scores[0]
        assert score.value == pytest.approx(-1 / 11)


def test_without_conversations_a_measure_says_what_it_needs() -> None:
    bare = [
        {name: value for name, value in row.items() if name != "conversation_id"} for row in rows_of(TALKS)
    ]
    for name in (*MEASURES.split(","), "all_turns"):
        with pytest.raises(UsageError, match=f"{name}: needs conversations, and judgements names none; give"):
            rageval.evaluate_answers(name, bare)
    for turn, problem in ((None, "none"), ("first", "'first'"), (2, "two with the same")):
        rows = rows_of({"t": "cc"})
        rows[0]["turn"] = turn
        with pytest.raises(InputError, match=f"found {problem}"):
            rageval.evaluate_answers(MEASURES, rows)


def test_two_systems_are_compared_by_conversations() -> None:
    rows = []
    for number in range(12):
        rows += rows_of({str(number): "cc"}, run_id="good")
        rows += rows_of({str(number): "ch" if number < 10 else "cc"}, run_id="bad")
    compared = rageval.compare(rageval.evaluate_answers(MEASURES, rows))
    pair = next(pair for pair in compared.pairs if pair.measure == "conversation_score")
    assert (pair.queries, pair.wins + pair.losses, pair.difference) == (12, 10, pytest.approx(-10 / 12))
    assert not any("without" in remark.code for remark in compared.remarks)
    other = next(pair for pair in compared.pairs if pair.measure == "turn_truthfulness")
    assert other.p == pair.p


# Conversations whose every turn passes.


def test_a_missing_turn_leaves_it_open_unless_another_fails() -> None:
    score = scores_of({"a": "c?", "b": "m?", "c": "cc"}, "all_turns", on_missing="skip")["all_turns"]
    assert score.value == 0.5
    assert score.queries == 2
    low, high = score.bounds
    assert (low, high) == pytest.approx((1 / 3, 2 / 3))


@pytest.mark.slow
@given(talks_drawn)
@settings(max_examples=40)
def test_all_turns_is_the_oracles(drawn: list[str]) -> None:
    talks = {str(number): talk for number, talk in enumerate(drawn)}
    passed = [set(talk) == {"c"} for talk in drawn]
    scores = scores_of(talks, "all_turns,accuracy")
    assert scores["all_turns"].value == pytest.approx(sum(passed) / len(passed))
    if scores["all_turns"].value == 1:
        assert scores.scores[1].value == 1


def test_any_measure_of_answers_may_be_asked_of_every_turn() -> None:
    rows = [
        {"query_id": f"{talk}{turn}", "run_id": "r", "conversation_id": talk, "turn": turn, "aspect": "q",
         "grade": grade}
        for talk, grades in {"a": [0.9, 0.8], "b": [0.9, 0.79]}.items()
        for turn, grade in enumerate(grades)
    ]  # fmt: skip
    names = ["all_turns(of=grade,aspect=q,least=0.8)", "all_turns(of=grade,aspect=q,least=0.5)"]
    scores = rageval.evaluate_answers(names, rows)["r"].scores
    assert [score.value for score in scores] == [0.5, 1.0]
    for name in ("recall", "hallucination", "pass_all", "conversation_score"):
        with pytest.raises(MeasureError, match="expected a measure of"):
            rageval.evaluate_answers(f"all_turns(of={name})", rows)


# A measure on the condition that there is an answer.

CASES = [("m", False, 1), ("c", False, 0), ("m", True, 0), ("c", True, 1), ("h", True, 0)]


def conditioned(cases: Sequence[tuple[str, bool, float]], name: str = "conditioned", **options: Any) -> Any:
    rows = [
        row | {"answerable": answerable}
        for number, (letter, answerable, _) in enumerate(cases)
        for row in rows_of({str(number): letter})
    ]
    return rageval.evaluate_answers(name, rows, **options)["r"].scores[0]


def test_the_condition_of_mt_rag() -> None:
    assert list(conditioned(CASES).by_query.values()) == [value for *_, value in CASES]
    rows = [
        {"query_id": "q", "run_id": "r", "aspect": "rb_agg", "grade": 0.7, "answerable": True},
        {"query_id": "q", "run_id": "r", "label": "perfect", "rubric": "crag"},
    ]
    score = rageval.evaluate_answers("conditioned(of=grade,aspect=rb_agg)", rows)["r"].scores[0]
    assert score.value == 0.7
    with pytest.raises(MeasureError, match="expected a measure from 0, found one from -1"):
        conditioned(CASES, "conditioned(of=crag_score)")


def test_a_missing_label_of_refusal_is_missing() -> None:
    score = conditioned([("?", True, 0), ("?", False, 0), ("c", True, 1)], on_missing="skip")
    assert [value == value for value in score.by_query.values()] == [False, False, True]
    assert score.bounds == pytest.approx((1 / 3, 1.0))


@pytest.mark.slow
@given(st.lists(st.tuples(st.sampled_from("cmh"), st.booleans(), st.just(0.0)), min_size=1, max_size=8))
@settings(max_examples=40)
def test_conditioned_is_the_oracles(cases: list[tuple[str, bool, float]]) -> None:
    expected = [
        Fraction(letter == "m") if not answerable else Fraction(letter == "c")
        for letter, answerable, _ in cases
    ]
    assert conditioned(cases).value == pytest.approx(float(sum(expected) / len(expected)))
