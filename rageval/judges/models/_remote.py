"""What models behind an SDK share: one deadline a call, one client a loop, learning what a model takes.

The SDKs read bodies to their end, whatever that takes. So a hook of the client reads them instead, up to a
limit that counts bytes as they are decoded and not as they come, and the call ends there: nothing of an SDK
looks at what came. What it means is told from the status and the server's own words.
"""

from __future__ import annotations

import asyncio
import json
import math
import os
import re
import time
import zlib
from abc import ABC, abstractmethod
from collections.abc import AsyncIterable, Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from itertools import pairwise
from typing import Any
from weakref import WeakKeyDictionary

from rageval.errors import MissingPackage, UsageError
from rageval.judges.base import ERROR, FILTERED, Fatal, Reply, Request, Transient, Unreachable
from rageval.judges.models._hosts import Home, Provider, home_of, only_needed_headers

SAMPLING = ("top_p", "frequency_penalty", "presence_penalty", "seed")
_TIMEOUT = 120.0  # seconds for one request, all fall-backs together
_CONNECTING = 10.0  # seconds of these for making a connection
_UNCONNECTED = ("ConnectError", "ConnectTimeout", "ProxyError")  # what the SDKs' HTTP library calls it
SCHEMA, TEXT = "json_schema", "text"  # the mode that binds a model most, and the one every model knows
_REFUSES = re.compile(
    r"not? (?:be )?(?:supported|support|permitted|allowed|available)|does not|unsupported|unrecognized"
    r"|unknown|unexpected|extra (?:inputs|fields)|deprecated|invalid|only the default|cannot"
)
_TOO_MUCH = re.compile(r"too (?:large|long)|context (?:length|window)|above max|exceed|<=|at most|less than")
_ACCEPTED = "gzip, deflate"  # what is read here
_MOST_LAYERS = 2  # of one encoding over another
_WINDOWS = {"gzip": 31, "x-gzip": 31, "deflate": 15}
_LONGEST = 4 * 2**20  # bytes of a response, decoded
_LONGEST_WAIT = 600.0  # seconds; a server that asks for more is asked again after these
_MOST = 10**9  # tokens of a call: more are not counted but made up
_THROTTLED = (429, 529)
_OWN_WORDS = 400
_NO_MONEY = {"insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "billing_error"}
_NO_MONEY_SAID = re.compile(r"credit balance|usage limits|billing|insufficient (?:credits|funds|balance)")
_FILTERED = re.compile(
    r"content[_ ]filter|content_policy|content management policy|responsibleai|moderation|flagged"
)
_HOPELESS = re.compile(
    r"model_not_found|no such model|model [^ ]* ?(?:does not exist|not found|is not (?:found|supported))"
)


@dataclass(frozen=True)
class RequestForm:
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
        """Add one more parameter, if the model takes it."""
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
        self, model: str, url: str | None = None, *, timeout: float = _TIMEOUT, key_from: str | None = None
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
        self._form = RequestForm(SCHEMA)
        self._clients: WeakKeyDictionary[asyncio.AbstractEventLoop, Any] = WeakKeyDictionary()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.model!r}, {self.endpoint!r})"

    async def ask(self, request: Request) -> Reply:
        """Return the model's reply; `Transient` if asking again may help, `Fatal` if nothing will."""
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
        """Return the reply to the first form of the request that the model does not refuse."""
        while True:  # ends: each round has a mode less or one more parameter known to be refused
            form = self._form
            call = self._call(request, form)
            response = await self._sent(partial(self._create, arguments=call.arguments))
            other = self._other_form(form, response, call) if response.status in (400, 422) else None
            if other is None:
                return replace(self._reply(response), sent=call.sent, dropped=call.dropped)
            if self._form == form:  # else another call has learnt something meanwhile
                self._form = other

    def _other_form(self, form: RequestForm, response: Response, call: Call) -> RequestForm | None:
        """Return the form to try next, if the server refuses something of this one."""
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

    async def _sent(self, send: Callable[[Any], Awaitable[Any]], longest: int = _LONGEST) -> Response:
        """Return what the server sends back to what `send` does with a client, up to so many bytes."""
        sdk = import_module(self.provider.name)
        failed: Exception = Transient(f"{self.name}: no answer from {self.endpoint}")
        with _arriving(longest) as arrival:
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
        """Return what it means that no answer came: nobody to ask, or the call's fate is unknown."""
        kind = type(cause).__name__
        if kind not in _UNCONNECTED:
            return Transient(f"{self.name}: no answer from {self.endpoint} ({kind})")
        why = self.home.shown(_reason(cause), 100) or f"no connection within {_CONNECTING:g} seconds"
        return Unreachable(
            f"{self.name}: no server at {self.endpoint} ({why});"
            " start it, or check the address and the network"
        )

    def _client(self, sdk: Any) -> Any:
        """Return the client of the running loop: connections cannot move to another."""
        loop = asyncio.get_running_loop()
        if loop not in self._clients:
            key = self.home.key()
            guard = [] if self.home.trusted or key is None else [only_needed_headers(key)]
            self._clients[loop] = getattr(sdk, self.client)(
                api_key=key,
                base_url=self.home.url,
                timeout=sdk.Timeout(self.timeout, connect=min(_CONNECTING, self.timeout)),
                max_retries=0,
                http_client=sdk.DefaultAsyncHttpxClient(
                    follow_redirects=False,
                    headers={"accept-encoding": _ACCEPTED},
                    event_hooks={"request": guard, "response": [_receive]},
                ),
            )
        return self._clients[loop]

    def _reply(self, response: Response) -> Reply:
        """Return the reply in a response of any status."""
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
    def _call(self, request: Request, form: RequestForm) -> Call:
        """Return the request in the provider's words."""

    @abstractmethod
    async def _create(self, client: Any, arguments: Mapping[str, Any]) -> Any:
        """Return the SDK's raw response to one call."""

    @abstractmethod
    def _holds_reply(self, body: Mapping[str, Any]) -> bool:
        """Whether the body has the shape of a reply."""

    @abstractmethod
    def _read(self, body: Mapping[str, Any]) -> Reply:
        """Status, text and usage of a reply."""


