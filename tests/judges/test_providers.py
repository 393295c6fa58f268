"""Every provider can be asked, with its SDK, its address, its key and its headers."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import replace
from importlib.machinery import ModuleSpec
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import pytest

from rageval.judges.models import is_remote, model_named
from rageval.judges.models._openai import OpenAIChat
from rageval.judges.models.providers import OPENAI, PROVIDERS, Provider

SECRET = "secret-of-the-test"


class FakeClient:
    """What an SDK's client was made with."""

    def __init__(self, **given: Any) -> None:
        self.given = given


@pytest.fixture(autouse=True)
def fake_sdks(monkeypatch: pytest.MonkeyPatch) -> None:
    """SDKs that keep what their clients are made with, and no variable of this machine's."""
    for provider in PROVIDERS.values():
        error = type(provider.sdk_error, (Exception,), {})
        sdk = SimpleNamespace(
            AsyncOpenAI=FakeClient,
            AsyncAnthropic=FakeClient,
            Timeout=lambda *_, **__: None,
            DefaultAsyncHttpxClient=FakeClient,
            APIConnectionError=error,
            __spec__=ModuleSpec(provider.sdk, None),
        )
        monkeypatch.setitem(sys.modules, provider.sdk, sdk)
        setattr(sdk, provider.sdk_error, error)
        for name in filter(None, (provider.key_variable, provider.url_variable)):
            monkeypatch.delenv(name, raising=False)


def client_of(model: Any) -> dict[str, Any]:
    """What the client of a model is made with."""
    client: FakeClient = model._create_client(sys.modules[model.provider.sdk])
    return client.given


@pytest.mark.parametrize("provider", PROVIDERS.values(), ids=lambda provider: provider.name)
def test_every_provider_is_asked_at_its_address_with_its_key(
    provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    if provider.key_variable:
        monkeypatch.setenv(provider.key_variable, SECRET)
    model: Any = model_named(f"{provider.name}:small")
    given = client_of(model)
    assert (model.name, model.provider) == (f"{provider.name}:small", provider)
    assert provider.endpoint.startswith(given["base_url"])
    key = SECRET if provider.key_variable else "none"
    assert given["api_key"] == key, f"{provider.name} gets no key at its own address: see `host`"
    assert is_remote(model.name)


def test_a_row_is_all_that_a_provider_with_a_header_of_its_own_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    other = replace(
        OPENAI,
        name="mistral",
        endpoint="https://api.mistral.example/v1",
        host="api.mistral.example",
        key_variable="MISTRAL_KEY",
        url_variable="",
        headers={"x-key": "{key}", "x-app": "rageval"},
    )
    monkeypatch.setitem(PROVIDERS, "mistral", other)
    monkeypatch.setenv("MISTRAL_KEY", SECRET)
    given = client_of(model_named("mistral:large"))
    assert given["default_headers"] == {"x-key": SECRET, "x-app": "rageval"}
    assert (given["base_url"], given["api_key"]) == (other.endpoint, SECRET)


def test_headers_of_a_provider_reach_a_server_of_another_host_with_its_key(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("RAGEVAL_API_KEY_PROXY_EXAMPLE", "key-of-the-proxy")
    other = replace(OPENAI, headers={"x-key": "{key}"})
    given = client_of(OpenAIChat("small", "https://proxy.example/v1", provider=other))
    assert given["default_headers"] == {"x-key": "key-of-the-proxy"}
    (strip,) = given["http_client"].given["event_hooks"]["request"]
    request = SimpleNamespace(headers={"x-key": "key-of-the-proxy", "OpenAI-Project": "mine"})
    asyncio.run(strip(request))
    assert request.headers == {"x-key": "key-of-the-proxy"}


@pytest.mark.parametrize("provider", PROVIDERS.values(), ids=lambda provider: provider.name)
def test_no_key_can_go_to_another_providers_address(provider: Provider) -> None:
    """A row made of another one's keeps what it does not replace."""
    if provider.host:
        host = urlsplit(provider.endpoint).hostname
        assert host == provider.host, (
            f"{provider.name}: `host` is {provider.host}, but `endpoint` is at {host}"
        )
    for other in PROVIDERS.values():
        theirs = {other.url_variable, other.key_variable} - {""}
        shared = ", ".join(theirs & {provider.url_variable, provider.key_variable})
        has_own = not shared or provider.host == other.host
        assert has_own, f"{provider.name}: {shared} is {other.name}'s; name one of its own, or none"
