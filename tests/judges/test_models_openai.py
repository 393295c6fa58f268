"""Chat completions through the real SDK and a local server: what is sent, and what faults become."""

from __future__ import annotations

import asyncio
import shutil
import ssl
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from llm_server import VERDICT, Asked, LlmServer, Saying, openai_error, openai_reply, usual
from model_checks import OPENAI_KEY, REQUEST, environment, outcome, outcomes
from rageval.errors import UsageError
from rageval.judges.base import (
    ERROR,
    FILTERED,
    OK,
    REFUSED,
    TRUNCATED,
    Fatal,
    Reply,
    Unreachable,
    Usage,
)
from rageval.judges.models import _direct, is_remote, model_named
from rageval.judges.models._openai import OpenAIChat

pytestmark = pytest.mark.slow

pytest.importorskip("openai")


@pytest.fixture(autouse=True, params=["openai", "aiohttp"])
def _transport(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Every test twice: by the SDK alone, and where the extra `fast` is installed."""
    environment(monkeypatch, tmp_path)
    if request.param == "aiohttp":
        pytest.importorskip("aiohttp")
    else:
        monkeypatch.setattr(_direct, "find_spec", lambda name: None)


@pytest.fixture
def server() -> Iterator[LlmServer]:
    with LlmServer() as running:
        yield running


@pytest.fixture
def model(server: LlmServer) -> OpenAIChat:
    return OpenAIChat("m", server.openai, timeout=5)


def test_a_verdict_and_everything_that_was_said_about_it(server: LlmServer, model: OpenAIChat) -> None:
    reply = outcome(model)
    assert reply == Reply(
        OK,
        VERDICT,
        usage=Usage(input=100, output=20, cached=60, reasoning=5),
        served="served-model-1",
        request_id="req_1",
        latency=reply.latency,
        sent={"mode": "json_schema", "max_tokens": 1024, "temperature": 0.0},
    )
    assert reply.latency > 0
    assert (model.name, model.endpoint) == ("openai:m", server.openai)


def test_the_request_is_what_the_api_documents(server: LlmServer, model: OpenAIChat) -> None:
    outcome(model)
    assert server.requests[0].path == "/v1/chat/completions"
    assert server.bodies == [
        {
            "model": "m",
            "messages": [
                {"role": "system", "content": REQUEST.system},
                {"role": "user", "content": REQUEST.user},
            ],
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "verdict", "strict": True, "schema": REQUEST.schema},
            },
            "max_tokens": 1024,
            "temperature": 0.0,
        }
    ]


def test_no_temperature_is_sent_if_none_is_asked_for(server: LlmServer, model: OpenAIChat) -> None:
    reply = outcome(model, replace(REQUEST, temperature=None))
    assert "temperature" not in server.bodies[0]
    assert reply.dropped == ()


# What a model refuses is learnt once.


def without(*refused: str, message: str = "Unsupported parameter: '{}' is not supported") -> Any:
    """A server that refuses these parameters, or these types of response format."""

    def answer(asked: Asked) -> Saying:
        kind = asked.body.get("response_format", {}).get("type")
        for name in refused:
            if name in asked.body:
                return Saying(
                    400, openai_error(message.format(name), param=name, code="unsupported_parameter")
                )
            if name == kind:
                return Saying(400, openai_error(f"response_format {name} is not supported by this model"))
        return usual(asked)

    return answer


def test_schema_then_object_then_words(server: LlmServer, model: OpenAIChat) -> None:
    server.default = without("json_schema", "json_object")
    first, second = outcomes(model, REQUEST, REQUEST)
    kinds = [body.get("response_format", {}).get("type") for body in server.bodies]
    assert kinds == ["json_schema", "json_object", None, None]
    assert [first.sent["mode"], second.sent["mode"]] == ["text", "text"]
    assert '"enum": ["support", "none"]' in server.bodies[1]["messages"][0]["content"]
    assert server.bodies[2]["messages"][0]["content"].startswith(REQUEST.system)


def test_refused_parameters_are_dropped_and_recorded(server: LlmServer, model: OpenAIChat) -> None:
    server.default = without("temperature", "max_tokens", "max_completion_tokens")
    first, second = outcomes(model, REQUEST, REQUEST)
    assert first.dropped == second.dropped == ("max_tokens", "temperature")
    assert first.sent == {"mode": "json_schema"}
    assert len(server.requests) == 4 + 1


def test_the_other_name_of_the_limit_is_tried_first(server: LlmServer, model: OpenAIChat) -> None:
    server.default = without(
        "max_tokens", message="'{}' is not supported. Use 'max_completion_tokens' instead."
    )
    reply = outcome(model)
    assert reply.dropped == ()
    assert reply.sent["max_completion_tokens"] == 1024


@pytest.mark.parametrize(
    "message",
    [
        "Unsupported value: 'temperature' does not support 0.0 with this model. Only the default (1) value.",
        "temperature is deprecated for this model",
        "Extra inputs are not permitted: temperature",
        "Unknown parameter: temperature",
    ],
)
def test_refusals_in_many_words(server: LlmServer, model: OpenAIChat, message: str) -> None:
    server.say(Saying(400, openai_error(message)))
    assert outcome(model).dropped == ("temperature",)


def test_refusals_as_a_list_of_details(server: LlmServer, model: OpenAIChat) -> None:
    details = [
        {"loc": ["body", "response_format"], "msg": "Extra inputs are not permitted", "input": "temperature"}
    ]
    server.say(Saying(422, {"detail": details}))
    reply = outcome(model)
    assert (reply.sent["mode"], reply.dropped) == ("json_object", ())


@pytest.mark.parametrize("place", [5, 1.5, None, True, "body", {}, [None, {}]])
@pytest.mark.parametrize("status", [400, 422, 500])
def test_details_of_other_types(server: LlmServer, model: OpenAIChat, status: int, place: Any) -> None:
    server.default = lambda asked: Saying(status, {"detail": [{"loc": place, "msg": "no"}, None, 5]})
    found = outcome(model)
    assert "no" in (str(found) if isinstance(found, Exception) else found.detail)


def test_too_much_is_no_refusal_of_a_parameter(server: LlmServer, model: OpenAIChat) -> None:
    message = "'max_tokens' is too large: 1024. This model's maximum context length is 512 tokens"
    server.say(Saying(400, openai_error(message, param="max_tokens")))
    reply = outcome(model)
    assert (reply.status, len(server.requests)) == (ERROR, 1)
    assert "maximum context length" in reply.detail


def test_calls_at_the_same_time_learn_once_each(server: LlmServer, model: OpenAIChat) -> None:
    server.default = without("json_schema", "temperature")

    async def all_at_once() -> list[Reply]:
        replies = await asyncio.gather(*(model.ask(REQUEST) for _ in range(8)))
        await model.aclose()
        return replies

    replies = asyncio.run(all_at_once())
    assert {reply.sent["mode"] for reply in replies} == {"json_object"}
    assert {reply.dropped for reply in replies} == {("temperature",)}


# Answers that are no verdict.


@pytest.mark.parametrize(
    ("body", "status", "detail"),
    [
        (openai_reply(finish="length"), TRUNCATED, "length"),
        (openai_reply(finish="content_filter"), FILTERED, "content_filter"),
        (openai_reply(None, finish="content_filter"), FILTERED, "content_filter"),
        (openai_reply(None, refusal="I cannot\x1b[31m help."), REFUSED, "I cannot\\x1b[31m help."),
        (openai_reply("", refusal="No.", finish="length"), REFUSED, "No."),
        (openai_reply(finish="error"), ERROR, "error"),
        (openai_reply(finish=None), OK, ""),
        (openai_reply([{"type": "text", "text": VERDICT}]), OK, ""),
        (openai_reply(None), OK, ""),
        (openai_reply(""), OK, ""),
        ({**openai_reply(), "usage": None, "model": None, "id": None}, OK, ""),
        ({**openai_reply(), "usage": {"prompt_tokens": "many", "completion_tokens": -1}}, OK, ""),
    ],
)
def test_a_reply_is_read_with_its_status(
    server: LlmServer, model: OpenAIChat, body: Any, status: str, detail: str
) -> None:
    server.say(Saying(body=body))
    reply = outcome(model)
    assert reply.status == status
    assert detail in reply.detail


def test_an_error_inside_a_success_counts_as_the_error(server: LlmServer, model: OpenAIChat) -> None:
    server.say(
        Saying(body={"error": {"message": "slow down", "code": 429}}),
        Saying(body=openai_error("?", code=401)),
    )
    throttled, refused = outcomes(model, REQUEST, REQUEST)
    assert throttled.throttled
    assert isinstance(refused, Fatal)


# Statuses.


@pytest.mark.parametrize(
    ("status", "error", "way_out"),
    [
        (401, openai_error("Incorrect API key provided"), "RAGEVAL_API_KEY_127_0_0_1_"),
        (404, openai_error("The model `m` does not exist", code="model_not_found"), "check the model's name"),
        (400, openai_error("m is not a valid model ID", code="model_not_found"), "check the model's name"),
        (400, openai_error("API key not valid. Please pass a valid API key."), "the key was refused"),
        (429, openai_error("You exceeded your quota", code="insufficient_quota"), "no money"),
        (429, openai_error("You exceeded your quota", type="insufficient_quota"), "no money"),
        (405, "", "check the model's name"),
    ],
)
def test_what_will_not_pass(
    server: LlmServer, model: OpenAIChat, status: int, error: Any, way_out: str
) -> None:
    server.say(Saying(status, error))
    result = outcome(model)
    assert isinstance(result, Fatal)
    assert way_out in str(result)


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, openai_error("The response was filtered", code="content_filter")),
        (400, openai_error("Your request was flagged by our moderation system")),
        (
            403,
            {"error": {"code": 403, "message": "flagged", "metadata": {"reasons": ["violence"]}}},
        ),
    ],
)
def test_a_filtered_reply_is_not_asked_for_again(
    server: LlmServer, model: OpenAIChat, status: int, error: Any
) -> None:
    server.say(Saying(status, error))
    result = outcome(model)
    assert result.status == FILTERED
    assert str(status) in result.detail
    assert result.sent["mode"] == "json_schema"


def test_an_address_without_a_version_is_the_usual_mistake(server: LlmServer) -> None:
    server.say(Saying(404, "not found"))
    assert "ends in /v1" in str(outcome(OpenAIChat("m", f"http://{server.host}")))


# Connections.


def test_each_loop_has_its_own_client(model: OpenAIChat) -> None:
    for _ in range(3):
        assert outcome(model).status == OK


def test_many_calls_at_once_go_by_several_clients_of_the_sdk(
    server: LlmServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    import openai

    clients: list[openai.AsyncOpenAI] = []

    class Counted(openai.AsyncOpenAI):
        def __init__(self, **options: Any) -> None:
            super().__init__(**options)
            clients.append(self)

    monkeypatch.setattr(openai, "AsyncOpenAI", Counted)
    monkeypatch.setattr(_direct, "find_spec", lambda name: None)
    model = OpenAIChat("m", server.openai, timeout=30)

    async def ask(count: int) -> set[str]:
        return {reply.status for reply in await asyncio.gather(*(model.ask(REQUEST) for _ in range(count)))}

    async def job() -> set[str]:
        replies = await ask(40) | await ask(1) | await ask(40)
        await model.aclose()
        return replies

    assert asyncio.run(job()) == {OK}
    assert len(clients) == 3  # of 16 calls each, and used again
    assert all(client.is_closed() for client in clients)


# Keys.


def sent_key(server: LlmServer) -> str:
    return server.requests[-1].headers["authorization"]


def test_the_key_of_the_provider_goes_to_no_address_of_a_spec(
    server: LlmServer, model: OpenAIChat, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", f"Authorization: Bearer {OPENAI_KEY}\nX-Team: secret-team")
    monkeypatch.setenv("OPENAI_ORG_ID", "org-secret")
    monkeypatch.setenv("OPENAI_ADMIN_KEY", OPENAI_KEY)
    outcome(model)
    headers = server.requests[0].headers
    assert headers["authorization"] == "Bearer none"
    assert not any(word in repr(headers) for word in (OPENAI_KEY, "secret"))


def test_a_variable_named_by_the_user(server: LlmServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "mine-0123456789")
    outcome(OpenAIChat("m", server.openai, key_from="MY_KEY"))
    assert sent_key(server) == "Bearer mine-0123456789"
    unset = outcome(OpenAIChat("m", server.openai, key_from="NO_SUCH_VARIABLE"))
    assert isinstance(unset, Fatal)
    assert "NO_SUCH_VARIABLE" in str(unset)


def test_the_key_goes_where_the_environment_points(
    server: LlmServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", server.openai + "/")
    for model in (OpenAIChat("m"), OpenAIChat("m", server.openai)):
        assert model.endpoint == server.openai
        reply = outcome(model)
        assert sent_key(server) == f"Bearer {OPENAI_KEY}"
        assert reply.sent["max_completion_tokens"] == 1024


@pytest.mark.parametrize(
    ("url", "variable"),
    [
        (None, "OPENAI_API_KEY"),
        ("https://api.openai.com/v1", "OPENAI_API_KEY"),
        ("https://API.openai.com:443/v1", "OPENAI_API_KEY"),
        ("https://eu.api.openai.com/v1", "OPENAI_API_KEY"),
        ("http://api.openai.com/v1", "RAGEVAL_API_KEY_API_OPENAI_COM_80"),
        ("https://api.openai.com.evil.example/v1", "RAGEVAL_API_KEY_API_OPENAI_COM_EVIL_EXAMPLE"),
        ("https://evilapi.openai.com.x/v1", "RAGEVAL_API_KEY_EVILAPI_OPENAI_COM_X"),
        ("https://openrouter.ai/api/v1", "RAGEVAL_API_KEY_OPENROUTER_AI"),
        ("https://openrouter-ai/api/v1", "RAGEVAL_API_KEY_OPENROUTER__AI"),
        ("http://[::1]:8000/v1", "RAGEVAL_API_KEY___1_8000"),
    ],
)
def test_which_variable_holds_the_key(url: str | None, variable: str) -> None:
    assert OpenAIChat("m", url).home.key_variable == variable


# Names.


@pytest.mark.parametrize(
    ("spec", "model", "endpoint"),
    [
        ("openai:gpt-x", "gpt-x", "https://api.openai.com/v1"),
        ("OpenAI:gpt-x", "gpt-x", "https://api.openai.com/v1"),
        ("openai:llama3:8b@http://LocalHost:8000/v1/", "llama3:8b", "http://localhost:8000/v1"),
        ("openai:@cf/meta/llama@https://h.example/v1", "@cf/meta/llama", "https://h.example/v1"),
    ],
)
def test_a_spec_names_model_and_endpoint(spec: str, model: str, endpoint: str) -> None:
    built = model_named(spec, timeout=9)
    assert isinstance(built, OpenAIChat)
    assert (built.model, built.endpoint, built.timeout) == (model, endpoint, 9.0)
    assert built.name == f"openai:{model}"


@pytest.mark.parametrize(
    "spec",
    [
        *("openai:", "openai:m@localhost:8000/v1", "openai:m@10.0.0.1", "openai:m@host.example/v1"),
        *("openai:m@http://", "openai:m@http://user:pass-word@host/v1"),
        *("openai:m@http://host/v1?key=pass-word", "openai:m@http://host:99999999/v1"),
        *("openai:m@http://ho st/v1", "openai:m@http://[::1/v1"),
    ],
)
def test_specs_that_name_no_address(spec: str) -> None:
    with pytest.raises(UsageError) as caught:
        model_named(spec)
    assert "expected" in str(caught.value)
    assert "pass-word" not in str(caught.value)


def test_a_timeout_that_is_none() -> None:
    with pytest.raises(UsageError, match="more than 0"):
        OpenAIChat("m", timeout=float("nan"))


@pytest.mark.parametrize(
    ("spec", "name", "address"),
    [
        ("ollama:llama3", "ollama:llama3", "http://127.0.0.1:11434/v1"),
        ("vllm:org/model", "vllm:org/model", "http://127.0.0.1:8000/v1"),
        ("ollama:llama3:8b@http://box:11434/v1", "ollama:llama3:8b", "http://box:11434/v1"),
    ],
)
def test_servers_of_this_machine_have_short_names(spec: str, name: str, address: str) -> None:
    model = model_named(spec)
    assert (model.name, model.endpoint) == (name, address)
    assert is_remote(spec)


# Where the SDK is not needed.


@pytest.mark.parametrize(
    ("url", "environment", "direct"),
    [
        ("http://box:8000/v1", {}, True),
        ("http://box:8000/v1", {"OPENAI_BASE_URL": "http://box:8000/v1"}, False),
        ("https://api.openai.com/v1", {}, False),
        ("http://box:8000/v1", {"HTTP_PROXY": "http://proxy:3128"}, False),
        ("http://box:8000/v1", {"ALL_PROXY": "socks5://proxy:1080"}, False),
        ("http://box:8000/v1", {"HTTP_PROXY": "http://proxy:3128", "NO_PROXY": "box"}, True),
    ],
)
def test_the_sdk_asks_its_inventor_and_through_proxies(
    url: str, environment: dict[str, str], direct: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(_direct, "find_spec", lambda name: object())
    assert (OpenAIChat("m", url)._direct is not None) is direct


def test_only_a_certificate_that_is_trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if (openssl := shutil.which("openssl")) is None:
        pytest.skip("no openssl here")
    request = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "key.pem", "-out", "cert.pem"]
    about = ["-days", "2", "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run([openssl, *request, *about], cwd=tmp_path, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "cert.pem", tmp_path / "key.pem")
    with LlmServer() as server:
        server._http.socket = context.wrap_socket(server._http.socket, server_side=True)
        model = OpenAIChat("m", server.openai.replace("http:", "https:"), timeout=5)
        refused = outcome(model)
        assert isinstance(refused, Unreachable)
        assert "self-signed certificate" in str(refused)
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "cert.pem"))
        accepted = outcome(model)
        assert isinstance(accepted, Reply), accepted
        assert accepted.status == OK