def _reason(cause: BaseException | None) -> str:
    """Return what the system says of a connection that could not be made, below what libraries make of it."""
    said = ""
    while cause is not None:
        number = getattr(cause, "errno", None) or 0  # negative where names are looked up
        said = os.strerror(number) if number > 0 else getattr(cause, "strerror", None) or said or str(cause)
        cause = cause.__cause__ or cause.__context__
    return said


def sendable(text: str) -> str:
    """Mend the text as UTF-8 can hold it: half characters become question marks."""
    return text.encode("utf-8", "replace").decode()


def messages_of(request: Request, system: str = "") -> list[dict[str, str]]:
    """Return the conversation: what the system is told, if anything, examples as turns, and the question."""
    said = [("system", system)] if system else []
    for asked, answered in request.turns:
        said += [("user", asked), ("assistant", answered)]
    said.append(("user", request.user))
    return [{"role": role, "content": sendable(text)} for role, text in said]


def with_schema(request: Request) -> str:
    """Write the system text for a model that is told the schema in words."""
    schema = json.dumps(request.schema, ensure_ascii=False)
    told = f"Reply with one JSON object and nothing else. It follows this JSON schema:\n{schema}"
    return sendable(f"{request.system}\n\n{told}")


class _Arrived(Exception):
    """The response is read: there is nothing left to do for an SDK."""


@dataclass
class _Arrival:
    """Where the response to one call is put, and how long it may be."""

    longest: int
    response: Response | None = None


_ARRIVAL: ContextVar[_Arrival] = ContextVar("arrival")


@contextmanager
def _arriving(longest: int = _LONGEST) -> Iterator[_Arrival]:
    """Within this, what a client of ours receives is put into the `_Arrival`."""
    arrival = _Arrival(longest)
    token = _ARRIVAL.set(arrival)
    try:
        yield arrival
    except _Arrived:
        pass
    finally:
        _ARRIVAL.reset(token)


