"""A judge of a turn sees the earlier turns: the questions, and what the same system answered."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from commands import write_jsonl
from rageval.errors import InputError
from rageval.judges import Settings, judged_by
from rageval.judges.base import Request
from rageval.judges.material import Material, gathered, tasks
from rageval.judges.rubric import Rubric, rubric_named
from rageval.testing import ScriptedModel

TOML = """
unit = "answer"
kind = "label"
sees = ["history", "question", "answer"]
labels = { good = 1, bad = 0 }
[prompt]
system = "You judge the last answer."
template = "Before:\\n{history}\\nNow: {question}\\n{answer}\\nGood or bad?"
"""
QUESTIONS = [("q10", "c", 10, "And then?"), ("q1", "c", 1, "Who?"), ("q2", "c", 2, "Where?")]
QUESTIONS += [("x", "", "", "Why?")]  # type: ignore[list-item]
TEXTS = {("q1", "a"): "Ada.", ("q2", "a"): "Here.", ("q10", "a"): "Done."}
TEXTS |= {("q1", "b"): "Bob.", ("q10", "b"): "No."}


def material_of(folder: Path, texts: Any = TEXTS, **changed: Any) -> Material:
    questions = [
        {"query_id": query, "question": text, "conversation_id": talk, "turn": turn}
        for query, talk, turn, text in QUESTIONS
    ]
    answers = [{"query_id": query, "run_id": run, "answer": text} for (query, run), text in texts.items()]
    answers.append({"query_id": "x", "run_id": "a", "answer": "Because."})
    rows = [row | changed if row["query_id"] == "q2" else row for row in questions]
    paths = [write_jsonl(folder / f"{name}.jsonl", of) for name, of in (("q", rows), ("a", answers))]
    return gathered([paths[1]], paths[0], every_question=False)


def rubric_of(folder: Path) -> Rubric:
    path = folder / "turns.toml"
    path.write_text(TOML, encoding="utf-8")
    return rubric_named(str(path))


def histories(material: Material, rubric: Rubric) -> dict[tuple[str, str], str]:
    rows = ((task, next(iter(task.rows.values()))[0]) for task in tasks(rubric, material))
    return {(row.query, row.run): str(task.data["history"]) for task, row in rows}


def test_the_history_is_what_the_same_system_answered(tmp_path: Path) -> None:
    shown = histories(material_of(tmp_path), rubric_of(tmp_path))
    assert shown["q1", "a"] == shown["x", "a"] == shown["q1", "b"] == ""
    assert shown["q2", "a"] == "Question: Who?\nAnswer: Ada."
    # By the number of the turn, and an answer that is lacking is lacking.
    assert shown["q10", "a"] == "Question: Who?\nAnswer: Ada.\n\nQuestion: Where?\nAnswer: Here."
    assert shown["q10", "b"] == "Question: Who?\nAnswer: Bob.\n\nQuestion: Where?\nAnswer: (none)"


def test_the_key_of_a_reply_depends_on_the_history(tmp_path: Path) -> None:
    rubric = rubric_of(tmp_path)

    def keys(texts: Any) -> dict[tuple[str, str], tuple[str, str]]:
        some = tasks(rubric, material_of(tmp_path, texts))
        rows = ((task, next(iter(task.rows.values()))[0]) for task in some)
        return {
            (row.query, row.run): (rubric.request(task.data, task.ids).key("scripted", ""), task.judged_sha)
            for task, row in rows
        }

    before, after = keys(TEXTS), keys(TEXTS | {("q1", "a"): "Eve."})
    changed = {place for place, key in before.items() if key != after[place]}
    assert changed == {("q1", "a"), ("q2", "a"), ("q10", "a")}
    assert all(before[place][1] != after[place][1] for place in changed)


def test_a_scripted_judge_sees_it(tmp_path: Path) -> None:
    def reply(request: Request) -> str:
        before = request.user.partition("Now:")[0]
        return json.dumps({"label": "good" if "Ada" in before else "bad"})

    settings = Settings(store=str(tmp_path / "store"), canaries=0)
    model = ScriptedModel(reply)
    rows = judged_by([model], rubric_of(tmp_path), material_of(tmp_path), settings)
    labels = {(row["query_id"], row["run_id"]): row.get("label") for row in rows}
    assert labels == {
        ("q1", "a"): "bad", ("q2", "a"): "good", ("q10", "a"): "good",
        ("q1", "b"): "bad", ("q10", "b"): "bad", ("x", "a"): "bad",
    }  # fmt: skip
    # Fenced, as JSON, like all texts that others wrote.
    assert r"Question: Where?\nAnswer: Here." in next(
        request.user for request in model.requests if "Done." in request.user
    )


def test_a_turn_without_a_number_is_refused(tmp_path: Path) -> None:
    for turn, problem in (("second", "'second'"), (None, "none")):
        with pytest.raises(InputError, match=f"expected a number as turn.*found {problem}"):
            histories(material_of(tmp_path, turn=turn), rubric_of(tmp_path))
