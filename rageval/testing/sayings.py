"""What a server is told to say, and what it was asked."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from rageval.testing.bodies import anthropic_reply, openai_decision, openai_error, openai_reply


@dataclass(frozen=True)
class Saying:
    """One answer: `body` as text, bytes, or an object to send as JSON.

    `delay` seconds pass before it; with `drip` they pass after each byte; `cut` bytes are sent before the
    connection is cut, 0 for none at all. With `raw`, its pieces are sent in place of everything, headers too,
    until the client goes away or they end, and then the connection does.
    """

    status: int = 200
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0
    drip: float = 0.0
    cut: int | None = None
    raw: Callable[[], Iterable[bytes]] | None = None

    @property
    def content(self) -> bytes:
        """The body as it is sent."""
        if isinstance(self.body, bytes):
            return self.body
        return self.body.encode() if isinstance(self.body, str) else json.dumps(self.body).encode()


@dataclass(frozen=True)
class Asked:
    """A request as it came in."""

    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]
    method: str = "POST"


def usual(asked: Asked) -> Saying:
    """A verdict in the format of the address that was asked."""
    if asked.path == "/v1/chat/completions":
        return Saying(body=openai_reply(), headers={"x-request-id": "req_1"})
    if asked.path == "/v1/decisions":
        return Saying(body=openai_decision(asked.body["questions"]), headers={"x-request-id": "req_1"})
    if asked.path == "/v1/messages":
        return Saying(body=anthropic_reply(), headers={"request-id": "req_1"})
    return Saying(404, openai_error(f"no such path: {asked.path}"))
