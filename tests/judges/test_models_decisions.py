"""The experimental Decisions API through the real SDK, with the rubrics it suits."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from llm_server import Asked, LlmServer, Saying, openai_decision
from model_checks import environment, outcome
from rageval.judges.base import ERROR, REFUSED, Fatal, Request, Transient
from rageval.judges.models import model_named
from rageval.judges.models._openai import OpenAIDecisions
from rageval.judges.rubric import rubric_named

openai = pytest.importorskip("openai")
HAS_DECISIONS = hasattr(openai.resources, "decisions")
needs_decisions = pytest.mark.skipif(not HAS_DECISIONS, reason="this SDK has no decisions")
IDS = ("n1", 'n"2')


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    environment(monkeypatch, tmp_path)


@pytest.fixture
def server() -> Iterator[LlmServer]:
    with LlmServer() as running:
        yield running


@pytest.fixture
def model(server: LlmServer) -> Any:
    return model_named(f"openai-decisions:m@{server.openai}", timeout=5)


def nuggets(ids: tuple[str, ...] = IDS) -> Request:
    shown = [{"id": name, "text": "It is so."} for name in ids]
    data = {"question": "Is it so?", "answer": "So it is.", "nuggets": shown}
    return rubric_named("nugget-assignment").request(data, ids)


@needs_decisions
def test_one_label(server: LlmServer, model: OpenAIDecisions) -> None:
    rubric = rubric_named("crag")
    seen = dict.fromkeys(rubric.file.sees, "text")
    reply = outcome(model, rubric.request(seen))
    assert rubric.read(reply.text)[0][0].label == rubric.scale.names[0]
    assert len(server.bodies[0]["questions"]) == 1


@needs_decisions
def test_a_question_that_is_refused(server: LlmServer, model: OpenAIDecisions) -> None:
    def one_less(asked: Asked) -> Saying:
        body = openai_decision(asked.body["questions"])
        body["answers"][1] = {"type": "refusal", "name": None}
        return Saying(body=body)

    server.say(one_less)
    reply = outcome(model, nuggets())
    assert (reply.status, reply.detail) == (REFUSED, "refused 1 of 2 questions")


@pytest.mark.slow
@needs_decisions
@pytest.mark.parametrize(
    "body",
    [{}, {"answers": None}, {"answers": [None]}, {"answers": []}, {"answers": [{"type": "choice"}]}, "{"],
)
def test_broken_replies(server: LlmServer, model: OpenAIDecisions, body: Any) -> None:
    server.say(Saying(body=body))
    assert isinstance(outcome(model, nuggets()), Transient)


@needs_decisions
def test_answers_of_another_kind_are_for_the_rubric_to_refuse(
    server: LlmServer, model: OpenAIDecisions
) -> None:
    server.say(Saying(body={"answers": [{"type": "predicate", "probability": 1.0}] * 2}))
    assert json.loads(outcome(model, nuggets()).text)["verdicts"][0]["label"] is None


def test_what_it_cannot_decide(server: LlmServer, model: OpenAIDecisions) -> None:
    rubric = rubric_named("liverag")
    result = outcome(model, rubric.request(dict.fromkeys(rubric.file.sees, "text")))
    assert isinstance(result, Fatal)
    assert "use openai:MODEL" in str(result)
    assert outcome(model, nuggets(tuple(map(str, range(401))))).status == ERROR
    assert server.requests == []
