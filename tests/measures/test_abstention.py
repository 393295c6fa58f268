"""Refusing and answering: Trust-Eval's percentages, a slow oracle, and the ends of what is missing."""

from __future__ import annotations

import json
import math
import random
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import rageval
from rageval.cli import main
from rageval.comparison.estimates import slices
from rageval.errors import InputError, MeasureError, MissingJudgements

ANSWERED = ("perfect", "acceptable", "incorrect", "accurate")
PARTS = ("f1", "precision", "recall")
OF_F1 = [f"{name}(part={part})" for name in ("refusal_f1", "answerable_f1") for part in PARTS]
MEASURES = ["answer_rate", "over_refusal", "false_answer_rate", *OF_F1]
MEASURES += ["grounded_refusal(part=f1)", "grounded_refusal(part=recall)"]
# From the counts of Trust-Eval's documentation: 10 questions, 5 answered, 7 answerable, 5 both.
EXPECTED = {
    "answer_rate": 50.0,
    "refusal_f1(part=recall)": 100.0,
    "refusal_f1(part=precision)": 60.0,
    "refusal_f1": 75.0,
    "answerable_f1(part=recall)": 71.42857142857143,
    "answerable_f1(part=precision)": 100.0,
    "answerable_f1": 83.33333333333333,
    "grounded_refusal(part=recall)": 85.71428571428572,
    "grounded_refusal": 79.16666666666666,
}

Question = tuple[str, bool]  # the label of the answer, "" where judging failed, and whether it is answerable


def rows_of(questions: list[Question]) -> list[dict[str, Any]]:
    return [
        {"query_id": str(index), "run_id": "r", "answerable": answerable}
        | ({"label": label} if label else {"status": "error"})
        for index, (label, answerable) in enumerate(questions)
    ]


def values(names: list[str], questions: list[Question], on_missing: Any = "error") -> dict[str, float]:
    scores = rageval.evaluate_answers(names, rows_of(questions), on_missing=on_missing)["r"]
    return {name: scores[name].value for name in names}


def slowly(name: str, questions: list[Question]) -> Fraction | None:
    """The value by counting; None where it is undefined."""
    judged = [(label != "missing", answerable) for label, answerable in questions if label]
    answered = {index for index, (answered, _) in enumerate(judged) if answered}
    answerable = {index for index, (_, can) in enumerate(judged) if can}
    every = set(range(len(judged)))
    refused, unanswerable = every - answered, every - answerable

    def ratio(part: set[int], whole: set[int]) -> Fraction | None:
        return Fraction(len(part & whole), len(whole)) if whole else None

    def f1(decided: set[int], right: set[int], part: str) -> Fraction | None:
        if part != "f1":
            return ratio(decided & right, decided if part == "precision" else right)
        total = len(decided) + len(right)
        return Fraction(2 * len(decided & right), total) if total else None

    head, _, part = name.rstrip(")").partition("(part=")
    part = part or "f1"
    if head == "grounded_refusal":
        both = [f1(refused, unanswerable, part), f1(answered, answerable, part)]
        return None if None in both else sum(number for number in both if number is not None) / 2
    return {
        "answer_rate": lambda: ratio(answered, every),
        "over_refusal": lambda: ratio(refused, answerable),
        "false_answer_rate": lambda: ratio(answered, unanswerable),
        "refusal_f1": lambda: f1(refused, unanswerable, part),
        "answerable_f1": lambda: f1(answered, answerable, part),
    }[head]()


def same(value: float, right: Fraction | None) -> bool:
    return math.isnan(value) if right is None else value == pytest.approx(float(right), abs=1e-12)


def test_nine_percentages_of_trust_eval() -> None:
    questions = [("perfect" if index < 5 else "missing", index < 7) for index in range(10)]
    scores = values(list(EXPECTED), questions)
    assert {name: 100 * value for name, value in scores.items()} == pytest.approx(EXPECTED, abs=1e-12)


labels = st.sampled_from(["missing", *ANSWERED])
sets = st.lists(st.tuples(labels, st.booleans()), min_size=1, max_size=8)


@pytest.mark.slow
@given(sets)
@settings(max_examples=60)
def test_every_value_is_the_oracles(questions: list[Question]) -> None:
    scores = values(MEASURES, questions)
    assert all(same(value, slowly(name, questions)) for name, value in scores.items())


@pytest.mark.slow
@given(sets, st.randoms(use_true_random=False))
@settings(max_examples=25)
def test_order_and_names_change_nothing(questions: list[Question], rng: random.Random) -> None:
    mixed = rng.sample(questions, len(questions))
    assert json.dumps(values(MEASURES, mixed)) == json.dumps(values(MEASURES, questions))


