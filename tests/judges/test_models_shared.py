"""What holds of each provider's SDK on a local server: broken replies, statuses, faults on the line, keys."""

from __future__ import annotations

import gzip
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from llm_server import (
    VERDICT,
    LlmServer,
    Saying,
    anthropic_error,
    anthropic_reply,
    openai_error,
    openai_reply,
)
from model_checks import ANTHROPIC_KEY, OPENAI_KEY, REQUEST, environment, outcome, outcomes
from rageval.errors import MissingPackage
from rageval.judges.base import ERROR, FILTERED, OK, Fatal, Transient
from rageval.judges.models import _direct, _remote, model_named
from rageval.judges.models._anthropic import AnthropicMessages
from rageval.judges.models._openai import OpenAIChat

pytestmark = pytest.mark.slow

pytest.importorskip("openai")
pytest.importorskip("anthropic")


@dataclass(frozen=True)
class Provider:
    """One provider: its model, the replies and errors of its API, and a key."""

    kind: Any
    reply: Callable[..., Any]
    error: Callable[..., Any]
    key: str

    @property
    def name(self) -> str:
        return "openai" if self.kind is OpenAIChat else "anthropic"

    @property
    def variable(self) -> str:
        return f"{self.name.upper()}_API_KEY"

    def text(self, text: str) -> Any:
        return self.reply(text if self.kind is OpenAIChat else {"type": "text", "text": text})


OPENAI = Provider(OpenAIChat, openai_reply, openai_error, OPENAI_KEY)
ANTHROPIC = Provider(AnthropicMessages, anthropic_reply, anthropic_error, ANTHROPIC_KEY)


@pytest.fixture(params=["openai", "aiohttp", "anthropic"])
def provider(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Provider:
    """Each provider; OpenAI's by the SDK alone, and where the extra `fast` is installed."""
    environment(monkeypatch, tmp_path)
    if request.param == "aiohttp":
        pytest.importorskip("aiohttp")
    else:
        monkeypatch.setattr(_direct, "find_spec", lambda name: None)
    return ANTHROPIC if request.param == "anthropic" else OPENAI


@pytest.fixture
def server() -> Iterator[LlmServer]:
    with LlmServer() as running:
        yield running


@pytest.fixture
def model(server: LlmServer, provider: Provider) -> Any:
    return provider.kind("m", getattr(server, provider.name), timeout=5)


@pytest.fixture
def home(server: LlmServer, provider: Provider, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A model at the address that the environment names, which gets the provider's key."""
    monkeypatch.setenv(f"{provider.name.upper()}_BASE_URL", getattr(server, provider.name))
    return provider.kind("m")


def shown(result: Any) -> str:
    return str(result) if isinstance(result, Exception) else str(result.detail)


def sent_keys(server: LlmServer) -> set[str]:
    """The keys that came in, by either header."""
    headers = server.requests[-1].headers
    return {
        headers[name].removeprefix("Bearer ") for name in ("authorization", "x-api-key") if name in headers
    }


def test_half_characters_do_not_stop_a_call(server: LlmServer, model: Any) -> None:
    assert outcome(model, replace(REQUEST, user="\ud800 and \x00", system="\udfff")).status == OK
    assert server.bodies[0]["messages"][-1]["content"] == "? and \x00"


BROKEN: list[Any] = [
    *("", "null", "[]", "{", "<html>gateway</html>", b"\xff\xfe\x00", "[" * 100_000, {}),
    *({"choices": value} for value in ([], None, [None], [{}], [{"message": None}])),
    {"choices": [{"message": {"content": 7}}]},
    {"choices": {"0": {"message": {"content": "x"}}}},
    {"error": {"message": "upstream is busy", "code": 502}},
    {"error": "upstream"},
    *({"content": value} for value in (None, VERDICT, [None], ["text"])),
    {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
]


@pytest.mark.parametrize("body", BROKEN, ids=lambda body: repr(body)[:30])
def test_a_broken_success_is_worth_another_try(server: LlmServer, model: Any, body: Any) -> None:
    server.say(Saying(body=body))
    failed, reply = outcomes(model, REQUEST, REQUEST)
    assert isinstance(failed, Transient)
    assert reply.text == VERDICT


@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 502, 503, 504, 520, 529])
def test_what_may_pass(server: LlmServer, provider: Provider, model: Any, status: int) -> None:
    server.say(Saying(status, provider.error("busy")))
    result = outcome(model)
    assert isinstance(result, Transient)
    assert (result.throttled, result.retry_after) == (status in (429, 529), None)
    assert f"{status}: busy" in str(result)


def test_a_page_for_people_is_no_reply(server: LlmServer, model: Any) -> None:
    page = "<html>\x1b[2J<h1>502 Bad Gateway</h1>" + "x" * 10_000
    server.say(Saying(502, page, headers={"content-type": "text/html"}))
    result = outcome(model)
    assert isinstance(result, Transient)
    assert "502 Bad Gateway" in str(result)
    assert "\x1b" not in str(result)
    assert len(str(result)) < 500


@pytest.mark.parametrize(
    ("status", "message", "way_out"),
    [
        (401, "invalid key", "the key was refused"),
        (402, "Insufficient credits", "no money"),
        (403, "not for you", "may not use this model"),
        (404, "The model `m` does not exist", "check the model's name"),
        (307, "", "redirects"),
    ],
)
def test_what_will_not_pass(
    server: LlmServer, provider: Provider, model: Any, status: int, message: str, way_out: str
) -> None:
    elsewhere = {"location": f"http://{server.host}/elsewhere"}
    server.say(Saying(status, provider.error(message), headers=elsewhere))
    result = outcome(model)
    assert isinstance(result, Fatal)
    assert way_out in str(result)
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("status", "message", "expected"),
    [
        (400, "Your input cannot be tokenised", ERROR),
        (413, "too much", ERROR),
        (418, "", ERROR),
        (400, "Output blocked by content filtering policy", FILTERED),
    ],
)
def test_what_concerns_one_request_only(
    server: LlmServer, provider: Provider, model: Any, status: int, message: str, expected: str
) -> None:
    server.say(Saying(status, provider.error(message)))
    result = outcome(model)
    assert result.status == expected
    assert message in result.detail


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        *(("1", 1.0), ("130", 130.0), ("0", 0.0), ("1.5", 1.5), ("-5", None), ("soon", None), ("", None)),
        *(("nan", None), ("inf", None), ("1000000000", 600.0), ("1e9", 600.0), ("9" * 400, None)),
        ("Mon, 01 Jan 2001 00:00:00 GMT", 0.0),
        ("Fri, 01 Jan 2100 00:00:00 GMT", 600.0),
        ("Mon, 99 Foo 2026 99:99:99 GMT", None),
    ],
)
@pytest.mark.parametrize("status", [429, 503])
def test_a_header_says_when_to_try_again(
    server: LlmServer, provider: Provider, model: Any, status: int, header: str, seconds: float | None
) -> None:
    server.say(Saying(status, provider.error("slow down"), headers={"retry-after": header}))
    result = outcome(model)
    assert result.retry_after == seconds
    assert result.throttled == (status == 429 or seconds is not None)
    assert len(server.requests) == 1, "nobody asked again"


