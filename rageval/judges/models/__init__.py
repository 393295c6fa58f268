"""Who is asked: models by name. A provider's SDK is imported when its model is asked for the first time."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import import_module

from rageval.errors import UsageError
from rageval.judges.base import Model
from rageval.names import suggestion
from rageval.text import visible

_EXPECTED = (
    "openai:MODEL, openai:MODEL@http://HOST/v1, ollama:MODEL, vllm:MODEL, anthropic:MODEL or frozen:FILE"
)
_BUILTIN = {
    "openai": ("models._openai", "OpenAIChat"),
    "openai_decisions": ("models._openai", "OpenAIDecisions"),
    "ollama": ("models._openai", "Ollama"),
    "vllm": ("models._openai", "Vllm"),
    "anthropic": ("models._anthropic", "AnthropicMessages"),
    "frozen": ("offline", "FrozenJudgements"),
}
_REMOTE = ("openai", "openai_decisions", "ollama", "vllm", "anthropic")
_WITH_ADDRESS = re.compile(r"(?P<model>.+?)@(?P<url>https?://.*)", re.DOTALL)
_ADDRESS_ONLY = re.compile(r".+@(?:localhost|[\w.-]+:\d+|\d+(?:\.\d+){3})(?:[:/].*)?|.+@[\w.-]+/v\d+/?")
_NO_MODELS = {
    "scripted": "is made in Python: rageval.testing.ScriptedModel([…])",
    "lexical": "is not a model: see rageval.judges.offline",
}


def model_named(spec: str, **options: object) -> Model:
    """Make the model named by a spec, such as `openai:MODEL` or `openai:MODEL@http://127.0.0.1:8000/v1`.

    `ollama:MODEL` and `vllm:MODEL` are asked where these servers listen on this machine, or at an address.

    Packages add providers with an entry point in the group `rageval.models`: which is called with the text
    after the colon and the options, and returns a `rageval.judges.base.Model`. `openai-decisions:MODEL` is
    experimental.

    Parameters
    ----------
    spec
        The provider, a colon, the model; and an address behind `@`, if it is not the provider's own.
    **options
        What goes to the model: `timeout` (seconds) and `key_from` (an environment variable) for those behind
        a network.

    Returns
    -------
    Model
        The model. Nothing is asked yet.

    Raises
    ------
    UsageError
        No provider has this name.

    Examples
    --------
    >>> model_named("opanai:small")
    Traceback (most recent call last):
    rageval.errors.UsageError: unknown provider 'opanai' in the model 'opanai:small'; did you mean openai?
    """
    provider, _, name = spec.strip().partition(":")
    provider = provider.lower().replace("-", "_")
    if provider in _NO_MODELS:
        raise UsageError(f"{provider} {_NO_MODELS[provider]}")
    make = _maker(provider, spec)
    if not name:
        raise UsageError(f"the model {visible(spec)!r} has no name; expected {_EXPECTED}")
    if provider not in _REMOTE:
        made: Model = make(name, **options)
        return made
    return _at_home(make, name, options)


def is_remote(spec: str) -> bool:
    """Tell whether a spec names a model behind a network, which takes the option `timeout`."""
    return spec.strip().partition(":")[0].lower().replace("-", "_") in _REMOTE


def _at_home(make: Callable[..., Model], name: str, options: dict[str, object]) -> Model:
    """Return a model behind a network, at its provider's or at the address behind the `@`."""
    parts = _WITH_ADDRESS.fullmatch(name)
    if parts:
        return make(parts["model"], parts["url"], **options)
    if _ADDRESS_ONLY.fullmatch(name):
        raise UsageError(f"the address in {visible(name)!r} has no scheme; expected @http://… or @https://…")
    return make(name, **options)


def _maker(provider: str, spec: str) -> Callable[..., Model]:
    """Return what makes models of this provider: ours, or what a package adds."""
    if provider in _BUILTIN:
        module, name = _BUILTIN[provider]
        made: Callable[..., Model] = getattr(import_module(f"rageval.judges.{module}"), name)
        return made
    from rageval.plugins import plugin, plugin_names

    found: Callable[..., Model] | None = plugin("models", provider)
    if found is None:
        known = [*_BUILTIN, *_NO_MODELS, *map(str.lower, plugin_names("models"))]
        hint = suggestion(provider, known) or f"; expected {_EXPECTED}"
        raise UsageError(f"unknown provider {visible(provider)!r} in the model {visible(spec)!r}{hint}")
    return found
