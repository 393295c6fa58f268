"""Conversations in logs: a turn is a question, and nothing of two conversations becomes one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rageval import logs
from rageval.errors import InputError
from rageval.files.answers import read_answers
from rageval.logs import Log
from test_bad_input import command
from test_readers import ANSWERS, GOLD, LOGS, QUESTIONS, RETRIEVED, SCORES

TURNS = {"a1": ("c1", 1), "a2": ("c1", 2), "a3": ("c1", 3), "a4": ("c2", 1), "a5": ("c2", 2)}
RIGHT = {"a1": "accurate", "a2": "accurate", "a3": "incorrect", "a4": "missing", "a5": "missing"}
TALKS: list[dict[str, Any]] = [
    {"chat_id": talk, "turns": [{"question": question, "answer": answer} for question, answer in turns]}
    for talk, turns in {
        "c1": [("Who?", "Ada."), ("When?", "1843.")],
        "c2": [("Where?", "Here."), ("When?", "Now.")],
    }.items()
]
ALL = "question=turns[].question,answer=turns[].answer"
LAST = "question=turns[-1].question,answer=turns[-1].answer"


def log_of(folder: Path, *rows: Any) -> str:
    path = folder / "log.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def places(log: Log) -> dict[str, tuple[str | None, str | None]]:
    """Return the conversation and the turn of each question."""
    facts = {question.query_id: dict(question.facts) for question in log.questions}
    return {query: (fact.get("conversation_id"), fact.get("turn")) for query, fact in facts.items()}


def test_tasks_of_mt_rag_are_turns() -> None:
    log = logs.read(str(LOGS / "mt-rag/responses.jsonl"))
    assert places(log) == {query: (talk, str(turn)) for query, (talk, turn) in TURNS.items()}
    facts = {question.query_id: dict(question.facts) for question in log.questions}
    assert {query: fact["answerable"] for query, fact in facts.items()} == {
        query: "true" if query in GOLD else "false" for query in QUESTIONS
    }
    assert facts["a2"]["multi_turn"] == "Follow-up"
    assert "multi_turn" not in facts["a1"]  # a NaN of the table
    assert {answer.run_id for answer in log.answers} == {"responses"}


def test_topics_of_ikat_are_called_as_runs_call_their_turns(tmp_path: Path) -> None:
    log = logs.read(str(LOGS / "ikat/topics.json"))
    assert list(places(log)) == ["c1_1", "c1_2", "c1_3", "c2_1", "c2_2"]
    right = {(qrel.query_id, qrel.doc_id) for qrel in log.gold}
    assert right == {(f"{t}_{n}", doc) for query, (t, n) in TURNS.items() for doc in RETRIEVED[query]}
    run = {
        "metadata": {"team_id": "t", "run_id": "ours", "run_type": "automatic"},
        "turn_id": "c1_2",
        "references": {"shipping.md#0": SCORES["a2"][1], "returns.md#1": SCORES["a2"][0]},
        "responses": [
            {"text": ANSWERS["a2"], "citations": {"shipping.md#0": 0.4, "returns.md#1": 0.9}},
        ],
    }
    (answer,) = read_answers(log_of(tmp_path, run))
    assert (answer.query_id, answer.run_id) == ("c1_2", "ours")
    assert answer.references == ("returns.md#1", "shipping.md#0")
    assert answer.sentences[0].citations == ("returns.md#1", "shipping.md#0")


def test_results_of_crag_mm_are_scored_as_crag(tmp_path: Path) -> None:
    log = logs.read(str(LOGS / "crag-mm/results.jsonl"))
    assert [judgement["label"] for judgement in log.judgements] == list(RIGHT.values())
    assert {judgement["conversation_id"] for judgement in log.judgements} == {"c1", "c2"}
    assert [answer.text for answer in log.answers] == list(ANSWERS.values())
    assert command("import", str(LOGS / "crag-mm/results.jsonl"), "-o", str(tmp_path / "out")).code == 0
    scored = command(str(tmp_path / "out/judged.jsonl"), "-m", "crag_score", "--format", "json")
    assert json.loads(scored.out)["results"][0]["value"] == pytest.approx(1 / 5)
    row = {"session_id": "s", "turn_idx": 0, "is_correct": True, "is_miss": True}
    with pytest.raises(InputError, match="not both true"):
        logs.read(log_of(tmp_path, row))


@pytest.mark.parametrize(
    ("name", "left_out"),
    [
        ("deepeval/conversations/evaluation_result.json", "conversation scores"),
        ("deepeval/conversations/test_run.json", "conversation scores"),
        ("ragas/conversations/dataset.jsonl", "conversation references"),
        ("ragas/conversations/dataset.csv", "conversation references"),
    ],
)
def test_a_conversation_has_a_question_a_turn(name: str, left_out: str) -> None:
    log = logs.read(str(LOGS / name))
    texts = {question.query_id: question.text for question in log.questions}
    answers = {texts[answer.query_id]: answer.text for answer in log.answers}
    assert answers == {
        QUESTIONS["a1"]: ANSWERS["a1"],
        "And what does it cost?": ANSWERS["a2"],
        QUESTIONS["a5"]: ANSWERS["a5"],
    }
    (first, second, alone) = places(log).values()
    assert (first[1], second[1], alone) == ("1", "2", (None, None))
    assert first[0] == second[0]
    assert log.left_out[left_out] == 1


def test_messages_without_tools_are_a_conversation(tmp_path: Path) -> None:
    listed = [("user", "Who?"), ("assistant", "Ada."), ("user", "When?"), ("assistant", "1843.")]
    messages = [{"role": role, "content": text} for role, text in listed]
    log = logs.read(log_of(tmp_path, {"conversation_id": "c9", "messages": messages}))
    assert places(log) == {"c9<::>1": ("c9", "1"), "c9<::>2": ("c9", "2")}
    assert [answer.text for answer in log.answers] == ["Ada.", "1843."]


def test_traces_of_one_session_are_turns(tmp_path: Path) -> None:
    spans = list(map(json.loads, (LOGS / "otel/spans.jsonl").read_text(encoding="utf-8").splitlines()))
    for span in spans:
        span["attributes"]["session.id"] = f"of-{span['context']['trace_id']}"
    assert set(places(logs.read(log_of(tmp_path, *spans))).values()) == {(None, None)}
    for span in spans:
        span["attributes"]["session.id"] = "one"
    log = logs.read(log_of(tmp_path, *spans))
    assert [turn for _, turn in places(log).values()] == ["1", "2", "3", "4", "5"]
    assert len({talk for talk, _ in places(log).values()}) == 1


class TestMapped:
    """Conversations that no reader knows."""

    def test_every_turn(self, tmp_path: Path) -> None:
        path = log_of(tmp_path, *TALKS)
        log = logs.read(path, f"{ALL},conversation_id=chat_id")
        assert list(places(log)) == ["c1<::>1", "c1<::>2", "c2<::>1", "c2<::>2"]
        assert [answer.text for answer in log.answers] == ["Ada.", "1843.", "Here.", "Now."]
        # Without ids they are called by what was asked, so that those of two systems meet.
        assert len({talk for talk, _ in places(logs.read(path, ALL)).values()}) == 2
        # What `import` suggests runs as it is printed.
        refused = command("import", path, "--dry-run")
        words = refused.err.split("--map ")[1].strip().strip("'")
        assert words == f"{ALL},conversation_id=chat_id"

    def test_the_last_turn_of_each(self, tmp_path: Path) -> None:
        path = log_of(tmp_path, *TALKS)
        with pytest.raises(InputError, match="in several conversations, with other turns before it"):
            logs.read(path, LAST)
        log = logs.read(path, f"{LAST},query_id=chat_id")
        assert [(answer.query_id, answer.text) for answer in log.answers] == [("c1", "1843."), ("c2", "Now.")]
        twice = log_of(tmp_path, TALKS[0], TALKS[0])  # the same conversation again
        assert [answer.repeat for answer in logs.read(twice, LAST).answers] == ["1", "2"]

    def test_two_conversations_of_one_id_are_refused(self, tmp_path: Path) -> None:
        path = log_of(tmp_path, *(talk | {"chat_id": "c"} for talk in TALKS))
        with pytest.raises(InputError, match="turn 1 of the conversation 'c' has another question than in"):
            logs.read(path, f"{ALL},conversation_id=chat_id")

    def test_every_turn_has_its_own_value(self, tmp_path: Path) -> None:
        path = log_of(tmp_path, {"turns": [{"q": "Who?"}, {"q": "When?"}], "answers": ["Ada."]})
        log = logs.read(path, "question=turns[].q,answer=answers[0]")
        assert [answer.text for answer in log.answers] == ["Ada.", "Ada."]
