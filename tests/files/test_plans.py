"""Plans of what people shall label: what is read is what was drawn, and labels are its beginning."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rageval.errors import InputError
from rageval.files.plans import FORMAT, Ask, AskedQuery, LabelPlan, is_plan, plan_lines, read_plan, sealed

PLAN = LabelPlan(
    plan=FORMAT,
    seed=7,
    rubric="crag@12345678",
    kind="label",
    systems=("ours", "theirs"),
    queries=10,
    labels={"perfect": 1.0, "incorrect": -1.0},
    compare=("ours", "theirs"),
    same=("q8", "q9"),
    decide=("ours", "theirs"),
    asked=tuple(AskedQuery(name, (Ask("ours"), Ask("theirs"))) for name in ("q5", "q\u202e1", "q3")),
)


@pytest.fixture
def written(tmp_path: Path) -> Path:
    path = tmp_path / "ask.jsonl"
    path.write_text("".join(line + "\n" for line in plan_lines(PLAN)), encoding="utf-8")
    return path


def test_what_is_read_is_what_was_written(written: Path) -> None:
    plan = read_plan(str(written))
    assert plan == sealed(PLAN)
    assert len(plan.sha) == 64
    assert (plan.order, plan.rest, plan.share) == (("q5", "q\u202e1", "q3"), 8, 0.8)
    assert is_plan(str(written))


@pytest.mark.parametrize(
    ("was", "becomes"),
    [
        ('"seed":7', '"seed":8'),
        ('"queries":10', '"queries":12'),
        ('"q3"', '"q4"'),
        ('"queries":10', '"queries":9'),
        ('"incorrect":-1.0', '"incorrect":-0.5'),
    ],
)
def test_a_plan_that_was_changed_is_refused(written: Path, was: str, becomes: str) -> None:
    text = written.read_text(encoding="utf-8")
    assert was in text
    written.write_text(text.replace(was, becomes), encoding="utf-8")
    with pytest.raises(InputError, match="was changed after it was written"):
        read_plan(str(written))


def test_a_plan_in_another_order_or_cut_short_is_refused(written: Path) -> None:
    head, *rest = written.read_text(encoding="utf-8").splitlines(keepends=True)
    for lines in (rest[::-1], rest[:-1]):
        written.write_text("".join([head, *lines]), encoding="utf-8")
        with pytest.raises(InputError, match="was changed"):
            read_plan(str(written))
    written.write_text("".join([head, *rest, rest[0]]), encoding="utf-8")
    with pytest.raises(InputError, match=r"ask.jsonl:5: query q5 is in line 2, too"):
        read_plan(str(written))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"query_id": "q"}', r":1: expected a plan.*found the keys query_id"),
        ('{"plan": "rageval-plan/9"}', r":1: expected a plan.*rageval-plan/1.*found rageval-plan/9"),
        (json.dumps({"plan": FORMAT}), r":1: expected a plan"),
        ("[1]", r":1: expected a plan"),
        ("", "is empty"),
    ],
)
def test_what_is_no_plan_is_refused_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "other.jsonl"
    path.write_text(text)
    assert not is_plan(str(path)) or "plan" in text
    with pytest.raises(InputError, match=message):
        read_plan(str(path))


def test_labels_are_the_beginning_of_the_order() -> None:
    assert PLAN.drawn({"q5"}, "gold") == ("q5",)
    assert PLAN.drawn(["q\u202e1", "q5"], "gold") == ("q5", "q\u202e1")
    assert PLAN.drawn(PLAN.order, "gold") == PLAN.order
    assert PLAN.drawn([], "gold") == ()


def test_labels_outside_the_plan_are_refused() -> None:
    with pytest.raises(
        InputError, match=r"gold: 2 labeled queries are not in the plan \(q7, q8\).*--gold-chosen"
    ):
        PLAN.drawn({"q5", "q7", "q8"}, "gold")


def test_labels_that_pass_over_a_query_are_refused_and_terminals_are_safe() -> None:
    with pytest.raises(InputError, match=r"1 of the first 3 queries of the plan were skipped \(q\\u202e1\)"):
        PLAN.drawn({"q5", "q3"}, "gold")