async def _receive(response: Any) -> None:
    """Read the response and end the call: a hook for the client."""
    arrival = _ARRIVAL.get()
    headers = response.headers
    body, cut = await _read(response.aiter_raw(), headers.get("content-encoding", ""), arrival.longest)
    arrival.response = Response(response.status_code, headers, body, cut)
    raise _Arrived


async def _read(raw: AsyncIterable[bytes], encoding: str, longest: int) -> tuple[bytes, bool]:
    """Return the decoded body, and whether it was cut: too long or damaged, it ends where it can be read."""
    layers = [name for part in encoding.split(",") if (name := part.strip().lower()) not in ("", "identity")]
    if len(layers) > _MOST_LAYERS or any(name not in _WINDOWS for name in layers):
        return b"", True
    decoders = [_Decoder(_WINDOWS[name]) for name in reversed(layers)]
    body, received = bytearray(), 0
    async for chunk in raw:
        received += len(chunk)
        room = longest + 1 - len(body)
        try:
            for decoder in decoders:
                chunk = decoder.decode(chunk, room)
        except zlib.error:
            return bytes(body), True
        body += chunk
        if len(body) > longest or received > longest:
            return bytes(body[:longest]), True
    return bytes(body), any(not decoder.done for decoder in decoders)


class _Decoder:
    """One layer of compression; it never makes more bytes than there is room for."""

    def __init__(self, window: int) -> None:
        self._window = window
        self._inner = zlib.decompressobj(window)
        self._begun = False

    @property
    def done(self) -> bool:
        """Whether the stream has come to its end."""
        return self._inner.eof

    def decode(self, chunk: bytes, room: int) -> bytes:
        """Decode the bytes, cut where the room ends."""
        if self._window == 15 and not self._begun and chunk and not _has_header(chunk):
            self._inner = zlib.decompressobj(-15)  # some servers send deflate without its header
        self._begun = self._begun or bool(chunk)
        return b"" if self.done else self._inner.decompress(chunk, room)


def _has_header(chunk: bytes) -> bool:
    return chunk[0] & 0x0F == 8 and (len(chunk) < 2 or int.from_bytes(chunk[:2], "big") % 31 == 0)


@dataclass(frozen=True)
class Response:
    """What a server sent, as it came; `cut` if not all of it could be read."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    cut: bool = False

    @classmethod
    def made(cls, status: int, body: object, headers: Mapping[str, str] | None = None) -> Response:
        """Make one out of what stands in the results of a batch."""
        return cls(status, headers or {}, json.dumps(body).encode())

    @property
    def text(self) -> str:
        """The beginning of the body as text."""
        return self.body[:2000].decode("utf-8", "replace").strip()

    def json(self) -> dict[str, Any]:
        """Read the JSON object in the body, empty if there is none."""
        try:
            found = json.loads(self.body)
        except (ValueError, RecursionError):
            return {}
        return found if isinstance(found, dict) else {}

    def complaint(self) -> _Complaint:
        """Read what the server says is wrong; its plain words if it does not say so in JSON."""
        body = self.json()
        error = body.get("error", body)
        if not isinstance(error, dict):
            error = {"message": error}
        message = words(error.get("message")) or _details(error.get("detail"))
        return _Complaint(
            message or ("" if body else self.text),
            words(error.get("type")),
            words(error.get("code") or mapping(error.get("details")).get("error_code")),
            words(error.get("param")),
            flagged="reasons" in mapping(error.get("metadata")),
        )


@dataclass(frozen=True)
class _Complaint:
    """An error in a server's words."""

    message: str
    type: str = ""
    code: str = ""
    parameter: str = ""
    flagged: bool = False

    @property
    def lower(self) -> str:
        """What it says in small letters, up to where servers begin to quote what they were sent."""
        return " ".join((self.parameter, self.code, self.type, self.message[:_OWN_WORDS])).lower()


