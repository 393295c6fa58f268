"""Where a provider lives, and which key may go there: a key is bound to a host, never to a spec.

* The provider's own host over https (api.openai.com, api.anthropic.com and their regions): the provider's
  variable, `OPENAI_API_KEY` or `ANTHROPIC_API_KEY`.
* The host that `OPENAI_BASE_URL` or `ANTHROPIC_BASE_URL` names: the same variable, because both were set by
  the same person. A spec without an address goes there.
* Any other host that a spec names: only `RAGEVAL_API_KEY_` and the host in capitals, a `_` for each dot
  (`RAGEVAL_API_KEY_OPENROUTER_AI`) and two for a `-`, with the port unless it is that of https
  (`RAGEVAL_API_KEY_LOCALHOST_8000`); without it, the word `none`, which servers without keys accept.
* Who names another variable (`key_from="MY_KEY"`) has that one sent.

Keys are read when a client is made and kept in no object here. Redirects are not followed, and a host that is
not the provider's gets no header the person's environment adds for the provider.
"""

from __future__ import annotations

import os
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import SplitResult, urlsplit

from rageval.errors import UsageError
from rageval.judges.base import Fatal
from rageval.text import visible

_PLACEHOLDER = "none"
_HIDDEN = "***"
_SHORTEST_SECRET = 8  # "none" and "EMPTY" are words, not secrets
_LOOKS_LIKE_A_KEY = re.compile(r"\b(?:sk|pk|rk)-[\w*.-]{6,}|(?i:(?<=bearer ))[\w.~+/-]{8,}=*")
_PORTS = {"http": 80, "https": 443}
_CREDENTIALS = {"authorization": "Bearer ", "x-api-key": ""}
_NEEDED = re.compile(
    r"accept(-encoding)?|connection|content-(length|type)|host|transfer-encoding|user-agent"
    r"|anthropic-(version|beta)|x-stainless-.*"
)


@dataclass(frozen=True)
class Provider:
    """A wire format, and where its inventor lives."""

    name: str
    url: str
    host: str
    key_variable: str
    url_variable: str
    error: str  # the SDK's name of the base of its errors
    finds_keys: bool = False  # its SDK has more places for a key than the variable
    version: str = ""  # what its SDK adds to the address by itself


OPENAI = Provider(
    "openai",
    "https://api.openai.com/v1",
    "api.openai.com",
    "OPENAI_API_KEY",
    "OPENAI_BASE_URL",
    "OpenAIError",
)
ANTHROPIC = Provider(
    "anthropic",
    "https://api.anthropic.com",
    "api.anthropic.com",
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_BASE_URL",
    "AnthropicError",
    finds_keys=True,
    version="/v1",
)


@dataclass(frozen=True)
class Home:
    """An address and the environment variable with its key.

    `trusted` is the provider's own host or the one the person's environment names; `without_key` is what is
    sent to a server that may need no key; `has_version` means that the SDK adds `/v1` to the address.
    """

    url: str
    key_variable: str
    trusted: bool
    key_needed: bool
    without_key: str | None = _PLACEHOLDER
    has_version: bool = False

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
        for variable in (self.key_variable, "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"):
            key = os.environ.get(variable, "").strip()
            if len(key) >= _SHORTEST_SECRET:
                text = text.replace(key, _HIDDEN)
        return text

    def shown(self, text: str, longest: int = 300) -> str:
        """Show what a server said as a message may: without keys and control characters, and cut."""
        text = visible(_LOOKS_LIKE_A_KEY.sub(_HIDDEN, self.hide(text[: 20 * longest])))
        return text if len(text) <= longest else text[: longest - 1] + "…"


def home_of(provider: Provider, url: str | None = None, key_from: str | None = None) -> Home:
    """Say where to send calls, and the variable whose key may go there.

    >>> home_of(OPENAI, "https://openrouter.ai/api/v1").key_variable
    'RAGEVAL_API_KEY_OPENROUTER_AI'
    """
    configured = os.environ.get(provider.url_variable, "").strip()
    parts = _checked(url or configured or provider.url)
    official = parts.scheme == "https" and f".{parts.hostname}".endswith(f".{provider.host}")
    trusted = official or (bool(configured) and _origin(parts) == _origin(_checked(configured)))
    parts = parts._replace(path=parts.path.removesuffix(provider.version))
    sdk_finds_it = trusted and provider.finds_keys and key_from is None
    return Home(
        parts.geturl(),
        key_from or (provider.key_variable if trusted else _key_variable(parts.geturl())),
        trusted,
        key_needed=key_from is not None or (official and not sdk_finds_it),
        without_key=None if sdk_finds_it else _PLACEHOLDER,
        has_version=bool(provider.version),
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


def only_needed_headers(key: str) -> Callable[[Any], Awaitable[None]]:
    """Make a hook for the client: of the headers, what the call needs, with this key and no other."""

    async def strip(request: Any) -> None:
        for name in list(request.headers.keys()):
            if name.lower() in _CREDENTIALS:
                request.headers[name] = _CREDENTIALS[name.lower()] + key
            elif not _NEEDED.fullmatch(name.lower()):
                del request.headers[name]

    return strip


def _origin(parts: SplitResult) -> tuple[str, str, int]:
    return parts.scheme, parts.hostname or "", parts.port or _PORTS[parts.scheme]


def _checked(url: str) -> SplitResult:
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
