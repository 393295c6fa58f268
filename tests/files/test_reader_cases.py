"""One small case each of what readers decide at an edge, worked out by hand."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from rageval.errors import InputError
from rageval.files.adaptive import note_claim, read_asked
from rageval.files.banks import NuggetBank
from rageval.files.jsonl import as_line
from rageval.files.kinds import told
from rageval.files.leaderboards import read_leaderboard
from rageval.files.limits import DEFAULT
from rageval.files.nuggets import numbered_banks
from rageval.files.opening import ADAPTIVE
from rageval.files.plans import LabelPlan, plan_lines
from rageval.files.trec import Reading
from rageval.scoring.sources import read_qrels


def test_what_became_of_a_claim_is_noted_at_its_documents_alone(tmp_path: Path) -> None:
    beside = tmp_path / f"qrels{ADAPTIVE}"
    asked = {"d": "x", "e": "y"}
    rows = [{"query_id": "q", "doc_id": doc, "for": what} for doc, what in asked.items()]
    beside.write_text("".join(f"{as_line(row)}\n" for row in rows))
    note_claim(str(tmp_path / "qrels"), "x", "x: decided")
    found = {doc: each.what for (_, doc), each in read_asked(str(beside)).items()}
    assert found == {"d": "x: decided", "e": "y"}


@pytest.mark.parametrize("length", [10, 11])
def test_an_id_may_be_just_as_long_as_its_limit(length: int) -> None:
    reading = Reading(limits=DEFAULT._replace(id=10))
    text = f"{'q' * length} 0 d 1\n".encode()
    if length == 10:
        assert read_qrels(io.BytesIO(text), reading=reading).query_ids == ["q" * 10]
    else:
        with pytest.raises(InputError, match="11 bytes, expected at most 10"):
            read_qrels(io.BytesIO(text), reading=reading)


def test_a_line_is_called_too_long_only_if_it_is(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text(f"{'q' * 10} 0 d many\n")
    with pytest.raises(InputError, match="found 'many'"):
        read_qrels(tmp_path / "qrels", reading=Reading(limits=DEFAULT._replace(id=10)))


@pytest.mark.parametrize(("first", "expected"), [("r q ap", "3"), ("r q ap all", "4"), ("r q", "3 or 4")])
def test_a_row_of_another_width_is_told_by_the_width_of_the_first(first: str, expected: str) -> None:
    rows = f"{first} .5\nr\n" if first == "r q ap" else f"{first}\nr\n"
    rows = rows.replace("r q ap .5", "r ap .5").replace("r q ap all", "r all ap .5")
    with pytest.raises(InputError, match=f"expected {expected} columns of a leaderboard, found 1"):
        read_leaderboard(io.BytesIO(rows.encode()))


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("r all ap .5\n", "leaderboard"),
        ("r all ap .5\nr q1 ap .4\nr q2", "leaderboard"),  # the last line is cut off where looking ended
        ("r all ap 1\nr q1 ap 0\nr q2", "leaderboard"),
        ("r q1 ap .5\n", "qrels"),
        ("r q1 ap .5\nr q2 ap .4\n", "leaderboard"),
        ("r q1 ap .5\nr q2 ap .4\nr q3", "leaderboard"),
        ("q n1 d1 .5\nq n2 d2 .4\n", "qrels"),
        ("q n1 d1 .5\nq n2 d1 .4\nq n2 d2 .4\n", "qrels"),
        ("q1\t0 d 1\n", "qrels"),
        ("q1\twhen was 1850\n", "topics"),
    ],
)
def test_lines_of_three_and_four_columns_are_told_apart(text: str, kind: str) -> None:
    assert str(told(io.BytesIO(text.encode()))) == kind


def test_a_plan_is_told_by_its_first_line() -> None:
    plan = LabelPlan(
        plan="rageval-plan/1", seed=0, rubric="crag", kind="label", systems=("a", "b"), queries=1
    )
    text = "".join(f"{line}\n" for line in plan_lines(plan))
    assert str(told(io.BytesIO(text.encode()))) == "plan"
    label = {"query_id": "q", "run_id": "a", "label": "perfect", "plan": "0" * 64}
    assert str(told(io.BytesIO(json.dumps(label).encode()))) == "judgements"


def test_answers_of_a_bank_have_the_importance_that_is_said() -> None:
    stated = {"references": [{"doc_id": "d"}]}
    answers = {"a": {"answer": "Oslo", "importance": 3, **stated}, "b": {"answer": "Bergen", **stated}}
    asked = {"question": "Where?", "question_id": "1", "query_id": "q", "answers": answers}
    record = {"query_id": "q", "title_query": "t", "nugget_bank": {"Where?": asked}}
    ((_, bank),) = numbered_banks(io.BytesIO(json.dumps(record).encode()), DEFAULT)
    assert isinstance(bank, NuggetBank)
    assert [[each.importance for each in nugget.answers] for nugget in bank.nuggets] == [["3", None]]