def failure(response: Response, home: Home, who: str) -> Reply:
    """Say what a response that is no success means for one request; raise what means more than that."""
    said = response.complaint()
    detail = f"{who}: {response.status}" + (f": {home.shown(said.message)}" if said.message else "")
    hopeless = _hopeless(response.status, said, home)
    if hopeless:
        raise Fatal(f"{detail}; {hopeless}")
    if response.status in (408, 409, 425, 429) or response.status >= 500:
        wait = retry_after(response.headers)
        throttled = response.status in _THROTTLED or (response.status == 503 and wait is not None)
        raise Transient(detail, wait, throttled)
    filtered = said.flagged or _FILTERED.search(said.lower)
    return Reply(FILTERED if filtered else ERROR, detail=detail)


def broken(response: Response, home: Home, who: str) -> Reply:
    """Say what a success without a reply in it means: some servers wrap an error in one."""
    body = response.json()
    if response.cut:
        raise Transient(
            f"{who}: a reply that does not end, within {len(response.body):,} bytes or where it should"
        )
    if not body.get("error"):
        raise Transient(f"{who}: a broken reply: {home.shown(response.text, 100) or 'nothing'}")
    code = mapping(body["error"]).get("code")
    status = code if isinstance(code, int) and 400 <= code < 600 else 500
    return failure(replace(response, status=status), home, who)


def _hopeless(status: int, said: _Complaint, home: Home) -> str:
    """Return the way out, if every further call would fail in the same way."""
    paid = status in (400, 402, 403) and _NO_MONEY_SAID.search(said.lower)
    if status == 402 or paid or {said.code, said.type} & _NO_MONEY:
        return "the account has no money or quota left: see the provider's billing page"
    if status == 401 or (status in (400, 403) and re.search(r"api.key", said.lower)):
        return f"the key was refused: check the environment variable {home.key_variable}"
    if status == 403 and not (said.flagged or _FILTERED.search(said.lower)):
        return f"the key in {home.key_variable} may not use this model"
    if 300 <= status < 400:
        return f"the server redirects, and keys do not follow: give the new address (this is {home.url})"
    if status in (404, 405, 410) or (status in (400, 422) and _HOPELESS.search(said.lower)):
        complete = home.has_version or re.search(r"/v\d", home.url)
        hint = "" if complete else "; many servers want an address that ends in /v1"
        return f"check the model's name and the address {home.url}{hint}"
    return ""


def retry_after(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Read the seconds a server asks to wait, from 0 to `_LONGEST_WAIT`; None if it says none readably.

    >>> [retry_after({"retry-after": text}) for text in ("7", "-7", "1e9", "soon", "nan", "inf")]
    [7.0, None, 600.0, None, None, None]
    >>> retry_after({"retry-after-ms": "250"})
    0.25
    >>> noon = datetime(2026, 10, 21, 12, tzinfo=UTC)
    >>> retry_after({"retry-after": "Wed, 21 Oct 2026 12:00:30 GMT"}, noon)
    30.0
    """
    milliseconds = _number(headers.get("retry-after-ms"))
    seconds = milliseconds / 1000 if milliseconds is not None else _number(headers.get("retry-after"))
    if seconds is None:
        seconds = _until(headers.get("retry-after"), now or datetime.now(UTC))
    if seconds is None or not math.isfinite(seconds) or seconds < 0:
        return None
    return min(seconds, _LONGEST_WAIT)


def _details(detail: object) -> str:
    """Return the complaints of a server that lists them, without the input it quotes."""
    if not isinstance(detail, list):
        return words(detail)
    found = [mapping(item) for item in detail[:5]]
    return "; ".join(f"{'.'.join(map(str, item.get('loc', ())))}: {words(item.get('msg'))}" for item in found)


def _number(text: str | None) -> float | None:
    try:
        return None if text is None else float(text)
    except ValueError:
        return None


def _until(text: str | None, now: datetime) -> float | None:
    """Seconds until a date as HTTP writes it; 0 if it has passed."""
    try:
        date = parsedate_to_datetime(text or "")
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return max((date.replace(tzinfo=date.tzinfo or UTC) - now).total_seconds(), 0.0)


def mapping(value: object) -> dict[str, Any]:
    """Return the value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def words(value: object) -> str:
    """Return the value if it is text or a number, as text."""
    return str(value) if isinstance(value, str | int | float) else ""


def count(value: object) -> int:
    """Return the value if it counts something that one call can take, else 0."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value <= _MOST else 0
