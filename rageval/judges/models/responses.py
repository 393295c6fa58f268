"""What a server sent back, and what its refusals mean: worth another try, hopeless, or a failed reply.

Read from status, headers and bytes alone, so that all providers and all versions of their SDKs are alike.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from rageval.judges.base import ERROR, FILTERED, Fatal, Reply, Transient
from rageval.judges.models.hosts import Home

LONGEST = 4 * 2**20  # bytes of a response, decoded
LONGEST_WAIT = 600.0  # seconds; a server that asks for more is asked again after these
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
class Response:
    """What a server sent, as it came; `cut` if not all of it could be read."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    cut: bool = False

    @classmethod
    def made(cls, status: int, body: object, headers: Mapping[str, str] | None = None) -> Response:
        """Out of what stands in the results of a batch."""
        return cls(status, headers or {}, json.dumps(body).encode())

    @property
    def text(self) -> str:
        """The beginning of the body as text."""
        return self.body[:2000].decode("utf-8", "replace").strip()

    def json(self) -> dict[str, Any]:
        """The JSON object in the body, empty if there is none."""
        try:
            found = json.loads(self.body)
        except (ValueError, RecursionError):
            return {}
        return found if isinstance(found, dict) else {}

    def complaint(self) -> Complaint:
        """What the server says is wrong; its plain words if it does not say so in JSON."""
        body = self.json()
        error = body.get("error", body)
        if not isinstance(error, dict):
            error = {"message": error}
        message = words(error.get("message")) or _details(error.get("detail"))
        return Complaint(
            message or ("" if body else self.text),
            words(error.get("type")),
            words(error.get("code") or mapping(error.get("details")).get("error_code")),
            words(error.get("param")),
            flagged="reasons" in mapping(error.get("metadata")),
        )


@dataclass(frozen=True)
class Complaint:
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
    """What a response that is no success means for one request; raised if it means more than that."""
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
    """What a success without a reply in it means: some servers wrap an error in one."""
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


def _hopeless(status: int, said: Complaint, home: Home) -> str:
    """The way out, if every further call would fail in the same way."""
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
    """The seconds a server asks to wait, between 0 and `LONGEST_WAIT`; None if it does not say so readably.

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
    return min(seconds, LONGEST_WAIT)


def _details(detail: object) -> str:
    """The complaints of a server that lists them, without the input it quotes."""
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
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def words(value: object) -> str:
    """The value if it is text or a number, as text."""
    return str(value) if isinstance(value, str | int | float) else ""


def count(value: object) -> int:
    """The value if it counts something that one call can take, else 0."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value <= _MOST else 0
