"""What models behind an SDK share: one deadline a call, one client a loop, learning what a model takes."""

from __future__ import annotations

import asyncio
import json
import os
import re
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from itertools import pairwise
from typing import Any
from weakref import WeakKeyDictionary

from rageval.errors import MissingPackage, UsageError
from rageval.judges.base import Fatal, Reply, Request, Transient, Unreachable
from rageval.judges.models.arrivals import ACCEPTED, arriving, receive
from rageval.judges.models.hosts import Home, Provider, home_of, only_needed_headers
from rageval.judges.models.responses import LONGEST, Response, broken, failure, words

TIMEOUT = 120.0  # seconds for one request, all fall-backs together
CONNECTING = 10.0  # seconds of these for making a connection
_UNCONNECTED = ("ConnectError", "ConnectTimeout", "ProxyError")  # what the SDKs' HTTP library calls it
SCHEMA, TEXT = "json_schema", "text"  # the mode that binds a model most, and the one every model knows
_REFUSES = re.compile(
    r"not? (?:be )?(?:supported|support|permitted|allowed|available)|does not|unsupported|unrecognized"
    r"|unknown|unexpected|extra (?:inputs|fields)|deprecated|invalid|only the default|cannot"
)
_TOO_MUCH = re.compile(r"too (?:large|long)|context (?:length|window)|above max|exceed|<=|at most|less than")


@dataclass(frozen=True)
class Form:
    """How a model is asked: the way the schema is sent, and the parameters it refused."""

    mode: str
    refused: frozenset[str] = frozenset()


@dataclass
class Call:
    """The arguments of one call: `sent` are those besides the messages, `dropped` what the model refuses."""

    arguments: dict[str, Any]
    sent: dict[str, Any] = field(default_factory=dict)
    dropped: tuple[str, ...] = ()

    def add(self, name: str, value: Any, taken: bool) -> None:
        """One more parameter, if the model takes it."""
        if taken:
            self.sent[name] = self.arguments[name] = value
        else:
            self.dropped += (name,)


