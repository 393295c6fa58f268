"""The providers of models, one row each: what a spec calls it, who talks to it, where it lives, its keys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace


@dataclass(frozen=True)
class Provider:
    """A provider, or a server that people start.

    Parameters
    ----------
    name
        What a spec calls it: `openai` in `openai:MODEL`.
    model
        The class that speaks its wire format: a module of this package, a colon, the class.
    sdk
        The package that carries the calls, and the base of its errors.
    endpoint
        Where calls go, if nobody names another address.
    host
        The host, with all below it, that gets the provider's key; nothing for a server of one's own, whose
        key is that of its address.
    key_variable, url_variable
        The environment variables with the key, and with another address.
    headers
        Sent with each call, besides those of the SDK; `{key}` stands for the key.
    finds_keys
        Whether the SDK has more places for a key than the variable.
    version
        What the SDK adds to the address by itself.
    """

    name: str
    model: str
    sdk: str
    sdk_error: str
    endpoint: str
    host: str = ""
    key_variable: str = ""
    url_variable: str = ""
    headers: Mapping[str, str] = field(default_factory=dict, hash=False)
    finds_keys: bool = False
    version: str = ""


# Each row says all that is its own: a variable that is another provider's would send the key there.
OPENAI = Provider(
    name="openai",
    model="_openai:OpenAIChat",
    sdk="openai",
    sdk_error="OpenAIError",
    endpoint="https://api.openai.com/v1",
    host="api.openai.com",
    key_variable="OPENAI_API_KEY",
    url_variable="OPENAI_BASE_URL",
)
OPENAI_DECISIONS = replace(OPENAI, name="openai-decisions", model="_openai:OpenAIDecisions")
ANTHROPIC = Provider(
    name="anthropic",
    model="_anthropic:AnthropicMessages",
    sdk="anthropic",
    sdk_error="AnthropicError",
    endpoint="https://api.anthropic.com",
    host="api.anthropic.com",
    key_variable="ANTHROPIC_API_KEY",
    url_variable="ANTHROPIC_BASE_URL",
    finds_keys=True,
    version="/v1",
)
# Servers on this machine that speak OpenAI's format, where they listen if nobody says otherwise.
_SERVER = replace(OPENAI, host="", key_variable="", url_variable="")
OLLAMA = replace(_SERVER, name="ollama", endpoint="http://127.0.0.1:11434/v1")
VLLM = replace(_SERVER, name="vllm", endpoint="http://127.0.0.1:8000/v1")
PROVIDERS = {provider.name: provider for provider in (OPENAI, OPENAI_DECISIONS, OLLAMA, VLLM, ANTHROPIC)}
