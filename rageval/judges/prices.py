"""What a call costs, by a table with a date; a model that is not in it has no price, which is not zero."""

from __future__ import annotations

import math
import os
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from rageval.errors import InputError, UsageError
from rageval.judges.base import Request, Usage
from rageval.judges.stored import as_json
from rageval.text import visible

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


Stated = Mapping[str, Price]  # what somebody says that models cost; under "" those whose price is not known


def stated(texts: Iterable[str]) -> Stated:
    """Prices as people state them: dollars per million tokens, of input and output where these differ.

    >>> stated(["0"])
    {'': Price(input=0.0, cached=0.0, output=0.0)}
    >>> stated(["openai:mine=1,4"])
    {'openai:mine': Price(input=1.0, cached=1.0, output=4.0)}
    """
    found = {}
    for text in texts:
        model, _, price = text.strip().rpartition("=")
        try:
            numbers = [float(number) for number in price.split(",")]
        except ValueError:
            numbers = []
        if len(numbers) not in (1, 2) or not all(math.isfinite(one) and one >= 0 for one in numbers):
            raise UsageError(
                f"the price {visible(text)!r}: expected [MODEL=]INPUT[,OUTPUT] in dollars per million tokens,"
                " such as 0 for a server of your own, or openai:MODEL=0.5,2"
            )
        found[_ADDRESS.sub("", model)] = Price(numbers[0], numbers[0], numbers[-1])
    return found


def price_of(model: str, said: Stated = MappingProxyType({})) -> Price | None:
    """What a model costs: as stated for it, else as in the table, else as stated for those in no table."""
    return said.get(model) or prices().of(model) or said.get("")


def cost(usage: Usage, model: str, said: Stated = MappingProxyType({})) -> float | None:
    """US dollars for a call, None if the price is not known.

    >>> cost(Usage(input=1_000_000, output=100_000, cached=500_000), "openai:gpt-4o-mini")
    0.1725
    >>> cost(Usage(input=1), "openai:gpt-unheard-of") is None
    True
    """
    price = price_of(model, said)
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


def upper_cost(request: Request, model: str, said: Stated = MappingProxyType({})) -> float | None:
    """About the most US dollars that a call can cost; None without a price."""
    usage = upper_usage(request)
    return cost(Usage(input=math.ceil(usage.input * _CACHE_WRITING), output=usage.output), model, said)


def at_most(usage: Usage, request: Request, said_anything: bool = True) -> Usage:
    """The usage that a server reports; what it does not report is the most it can be.

    >>> at_most(Usage(), Request("Judge.", "Is it so?", {"type": "object"}, max_tokens=100))
    Usage(input=97, output=100, cached=0, reasoning=0)
    >>> at_most(Usage(input=70, output=5), Request("Judge.", "Is it so?", {"type": "object"}))
    Usage(input=70, output=5, cached=0, reasoning=0)
    """
    most = upper_usage(request)
    is_unknown = usage.input == usage.output == 0
    return replace(
        usage,
        input=usage.input or math.ceil(most.input * _CACHE_WRITING),
        output=most.output if is_unknown or (said_anything and not usage.output) else usage.output,
    )


def estimate(requests: Iterable[Request], spec: str, said: Stated = MappingProxyType({})) -> float | None:
    """About the most US dollars that asking all of this once can cost; None without a price.

    >>> estimate([Request("Judge.", "Is it so?", {}, max_tokens=100)] * 1000, "openai:gpt-4o-mini")
    0.0735
    """
    costs = [upper_cost(request, _ADDRESS.sub("", spec.strip()), said) for request in requests]
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
