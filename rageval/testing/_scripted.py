"""A model that replies from a script: without network, SDK or cost."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence

from rageval.errors import UsageError
from rageval.judges.base import OK, Reply, Request

_Scripted = str | Reply | Exception
_Replies = (
    Sequence[_Scripted] | Mapping[str, _Scripted] | Callable[[Request], _Scripted | Awaitable[_Scripted]]
)


class ScriptedModel:
    """Replies from a list in its order, from a dict by a piece of the request's text, or from a function.

    A reply is a text, a `Reply`, or an exception to raise. `requests` are the requests received, in order.

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
        reply = self._find_reply(request, self.calls)
        if inspect.isawaitable(reply):
            reply = await reply
        if isinstance(reply, Exception):
            raise reply
        return Reply(OK, reply, served=self.name) if isinstance(reply, str) else reply

    def _find_reply(self, request: Request, call: int) -> _Scripted | Awaitable[_Scripted]:
        if callable(self._replies):
            return self._replies(request)
        if isinstance(self._replies, Mapping):
            for piece, reply in self._replies.items():
                if piece in request.user or piece in request.system:
                    return reply
            raise UsageError(
                f"the scripted model has no reply to {request.user[:80]!r}; expected one of the texts"
                f" {', '.join(map(repr, list(self._replies)[:5]))} in it"
            )
        if call > len(self._replies):
            raise UsageError(
                f"the scripted model was asked {call} times, expected {len(self._replies)} at most"
            )
        return self._replies[call - 1]
