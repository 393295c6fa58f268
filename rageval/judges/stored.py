"""A stored reply as text: in the database and in the JSON lines that stores exchange."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from rageval.errors import UsageError
from rageval.judges.base import FILTERED, OK, REFUSED, TRUNCATED, Reply, Request, Usage

STORABLE = (OK, REFUSED, TRUNCATED, FILTERED)  # all that a model has said; an error says nothing
_OF_SECRETS = re.compile(r"(^|_)(API_?KEY|KEY|TOKEN|SECRET|PASSWORD|CREDENTIALS?)(_|$)", re.IGNORECASE)
_HEAD = ("key", "model", "endpoint", "created")
_SHORTEST_SECRET = 16  # what is shorter might be a word of the reply


@dataclass(frozen=True, slots=True)
class Stored:
    """A reply with the question, who was asked, and when."""

    key: str
    model: str
    endpoint: str
    request: Request
    reply: Reply
    created: str

    def is_genuine(self) -> bool:
        """Whether the question is the one that the key belongs to."""
        return not self.model or self.request.key(self.model, self.endpoint) == self.key


def as_json(value: Any) -> str:
    """Compact text without anything that a database or a terminal could stumble over."""
    return json.dumps(value, sort_keys=True, ensure_ascii=True, separators=(",", ":"))


def _filled(record: Any) -> dict[str, Any]:
    """The fields of a dataclass that say something."""
    return {field.name: value for field in fields(record) if (value := getattr(record, field.name))}


def request_as_record(request: Request) -> dict[str, Any]:
    """Everything of the request, so that its key can be checked anywhere."""
    return {field.name: getattr(request, field.name) for field in fields(request) if field.name in _TYPES}


def reply_as_record(reply: Reply) -> dict[str, Any]:
    """The reply without its empty fields."""
    return {**_filled(reply), "usage": _filled(reply.usage)}


def request_of(record: Mapping[str, Any]) -> Request:
    """The request of a record; `ValueError` if it is none."""
    return Request(**_known(Request, record))


def reply_of(record: Mapping[str, Any]) -> Reply:
    """The reply of a record; `ValueError` if it is none."""
    known = _known(Reply, record)
    known["usage"] = Usage(**_known(Usage, known.get("usage", {})))
    known["dropped"] = tuple(known.get("dropped", ()))
    return Reply(**known)


def _known(kind: type[Any], record: Any) -> dict[str, Any]:
    """What this version knows of a record, which a newer one may have written; checks the types."""
    if not isinstance(record, Mapping):
        raise ValueError(f"expected a {kind.__name__.lower()} as an object, found {record!r:.80}")
    names = [field.name for field in fields(kind) if field.name in _TYPES]
    known = {name: record[name] for name in names if name in record}
    for name, value in known.items():
        if not isinstance(value, _TYPES[name]) or isinstance(value, bool):
            raise ValueError(f"expected another type in {name}, found {value!r:.80}")
    return known


_NUMBER = (int, float)
_TYPES: dict[str, Any] = {
    **dict.fromkeys(("system", "user", "name", "status", "text", "detail", "served", "request_id"), str),
    **dict.fromkeys(("max_tokens", "sample", "input", "output", "cached", "reasoning"), int),
    **dict.fromkeys(("schema", "usage", "sent"), Mapping),
    "temperature": (*_NUMBER, type(None)),
    "latency": _NUMBER,
    "dropped": (list, tuple),
}


def line_of(stored: Stored) -> str:
    """One line of JSON, to exchange and to archive."""
    head = {name: getattr(stored, name) for name in _HEAD}
    body = {"request": request_as_record(stored.request), "reply": reply_as_record(stored.reply)}
    return as_json({**head, **body})


def from_line(line: str) -> Stored:
    """What a line says; `ValueError` with the reason if it is not a stored reply."""
    record = json.loads(line)
    try:
        head = {name: record[name] for name in _HEAD}
        stored = Stored(**head, request=request_of(record["request"]), reply=reply_of(record["reply"]))
    except (TypeError, KeyError) as error:
        raise ValueError(f"no stored reply: {error}") from error
    if not all(isinstance(value, str) for value in head.values()):
        raise ValueError("no stored reply: expected text as key, model, endpoint and created")
    if stored.reply.status not in STORABLE:
        raise ValueError(f"expected a reply that is {', '.join(STORABLE)}, found {stored.reply.status!r:.80}")
    if not stored.is_genuine():
        raise ValueError("the question is not the one that the key belongs to; was the line edited?")
    return stored


def checksum(*columns: str) -> str:
    """Tells a row that was read as it was written from one that was not."""
    return hashlib.blake2b("\n".join(columns).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def secrets_in(environment: Mapping[str, str]) -> list[str]:
    """The keys a process was given, as they would look in JSON."""
    return [
        as_json(value)[1:-1]
        for name, value in environment.items()
        if _OF_SECRETS.search(name) and len(value) >= _SHORTEST_SECRET
    ]


def without(text: str, secrets: list[str]) -> str:
    """The text with every secret struck out."""
    for secret in secrets:
        text = text.replace(secret, "***")
    return text


def refuse_credentials(endpoint: str) -> str:
    """The endpoint, unless it holds a password: an endpoint is stored and shown.

    >>> refuse_credentials("https://api.example/v1")
    'https://api.example/v1'
    """
    if "@" in endpoint.partition("://")[2].partition("/")[0]:
        raise UsageError("the base URL holds a user name or password; give the key in the environment")
    return endpoint
