"""Several answers of a system to one query: each judged, and the question is the unit all the same."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import rageval
from our_measures import OF_ANSWERS
from rageval.cli import main
from rageval.errors import InputError, MeasureError, MissingJudgements, UsageError
from rageval.files.answers import read_answers, write_answers

Row = dict[str, Any]


def row(query: str, repeat: object = None, run: str = "r", **label: Any) -> Row:
    repeat_field = {} if repeat is None else {"repeat": repeat}
    return (
        {"query_id": query, "run_id": run, "aspect": "score", "rubric": "tool/score"} | repeat_field | label
    )


def value(measure: str, judged: list[Row], **options: Any) -> float:
    scores: Any = rageval.evaluate_answers(measure, judged, **options)
    return float(scores["r"].scores[0].value)


# Four of five answers are to q1: a mean over rows would say 0.2, a mean over questions says 0.5.
UNEVEN = [row("q1", n, grade=0.0) for n in range(4)] + [row("q2", grade=1.0)]
FEWER = pytest.mark.filterwarnings("ignore:.* queries have fewer than . answers")


@FEWER
def test_the_question_is_the_unit() -> None:
    scores: Any = rageval.evaluate_answers("grade", UNEVEN, on_missing="skip")["r"].scores[0]
    assert scores.by_query == {"q1": 0.0, "q2": 1.0}
    assert scores.value == 0.5
    assert scores.queries == 2
    # The three answers that q2 lacks are missing.
    assert (scores.missing, scores.bounds) == (3, (0.125, 0.5))


SCALES: dict[str, tuple[str, Row, Row]] = {
    "crag": ("crag_score, accuracy, pass@1, pass^2", {"label": "perfect"}, {"label": "incorrect"}),
    "nugget-assignment": (
        "v_strict, w, nugget_recall(over=pool), nugget_f",
        {"label": "support", "importance": "vital", "aspect": "n"},
        {"label": "not_support", "importance": "vital", "aspect": "n"},
    ),
    "tool/score": ("grade, pass_rate", {"grade": 1.0, "label": "pass"}, {"grade": 0.0, "label": "fail"}),
    "citation-support": (
        "citation_precision, citation_recall",
        {"label": "full_support", "item_id": "d", "aspect": "0", "sentences": 1},
        {"label": "no_support", "item_id": "d", "aspect": "0", "sentences": 1},
    ),
    "": ("length, citations", {"label": "perfect"}, {"label": "incorrect"}),
}


@pytest.mark.slow
@FEWER
@pytest.mark.parametrize("rubric", SCALES)
@pytest.mark.parametrize("seed", range(3))
def test_fewer_answers_never_help(rubric: str, seed: int) -> None:
    """Whichever answers are taken out, they are counted, and the whole value lies within the bounds."""
    measures, good, bad = SCALES[rubric]
    rng = random.Random(f"{rubric}{seed}")
    rows = [
        row(f"q{index}", n, rubric=rubric or "crag", **{**(good if rng.random() < 0.5 else bad)})
        for index in range(6)
        for n in range(3)
    ]
    rows = [{key: value for key, value in row.items() if rubric or key != "aspect"} for row in rows]
    texts = [
        {"query_id": row["query_id"], "run_id": "r", "repeat": row["repeat"],
         "answer": "word " * rng.randrange(1, 9) + "[1]", "references": ["d"]}
        for row in rows
    ]  # fmt: skip
    lost = {("q0", 2), ("q1", 1), ("q1", 2), ("q2", 0)}

    def without(records: list[Row]) -> list[Row]:
        return [record for record in records if (record["query_id"], record["repeat"]) not in lost]

    def score(judged: list[Row], answers: list[Row]) -> Any:
        given = {"answers": answers} if rubric in ("", "nugget-assignment") else {}
        return rageval.evaluate_answers(measures, judged, on_missing="skip", **given)["r"]

    whole, few = score(rows, texts), score(without(rows), without(texts))
    for before, after in zip(whole.scores, few.scores, strict=True):
        assert after.missing >= 4, after.measure
        low, high = after.bounds
        assert low - 1e-12 <= before.value <= high + 1e-12, after.measure
    with pytest.raises(MissingJudgements, match="r: 3 of 6 queries have fewer than 3 answers"):
        rageval.evaluate_answers(measures, without(rows), answers=without(texts) if not rubric else None)


@FEWER
def test_a_pooled_share_counts_each_question_by_its_mean_part() -> None:
    q1 = [row("q1", n, label=label) for n, label in enumerate(("pass", "fail"))]
    q2 = [row("q2", item_id=item, label="pass") for item in ("a", "b", "c")]
    skip = {"on_missing": "skip"}
    assert value("pass_rate", q1 + q2, **skip) == pytest.approx((0.5 + 1) / 2)
    assert value("pass_rate(over=pool)", q1 + q2, **skip) == pytest.approx((0.5 + 3) / (1 + 3))


def test_a_second_answer_is_an_error_unless_it_is_another_repeat(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"judgements:2: query q1, run r, repeat 1, item answer"):
        rageval.evaluate_answers("grade", [row("q1", 1, grade=1.0), row("q1", "1", grade=0.0)])
    path = tmp_path / "answers.jsonl"
    lines = [
        {"query_id": "q", "run_id": "r", "answer": text, "repeat": n} for n, text in ((1, "a"), (2, "b"))
    ]
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    read = list(read_answers(str(path)))
    assert [(answer.text, answer.repeat) for answer in read] == [("a", "1"), ("b", "2")]
    path.write_text("\n".join(write_answers(read, "plain")), encoding="utf-8")
    assert list(read_answers(str(path))) == read
    path.write_text("\n".join(json.dumps({**line, "repeat": 2}) for line in lines), encoding="utf-8")
    with pytest.raises(InputError, match="a second answer of run r to query q, repeat 2"):
        list(read_answers(str(path)))


def test_a_repeat_that_failed_is_missing() -> None:
    judged = [row("q1", 1, grade=1.0), row("q1", 2, status="error")]
    judged += [row("q2", 1, grade=0.5), row("q2", 2, grade=0.5)]
    with pytest.raises(MissingJudgements, match="1 judgement that grade needs is missing") as caught:
        value("grade", judged)
    assert "its value lies between 0.5000 and 0.7500" in str(caught.value)
    assert value("grade", judged, on_missing="skip") == 0.75
    assert value("grade", judged, on_missing="worst") == 0.5


@FEWER
def test_a_repeat_that_other_questions_or_systems_have_is_missing() -> None:
    judged = [row(query, n, grade=1.0) for query in ("q1", "q2") for n in range(2)][:-1]
    judged += [row(query, run="s", grade=0.0) for query in ("q1", "q2")]
    with pytest.raises(MissingJudgements, match="s: 2 of 2 queries have fewer than 2 answers"):
        value("grade", judged)
    scores: Any = rageval.evaluate_answers("grade", judged, on_missing="skip")
    assert [scores[run].scores[0].missing for run in "rs"] == [1, 2]
    assert scores["s"].scores[0].bounds == (0.0, 0.5)


@pytest.mark.parametrize("measure", ["nugget_recall", "crag_score", "grade", "nugget_recall(credit=partial)"])
def test_equal_repeats_change_nothing_in_any_order(measure: str) -> None:
    rng = random.Random(measure)
    labels = {"crag_score": ("perfect", "missing", "incorrect")}.get(measure, ("support", "not_support"))

    def judgement() -> Row:
        return {"grade": rng.random()} if measure == "grade" else {"label": rng.choice(labels)}

    rubric = {"crag_score": "crag", "grade": "tool/score"}.get(measure, "nugget-assignment")
    aspects = {"crag_score": ["0"], "grade": ["score"]}.get(measure, ["n1", "n2", "n3"])
    once = [
        row(f"q{index}", aspect=aspect, importance="vital") | {"rubric": rubric} | judgement()
        for index in range(5)
        for aspect in aspects
    ]
    thrice = [row | {"repeat": n} for row in once for n in range(3)]
    rng.shuffle(thrice)
    assert value(measure, thrice) == pytest.approx(value(measure, once), abs=1e-12)


def test_a_mean_over_repeats_is_of_those_that_are_defined() -> None:
    judged = [row("q", 1, aspect="n", label="support", weight=1.0, rubric="rubric")]
    judged += [row("q", 2, aspect="n", label="support", weight=-1.0, rubric="rubric")]  # nothing to earn
    assert value("rubric_score", judged) == 1.0
    assert math.isnan(value("rubric_score", judged[1:]))


def test_judging_keeps_repeats_apart_and_comparisons_refuse_them(tmp_path: Path) -> None:
    answers, questions, out = (tmp_path / name for name in ("a.jsonl", "q.jsonl", "j.jsonl"))
    repeated = [("1", "Paris"), ("2", "Lyon")]
    lines = [{"query_id": "q", "run_id": "r", "answer": text, "repeat": n} for n, text in repeated]
    answers.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    question = {"query_id": "q", "question": "The capital of France?", "answer": "Paris"}
    questions.write_text(json.dumps(question), encoding="utf-8")
    command = ["judge", "crag", str(answers), "--questions", str(questions)]
    result = CliRunner().invoke(main, [*command, "--judge", "exact", "-o", str(out)])
    assert result.exit_code == 0, result.output
    rows = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    assert {row["repeat"]: row["label"] for row in rows} == {"1": "perfect", "2": "incorrect"}
    assert value("crag_score", rows) == 0.0
    result = CliRunner().invoke(main, ["judge", "pairwise", *command[2:], "--judge", "openai:m", "--dry-run"])
    assert result.exit_code == 2, result.output
    assert "a comparison takes one answer of each system" in result.output


def test_what_takes_one_answer_says_so() -> None:
    people = [row("q1", grade=1.0, judge="person:ann")]
    with pytest.raises(
        UsageError, match=r"r has 4 answers to query q1 \(repeat 0, 1, 2, 3\), but a correction"
    ):
        rageval.evaluate_answers("grade", UNEVEN, gold=people, on_missing="skip")


@pytest.mark.parametrize(
    ("repeat", "message"),
    [(" 1", "expected as repeat an id without blanks"), ("x" * 5000, "expected at most"), (["1"], "repeat")],
)
def test_odd_repeats_are_refused(repeat: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        rageval.evaluate_answers("grade", [row("q", repeat, grade=1.0)])


class TestGrade:
    def test_grades_may_have_other_ends(self) -> None:
        judged = [row("q", aspect="quality", grade=4.0)]
        assert value("grade(aspect=quality,low=1,high=5)", judged) == 4.0
        with pytest.raises(
            InputError, match="expected a number from 0 to 1 for grades of quality, found grade 4"
        ):
            value("grade(aspect=quality)", judged)
        for low, high in ((5, 1), (1, 1)):
            with pytest.raises(MeasureError, match="expected low below high"):
                value(f"grade(aspect=quality,low={low},high={high})", judged)

    def test_label_and_grade_of_one_row_are_two_things(self) -> None:
        judged = [row("q", aspect="Faithfulness", grade=0.83, label="Pass")]
        assert value("grade(aspect=Faithfulness)", judged) == 0.83
        assert value("pass_rate(aspect=Faithfulness)", judged) == 1.0
        with pytest.raises(InputError, match=r"expected one of pass, fail, .* found grade 0.83"):
            value("pass_rate(aspect=Faithfulness)", [row("q", aspect="Faithfulness", grade=0.83)])

    @pytest.mark.parametrize("name", ["a(b", "a|b", "", "x" * 101, "a\x1bb"])
    def test_an_aspect_has_a_plain_name(self, name: str) -> None:
        with pytest.raises(MeasureError, match="expected a name of 1 to 100 characters"):
            OF_ANSWERS["grade"](aspect=name)

    def test_a_name_with_blanks_is_read_back(self) -> None:
        measure = OF_ANSWERS["grade"](aspect="Answer Relevancy")
        assert rageval.parse_measure(str(measure)) == measure
        assert str(measure) == "grade(aspect=Answer Relevancy)"
