"""What a call costs, by a table with a date; a model that is not in it has no price, which is not zero."""

from __future__ import annotations

import math
import os
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from rageval.errors import InputError
from rageval.judges.base import Request, Usage
from rageval.judges.stored import as_json

_BUILT_IN = Path(__file__).with_name("prices.toml")
_DATED = re.compile(r"-(\d{4}-\d{2}-\d{2}|\d{8}|latest)$")
_ADDRESS = re.compile(r"@https?://.*", re.DOTALL)
_PRICED_AS = {"openai-decisions": "openai"}  # another way to ask the same models
_MILLION = 1_000_000
_BYTES_A_TOKEN = 3  # English has four; what has fewer (digits, other scripts in UTF-8) stays near
_FRAME = 64  # tokens that a provider adds around the messages
_CACHE_WRITING = 1.25  # what input costs at most when it is put into the provider's cache


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per million tokens; `cached` is for input that was read from the provider's cache."""

    input: float
    cached: float
    output: float


FREE = Price(0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Prices:
    """A table of prices and the day it was made."""

    as_of: str
    models: Mapping[str, Price]
    free: frozenset[str]

    def of(self, model: str) -> Price | None:
        """The price of `provider:model`, with or without a date at its end; None if it is not known."""
        provider, _, name = model.partition(":")
        if provider in self.free:
            return FREE
        found = self.models.get(model) or self.models.get(_DATED.sub("", model))
        if found is None and provider in _PRICED_AS:
            return self.of(f"{_PRICED_AS[provider]}:{name}")
        return found


def cost(usage: Usage, model: str) -> float | None:
    """US dollars for a call, None if the price is not known.

    >>> cost(Usage(input=1_000_000, output=100_000, cached=500_000), "openai:gpt-4o-mini")
    0.1725
    >>> cost(Usage(input=1), "openai:gpt-unheard-of") is None
    True
    """
    price = prices().of(model)
    if price is None:
        return None
    cached = min(usage.cached, usage.input)
    return math.fsum(
        (
            (usage.input - cached) * price.input / _MILLION,
            cached * price.cached / _MILLION,
            usage.output * price.output / _MILLION,
        )
    )


def upper_usage(request: Request) -> Usage:
    """About the most tokens that a call can take.

    >>> upper_usage(Request("Judge.", "Is it so?", {"type": "object"}, max_tokens=100))
    Usage(input=77, output=100, cached=0, reasoning=0)
    """
    texts = (request.system, request.user, request.name, as_json(request.schema))
    size = sum(len(text.encode("utf-8", "surrogatepass")) for text in texts)
    return Usage(input=_FRAME + -(-size // _BYTES_A_TOKEN), output=request.max_tokens)


def upper_cost(request: Request, model: str) -> float | None:
    """About the most US dollars that a call can cost; None without a price."""
    usage = upper_usage(request)
    return cost(Usage(input=math.ceil(usage.input * _CACHE_WRITING), output=usage.output), model)


def estimate(requests: Iterable[Request], spec: str) -> float | None:
    """About the most US dollars that asking all of this once can cost; None without a price.

    >>> estimate([Request("Judge.", "Is it so?", {}, max_tokens=100)] * 1000, "openai:gpt-4o-mini")
    0.0735
    """
    costs = [upper_cost(request, _ADDRESS.sub("", spec.strip())) for request in requests]
    known = [cost for cost in costs if cost is not None]
    return math.fsum(known) if len(known) == len(costs) else None


def prices() -> Prices:
    """The table, with the user's own prices (the file named by `RAGEVAL_PRICES`) before ours."""
    return _prices(os.environ.get("RAGEVAL_PRICES", ""))


@cache
def _prices(own: str) -> Prices:
    ours = _read(_BUILT_IN)
    if not own:
        return ours
    theirs = _read(Path(own).expanduser())
    as_of = theirs.as_of or ours.as_of
    return Prices(as_of, {**ours.models, **theirs.models}, ours.free | theirs.free)


def _read(path: Path) -> Prices:
    try:
        record = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: the file of prices cannot be read ({error.strerror})") from error
    except ValueError as error:
        raise InputError(f"{path}: expected prices as TOML: {error}") from error
    models = {name: _price(path, name, found) for name, found in record.get("models", {}).items()}
    return Prices(str(record.get("as_of", "")), models, frozenset(record.get("free", ())))


def _price(path: Path, name: str, found: Any) -> Price:
    parts: dict[str, Any] = found if isinstance(found, dict) else {}
    try:
        cached = parts.get("cached", parts["input"])
        price = Price(float(parts["input"]), float(cached), float(parts["output"]))
    except (KeyError, TypeError, ValueError):
        price = Price(math.nan, 0.0, 0.0)
    if not all(math.isfinite(value) and value >= 0 for value in (price.input, price.cached, price.output)):
        raise InputError(
            f"{path}: expected a price like {{ input = 1.0, cached = 0.1, output = 4.0 }} for {name!r},"
            f" in dollars per million tokens, found {found!r}"
        )
    return price