@pytest.mark.slow
@given(sets)
@settings(max_examples=25)
def test_refusing_is_answering_the_other_way_round(questions: list[Question]) -> None:
    turned = [("perfect" if label == "missing" else "missing", not can) for label, can in questions]
    one, other = values(OF_F1, questions), values(OF_F1, turned)
    for part in PARTS:
        assert str(one[f"refusal_f1(part={part})"]) == str(other[f"answerable_f1(part={part})"])


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(15))
def test_no_completion_is_outside_of_the_bounds(seed: int) -> None:
    """A judgement that failed is no refusal: whatever it would have said lies between worst and best."""
    rng = random.Random(seed)
    questions = [
        (rng.choice(["", "missing", "perfect", "incorrect"]), rng.random() < 0.6)
        for _ in range(rng.randint(2, 6))
    ]
    open_ = [index for index, (label, _) in enumerate(questions) if not label]
    worst, best = (values(MEASURES, questions, end) for end in ("worst", "best"))
    skipped = values(MEASURES, questions, "skip")
    for name in MEASURES:
        assert same(skipped[name], slowly(name, questions))
        reached = []
        for chosen in product(("missing", "perfect"), repeat=len(open_)):
            complete = list(questions)
            for index, label in zip(open_, chosen, strict=True):
                complete[index] = (label, complete[index][1])
            reached.append(slowly(name, complete))
        defined = [float(value) for value in reached if value is not None]
        ends = sorted(value for value in (worst[name], best[name]) if not math.isnan(value))
        if defined and len(ends) == 2 and len(defined) == len(reached):
            assert ends == pytest.approx([min(defined), max(defined)], abs=1e-12), name


def test_a_judgement_that_failed_is_said_with_bounds() -> None:
    with pytest.raises(MissingJudgements, match=r"1 error.*lies between 0\.5000 and 1\.0000"):
        values(["refusal_f1(part=recall)"], [("missing", False), ("", False)])


def test_what_is_pooled_by_nature_is_never_a_mean_of_topics() -> None:
    with pytest.raises(MeasureError, match="over='topics', expected one of pool"):
        rageval.parse_measure("refusal_f1(over=topics)")
    assert str(rageval.parse_measure("refusal_f1(over=pool)")) == "refusal_f1"


def test_two_systems_are_not_compared_by_what_is_pooled_by_nature() -> None:
    rows = [row | {"run_id": run} for run in "rs" for row in rows_of([("missing", False), ("perfect", True)])]
    scores = rageval.evaluate_answers("refusal_f1", rows)
    with pytest.raises(MeasureError, match=r"is pooled over queries, and has no test; leave it out$"):
        rageval.compare(scores)


def test_a_slice_rests_on_all_questions_whose_decisions_count() -> None:
    rows = rows_of([("missing", False), ("perfect", False), ("missing", True), ("perfect", True)])
    score = rageval.evaluate_answers("grounded_refusal", rows)["r"]["grounded_refusal"]
    (slice,) = slices(score, "kind", dict.fromkeys("0123", "all"))
    assert (slice.queries, slice.undefined, slice.value) == (4, 0, 0.5)


# --- who says what is answerable ---


@pytest.fixture(name="folder")
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    judged = [
        {"query_id": q, "run_id": "r", "label": label} for q, label in (("1", "missing"), ("2", "perfect"))
    ]
    (tmp_path / "judged.jsonl").write_text("".join(json.dumps(row) + "\n" for row in judged))
    return tmp_path


def command(*words: str) -> Any:
    return CliRunner().invoke(main, ["judged.jsonl", "-m", "refusal_f1", *words])


@pytest.mark.parametrize("message", ["false", '"false"', '"No"', "0"])
def test_the_questions_say_what_is_answerable(folder: Path, message: str) -> None:
    lines = [f'{{"query_id": "1", "question": "?", "answerable": {message}}}\n']
    lines += ['{"query_id": "2", "question": "?", "answerable": true}\n']
    (folder / "questions.jsonl").write_text("".join(lines))
    assert command("--questions", "questions.jsonl").stdout.split() == ["refusal_f1", "all", "1.0000"]


REFUSED = {
    "not said at all": ([], "refusal_f1: it is unknown whether query 1 can be answered; give the questions"),
    "not said of one": (['{"query_id": "1", "answerable": false}'], "whether query 2 can be answered"),
    "no truth": (
        ['{"query_id": "1", "answerable": "perhaps"}'],
        "answerable of query 1 is 'perhaps'; expected true",
    ),
    "two truths": (
        ['{"query_id": "1", "answerable": 1}', '{"query_id": "1", "answerable": 0}'],
        "expected one value",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_nothing_says_is_asked_for(folder: Path, case: str) -> None:
    lines, message = REFUSED[case]
    (folder / "questions.jsonl").write_text("\n".join(lines))
    result = command(*(["--questions", "questions.jsonl"] if lines else []))
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr


def test_two_that_say_otherwise_are_refused() -> None:
    rows = rows_of([("missing", True)])
    with pytest.raises(InputError, match="the judgements the opposite"):
        rageval.evaluate_answers("refusal_f1", rows, questions=[{"query_id": "0", "answerable": False}])
    with pytest.raises(InputError, match="the opposite before"):
        rageval.evaluate_answers("refusal_f1", [*rows, {**rows[0], "run_id": "other", "answerable": False}])
