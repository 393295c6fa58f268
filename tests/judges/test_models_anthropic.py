"""Messages through the real SDK and a local server: what is sent, and what faults become."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from llm_server import VERDICT, Asked, LlmServer, Saying, anthropic_error, anthropic_reply, usual
from model_checks import ANTHROPIC_KEY, REQUEST, TOKEN, environment, outcome, outcomes
from rageval.judges.base import ERROR, OK, REFUSED, TRUNCATED, Fatal, Reply, Usage
from rageval.judges.models import _anthropic, model_named
from rageval.judges.models._anthropic import AnthropicMessages

pytestmark = pytest.mark.slow

pytest.importorskip("anthropic")
SDK_TAKES = _anthropic._taken_by_sdk
TEXT = {"type": "text", "text": VERDICT}
THINKING = {"type": "thinking", "thinking": '{"label": "none"}', "signature": "s"}


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    environment(monkeypatch, tmp_path)


@pytest.fixture
def server() -> Iterator[LlmServer]:
    with LlmServer() as running:
        yield running


@pytest.fixture
def model(server: LlmServer) -> AnthropicMessages:
    return AnthropicMessages("m", server.anthropic, timeout=5)


@pytest.fixture
def untempered(monkeypatch: pytest.MonkeyPatch) -> None:
    """An SDK without temperature, as from 1.0 on."""
    monkeypatch.setattr(_anthropic, "_taken_by_sdk", lambda: SDK_TAKES() - {"temperature"})


@pytest.mark.usefixtures("untempered")
def test_a_verdict_and_everything_that_was_said_about_it(server: LlmServer, model: AnthropicMessages) -> None:
    reply = outcome(model)
    assert reply == Reply(
        OK,
        VERDICT,
        usage=Usage(input=100, output=20, cached=60),
        served="served-model-1",
        request_id="req_1",
        latency=reply.latency,
        sent={"mode": "json_schema", "max_tokens": 1024, "cache_control": "ephemeral"},
        dropped=("temperature",),
    )
    assert reply.latency > 0


@pytest.mark.usefixtures("untempered")
def test_the_request_is_what_the_api_documents(server: LlmServer, model: AnthropicMessages) -> None:
    outcome(model)
    assert server.requests[0].path == "/v1/messages"
    assert server.requests[0].headers["anthropic-version"]
    (body,) = server.bodies
    schema = body.pop("output_config")["format"]["schema"]
    assert body == {
        "model": "m",
        "max_tokens": 1024,
        "system": [{"type": "text", "text": REQUEST.system, "cache_control": {"type": "ephemeral"}}],
        "messages": [{"role": "user", "content": REQUEST.user}],
    }
    assert schema["properties"]["n"] == {"type": "integer"}
    assert schema["properties"]["label"] == REQUEST.schema["properties"]["label"]


def test_a_version_in_the_address_is_not_doubled(server: LlmServer) -> None:
    model = AnthropicMessages("m", server.anthropic + "/v1/")
    assert outcome(model).status == OK
    assert server.requests[0].path == "/v1/messages"
    assert model.endpoint == server.anthropic
    assert AnthropicMessages("m", server.anthropic + "/gateway/v1").endpoint.endswith("/gateway")


def test_temperature_is_sent_where_the_sdk_takes_it(server: LlmServer, model: AnthropicMessages) -> None:
    reply = outcome(model)
    assert ("temperature" in server.bodies[0]) == ("temperature" in SDK_TAKES())
    assert ("temperature" in reply.dropped) != ("temperature" in SDK_TAKES())


def test_no_system_no_block(server: LlmServer, model: AnthropicMessages) -> None:
    outcome(model, replace(REQUEST, system="", temperature=None))
    assert "system" not in server.bodies[0]


# What a model refuses is learnt once.


def without(*refused: str) -> Any:
    """A server that refuses these parameters."""

    def answer(asked: Asked) -> Saying:
        for name in refused:
            if name in asked.body:
                return Saying(400, anthropic_error(f"{name}: Extra inputs are not permitted"))
        if "tools" in asked.body:
            used = {"type": "tool_use", "id": "t", "name": "verdict", "input": {"label": "support"}}
            return Saying(body=anthropic_reply(THINKING, TEXT, used, stop="tool_use"))
        return usual(asked)

    return answer


def test_schema_then_tool(server: LlmServer, model: AnthropicMessages) -> None:
    server.default = without("output_config")
    first, second = outcomes(model, REQUEST, REQUEST)
    assert len(server.requests) == 3
    assert server.bodies[1]["tool_choice"] == {"type": "tool", "name": "verdict"}
    assert server.bodies[1]["tools"][0]["input_schema"] == REQUEST.schema
    assert json.loads(first.text) == json.loads(second.text) == {"label": "support"}
    assert first.sent["mode"] == "tool"


def test_then_words(server: LlmServer, model: AnthropicMessages) -> None:
    server.default = without("output_config", "tool_choice")
    first, second = outcomes(model, REQUEST, REQUEST)
    assert len(server.requests) == 4
    assert '"minimum": 0' in server.bodies[2]["system"][0]["text"]
    assert (first.text, first.sent["mode"]) == (second.text, second.sent["mode"]) == (VERDICT, "text")


def test_a_cache_that_is_refused_is_recorded(server: LlmServer, model: AnthropicMessages) -> None:
    server.say(Saying(400, anthropic_error("system.0.cache_control: Extra inputs are not permitted")))
    reply = outcome(model)
    assert "cache_control" in reply.dropped
    assert server.bodies[1]["system"] == REQUEST.system


def test_a_temperature_that_is_refused_is_recorded(
    server: LlmServer, model: AnthropicMessages, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_anthropic, "_taken_by_sdk", lambda: frozenset({"temperature"}))
    monkeypatch.setattr(AnthropicMessages, "_create", _with_any_argument)
    server.default = without("temperature")
    assert outcome(model).dropped == ("temperature",)
    assert len(server.requests) == 2


async def _with_any_argument(self: AnthropicMessages, client: Any, arguments: dict[str, Any]) -> Any:
    rest = {key: arguments[key] for key in set(arguments) & {"temperature"}}
    declared = {key: arguments[key] for key in set(arguments) - set(rest)}
    return await client.messages.with_raw_response.create(**declared, extra_body=rest)


def test_a_tool_used_twice_is_not_read_as_one_verdict(server: LlmServer, model: AnthropicMessages) -> None:
    used = [{"type": "tool_use", "id": i, "name": "verdict", "input": {"label": i}} for i in "ab"]
    server.say(Saying(body=anthropic_reply(*used)))
    with pytest.raises(ValueError, match="Extra data"):
        json.loads(outcome(model).text)


# Answers that are no verdict.


@pytest.mark.parametrize(
    ("body", "status", "text", "detail"),
    [
        (anthropic_reply(stop="max_tokens"), TRUNCATED, VERDICT, "max_tokens"),
        (anthropic_reply(stop="model_context_window_exceeded"), TRUNCATED, VERDICT, "window"),
        ({**anthropic_reply(stop="refusal"), "content": []}, REFUSED, "", "refusal"),
        (
            anthropic_reply(stop="refusal", stop_details={"explanation": "No.\x07"}),
            REFUSED,
            VERDICT,
            "No.\\x07",
        ),
        (anthropic_reply(stop="pause_turn"), ERROR, VERDICT, "pause_turn"),
        (anthropic_reply(THINKING, TEXT), OK, VERDICT, ""),
        (anthropic_reply(THINKING), OK, "", ""),
        (anthropic_reply({"type": "text", "text": ""}), OK, "", ""),
        ({**anthropic_reply(), "content": []}, OK, "", ""),
        (anthropic_reply({"type": "text", "text": "{"}, {"type": "text", "text": "}"}), OK, "{}", ""),
        (anthropic_reply({"type": "of the future"}, TEXT), OK, VERDICT, ""),
        ({**anthropic_reply(), "usage": None, "stop_reason": None}, OK, VERDICT, ""),
        ({**anthropic_reply(), "usage": {"input_tokens": None, "output_tokens": "x"}}, OK, VERDICT, ""),
    ],
)
def test_a_reply_is_read_with_its_status(
    server: LlmServer, model: AnthropicMessages, body: Any, status: str, text: str, detail: str
) -> None:
    server.say(Saying(body=body))
    reply = outcome(model)
    assert (reply.status, reply.text) == (status, text)
    assert detail in reply.detail


# Statuses.


@pytest.mark.parametrize(
    ("status", "error", "way_out"),
    [
        (400, anthropic_error("Your credit balance is too low to access the API."), "no money"),
        (400, anthropic_error("You have reached your specified API usage limits."), "no money"),
        (404, anthropic_error("model: m", "not_found_error"), "check the model's name"),
    ],
)
def test_what_will_not_pass(
    server: LlmServer, model: AnthropicMessages, status: int, error: Any, way_out: str
) -> None:
    server.say(Saying(status, error))
    result = outcome(model)
    assert isinstance(result, Fatal)
    assert way_out in str(result)
    assert "ends in /v1" not in str(result)


# Connections.


# Keys.


def credentials(server: LlmServer) -> set[str]:
    """The keys that came in, by either header: older SDKs use the second."""
    headers = server.requests[-1].headers
    return {
        headers[name].removeprefix("Bearer ") for name in ("authorization", "x-api-key") if name in headers
    }


def test_the_key_of_the_provider_goes_to_no_address_of_a_spec(
    server: LlmServer, model: AnthropicMessages, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", TOKEN)
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", f"Authorization: Bearer {TOKEN}\nX-Team: secret-team")
    outcome(model)
    assert credentials(server) == {"none"}
    assert not any(word in repr(server.requests[0].headers) for word in (ANTHROPIC_KEY, TOKEN, "secret"))


def test_the_sdk_may_find_a_key_of_its_own(server: LlmServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", server.anthropic)
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", TOKEN)
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    server.say(Saying(401, anthropic_error(f"bad token {TOKEN}")))
    refused, reply = outcomes(AnthropicMessages("m"), REQUEST, REQUEST)
    assert credentials(server) == {TOKEN}
    assert reply.status == OK
    assert isinstance(refused, Fatal)


# Names.


def test_a_spec_names_model_and_endpoint(server: LlmServer) -> None:
    own, other = model_named("anthropic:claude-x"), model_named(f"anthropic:claude@1@{server.anthropic}")
    assert (own.name, own.endpoint) == ("anthropic:claude-x", "https://api.anthropic.com")
    assert (other.name, other.endpoint) == ("anthropic:claude@1", server.anthropic)