class RemoteModel(ABC):
    """A model behind an SDK. What it refuses is remembered: the same refusal is not asked for twice.

    `timeout` is the longest one request may take; `key_from` names an environment variable with the key.
    """

    provider: Provider
    prefix: str  # of the model's name
    client: str  # what the SDK calls its asynchronous client
    modes: tuple[tuple[str, tuple[str, ...]], ...]  # and the words by which a server refuses each
    request_id: str  # the header with the id of a request
    optional: tuple[str, ...]  # what is left out if a model refuses it

    def __init__(
        self, model: str, url: str | None = None, *, timeout: float = TIMEOUT, key_from: str | None = None
    ) -> None:
        if not timeout > 0:
            raise UsageError(f"timeout={timeout!r}: expected seconds, more than 0")
        if find_spec(self.provider.name) is None:
            raise MissingPackage(self.provider.name, f"the model {self.prefix}:{model}", "judges")
        self.model = model
        self.name = f"{self.prefix}:{model}"
        self.home: Home = home_of(self.provider, url, key_from)
        self.endpoint = self.home.url
        self.timeout = float(timeout)
        self._form = Form(SCHEMA)
        self._clients: WeakKeyDictionary[asyncio.AbstractEventLoop, Any] = WeakKeyDictionary()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.model!r}, {self.endpoint!r})"

    async def ask(self, request: Request) -> Reply:
        """The model's reply; `Transient` if asking again may help, `Fatal` if nothing will."""
        started = time.perf_counter()
        reply = None
        try:
            async with asyncio.timeout(self.timeout):
                reply = await self._negotiated(request)
        except TimeoutError:
            pass  # told below, so that no traceback leads into the SDK and the headers it holds
        if reply is None:
            raise Transient(f"{self.name}: no answer within {self.timeout:g} seconds")
        return replace(reply, latency=time.perf_counter() - started)

    async def aclose(self) -> None:
        """Close the connections made in the running loop."""
        client = self._clients.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await client.close()

    async def _negotiated(self, request: Request) -> Reply:
        """The reply to the first form of the request that the model does not refuse."""
        while True:  # ends: each round has a mode less or one more parameter known to be refused
            form = self._form
            call = self._call(request, form)
            response = await self._sent(partial(self._create, arguments=call.arguments))
            other = self._other_form(form, response, call) if response.status in (400, 422) else None
            if other is None:
                return replace(self._reply(response), sent=call.sent, dropped=call.dropped)
            if self._form == form:  # else another call has learnt something meanwhile
                self._form = other

    def _other_form(self, form: Form, response: Response, call: Call) -> Form | None:
        """The form to try next, if the server refuses something of this one."""
        said = response.complaint().lower
        if _TOO_MUCH.search(said):
            return None
        refused = {name for name in call.sent if name in said and name in self.optional}
        if refused and _REFUSES.search(said):
            return replace(form, refused=form.refused | refused)
        for (mode, refusals), (weaker, _) in pairwise(self.modes):
            if mode == form.mode and any(word in said for word in refusals):
                return replace(form, mode=weaker)
        return None

    async def _sent(self, send: Callable[[Any], Awaitable[Any]], longest: int = LONGEST) -> Response:
        """What the server sends back to what `send` does with a client, up to so many bytes."""
        sdk = import_module(self.provider.name)
        failed: Exception = Transient(f"{self.name}: no answer from {self.endpoint}")
        with arriving(longest) as arrival:
            try:
                await send(self._client(sdk))
            except sdk.APIConnectionError as error:
                failed = self._unanswered(error.__cause__)
            except (TypeError, getattr(sdk, self.provider.error)) as error:
                if isinstance(error, TypeError) and "authentication" not in str(error):
                    raise
                said = self.home.shown(str(error))
                failed = Fatal(f"{self.name}: {said}; the key is read from {self.home.key_variable}")
        if arrival.response is not None:
            return arrival.response
        raise failed  # here, so that no traceback leads into the SDK and the headers it holds

    def _unanswered(self, cause: BaseException | None) -> Transient:
        """What it means that no answer came: nobody there to be asked, or nobody knows what became of it."""
        kind = type(cause).__name__
        if kind not in _UNCONNECTED:
            return Transient(f"{self.name}: no answer from {self.endpoint} ({kind})")
        why = self.home.shown(_reason(cause), 100) or f"no connection within {CONNECTING:g} seconds"
        return Unreachable(
            f"{self.name}: no server at {self.endpoint} ({why});"
            " start it, or check the address and the network"
        )

    def _client(self, sdk: Any) -> Any:
        """The client of the running loop: connections cannot move to another."""
        loop = asyncio.get_running_loop()
        if loop not in self._clients:
            key = self.home.key()
            guard = [] if self.home.trusted or key is None else [only_needed_headers(key)]
            self._clients[loop] = getattr(sdk, self.client)(
                api_key=key,
                base_url=self.home.url,
                timeout=sdk.Timeout(self.timeout, connect=min(CONNECTING, self.timeout)),
                max_retries=0,
                http_client=sdk.DefaultAsyncHttpxClient(
                    follow_redirects=False,
                    headers={"accept-encoding": ACCEPTED},
                    event_hooks={"request": guard, "response": [receive]},
                ),
            )
        return self._clients[loop]

    def _reply(self, response: Response) -> Reply:
        """The reply in a response of any status."""
        if not 200 <= response.status < 300:
            return failure(response, self.home, self.name)
        body = response.json()
        if not self._holds_reply(body):
            return broken(response, self.home, self.name)
        reply = self._read(body)
        return replace(
            reply,
            text=self.home.hide(reply.text),
            detail=self.home.shown(reply.detail),
            served=self.home.shown(words(body.get("model"))),
            request_id=self.home.shown(response.headers.get(self.request_id) or words(body.get("id"))),
        )

    @abstractmethod
    def _call(self, request: Request, form: Form) -> Call:
        """The request in the provider's words."""

    @abstractmethod
    async def _create(self, client: Any, arguments: Mapping[str, Any]) -> Any:
        """The SDK's raw response to one call."""

    @abstractmethod
    def _holds_reply(self, body: Mapping[str, Any]) -> bool:
        """Whether the body has the shape of a reply."""

    @abstractmethod
    def _read(self, body: Mapping[str, Any]) -> Reply:
        """Status, text and usage of a reply."""


def _reason(cause: BaseException | None) -> str:
    """What the system says of a connection that could not be made, below what libraries make of it."""
    said = ""
    while cause is not None:
        number = getattr(cause, "errno", None) or 0  # negative where names are looked up
        said = os.strerror(number) if number > 0 else getattr(cause, "strerror", None) or said or str(cause)
        cause = cause.__cause__ or cause.__context__
    return said


def sendable(text: str) -> str:
    """The text as UTF-8 can hold it: half characters become question marks."""
    return text.encode("utf-8", "replace").decode()


def with_schema(request: Request) -> str:
    """The system text for a model that is told the schema in words."""
    schema = json.dumps(request.schema, ensure_ascii=False)
    told = f"Reply with one JSON object and nothing else. It follows this JSON schema:\n{schema}"
    return sendable(f"{request.system}\n\n{told}")
