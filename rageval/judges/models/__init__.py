"""Who is asked: models by name. A provider's SDK is imported when its model is asked for the first time."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module

from rageval.errors import RagevalError, UsageError
from rageval.judges.base import Model, checked_model
from rageval.judges.models.providers import PROVIDERS
from rageval.names import suggestion
from rageval.plugins import plugin, plugin_names
from rageval.text import visible

_EXPECTED = (
    "openai:MODEL, openai:MODEL@http://HOST/v1, ollama:MODEL, vllm:MODEL, anthropic:MODEL or frozen:FILE"
)
_FROZEN = "frozen"  # judgements of a file, in place of a model
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
    word, _, name = spec.strip().partition(":")
    word = word.lower().replace("_", "-")
    if word in _NO_MODELS:
        raise UsageError(f"{word} {_NO_MODELS[word]}")
    provider = PROVIDERS.get(word)
    if provider is None:
        make = _plugged_in(word, spec)
    else:
        module, _, class_name = provider.model.partition(":")
        make = partial(getattr(import_module(f"{__name__}.{module}"), class_name), provider=provider)
    if not name:
        raise UsageError(f"the model {visible(spec)!r} has no name; expected {_EXPECTED}")
    # A model behind a network is at its provider's or at the address behind the `@`.
    parts = None if provider is None else _WITH_ADDRESS.fullmatch(name)
    if parts:
        return make(parts["model"], parts["url"], **options)
    if provider is not None and _ADDRESS_ONLY.fullmatch(name):
        raise UsageError(f"the address in {visible(name)!r} has no scheme; expected @http://… or @https://…")
    if provider is None and word != _FROZEN:
        return _made_by_plugin(make, spec, name, options)
    return make(name, **options)


def _made_by_plugin(make: Callable[..., Model], spec: str, name: str, options: Mapping[str, object]) -> Model:
    """Return the model that a plug-in makes; what goes wrong there is said with its name."""
    try:
        model = make(name, **options)
    except RagevalError:
        raise
    except Exception as error:  # somebody's function may fail in any way
        word = visible(spec.partition(":")[0])
        raise UsageError(
            f"the plug-in {word!r} cannot make the model {visible(name)!r} ({type(error).__name__}:"
            f" {error!s:.200})"
        ) from error
    return checked_model(model, spec)


def is_remote(spec: str) -> bool:
    """Tell whether a spec names a model behind a network, which takes the option `timeout`."""
    return spec.strip().partition(":")[0].lower().replace("_", "-") in PROVIDERS


def _plugged_in(word: str, spec: str) -> Callable[..., Model]:
    """Return what makes models of this provider that is none of ours: a file's judgements, or a package's."""
    if word == _FROZEN:
        from rageval.judges.offline import FrozenJudgements

        return FrozenJudgements
    factory: Callable[..., Model] | None = plugin("models", word.replace("-", "_"))
    if factory is None:
        names = [*PROVIDERS, _FROZEN, *_NO_MODELS, *map(str.lower, plugin_names("models"))]
        hint = suggestion(word, names) or f"; expected {_EXPECTED}"
        raise UsageError(f"unknown provider {visible(word)!r} in the model {visible(spec)!r}{hint}")
    return factory
