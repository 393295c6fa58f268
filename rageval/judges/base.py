"""What a judge is made of: a request, the reply of a model, and the model itself, which is one method.

A judge is a rubric (what is asked, how the reply is read) and a model (who is asked). Rubrics know nothing of
models, models nothing of rubrics; a request is all that passes between them.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

FENCE = "{{fence}}"  # stands in stored requests where a call has its random fence
FENCE_BYTES = 16

# What may become of a judgement; only the first two carry a grade.
OK, REPAIRED = "ok", "repaired"
REFUSED, TRUNCATED, FILTERED, INVALID, ERROR = "refused", "truncated", "filtered", "invalid", "error"


@dataclass(frozen=True, slots=True)
class Request:
    """One question to a model.

    `schema` is the JSON schema of the reply and `name` what the schema is called; `temperature` is sent where
    the model takes it; `sample` tells repeated askings of the same question apart.
    """

    system: str
    user: str
    schema: Mapping[str, Any]
    name: str = "verdict"
    max_tokens: int = 1024
    temperature: float | None = 0.0
    sample: int = 0

    def fenced(self, fence: str | None = None) -> Request:
        """The request as it is sent: with a random fence around what others wrote."""
        fence = fence or secrets.token_hex(FENCE_BYTES)
        return replace(self, system=self.system.replace(FENCE, fence), user=self.user.replace(FENCE, fence))

    def key(self, model: str, endpoint: str) -> str:
        """What a stored reply is found by: everything that can change the answer, and nothing else.

        >>> one = Request("Judge.", "Is it so?", {"type": "object"})
        >>> one.key("openai:m", "https://api") == one.key("openai:m", "https://api")
        True
        >>> one.key("openai:m", "https://api") == replace(one, sample=1).key("openai:m", "https://api")
        False
        """
        content = {
            "endpoint": endpoint,
            "max_tokens": self.max_tokens,
            "model": model,
            "name": self.name,
            "sample": self.sample,
            "schema": self.schema,
            "system": self.system,
            "temperature": self.temperature,
            "user": self.user,
        }
        text = json.dumps(content, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens a call cost; `cached` are those of `input` that were read from the provider's cache."""

    input: int = 0
    output: int = 0
    cached: int = 0
    reasoning: int = 0


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back: text to be read by the rubric, or why there is none.

    `status` is ok, refused, truncated, filtered or error. `served` is the model that answered, `sent` what
    was sent besides the messages and `dropped` what the model does not take.
    """

    status: str
    text: str = ""
    detail: str = ""
    usage: Usage = field(default_factory=Usage)
    served: str = ""
    request_id: str = ""
    latency: float = 0.0
    sent: Mapping[str, Any] = field(default_factory=dict)
    dropped: tuple[str, ...] = ()


class Model(Protocol):
    """Who is asked. An adapter is this one method; `name` is `provider:model`, `endpoint` where it lives."""

    name: str
    endpoint: str

    async def ask(self, request: Request) -> Reply:
        """The reply; `Transient` if asking again may help, `Fatal` if nothing will."""
        ...


WORKING, ENDED = "working", "ended"


class BatchModel(Model, Protocol):
    """A model that also takes many requests at once, and answers them within a day for less money."""

    batch_limit: int  # how many requests one batch may hold

    async def submit(self, requests: Sequence[tuple[str, Request]]) -> str:
        """Hand over a batch, each request under the key its reply is stored by; the batch's id."""
        ...

    async def state(self, batch: str) -> str:
        """`WORKING` or `ENDED`, however it ended: what has no result then is to be asked again."""
        ...

    def results(self, batch: str) -> AsyncIterator[tuple[str, Reply]]:
        """The replies with their keys, in any order; what failed or expired has status `ERROR`."""
        ...


class Transient(Exception):  # not an error of the user's: the scheduler handles it
    """Overloaded, throttled, unreachable: worth another try, after so many seconds if the server says so."""

    def __init__(self, message: str, retry_after: float | None = None, throttled: bool = False) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        self.throttled = throttled


class Lost(Transient):
    """Lost with who carried it: nobody knows what it cost, and it says nothing of the model."""


class Unreachable(Transient):
    """Nobody is there: no connection could be made, so nothing was sent and nothing has to be paid."""


class Fatal(Exception):
    """No key, no such model, no money left: every further call would fail in the same way."""
