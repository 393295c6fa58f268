"""The judge `short`: its features, its curve, what it says and where it refuses."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path

import pytest
from click.testing import CliRunner

import rageval
from rageval.cli import main
from rageval.errors import TooFewLabels, UsageError
from rageval.judges import short
from rageval.judges._exact import token_f1


def test_f1_is_that_of_the_judge_of_this_name_but_for_marks() -> None:
    for answer, gold in (("the tall tower", "Tower"), ("Paris", "Paris"), ("x", "y"), ("a b b", "b c")):
        f1 = short.features(answer, "", (gold,))[short.FEATURES.index("token_f1")]
        assert f1 == pytest.approx(token_f1(answer, [gold]))


def test_other_numbers_cap_the_chance_and_leave_doubt() -> None:
    chance = short.packed().chance("On July 21, 1969.", "When?", ["July 20, 1969"])
    assert chance == short.OTHER_NUMBERS
    for answer in ("July 1969", "20.7.1969", "In July", "On July 20, 1969, at 21:17"):
        assert short.packed().chance(answer, "When?", ["July 20, 1969"]) != short.OTHER_NUMBERS


def worlds(number: int, seed: int = 1) -> tuple[list[tuple[float, ...]], list[str]]:
    """Answers of five systems to questions: rows of features, and whose they are."""
    draw = random.Random(seed)
    rows, groups = [], []
    for index in range(number):
        gold = f"word{index % 7} name{index}"
        answer = draw.choice(
            [gold, f"It is {gold}.", f"name{index}", "something else", f"word{index % 7} other"]
        )
        rows.append(short.features(answer, "What is it?", (gold,)))
        groups.append(f"q{index // 3}")
    return rows, groups


def test_a_fit_has_no_slope_left() -> None:
    rows, _ = worlds(120)
    right = [row[0] > 0 or index % 5 == 0 for index, row in enumerate(rows)]
    penalty = 2.0
    curve = short.fit(rows, right, penalty)

    def loss(intercept: float, weights: list[float]) -> float:
        tried = short.Curve(intercept, tuple(weights), curve.means, curve.deviations)
        likelihood = (
            math.log(tried.of((*row[:-1], 0.0)) if is_right else 1 - tried.of((*row[:-1], 0.0)))
            for row, is_right in zip(rows, right, strict=True)
        )
        return -math.fsum(likelihood) + penalty / 2 * math.fsum(weight**2 for weight in weights)

    best = loss(curve.intercept, list(curve.weights))
    for index in range(len(curve.weights)):
        for step in (-0.01, 0.01):
            moved = [weight + step * (index == place) for place, weight in enumerate(curve.weights)]
            assert loss(curve.intercept, moved) > best - 1e-9
    assert loss(curve.intercept + 0.01, list(curve.weights)) > best
    assert loss(curve.intercept - 0.01, list(curve.weights)) > best


@pytest.mark.slow
def test_labels_that_say_otherwise_change_the_curve_and_those_that_agree_do_not() -> None:
    rows, groups = worlds(150)
    agreeing = [short.packed().of(row) >= 0.5 for row in rows]
    # People here call only what repeats the gold answer in full right.
    strict = [row[short.FEATURES.index("token_f1")] == 1 for row in rows]
    changed = short.cross_fit(rows, strict, groups)
    assert changed.loss_after < changed.loss_before
    assert changed.after < changed.before
    assert changed.curve.name != short.packed().name
    kept = short.cross_fit(rows, agreeing, groups)
    assert kept.before == 0
    assert ("the packed curve is kept" in str(kept)) == (kept.curve == short.packed())


@pytest.mark.parametrize("right", [[True] * 29, [True] * 40])
def test_few_labels_or_one_kind_are_refused(right: list[bool]) -> None:
    rows, groups = worlds(len(right))
    with pytest.raises(TooFewLabels, match="of both kinds"):
        short.cross_fit(rows, right, groups)


# --- as a judge

ASKED = [{"query_id": "q1", "question": "What is the capital of France?", "answer": ["Paris"]}]


def written(folder: Path, question: str = "What is the capital of France?") -> tuple[str, str]:
    answers, questions = folder / "a.jsonl", folder / "q.jsonl"
    answers.write_text(json.dumps({"query_id": "q1", "run_id": "s", "answer": "Paris"}) + "\n")
    questions.write_text(json.dumps({"query_id": "q1", "question": question, "answer": ["Paris"]}) + "\n")
    return str(answers), str(questions)


def test_it_judges_where_no_judge_is_named_and_right_answers_are_there(tmp_path: Path) -> None:
    answers, questions = written(tmp_path)
    result = CliRunner().invoke(main, ["judge", "crag", answers, "--questions", questions])
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["judge"] == short.packed().name
    assert "no judge named" in result.stderr
    assert str(short.error_remark()) in result.stderr
    result = CliRunner().invoke(main, ["judge", "nugget-support", answers, "--questions", questions])
    assert result.exit_code == 2
    assert "no judge named; use a model" in result.stderr


def test_another_language_has_no_error_rate(tmp_path: Path) -> None:
    answers, questions = written(tmp_path, "Wie heißt die Hauptstadt von Frankreich?")
    result = CliRunner().invoke(
        main, ["judge", "crag", answers, "--questions", questions, "--judge", "short"]
    )
    assert "1 of 1 questions do not look English" in result.stderr
    assert "was wrong on" not in result.stderr


def test_a_long_answer_is_said_to_be_one() -> None:
    answers = [{"query_id": "q1", "run_id": "s", "answer": "Paris " * 300}]
    with pytest.warns(UserWarning, match="longer than any"), pytest.warns(UserWarning, match="was wrong on"):
        rageval.judge("crag", answers, "short", questions=ASKED)


def test_a_fit_is_said_and_named(tmp_path: Path) -> None:
    asked = [
        {"query_id": f"q{number}", "question": "What is it?", "answer": [f"word name{number}"]}
        for number in range(60)
    ]
    answers = [
        {
            "query_id": f"q{number}",
            "run_id": "s",
            "answer": f"word name{number}" if number % 2 else f"name{number}",
        }
        for number in range(60)
    ]
    labels = [
        {
            "query_id": answer["query_id"],
            "run_id": answer["run_id"],
            "label": "perfect" if number % 2 else "incorrect",
            "judge": "person:kim",
            "rubric": "crag",
        }
        for number, answer in enumerate(answers)
    ]
    with pytest.warns(UserWarning, match="cross-validated on 60 labels"):
        judged = rageval.judge("crag", answers, "short", questions=asked, fit=labels)
    assert {row["judge"] for row in judged} != {short.packed().name}
    assert [row["label"] for row in judged[:2]] == ["incorrect", "perfect"]
    with pytest.raises(UsageError, match="not among the judges"):
        rageval.judge("crag", answers, "contains", questions=asked, fit=labels)
