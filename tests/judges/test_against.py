"""`rageval judge … --against RUBRIC` and `agree A B --parting N`: two rubrics, one table."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fair_judge import data_in, saying
from llm_server import Asked, LlmServer, Saying
from test_bad_input import command

ANSWERS = [
    {"query_id": f"q{index}", "run_id": run, "question": "Where?", "answer": f"{word}, {run}"}
    for index, word in enumerate(("Oslo", "Rome", "Bonn", "Nice"))
    for run in ("ours", "theirs")
]
GOLD = [
    {"query_id": f"q{index}", "question": "Where?", "answer": word}
    for index, word in enumerate(("Oslo",) * 4)
]


def judge(asked: Asked) -> Saying:
    """Right where Oslo is named; the human rubric's model lets Rome pass as acceptable."""
    answer = str(data_in(asked)["answer"])
    is_human = "acceptable" in json.dumps(asked.body)
    right = "Oslo" in answer
    label = ("perfect" if is_human else "accurate") if right else "incorrect"
    label = "acceptable" if is_human and "Rome" in answer else label
    quote = answer.split(",", maxsplit=1)[0]
    return saying(asked, json.dumps({"evidence": quote, "reason": f"it says {quote}", "label": label}))


@pytest.fixture(name="words")
def words_(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-" + "0" * 30)
    for name, records in (("answers", ANSWERS), ("gold", GOLD)):
        (tmp_path / name).write_text("".join(json.dumps(record) + "\n" for record in records))
    given = ["judge", "crag-auto", str(tmp_path / "answers"), "--questions", str(tmp_path / "gold")]
    return [*given, "--store", str(tmp_path / "store"), "--canaries", "0", "--quiet"]


@pytest.mark.slow
def test_two_judges_are_compared_in_one_table(words: list[str], tmp_path: Path) -> None:
    with LlmServer(judge) as server:
        model = f"openai:m@{server.openai}"
        output = str(tmp_path / "ours")
        result = command(*words, "--judge", model, "--against", "crag", "-o", output, "--max-calls", "16")
        assert result.code == 0, result.err
        assert len(server.requests) == 16
        table = " ".join(result.out.split())
        assert "judgements 8 8 " in table
        assert "calls 8 8 " in table
        assert "mean grade -0.5 -0.125 " in table
        assert "agreement 0.750 " in table
        assert "the judge is stricter by 0.375 on average" in table
        assert "q1 ours " in table
        assert "it says Rome" in table
        assert [json.loads(line)["label"] for line in Path(output).read_text().splitlines()].count(
            "accurate"
        ) == 2
        repeat = command(*words[:1], "crag", *words[2:], "--judge", model, "-o", str(tmp_path / "theirs"))
        assert (repeat.code, len(server.requests)) == (0, 16)  # the store has the replies
    printed_json = json.loads(
        command("label", "agree", output, str(tmp_path / "theirs"), "--parting", "1", "--format", "json").out
    )
    assert printed_json["differing"] == 2
    assert [(row["query"], row["gap"]) for row in printed_json["parting"]] == [("q1", 1.5)]
    assert [row["calls"] for row in printed_json["judges"]] == [8, 8]


def test_one_budget_for_both(words: list[str]) -> None:
    with LlmServer(judge) as server:
        model = f"openai:m@{server.openai}"
        result = command(*words, "--judge", model, "--against", "crag", "--max-calls", "10")
        assert result.code == 4
        assert len(server.requests) == 10


@pytest.mark.parametrize(
    ("more", "why"),
    [
        (["--judge", "exact", "--against", "nuggetize"], "nuggetize writes a list"),
        (["--judge", "exact", "--against", "pairwise"], "crag-auto judges answer and pairwise pair"),
        (["--judge", "exact", "--judge", "contains", "--against", "crag"], "expected one --judge, found 2"),
        (["--judge", "exact", "--against", "crag", "-m", "crag_score", "-o", "x"], "leave one out"),
        (["--judge", "exact", "--against", "no-such-rubric"], "no-such-rubric"),
    ],
)
def test_what_cannot_be_compared_is_refused(
    words: list[str], more: list[str], why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = command(*words, *more)
    assert result.code == 2
    assert why in result.err
