"""Messages through the real SDK and a local server: what is sent, and what faults become."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from llm_server import VERDICT, Asked, LlmServer, Saying, anthropic_error, anthropic_reply, usual
from model_checks import ANTHROPIC_KEY, REQUEST, TOKEN, environment, outcome, outcomes
from rageval.errors import MissingPackage
from rageval.judges.base import ERROR, FILTERED, OK, REFUSED, TRUNCATED, Fatal, Reply, Transient, Usage
from rageval.judges.models import _anthropic, _remote, model_named
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


def test_half_characters_do_not_stop_a_call(server: LlmServer, model: AnthropicMessages) -> None:
    assert outcome(model, replace(REQUEST, user="\ud800", system="\udfff")).status == OK
    assert server.bodies[0]["messages"][0]["content"] == "?"


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


BROKEN: list[Any] = [
    "",
    "null",
    "{",
    "<html>",
    b"\xff",
    "[" * 100_000,
    {},
    {"content": None},
    {"content": VERDICT},
    {"content": [None]},
    {"content": ["text"]},
    {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
]


@pytest.mark.parametrize("body", BROKEN, ids=lambda body: repr(body)[:30])
def test_a_broken_success_is_worth_another_try(
    server: LlmServer, model: AnthropicMessages, body: Any
) -> None:
    server.say(Saying(body=body))
    failed, reply = outcomes(model, REQUEST, REQUEST)
    assert isinstance(failed, Transient)
    assert reply.text == VERDICT


# Statuses.


@pytest.mark.parametrize(
    ("status", "type", "throttled"),
    [
        (408, "timeout_error", False),
        (409, "conflict", False),
        (429, "rate_limit_error", True),
        (500, "api_error", False),
        (502, "api_error", False),
        (503, "api_error", False),
        (504, "timeout_error", False),
        (529, "overloaded_error", True),
    ],
)
def test_what_may_pass(
    server: LlmServer, model: AnthropicMessages, status: int, type: str, throttled: bool
) -> None:
    server.say(Saying(status, anthropic_error("busy", type)))
    result = outcome(model)
    assert isinstance(result, Transient)
    assert (result.throttled, result.retry_after) == (throttled, None)


def test_a_page_for_people_is_no_reply(server: LlmServer, model: AnthropicMessages) -> None:
    server.say(Saying(502, "<html><h1>Bad Gateway</h1>", headers={"content-type": "text/html"}))
    result = outcome(model)
    assert isinstance(result, Transient)
    assert "Bad Gateway" in str(result)


@pytest.mark.parametrize(
    ("header", "seconds"), [("1", 1.0), ("130", 130.0), ("-1", None), ("1e9", 600.0), ("never", None)]
)
@pytest.mark.parametrize("status", [429, 503, 529])
def test_a_header_says_when_to_try_again(
    server: LlmServer, model: AnthropicMessages, status: int, header: str, seconds: float | None
) -> None:
    server.say(Saying(status, anthropic_error("busy"), headers={"retry-after": header}))
    result = outcome(model)
    assert result.retry_after == seconds
    assert result.throttled == (status != 503 or seconds is not None)


@pytest.mark.parametrize(
    ("status", "error", "way_out"),
    [
        (401, anthropic_error("invalid x-api-key", "authentication_error"), "the key was refused"),
        (402, anthropic_error("pay", "billing_error"), "no money"),
        (400, anthropic_error("Your credit balance is too low to access the API."), "no money"),
        (400, anthropic_error("You have reached your specified API usage limits."), "no money"),
        (403, anthropic_error("no", "permission_error"), "may not use this model"),
        (404, anthropic_error("model: m", "not_found_error"), "check the model's name"),
        (301, "", "redirects"),
    ],
)
def test_what_will_not_pass(
    server: LlmServer, model: AnthropicMessages, status: int, error: Any, way_out: str
) -> None:
    server.say(Saying(status, error, headers={"location": f"http://{server.host}/elsewhere"}))
    result = outcome(model)
    assert isinstance(result, Fatal)
    assert way_out in str(result)
    assert "ends in /v1" not in str(result)
    assert len(server.requests) == 1


@pytest.mark.parametrize("status", [400, 413, 418])
def test_what_concerns_one_request_only(server: LlmServer, model: AnthropicMessages, status: int) -> None:
    server.say(Saying(status, anthropic_error("prompt is too long: 250000 tokens > 200000 maximum")))
    result = outcome(model)
    assert result.status == ERROR
    assert "prompt is too long" in result.detail


def test_a_filtered_reply_is_not_asked_for_again(server: LlmServer, model: AnthropicMessages) -> None:
    server.say(Saying(400, anthropic_error("Output blocked by content filtering policy")))
    assert outcome(model).status == FILTERED


# Connections.


@pytest.mark.parametrize(
    "saying",
    [
        Saying(cut=0),
        Saying(body=anthropic_reply(), cut=30),
        Saying(body="x", headers={"content-encoding": "gzip"}),
        Saying(body=anthropic_reply(), delay=30),
        Saying(body=anthropic_reply(), drip=0.01),
        Saying(529, "x" * 5000, drip=0.01),
    ],
    ids=["no answer", "cut", "no gzip", "slow", "dripping", "dripping error"],
)
def test_faults_on_the_line(server: LlmServer, saying: Saying) -> None:
    model = AnthropicMessages("m", server.anthropic, timeout=1)
    server.say(saying)
    started = time.perf_counter()
    failed, reply = outcomes(model, REQUEST, REQUEST)
    assert isinstance(failed, Transient)
    assert time.perf_counter() - started < 25, "nobody waited for all of it"
    assert reply.text == VERDICT


def test_nobody_listens() -> None:
    with LlmServer() as stopped:
        pass
    assert isinstance(outcome(AnthropicMessages("m", stopped.anthropic, timeout=5)), Transient)


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


def test_an_address_has_a_key_of_its_own(
    server: LlmServer, model: AnthropicMessages, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(model.home.key_variable, "key-of-this-host")
    outcome(model)
    assert credentials(server) == {"key-of-this-host"}


def test_the_key_goes_where_the_environment_points(
    server: LlmServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", server.anthropic)
    outcome(AnthropicMessages("m"))
    assert credentials(server) == {ANTHROPIC_KEY}


def test_the_sdk_may_find_a_key_of_its_own(server: LlmServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", server.anthropic)
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", TOKEN)
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    server.say(Saying(401, anthropic_error(f"bad token {TOKEN}")))
    refused, reply = outcomes(AnthropicMessages("m"), REQUEST, REQUEST)
    assert credentials(server) == {TOKEN}
    assert reply.status == OK
    assert isinstance(refused, Fatal)


def test_without_a_key_nothing_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    result = outcome(AnthropicMessages("m"))
    assert isinstance(result, Fatal)
    assert "ANTHROPIC_API_KEY" in str(result)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 429, 529])
def test_a_key_that_a_server_sends_back_is_hidden(
    server: LlmServer, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", server.anthropic)
    server.say(Saying(status, anthropic_error(f"bad key {ANTHROPIC_KEY}")))
    result = outcome(AnthropicMessages("m"))  # looks for keys itself
    assert "***" in (str(result) if isinstance(result, Exception) else result.detail)


def test_a_key_in_a_reply_is_hidden(server: LlmServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", server.anthropic)
    reply = anthropic_reply({"type": "text", "text": f"It is {ANTHROPIC_KEY}"})
    server.say(Saying(body={**reply, "model": ANTHROPIC_KEY}, headers={"request-id": ANTHROPIC_KEY}))
    assert outcome(AnthropicMessages("m")).text == "It is ***"


@pytest.mark.parametrize("key", ["sk-ключ-0123456789", "two words", "line\nbreak-0123456789"])
def test_what_cannot_be_a_key_is_not_sent_nor_shown(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", key)
    result = outcome(AnthropicMessages("m"))
    assert isinstance(result, Fatal)
    assert key not in str(result)


# Names.


def test_a_spec_names_model_and_endpoint(server: LlmServer) -> None:
    own, other = model_named("anthropic:claude-x"), model_named(f"anthropic:claude@1@{server.anthropic}")
    assert (own.name, own.endpoint) == ("anthropic:claude-x", "https://api.anthropic.com")
    assert (other.name, other.endpoint) == ("anthropic:claude@1", server.anthropic)


def test_without_the_sdk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_remote, "find_spec", lambda name: None)
    with pytest.raises(MissingPackage, match="anthropic"):
        model_named("anthropic:m")
