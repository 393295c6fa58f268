"""HTTP as downloads need it: https only, redirects one by one, a token that only its own host gets to see."""

from __future__ import annotations

import http.client
import os
import re
import socket
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urljoin, urlsplit

from rageval.datasets.catalogue import HUB
from rageval.errors import InputError
from rageval.text import visible
from rageval.version import __version__

_REDIRECTS = (301, 302, 303, 307, 308)
_MOST_REDIRECTS = 10
_LONGEST_WAIT = 120.0
_SHA256 = re.compile(r"[0-9a-f]{64}")
_LOOPBACK = ("127.0.0.1", "::1", "localhost")


class Again(Exception):
    """It did not work this time; `wait` is for how many seconds the server asks to be left alone."""

    def __init__(self, message: str, wait: float | None = None) -> None:
        super().__init__(message)
        self.wait = wait


@dataclass
class Reply:
    """An open answer: 200, 206 or 416. `linked` is what the hub says of the file before it redirects."""

    status: int
    headers: Mapping[str, str]
    stream: Any
    linked: dict[str, str]

    @property
    def length(self) -> int | None:
        return whole_number(self.headers.get("Content-Length"))

    @property
    def etag(self) -> str:
        """What changes with the content; empty if nothing is sure to."""
        found = self.headers.get("ETag") or ""
        return "" if found.startswith("W/") else found

    @property
    def linked_sha256(self) -> str | None:
        found = self.linked.get("X-Linked-Etag", "").strip('"')
        return found if _SHA256.fullmatch(found) else None

    def read(self, size: int) -> bytes:
        """What has arrived, up to this many bytes; nothing at the end."""
        try:
            block: bytes = self.stream.read1(size)
        except (OSError, http.client.HTTPException) as error:
            raise Again(_reason(error)) from error
        return block

    def close(self) -> None:
        self.stream.close()


def _http_is_allowed() -> bool:
    return os.environ.get("RAGEVAL_ALLOW_HTTP", "") not in ("", "0")


@dataclass(frozen=True)
class Transport:
    """How downloads are made. `limit` is for files whose size nobody has published."""

    allow_http: bool = field(default_factory=_http_is_allowed)
    timeout: float = 30.0
    attempts: int = 5
    limit: int = 64 * 2**30
    pause: Callable[[float], None] = time.sleep

    def open(self, url: str, headers: Mapping[str, str] | None = None) -> Reply:
        """The answer to a GET, after redirects; an `InputError` says why there is none, `Again` not yet."""
        url = on_the_hub(url)
        linked: dict[str, str] = {}
        for _ in range(_MOST_REDIRECTS):
            self._refuse_unsafe(url)
            answer = self._answer(url, {**(headers or {}), **_authorization(url)})
            for name in ("X-Linked-Etag", "X-Linked-Size"):
                if name in answer.headers and origin(url) == origin(_endpoint()):
                    linked[name] = answer.headers[name]
            if answer.status in _REDIRECTS and "Location" in answer.headers:
                answer.close()
                url = urljoin(url, answer.headers["Location"])
                continue
            if answer.status in (200, 206, 416):
                _refuse_encoded(answer.headers, url)
                return Reply(answer.status, answer.headers, answer, linked)
            answer.close()
            raise _refusal(answer.status, answer.headers, url)
        raise InputError(f"{shown(url)}: redirects more than {_MOST_REDIRECTS} times")

    def _refuse_unsafe(self, url: str) -> None:
        scheme = urlsplit(url).scheme
        if scheme != "https" and not (scheme == "http" and self.allow_http):
            raise InputError(
                f"{shown(url)}: expected https; --allow-http (or RAGEVAL_ALLOW_HTTP=1) allows plain http"
            )

    def _answer(self, url: str, headers: dict[str, str]) -> Any:
        agent = {"User-Agent": f"rageval/{__version__}", "Accept-Encoding": "identity"}
        try:
            request = urllib.request.Request(url, headers={**agent, **headers})
            return urllib.request.build_opener(_AsIs).open(request, timeout=self.timeout)
        except (OSError, http.client.HTTPException, ValueError) as error:
            cause = error.reason if isinstance(error, urllib.error.URLError) else error
            if isinstance(cause, TimeoutError | ConnectionResetError | http.client.HTTPException):
                raise Again(_reason(error)) from error
            raise InputError(f"{shown(url)}: cannot be reached: {_reason(error)}") from None


