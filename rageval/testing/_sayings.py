"""What the two APIs send, as their documentation shows it; what a server or a model is told to say."""

from __future__ import annotations

import inspect
import json
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rageval.errors import UsageError
from rageval.judges.base import OK, Reply, Request

VERDICT = '{"label": "support"}'


def openai_reply(content: object = VERDICT, finish: str | None = "stop", **message: object) -> dict[str, Any]:
    """Return a chat completion.

    Parameters
    ----------
    content
        The text of the message.
    finish
        Why it ends, such as `stop` or `length`.
    **message
        Further keys of the message, such as `refusal`.

    Returns
    -------
    dict
        The body of a response.
    """
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "served-model-1",
        "choices": [
            {
                "index": 0,
                "finish_reason": finish,
                "message": {"role": "assistant", "content": content, **message},
            }
        ],
        "usage": {
            "prompt_tokens": 100,
            "completion_tokens": 20,
            "total_tokens": 120,
            "prompt_tokens_details": {"cached_tokens": 60},
            "completion_tokens_details": {"reasoning_tokens": 5},
        },
    }


def openai_decision(questions: Iterable[Mapping[str, Any]], choice: int = 0) -> dict[str, Any]:
    """Return answers of the Decisions API.

    Parameters
    ----------
    questions
        The questions of the request.
    choice
        Which choice of each question is the answer.

    Returns
    -------
    dict
        The body of a response.
    """
    answers = []
    for question in questions:
        values = [option["value"] for option in question["choices"]]
        shares = [0.9 if place == choice else 0.1 / (len(values) - 1) for place in range(len(values))]
        answers.append(
            {
                "type": "choice",
                "name": question.get("name"),
                "choice": values[choice],
                "confidence": 0.9,
                "probabilities": [
                    {"value": value, "probability": share}
                    for value, share in zip(values, shares, strict=True)
                ],
            }
        )
    usage = {
        "input_tokens": 100,
        "output_tokens": 20,
        "total_tokens": 120,
        "input_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 0},
        "output_tokens_details": {"reasoning_tokens": 5},
    }
    return {"model": "served-model-1", "answers": answers, "usage": usage}


def anthropic_reply(*blocks: dict[str, Any], stop: str = "end_turn", **more: object) -> dict[str, Any]:
    """Return a message.

    Parameters
    ----------
    *blocks
        Its content; without any, a verdict as text.
    stop
        Why it ends, such as `end_turn` or `max_tokens`.
    **more
        Further keys of the message, in place of what it has.

    Returns
    -------
    dict
        The body of a response.
    """
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "served-model-1",
        "content": list(blocks) or [{"type": "text", "text": VERDICT}],
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": {
            "input_tokens": 30,
            "output_tokens": 20,
            "cache_creation_input_tokens": 10,
            "cache_read_input_tokens": 60,
        },
        **more,
    }


def openai_error(message: str, **more: object) -> dict[str, Any]:
    """Return an error as OpenAI words it.

    Parameters
    ----------
    message
        What went wrong.
    **more
        `type`, `param` or `code`.

    Returns
    -------
    dict
        The body of a response.
    """
    return {"error": {"message": message, "type": None, "param": None, "code": None, **more}}


def anthropic_error(message: str, type: str = "invalid_request_error") -> dict[str, Any]:
    """Return an error as Anthropic words it.

    Parameters
    ----------
    message
        What went wrong.
    type
        The kind of error.

    Returns
    -------
    dict
        The body of a response.
    """
    return {"type": "error", "error": {"type": type, "message": message}, "request_id": "req_2"}


@dataclass(frozen=True)
class Saying:
    """One answer: `body` as text, bytes, or an object to send as JSON.

    `delay` seconds pass before it; with `drip` they pass after each byte; `cut` bytes are sent before the
    connection is cut, 0 for none at all. With `raw`, its pieces are sent in place of everything, headers too,
    until the client goes away or they end, and then the connection does.
    """

    status: int = 200
    body: object = None
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
    """Return a verdict in the format of the address that was asked.

    Parameters
    ----------
    asked
        The request.

    Returns
    -------
    Saying
        The response.
    """
    if asked.path == "/v1/chat/completions":
        return Saying(body=openai_reply(), headers={"x-request-id": "req_1"})
    if asked.path == "/v1/decisions":
        return Saying(body=openai_decision(asked.body["questions"]), headers={"x-request-id": "req_1"})
    if asked.path == "/v1/messages":
        return Saying(body=anthropic_reply(), headers={"request-id": "req_1"})
    return Saying(404, openai_error(f"no such path: {asked.path}"))


_Said = str | Reply | Exception
_Replies = Sequence[_Said] | Mapping[str, _Said] | Callable[[Request], _Said | Awaitable[_Said]]


class ScriptedModel:
    """Replies from a list in its order, from a dict by a piece of the request's text, or from a function.

    A reply is a text, a `Reply`, or an exception to raise. `requests` holds what was asked, in order.

    >>> import asyncio
    >>> model = ScriptedModel({"Eiffel": '{"label": "support"}'})
    >>> asyncio.run(model.ask(Request("Judge.", "The Eiffel tower …", {}))).text
    '{"label": "support"}'
    >>> model.calls
    1
    """

    def __init__(self, replies: _Replies, name: str = "scripted", endpoint: str = "") -> None:
        self.name = name
        self.endpoint = endpoint
        self.requests: list[Request] = []
        self._replies = replies

    @property
    def calls(self) -> int:
        """How often the model was asked."""
        return len(self.requests)

    async def ask(self, request: Request) -> Reply:
        """Return the scripted reply; raises what the script holds an exception for."""
        self.requests.append(request)
        said = self._said(request, self.calls)
        if inspect.isawaitable(said):
            said = await said
        if isinstance(said, Exception):
            raise said
        return Reply(OK, said, served=self.name) if isinstance(said, str) else said

    def _said(self, request: Request, call: int) -> _Said | Awaitable[_Said]:
        if callable(self._replies):
            return self._replies(request)
        if isinstance(self._replies, Mapping):
            return _by_substring(self._replies, request)
        if call > len(self._replies):
            raise UsageError(
                f"the scripted model was asked {call} times, expected {len(self._replies)} at most"
            )
        return self._replies[call - 1]


def _by_substring(replies: Mapping[str, _Said], request: Request) -> _Said:
    for piece, said in replies.items():
        if piece in request.user or piece in request.system:
            return said
    raise UsageError(
        f"the scripted model has no reply to {request.user[:80]!r}; expected one of the texts"
        f" {', '.join(map(repr, list(replies)[:5]))} in it"
    )
