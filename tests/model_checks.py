"""Asking a model behind the SDKs in a test, and making sure that no key comes back out of it."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Awaitable
from pathlib import Path
from typing import Any

import pytest

from rageval.judges.base import Fatal, Reply, Request, Transient
from rageval.judges.models._remote import RemoteModel

OPENAI_KEY = "sk-openai-0123456789-not-a-key"
ANTHROPIC_KEY = "sk-ant-0123456789-not-a-key"
TOKEN = "anthropic-token-0123456789"
KEYS = (OPENAI_KEY, ANTHROPIC_KEY, TOKEN)
SCHEMA = {
    "type": "object",
    "properties": {
        "label": {"type": "string", "enum": ["support", "none"]},
        "n": {"type": "integer", "minimum": 0},
    },
    "required": ["label", "n"],
    "additionalProperties": False,
}
REQUEST = Request("Judge what is between the fences.", "The Eiffel tower is in Paris.", SCHEMA)
Outcome = Reply | Fatal | Transient


def environment(patch: pytest.MonkeyPatch, home: Path) -> None:
    """Keys that are none, and nothing of the machine's own set-up."""
    for name in (
        "OPENAI_BASE_URL",
        "ANTHROPIC_BASE_URL",
        "OPENAI_CUSTOM_HEADERS",
        "ANTHROPIC_CUSTOM_HEADERS",
    ):
        patch.delenv(name, raising=False)
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        patch.delenv(name, raising=False)
    patch.setenv("ANTHROPIC_CONFIG_DIR", str(home))
    patch.setenv("OPENAI_API_KEY", OPENAI_KEY)
    patch.setenv("ANTHROPIC_API_KEY", ANTHROPIC_KEY)


def in_a_loop(model: RemoteModel, work: Awaitable[Any]) -> Any:
    """What comes of work with a model, our two errors being an outcome, in a loop of its own."""

    async def worked() -> Any:
        try:
            return await work
        except (Fatal, Transient) as error:
            return error
        finally:
            await model.aclose()

    result = asyncio.run(worked())
    assert_no_key(model, result)
    return result


def outcomes(model: RemoteModel, *requests: Request) -> list[Outcome]:
    """What comes of requests, one by one in one loop; anything but a reply and our two errors fails."""

    async def asked() -> list[Outcome]:
        try:
            return [await _outcome(model, request) for request in requests or (REQUEST,)]
        finally:
            await model.aclose()

    result = asyncio.run(asked())
    for outcome in result:
        assert_no_key(model, outcome)
    return result


def outcome(model: RemoteModel, request: Request = REQUEST) -> Any:
    """What comes of one request."""
    return outcomes(model, request)[0]


async def _outcome(model: RemoteModel, request: Request) -> Outcome:
    try:
        return await model.ask(request)
    except (Fatal, Transient) as error:
        return error


def assert_no_key(model: RemoteModel, value: object) -> None:
    """No key in the reply, the error with all that led to it, or the model."""
    shown = [repr(value), repr(model), repr({**vars(model), "_clients": None}), model.name, model.endpoint]
    if isinstance(value, Exception):
        shown += traceback.format_exception(value)
        assert value.__context__ is None, "a cause would carry the SDK's request with its headers"
    for text in shown:
        assert not any(key in text for key in KEYS)
