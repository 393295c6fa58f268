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
import secrets
import time
import zlib
from abc import ABC, abstractmethod
from collections.abc import (
    AsyncIterable,
    AsyncIterator,
    Awaitable,
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from itertools import accumulate, pairwise
from typing import Any
from urllib.parse import SplitResult, parse_qs, urlencode, urlsplit
from weakref import WeakKeyDictionary

from rageval.errors import MissingPackage, UsageError
from rageval.judges.base import (
    ENDED,
    ERROR,
    FILTERED,
    WORKING,
    Fatal,
    Lost,
    Reply,
    Request,
    Transient,
    Unclear,
    Unreachable,
)
from rageval.judges.models.providers import Provider
from rageval.text import HIDDEN, visible, without_keys

# --- Where a provider lives, and which key may go there: a key is bound to a host, never to a spec.
#
# * The provider's own host over https (api.openai.com, api.anthropic.com and their regions): the provider's
#   variable, `OPENAI_API_KEY` or `ANTHROPIC_API_KEY`.
# * The host that `OPENAI_BASE_URL` or `ANTHROPIC_BASE_URL` names: the same variable, because both were set by
#   the same person. A spec without an address goes there.
# * Any other host that a spec names: only `RAGEVAL_API_KEY_` and the host in capitals, a `_` for each dot
#   (`RAGEVAL_API_KEY_OPENROUTER_AI`) and two for a `-`, with the port unless it is that of https
#   (`RAGEVAL_API_KEY_LOCALHOST_8000`); without it, the word `none`, which servers without keys accept.
# * Who names another variable (`key_from="MY_KEY"`) has that one sent.
#
# Keys are read when a client is made and kept in no object here. Redirects are not followed, and a host
# that is not the provider's gets no header the person's environment adds for the provider.

_PLACEHOLDER = "none"
_SHORTEST_SECRET = 8  # "none" and "EMPTY" are words, not secrets
_PORTS = {"http": 80, "https": 443}
_CREDENTIALS = {"authorization": "Bearer ", "x-api-key": ""}
_NEEDED = re.compile(
    r"accept(-encoding)?|connection|content-(length|type)|host|transfer-encoding|user-agent"
    r"|anthropic-(version|beta)|x-stainless-.*"
)


@dataclass(frozen=True)
class Home:
    """An address and the environment variable with its key.

    `trusted` is the provider's own host or the one the person's environment names; `without_key` is what is
    sent to a server that may need no key; `has_version` means that the SDK adds `/v1` to the address;
    `headers` are the provider's own, where `{key}` stands for the key.
    """

    url: str
    key_variable: str
    trusted: bool
    key_needed: bool
    without_key: str | None = _PLACEHOLDER
    has_version: bool = False
    headers: Mapping[str, str] = field(default_factory=dict, hash=False)

    def own_headers(self, key: str | None) -> dict[str, str]:
        """Return the provider's own headers, with this key."""
        return {name: value.replace("{key}", key or "") for name, value in self.headers.items()}

    def key(self) -> str | None:
        """Return the key from the environment; None if the SDK shall find one."""
        key = os.environ.get(self.key_variable, "").strip()
        if not (key.isascii() and key.isprintable()) or " " in key:
            raise Fatal(f"the environment variable {self.key_variable} holds characters that no key has")
        if not key and self.key_needed:
            raise Fatal(f"no key: set the environment variable {self.key_variable}")
        return key or self.without_key

    def hide(self, text: str) -> str:
        """Strike out keys, should a server have sent one back."""
        if len(text) < _SHORTEST_SECRET:
            return text
        for variable in (self.key_variable, "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"):
            key = os.environ.get(variable, "").strip()
            if len(key) >= _SHORTEST_SECRET:
                text = text.replace(key, HIDDEN)
        return text

    def shown(self, text: str, longest: int = 300) -> str:
        """Show what a server said as a message may: without keys and control characters, and cut."""
        text = visible(without_keys(self.hide(text[: 20 * longest])))
        return text if len(text) <= longest else text[: longest - 1] + "…"


def home_of(provider: Provider, url: str | None = None, key_from: str | None = None) -> Home:
    """Say where to send calls, and the variable whose key may go there.

    >>> from rageval.judges.models.providers import OPENAI
    >>> home_of(OPENAI, "https://openrouter.ai/api/v1").key_variable
    'RAGEVAL_API_KEY_OPENROUTER_AI'
    """
    configured = os.environ.get(provider.url_variable, "").strip() if provider.url_variable else ""
    parts = _checked_address(url or configured or provider.endpoint)
    is_of_provider = bool(provider.host) and f".{parts.hostname}".endswith(f".{provider.host}")
    official = parts.scheme == "https" and is_of_provider
    trusted = official or (bool(configured) and _origin(parts) == _origin(_checked_address(configured)))
    parts = parts._replace(path=parts.path.removesuffix(provider.version))
    sdk_finds_it = trusted and provider.finds_keys and key_from is None
    return Home(
        parts.geturl(),
        key_from or (provider.key_variable if trusted else _key_variable(parts.geturl())),
        trusted,
        key_needed=key_from is not None or (official and not sdk_finds_it),
        without_key=None if sdk_finds_it else _PLACEHOLDER,
        has_version=bool(provider.version),
        headers=provider.headers,
    )


def _key_variable(url: str) -> str:
    """Name the environment variable for the key of a host that is not the provider's.

    >>> _key_variable("http://127.0.0.1:8000/v1"), _key_variable("https://my-llm.example/v1")
    ('RAGEVAL_API_KEY_127_0_0_1_8000', 'RAGEVAL_API_KEY_MY__LLM_EXAMPLE')
    """
    scheme, host, port = _origin(urlsplit(url))
    words = (
        host.replace("-", "__") if (scheme, port) == ("https", 443) else f"{host.replace('-', '__')}_{port}"
    )
    return "RAGEVAL_API_KEY_" + re.sub(r"[^0-9A-Z_]", "_", words.upper())


def only_needed_headers(key: str, own: Collection[str] = ()) -> Callable[[Any], Awaitable[None]]:
    """Make a hook for the client: of the headers, what the call needs, with this key and no other.

    `own` are headers of the provider's, which stay.
    """
    kept = {name.lower() for name in own}

    async def strip(request: Any) -> None:
        for name in list(request.headers.keys()):
            if name.lower() in _CREDENTIALS:
                request.headers[name] = _CREDENTIALS[name.lower()] + key
            elif not _NEEDED.fullmatch(name.lower()) and name.lower() not in kept:
                del request.headers[name]

    return strip


def _origin(parts: SplitResult) -> tuple[str, str, int]:
    return parts.scheme, parts.hostname or "", parts.port or _PORTS[parts.scheme]


def _checked_address(url: str) -> SplitResult:
    """Return the address in its parts, its host in small letters, without a slash at the end."""
    expected = "expected something like https://HOST/v1 or http://127.0.0.1:8000/v1"
    try:
        parts = urlsplit(url.strip())
        parts.port  # noqa: B018 (a wrong port is only told here)
    except ValueError as error:
        raise UsageError(f"the address of a model: {visible(str(error))}; {expected}") from None
    if parts.username or parts.password or parts.query or parts.fragment:
        raise UsageError(
            f"the address of a model holds a user, a password, '?' or '#': {expected};"
            " keys come from the environment"
        )
    if parts.scheme not in _PORTS or not re.fullmatch(r"[\w.:-]+", parts.hostname or ""):
        raise UsageError(f"the address of a model is {visible(url)[:80]!r}, {expected}")
    return parts._replace(netloc=parts.netloc.lower(), path=parts.path.rstrip("/"))


# --- A model behind an SDK, and what its server says.

_TIMEOUT = 120.0  # seconds for one request, all fall-backs together
CONNECTING = 10.0  # seconds of these for making a connection
# The SDKs' HTTP library looks at every connection of a client before and after every call, which takes the
# square of their number. A client takes long to make, so few calls have one.
_CALLS_A_CLIENT = 16
_UNCONNECTED = ("ConnectError", "ConnectTimeout", "ProxyError")  # what the SDKs' HTTP library calls it
SCHEMA, TEXT = "json_schema", "text"  # the mode that binds a model most, and the one every model knows
_REFUSES = re.compile(
    r"not? (?:be )?(?:supported|support|permitted|allowed|available)|does not|unsupported|unrecognized"
    r"|unknown|unexpected|extra (?:inputs|fields)|deprecated|invalid|only the default|cannot"
)
_TOO_MUCH = re.compile(r"too (?:large|long)|context (?:length|window)|above max|exceed|<=|at most|less than")
ACCEPTED = "gzip, deflate"  # what is read here
_MOST_LAYERS = 2  # of one encoding over another
_WINDOWS = {"gzip": 31, "x-gzip": 31, "deflate": 15}
LONGEST = 4 * 2**20  # bytes of a response, decoded
_LONGEST_WAIT = 600.0  # seconds; a server that asks for more is asked again after these
_MOST = 10**9  # tokens of a call: more are not counted but made up
_THROTTLED = (429, 529)
_OWN_WORDS = 400
_NO_MONEY = {"insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "billing_error"}
_NO_MONEY_TEXT = re.compile(r"credit balance|usage limits|billing|insufficient (?:credits|funds|balance)")
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


@dataclass
class _Client:
    """A client of an SDK, and how many calls of it are under way."""

    sdk_client: Any
    calls: int = 0


class RemoteModel(ABC):
    """A model behind an SDK. What it refuses is remembered: the same refusal is not asked for twice.

    `timeout` is the longest one request may take; `key_from` names an environment variable with the key.
    """

    usual_provider: Provider  # whose wire format it speaks
    client: str  # what the SDK calls its asynchronous client
    modes: tuple[tuple[str, tuple[str, ...]], ...]  # and the words by which a server refuses each
    request_id: str  # the header with the id of a request
    optional: tuple[str, ...]  # what is left out if a model refuses it

    def __init__(
        self,
        model: str,
        url: str | None = None,
        *,
        provider: Provider | None = None,
        timeout: float = _TIMEOUT,
        key_from: str | None = None,
    ) -> None:
        self.provider = provider or self.usual_provider
        if not timeout > 0:
            raise UsageError(f"timeout={timeout!r}: expected seconds, more than 0")
        self.name = f"{self.provider.name}:{model}"
        if find_spec(self.provider.sdk) is None:
            raise MissingPackage(self.provider.sdk, f"the model {self.name}", "judges")
        self.model = model
        self.home: Home = home_of(self.provider, url, key_from)
        self.endpoint = self.home.url
        self.timeout = float(timeout)
        self._form = RequestForm(SCHEMA)
        self._clients: WeakKeyDictionary[asyncio.AbstractEventLoop, list[_Client]] = WeakKeyDictionary()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.model!r}, {self.endpoint!r})"

    async def ask(self, request: Request) -> Reply:
        """Return the model's reply; `Transient` if asking again may help, `Fatal` if nothing will."""
        try:
            async with asyncio.timeout(self.timeout):
                return await self._negotiate(request)
        except TimeoutError:
            pass  # told below, so that no traceback leads into the SDK and the headers it holds
        raise Transient(f"{self.name}: no answer within {self.timeout:g} seconds")

    async def aclose(self) -> None:
        """Close the connections made in the running loop."""
        for client in self._clients.pop(asyncio.get_running_loop(), ()):
            await client.sdk_client.close()

    async def _negotiate(self, request: Request) -> Reply:
        """Return the reply to the first form of the request that the model does not refuse."""
        started = time.perf_counter()
        while True:  # ends: each round has a mode less or one more parameter known to be refused
            form = self._form
            call = self._call(request, form)
            response = await self._request_response(call.arguments)
            other = self._other_form(form, response, call) if response.status in (400, 422) else None
            if other is None:
                latency = time.perf_counter() - started
                return self._reply(response, latency=latency, sent=call.sent, dropped=call.dropped)
            if self._form == form:  # else another call has learnt something meanwhile
                self._form = other

    def _other_form(self, form: RequestForm, response: Response, call: Call) -> RequestForm | None:
        """Return the form to try next, if the server refuses something of this one."""
        complaint = response.complaint().lower
        if _TOO_MUCH.search(complaint):
            return None
        refused = {name for name in call.sent if name in complaint and name in self.optional}
        if refused and _REFUSES.search(complaint):
            return replace(form, refused=form.refused | refused)
        for (mode, refusals), (weaker, _) in pairwise(self.modes):
            if mode == form.mode and any(word in complaint for word in refusals):
                return replace(form, mode=weaker)
        return None

    async def _request_response(self, arguments: Mapping[str, Any]) -> Response:
        """Return what the server sends back to one call."""
        return await self._send(partial(self._create, arguments=arguments))

    async def _send(self, send: Callable[[Any], Awaitable[Any]], longest: int = LONGEST) -> Response:
        """Return what the server sends back to what `send` does with a client, up to so many bytes."""
        sdk = import_module(self.provider.sdk)
        failed: Exception = Transient(f"{self.name}: no answer from {self.endpoint}")
        with _capture_response(longest) as arrival:
            try:
                with self._client(sdk) as client:
                    await send(client)
            except sdk.APIConnectionError as error:
                cause = error.__cause__
                failed = self._connection_error(cause, type(cause).__name__ in _UNCONNECTED)
            except (TypeError, getattr(sdk, self.provider.sdk_error)) as error:
                if isinstance(error, TypeError) and "authentication" not in str(error):
                    raise
                reason = self.home.shown(str(error))
                failed = Fatal(f"{self.name}: {reason}; the key is read from {self.home.key_variable}")
        if arrival.response is not None:
            return arrival.response
        raise failed  # here, so that no traceback leads into the SDK and the headers it holds

    def _connection_error(self, cause: BaseException | None, is_unconnected: bool) -> Transient:
        """Return the error of a call to which nobody answers, or of which is not known what became of it."""
        if not is_unconnected:
            return Transient(f"{self.name}: no answer from {self.endpoint} ({type(cause).__name__})")
        # What the system says of the connection stands below what libraries make of it.
        reason = ""
        while cause is not None:
            number = getattr(cause, "errno", None) or 0  # negative where names are looked up
            # Of TLS the number says nothing, and a certificate that is refused has words of its own.
            system = getattr(cause, "verify_message", "") or (os.strerror(number) if number > 0 else "")
            reason = system or getattr(cause, "strerror", None) or reason or str(cause)
            cause = cause.__cause__ or cause.__context__
        why = self.home.shown(reason, 100)
        return Unreachable(
            f"{self.name}: no server at {self.endpoint}"
            f" ({why or f'no connection within {CONNECTING:g} seconds'});"
            " start it, or check the address and the network"
        )

    @contextmanager
    def _client(self, sdk: Any) -> Iterator[Any]:
        """Lend a client of the running loop for one call: connections cannot move to another loop."""
        clients = self._clients.setdefault(asyncio.get_running_loop(), [])
        client = next((client for client in clients if client.calls < _CALLS_A_CLIENT), None)
        if client is None:
            clients.append(client := _Client(self._create_client(sdk)))
        client.calls += 1
        try:
            yield client.sdk_client
        finally:
            client.calls -= 1

    def _create_client(self, sdk: Any) -> Any:
        key = self.home.key()
        own = self.home.own_headers(key)
        guard = [] if self.home.trusted or key is None else [only_needed_headers(key, own)]
        return getattr(sdk, self.client)(
            api_key=key,
            base_url=self.home.url,
            timeout=sdk.Timeout(self.timeout, connect=min(CONNECTING, self.timeout)),
            max_retries=0,
            default_headers=own,
            http_client=sdk.DefaultAsyncHttpxClient(
                follow_redirects=False,
                headers={"accept-encoding": ACCEPTED},
                event_hooks={"request": guard, "response": [_receive]},
            ),
        )

    def _reply(self, response: Response, **details: Any) -> Reply:
        """Return the reply in a response of any status, with what else is known of the call."""
        if not 200 <= response.status < 300:
            return replace(failure(response, self.home, self.name), **details)
        body = response.json()
        if not self._holds_reply(body):
            return replace(broken(response, self.home, self.name), **details)
        reply = self._read_body(body)
        return replace(
            reply,
            **details,
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
    def _read_body(self, body: Mapping[str, Any]) -> Reply:
        """Status, text and usage of a reply."""


def sendable(text: str) -> str:
    """Mend the text as UTF-8 can hold it: half characters become question marks."""
    return text.encode("utf-8", "replace").decode()


def messages_of(request: Request, system: str = "") -> list[dict[str, str]]:
    """Return the conversation: what the system is told, if anything, examples as turns, and the question."""
    messages = [("system", system)] if system else []
    for asked, answered in request.turns:
        messages += [("user", asked), ("assistant", answered)]
    messages.append(("user", request.user))
    return [{"role": role, "content": sendable(text)} for role, text in messages]


def with_schema(request: Request) -> str:
    """Write the system text for a model that is told the schema in words."""
    schema = json.dumps(request.schema, ensure_ascii=False)
    instruction = f"Reply with one JSON object and nothing else. It follows this JSON schema:\n{schema}"
    return sendable(f"{request.system}\n\n{instruction}")


class _Arrived(Exception):
    """The response is read: there is nothing left to do for an SDK."""


@dataclass
class _Arrival:
    """Where the response to one call is put, and how long it may be."""

    longest: int
    response: Response | None = None


_ARRIVAL: ContextVar[_Arrival] = ContextVar("arrival")


@contextmanager
def _capture_response(longest: int = LONGEST) -> Iterator[_Arrival]:
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
    body, cut = await read_body(response.aiter_raw(), headers.get("content-encoding", ""), arrival.longest)
    arrival.response = Response(response.status_code, headers, body, cut)
    raise _Arrived


async def read_body(raw: AsyncIterable[bytes], encoding: str, longest: int) -> tuple[bytes, bool]:
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
        self._has_data = False

    @property
    def done(self) -> bool:
        """Whether the stream has ended."""
        return self._inner.eof

    def decode(self, chunk: bytes, room: int) -> bytes:
        """Decode the bytes, at most `room` of them."""
        if self._window == 15 and not self._has_data and chunk:
            has_header = chunk[0] & 0x0F == 8 and (
                len(chunk) < 2 or int.from_bytes(chunk[:2], "big") % 31 == 0
            )
            if not has_header:  # some servers send deflate without it
                self._inner = zlib.decompressobj(-15)
        self._has_data = self._has_data or bool(chunk)
        return b"" if self.done else self._inner.decompress(chunk, room)


@dataclass(frozen=True)
class Response:
    """What a server sent, as it came; `cut` if not all of it could be read."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    cut: bool = False

    @classmethod
    def from_batch(cls, status: int, body: object, headers: Mapping[str, str] | None = None) -> Response:
        """Make one out of what stands in the results of a batch."""
        return cls(status, headers or {}, json.dumps(body).encode())

    @property
    def text(self) -> str:
        """The beginning of the body as text."""
        return self.body[:2000].decode("utf-8", "replace").strip()

    def json(self) -> dict[str, Any]:
        """Read the JSON object in the body, empty if there is none."""
        try:
            value = json.loads(self.body)
        except (ValueError, RecursionError):
            return {}
        return value if isinstance(value, dict) else {}

    def complaint(self) -> _Complaint:
        """Read what the server says is wrong; its plain words if it does not say so in JSON."""
        body = self.json()
        error = body.get("error", body)
        if not isinstance(error, dict):
            error = {"message": error}
        message, detail = words(error.get("message")), error.get("detail")
        if not message and isinstance(detail, list):
            # Some servers list what is wrong, beside the input, which is not quoted.
            message = "; ".join(
                f"{'.'.join(map(words, elements(item.get('loc'))))}: {words(item.get('msg'))}"
                for item in map(mapping, detail[:5])
            )
        elif not message:
            message = words(detail)
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
    complaint = response.complaint()
    detail = f"{who}: {response.status}" + (f": {home.shown(complaint.message)}" if complaint.message else "")
    hopeless = _fatal_remedy(response.status, complaint, home)
    if hopeless:
        raise Fatal(f"{detail}; {hopeless}")
    if response.status in (408, 409, 425, 429) or response.status >= 500:
        wait = retry_after(response.headers)
        throttled = response.status in _THROTTLED or (response.status == 503 and wait is not None)
        raise Transient(detail, wait, throttled)
    filtered = complaint.flagged or _FILTERED.search(complaint.lower)
    return Reply(FILTERED if filtered else ERROR, detail=detail)


def broken(response: Response, home: Home, who: str) -> Reply:
    """Say what a success without a reply in it means: some servers wrap an error in one."""
    body = response.json()
    if response.cut:
        raise Transient(f"{who}: an incomplete or too long reply ({len(response.body):,} bytes)")
    if not body.get("error"):
        raise Transient(f"{who}: a broken reply: {home.shown(response.text, 100) or 'nothing'}")
    code = mapping(body["error"]).get("code")
    status = code if isinstance(code, int) and 400 <= code < 600 else 500
    return failure(replace(response, status=status), home, who)


def _fatal_remedy(status: int, complaint: _Complaint, home: Home) -> str:
    """Return the way out, if every further call would fail in the same way."""
    paid = status in (400, 402, 403) and _NO_MONEY_TEXT.search(complaint.lower)
    if status == 402 or paid or {complaint.code, complaint.type} & _NO_MONEY:
        return "the account has no money or quota left: see the provider's billing page"
    if status == 401 or (status in (400, 403) and re.search(r"api.key", complaint.lower)):
        return f"the key was refused: check the environment variable {home.key_variable}"
    if status == 403 and not (complaint.flagged or _FILTERED.search(complaint.lower)):
        return f"the key in {home.key_variable} may not use this model"
    if 300 <= status < 400:
        return (
            "the server redirects, and rageval does not send keys to another address: use the new address"
            f" (this is {home.url})"
        )
    if status in (404, 405, 410) or (status in (400, 422) and _HOPELESS.search(complaint.lower)):
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
    milliseconds = _as_number(headers.get("retry-after-ms"))
    seconds = milliseconds / 1000 if milliseconds is not None else _as_number(headers.get("retry-after"))
    if seconds is None:
        # A date as HTTP writes it; one that has passed means no wait.
        with suppress(ValueError, TypeError, IndexError, OverflowError):
            date = parsedate_to_datetime(headers.get("retry-after") or "")
            wait = date.replace(tzinfo=date.tzinfo or UTC) - (now or datetime.now(UTC))
            seconds = max(wait.total_seconds(), 0.0)
    if seconds is None or not math.isfinite(seconds) or seconds < 0:
        return None
    return min(seconds, _LONGEST_WAIT)


def _as_number(text: str | None) -> float | None:
    try:
        return None if text is None else float(text)
    except ValueError:
        return None


def mapping(value: object) -> dict[str, Any]:
    """Return the value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def elements(value: object) -> list[Any]:
    """Return the value if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def words(value: object) -> str:
    """Return the value if it is text or a number, as text."""
    return str(value) if isinstance(value, str | int | float) else ""


def count(value: object) -> int:
    """Return the value if it counts something that one call can take, else 0."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value <= _MOST else 0


# --- Batches, at all providers: many requests handed over, their replies fetched hours later.
#
# The id of a batch also says how its requests were asked, as in
# `batch_1?mode=json_schema&without=temperature`, so that a later process can record it, and learn from what
# was refused.

_FILES = 5  # results may be so many times as long as the requests
_PATIENCE = 5  # files are big: so many times as long as for one question
_ID = re.compile(r"\w[\w.-]{0,199}", re.ASCII)
_ANY = Request("", "", {})
_MARGIN = 24 * 3600.0  # seconds by which clocks may differ
_Send = Callable[[Any], Awaitable[Any]]
_Listed = AsyncIterator[dict[str, Any]]


@dataclass(frozen=True)
class Result:
    """What has become of one request of a batch: a response, or the reason why there is none."""

    key: str
    response: Response | None = None
    detail: str = ""


class RemoteBatches(RemoteModel):
    """A model that also takes batches: a `BatchModel`."""

    batch_limit: int
    batch_bytes: int  # what one batch may hold as text
    state_key: str  # of what the provider says of a batch

    def fitting(self, requests: Sequence[tuple[str, Request]]) -> int:
        """Count how many of these, from the first on, one batch may hold."""
        return self._fitting(self._entries(requests[: self.batch_limit], self._form))

    def intent(self) -> str:
        """Name a batch that is about to be handed over; the name also says how its requests are asked."""
        return _with_form(f"rageval-{secrets.token_hex(16)}", self._form)

    async def submit(self, requests: Sequence[tuple[str, Request]], intent: str = "") -> str:
        """Hand over a batch, each request under its key; the batch's id."""
        keys = {key for key, _ in requests}
        if not requests or len(keys) < len(requests):
            raise UsageError(
                f"a batch of {len(requests)} requests under {len(keys)} keys: expected a key each"
            )
        tag, form = _split_batch_id(intent or self.intent())
        entries = [*self._entries(requests, form)]
        fits = min(self._fitting(entries), self.batch_limit)
        if fits < len(requests):
            raise UsageError(f"{len(requests)} requests are too many for one batch, expected {fits} at most")
        try:
            async with asyncio.timeout(_PATIENCE * self.timeout):
                return _with_form(await self._submit_batch(entries, tag), form)
        except TimeoutError:
            pass  # told below, so that no traceback leads into the SDK and the headers it holds
        raise Lost(f"{self.name}: no answer within {_PATIENCE * self.timeout:g} seconds")

    async def find(
        self, intent: str, keys: Sequence[str], since: str, known_ids: Collection[str]
    ) -> str | None:
        """Find the id of a batch that never came back; None if there is none, `Unclear` if nobody can say."""
        tag, form = _split_batch_id(intent)
        names = {batch.partition("?")[0] for batch in known_ids}
        earliest = datetime.fromisoformat(since).timestamp() - _MARGIN
        batch_id = await self._within_deadline(self._find_batch(tag, keys, earliest, names))
        return None if batch_id is None else _with_form(batch_id, form)

    async def abandon(self, intent: str) -> None:
        """Leave nothing behind of a batch that was not accepted."""

    async def state(self, batch: str) -> str:
        """Tell whether the batch is still being worked on."""
        body = await self._within_deadline(self._fetch_batch(_split_batch_id(batch)[0]))
        # An unknown state may be a new one, and is waited for; what is none is not.
        state = body.get(self.state_key)
        if not isinstance(state, str) or not state:
            raise Transient(f"{self.name}: a broken reply: a batch without a state")
        return ENDED if self._has_ended(body) else WORKING

    async def results(self, batch: str) -> AsyncIterator[tuple[str, Reply]]:
        """Yield the replies with their keys, in any order; what failed or expired has status `ERROR`."""
        name, form = _split_batch_id(batch)
        results = await self._within_deadline(
            self._fetch_results(name, await self._within_deadline(self._fetch_batch(name)))
        )
        call = self._call(_ANY, form)
        sent = {"batch": name, "mode": form.mode}
        for result in results:
            yield result.key, replace(self._outcome(result, form, call), sent=sent, dropped=call.dropped)

    def body(self, request: Request) -> dict[str, Any]:
        """Return what a call of this request sends, in the form that the model is known to take."""
        return dict(self._call(request.fenced(), self._form).arguments)

    def entry(self, key: str, request: Request) -> dict[str, Any]:
        """Return a request as a line of a batch."""
        return self._entry(key, self.body(request))

    def reply_in(self, record: Mapping[str, Any]) -> Reply:
        """Return the reply in a line of the results of a batch, whoever answered it."""
        form = self._form
        call = self._call(_ANY, form)
        reply = self._outcome(self._read_result(record), form, call)
        return replace(reply, sent={"mode": form.mode}, dropped=call.dropped)

    def _entries(
        self, requests: Iterable[tuple[str, Request]], form: RequestForm
    ) -> Iterator[dict[str, Any]]:
        """Yield the requests as a batch holds them, each fenced as it would be if it were asked alone."""
        for key, request in requests:
            yield self._entry(key, self._call(request.fenced(), form).arguments)

    def _fitting(self, entries: Iterable[dict[str, Any]]) -> int:
        sizes = accumulate(len(as_line(entry)) for entry in entries)
        return sum(1 for size in sizes if size <= self.batch_bytes)

    def _outcome(self, result: Result, form: RequestForm, call: Call) -> Reply:
        """Return the reply to one request; nothing that became of it stops the others."""
        response = result.response
        if response is None:
            return Reply(ERROR, detail=self.home.shown(f"{self.name}: {result.detail}"))
        if response.status in (400, 422) and self._form == form:
            self._form = self._other_form(form, response, call) or form
        try:
            return self._reply(response)
        except (Transient, Fatal) as error:
            return Reply(ERROR, detail=str(error))

    async def _within_deadline(self, work: Awaitable[Any]) -> Any:
        """Return what comes of the work, within a time that suits files."""
        longest = _PATIENCE * self.timeout
        try:
            async with asyncio.timeout(longest):
                return await work
        except TimeoutError:
            pass  # told below, so that no traceback leads into the SDK and the headers it holds
        raise Transient(f"{self.name}: no answer within {longest:g} seconds")

    async def _body(self, send: _Send, batch: str = "") -> dict[str, Any]:
        """Return the object that the server answers with, which has an id."""
        response = await self._send(send)
        if response.status == 404 and batch:
            raise Fatal(
                f"{self.name}: no batch {batch} at {self.endpoint}; is it another account's? If the provider"
                " has deleted it, ask for what is missing without --batch, or for everything with --refresh"
            )
        body = self._success(response).json()
        if not body.get("id"):
            raise Fatal(broken(response, self.home, self.name).detail)
        self._checked_id(body["id"])
        return body

    async def _create_once(self, send: _Send) -> str:
        """Return the id of what is created; raise `Lost` if nobody knows whether it was."""
        response, reason = None, ""
        try:
            response = await self._send(send)
        except Unreachable:
            raise
        except Transient as error:
            reason = str(error)
        if response is None:  # told here, so that no traceback leads into the SDK
            raise Lost(reason)
        if 300 <= response.status < 500 and response.status != 408:
            self._success(response)
        reason = f"{self.name}: {response.status}: {self.home.shown(response.text, 100) or 'nothing'}"
        if response.status in (503, 529) and retry_after(response.headers) is not None:
            raise Transient(reason, retry_after(response.headers), throttled=True)
        name = response.json().get("id") if 200 <= response.status < 300 else None
        if not name:
            raise Lost(reason)
        return self._checked_id(name)

    async def _list_batches(self, ask: Callable[..., Awaitable[Any]], earliest: float) -> _Listed:
        """Yield the batches at the provider, latest first, back to the earliest that may be wanted."""
        last, seen = "", set[str]()
        while True:
            response = await self._send(partial(ask, after=last))
            if response.status in (404, 405, 501):
                raise Unclear(f"{self.endpoint} does not list its batches", later=False)
            body = self._success(response).json()
            for batch in map(mapping, elements(body.get("data"))):
                if _when(batch.get("created_at")) < earliest:
                    return
                last = words(batch.get("id"))
                yield batch
            if not body.get("has_more") or last in seen:
                return
            seen.add(last)

    async def _file_records(self, send: _Send) -> list[dict[str, Any]]:
        """Return the lines of a file; none if the provider no longer keeps it: they are asked again."""
        response = await self._send(send, _FILES * self.batch_bytes)
        if response.cut and 200 <= response.status < 300:
            raise Transient(f"{self.name}: an incomplete file of results")
        if response.status in (404, 410):
            return []
        records = []
        for line in self._success(response).body.splitlines():
            # A line that is no object is left out, and what it was about so asked again.
            with suppress(ValueError, RecursionError):
                records.append(mapping(json.loads(line)))
        return [record for record in records if isinstance(record.get("custom_id"), str)]

    def _success(self, response: Response) -> Response:
        if not 200 <= response.status < 300:
            raise Fatal(failure(response, self.home, self.name).detail)
        return response

    def _checked_id(self, name: object) -> str:
        """Return the id, which is to stand in an address."""
        if not isinstance(name, str) or not _ID.fullmatch(name):
            raise Fatal(f"{self.name}: {self.home.shown(repr(name), 80)} is not a valid id")
        return name

    @abstractmethod
    def _entry(self, key: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """One request in a batch."""

    @abstractmethod
    def _read_result(self, record: Mapping[str, Any]) -> Result:
        """Return what has become of one request, by a line of the results."""

    @abstractmethod
    async def _submit_batch(self, requests: list[dict[str, Any]], tag: str) -> str:
        """Return the id of a new batch, which bears the tag where the provider has a place for it."""

    @abstractmethod
    async def _find_batch(
        self, tag: str, keys: Sequence[str], earliest: float, known_ids: Collection[str]
    ) -> str | None:
        """Return the provider's id of the batch with this tag, or with these keys where there is no tag."""

    @abstractmethod
    async def _fetch_batch(self, batch: str) -> dict[str, Any]:
        """Return what the provider says of a batch."""

    @abstractmethod
    def _has_ended(self, body: Mapping[str, Any]) -> bool:
        """Whether nothing more will come of it."""

    @abstractmethod
    async def _fetch_results(self, batch: str, body: Mapping[str, Any]) -> list[Result]:
        """Return what has become of its requests."""


def as_line(record: Mapping[str, Any]) -> str:
    """Write the record as a line of JSON."""
    return json.dumps(record, ensure_ascii=True, separators=(",", ":")) + "\n"


def _when(created: object) -> float:
    """Seconds since 1970, as one provider or the other writes them; infinite if it is neither."""
    try:
        return datetime.fromisoformat(created).timestamp() if isinstance(created, str) else float(created)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return math.inf


def _with_form(batch: str, form: RequestForm) -> str:
    parameters = {"mode": form.mode, **({"without": ",".join(sorted(form.refused))} if form.refused else {})}
    return f"{batch}?{urlencode(parameters, safe=',')}"


def _split_batch_id(batch: str) -> tuple[str, RequestForm]:
    """Return the provider's own id, and how the requests were asked.

    >>> _split_batch_id(_with_form("batch_1", RequestForm("text", frozenset({"temperature"}))))
    ('batch_1', RequestForm(mode='text', refused=frozenset({'temperature'})))
    """
    name, _, parameters = batch.partition("?")
    if not _ID.fullmatch(name):
        raise UsageError(
            f"{batch!r} is not the id of a batch; expected something like batch_1?mode=json_schema"
        )
    fields = parse_qs(parameters)
    refused = fields.get("without", [""])[0]
    return name, RequestForm(
        fields.get("mode", ["json_schema"])[0], frozenset(filter(None, refused.split(",")))
    )