class _AsIs(urllib.request.HTTPErrorProcessor):
    """Every answer is an answer: redirects and errors are looked at by us."""

    def http_response(self, request: Any, response: Any) -> Any:
        return response

    https_response = http_response


def _endpoint() -> str:
    return (os.environ.get("HF_ENDPOINT") or HUB).rstrip("/")


def on_the_hub(url: str) -> str:
    """The address, at the hub that `HF_ENDPOINT` names if it is one of the hub's."""
    return _endpoint() + url.removeprefix(HUB) if url.startswith(f"{HUB}/") else url


def origin(url: str) -> tuple[str, str, int | None]:
    parts = urlsplit(url)
    default = {"https": 443, "http": 80}.get(parts.scheme)
    return parts.scheme, (parts.hostname or "").lower(), parts.port or default


def _authorization(url: str) -> dict[str, str]:
    """The hub's token, for the hub alone, and never in clear over a network."""
    token = os.environ.get("HF_TOKEN", "").strip()
    private = url.startswith("https://") or urlsplit(url).hostname in _LOOPBACK
    if not token or not private or origin(url) != origin(_endpoint()):
        return {}
    if not token.isascii() or not token.isprintable():
        raise InputError("HF_TOKEN: expected a token of printable ASCII characters")
    return {"Authorization": f"Bearer {token}"}


def shown(url: str) -> str:
    """The address for messages: without user, password and query, which may be secrets."""
    parts = urlsplit(url)
    port = f":{parts.port}" if parts.port else ""
    return visible(f"{parts.scheme}://{parts.hostname or ''}{port}{parts.path}")


def whole_number(text: str | None) -> int | None:
    return int(text) if text and text.isascii() and text.isdigit() else None


def _refuse_encoded(headers: Mapping[str, str], url: str) -> None:
    encoding = headers.get("Content-Encoding", "identity")
    if encoding.lower() != "identity":
        raise InputError(f"{shown(url)}: arrives as {visible(encoding)}, expected the file as it is")


def _refusal(status: int, headers: Mapping[str, str], url: str) -> Exception:
    if status in (408, 425, 429) or status >= 500:
        return Again(f"the server answers {status}", _retry_after(headers.get("Retry-After")))
    if status in (401, 403):
        way = "set HF_TOKEN, and accept its terms on its page" if origin(url) == origin(_endpoint()) else ""
        return InputError(f"{shown(url)}: the server answers {status}, no permission{way and '; ' + way}")
    reason = {404: "there is no such file", 410: "the file is gone"}.get(status, "expected the file")
    return InputError(f"{shown(url)}: the server answers {status}, {reason}")


def _retry_after(text: str | None) -> float | None:
    """Seconds, from a number or a date, at most two minutes; None if it is neither."""
    if text is None:
        return None
    seconds: float | None = whole_number(text.strip())
    if seconds is None:
        try:
            seconds = parsedate_to_datetime(text).timestamp() - time.time()
        except (ValueError, OverflowError):
            return None
    return min(max(seconds, 0.0), _LONGEST_WAIT)


def _reason(error: Exception) -> str:
    cause = error.reason if isinstance(error, urllib.error.URLError) else error
    if isinstance(cause, TimeoutError):
        return "no byte arrived in time"
    if isinstance(cause, socket.gaierror):
        return "the name of the server is not known (no network?)"
    if isinstance(cause, ssl.SSLError):
        return f"no safe connection ({cause.reason})"
    if isinstance(cause, http.client.IncompleteRead):
        return "the connection broke off"
    text = getattr(cause, "strerror", None) or str(cause) or type(cause).__name__
    return visible(str(text))