@pytest.mark.parametrize(
    "fault",
    [
        *({"cut": 0}, {"cut": 30}, {"delay": 30}, {"drip": 0.01}),
        {"status": 500, "body": "x" * 5000, "drip": 0.01},
        {"body": "x", "headers": {"content-encoding": "gzip"}},
        {"body": gzip.compress(b"{}" * 99)[:40], "headers": {"content-encoding": "gzip"}},
    ],
    ids=["no answer", "cut", "slow", "dripping", "dripping error", "no gzip", "half a gzip"],
)
def test_faults_on_the_line(server: LlmServer, provider: Provider, fault: dict[str, Any]) -> None:
    model = provider.kind("m", getattr(server, provider.name), timeout=0.5)
    server.say(Saying(**{"body": provider.reply(), **fault}))
    started = time.perf_counter()
    failed, reply = outcomes(model, REQUEST, REQUEST)
    assert isinstance(failed, Transient)
    assert time.perf_counter() - started < 25, "nobody waited for all of it"
    assert reply.text == VERDICT


def test_nobody_listens(provider: Provider) -> None:
    with LlmServer() as stopped:
        pass
    model = provider.kind("m", getattr(stopped, provider.name), timeout=5)
    assert isinstance(outcome(model), Transient)


# Keys.


def test_an_address_has_a_key_of_its_own(
    server: LlmServer, model: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcome(model)
    assert sent_keys(server) == {"none"}
    monkeypatch.setenv(model.home.key_variable, "key-of-this-host")
    outcome(model)
    assert sent_keys(server) == {"key-of-this-host"}


def test_the_key_goes_where_the_environment_points(server: LlmServer, provider: Provider, home: Any) -> None:
    for model in (home, provider.kind("m", getattr(server, provider.name))):
        outcome(model)
        assert sent_keys(server) == {provider.key}


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 429, 500, 307])
def test_a_key_that_a_server_sends_back_is_hidden(
    server: LlmServer, provider: Provider, home: Any, status: int
) -> None:
    server.say(Saying(status, provider.error(f"bad key {provider.key}\x1b[2J")))
    result = outcome(home)  # looks for keys itself
    assert "***" in shown(result)
    assert "\x1b" not in shown(result)


def test_a_key_in_a_reply_is_hidden(server: LlmServer, provider: Provider, home: Any) -> None:
    body = {**provider.text(f"It is {provider.key}"), "model": provider.key}
    headers = dict.fromkeys(("x-request-id", "request-id"), provider.key)
    server.say(Saying(body=body, headers=headers))
    assert outcome(home).text == "It is ***"


@pytest.mark.parametrize("key", ["sk-ключ-0123456789", "two words", "line\nbreak-0123456789", None])
def test_without_what_can_be_a_key_nothing_is_sent_nor_shown(
    provider: Provider, key: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if key is None:
        monkeypatch.delenv(provider.variable)
    else:
        monkeypatch.setenv(provider.variable, key)
    result = outcome(provider.kind("m"))
    assert isinstance(result, Fatal)
    assert provider.variable in str(result)
    assert key is None or key not in str(result)


def test_without_the_sdk(provider: Provider, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_remote, "find_spec", lambda name: None)
    with pytest.raises(MissingPackage, match=rf"{provider.name}.*pip install 'rageval\[judges\]'"):
        model_named(f"{provider.name}:m")
